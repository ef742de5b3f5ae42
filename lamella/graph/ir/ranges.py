"""The bounds between which the integers of a value lie, where its operation guarantees some.

An index from `clamp`, `argmax`, `topk`, `searchsorted` or `%` needs no check in machine code
(`passes.flags`) if its bounds fit what it indexes.
"""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch.fx import Node

from .metadata import meta_of

Range = tuple[int, int]  # the least and the greatest that an element may be

aten = torch.ops.aten
# operations that move elements
_MOVES = frozenset((
    aten.view.default, aten._unsafe_view.default, aten.clone.default, aten.alias.default,
    aten.detach.default, aten.expand.default, aten.unsqueeze.default, aten.squeeze.default,
    aten.squeeze.dim, aten.select.int, aten.slice.Tensor, aten.t.default, aten.transpose.int,
    aten.permute.default, aten.index.Tensor, aten.gather.default, aten.index_select.default))
# operations that give places along a dimension, with the number of that result if there are several
_PLACES: dict[object, int | None] = {
    aten.argmax.default: None, aten.argmin.default: None, aten.max.dim: 1, aten.min.dim: 1,
    aten.topk.default: 1, aten.sort.default: 1, aten.sort.stable: 1}
_WIDE = (torch.int32, torch.int64)
_MOST = 2**31 - 1  # of what both types hold


def ranges_of(nodes: list[Node], unwritten: set[Node]) -> dict[Node, Range]:
    """The bounds of those values of a graph whose bounds are known, and that nothing writes."""
    found: dict[Node, Range] = {}
    for node in nodes:
        if node.op == "call_function" and node in unwritten:
            bounds = _bounds(node, found)
            if bounds is not None and all(type(end) is int and abs(end) <= _MOST for end in bounds):
                found[node] = bounds
    return found


def _bounds(node: Node, known: dict[Node, Range]) -> Range | None:
    target: Any = node.target
    if target is operator.getitem:
        several: Any = node.args[0]
        is_place = _PLACES.get(several.target) == node.args[1]
        return _along(several) if is_place else None
    if target in _PLACES and _PLACES[target] is None:
        return _along(node)
    meta, args = meta_of(node), node.args
    if meta is None or meta.dtype not in _WIDE:
        return None
    given = known.get(args[0]) if args and isinstance(args[0], Node) else None
    if target in _MOVES:
        return given
    if target is aten._to_copy.default:  # of integers: the bounds of others aren't known
        return given
    if target is aten.clamp.default:
        least, most = _argument(node, "min"), _argument(node, "max")
        is_bounded = type(least) is int and type(most) is int and least <= most
        return (least, most) if is_bounded else None
    if target is aten.searchsorted.Tensor and (rows := meta_of(args[0])) is not None:
        return (0, rows.shape[-1])
    number: Any = args[1] if len(args) > 1 else None
    if type(number) is not int or number <= 0:
        return None
    if target is aten.remainder.Scalar:
        return 0, number - 1
    if given and (target is aten.floor_divide.default or target is aten.div.Tensor_mode
                  and node.kwargs.get("rounding_mode") == "floor"):
        return given[0] // number, given[1] // number
    return None


def _along(node: Node) -> Range | None:
    """The bounds of places along the dimension of an operation; of all elements if it has none."""
    meta, dim = meta_of(node.args[0]), _argument(node, "dim")
    if meta is None or not meta.size:
        return None
    return 0, (meta.size if dim is None or not meta.shape else meta.shape[dim]) - 1


def _argument(node: Node, name: str) -> Any:
    """The argument with a name."""
    for place, formal in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        if formal.name == name:
            return (node.args[place] if place < len(node.args)
                    else node.kwargs.get(name, formal.default_value))
    return None
