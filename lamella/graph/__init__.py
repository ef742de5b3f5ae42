"""Whole functions as one graph of kernels: recorded on the first call, replayed from then on."""

from . import mode
from .compiled import Compiled
from .config import JitConfig
from .jit import jit
from .marks import enable_dynamic, jit_class, lazy_inline, ms_memory_recycle, no_inline
from .mutable import mutable
