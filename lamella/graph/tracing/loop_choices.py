"""An `if` in the step of a loop: both branches are computed, and the values of one are selected.

The branch that isn't taken must have no effect. Its derivatives may be infinite (that of a root at
0), and 0 times these is NaN. So no gradient passes on from what was computed for this branch alone,
in it or before it. A loop in it takes no step, since it might never end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...core.state import state
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from .loop_masks import Use, note_uses
from .loop_part import BodyRecorder
from .loop_values import (
    SOMETIMES,
    UNBOUND,
    WIDE,
    LoopNumber,
    computing,
    held_by,
    is_dry,
    truth_of,
    unlike,
)


def chosen(test: Any, then: Callable[..., tuple], otherwise: Callable[..., tuple], values: tuple
           ) -> tuple:
    """The values of the names that an ``if`` assigns, from the functions of its two branches."""
    held = truth_of(test) if is_dry() else None
    if held is None:
        return then(*values) if test else otherwise(*values)
    ways: list[tuple] = []
    for mask, call in ((held, then), (~held, otherwise)):
        with computing(mask, call, values):
            ways.append(call(*values))
    return tuple([_selected(held, *pair) for pair in zip(*ways, strict=True)])


def _selected(test: torch.Tensor, then: Any, otherwise: Any) -> Any:
    if then is otherwise:
        return then
    if any(one is UNBOUND or one is SOMETIMES for one in (then, otherwise)):
        return SOMETIMES
    if isinstance(then, Tensor):
        _check(isinstance(otherwise, Tensor) and then._raw.shape == otherwise._raw.shape
               and then._raw.dtype is otherwise._raw.dtype
               and not isinstance(then, Parameter) and not isinstance(otherwise, Parameter))
        return wrap(_where(test, then._raw, otherwise._raw))
    if type(then) is type(otherwise) is tuple and len(then) == len(otherwise):
        return tuple([_selected(test, *pair) for pair in zip(then, otherwise, strict=True)])
    kinds = {_kind(then), _kind(otherwise)}
    if kinds <= {int} or kinds <= {float}:
        if type(then) is type(otherwise) in WIDE and repr(then) == repr(otherwise):
            return then
        return LoopNumber(torch.where(test, held_by(then), held_by(otherwise)), kinds.pop())
    _check(type(then) is type(otherwise) and type(then) in (bool, str, type(None))
           and then == otherwise)
    return then


def _where(test: torch.Tensor, then: torch.Tensor, otherwise: torch.Tensor) -> torch.Tensor:
    found = torch.where(test, then, otherwise)
    if found.requires_grad:
        recorder = state.trace.recorder
        if type(recorder) is not BodyRecorder or recorder.level is not None:
            raise unlike()  # it has no backward pass of its own, in which gradients can be masked
        note_uses(found.grad_fn, {0: Use(test), 1: Use(test, 1)})
    return found


def _kind(value: Any) -> Any:
    return value.kind if isinstance(value, LoopNumber) else type(value)


def _check(holds: bool) -> None:
    if not holds:
        raise unlike()
