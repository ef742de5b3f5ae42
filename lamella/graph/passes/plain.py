"""Replaces C++ kernels of Lamella by PyTorch's, for a compiler that doesn't know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine import (
    activation,
    batch_norm,
    cross_entropy,
    few_queries,
    int8_rows,
    layer_norm,
    winograd,
)
from .insert import inserted

# for each kernel, what computes the same from the same arguments
WAYS: dict[str, Callable[..., Any]] = {
    "lamella.activation.default": activation.by_torch,
    "lamella.activation_backward.default": activation.by_torch_backward,
    "lamella.batch_norm.default": batch_norm.by_torch,
    "lamella.batch_norm_backward.default": batch_norm.by_torch_backward,
    "lamella.cross_entropy.default": cross_entropy.by_torch,
    "lamella.cross_entropy_backward.default": cross_entropy.by_torch_backward,
    "lamella.few_queries_attention.default": few_queries.by_torch,
    "lamella.int8_rows.default": int8_rows.by_torch,
    "lamella.layer_norm.default": layer_norm.by_torch,
    "lamella.layer_norm_backward.default": layer_norm.by_torch_backward,
    "lamella.winograd.default": winograd.by_torch,
    "lamella.winograd_weights.default": winograd.by_torch_weights,
}


def plain_kernels(module: GraphModule) -> None:
    """Use PyTorch's kernels.

    Args:
        module: changed in place.
    """
    for node in list(module.graph.nodes):
        way = WAYS.get(str(node.target)) if node.op == "call_function" else None
        if way is not None:
            _replace(module, node, way)


def _replace(module: GraphModule, node: Node, way: Callable[..., Any]) -> None:
    parts = list(node.users)  # of a kernel with several results

    def computed(*tensors: torch.Tensor) -> list[torch.Tensor]:
        left = iter(tensors)
        found = way(*[next(left) if isinstance(a, Node) else a for a in node.args])
        return [found] if isinstance(found, torch.Tensor) else [
            found[part.args[1]] for part in parts]  # type: ignore[index]

    new = inserted(module, node, computed, [a for a in node.args if isinstance(a, Node)])
    if node.meta.get("tensor_meta") is not None:
        parts = [node]
    for part, other in zip(parts, new, strict=True):
        part.replace_all_uses_with(other)
        if part is not node:
            module.graph.erase_node(part)
    module.graph.erase_node(node)
