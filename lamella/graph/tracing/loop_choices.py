"""An `if` in the step of a loop: both of its ways are computed, and one of them is taken.

The way that isn't taken must leave no trace. Its derivatives may be no numbers (that of a root at
0), and 0 times such a number is none either. So what a way takes from before it gets no gradient
from it, unless it is taken. A loop in it has no steps then: it might never end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...autodiff.tree import container_tensors
from ...core.state import state
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..ir.operations import effects_of, is_random
from .loop_part import Unlike
from .loop_values import SOMETIMES, UNBOUND, WIDE, LoopNumber, held_by, is_dry, truth_of


class Way(TorchFunctionMode):
    """What runs in it is one of two ways.

    Args:
        mask: a truth value of one element: whether it is taken.
        around: the way that this one is in.

    Attributes:
        mask: whether it is taken, and all that are around it.
    """

    def __init__(self, mask: torch.Tensor, around: Way | None):
        super().__init__()
        self.mask = mask if around is None else mask & around.mask
        self._around = around
        self._begun = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined]
        self._known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*self._mapped(args), **self._mapped(kwargs or {}))

    def entering(self, raw: torch.Tensor) -> torch.Tensor:
        """A tensor that a loop in this way takes."""
        if self._around is not None:
            raw = self._around.entering(raw)
        return self._stand_in(raw)

    def check(self, ends: Iterable[torch.Tensor]) -> None:
        """Check that all gradients of what the way gives meet a mask.

        Raises:
            Unlike: if one doesn't, such as that of a rule of the program's.
        """
        with torch._C.DisableTorchFunction():  # other ways look at what is asked of tensors, too
            masks = {raw.grad_fn for _, raw in self._known.values()}
            left = [raw.grad_fn for raw in ends if not self._is_from_before(raw)]
        seen = set()
        while left:
            node: Any = left.pop()
            if node is None or node in seen or node in masks:
                continue
            seen.add(node)
            if hasattr(node, "variable") or node._sequence_nr() < self._begun:
                raise Unlike
            left += [following for following, _ in node.next_functions]

    def _is_from_before(self, raw: torch.Tensor) -> bool:
        with torch._C.DisableTorchFunction():
            node = raw.grad_fn
            return raw.requires_grad if node is None else node._sequence_nr() < self._begun

    def _stand_in(self, raw: torch.Tensor) -> torch.Tensor:
        """The tensor, with gradients only if the way is taken."""
        if not self._is_from_before(raw):
            return raw
        if id(raw) not in self._known:
            if state.trace.recorder.level is not None:  # of which only the kernels are kept
                found = torch.where(self.mask, raw, 0)
            else:
                found = raw.view_as(raw)
                found.register_hook(self._masked)
            self._known[id(raw)] = raw, found
        return self._known[id(raw)][1]

    def _masked(self, gradient: torch.Tensor) -> torch.Tensor:
        return torch.where(self.mask, gradient, 0)

    def _mapped(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._stand_in(value)
        if type(value) in (tuple, list):
            return type(value)([self._mapped(part) for part in value])
        if type(value) is dict:
            return {key: self._mapped(part) for key, part in value.items()}
        return value


@contextmanager
def _taking(mask: torch.Tensor) -> Iterator[Way]:
    """A block that is a way."""
    loops = state.trace.loops
    before = loops.way
    loops.way = way = Way(mask, before)
    try:
        with way:
            yield way
    finally:
        loops.way = before


def chosen(test: Any, then: Callable[..., tuple], otherwise: Callable[..., tuple], values: tuple
           ) -> tuple:
    """The names that an ``if`` assigns, from the functions of its two ways."""
    held = truth_of(test) if is_dry() else None
    if held is None:
        return then(*values) if test else otherwise(*values)
    nodes = state.trace.recorder.graph.nodes
    last = next(iter(reversed(nodes)))
    ways: list[tuple] = []
    for mask, call in ((held, then), (~held, otherwise)):
        with _taking(mask) as way:
            ways.append(call(*values))
        way.check(_raws(ways[-1]))
    for node in reversed(nodes):
        if node is last:
            break
        if isinstance(node.target, torch._ops.OpOverload) and (
                is_random(node) or effects_of(node.target).written):
            raise Unlike  # only one of the ways would do it
    return tuple([_selected(held, *pair) for pair in zip(*ways, strict=True)])


def _raws(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value._raw
        elif type(value) is tuple:
            yield from _raws(value)


def _selected(test: torch.Tensor, then: Any, otherwise: Any) -> Any:
    if then is otherwise:
        return then
    if any(one is UNBOUND or one is SOMETIMES for one in (then, otherwise)):
        return SOMETIMES
    if isinstance(then, Tensor):
        _check(isinstance(otherwise, Tensor) and then._raw.shape == otherwise._raw.shape
               and then._raw.dtype is otherwise._raw.dtype
               and not isinstance(then, Parameter) and not isinstance(otherwise, Parameter))
        return wrap(torch.where(test, then._raw, otherwise._raw))
    if type(then) is type(otherwise) is tuple and len(then) == len(otherwise):
        return tuple([_selected(test, *pair) for pair in zip(then, otherwise, strict=True)])
    kinds = {_kind(then), _kind(otherwise)}
    if kinds <= {int} or kinds <= {float}:
        if type(then) is type(otherwise) in WIDE and repr(then) == repr(otherwise):
            return then
        return LoopNumber(torch.where(test, held_by(then), held_by(otherwise)), kinds.pop())
    _check(type(then) is type(otherwise) and type(then) in (bool, str, type(None))
           and then == otherwise and not list(container_tensors(then)))
    return then


def _kind(value: Any) -> Any:
    return value.kind if isinstance(value, LoopNumber) else type(value)


def _check(holds: bool) -> None:
    if not holds:
        raise Unlike
