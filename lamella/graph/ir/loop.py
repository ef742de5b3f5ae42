"""A loop as one operation of a graph; its body is a graph that was recorded once.

The body takes carried values, an element of each stack, and values from outside that are the same
in all steps. It gives the next carried values, and values that are kept of each step as stacks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...core.wrappers import functorch
from .operations import Effects, bases_of, effects_of


class Loop:
    """A loop, called with one list: the number of steps if it is `counted`, the first carried
    values, the stacks, and the values from outside.

    It gives the last carried values, the stacks of what is kept, and, if it `counts`, the number
    of steps. The results share memory with nothing.

    Args:
        body: the graph of a step.
        carried: how many values are carried.
        stacks: how many stacks there are.
        kept: for each value that is kept of a step, an empty stack of such values.
        condition: a graph of the carried values and those from outside: whether there is another
            step. None if the number of steps is known otherwise.
        steps: the number of steps, if that is the same in each run.
        backward: whether the last elements of the stacks come first.
        counts: whether the number of steps is a result.
        counted: whether it is an input.

    Attributes:
        copied: which carried values of a step may lie in the memory of something else.
        effects: its side effects: none, but that a kernel of a step may fail.
        seen: how many steps the recorded run took.
    """

    __name__ = "loop"  # in the code that is made of a graph

    def __init__(self, body: GraphModule, carried: int, stacks: int, kept: Sequence[torch.Tensor],
                 condition: GraphModule | None = None, steps: int | None = None,
                 backward: bool = False, counts: bool = False, counted: bool = False):
        self.body, self.condition = body, condition
        self.carried, self.stacks, self.kept = carried, stacks, list(kept)
        self.steps, self.backward, self.counts, self.counted = steps, backward, counts, counted
        self.copied = _sharing(body, carried)
        self.effects = Effects(may_fail=any(
            known.may_fail or known.is_check
            for known in (effects_of(node.target) for node in operations_of(self))))
        self.seen = 0
        self._is_simple = False

    @property
    def has_open_stacks(self) -> bool:
        """Whether the sizes of stacks depend on values."""
        return self.steps is None and bool(self.kept or self.stacks)

    @property
    def graphs(self) -> list[GraphModule]:
        """The graphs of a step."""
        return [self.body] if self.condition is None else [self.condition, self.body]

    def simplify(self, simplified: Callable[[GraphModule], None]) -> None:
        """Have its graphs simplified by a function, once."""
        if not self._is_simple:
            self._is_simple = True
            for graph in self.graphs:
                simplified(graph)
            self.copied = _sharing(self.body, self.carried)

    def __str__(self) -> str:
        kind = "for" if self.condition is None else "while"
        return f"{kind} of {sum(n.op == 'call_function' for n in self.body.graph.nodes)} operations"

    def parts(self, values: Sequence[Any]) -> tuple[int | None, list[Any], list[Any], list[Any]]:
        """What it was called with: the number of steps, carried values, stacks, others."""
        start = int(self.counted)
        first, last = start + self.carried, start + self.carried + self.stacks
        return (int(values[0]) if self.counted else self.steps, list(values[start:first]),
                list(values[first:last]), list(values[last:]))

    def __call__(self, values: Sequence[torch.Tensor], run: Callable[..., Sequence[torch.Tensor]]
                 = lambda graph, *given: graph(*given)) -> list[torch.Tensor]:
        """Run it, step by step.

        Args:
            values: what it is called with.
            run: runs its graphs.
        """
        steps, carried, stacks, outside = self.parts(values)
        columns: list[Any] = [[] for _ in self.kept]
        # what is kept goes to its place, if no transformation has to see that
        length = steps or 0
        at_once = length > 0 and not any(
            torch.is_grad_enabled() and raw.requires_grad
            or functorch.is_functorch_wrapped_tensor(raw) for raw in values)
        if at_once:
            columns = [empty.new_empty([length, *empty.shape[1:]]) for empty in self.kept]
        count = 0
        while (count < steps if steps is not None
               else bool(run(self.condition, *carried, *outside)[0])):
            place = -1 - count if self.backward else count
            found = run(self.body, *carried, *[stack[place] for stack in stacks], *outside)
            carried = list(found[:self.carried])
            for column, value in zip(columns, found[self.carried:], strict=True):
                if at_once:
                    column[place].copy_(value)
                else:
                    column.append(value)
            count += 1
        self.seen = max(self.seen, count)
        if self.backward and not at_once:
            columns = [column[::-1] for column in columns]
        ends = [raw.clone() if i in self.copied or not count else raw
                for i, raw in enumerate(carried)]
        made = [empty.clone() if not count else column if at_once else torch.stack(column)
                for column, empty in zip(columns, self.kept, strict=True)]
        return [*ends, *made, *([torch.scalar_tensor(count, dtype=torch.int64)]
                                if self.counts else [])]


def loop_of(node: Node) -> Loop | None:
    """The loop that a node stands for, if it does."""
    return node.target if isinstance(node.target, Loop) else None


def loops_of(nodes: Iterable[Node]) -> list[Loop]:
    """The loops that some nodes stand for."""
    return [node.target for node in nodes if isinstance(node.target, Loop)]


def open_in(nodes: Collection[Node]) -> list[Node]:
    """The loops among some nodes whose stacks have open sizes."""
    return [n for n in nodes if (loop := loop_of(n)) is not None and loop.has_open_stacks]


def room_for(nodes: Collection[Node]) -> int:
    """For how many steps of the loops with open stacks among some nodes to make room, judged by the
    recorded run; 0 if there are no such loops.
    """
    loops = [loop_of(n) for n in open_in(nodes)]
    most = max((loop.seen for loop in loops if loop is not None), default=0)
    return 2 ** max(4, (most + most // 4).bit_length()) if loops else 0


def keeps_to(node: Node, nodes: Collection[Node]) -> bool:
    """Whether the open stacks that a loop makes are taken by loops among `nodes` alone, as stacks,
    and the open stacks that it takes are made by such loops.
    """
    loop = loop_of(node)
    assert loop is not None
    start = loop.counted + loop.carried
    given = list(node.args[0])[start:start + loop.stacks]  # type: ignore[arg-type]
    return all(_opens(source) and source.args[0] in nodes for source in given) and all(
        user in nodes and _takes_apart(user, part)
        for part in node.users if _opens(part) for user in part.users)


def _opens(node: Node) -> bool:
    """Whether a value is a stack of an open size."""
    if node.target is not operator.getitem:
        return False
    loop, place = loop_of(node.args[0]), node.args[1]  # type: ignore[arg-type]
    return loop is not None and loop.has_open_stacks and (
        0 <= place - loop.carried < len(loop.kept))  # type: ignore[operator]


def _takes_apart(node: Node, stack: Node) -> bool:
    """Whether a node is a loop that takes a value as a stack only."""
    loop = loop_of(node)
    if loop is None or not loop.has_open_stacks:
        return False
    start = loop.counted + loop.carried
    given: list[Any] = list(node.args[0])  # type: ignore[arg-type]
    return stack not in (*given[:start], *given[start + loop.stacks:])


def operations_of(loop: Loop) -> Iterator[Node]:
    """The operations of a loop's graphs, and of the loops in these."""
    for graph in loop.graphs:
        for node in graph.graph.nodes:
            if node.op == "call_function":
                yield node
                inner = loop_of(node)
                if inner is not None:
                    yield from operations_of(inner)


def operations_in(nodes: Any) -> int:
    """How many operations a graph runs, with those of loops as often as the recorded run did."""
    count = 0
    for node in nodes:
        loop = loop_of(node)
        count += 1 if loop is None else loop.seen * sum(
            operations_in(graph.graph.nodes) for graph in loop.graphs)
    return count


def _sharing(body: GraphModule, carried: int) -> set[int]:
    """Which of the first results of a graph may share memory with an input or with another."""
    nodes = list(body.graph.nodes)
    bases = bases_of(nodes)
    taken = {node for node in nodes if node.op in ("placeholder", "get_attr")}
    found: set[int] = set()
    for i, node in enumerate(nodes[-1].args[0][:carried]):
        if not bases[node].isdisjoint(taken):
            found.add(i)
        taken |= bases[node]
    return found
