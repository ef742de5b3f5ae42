"""Recomputation: intermediate results computed again on the way back instead of kept.

Chen, Xu, Zhang, Guestrin, "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch.utils.checkpoint import checkpoint, noop_context_fn, set_checkpoint_early_stop

from ..state import state
from ..tensor import wrap
from .level import Level, batching, current, entered
from .tree import map_tensors, tensors


def recompute(block: Any, *args: Any, use_reentrant: bool = True, output_recompute: bool = False,
              early_stop: bool = True, context_fn: Callable[[], Any] | None = None,
              **kwargs: Any) -> Any:
    """Call a Cell or function without keeping its intermediate results for the backward pass.

    They are computed again there: less memory for about a third more time. Random numbers are drawn
    again as they were, and Parameters that a Cell assigns are assigned once.

    Args:
        block: the Cell or function.
        args, kwargs: its arguments, which may be nested.
        use_reentrant, output_recompute: accepted for MindSpore's sake; there is one way, which does
            all that either of MindSpore's does.
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
        raise ValueError("For 'recompute', 'context_fn' goes with use_reentrant=False.")
    owner = block if hasattr(block, "get_parameters") else None
    with set_checkpoint_early_stop(bool(early_stop)):
        return checkpointed(block, args, kwargs, owner, context_fn)


def checkpointed(function: Callable[..., Any], args: tuple, kwargs: dict, owner: Any = None,
                 context_fn: Callable[[], Any] | None = None) -> Any:
    """Run `function` without keeping intermediate results; the backward pass runs it again.

    The second run sees the Parameters of the Cell `owner` as the first did, and what it assigns to
    them is dropped. Inside `vmap`, and in a `jvp` that is itself differentiated, all is kept.
    """
    level, overlay = current(), state.overlay
    if (level is None or overlay is None or not torch.is_grad_enabled() or batching()
            or _tangents_end_first(level)):
        return function(*args, **kwargs)
    parameters = [] if owner is None else list(owner.get_parameters())
    data, aliases = [p._data for p in parameters], overlay.copy()
    trees: list[Any] = []

    def run(*raws: torch.Tensor) -> Any:
        if not trees:
            out = call(raws, overlay)
            trees.append(out)
            return tuple(t._raw for t in tensors(out))
        now = [p._data for p in parameters]
        _lend(parameters, data)
        try:
            # a backward pass for many gradients at once still repeats one run
            with temporarily_clear_interpreter_stack():
                return tuple(t._raw for t in tensors(call(raws, aliases.copy())))
        finally:
            _lend(parameters, now)

    def call(raws: tuple[torch.Tensor, ...], seen: dict[Any, torch.Tensor]) -> Any:
        flat = iter(raws)
        given, named = map_tensors(lambda _: wrap(next(flat)), (args, kwargs))
        with entered(level):
            state.overlay = seen
            return function(*given, **named)

    outs = checkpoint(run, *(t._raw for t in tensors((args, kwargs))), use_reentrant=False,
                      context_fn=noop_context_fn if context_fn is None else context_fn)
    flat = iter(outs)  # type: ignore[arg-type]
    out = map_tensors(lambda _: wrap(next(flat)), trees[0])
    trees[:] = [True]  # keeps no outputs alive
    return out


def _tangents_end_first(level: Level) -> bool:
    """Whether the backward pass comes when a forward-mode derivative, part of it, is over."""
    while level.outer is not None and level.outer.forward:
        level = level.outer
    return level.forward and level.outer is not None and level.outer.reverse


def _lend(parameters: list[Any], data: list[torch.Tensor]) -> None:
    for parameter, raw in zip(parameters, data, strict=True):
        parameter._data = raw
