"""What this thread is doing: the gradient call or trace it is in, and the aliases in use there."""

from __future__ import annotations

import threading
from typing import Any

import torch


class _ThreadState(threading.local):
    """Of this thread.

    Attributes:
        overlay: for each Parameter, the raw tensor that stands for its data; None outside of
            gradient calls and `to_float` Cells.
        level: the innermost gradient call whose function is running, see `autodiff.level`.
        trace: the run being recorded as a graph, see `graph.trace`.
        whole: whether this is inside a call that GRAPH_MODE compiles as a whole, or runs eagerly.
    """

    overlay: dict[Any, torch.Tensor] | None = None
    level: Any = None
    trace: Any = None
    whole: bool = False


state = _ThreadState()
