"""Whether inputs that a graph mutates share memory with other inputs.

A graph treats its inputs as independent. If one of them shares memory with another (a buffer and a
view of it, a Parameter and its `value`), and either is mutated, the order of reads and writes isn't
in the graph.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch.fx import GraphModule

from .stages import written_inputs


class Ranges:
    """The memory ranges of inputs, and whether each is mutated.

    Start addresses alone are not enough: NumPy arrays that overlap may start at different ones.
    """

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.written: list[bool] = []

    def meets(self, start: int, end: int, written: bool) -> bool:
        """Whether a range overlaps another one, and either is mutated."""
        place = bisect_right(self.starts, start)
        if place and self.ends[place - 1] > start and (self.written[place - 1] or written):
            return True
        while place < len(self.starts) and self.starts[place] < end:
            if self.written[place] or written:
                return True
            place += 1
        return False

    def add(self, start: int, end: int, written: bool) -> None:
        """Add a range; ranges that overlap it, none of which is mutated, are merged with it."""
        first = bisect_right(self.starts, start)
        if first and self.ends[first - 1] > start:
            first -= 1
        last = first
        while last < len(self.starts) and self.starts[last] < end:
            start, end = min(start, self.starts[last]), max(end, self.ends[last])
            last += 1
        self.starts[first:last], self.ends[first:last] = [start], [end]
        self.written[first:last] = [written]


class Fixed(NamedTuple):
    """The inputs that rarely change.

    Attributes:
        memory: where they lie.
        clash: whether they share memory that is mutated.
    """

    memory: Ranges
    clash: bool


class Sharing:
    """The check that mutated inputs of a graph share no memory.

    Args:
        graph: the graph, with all its inputs.
        arguments: how many of these are arguments.
        fixed: how many of the inputs after them rarely change between calls.

    Attributes:
        written: the numbers of the inputs that the graph mutates.
    """

    def __init__(self, graph: GraphModule, arguments: int, fixed: int):
        self.written = frozenset(written_inputs(graph))
        inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
        used = [i for i, node in enumerate(inputs) if node.users]
        self._given = [i for i in used if i < arguments]
        self._fixed = [i for i in used if arguments <= i < arguments + fixed]
        self._others = [i for i in used if i >= arguments + fixed]

    def fixed(self, values: list[torch.Tensor]) -> Fixed:
        """What `found` has to know of the fixed ones among all inputs."""
        memory = Ranges()
        return Fixed(memory, bool(self.written) and self._meet(values, self._fixed, memory))

    def found(self, values: list[torch.Tensor], fixed: Fixed) -> bool:
        """Whether mutated memory is shared.

        Args:
            values: all inputs.
            fixed: as `fixed` gives it for the same fixed ones.
        """
        return bool(self.written) and (fixed.clash or self._meet(
            values, [*self._others, *self._given], Ranges(), fixed.memory))

    def is_beside_arguments(self, values: list[torch.Tensor]) -> bool:
        """Whether mutated memory is shared, other than by arguments alone."""
        memory = Ranges()
        return bool(self.written) and (
            self._meet(values, [*self._fixed, *self._others], memory)
            or any(self._meet(values, [i], Ranges(), memory) for i in self._given))

    def _meet(self, values: list[torch.Tensor], numbers: Iterable[int], memory: Ranges,
              other: Ranges | None = None) -> bool:
        """Whether inputs share mutated memory with each other or with the given ranges.

        They are added to `memory`; `other` is not changed.
        """
        for i in numbers:
            raw, written = values[i], i in self.written
            if not raw.numel():
                continue
            storage = raw.untyped_storage()
            start = storage.data_ptr()
            end = start + storage.nbytes()
            if memory.meets(start, end, written) or (
                    other is not None and other.meets(start, end, written)):
                return True
            memory.add(start, end, written)
        return False
