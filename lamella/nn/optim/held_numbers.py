"""Numbers that Tensors hold, as Python's, for kernels that take such."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

from ...core.state import state
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor


class HeldNumbers:
    """The Python values of an attribute that holds a scalar Tensor, or a tuple of them.

    They are read again only after the attribute or a Tensor has changed: reading one from a tensor
    in every step would wait for the device. A run that is recorded as a graph gets a guard on the
    numbers.
    """

    __slots__ = ("_numbers", "_seen")  # nothing that a compiled step watches

    def __init__(self) -> None:
        self._seen: list[tuple[torch.Tensor | None, int]] = []
        self._numbers: tuple[Any, ...] = ()

    def of(self, owner: Any, name: str) -> tuple[Any, ...]:
        """The numbers of ``owner.name``, and None for what is no Tensor.

        It is the same tuple as long as nothing has changed.
        """
        trace = state.trace
        if trace is None:
            return self._now(owner, name)
        things = _things(owner, name)
        before = [trace.data_before(t) if isinstance(t, Tensor) else None for t in things]
        if any(isinstance(t, Tensor) and raw is None  # the run has changed it
               for t, raw in zip(things, before, strict=True)):
            return tuple([t.item() if isinstance(t, Tensor) else None for t in things])
        numbers = self._kept(before)
        trace.outside.depend_once(
            ("numbers", id(self)), functools.partial(self._now, owner, name), numbers)
        return numbers

    def _now(self, owner: Any, name: str) -> tuple[Any, ...]:
        return self._kept([
            t._data if isinstance(t, Parameter) else t._raw if isinstance(t, Tensor) else None
            for t in _things(owner, name)])

    def _kept(self, raws: list[torch.Tensor | None]) -> tuple[Any, ...]:
        """The numbers in these tensors."""
        seen = self._seen
        if len(raws) != len(seen) or any(
                raw is not a or raw is not None and raw._version != version
                for raw, (a, version) in zip(raws, seen, strict=True)):
            self._seen = [(raw, 0 if raw is None else raw._version) for raw in raws]
            with no_dispatch():  # not in a graph
                self._numbers = tuple([None if raw is None else raw.item() for raw in raws])
        return self._numbers


def _things(owner: Any, name: str) -> tuple[Any, ...]:
    held = getattr(owner, name)
    return held if isinstance(held, tuple) else (held,)
