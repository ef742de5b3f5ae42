"""Cutting a recorded graph into stages: guards, then computation, then mutations of its inputs.

Stages run one after another. Only the last may mutate the graph's inputs, so all others can be run,
discarded, run again, or compiled.

A collective is a stage of its own, in the order of the collectives, and after the guards that are
known before it, since another path may not have this collective. What Python computes of numbers
is a stage of its own, too: compilers and the C++ executor take kernels only. So is a loop whose
stacks have open sizes, unless other loops alone take them, in the same stage.
"""

from __future__ import annotations

import operator
from collections.abc import Collection

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg

from .lazy_module import KernelGraph, LazyModule
from .loop import keeps_to, open_in
from .metadata import meta_of
from .operations import (
    CAUGHT,
    bases_of,
    is_alone,
    is_exchange,
    is_random,
    may_fail,
    must_stay,
    mutating,
    written_by,
)

FEW_BYTES = 2**16  # whose copy takes no longer than a kernel


class CannotCut(Exception):
    """A guard depends on an input that the graph mutates before.

    Attributes:
        guard: its node.
    """

    def __init__(self, guard: Node):
        super().__init__(str(guard.target))
        self.guard = guard


def late_nodes(body: list[Node], inputs: set[Node], bases: dict[Node, set[Node]]) -> set[Node]:
    """The nodes that mutate inputs, and those that have to come after them."""
    late: set[Node] = set()
    dirty: set[Node] = set()  # memory that late nodes write
    read: set[Node] = set()  # memory that late nodes read
    random_is_late = exchange_is_late = False
    for node in body:
        written = written_by(node, bases)
        if not late and inputs.isdisjoint(written):
            continue
        used = set().union(*(bases[n] for n in node.all_input_nodes), ())
        random, exchange = is_random(node), is_exchange(node)
        if (not inputs.isdisjoint(written) or not read.isdisjoint(written)
                or not dirty.isdisjoint(used) or random and random_is_late
                or exchange and exchange_is_late
                or any(n in late for n in node.all_input_nodes)):
            late.add(node)
            dirty |= written
            read |= used
            random_is_late |= random
            exchange_is_late |= exchange
    return late


def ending_of(graph: GraphModule) -> set[Node]:
    """The operations of a graph that mutate its inputs, such as weights, and those after them."""
    nodes = list(graph.graph.nodes)
    inputs = {n for n in nodes if n.op in ("placeholder", "get_attr")}
    return late_nodes([n for n in nodes if n not in inputs and n.op != "output"], inputs,
                      bases_of(nodes))


def check_guards(graph: GraphModule, guards: int) -> None:
    """Check that a graph's first results, its guards, are known before it mutates its inputs.

    Raises:
        CannotCut: if one can't.
    """
    nodes = list(graph.graph.nodes)
    inputs = {n for n in nodes if n.op == "placeholder"}
    body = [n for n in nodes if n.op not in ("placeholder", "output")]
    late = late_nodes(body, inputs, bases_of(nodes)) if guards else set()
    for guard in list(nodes[-1].args[0])[:guards]:  # type: ignore[arg-type]
        if guard in late:
            raise CannotCut(guard)


class Part:
    """A part of a graph: operations of it, from the values that they take to those that they give.

    The operations are the graph's own.

    Args:
        root: the graph.
        nodes: the operations, in order.
        inputs: the values that they take.
        results: the values that are kept of them.
        bases: the alias sets of the graph's values.

    Attributes:
        changes_inputs: whether an operation mutates memory of an input.
        shares: whether that is so, or a result lies in the memory of another value.
    """

    def __init__(self, root: GraphModule, nodes: list[Node], inputs: list[Node],
                 results: list[Node], bases: dict[Node, set[Node]]):
        self.root, self.nodes, self.inputs, self.results = root, nodes, inputs, results
        own = set(nodes)
        self.changes_inputs = any(not written_by(n, bases) <= own for n in mutating(nodes))
        self.shares = self.changes_inputs or any(bases[n] != {n} for n in results)

    @classmethod
    def whole(cls, graph: GraphModule) -> Part:
        """A whole graph as one part."""
        nodes = list(graph.graph.nodes)
        return cls(graph, [n for n in nodes if n.op not in ("placeholder", "output")],
                   [n for n in nodes if n.op == "placeholder"],
                   list(nodes[-1].args[0]), bases_of(nodes))  # type: ignore[arg-type]

    @property
    def constants(self) -> dict[int, torch.Tensor]:
        """The inputs that are the same in each call, by their numbers."""
        return {i: getattr(self.root, str(n.target)) for i, n in enumerate(self.inputs)
                if n.op == "get_attr"}

    def copied(self) -> GraphModule:
        """The part as a graph of its own, with copies of the operations."""
        graph = KernelGraph()
        copies = {n: graph.placeholder(f"in_{n.name}") for n in self.inputs}
        for node, copy in copies.items():  # which passes on the part want to know
            if (meta := meta_of(node)) is not None:
                copy.meta["tensor_meta"] = meta
        for node in self.nodes:
            copies[node] = graph.node_copy(node, copies.__getitem__)
        graph.output([copies[n] for n in self.results])
        return LazyModule(self.root, graph)


class Cut:
    """A graph in stages.

    Each stage is a `Part` on tensors of a list: the graph's inputs, its constants, then the results
    of the stages before, in order.

    Args:
        graph: the graph; its first results are the guards.
        guards: the number of guards.
        shapes: the numbers of the guards on data-dependent shapes. Their kernels are stages of
            their own, since later kernels can't run on other shapes.

    Attributes:
        constants: the tensors that the graph has as attributes.
        input_guards: for each guard that is an input itself, its number among the guards and among
            the inputs.
        stages: the parts, with the places of their inputs in the list.
        guards: for each other guard, after how many stages it is known, and its place in the list.
        results: the places of the graph's other results, in the list.
        changing: the number of stages before those that mutate inputs.
        exchanges: the numbers of the stages that are collectives.
        undone: the places of the inputs that are put back if a kernel fails after some of them were
            mutated, so that the function can run from its start: where they are small, or where the
            program may catch the error.
    """

    def __init__(self, graph: GraphModule, guards: int, shapes: Collection[int] = ()):
        self.root = graph
        kept = _constants(graph)
        nodes = list(graph.graph.nodes)
        given: list[Node] = list(nodes[-1].args[0])  # type: ignore[arg-type]
        self.guard_nodes, self.result_nodes = given[:guards], given[guards:]
        self.constants = list(kept.values())
        self.inputs = [*(n for n in nodes if n.op == "placeholder"), *kept]
        inputs = set(self.inputs)
        body = [n for n in nodes if n not in inputs and n.op != "output"]
        self.bases = bases_of(nodes)
        self.late = late_nodes(body, inputs, self.bases)
        self.undone = self._undone()
        self.views = {n for n in body if self._is_view_of(n, inputs)}
        for guard in self.guard_nodes:
            if guard in self.late:
                raise CannotCut(guard)
        early = [n for n in body if n not in self.late]
        self.input_guards = [(i, self.inputs.index(n)) for i, n in enumerate(self.guard_nodes)
                             if n in inputs]
        others = [n for n in self.guard_nodes if n not in inputs]
        places = {n: i for i, n in enumerate(early)}
        split = max((places[n] + 1 for n in others), default=0)
        alone = {n for n in body if is_alone(n)} | {
            n.all_input_nodes[0] if n.target is operator.getitem else n
            for n in [self.guard_nodes[i] for i in shapes]}
        first = {*early[:split]}
        first.update(n for n in early if n.target is operator.getitem and n.args[0] in first)
        parts = [*_split_at([n for n in early if n in first], alone),
                 *_split_at([n for n in early if n not in first], alone)]
        self._assemble(parts, _split_at([n for n in body if n in self.late], alone), others)
        del self.bases, self.views  # they take much of the memory of a long graph

    def _undone(self) -> list[int]:
        """The places of the inputs that are put back if a late kernel fails."""
        written = set().union(*(written_by(n, self.bases) for n in self.late), ())
        places = [i for i, n in enumerate(self.inputs) if n in written]
        metas = [meta_of(self.inputs[i]) for i in places]
        few = sum(FEW_BYTES + 1 if meta is None else meta.bytes for meta in metas) <= FEW_BYTES
        return places if any(CAUGHT in n.meta or few and may_fail(n) for n in self.late) else []

    def _is_view_of(self, node: Node, inputs: set[Node]) -> bool:
        """Whether a node is a view of an input, which each stage can make again at no cost."""
        return (self.bases[node] <= inputs and node not in self.late
                and not written_by(node, self.bases))

    def _assemble(self, early: list[list[Node]], late: list[list[Node]],
                  others: list[Node]) -> None:
        place = {n: i for i, n in enumerate(self.inputs)}
        count = len(place)
        self.stages: list[tuple[Part, list[int]]] = []
        self.exchanges: set[int] = set()
        known_after: dict[Node, int] = {}
        parts = [*early, *(late or [[]])]
        for number, part in enumerate(parts):
            last = number == len(parts) - 1
            if number == len(early):
                self.changing = len(self.stages)
            wanted = ([n for n in self.result_nodes if n not in place] if last
                      else self._needed(part, parts[number + 1:], others))
            wanted = list(dict.fromkeys(n for n in wanted if n not in place))
            if not part and not wanted:
                continue
            if any(map(is_exchange, part)):
                self.exchanges.add(len(self.stages))
            self.stages.append(self._stage(part, wanted, place))
            for node in wanted:
                place[node] = count
                known_after[node] = len(self.stages)
                count += 1
        if not late:
            self.changing = len(self.stages)
        self.guards = [(known_after[n], place[n]) for n in others]
        self.results = [place[n] for n in self.result_nodes]

    def _needed(self, part: list[Node], later: list[list[Node]], others: list[Node]) -> list[Node]:
        """The results of a stage: guards, results of the graph, and values for later stages."""
        wanted = {*others, *self.result_nodes}
        users = {n for p in later for n in p}
        free = {n for n in self.views if n not in others}  # later stages make these again
        return [n for n in part if n not in free
                and (n in wanted or users and any(u in users for u in n.users))]

    def _stage(self, part: list[Node], wanted: list[Node], place: dict[Node, int]
               ) -> tuple[Part, list[int]]:
        """A stage without dead code, and the places of its inputs."""
        own, used = set(part), set(wanted)
        kept: list[Node] = []
        for node in reversed(part):
            if node in used or must_stay(node):
                kept.append(node)
                used.update(node.all_input_nodes)
        again: set[Node] = set()  # views that another stage has, too
        waiting = list(used - own - place.keys())
        while waiting:
            node = waiting.pop()
            again.add(node)
            used.update(node.all_input_nodes)
            waiting.extend({*node.all_input_nodes} - again - place.keys())
        inputs = sorted(used & place.keys(), key=place.__getitem__)
        nodes = [*sorted(again), *reversed(kept)]
        return Part(self.root, nodes, inputs, wanted, self.bases), [place[n] for n in inputs]


def _split_at(part: list[Node], alone: set[Node]) -> list[list[Node]]:
    """Nodes in parts; each node in `alone` is a part together with the extraction of its values.

    So is a loop with stacks of open sizes that would be taken in another part.
    """
    left = open_in(part)
    while left:
        found = _cut_at(part, alone)
        place = {n: set(its) for its in found for n in its}
        apart = {n for n in left if n not in alone and not keeps_to(n, place[n])}
        if not apart:
            return found
        alone = alone | apart
    return _cut_at(part, alone)


def _cut_at(part: list[Node], alone: set[Node]) -> list[list[Node]]:
    found: list[list[Node]] = []
    open_end = False
    for node in part:
        if node in alone:
            found.append([node])
            open_end = False
        elif node.target is operator.getitem and node.args[0] in alone:
            next(p for p in found if p[0] is node.args[0]).append(node)
        elif open_end:
            found[-1].append(node)
        else:
            found.append([node])
            open_end = True
    return found


def _constants(graph: GraphModule) -> dict[Node, torch.Tensor]:
    """The tensors that a graph has as attributes, by their nodes, which become one for each."""
    found: dict[str, Node] = {}
    for node in list(graph.graph.nodes):
        if node.op == "get_attr" and isinstance(getattr(graph, str(node.target)), torch.Tensor):
            first = found.setdefault(str(node.target), node)
            if first is not node:
                node.replace_all_uses_with(first)
                graph.graph.erase_node(node)
    return {node: getattr(graph, name) for name, node in found.items()}


def lift_constants(graph: GraphModule) -> tuple[GraphModule, list[torch.Tensor]]:
    """The graph with its attributes' tensors as its last inputs, and these tensors."""
    lifted, copies = KernelGraph(), {}
    found: dict[str, tuple[Node, torch.Tensor]] = {}
    nodes = list(graph.graph.nodes)
    if not any(n.op == "get_attr" for n in nodes):
        return graph, []
    for node in nodes:
        if node.op == "placeholder":
            copies[node] = lifted.node_copy(node)
    for node in nodes:
        if node.op == "get_attr" and isinstance(node.target, str):
            value = getattr(graph, node.target, None)
            if isinstance(value, torch.Tensor) and node.target not in found:
                found[node.target] = lifted.placeholder(f"constant_{node.name}"), value
    for node in nodes:
        if node.op == "placeholder":
            continue
        if node.op == "get_attr" and node.target in found:
            copies[node] = found[str(node.target)][0]
        elif node.op == "output":
            lifted.output(map_arg(node.args[0], lambda n: copies[n]))
        else:
            copies[node] = lifted.node_copy(node, lambda n: copies[n])
    return LazyModule(graph, lifted), [value for _, value in found.values()]


def written_inputs(graph: GraphModule) -> list[int]:
    """The numbers of the inputs that a graph mutates."""
    nodes = list(graph.graph.nodes)
    bases = bases_of(nodes)
    written = {base for n in mutating(nodes) for base in written_by(n, bases)}
    inputs = [n for n in nodes if n.op == "placeholder"]
    return [i for i, n in enumerate(inputs) if n in written]
