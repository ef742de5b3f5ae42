"""Following the matrices of a batch through views and copies of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch.fx import Graph, Node

from ..tracing.lines import NOWHERE
from .forms import Form, form_of
from .memory import Memory

aten = torch.ops.aten

VIEWS = (aten.view.default, aten._unsafe_view.default)
_SAME = (*VIEWS, aten.clone.default, aten.expand.default, aten.detach.default, aten.alias.default)
TURNS = (aten.t.default, aten.transpose.int, aten.permute.default)


def order_of(node: Node) -> list[int] | None:
    """The order in which an operation puts its argument's dimensions, if that is all it does."""
    form = form_of(node)
    if node.target not in TURNS or form is None:
        return None
    order = list(range(len(form.shape)))
    if node.target is aten.t.default:
        order.reverse()
    elif node.target is aten.permute.default:
        order = [order[d] for d in node.args[1]]  # type: ignore[union-attr, index]
    elif order:
        a, b = int(node.args[1]), int(node.args[2])  # type: ignore[arg-type]
        order[a], order[b] = order[b], order[a]
    return order


def turn_of(node: Node) -> bool | None:
    """Whether an operation transposes the matrices it is given, or has the same (then False).

    The dimensions before the last two may be put together or apart. None: it does something else.
    """
    order = order_of(node)
    if order is not None:
        same = list(range(len(order)))
        return True if len(order) > 1 and order == [*same[:-2], same[-1], same[-2]] else None
    if node.target not in _SAME:
        return None
    form, given = form_of(node), form_of(node.args[0])
    if form is None or given is None or form.shape[-2:] != given.shape[-2:]:
        return None
    return False if form.size == given.size and len(form.shape) > 1 else None


def readers(node: Node) -> Iterator[tuple[Node, Node, bool]]:
    """What uses matrices, or views and copies of them: who, which one, whether transposed."""
    pending = [(node, False)]
    while pending:
        value, turned = pending.pop()
        for user in value.users:
            turn = turn_of(user)
            if turn is None:
                yield user, value, turned
            else:
                pending.append((user, turned ^ turn))


class Matrices:
    """A batch of matrices, and where it comes from by views and copies.

    Attributes:
        ways: nodes with the same matrices, or all of them transposed, the given one first.
    """

    def __init__(self, node: Node, turned: bool, memory: Memory):
        self.ways = [(node, turned)]
        while True:
            turn = turn_of(node)
            if turn is None:
                break
            source = node.args[0]
            assert isinstance(source, Node)
            if not memory.is_view(node) and (memory.writes(node) or any(
                    i > memory.place[node] for i in memory.writes(source))):
                break  # a copy that has become something else
            node, turned = source, turned ^ turn
            self.ways.append((node, turned))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrices) and self.ways[-1] == other.ways[-1]

    def best(self, lead: Sequence[int]) -> tuple[Node, bool]:
        """The one nearest to the source that has this lead, and rows in one piece.

        The lead is what comes before the last two dimensions. If there is none, the given one.
        """
        for node, turned in reversed(self.ways):
            form = form_of(node)
            if (form is not None and form.shape[:-2] == tuple(lead)
                    and form.stride[-2 if turned else -1] == 1):
                return node, turned
        return self.ways[0]


def permuted(graph: Graph, node: Node, order: Sequence[int]) -> Node:
    """A node with the dimensions of another in this order, put where the graph inserts."""
    form = form_of(node)
    assert form is not None
    if list(order) == sorted(order):
        return node
    found = graph.call_function(aten.permute.default, (node, list(order)))
    _describe(found, node, form._replace(shape=tuple([form.shape[i] for i in order]),
                                        stride=tuple([form.stride[i] for i in order])))
    return found


def flattened(graph: Graph, node: Node, shape: Sequence[int]) -> Node:
    """A node with a copy of the values of another, row by row, in this shape."""
    form = form_of(node)
    assert form is not None
    copy = graph.call_function(aten.clone.default, (node,),
                               {"memory_format": torch.contiguous_format})
    view = graph.call_function(aten.view.default, (copy, list(shape)))
    for made, own in ((copy, form.shape), (view, tuple(shape))):
        _describe(made, node, Form(own, contiguous_strides(own), form.dtype, form.device))
    return view


def _describe(made: Node, source: Node, form: Form) -> None:
    made.meta["form"] = form
    made.meta["line"] = source.meta.get("line", NOWHERE)


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor that lies in memory row by row."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(strides[::-1])
