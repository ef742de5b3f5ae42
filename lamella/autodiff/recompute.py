"""Recomputation: intermediate results computed again in the backward pass instead of kept.

Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from ..core.state import state
from ..tensors.tensor import wrap
from .kept_again import kept_again
from .level import Level, batching, current, entered
from .repeated_draws import RepeatedDraws
from .tree import check_no_hidden, map_tensors, tensors


def recompute(block: Any, *args: Any, use_reentrant: bool = True, output_recompute: bool = False,
              early_stop: bool = True, context_fn: Callable[[], Any] | None = None,
              **kwargs: Any) -> Any:
    """Call a Cell or function without keeping its intermediate results for the backward pass.

    They are computed again there: less memory for about a third more time. Random numbers are drawn
    again as they were, and Parameters that it assigns are assigned once.

    Args:
        block: the Cell or function.
        args, kwargs: its arguments, which may be nested.
        use_reentrant, output_recompute: accepted for MindSpore's sake; there is one
            implementation, which does what both of MindSpore's do.
        early_stop: stop the second run when all that is needed is there.
        context_fn: makes a pair of contexts, for the first run and the second.

    Returns:
        What `block` returns.

    Raises:
        TypeError: if `block` can't be called.
        ValueError: if `context_fn` comes without ``use_reentrant=False``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.grad(lambda x: ms.recompute(lambda a: ms.ops.exp(a) * a, x))(ms.Tensor(0.0)))
        1.0
    """
    if not callable(block):
        raise TypeError(f"For 'recompute', 'block' must be a Cell or a function, "
                        f"but got {type(block).__name__}.")
    if context_fn is not None and use_reentrant:
        raise ValueError("For 'recompute', 'context_fn' needs use_reentrant=False.")
    return checkpointed(block, args, kwargs, context_fn, bool(early_stop))


def checkpointed(function: Callable[..., Any], args: tuple, kwargs: dict,
                 context_fn: Callable[[], Any] | None = None, early_stop: bool = True) -> Any:
    """Run `function` without keeping intermediate results; the backward pass runs it again.

    The second run sees all Parameters as the first did, and what it assigns to them is dropped.
    Inside `vmap`, and in a `jvp` that is itself differentiated, all is kept.
    """
    level, overlay = current(), state.overlay
    if (level is None or overlay is None or not torch.is_grad_enabled() or batching()
            or _tangents_end_first(level)):
        return function(*args, **kwargs)
    journal, aliases = _journal(level), overlay.copy()
    start = len(journal)
    trees: list[Any] = []
    draws = RepeatedDraws()

    def run(*raws: torch.Tensor) -> Any:
        if not trees:
            with draws.block():
                out = call(raws, overlay)
            check_no_hidden("recompute", "the result", out)
            trees.append(out)
            return tuple(t._raw for t in tensors(out))
        first = {id(p): (p, data) for p, data in reversed(journal[start:])}
        now = [(p, p._data) for p, _ in first.values()]
        assigned = {number: list(made) for number, made in level.assigned.items()}
        _assign(journal, first.values())
        try:
            # a backward pass for many gradients at once still repeats one run
            with temporarily_clear_interpreter_stack(), draws.block():
                return tuple(t._raw for t in tensors(call(raws, aliases.copy())))
        finally:
            _assign(journal, now)
            for number, made in assigned.items():
                level.assigned[number][:] = made

    def call(raws: tuple[torch.Tensor, ...], seen: dict[Any, torch.Tensor]) -> Any:
        flat = iter(raws)
        given, named = map_tensors(lambda _: wrap(next(flat)), (args, kwargs))
        with entered(level):
            state.overlay = seen
            return function(*given, **named)

    outs = kept_again(run, [t._raw for t in tensors((args, kwargs))], context_fn, early_stop)
    flat = iter(outs)
    out = map_tensors(lambda _: wrap(next(flat)), trees[0])
    trees[:] = [True]  # keeps no outputs alive
    return out


def _tangents_end_first(level: Level) -> bool:
    """Whether an inner forward-mode derivative ends before the backward pass begins."""
    while level.outer is not None and level.outer.forward:
        level = level.outer
    return level.forward and level.outer is not None and level.outer.reverse


def _journal(level: Level) -> list[tuple[Any, torch.Tensor]]:
    """The journal of assignments to Parameters, from now on."""
    found: Any = level
    if level.journal is None:
        made: list[tuple[Any, torch.Tensor]] = []
        while found is not None:
            found.journal, found = made, found.outer
    assert level.journal is not None
    return level.journal


def _assign(journal: list[tuple[Any, torch.Tensor]],
          data: Iterable[tuple[Any, torch.Tensor]]) -> None:
    for parameter, raw in data:
        journal.append((parameter, parameter._data))
        parameter._data = raw
