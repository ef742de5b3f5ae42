"""Peephole rewritings: operations whose result equals their argument are removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..ir.metadata import meta_of, same_as
from .memory import Memory
from .replacements import Replacements

aten = torch.ops.aten
TURNS = (aten.t.default, aten.transpose.int, aten.permute.default)


def peephole(module: GraphModule, memory: Memory) -> int:
    """Remove or simplify operations that have no effect; returns how many."""
    count = 0
    replacements = Replacements()
    for node in list(module.graph.nodes):
        rule = _VIEWS.get(id(node.target))
        if rule is not None:
            other = rule(node) if node not in memory.results else None
            if other is not None:
                replacements.replace(node, other)
                count += 1
            continue
        rule = _COPIES.get(id(node.target))
        other = rule(node) if rule is not None else None
        if other is not None and same_as(node, other) and memory.can_replace(other, node):
            memory.note_replaced(other, node)
            replacements.replace(node, other)
            count += 1
    replacements.finish()
    return count


def _source(node: Node) -> Node | None:
    """The value that an operation takes first; None for a number, which PyTorch wraps."""
    source = node.args[0]
    return source if isinstance(source, Node) else None


def _order_of(node: Node) -> list[int] | None:
    """The permutation of its argument's dimensions, if that is all that an operation does."""
    meta = meta_of(node)
    if node.target not in TURNS or meta is None:
        return None
    order = list(range(len(meta.shape)))
    if node.target is aten.t.default:
        order.reverse()
    elif node.target is aten.permute.default:
        order = [order[d] for d in node.args[1]]  # type: ignore[union-attr, index]
    elif order:
        a, b = int(node.args[1]), int(node.args[2])  # type: ignore[arg-type]
        order[a], order[b] = order[b], order[a]
    return order


def _transposed(node: Node) -> Node | None:
    """The argument of two permutations in a row that cancel each other."""
    inner = _source(node)
    if inner is None or inner.target not in TURNS:
        return None
    a, b = _order_of(node), _order_of(inner)
    if a is None or b is None or [b[i] for i in a] != list(range(len(a))):
        return None
    return _source(inner)


def _viewed(node: Node) -> Node | None:
    """The argument of a view without effect; a view of a view becomes a view of the latter's."""
    inner = _source(node)
    if inner is None or same_as(node, inner):
        return inner
    if inner.target is aten.sum.dim_IntList and _is_sum(node, inner):
        inner.args, inner.meta["tensor_meta"] = (*inner.args[:2], False), node.meta["tensor_meta"]
        return inner
    if inner.target in (aten.view.default, aten._unsafe_view.default):
        below = _source(inner)
        meta = None if below is None else meta_of(below)
        if below is not None and meta is not None and meta.contiguous:
            if same_as(node, below):
                return below
            node.update_arg(0, below)
    return None


def _is_sum(view: Node, total: Node) -> bool:
    """Whether a view only drops the dimensions that a sum kept, and is the sum's only user."""
    meta, kept, source = meta_of(view), meta_of(total), _source(total)
    if meta is None or kept is None or source is None or meta_of(source) is None or (
            total.args[2:] != (True,)):
        return False
    dims: Any = total.args[1] or ()
    left = [n for d, n in enumerate(kept.shape)
            if d not in dims and d - len(kept.shape) not in dims]
    return len(total.users) == 1 and meta.contiguous and meta.shape == tuple(left)


def _expanded(node: Node) -> Node | None:
    source = _source(node)
    return source if source is not None and same_as(node, source) else None


def _itself(node: Node) -> Node | None:
    return _source(node)


def _times_one(node: Node) -> Node | None:
    a, b = node.args[:2]
    return _by_one(node) or (b if isinstance(b, Node) and _is_one(a) and _is_real(node) else None)


def _by_one(node: Node) -> Node | None:
    return _source(node) if _is_one(node.args[1]) and _is_real(node) else None


def _is_real(node: Node) -> bool:
    """Whether multiplying by 1 is the identity: it makes infinite complex numbers NaN."""
    meta = meta_of(node)
    return meta is not None and not meta.dtype.is_complex


def _is_one(value: object) -> bool:
    """Whether a factor is 1, or a tensor made of ones."""
    if not isinstance(value, Node):
        return isinstance(value, (int, float)) and value == 1
    return bool(value.meta.get("ones"))


Rule = Callable[[Node], "Node | None"]


def _by_identity(rules: dict[Any, Rule]) -> dict[int, Rule]:
    return {id(operation): rule for operation, rule in rules.items()}  # its hash is slow


# operations that return a view of their first argument; a rule returns the replacement
_VIEWS = _by_identity({
    **dict.fromkeys(TURNS, _transposed),
    aten.view.default: _viewed,
    aten._unsafe_view.default: _viewed,
    aten.expand.default: _expanded,
    aten.slice.Tensor: _expanded,
    aten.detach.default: _itself,
    aten.alias.default: _itself,
})
# operations that return new memory; whether a rule's result may stand for one, `peephole` checks
_COPIES = _by_identity({
    aten.clone.default: _itself,
    aten._to_copy.default: _itself,
    aten.slice_backward.default: _itself,
    aten.mul.Tensor: _times_one,
    aten.mul.Scalar: _times_one,
    aten.div.Tensor: _by_one,
    aten.div.Scalar: _by_one,
})
