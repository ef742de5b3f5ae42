"""Attention and its gradient by the kernel that is fastest for their shapes.

PyTorch's kernels for CPUs are made of products of small blocks, which are slow in bfloat16. The
others (`machine/attention.cpp`) compute the same; their gradient takes what PyTorch's kernel keeps,
too. A step that writes tokens has few queries, for which there is a kernel of its own
(`machine/few_queries.cpp`).
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Graph, Node

from ...machine import attention, few_queries
from ...machine.measured import Key, Measured
from ...machine.products import available
from ...machine.timing import fastest_of
from ..ir.metadata import meta_of
from .fusing import Arguments, faster, key_of, made_of, metas_of

aten = torch.ops.aten
FORWARD: Any = aten._scaled_dot_product_flash_attention_for_cpu.default
BACKWARD: Any = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
TENSORS: dict[Any, int] = {FORWARD: 3, BACKWARD: 6}  # how many tensors each takes first

TYPES = (torch.float32, torch.bfloat16)
SMALLEST = 2**14  # weights of attention that are worth timing
LARGEST = 2**22  # and of what is timed; a larger batch takes proportionally longer
ROUNDS, PATIENCE = 7, 0.5  # the most rounds of timing one shape; seconds
BUDGET = 0.5  # seconds in a process for timing few queries before graphs are hot

known = Measured("attention", ("torch", "heads"))
by_queries = Measured("few_queries", ("torch", "fused"))
_spent = 0.0


def route_attention(graph: Graph, measure: bool) -> None:
    """Use the fastest kernel for attention and for its gradient.

    Args:
        graph: changed in place.
        measure: whether shapes that have not been timed before are timed now.
    """
    for node in list(graph.nodes):
        if node.target is FORWARD and _by_queries(graph, node, measure):
            continue
        if node.target not in TENSORS or not available() or _fastest(node, measure) != "heads":
            continue
        tensors, is_causal, scale = _settings(node)
        node.args, node.kwargs = (*tensors, is_causal, scale), {}
        ours = torch.ops.lamella
        node.target = (ours.attention if len(tensors) == TENSORS[FORWARD]
                       else ours.attention_backward).default


def plain_attention(graph: Graph) -> None:
    """Use PyTorch's kernels, for a compiler that doesn't know others."""
    plain: dict[str, Any] = {
        "lamella.attention.default": FORWARD, "lamella.attention_backward.default": BACKWARD}
    for node in graph.nodes:
        if node.op == "call_function" and str(node.target) in plain:
            *tensors, is_causal, scale = node.args
            node.target = plain[str(node.target)]
            node.args, node.kwargs = (*tensors, 0.0, is_causal), {"scale": scale}


def _by_queries(graph: Graph, node: Node, measure: bool) -> bool:
    """Use the kernel for few queries, if it is the fastest and only the result is read."""
    (query, key, value), is_causal, scale = _settings(node)
    given: Arguments = [query, key, value, node.kwargs.get("attn_mask"), scale]
    metas = metas_of(given)
    dropped = node.args[3] if len(node.args) > 3 else node.kwargs.get("dropout_p", 0.0)
    if metas is None or is_causal or dropped != 0.0 or any(
            u.target is not operator.getitem or u.args[1] != 0 for u in node.users) or any(
            m is not None and len(m.shape) != 4 for m in metas[:4]):
        return False
    q, k, v = metas[:3]
    if not 0 < q.shape[2] <= few_queries.MOST or k.shape != v.shape or k.size < SMALLEST:
        return False
    if k.shape[:2] != q.shape[:2] or k.shape[3] != q.shape[3] or any(
            m.stride[3] != 1 or m.dtype is not q.dtype for m in (q, k, v)):
        return False
    if few_queries.extension.obtain() is None:
        return False

    def measured(_: Key) -> str:
        global _spent
        begin = time.perf_counter()
        with torch.no_grad(), torch.random.fork_rng([]):
            found = faster(few_queries.by_torch, few_queries.by_queries, made_of(metas))
        _spent += time.perf_counter() - begin
        return found

    form = key_of(few_queries.by_torch, (*q.shape, k.shape[2], *k.stride[:3]), metas)
    if by_queries.find(form, measured if measure or _spent < BUDGET else None) != "fused":
        return False
    with graph.inserting_before(node):
        new = graph.call_function(torch.ops.lamella.few_queries_attention.default, tuple(given))
    for user in list(node.users):
        new.meta.update(user.meta)
        user.replace_all_uses_with(new)
        graph.erase_node(user)
    graph.erase_node(node)
    return True


def _settings(node: Node) -> tuple[list[Node], bool, float]:
    """The tensors that attention takes, whether its mask is causal, and the scale."""
    count = TENSORS[node.target]
    tensors: Any = list(node.args[:count])
    query, scale = meta_of(tensors[0]), node.kwargs.get("scale")
    assert query is not None
    is_causal = node.args[count + 1] if len(node.args) > count + 1 else node.kwargs.get("is_causal")
    usual = max(query.shape[-1], 1)**-0.5
    return tensors, bool(is_causal), usual if scale is None else float(scale)  # type: ignore[arg-type]


def _fastest(node: Node, measure: bool) -> str | None:
    """The name of the fastest kernel; None if that isn't known."""
    count = TENSORS[node.target]
    dropped = node.args[count] if len(node.args) > count else node.kwargs.get("dropout_p", 0.0)
    metas = [meta_of(n) for n in node.args[:count]]
    if dropped != 0.0 or node.kwargs.get("attn_mask") is not None or any(
            m is None or m.device.type != "cpu" or len(m.shape) != 4 for m in metas[:5]):
        return None
    query, key, value = metas if count == TENSORS[FORWARD] else metas[1:4]
    assert query is not None and key is not None and value is not None
    if query.dtype not in TYPES or any(
            m is not None and m.dtype is not query.dtype for m in metas[:5]):
        return None
    batch, heads, queries, width = query.shape
    keys = key.shape[2]
    _, is_causal, scale = _settings(node)
    if scale < 0:
        return None  # the largest score isn't that of the largest product
    if key.shape != value.shape or key.shape[:2] != (batch, heads) or key.shape[3] != width or (
            not width or batch * heads * queries * keys < SMALLEST):
        return None
    if attention.extension.obtain() is None:
        return None
    few = min(batch, max(1, LARGEST // (heads * queries * keys)))
    return known.find((count, few, heads, queries, keys, width, is_causal,
                       str(query.dtype), torch.get_num_threads()), _measured if measure else None)


def _measured(key: Key) -> str:
    """The fastest kernel of a shape, on random numbers."""
    count, batch, heads, queries, keys, width, is_causal = map(int, key[:7])
    dtype = getattr(torch, str(key[7]).removeprefix("torch."))
    with torch.no_grad(), torch.random.fork_rng([]):
        def made(length: int) -> torch.Tensor:
            return torch.randn(batch, length, heads, width, dtype=dtype).transpose(1, 2)

        q, k, v, gradient = made(queries), made(keys), made(keys), made(queries)
        how = bool(is_causal), width**-0.5
        ways: dict[str, Callable[[], Any]] = {
            "torch": lambda: attention.by_torch(q, k, v, *how),
            "heads": lambda: attention.by_heads(q, k, v, *how)}
        if count == TENSORS[BACKWARD]:
            given: Any = gradient, q, k, v, *attention.by_torch(q, k, v, *how), *how
            ways = {"torch": lambda: attention.by_torch_backward(*given),
                    "heads": lambda: attention.by_heads_backward(*given)}
        wanted, found = (run() for run in ways.values())
        if [x.stride() for x in wanted] != [x.stride() for x in found]:
            return "torch"
        return fastest_of(ways, ROUNDS, PATIENCE)
