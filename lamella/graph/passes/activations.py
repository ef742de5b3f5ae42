"""Activations of bfloat16 by look-up in tables, and their gradients.

There are only 65,536 numbers of bfloat16: a table of an activation has PyTorch's own results
(`machine/activation.cpp`). The backward kernel also sums the rows: this is the gradient by a bias
that was added before.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine import activation
from ...machine.measured import Key, Measured
from ..ir.metadata import meta_of
from .casts import NARROW
from .fusing import are_written, column_sum, faster, kernel_inserted, rewritten
from .memory import Memory

FORWARD = {target: name for name, target in activation.FORWARD.items()}
BACKWARD = {target: name for name, target in activation.BACKWARD.items()}
_KNOWN = {*map(id, (*FORWARD, *BACKWARD))}  # an operation's hash is slow

SMALLEST = 2**14  # elements that are worth timing
LARGEST = 2**22  # of what is timed; more take proportionally longer

known = Measured("activations", ("torch", "fused"))


def fuse_activations(module: GraphModule, measure: bool) -> int:
    """Use tables where they are the fastest; returns how often they are used.

    Args:
        module: changed in place.
        measure: whether forms that have not been timed before are timed now.
    """
    return rewritten(
        module, [n for n in module.graph.nodes
                 if id(n.target) in _KNOWN and _fits(n)],
        activation.extension, lambda node, memory: _rewrite(module, node, memory, measure))


def _fits(node: Node) -> bool:
    """Whether a node is a known activation of many contiguous numbers of bfloat16."""
    its = meta_of(node)
    return its is not None and set(node.kwargs) <= {"approximate"} and all(
        m is not None and m.dtype is NARROW and m.contiguous and m.device.type == "cpu"
        and m.shape == its.shape and m.size >= SMALLEST for m in [its, *map(meta_of, node.args)])


def _rewrite(module: GraphModule, node: Node, memory: Memory, measure: bool) -> bool:
    if are_written(memory, node):
        return False
    name = FORWARD.get(node.target) or BACKWARD[node.target]
    setting = str(node.kwargs.get("approximate", "none")) if name == "gelu" else ""
    sums = column_sum(node) if node.target in BACKWARD else None
    meta = meta_of(node)
    assert meta is not None
    width = meta.shape[-1] if meta.shape else 1
    rows = min(meta.size // width, max(1, LARGEST // width))
    key = (str(node.target), setting, rows, width, sums is not None, torch.get_num_threads())
    if known.find(key, _measured if measure else None) != "fused":
        return False
    ours = torch.ops.lamella
    if node.target in FORWARD:
        node.target, node.args, node.kwargs = ours.activation.default, (
            node.args[0], name, setting), {}
        return True
    new, total = kernel_inserted(module, node, ours.activation_backward.default, [
        *node.args, name, setting, sums is not None], [node, sums])
    if sums is not None:
        sums.replace_all_uses_with(total)
    node.replace_all_uses_with(new)
    module.graph.erase_node(node)
    return True


def _measured(key: Key) -> str:
    """The faster way, on random numbers."""
    target, setting, rows, width, in_sums = str(key[0]), str(key[1]), *map(int, key[2:5])
    names: dict[str, Any] = {str(t): n for t, n in (*FORWARD.items(), *BACKWARD.items())}
    name = names[target]
    with torch.no_grad(), torch.random.fork_rng([]):
        x = torch.randn(rows, width, dtype=NARROW)
        if target in map(str, FORWARD):
            return faster(activation.by_torch, activation.fused, [x, name, setting])
        grad = torch.randn(rows, width, dtype=NARROW)
        if name in ("sigmoid", "tanh"):  # whose gradients take their results
            x = activation.by_torch(x, name, setting)
        return faster(activation.by_torch_backward, activation.fused_backward,
                      [grad, x, name, setting, bool(in_sums)])
