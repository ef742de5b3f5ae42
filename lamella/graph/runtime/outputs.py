"""Applies the results of a replay: returned values, assigned data, side effects on objects."""

from __future__ import annotations

from typing import Any

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import wrap_view
from ..guards.arguments import given_tensors, pattern_of, things_of
from ..guards.reachable import Reachable
from ..tracing.changes import assign
from ..tracing.effects import DeferredCall
from ..tracing.outcome import Outcome
from ..tracing.results import New, Rebuilding, builder_of
from .inputs import Inputs


class Outputs:
    """The results and side effects of a recorded run, which each replay repeats.

    Args:
        outcome: what it has come to.
        deferred: what it prints at its end.
        inputs: where it finds Tensors.
        has_numbers: whether its last result is a list of numbers.

    Attributes:
        out_tree: descriptions of the result, of assigned values, and of what is printed.
        build: makes the result from the graph's, if nothing else is needed for that.
        gives_one: whether it returns one Tensor, and has no other effect in Python.
        pattern: which of the objects it was given are the same, if it changes or returns any.
        assigns: whether it assigns other data to Tensors that it finds elsewhere.
    """

    def __init__(self, outcome: Outcome, deferred: list[DeferredCall], inputs: Inputs,
                 has_numbers: bool):
        self.out_tree = outcome.out_tree
        self.pattern = outcome.pattern
        self._inputs = inputs
        self._changes = outcome.changes
        self._deferred = deferred
        self._assigned = outcome.assigned
        self._found_elsewhere = outcome.found_elsewhere
        self._has_numbers = has_numbers
        tree = self.out_tree[0]  # whose type counts, since a program's tuple may equal New(0)
        self.gives_one = (type(tree) is New and tree == New(0)
                          and not self._changes and not self._deferred)
        self.build = None if self._changes or self._deferred else builder_of(tree)

    @property
    def assigns(self) -> bool:
        """Whether it assigns other data to Tensors that it finds elsewhere than as arguments."""
        return bool(self._assigned)

    @property
    def only_gives(self) -> bool:
        """Whether it returns new Tensors, and has no other effect in Python."""
        return (self.gives_one or self.build is not None) and self.pattern is None

    def hold_for(self, args: tuple, kwargs: dict, reach: Reachable) -> bool:
        """Whether these arguments hold the same objects in the same places as in the recording."""
        if self.pattern is None:
            return True
        things = list(things_of((args, kwargs)))
        return pattern_of(things) == self.pattern and (
            [number for number, thing in enumerate(things) if thing in reach.visited]
            == [number for number, _ in self._found_elsewhere]) and all(
                things[number] is thing for number, thing in self._found_elsewhere)

    def assign(self, found: list[torch.Tensor]) -> None:
        """Assign the last results of a run to the Parameters and Tensors that they belong to."""
        tensors = [self._inputs.found(number) for number in self._assigned]
        end = len(found) - self._has_numbers
        for tensor, raw in zip(tensors, found[end - len(tensors):end], strict=True):
            if isinstance(tensor, Parameter):
                tensor.assign_raw(raw)
            else:
                tensor._raw = raw

    def result(self, found: list[torch.Tensor], args: tuple, kwargs: dict) -> Any:
        """The result for the caller; first the replay's changes and deferred calls are made."""
        if self.gives_one:
            return wrap_view(found[0])
        if self.build is not None:
            return self.build(found)
        given = given_tensors((args, kwargs))
        things = list(things_of((args, kwargs))) if self.pattern is not None else []
        numbers: Any = found[-1] if self._has_numbers else ()
        rebuilding = Rebuilding(found, given, self._inputs.found, things, numbers)
        out, noted, printed = rebuilding.value_of(self.out_tree)
        holders = [change.holder_now(things) for change in self._changes]
        for change, holder, value in zip(self._changes, holders, noted, strict=True):
            assign(holder, change.key, value)
        for call, values in zip(self._deferred, printed, strict=True):
            call(values)
        return out
