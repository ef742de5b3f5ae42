"""The state of each thread: its gradient call or recording, and the aliases in use there."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch

from .dtype import is_inexact
from .wrappers import functorch, plain


class _ThreadState(threading.local):
    """What the running thread is doing.

    Attributes:
        overlay: for each Parameter, the raw tensor that stands for its data; None outside of
            gradient calls and `to_float` Cells.
        level: the innermost gradient call whose function is running, see `autodiff.level`.
        trace: the run being recorded as a graph, see `graph.tracing.trace`.
        whole: whether this is inside a call that GRAPH_MODE compiles as a whole, or runs eagerly.
        as_graph: whether this is inside a function that the program asked to compile.
        integers: what becomes of gradients by integers, see `autodiff.integers`: None: they are
            computed; a list: they are computed, and added to it; False: integers are constants.
        masks: the nodes of its tape that may not use what they are given, see
            `graph.tracing.loop_masks`.
        failed: how many backward passes an error has ended.
    """

    overlay: dict[Any, torch.Tensor] | None = None
    level: Any = None
    trace: Any = None
    whole: bool = False
    as_graph: bool = False
    integers: Any = None
    masks: Any = None
    failed: int = 0


state = _ThreadState()


def in_graph() -> bool:
    """Whether the code that runs is that of a function which the program itself asked to compile.

    A few operations mean something else there, as they do in MindSpore's graphs, also where the
    function runs eagerly after all. What Lamella compiles by its own choice means what it means
    eagerly.
    """
    return state.as_graph


@contextlib.contextmanager
def as_graph() -> Iterator[None]:
    """A block in which operations mean what they mean in MindSpore's graphs, see `in_graph`."""
    before, state.as_graph = state.as_graph, True
    try:
        yield
    finally:
        state.as_graph = before


def is_nested() -> bool:
    """Whether more than a gradient is being computed: one of a higher order, or a forward one."""
    level = state.level
    return level is not None and (level.outer is not None or level.forward
                                  or torch._C._are_functorch_transforms_active())


def is_plain_run() -> bool:
    """Whether kernels may be replaced by others: outside of recordings and transformations.

    A recorded run keeps PyTorch's kernels, since its graph is rewritten later. `vmap` and forward
    mode have rules for PyTorch's own only.
    """
    return (state.trace is None and functorch.peek_interpreter_stack() is None
            and torch.autograd.forward_ad._current_level < 0)


MOST_NUMBERS = 16  # of a tensor that a graph may depend on


def numbers(raw: torch.Tensor, read: bool = False) -> Any:
    """The elements of a raw tensor as nested lists of Python numbers.

    A run that is being recorded as a graph depends on each of them, and holds no more than a few.
    Those that the program has asked for (`read`) may become values of the graph, once they vary;
    others are guards, which fractions can't be.
    """
    if state.trace is None:
        if torch._C._are_functorch_transforms_active():
            raw = plain(raw)
            with torch._C._DisableFuncTorch():
                return raw.tolist()
        return raw.tolist()
    read = read and not torch._C._are_functorch_transforms_active()
    if raw.numel() > MOST_NUMBERS or is_inexact(raw.dtype) and not read:
        state.trace.refuse("makes Python numbers of a tensor")
        return raw.tolist()
    if raw.dim():
        return [numbers(part, read) for part in raw.detach().unbind()]
    return state.trace.read(raw) if read else raw.item()
