"""Whole functions as one graph of kernels: recorded on the first call, replayed from then on."""

from .compiled import Compiled
from .jit import jit
