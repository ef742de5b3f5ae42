"""Fuses layer normalization with the operations around it into one kernel.

Forward this is the sum of a residual connection, the normalization and a cast to bfloat16; backward
a cast, the gradient of the normalization, the sum with that of the residual connection, a cast to
bfloat16, and the sum of its rows, the gradient by a bias that was added before. One kernel
(`machine/layer_norm.cpp`) computes all of that, where it is as exact as PyTorch's and faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine import layer_norm
from ...machine.measured import Measured
from ..ir.metadata import TensorMetadata, meta_of
from .casts import NARROW, WIDE, is_cast, is_like, source_of
from .fusing import (
    Arguments,
    are_written,
    column_sum,
    erase,
    faster,
    kernel_inserted,
    key_of,
    made_of,
    metas_of,
    only_user,
    parts_of,
    rewritten,
)
from .memory import Memory

aten = torch.ops.aten
FORWARD: Any = aten.native_layer_norm.default
BACKWARD: Any = aten.native_layer_norm_backward.default

SMALLEST = 2**14  # elements that are worth timing

known = Measured("layer_norms", ("torch", "fused"))


def fuse_layer_norms(module: GraphModule, measure: bool) -> int:
    """Use one kernel where it is the fastest; returns how often it is used.

    Args:
        module: changed in place.
        measure: whether forms that have not been timed before are timed now.
    """
    return sum(rewritten(
        module, [n for n in module.graph.nodes if n.target is target and _is_large(n)],
        layer_norm.extension, lambda node, memory, rewrite=rewrite: rewrite(
            module, node, memory, measure))
        for target, rewrite in ((FORWARD, _forward), (BACKWARD, _backward)))


def _is_large(node: Node) -> bool:
    """Whether what is normalized is worth timing."""
    meta = meta_of(node.args[0] if node.target is FORWARD else node.args[1])
    return (meta is not None and meta.device.type == "cpu" and meta.dtype is WIDE
            and meta.contiguous and meta.size >= SMALLEST)


def _forward(module: GraphModule, node: Node, memory: Memory, measure: bool) -> bool:
    arguments: Any = node.args
    total, form, weight, bias, eps = arguments
    parts = parts_of(node)
    if parts is None or 0 not in parts:
        return False
    assert isinstance(total, Node)
    x, added, place = source_of(total), None, node
    if total.target is aten.add.Tensor and len(total.args) == 2 and not total.kwargs and all(
            is_like(a, total) for a in total.args) and (
            _is_ready(memory, total, node, weight, bias)):
        x, added = map(source_of, total.args)
        place = total
    casts = [u for u in parts[0].users if is_cast(u, NARROW)]
    in_wide = len(casts) < len(parts[0].users) or parts[0] in memory.results
    if not casts and added is None or are_written(
            memory, x, added, total, parts[0], *casts):
        return False
    given = [x, added, weight, bias, len(form), eps, in_wide, bool(casts)]
    if not _pays(layer_norm.by_torch, layer_norm.fused, given, measure):
        return False
    new = kernel_inserted(
        module, place, torch.ops.lamella.layer_norm.default, given,
        [total if added is not None else None, parts[0] if in_wide else None,
         casts[0] if casts else None, parts.get(1), parts.get(2)])
    for user in casts:
        user.replace_all_uses_with(new[2])
    parts[0].replace_all_uses_with(new[1])
    for number, other in ((1, new[3]), (2, new[4])):
        if number in parts:
            parts[number].replace_all_uses_with(other)
    erase(module, node)
    if added is not None:
        total.replace_all_uses_with(new[0])
        module.graph.erase_node(total)
    return True


def _is_ready(memory: Memory, place: Node, later: Node, *values: Any) -> bool:
    """Whether these are there at a place, and the same at a later one."""
    return all(memory.place[v] < memory.place[place]
               and memory.version((v,), memory.place[place]) == memory.version(
                   (v,), memory.place[later]) for v in values if isinstance(v, Node))


def _backward(module: GraphModule, node: Node, memory: Memory, measure: bool) -> bool:
    arguments: Any = node.args
    g, values, form, mean, inverse, weight, _, wanted = arguments
    parts = parts_of(node)
    if parts is None or 0 not in parts or not all(wanted):
        return False
    first, x, last, other = source_of(g), source_of(values), parts[0], None
    if (total := only_user(last, aten.add.Tensor, memory)) is not None and (
            len(total.args) == 2 and not total.kwargs):
        rest: Any = total.args[1] if total.args[0] is last else total.args[0]
        if rest is not last and is_like(rest, last) and memory.place[rest] < memory.place[node]:
            last, other = total, source_of(rest)
    casts = [u for u in last.users if is_cast(u, NARROW)]
    in_wide = len(casts) < len(last.users) or last in memory.results
    reads = [n for n in (first, x, other, mean, inverse) if isinstance(n, Node)]
    if first is g and other is None and not casts or are_written(
            memory, *reads, parts[0], last, *casts):
        return False
    sums = next((s for c in casts if (s := column_sum(c, memory)) is not None), None) if (
        len(form) == 1) else None
    given = [first, x, mean, inverse, weight, other, len(form), in_wide, bool(casts),
             sums is not None]
    if not _pays(layer_norm.by_torch_backward, layer_norm.fused_backward, given, measure):
        return False
    new = kernel_inserted(
        module, node, torch.ops.lamella.layer_norm_backward.default, given,
        [last if in_wide else None, casts[0] if casts else None, parts.get(1), parts.get(2),
         sums])
    if sums is not None:
        sums.replace_all_uses_with(new[4])
    for user in casts:
        user.replace_all_uses_with(new[1])
    last.replace_all_uses_with(new[0])
    for number in (1, 2):
        if number in parts:
            parts[number].replace_all_uses_with(new[number + 1])
    erase(module, node)
    return True


def _pays(theirs: Callable[..., Any], ours: Callable[..., Any], given: Arguments, measure: bool
          ) -> bool:
    """Whether the kernel is right and clearly faster than PyTorch's for values like these."""
    metas = metas_of(given)
    if metas is None:
        return False
    tensors = [m for m in metas if isinstance(m, TensorMetadata)]
    wide = metas[2:4 if ours is layer_norm.fused else 5]
    if not all(m.contiguous for m in tensors) or any(
            isinstance(m, TensorMetadata) and m.dtype is not WIDE for m in wide):
        return False

    def measured(_: Any) -> str:
        with torch.no_grad(), torch.random.fork_rng([]):
            made = made_of(metas)
            if ours is layer_norm.fused_backward:
                made[3] = made[3].abs_().add_(0.5)  # 1 / standard deviations
            return faster(theirs, ours, made)

    key = key_of(theirs, tensors[0].shape, metas)
    return known.find(key, measured if measure else None) == "fused"
