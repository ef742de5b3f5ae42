"""Alias analysis and liveness: which values share memory, when it is mutated and last read."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from torch.fx import Graph, Node

from ..ir.metadata import meta_of
from ..ir.operations import bases_of, effects_of, mutating, nodes_in, written_by

MOST_MEMORY = 1.1  # at the peak of a rewritten graph, relative to the recorded one's


class Memory:
    """Alias sets and mutations: with these a pass keeps the order of reads and writes.

    Attributes:
        place: the position of each node.
        bases: for each node, its alias set: the nodes whose memory its value may lie in; for a
            node with several values, also the nodes that extract those.
        given: the nodes whose memory the graph's results lie in.
    """

    def __init__(self, graph: Graph):
        nodes = list(graph.nodes)
        self.place = {node: i for i, node in enumerate(nodes)}
        self.bases: dict[Node, set[Node]] = bases_of(nodes)
        for node in nodes:
            if node.target is operator.getitem and node in self.bases[node]:
                self.bases[node.args[0]].add(node)  # type: ignore[index]
        self.results = set(nodes_in(nodes[-1].args))
        self.given: set[Node] = set().union(*(self.bases[n] for n in self.results))
        self._writes: dict[Node, list[int]] = {}
        for node in mutating(nodes):
            for base in written_by(node, self.bases):
                self._writes.setdefault(base, []).append(self.place[node])

    def _last_use(self, node: Node) -> int:
        """The last position at which a node, or what lies in its memory, is used."""
        last, seen, waiting = -1, {node}, [node]
        while waiting:
            for user in waiting.pop().users:
                last = max(last, self.place[user])
                if node in self.bases[user] and user not in seen:
                    seen.add(user)
                    waiting.append(user)
        return last

    def is_view(self, node: Node) -> bool:
        """Whether the value lies in the memory of another node."""
        return node not in self.bases[node]

    def writes(self, node: Node) -> list[int]:
        """The positions at which the memory of a node is written."""
        bases = self.bases[node]
        if self._writes.keys().isdisjoint(bases):  # most nodes
            return []
        return [i for base in bases for i in self._writes.get(base, ())]

    def version(self, nodes: Iterable[Node], place: int) -> tuple[int, ...]:
        """Numbers that are equal at two positions if no mutation of the nodes lies in between."""
        return tuple([sum(i < place for i in found)
                      for n in nodes if (found := self.writes(n))])

    def escapes(self, node: Node) -> bool:
        """Whether a result of the graph lies in the node's memory."""
        return not self.given.isdisjoint(self.bases[node])

    def can_replace(self, original: Node, copy: Node) -> bool:
        """Whether the users of a copy may read the original instead, with the same results."""
        if self.is_view(copy) or self.writes(copy) or self.escapes(copy):
            return False
        writes = self.writes(original)
        if not writes:
            return True
        last = self._last_use(copy)
        # an operation that reads the copy and writes the original may read what it has written
        return not any(self.place[copy] < i <= last for i in writes)

    def note_replaced(self, original: Node, copy: Node) -> None:
        """Note that the users of a copy now read the original: see `can_replace`."""
        waiting, own = list(copy.users), self.bases[original]
        while waiting:
            view = waiting.pop()
            if copy in self.bases[view]:
                self.bases[view] = (self.bases[view] - {copy}) | own
                waiting.extend(view.users)

    def note_folded(self, constant: Node, node: Node) -> None:
        """Note that the users of a node now read a constant, which is new in the graph."""
        self.place[constant] = self.place[node]
        self.bases[constant] = {constant}
        self.note_replaced(constant, node)


def reshapes_in_place(graph: Graph) -> bool:
    """Whether an operation changes a tensor's metadata in place, which no pass supports."""
    return any(n.op == "call_function" and effects_of(n.target).reshapes_in_place
               for n in graph.nodes)


class Liveness:
    """From where to where each value of a graph is alive, and how many bytes are alive at a time.

    Only memory that the graph's own operations allocate is counted, not its inputs.

    Attributes:
        place: the position of each node.
        size: the bytes of each node that allocates memory.
        begin: for each of these, the position from which on it holds its memory; for one of several
            results that of their operation, which still reads its inputs then.
        end: for each node, the position of the last operation that reads its memory.
        peak: peak memory, the most bytes that are alive at a time.
        top: the position at which they are.
    """

    def __init__(self, graph: Graph):
        nodes = list(graph.nodes)
        bases = bases_of(nodes)
        self.place = {node: i for i, node in enumerate(nodes)}
        self.end: dict[Node, int] = {}
        for place, node in enumerate(nodes):
            for used in (*node.all_input_nodes, node):
                for base in bases[used]:
                    self.end[base] = place
        self.size: dict[Node, int] = {}
        self.begin: dict[Node, int] = {}
        taken: dict[int, int] = {}
        freed: dict[int, int] = {}
        for node in nodes:
            meta = meta_of(node)
            if node.op == "call_function" and node in bases[node] and meta is not None:
                source: Any = node.args[0] if node.target is operator.getitem else node
                begin, end = self.place[source], self.end[node]
                self.size[node], self.begin[node] = meta.bytes, begin
                taken[begin] = taken.get(begin, 0) + meta.bytes
                freed[end] = freed.get(end, 0) + meta.bytes
        self.peak = self.top = alive = 0
        for place in range(len(nodes)):
            alive += taken.get(place, 0)
            if alive > self.peak:
                self.peak, self.top = alive, place
            alive -= freed.get(place, 0)

    def at_peak(self) -> list[Node]:
        """The nodes whose memory is alive at the peak, the largest first."""
        alive = [n for n in self.size if self.begin[n] <= self.top <= self.end[n]]
        return sorted(alive, key=lambda n: -self.size[n])
