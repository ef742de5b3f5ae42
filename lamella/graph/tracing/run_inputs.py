"""What a function is given while its run is recorded, and how that is taken back.

The function gets its own arguments, but for two things. A Tensor may have other data during the
run, which the recorder knows as an input of the graph. And a stand-in takes the place of a Tensor
that is an argument and can be reached otherwise, too: so the recording tells uses of the argument
from uses of the other, and the next call may get another Tensor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from ...autodiff.tree import container_tensors, map_container_tensors
from ...core.classes import is_a
from ...core.state import state
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..guards.arguments import given_tensors
from ..guards.values import comparable
from .refusals import CannotTrace
from .run_kind import RunKind
from .trace import data_of, set_data


class _StandIn(NamedTuple):
    """A Tensor, what takes its place, and its data at the start."""

    original: Tensor
    tensor: Tensor
    raw: torch.Tensor


class _Swap(NamedTuple):
    """A Tensor, its own data, and its data during the run."""

    tensor: Tensor
    own: torch.Tensor
    lent: torch.Tensor


def reached_twice(arguments: Iterable[Any], held: Iterable[Tensor]) -> set[int]:
    """The ids of the arguments that are Tensors which the function can also reach otherwise."""
    known = {id(tensor) for tensor in held}
    return {id(arg) for arg in arguments
            if id(arg) in known and is_a(arg, Tensor) and not is_a(arg, Parameter)}


class RunInputs:
    """What a function is given in a run.

    Args:
        args, kwargs: the arguments of the call.
        held: the Tensors that the function can reach otherwise.
        kind: tells which data Tensors have during the run.
        replaced: the ids of the arguments whose place stand-ins take.

    Attributes:
        args, kwargs: the arguments, with stand-ins.
        tensors: the Tensors in them.
        data: the inputs of the graph, each a different object: the data of these Tensors, then of
            those in `held`. An argument that is passed twice gives one input that is used, and one
            that isn't: the key of a call tells which are the same.
    """

    def __init__(self, args: tuple, kwargs: dict, held: Sequence[Tensor], kind: RunKind,
                 replaced: Collection[int]):
        self._kind = kind
        self._stand_ins: list[_StandIn] = []
        self._swaps: list[_Swap] = []
        self.args = tuple([self._given(arg, replaced) for arg in args])
        self.kwargs = {name: self._given(arg, replaced) for name, arg in kwargs.items()}
        self.tensors = given_tensors((self.args, self.kwargs))
        self.data = self._lent(held)
        self._attributes = _attributes(self.tensors)
        self._own: list[torch.Tensor] = []

    def _given(self, value: Any, replaced: Collection[int]) -> Any:
        """An argument, or its stand-in."""
        if id(value) not in replaced:
            return value
        for one in self._stand_ins:
            if one.original is value:
                return one.tensor
        raw = value._raw.detach()
        tensor = wrap(raw)
        tensor.__dict__.update(value.__dict__)
        self._stand_ins.append(_StandIn(value, tensor, raw))
        return tensor

    def _lent(self, held: Sequence[Tensor]) -> list[torch.Tensor]:
        """The inputs of the graph; notes whose data are swapped."""
        lent: list[torch.Tensor] = []
        seen: set[int] = set()
        known: set[int] = set()
        for number, tensor in enumerate((*self.tensors, *held)):
            raw = data_of(tensor)
            is_argument = number < len(self.tensors)
            found = self._kind.data(raw, is_argument)
            if found is raw and (id(raw) in seen or raw.requires_grad):
                found = raw.detach()
            seen.add(id(raw))
            if found is not raw and id(tensor) not in known and (
                    self._kind.is_fake or raw.requires_grad or not is_argument):
                self._swaps.append(_Swap(tensor, raw, found))
            known.add(id(tensor))
            lent.append(found)
        return lent

    @contextmanager
    def lent(self) -> Iterator[None]:
        """A block in which Tensors have the data of the run; changes go to the originals."""
        try:
            for tensor, _, raw in self._swaps:
                set_data(tensor, raw)
            self._own = [tensor._raw for tensor in self.tensors]  # which the run must not assign
            yield
        finally:
            state.masks = None
            for tensor, own, raw in self._swaps:
                if self._kind.is_fake or data_of(tensor) is raw:
                    set_data(tensor, own)
            for original, tensor, raw in self._stand_ins:
                if tensor._raw is not raw:
                    original._raw = tensor._raw
                original.__dict__.update(tensor.__dict__)

    def check(self) -> None:
        """Check that the run hasn't changed the attributes or data tensors of given Tensors.

        Raises:
            CannotTrace: if it has.
        """
        if _attributes(self.tensors) != self._attributes:
            raise CannotTrace("changes an attribute or a hook of a Tensor that it was given")
        if any(tensor._raw is not raw for tensor, raw in zip(self.tensors, self._own, strict=True)):
            raise CannotTrace("assigns other data to a Tensor that it was given")

    def with_originals(self, value: Any) -> Any:
        """A result of the function, with the Tensors whose stand-ins it holds."""
        originals = {id(one.tensor): one.original for one in self._stand_ins}
        if not originals or not any(id(tensor) in originals for tensor in container_tensors(value)):
            return value
        return map_container_tensors(lambda tensor: originals.get(id(tensor), tensor), value)


def _attributes(given: Sequence[Tensor]) -> list[Any]:
    return [comparable(tensor.__dict__) for tensor in given]
