"""Finds the inputs of a graph in a later call, and checks whether the graph holds for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..guards.bytecode import facts_of
from ..guards.kinds import tensor_meta
from ..ir.metadata import TensorMetadata
from ..ir.sharing import Fixed, Sharing
from ..tracing.outcome import Outcome
from ..tracing.refusals import CannotTrace
from ..tracing.trace import Trace, data_of


class Inputs:
    """The inputs of a graph: first the arguments' data, then Parameters, other Tensors, constants.

    Args:
        trace: the recorded run.
        outcome: what it has come to.
        given: the data of the arguments' Tensors in the recording.
        sizes: whether the graph holds for the sizes of given arguments; None if it is for one size.

    Attributes:
        arguments: how many inputs are arguments.
        held: Tensors that it reads or mutates, that are no arguments and have to be the same
            objects in each call: first `parameters`, then `others`.
        sources: where the Tensors are found that may be other objects in each call.
        constants: raw tensors.

    Raises:
        CannotTrace: if the run changes memory that two inputs share that aren't both arguments.
    """

    def __init__(self, trace: Trace, outcome: Outcome, given: list[torch.Tensor],
                 sizes: Callable[[list[torch.Tensor]], bool] | None):
        fixed = [one for one in trace.held if one.source is None]
        self.arguments = len(given)
        self.held = [one.tensor for one in fixed]
        self.parameters = [t for t in self.held if isinstance(t, Parameter)]
        self.others = self.held[len(self.parameters):]
        self.sources = [one.source for one in trace.held if one.source is not None]
        self.constants = outcome.constants
        self._sizes = sizes
        self._queries = trace.outside.queries
        self._metas = [tensor_meta(one.data) for one in fixed]
        self._same = outcome.same
        self._compares_identities = any(facts_of(code).identities for code in trace.outside.codes)
        self._sharing = Sharing(outcome.graph, self.arguments, len(self.parameters))
        self.forget_data()
        values = [*given, *(one.data for one in trace.held), *self.constants]
        self._shares = self._sharing.found(values, self._sharing.fixed(values))
        if self._shares and self._sharing.is_beside_arguments(values):
            raise CannotTrace("changes memory that is shared by several of its Tensors")

    @property
    def applies_again(self) -> bool:
        """Whether the graph holds for arguments like those that it was recorded with.

        Not if it mutates one of them that shares memory with another.
        """
        return not self._shares

    @property
    def changes_arguments(self) -> bool:
        """Whether it mutates its arguments."""
        return any(i < self.arguments for i in self._sharing.written)

    @property
    def for_many_sizes(self) -> bool:
        """Whether the graph was recorded with symbols for sizes."""
        return self._sizes is not None

    @property
    def are_fixed(self) -> bool:
        """Whether all but the arguments are fixed objects, and no guard needs Python's code."""
        return not (self._compares_identities and self.others or self._queries or self.sources
                    or self._sizes or self._same)

    def forget_data(self) -> None:
        """Release the Parameters' data of the last run, since they may get other data."""
        # these, and what is known of them: one value, since threads replay a graph at once
        self._seen: tuple[Sequence[torch.Tensor], Fixed | None] = (), None

    def values(self, given: list[torch.Tensor], constants: list[torch.Tensor] | None = None
               ) -> list[torch.Tensor] | None:
        """All inputs, from the arguments' data; None if a guard on them fails.

        Args:
            constants: the last inputs; None for `self.constants`, else numbers in it may differ.
        """
        if self._sizes is not None and not self._sizes(given):
            return None
        for question, answer in self._queries:
            if question() != answer:
                return None
        data = [p._data for p in self.parameters]
        others = [t._raw for t in self.others]
        seen, fixed = self._seen
        moved = fixed is None or not all(map(is_, data, seen))
        if moved or others:
            for meta, raw in zip(self._metas, (*data, *others), strict=True):
                if tensor_meta(raw) != meta:
                    return None
        others.extend([source.get()._raw for source in self.sources])
        if self._same and not all([given[i] is (data[j] if j < len(data) else others[j - len(data)])
                                   for i, j in self._same]):
            return None  # an argument is no longer the Tensor that it was found as elsewhere
        if self._compares_identities and not {*map(id, given)}.isdisjoint(map(id, others)):
            return None  # an argument is one of the Tensors that it may be compared with
        values = [*[x.detach() if x.requires_grad else x for x in given], *data,
                  *[x.detach() if x.requires_grad else x for x in others],
                  *(self.constants if constants is None else constants)]
        if fixed is None or moved:
            fixed = self._sharing.fixed(values)
            self._seen = data, fixed
        return None if self._sharing.found(values, fixed) else values

    def failed_guard(self, given: list[torch.Tensor]) -> tuple[str, str, str] | None:
        """The guard on the inputs that fails, its expected and its actual value, as text."""
        if self._sizes is not None and not self._sizes(given):
            return "the sizes of its arguments", "", ""
        for question, answer in self._queries:
            if question() != answer:
                return "what the program asks Python, a log or the settings", "", ""
        for meta, tensor in zip(self._metas, self.held, strict=False):
            now = TensorMetadata(*tensor_meta(data_of(tensor)))
            if now != meta:
                old = TensorMetadata(*meta)
                return (f"the shape or type of {getattr(tensor, 'name', 'a Tensor')}",
                        f"{tuple(old.shape)} {old.dtype}", f"{tuple(now.shape)} {now.dtype}")
        return None

    def found(self, number: int) -> Tensor:
        """A Tensor that the run reads or changes other than as an argument, by its number."""
        known = len(self.held)
        return self.held[number] if number < known else self.sources[number - known].get()
