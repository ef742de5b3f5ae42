"""Cross entropy of logits and its gradient by two fused kernels.

PyTorch's logarithms of probabilities, and the gradient by them, are as large as the logits, in
float32; with a large vocabulary they are most of a step's memory. One kernel forward and one
backward (`machine/cross_entropy.cpp`) read the logits as they are, and keep two numbers for each
row.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from ...machine import cross_entropy
from ...machine.measured import Key, Measured
from ..ir.metadata import meta_of
from ..ir.operations import sweep
from .casts import casts_of, source_of
from .fusing import are_written, faster
from .memory import Memory

aten = torch.ops.aten
LOSS: Any = aten.nll_loss_forward.default
OF_LOSS: Any = aten.nll_loss_backward.default
OF_LOGARITHMS: Any = aten._log_softmax_backward_data.default

SMALLEST = 2**14  # logits that are worth timing
MOST_ROWS = 256  # of what is timed; more take proportionally longer

known = Measured("cross_entropies", ("torch", "fused"))


class Loss(NamedTuple):
    """Cross entropy in a graph.

    Attributes:
        logits: the node of the logits, as they are before a cast to float32.
        logarithms: the node of the logarithms of probabilities.
        loss: the node of the loss.
        gradients: for each gradient by the loss, that by the logits, and its casts to bfloat16
            if nothing else reads it.
    """

    logits: Node
    logarithms: Node
    loss: Node
    gradients: list[tuple[Node, Node, list[Node]]]


def fuse_cross_entropies(module: GraphModule, measure: bool) -> int:
    """Use one kernel where it is the fastest; returns how often.

    Args:
        module: changed in place.
        measure: whether forms that have not been timed before are timed now.
    """
    graph, count = module.graph, 0
    for node in [n for n in graph.nodes if n.target is aten._log_softmax.default]:
        meta = meta_of(node)
        if meta is None or meta.device.type != "cpu" or meta.size < SMALLEST:
            continue
        memory = Memory(graph)
        loss = _loss(node, memory)
        if loss is None:
            continue
        if cross_entropy.extension.obtain() is not None and _pays(loss, measure):
            _replace(module, loss)
            count += 1
    if count:
        sweep(graph)
    return count


def _loss(node: Node, memory: Memory) -> Loss | None:
    """The cross entropy that reads these logarithms of probabilities, if nothing else does."""
    x, dim, halves = node.args
    meta, given = meta_of(node), meta_of(x)
    if meta is None or given is None or halves or len(meta.shape) != 2 or dim not in (1, -1) or (
            given.dtype is not torch.float32 or not given.contiguous):
        return None
    losses = [u for u in node.users if u.target is LOSS]
    if len(losses) != 1:
        return None
    (loss,) = losses
    given_loss: Any = loss.args
    _, target, weight, reduction, ignored = given_loss
    labels = meta_of(target)
    if weight is not None or labels is None or len(labels.shape) != 1 or not labels.contiguous or (
            any(u.target is not operator.getitem for u in loss.users)):
        return None
    gradients = []
    for of_loss in [u for u in node.users if u.target is OF_LOSS]:
        rest = list(of_loss.users)
        if of_loss.args[1:6] != (node, target, None, reduction, ignored) or len(rest) != 1 or (
                rest[0].target is not OF_LOGARITHMS or rest[0].args[:2] != (of_loss, node)
                or rest[0].args[2] not in (1, -1) or rest[0].args[3] is not torch.float32):
            return None
        casts = casts_of(rest[0], memory)
        gradients.append((of_loss, rest[0], casts if len(casts) == len(rest[0].users) and (
            not are_written(memory, *casts)) else []))
    used = {loss, *(n for of_loss, gradient, _ in gradients for n in (of_loss, gradient))}
    logits: Any = source_of(x, memory)
    by_loss: Any = [of_loss.args[0] for of_loss, *_ in gradients]
    if not used.issuperset(node.users) or are_written(memory, logits, target, *by_loss):
        return None
    return Loss(logits, node, loss, gradients)


def _pays(loss: Loss, measure: bool) -> bool:
    """Whether the kernel is right and clearly faster for these sizes, which is measured once."""
    source = meta_of(loss.logits)
    assert source is not None
    rows, width = source.shape
    narrow = any(casts for *_, casts in loss.gradients)
    key = (min(rows, MOST_ROWS), width, str(source.dtype), str(loss.loss.args[3]),
           bool(loss.gradients), narrow, torch.get_num_threads())
    return known.find(key, _measured if measure else None) == "fused"


def _measured(key: Key) -> str:
    """The faster way of a form, on random numbers; PyTorch's if the results differ."""
    rows, width, reduction = (int(key[i]) for i in (0, 1, 3))
    dtype = getattr(torch, str(key[2]).removeprefix("torch."))
    with torch.no_grad(), torch.random.fork_rng([]):
        x, target = torch.randn(rows, width, dtype=dtype), torch.randint(0, width, (rows,))
        target[::7] = -100
        grad = torch.ones(rows) if reduction == 0 else torch.ones(())

        def by_torch(x: torch.Tensor) -> list[torch.Tensor]:
            wide = x.float()
            logarithms = aten._log_softmax.default(wide, 1, False)
            out, total = LOSS(logarithms, target, None, reduction, -100)
            if not key[4]:
                return [out, total]
            picked = OF_LOSS(grad, logarithms, target, None, reduction, -100, total)
            found = OF_LOGARITHMS(picked, logarithms, 1, torch.float32)
            return [out, total, found.bfloat16() if key[5] else found]

        def fused(x: torch.Tensor) -> list[torch.Tensor]:
            out, total, sums = cross_entropy.fused(x, target, reduction, -100)
            if not key[4]:
                return [out, total]
            return [out, total, cross_entropy.fused_backward(
                grad, x, target, sums, reduction, -100, bool(key[5]))]

        return faster(by_torch, fused, [x])


def _replace(module: GraphModule, loss: Loss) -> None:
    graph, ours = module.graph, torch.ops.lamella
    x, (_, target, _, reduction, ignored) = loss.logits, loss.loss.args
    meta = meta_of(loss.logarithms)
    assert meta is not None
    with graph.inserting_before(loss.loss):
        kernel = graph.call_function(ours.cross_entropy.default, (x, target, reduction, ignored))
        kernel.meta.update(loss.loss.meta)
        sums = graph.call_function(operator.getitem, (kernel, 2))
        sums.meta.update(loss.loss.meta, tensor_meta=meta._replace(
            shape=(meta.shape[0], 2), stride=(2, 1)))
    for user in list(loss.loss.users):
        user.update_arg(0, kernel)
    for of_loss, gradient, casts in loss.gradients:
        like = casts[0] if casts else gradient
        with graph.inserting_before(gradient):
            new = graph.call_function(ours.cross_entropy_backward.default, (
                of_loss.args[0], x, target, sums, reduction, ignored, bool(casts)))
        new.meta.update(gradient.meta, tensor_meta=meta_of(like))
        for old in casts or [gradient]:
            old.replace_all_uses_with(new)
