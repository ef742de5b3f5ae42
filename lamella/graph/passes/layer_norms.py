"""Fuses layer normalization with the operations around it into one kernel.

Forward this is the sum of a residual connection, the normalization and a cast to bfloat16; backward
a cast, the gradient of the normalization, the sum with that of the residual connection, a cast to
bfloat16, and the sum of its rows, the gradient by a bias that was added before. One kernel
(`machine/layer_norm.cpp`) computes all of that, where it is as exact as PyTorch's and faster.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine import layer_norm
from ...machine.measured import Measured
from ..ir.metadata import TensorMetadata, meta_of
from .casts import WIDE, casts_of, is_like, source_of
from .fusing import (
    are_written,
    column_sum,
    erase,
    faster,
    kernel_inserted,
    key_of,
    made_of,
    metas_of,
    only_user,
    replace,
    results_of,
    rewritten,
)
from .memory import Memory

aten = torch.ops.aten
FORWARD: Any = aten.native_layer_norm.default
BACKWARD: Any = aten.native_layer_norm_backward.default
# the arguments of PyTorch's kernels, and of ours
Forward = namedtuple("Forward", "values form weight bias eps")
Backward = namedtuple("Backward", "gradient values form mean inverse weight bias wanted")
Fused = namedtuple("Fused", "x added weight bias dims eps in_wide in_narrow")
FusedBackward = namedtuple("FusedBackward", "gradient x mean inverse weight other dims in_wide "
                                            "in_narrow in_sums")

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
    its = Forward(*node.args) if node.target is FORWARD else Backward(*node.args)
    meta = meta_of(its.values)
    return (meta is not None and meta.device.type == "cpu" and meta.dtype is WIDE
            and meta.contiguous and meta.size >= SMALLEST)


def _forward(module: GraphModule, node: Node, memory: Memory, measure: bool) -> bool:
    its, results = Forward(*node.args), results_of(node, 3)
    if results is None or results[0] is None:
        return False
    total, own = its.values, results[0]
    assert isinstance(total, Node)
    x, added, place = source_of(total, memory), None, node
    if total.target is aten.add.Tensor and len(total.args) == 2 and not total.kwargs and all(
            is_like(a, total) for a in total.args) and (
            _is_ready(memory, total, node, its.weight, its.bias)):
        x, added = (source_of(n, memory) for n in total.args)
        place = total
    casts = casts_of(own, memory)
    in_wide = len(casts) < len(own.users)
    if not casts and added is None or are_written(memory, x, added, total, own, *casts):
        return False
    given = Fused(x, added, its.weight, its.bias, len(its.form), its.eps, in_wide, bool(casts))
    if not _pays(layer_norm.by_torch, layer_norm.fused, given, measure):
        return False
    in_sum, wide, narrow, *statistics = kernel_inserted(
        module, place, torch.ops.lamella.layer_norm.default, given,
        [total if added is not None else None, own if in_wide else None,
         casts[0] if casts else None, *results[1:]])
    replace([*casts, own, *results[1:]], [*(narrow for _ in casts), wide, *statistics])
    erase(module, node)
    if added is not None:
        total.replace_all_uses_with(in_sum)
        module.graph.erase_node(total)
    return True


def _is_ready(memory: Memory, place: Node, later: Node, *values: Any) -> bool:
    """Whether these are there at a place, and the same at a later one."""
    return all(memory.place[v] < memory.place[place]
               and memory.version((v,), memory.place[place]) == memory.version(
                   (v,), memory.place[later]) for v in values if isinstance(v, Node))


def _backward(module: GraphModule, node: Node, memory: Memory, measure: bool) -> bool:
    its, results = Backward(*node.args), results_of(node, 3)
    if results is None or results[0] is None or not all(its.wanted):
        return False
    first, x = (source_of(n, memory) for n in (its.gradient, its.values))
    last, other = results[0], None
    if (total := only_user(last, aten.add.Tensor)) is not None and (
            len(total.args) == 2 and not total.kwargs):
        rest: Any = total.args[1] if total.args[0] is last else total.args[0]
        if rest is not last and is_like(rest, last) and memory.place[rest] < memory.place[node]:
            last, other = total, source_of(rest, memory)
    casts = casts_of(last, memory)
    in_wide = len(casts) < len(last.users)
    reads = [n for n in (first, x, other, its.mean, its.inverse) if isinstance(n, Node)]
    if first is its.gradient and other is None and not casts or are_written(
            memory, *reads, results[0], last, *casts):
        return False
    sums = next((s for c in casts if (s := column_sum(c)) is not None), None) if (
        len(its.form) == 1) else None
    given = FusedBackward(first, x, its.mean, its.inverse, its.weight, other, len(its.form),
                          in_wide, bool(casts), sums is not None)
    if not _pays(layer_norm.by_torch_backward, layer_norm.fused_backward, given, measure):
        return False
    wide, narrow, of_weight, of_bias, in_sums = kernel_inserted(
        module, node, torch.ops.lamella.layer_norm_backward.default, given,
        [last if in_wide else None, casts[0] if casts else None, *results[1:], sums])
    replace([sums, *casts, last, *results[1:]],
            [in_sums, *(narrow for _ in casts), wide, of_weight, of_bias])
    erase(module, node)
    return True


def _pays(theirs: Callable[..., Any], ours: Callable[..., Any], given: Fused | FusedBackward,
          measure: bool) -> bool:
    """Whether the kernel is right and clearly faster than PyTorch's for values like these."""
    metas = metas_of(given)
    if metas is None:
        return False
    tensors = [m for m in metas if isinstance(m, TensorMetadata)]
    its = given._make(metas)
    wide = (its.weight, its.bias) if isinstance(its, Fused) else (its.mean, its.inverse, its.weight)
    if not all(m.contiguous for m in tensors) or any(
            isinstance(m, TensorMetadata) and m.dtype is not WIDE for m in wide):
        return False

    def measured(_: Any) -> str:
        with torch.no_grad(), torch.random.fork_rng([]):
            made = given._make(made_of(metas))
            if isinstance(made, FusedBackward):
                made.inverse.abs_().add_(0.5)  # 1 / standard deviations
            return faster(theirs, ours, made)

    key = key_of(theirs, tensors[0].shape, metas)
    return known.find(key, measured if measure else None) == "fused"
