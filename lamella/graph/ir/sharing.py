"""Whether what a graph changes lies in memory of its own.

The inputs of a graph are taken for different ones. Where one of them lies in the memory of another
(a view of a buffer that is kept beside it, a Parameter's `value`), and either is changed, the order
of reading and writing isn't in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.fx import GraphModule

from .stages import written_inputs

Places = dict[int, bool]  # for each memory that inputs lie in whether it is changed


class Sharing:
    """What the inputs of a graph may not share.

    Args:
        graph: the graph, with all its inputs.
        arguments: how many of these are arguments.
        fixed: how many after them mostly are, in the next call, the same as in the last.

    Attributes:
        written: the numbers of the inputs that the graph changes.
    """

    def __init__(self, graph: GraphModule, arguments: int, fixed: int):
        self.written = frozenset(written_inputs(graph))
        inputs = [n for n in graph.graph.nodes if n.op == "placeholder"]
        used = [i for i, node in enumerate(inputs) if node.users]
        self._given = [i for i in used if i < arguments]
        self._fixed = [i for i in used if arguments <= i < arguments + fixed]
        self._others = [i for i in used if i >= arguments + fixed]
        self._places: Places = {}
        self._clash = False

    def found(self, values: list[torch.Tensor], anew: bool = True) -> bool:
        """Whether what is changed is shared.

        Args:
            values: all inputs.
            anew: whether the fixed ones may have changed since the last call.
        """
        if not self.written:
            return False
        if anew:
            self._places = {}
            self._clash = self._meet(values, self._fixed, self._places)
        return self._clash or self._meet(values, [*self._others, *self._given], {**self._places})

    def is_beside_arguments(self, values: list[torch.Tensor]) -> bool:
        """The same, but arguments may share memory with each other."""
        places: Places = {}
        return bool(self.written) and (
            self._meet(values, [*self._fixed, *self._others], places)
            or any(self._meet(values, [i], {**places}) for i in self._given))

    def _meet(self, values: list[torch.Tensor], numbers: Iterable[int], places: Places) -> bool:
        """Whether inputs meet each other, or some that are there, in memory that is changed."""
        for i in numbers:
            raw, writes = values[i], i in self.written
            if not raw.numel():
                continue
            place = raw.untyped_storage().data_ptr()
            before = places.get(place)
            if before is not None and (before or writes):
                return True
            places[place] = writes
        return False
