"""Fuses batch normalization with the operations around it into one kernel.

Forward this is a cast from bfloat16, the normalization, a sum, ReLU and a cast to bfloat16;
backward a cast, a sum, the gradients of ReLU and of the normalization, and a cast. One kernel
(`machine/batch_norm.cpp`) computes all of that, where it is as exact as PyTorch's and faster.
"""

from __future__ import annotations

import operator
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine import batch_norm
from ...machine.measured import Measured
from ..ir.metadata import TensorMetadata, meta_of
from ..ir.operations import effects_of
from .casts import NARROW, WIDE, casts_of, is_like, source_of
from .fusing import (
    Arguments,
    are_written,
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
FORWARD: Any = aten.native_batch_norm.default
BACKWARD: Any = aten.native_batch_norm_backward.default
FUSED = "lamella.batch_norm.default"
# the arguments of PyTorch's kernels, and of ours
Forward = namedtuple("Forward", "values weight bias running_mean running_var training momentum eps")
Backward = namedtuple("Backward", "gradient values weight running_mean running_var mean inverse "
                                  "training eps wanted")
Fused = namedtuple("Fused", "x weight bias added eps relu in_wide in_narrow")
FusedBackward = namedtuple("FusedBackward", "gradient other result x weight mean inverse in_narrow "
                                            "of_added")
IN_WIDE, IN_NARROW = 0, 1  # the results of ours

SMALLEST = 2**14  # elements that are worth timing

known = Measured("batch_norms", ("torch", "fused"))


def fuse_batch_norms(module: GraphModule, measure: bool) -> int:
    """Use one kernel where it is the fastest, which is timed; returns how often it is used.

    Args:
        module: changed in place.
        measure: whether that is done now, when layouts are decided; else the kernel is only built.
    """
    graph, count = module.graph, 0
    for target, rewrite in ((FORWARD, _forward), (BACKWARD, _backward)):
        nodes = [n for n in graph.nodes if n.target is target and _is_large(n)]
        if measure:
            count += rewritten(module, nodes, batch_norm.extension,
                               lambda node, memory, rewrite=rewrite: rewrite(module, node, memory))
        elif nodes:
            batch_norm.extension.request()
    for node in graph.nodes:
        if _is_fused(node) and all(user.args[1] != IN_WIDE for user in node.users):
            node.args = tuple(Fused(*node.args)._replace(in_wide=False))
    return count


def _is_fused(node: Node) -> bool:
    return (node.op == "call_function" and effects_of(node.target).namespace == "lamella"
            and str(node.target) == FUSED)


def _is_large(node: Node) -> bool:
    """Whether what is normalized, by the statistics of a batch, is worth timing."""
    its = Forward(*node.args) if node.target is FORWARD else Backward(*node.args)
    meta = meta_of(its.values)
    return (bool(its.training) and meta is not None and meta.device.type == "cpu"
            and meta.dtype is WIDE and meta.size >= SMALLEST)


def _forward(module: GraphModule, node: Node, memory: Memory) -> bool:
    its, results = Forward(*node.args), results_of(node, 3)
    if its.running_mean or its.running_var or results is None or results[0] is None:
        return False
    x: Any = source_of(its.values, memory)
    last, added, relu = results[0], None, False
    if (total := only_user(last, aten.add.Tensor)) is not None and (
            len(total.args) == 2 and not total.kwargs):
        other: Any = total.args[1] if total.args[0] is last else total.args[0]
        if other is not last and is_like(other, last) and memory.place[other] < memory.place[node]:
            last, added = total, source_of(other, memory)
    if (after := only_user(last, aten.relu.default)) is not None:
        last, relu = after, True
    casts: Any = casts_of(last, memory)
    if not (casts or relu or added is not None or x is not its.values) or are_written(
            memory, x, added, *results, last, *casts):
        return False
    masks = [u for u in last.users if _mask_of(u) is last] if casts else []
    in_wide = len(last.users) > len(casts) + len(masks)
    given = Fused(x, its.weight, its.bias, added, its.eps, relu, in_wide, bool(casts))
    if not _pays(batch_norm.by_torch, batch_norm.fused, given):
        return False
    # masks read bfloat16 once they are fused, too
    wide, narrow, *statistics = kernel_inserted(
        module, node, torch.ops.lamella.batch_norm.default,
        given._replace(in_wide=in_wide or bool(masks)),
        [last, casts[0] if casts else None, *results[1:]])
    replace([*casts, last, *results[1:]], [*(narrow for _ in casts), wide, *statistics])
    erase(module, node)
    return True


def _backward(module: GraphModule, node: Node, memory: Memory) -> bool:
    its, results = Backward(*node.args), results_of(node, 3)
    if its.running_mean or its.running_var or not all(its.wanted) or (
            results is None or results[0] is None):
        return False
    g, values, weight, own = its.gradient, its.values, its.weight, results[0]
    x, first, second, result = source_of(values, memory), g, None, None
    assert isinstance(g, Node) and isinstance(first, Node)
    if (mask := _mask_of(g)) is not None:
        first, result = g.args[0], _narrower(mask, memory)
        if not (is_like(first, g) and is_like(result, g, WIDE, NARROW)):
            return False
    assert isinstance(first, Node)
    if first.target is aten.add.Tensor and len(first.args) == 2 and not first.kwargs and (
            first is g or len(first.users) == 1) and all(is_like(n, g) for n in first.args):
        first, second = (source_of(n, memory) for n in first.args)
    else:
        first = source_of(first, memory)
    of_added = (result is not None or second is not None) and len(g.users) > 1
    casts = casts_of(own, memory)
    in_narrow = len(casts) == len(own.users)
    place: Any = g if of_added else node
    reads = [n for n in (first, second, result, x, weight, its.mean, its.inverse)
             if isinstance(n, Node)]
    if first is g and x is values and not in_narrow or any(
            memory.place[n] >= memory.place[place] for n in reads) or are_written(
            memory, *(n for n in reads if n is not weight), g, own, *casts):
        return False
    if isinstance(weight, Node) and memory.version((weight,), memory.place[place]) != (
            memory.version((weight,), memory.place[node])):
        return False
    given = FusedBackward(first, second, result, x, weight, its.mean, its.inverse, in_narrow,
                          of_added)
    if not _pays(batch_norm.by_torch_backward, batch_norm.fused_backward, given):
        return False
    of_x, of_weight, of_bias, of_sum = kernel_inserted(
        module, place, torch.ops.lamella.batch_norm_backward.default, given,
        [casts[0] if in_narrow else own, *results[1:], g if of_added else None])
    for user in casts if in_narrow else [own]:
        user.replace_all_uses_with(of_x)
    replace([*results[1:], g if of_added else None], [of_weight, of_bias, of_sum])
    erase(module, node)
    return True


def _pays(theirs: Callable[..., Any], ours: Callable[..., Any], given: Arguments) -> bool:
    """Whether the kernel is right and clearly faster than PyTorch's for values like these."""
    metas = metas_of(given)
    if metas is None:
        return False
    tensors = [m for m in metas if isinstance(m, TensorMetadata)]
    x = next(m for m in tensors if len(m.shape) > 1)
    last = x.stride[1] == 1 and not x.contiguous
    if any(len(m.shape) == 1 and not m.contiguous for m in tensors) or not (x.contiguous or last):
        return False
    key = key_of(theirs, (*x.shape, last), metas)
    return known.find(key, lambda _: _measured(theirs, ours, metas)) == "fused"


def _measured(theirs: Callable[..., Any], ours: Callable[..., Any], metas: Arguments) -> str:
    """The faster kernel, on random numbers."""
    with torch.no_grad(), torch.random.fork_rng([]):
        given = made_of(metas)
        if theirs is batch_norm.by_torch_backward:
            FusedBackward(*given).inverse.abs_().add_(0.5)  # 1 / standard deviations
        return faster(theirs, ours, given)


def _narrower(node: Any, memory: Memory) -> Any:
    """The same value in bfloat16 if there is one: the same elements are positive."""
    kernel = node.args[0] if node.target is operator.getitem else None
    if kernel is not None and _is_fused(kernel) and node.args[1] == IN_WIDE:
        return next((u for u in kernel.users if u.args[1] == IN_NARROW and meta_of(u)), node)
    return source_of(node, memory)


def _mask_of(node: Node) -> Any:
    """The result of ReLU where whose elements are positive an operation takes a gradient."""
    if node.target is not aten.threshold_backward.default:
        return None
    gradient, result, threshold = node.args
    return result if gradient is not result and threshold == 0 else None
