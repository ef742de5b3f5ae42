"""MindIR nodes of products of matrices."""

from __future__ import annotations

from typing import Any

from ..builder import Builder, Value
from .elementwise import two
from .table import lowers


@lowers("mm")
def mm(graph: Builder, raw: Any, x: Value, y: Value) -> Value:
    """A product of matrices; one that was only transposed for it isn't."""
    (x, first), (y, second) = graph.before_transpose(x), graph.before_transpose(y)
    return graph.node("MatMul", x, y, first, second, raw=raw)


@lowers("bmm")
def bmm(graph: Builder, raw: Any, x: Value, y: Value) -> Value:
    """Products of several matrices."""
    (x, first), (y, second) = graph.before_transpose(x), graph.before_transpose(y)
    return graph.node("BatchMatMul", x, y, first, second, raw=raw)


@lowers("addmm")
def addmm(graph: Builder, raw: Any, bias: Value, x: Value, y: Value, *, beta: Any = 1,
          alpha: Any = 1) -> Value:
    """A product of matrices and a bias."""
    found = mm(graph, raw, x, y)
    if alpha != 1:
        found = two(graph, raw, "Mul", found, alpha)
    if beta != 1:
        bias = two(graph, bias.raw, "Mul", bias, beta)
    return two(graph, raw, "Add", found, bias)
