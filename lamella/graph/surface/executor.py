"""`common.api`'s executors, by which programs compile a Cell by hand or wait for kernels."""

from __future__ import annotations

from typing import Any

import torch

from ...core import context
from ...core.state import state
from ...device import kinds
from .mode import compiled_cell

# MindSpore's cache of compiled Cells; here each Cell keeps its own, and this stays empty
cells_compile_cache: dict[int, Any] = {}


class CellGraphExecutor:
    """Compiles and runs Cells."""

    def compile(self, obj: Any, *args: Any, phase: str = "predict", do_convert: bool = True,
                jit_config_dict: Any = None, **kwargs: Any) -> tuple[str, bool]:
        """Record a Cell's graph for such inputs, without side effects; see `Cell.compile`.

        Returns:
            A name of the graph, and whether it is new.
        """
        compiled = compiled_cell(obj)
        before = compiled.statistics.traces
        obj.compile(*args, **kwargs)
        return f"{phase}.{compiled.name}.{id(obj)}", compiled.statistics.traces > before

    def __call__(self, obj: Any, *args: Any, phase: str = "predict") -> Any:
        """Run a Cell compiled."""
        return obj.compile_and_run(*args)


class PyNativeExecutor:
    """The executor of eager calls."""

    def sync(self) -> None:
        """Wait until the device has finished all kernels."""
        kinds.synchronize(context.current_device())

    def enable_grad(self) -> bool:
        """Whether operations are recorded in gradient calls, as they are unless told otherwise."""
        return torch.is_grad_enabled()

    def set_enable_grad(self, flag: bool) -> None:
        """Say whether operations are recorded; programs with their own `no_grad` blocks call it."""
        torch.set_grad_enabled(flag)
        torch._C._set_fwd_grad_enabled(flag)

    def grad_flag(self) -> bool:
        """Whether a gradient is being recorded."""
        return state.level is not None

    def requires_grad(self) -> bool:
        """Whether operations that run now are recorded for a gradient."""
        return self.grad_flag() and self.enable_grad()

    def set_async_for_graph(self, flag: bool) -> None:
        """Say whether a compiled function may return before its kernels have run; here it does so
        wherever its device's kernels are queued."""


_cell_graph_executor = CellGraphExecutor()
_pynative_executor = PyNativeExecutor()
