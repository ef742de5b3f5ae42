"""Updates Parameters as soon as their gradients are there, so that gradients don't wait for others.

An optimizer's kernel changes a list of Parameters, at the end of a step. So all gradients are alive
when it begins, in a step of a large language model a quarter of its memory. Each entry of its lists
is independent of the others. So the kernel is cut in pieces, and a piece runs once its gradient is
complete and its Parameter was read for the last time.

This is for a graph that is only replayed: a stage without side effects, which can be compiled and
run again, ends where the first piece begins. After that no operation may fail for some values of
its inputs, since the function can't be run again then.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.node import map_arg

from ..ir.lazy_module import KernelGraph, LazyModule
from ..ir.loop import loop_of
from ..ir.metadata import meta_of
from ..ir.operations import (
    bases_of,
    effects_of,
    is_random,
    must_stay,
    never_written,
    nodes_in,
    written_by,
)
from ..ir.stages import ending_of
from .memory import Liveness, Memory, reshapes_in_place

aten = torch.ops.aten

LEAST = 2**24  # bytes of gradients that are worth the analysis
TOGETHER = 2**20  # bytes of gradients of a piece, beside which the call of a kernel is nothing
SMALL = 2**12  # bytes of a value that may be made earlier, whatever it is made of
MOST = 16  # values that are tried to be made later
PAYS = 0.97  # of peak memory, above which the graph stays as it is
# kernels that fail for no values of their inputs, beside elementwise ones, views and `_backward`
_SAFE = frozenset((
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "addmv", "mv", "dot", "matmul", "linear", "sum",
    "mean", "amax", "amin", "logsumexp", "cat", "stack", "clone", "copy_", "_to_copy", "zeros",
    "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros",
    "new_empty", "new_full", "scalar_tensor", "arange", "zero_", "fill_", "_linear_pointwise",
    "convolution", "_softmax", "_log_softmax", "native_layer_norm", "constant_pad_nd", "tril",
    "triu", "flip", "roll", "_softmax_backward_data", "_log_softmax_backward_data", "gelu", "silu",
    "layer_norm",
    "batch_norm", "activation", "linalg_vector_norm", "_foreach_norm", "select_scatter",
    "slice_scatter", "norm"))


class _Unit(NamedTuple):
    """What keeps its order: an operation, or one entry of an optimizer's lists."""

    node: Node
    entry: int | None = None


def update_early(module: GraphModule) -> GraphModule | None:
    """A graph that updates each Parameter once its gradient is complete, with equal results.

    Args:
        module: the graph, whose updates are at its end; not changed.

    Returns:
        A new graph with the same inputs, or None if that would not lower peak memory.
    """
    late = ending_of(module)
    lists = {n: size for n in module.graph.nodes if n in late and (size := _entries(n))}
    if sum(map(_bytes_of_gradients, lists)) < LEAST or reshapes_in_place(module.graph):
        return None
    if any(is_random(n) or effects_of(n.target).is_exchange or effects_of(n.target).is_python
           or loop_of(n) is not None for n in late):
        return None
    order = _Order(module, late, lists)
    early = _in_order(module, order.found())
    _sink_large(early.graph, order)
    if Liveness(early.graph).peak > PAYS * Liveness(module.graph).peak:
        return None
    return early


class _Order:
    """The order in which updates run as early as they can.

    Args:
        module: the graph.
        late: the operations that change its inputs, and those after them.
        lists: those that change lists of them, with the lengths of the lists.
    """

    def __init__(self, module: GraphModule, late: set[Node], lists: dict[Node, int]):
        nodes = list(module.graph.nodes)
        self.late, self.lists = late, lists
        self.bases = bases_of(nodes)
        self.units = [_Unit(node, entry) for node in nodes if node.op == "call_function"
                      for entry in (range(lists[node]) if node in lists else (None,))]
        self.before = self._dependencies()
        self.rows = self._rows(nodes)

    def _rows(self, nodes: list[Node]) -> dict[Node, int]:
        """For tokens that read tables before any update: the rows of the smallest table."""
        found: dict[Node, int] = {}
        unwritten = never_written(nodes)
        for node in nodes:
            if node.target is aten.embedding.default and node not in self.late:
                meta, tokens = meta_of(node.args[0]), _unviewed(node.args[1])
                if meta is not None and tokens in unwritten:
                    found[tokens] = min(found.get(tokens, meta.shape[0]), meta.shape[0])
        return found

    def _dependencies(self) -> dict[_Unit, set[_Unit]]:
        """What has to come before each: what makes its inputs, and reads and writes of memory."""
        makers: dict[Node, list[_Unit]] = {}
        wrote: dict[Node, list[_Unit]] = {}
        read: dict[Node, list[_Unit]] = {}
        found: dict[_Unit, set[_Unit]] = {}
        for unit in self.units:
            node, inputs = unit.node, self._inputs(unit)
            before = {maker for n in inputs for maker in makers.get(n, ())}
            used = set().union(*(self.bases[n] for n in inputs), ())
            written = (written_by(node, self.bases) if unit.entry is None
                       else self._written(node, unit.entry))
            for base in used | written:
                before.update(wrote.get(base, ()))
            for base in written:
                before.update(read.pop(base, ()))
                wrote[base] = [unit]
            for base in used - written:
                read.setdefault(base, []).append(unit)
            makers.setdefault(node, []).append(unit)
            found[unit] = before
        return found

    def _inputs(self, unit: _Unit) -> list[Node]:
        node, entry = unit
        if entry is None:
            return node.all_input_nodes
        args, kwargs = _cut(node, self.lists[node], [entry])
        return nodes_in([*args, *kwargs.values()])

    def _written(self, node: Node, entry: int) -> set[Node]:
        args, kwargs = _cut(node, self.lists[node], [entry])
        given = effects_of(node.target).mutated(args, kwargs)
        return set().union(*(self.bases[n] for n in nodes_in(given)))

    def found(self) -> list[tuple[Node, list[int] | None]]:
        """The operations in their new order, each with the entries of its lists that it changes."""
        moves = set(self._movable())
        fixed = [u for u in self.units if u.node not in self.late and u.node not in moves]
        place = {unit: i for i, unit in enumerate(fixed)}
        first = max((place[u] for u in fixed if self.may_fail(u.node)), default=-1)
        known: dict[_Unit, int] = {}  # after which of the fixed ones each may run
        for unit in self.units:
            known[unit] = place[unit] if unit in place else max(
                [known[u] for u in self.before[unit]], default=-1)
            if unit.node in self.late:
                known[unit] = max(known[unit], first)
        ready: dict[int, list[_Unit]] = {}
        for unit in self.units:
            if unit.entry is not None:
                ready.setdefault(known[unit], []).append(unit)
        order = _Written(self.before)
        waiting, size = ready.get(-1, []), 0
        for unit in self.units:
            if unit.node in self.late:
                continue
            order.add(unit)
            for piece in ready.get(place.get(unit, -2), ()):
                waiting.append(piece)
                size += _bytes([piece.node.args[0][piece.entry]])  # type: ignore[index]
            if size >= TOGETHER:
                order.add_together(waiting)
                waiting, size = [], 0
        order.add_together(waiting)
        for unit in self.units:
            order.add(unit)
        return order.entries

    def _movable(self) -> Iterable[Node]:
        """Operations that may run earlier than recorded, where an update needs them.

        They make small values of small ones, or lie in other values' memory, or change one value
        for the update alone, such as the type of a gradient.
        """
        readers: dict[Node, bool] = {}  # of each node, whether updates alone read it
        for unit in reversed(self.units):
            node = unit.node
            if node in readers:
                continue
            only = all(user in self.late or readers.get(user, False) for user in node.users)
            readers[node] = False
            if node in self.late or must_stay(node) or self.may_fail(node):
                continue
            large = [n for n in node.all_input_nodes if _bytes([n]) > SMALL]
            if not large and _bytes([node]) <= SMALL:
                yield node
            elif only and len(large) == 1 and (node not in self.bases[node] or _is_simple(node)):
                readers[node] = True
                yield node

    def may_fail(self, node: Node) -> bool:
        """Whether values of its inputs may make an operation fail."""
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            return node.target is not operator.getitem
        known, name = effects_of(node.target), schema.name.partition("::")[2]
        if known.namespace not in ("aten", "lamella", "mkldnn"):
            return True
        if known.shared and not known.written or name in _SAFE or _is_simple(node):
            return False
        if node.target is aten.index_add_.default:  # not with tokens that have read such a table
            given: Any = node.args
            meta, rows = meta_of(given[0]), self.rows.get(_unviewed(given[2]))
            return meta is None or rows is None or rows > meta.shape[given[1]]
        return not name.endswith("_backward") or name == "_cdist_backward"


class _Written:
    """A list of operations in a new order.

    Attributes:
        entries: the operations, each with the entries of its lists, or None.
    """

    def __init__(self, before: dict[_Unit, set[_Unit]]):
        self._before = before
        self._places = {unit: i for i, unit in enumerate(before)}
        self._done: set[_Unit] = set()
        self.entries: list[tuple[Node, list[int] | None]] = []

    def add(self, unit: _Unit) -> None:
        """Add what has to come before an operation, then the operation."""
        self._add_before(unit)
        self._note(unit)

    def add_together(self, pieces: list[_Unit]) -> None:
        """Add entries of lists, those of each operation as one call."""
        for piece in pieces:
            self._add_before(piece)
        calls: dict[Node, list[_Unit]] = {}
        for piece in pieces:
            if piece not in self._done:
                calls.setdefault(piece.node, []).append(piece)
        for same in calls.values():
            self._done.update(same)
            self.entries.append((same[0].node, [p.entry for p in same if p.entry is not None]))

    def _add_before(self, unit: _Unit) -> None:
        """Add all that has to come before, without recursion: chains may be long."""
        waiting = [unit]
        while waiting:
            last = waiting[-1]
            left = self._before[last] - self._done
            if left:
                waiting.extend(sorted(left, key=self._places.__getitem__, reverse=True))
            else:
                waiting.pop()
                if last is not unit:
                    self._note(last)

    def _note(self, unit: _Unit) -> None:
        if unit not in self._done:
            self._done.add(unit)
            self.entries.append((unit.node, None if unit.entry is None else [unit.entry]))


def _entries(node: Node) -> int:
    """How many entries an operation's lists have, if each is changed by itself; else 0."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.name.startswith(("aten::_fused_", "aten::_foreach_")) or (
            not schema.name.endswith("_")):
        return 0
    alone = map(meta_of, (*node.args, *node.kwargs.values()))
    if any(meta is not None and meta.size > 1 for meta in alone):
        return 0  # a tensor that has a number for each entry
    first: Any = node.args[0]
    return len(first)


def _cut(node: Node, length: int, entries: list[int]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of an operation for some entries of its lists."""

    def cut(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and len(value) == length:
            return [value[i] for i in entries]
        return value

    return [cut(v) for v in node.args], {k: cut(v) for k, v in node.kwargs.items()}


def _in_order(module: GraphModule, order: list[tuple[Node, list[int] | None]]) -> GraphModule:
    """A copy of a graph in another order."""
    graph, copies, nodes = KernelGraph(), {}, list(module.graph.nodes)
    for node in nodes:
        if node.op in ("placeholder", "get_attr"):
            copies[node] = graph.node_copy(node, copies.__getitem__)
    for node, entries in order:
        if entries is None:
            copies[node] = graph.node_copy(node, copies.__getitem__)
            continue
        args, kwargs = _cut(node, len(node.args[0]), entries)  # type: ignore[arg-type]
        piece = graph.create_node(
            "call_function", node.target, tuple(map_arg(args, copies.__getitem__)),
            map_arg(kwargs, copies.__getitem__))
        piece.meta = dict(node.meta)
    graph.output(map_arg(nodes[-1].args[0], copies.__getitem__))
    return LazyModule(module, graph)


def _sink_large(graph: Graph, order: _Order) -> None:
    """Make large values later that are alive at the peak, if what they are made of is smaller.

    One such is the first gradient of a table that a network uses twice: it waits for the second.
    """
    tried: set[Node] = set()
    live, memory = Liveness(graph), Memory(graph)
    while len(tried) < MOST:
        found = next((n for n in live.at_peak() if n not in tried and live.size[n] >= TOGETHER
                      and _can_sink(n, live, memory, order)), None)
        if found is None:
            return
        tried.add(found)
        behind = found.next
        min(found.users, key=live.place.__getitem__).prepend(found)
        after = Liveness(graph)
        if after.peak < live.peak:
            live, memory = after, Memory(graph)
        else:
            behind.prepend(found)


def _can_sink(node: Node, live: Liveness, memory: Memory, order: _Order) -> bool:
    """Whether a value may be made just before it is used, and takes less until then."""
    if node.target is operator.getitem or node not in memory.bases[node] or order.may_fail(node):
        return False
    here, first = live.place[node], min(map(live.place.__getitem__, node.users))
    inputs = node.all_input_nodes
    kept = {base for n in inputs for base in memory.bases[n] if here <= live.end[base] < first}
    return (first > live.top and 2 * sum(live.size.get(base, 0) for base in kept) <= live.size[node]
            and memory.version(inputs, here) == memory.version(inputs, first))


def _unviewed(node: Any) -> Node:
    """What a value with all of its elements is a view of, in another shape."""
    while node.target is aten.view.default:
        node = node.args[0]
    return node


def _is_simple(node: Node) -> bool:
    """Whether an operation is elementwise, and gives no integers; or only changes their type."""
    meta = meta_of(node)
    if node.target is aten._to_copy.default:
        return True
    return (torch.Tag.pointwise in getattr(node.target, "tags", ()) and meta is not None
            and (meta.dtype.is_floating_point or meta.dtype is torch.bool))


def _bytes_of_gradients(node: Node) -> int:
    return _bytes(node.args[1]) if len(node.args) > 1 else 0


def _bytes(values: Any) -> int:
    return sum(meta.bytes for n in nodes_in(values) if (meta := meta_of(n)) is not None)
