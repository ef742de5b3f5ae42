"""The gradient of attention by the fastest kernel for its shape.

PyTorch's kernel for CPUs is made of products of small blocks, which are slow in bfloat16. The other
one (`machine/attention.cpp`) computes the same from what the forward pass keeps anyway.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.fx import Graph, Node

from ...machine import attention
from ...machine.measured import Key, Measured
from ...machine.products import available
from ...machine.timing import GAIN
from ..ir.metadata import meta_of

aten = torch.ops.aten
_FORWARD = aten._scaled_dot_product_flash_attention_for_cpu.default
_BACKWARD = aten._scaled_dot_product_flash_attention_for_cpu_backward.default

SMALLEST = 2**16  # weights of attention that are worth timing
LARGEST = 2**22  # and of what is timed; a larger batch takes proportionally longer
ROUNDS, PATIENCE = 7, 0.5  # the most rounds of timing one shape; seconds

known = Measured("attention", ("torch", "products"))


def route_attention(graph: Graph, measure: bool) -> int:
    """Use the fastest kernel for each gradient of attention; returns how many are ours.

    Args:
        graph: changed in place.
        measure: whether shapes that have not been timed before are timed now.
    """
    count = 0
    for node in list(graph.nodes):
        if node.target is _BACKWARD and available() and _fastest(node, measure) == "products":
            is_causal, scale = _settings(node)
            node.target = torch.ops.lamella.attention_backward.default
            node.args = (*node.args[:6], is_causal, scale)
            node.kwargs = {}
            count += 1
    return count


def plain_attention(graph: Graph) -> None:
    """Use PyTorch's kernel, for a compiler that doesn't know another one."""
    for node in graph.nodes:
        if str(node.target) == "lamella.attention_backward.default":
            *tensors, is_causal, scale = node.args
            node.target = _BACKWARD
            node.args, node.kwargs = (*tensors, 0.0, is_causal), {"scale": scale}


def _settings(node: Node) -> tuple[bool, float]:
    """Whether the mask is causal, and the scale."""
    query = meta_of(node.args[1])
    assert query is not None
    scale = node.kwargs.get("scale")
    return bool(node.args[7]), query.shape[-1] ** -0.5 if scale is None else float(scale)  # type: ignore[arg-type]


def _fastest(node: Node, measure: bool) -> str | None:
    """The name of the fastest kernel; None if that isn't known."""
    metas = [meta_of(n) for n in node.args[:6]]
    if node.args[6] != 0.0 or node.kwargs.get("attn_mask") is not None or any(
            f is None or f.device.type != "cpu" for f in metas) or any(
            f is not None and f.dtype is not torch.bfloat16 for f in metas[:5]):
        return None
    query, key, value = metas[1:4]
    assert query is not None and key is not None and value is not None
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    if key.shape != value.shape or key.shape[:2] != (batch, heads) or not width or (
            batch * heads * queries * keys < SMALLEST):
        return None
    attention.extension.request()
    if attention.extension.load() is None:
        return None
    count = min(batch, max(1, LARGEST // (heads * queries * keys)))
    return known.find((count, heads, queries, keys, width, bool(node.args[7]),
                       torch.get_num_threads()), _measured if measure else None)


def _measured(key: Key) -> str:
    """The fastest kernel of a shape, on random numbers."""
    batch, heads, queries, keys, width, is_causal, _ = map(int, key)
    with torch.no_grad(), torch.random.fork_rng([]):
        def made(length: int) -> torch.Tensor:
            return torch.randn(batch, length, heads, width, dtype=torch.bfloat16).transpose(1, 2)

        q, k, v, gradient = made(queries), made(keys), made(keys), made(queries)
        out, sums = _FORWARD(q, k, v, 0.0, bool(is_causal))
        given = gradient, q, k, v, out, sums, bool(is_causal), width**-0.5
        best = {"torch": float("inf"), "products": float("inf")}
        start = time.perf_counter()
        for number in range(ROUNDS):
            for name, run in (("torch", attention.by_torch), ("products", attention.by_products)):
                begin = time.perf_counter()
                found = run(*given)
                best[name] = min(best[name], time.perf_counter() - begin)
                if not number and name == "torch":
                    wanted: Any = found
                elif not number and [x.stride() for x in found] != [x.stride() for x in wanted]:
                    return "torch"
            if number and time.perf_counter() - start > PATIENCE:
                break
    return "products" if best["products"] < GAIN * best["torch"] else "torch"
