"""Names that programs import from MindSpore's module `common.api`."""

from collections.abc import Callable
from typing import Any

from ..autodiff import no_grad as _no_grad
from ..graph.surface.executor import _cell_graph_executor, _pynative_executor, cells_compile_cache

__all__ = ["_no_grad", "_cell_graph_executor", "_pynative_executor", "cells_compile_cache"]


def _function_forbid_reuse(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: MindSpore compiles the function anew at each call of it; here it stays as it is.
    """
    return func
