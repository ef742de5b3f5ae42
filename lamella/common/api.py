"""`common.api`: what programs import from there."""

from ..autodiff import no_grad as _no_grad
from ..graph.surface.executor import _cell_graph_executor, _pynative_executor, cells_compile_cache

__all__ = ["_no_grad", "_cell_graph_executor", "_pynative_executor", "cells_compile_cache"]
