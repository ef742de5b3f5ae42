"""An eager run of a network that changes nothing, and counts floating-point operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.dispatch_mode import DispatchMode
from ..core.state import state
from ..graph.guards.search import reachable_from_call
from ..graph.tracing.undo import undone
from .roofline.costs import cost_of
from .roofline.figures import ARITHMETIC

__all__ = ["FlopCounter", "dry_run", "flops_collection"]


class FlopCounter(DispatchMode):
    """Adds up the operations of all kernels that multiply: products, convolutions, attention."""

    flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        cost = cost_of(func, args, kwargs, out)
        self.flops += int(cost.flops) if cost.kind in ARITHMETIC else 0
        return out


@contextmanager
def dry_run(network: Any, inputs: tuple[Any, ...]) -> Iterator[FlopCounter]:
    """A block in which `network` may be called with `inputs`; what the call changes is undone."""
    whole, state.whole = state.whole, True  # nothing inside of it is compiled
    try:
        with undone(reachable_from_call(network, inputs, {})), FlopCounter() as counter:
            yield counter
    finally:
        state.whole = whole


def flops_collection(phase: str = "train") -> tuple[int, int, bool]:
    """Refuses: graphs of MindSpore's have phases, those here have none.

    Args:
        phase: the graph's.

    Raises:
        RuntimeError: always; `train.FlopsUtilizationCollector` counts a step's operations, and
            `summary` those of each layer.
    """
    raise RuntimeError(f"For 'flops_collection', there is no graph of the phase {phase!r}. "
                       "'train.FlopsUtilizationCollector' counts the operations of a step, and "
                       "'summary' those of each layer.")
