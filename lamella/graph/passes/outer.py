"""Products of matrices that are less than that.

One column and one row, as gradients by example are, make a multiplication each. One row and a
matrix, as an answer for one example is, go to the kernel for vectors.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node

from .forms import Form, form_of

aten = torch.ops.aten
SMALLEST = 2**12  # elements of a result that is worth it, or of a matrix for one row


def outer(graph: Graph) -> int:
    """Let products over a single number be products of numbers; returns how many were replaced.

    Kernels for matrix products take twice as long for these (2.2 ms against 1.0 for 64 results of
    120 x 400), and an eighth longer for one row and a matrix of 784 x 512.
    """
    count = 0
    for node in list(graph.nodes):
        if node.target is aten.addmm.default and not node.kwargs:
            count += _by_vector(graph, node)
        if node.target not in (aten.mm.default, aten.bmm.default) or node.kwargs:
            continue
        a, b = node.args
        if not _is_outer(node, a, b):
            continue
        with graph.inserting_before(node):
            made = graph.call_function(aten.mul.Tensor, (a, b))
        made.meta.update(node.meta)
        node.replace_all_uses_with(made)
        graph.erase_node(node)
        count += 1
    return count


def _is_outer(node: Node, a: Any, b: Any) -> bool:
    left, right, result = form_of(a), form_of(b), form_of(node)
    if left is None or right is None or result is None:
        return False
    if (left.shape[-1] != 1 or result.size < SMALLEST
            or not left.dtype.is_floating_point or not left.dtype is right.dtype is result.dtype):
        return False
    made = torch.mul(*(torch.empty_strided(f.shape, f.stride, dtype=f.dtype, device="meta")
                       for f in (left, right)))
    return tuple(made.stride()) == tuple(result.stride)


def _by_vector(graph: Graph, node: Node) -> bool:
    """Replace bias + row @ weightᵀ by the kernel for a matrix and a vector, if it is that."""
    bias, row, turned = node.args
    is_turned = isinstance(turned, Node) and turned.target is aten.t.default
    weight = turned.args[0] if is_turned else None  # type: ignore[union-attr]
    forms = [form_of(n) for n in (bias, row, weight, node)]
    if any(f is None for f in forms):
        return False
    b, x, w, y = forms
    assert b is not None and x is not None and w is not None and y is not None
    if (len(b.shape) != 1 or x.shape[0] != 1 or x.stride[1] != 1 or not w.contiguous
            or w.size < SMALLEST or y.device.type != "cpu"
            or y.dtype not in (torch.float32, torch.float64)):
        return False
    with graph.inserting_before(node):
        flat = graph.call_function(aten.view.default, (row, [x.shape[1]]))
        flat.meta["form"] = Form((x.shape[1],), (1,), x.dtype, x.device)
        vector = graph.call_function(aten.addmv.default, (bias, weight, flat))
        vector.meta.update(node.meta)
        vector.meta["form"] = Form((y.shape[1],), (1,), y.dtype, y.device)
        made = graph.call_function(aten.view.default, (vector, list(y.shape)))
    made.meta.update(node.meta)
    node.replace_all_uses_with(made)
    graph.erase_node(node)
    return True
