"""Max pools over 2 x 2 windows as comparisons of two halves, which use whole vectors."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch
from torch.fx import GraphModule, Node

from ..ir.lazy_module import copied
from ..ir.metadata import meta_of
from .insert import inserted

aten = torch.ops.aten


def halves(module: GraphModule, inputs: Sequence[torch.Tensor]) -> GraphModule | None:
    """The graph with max pools over 2 x 2 windows as comparisons; None if there are none of them.

    Among equal values the first is taken, as PyTorch's kernel does, and nothing is rounded: so
    the graph has ``meta["verified"]``, and a trial doesn't compare its results. Where a window
    holds NaN, the index may be that of another element.
    """
    module = copied(module)
    found = [n for n in module.graph.nodes if _suits(n)]
    for node in found:
        pair = inserted(module, node, pooled, [node.args[0]])
        if any(meta_of(pair[user.args[1]]) != meta_of(user) for user in node.users):
            return None  # other strides
        for user in list(node.users):
            user.replace_all_uses_with(pair[user.args[1]])
            module.graph.erase_node(user)
    module.meta["verified"] = True
    return module if found else None


def pooled(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The greatest of each window, and its index in the plane; (N, C, H, W) with H and W even."""
    height, width = x.shape[-2:]
    left, right = x[..., ::2], x[..., 1::2]
    rows = torch.maximum(left, right)
    above, below = rows[..., ::2, :], rows[..., 1::2, :]
    lower = below > above
    to_right = right > left
    aside = torch.where(lower, to_right[..., 1::2, :], to_right[..., ::2, :])
    first = (torch.arange(0, height, 2, device=x.device)[:, None] * width
             + torch.arange(0, width, 2, device=x.device))
    return torch.maximum(above, below), first + aside + lower * width


def _suits(node: Node) -> bool:
    if node.target is not aten.max_pool2d_with_indices.default or node.kwargs:
        return False
    x, size, *more = node.args
    meta, (stride, padding, dilation, _) = meta_of(x), (*more, *([], 0, 1, False)[len(more):])
    return (meta is not None and len(meta.shape) == 4 and meta.contiguous
            and meta.dtype.is_floating_point and meta.size > 0
            and _all(size, 2) and (not stride or _all(stride, 2)) and _all(padding, 0)
            and _all(dilation, 1) and meta.shape[2] % 2 == 0 and meta.shape[3] % 2 == 0
            and all(user.target is operator.getitem for user in node.users))


def _all(value: object, wanted: int) -> bool:
    return value == wanted or (isinstance(value, (list, tuple)) and set(value) == {wanted})
