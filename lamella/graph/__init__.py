"""Whole functions as one graph of kernels: recorded on the first call, replayed from then on."""

from ..autodiff.taylor import register_recorder
from ..nn.cell_compile import register_compiler
from .runtime import compiled as _compiled
from .runtime.compiled import Compiled
from .runtime.taped import Taped
from .surface import mode
from .surface.ahead import compile_ahead
from .surface.config import JitConfig, declared_arguments
from .surface.decorators import enable_dynamic, jit_class, lazy_inline, ms_memory_recycle, no_inline
from .surface.jit import jit
from .surface.mutable import mutable
from .tracing.body_apart import body_apart

register_compiler(compile_ahead=compile_ahead, compiled_cell=mode.compiled_cell,
                  declared_arguments=declared_arguments, JitConfig=JitConfig)
register_recorder(body_apart)
_compiled.taped = Taped
