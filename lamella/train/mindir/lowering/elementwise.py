"""MindIR nodes of operations on each element."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..builder import Builder, Unwritable, Value
from .table import TABLE, as_type, lowers

_ONE = {
    "abs": "Abs", "acos": "ACos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf",
    "erfc": "Erfc", "erfinv": "Erfinv", "exp": "Exp", "expm1": "Expm1", "floor": "Floor",
    "lgamma": "Lgamma", "digamma": "Digamma", "log": "Log", "log1p": "Log1p", "neg": "Neg",
    "reciprocal": "Reciprocal", "relu": "ReLU", "rsqrt": "Rsqrt", "sigmoid": "Sigmoid",
    "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh",
    "trunc": "Trunc"}
_TWO = {
    "maximum": "Maximum", "minimum": "Minimum", "atan2": "Atan2",
    "fmod.Tensor": "Mod", "fmod.Scalar": "Mod", "remainder.Tensor": "FloorMod",
    "remainder.Scalar": "FloorMod", "mul.Tensor": "Mul", "mul.Scalar": "Mul",
    "pow.Tensor_Tensor": "Pow", "pow.Tensor_Scalar": "Pow", "pow.Scalar": "Pow",
    "bitwise_and.Tensor": "BitwiseAnd", "bitwise_and.Scalar": "BitwiseAnd",
    "bitwise_or.Tensor": "BitwiseOr", "bitwise_or.Scalar": "BitwiseOr",
    "bitwise_xor.Tensor": "BitwiseXor", "bitwise_xor.Scalar": "BitwiseXor"}
_COMPARED = {"eq": "Equal", "ne": "NotEqual", "gt": "Greater", "ge": "GreaterEqual", "lt": "Less",
             "le": "LessEqual"}
_LOGICAL = {"logical_and": "LogicalAnd", "logical_or": "LogicalOr"}


def _of_one(primitive: str) -> Any:
    return lambda graph, raw, x: graph.node(primitive, as_type(graph, x, raw.dtype), raw=raw)


def _of_two(primitive: str) -> Any:
    return lambda graph, raw, x, y: two(graph, raw, primitive, x, y)


def two(graph: Builder, raw: Any, primitive: str, x: Any, y: Any) -> Value:
    """A node of two operands of the result's type."""
    if raw.dtype is torch.bool:
        primitive = {"BitwiseAnd": "LogicalAnd", "BitwiseOr": "LogicalOr",
                     "BitwiseXor": "LogicalXor", "Mul": "LogicalAnd"}.get(primitive, primitive)
    return graph.node(primitive, as_type(graph, x, raw.dtype), as_type(graph, y, raw.dtype),
                      raw=raw)


def _compared(primitive: str) -> Any:
    def lowering(graph: Builder, raw: Any, x: Any, y: Any) -> Value:
        kind = torch.result_type(x.raw, y.raw if isinstance(y, Value) else y)
        return graph.node(primitive, as_type(graph, x, kind), as_type(graph, y, kind), raw=raw)
    return lowering


def _logical(primitive: str) -> Any:
    def lowering(graph: Builder, raw: Any, x: Any, y: Any) -> Value:
        return graph.node(primitive, _true(graph, x), _true(graph, y), raw=raw)
    return lowering


def _true(graph: Builder, x: Any) -> Any:
    return as_type(graph, x, torch.bool)


TABLE |= {f"{name}.default": _of_one(primitive) for name, primitive in _ONE.items()}
TABLE |= {name if "." in name else f"{name}.default": _of_two(primitive)
          for name, primitive in _TWO.items()}
TABLE |= {f"{name}.{form}": _compared(primitive) for name, primitive in _COMPARED.items()
          for form in ("Tensor", "Scalar")}
TABLE |= {f"{name}.default": _logical(primitive) for name, primitive in _LOGICAL.items()}


@lowers("isinf")
def isinf(graph: Builder, raw: Any, x: Value) -> Value:
    """Whether elements are infinite: none of integers is."""
    return graph.node("IsInf", as_type(graph, x, _some_float(x)), raw=raw)


@lowers("isnan")
def isnan(graph: Builder, raw: Any, x: Value) -> Value:
    """Whether elements are no numbers."""
    return graph.node("IsNan", as_type(graph, x, _some_float(x)), raw=raw)


def _some_float(x: Value) -> torch.dtype:
    return x.dtype if x.dtype.is_floating_point else torch.float32


@lowers("logical_not")
def logical_not(graph: Builder, raw: Any, x: Value) -> Value:
    """Not."""
    return graph.node("LogicalNot", _true(graph, x), raw=raw)


@lowers("logical_xor")
def logical_xor(graph: Builder, raw: Any, x: Value, y: Value) -> Value:
    """Either, not both."""
    return graph.node("NotEqual", _true(graph, x), _true(graph, y), raw=raw)


@lowers("bitwise_not")
def bitwise_not(graph: Builder, raw: Any, x: Value) -> Value:
    """Other bits: of a bool, not; of an integer, -x - 1."""
    if raw.dtype is torch.bool:
        return graph.node("LogicalNot", x, raw=raw)
    return two(graph, raw, "Sub", graph.node("Neg", x, raw=raw), 1)


@lowers("add.Tensor", "add.Scalar")
def add(graph: Builder, raw: Any, x: Any, y: Any, alpha: Any = 1) -> Value:
    """``x + alpha * y``."""
    primitive = "LogicalOr" if raw.dtype is torch.bool else "Add"
    return two(graph, raw, primitive, x, _scaled(graph, y, alpha, raw))


@lowers("sub.Tensor", "sub.Scalar")
def sub(graph: Builder, raw: Any, x: Any, y: Any, alpha: Any = 1) -> Value:
    """``x - alpha * y``."""
    return two(graph, raw, "Sub", x, _scaled(graph, y, alpha, raw))


def _scaled(graph: Builder, y: Any, factor: Any, raw: Any) -> Any:
    if factor == 1:
        return y
    if not isinstance(y, Value):
        return y * factor
    return two(graph, torch.empty_like(y.raw, dtype=raw.dtype), "Mul", y, factor)


@lowers("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode")
def div(graph: Builder, raw: Any, x: Any, y: Any, rounding_mode: str | None = None) -> Value:
    """A quotient, rounded down or towards 0 if asked for."""
    if rounding_mode == "floor":
        return two(graph, raw, "FloorDiv", x, y)
    if rounding_mode is None or raw.dtype.is_floating_point:
        quotient = two(graph, raw, "RealDiv", x, y)
        return quotient if rounding_mode is None else graph.node("Trunc", quotient, raw=raw)
    # whole numbers, towards 0: less what is left over, the division is exact
    left = two(graph, raw, "Mod", x, y)
    return two(graph, raw, "FloorDiv", two(graph, raw, "Sub", x, left), y)


@lowers("log2", "log10")
def log_of_base(graph: Builder, raw: Any, x: Value, base: float = 2.0) -> Value:
    """A logarithm of another base."""
    found = graph.node("Log", as_type(graph, x, raw.dtype), raw=raw)
    return two(graph, raw, "Mul", found, 1 / math.log(base))


TABLE["log10.default"] = lambda graph, raw, x: log_of_base(graph, raw, x, 10.0)


@lowers("round", "round.decimals")
def round_(graph: Builder, raw: Any, x: Value, decimals: int = 0) -> Value:
    """The nearest whole number, the even one of two."""
    if not decimals:
        return graph.node("Round", x, 0, raw=raw)
    there, back = ("Mul", "RealDiv") if decimals > 0 else ("RealDiv", "Mul")
    scaled = two(graph, raw, there, x, 10.0 ** abs(decimals))
    return two(graph, raw, back, graph.node("Round", scaled, 0, raw=raw), 10.0 ** abs(decimals))


@lowers("clamp", "clamp.Tensor")
def clamp(graph: Builder, raw: Any, x: Value, low: Any = None, high: Any = None, *,
          min: Any = None, max: Any = None) -> Value:  # noqa: A002
    """Between bounds."""
    low, high = low if min is None else min, high if max is None else max
    if low is not None:
        x = two(graph, raw, "Maximum", x, low)
    return x if high is None else two(graph, raw, "Minimum", x, high)


@lowers("hardtanh")
def hardtanh(graph: Builder, raw: Any, x: Value, low: float = -1.0, high: float = 1.0) -> Value:
    """Between -1 and 1."""
    return clamp(graph, raw, x, low, high)


@lowers("where.self")
def where(graph: Builder, raw: Any, condition: Value, x: Any, y: Any) -> Value:
    """`x` where `condition` is true, else `y`."""
    return select(graph, raw, condition, x, y)


def select(graph: Builder, raw: Any, condition: Value, x: Any, y: Any) -> Value:
    """One of two by a condition."""
    kind = raw.dtype
    return graph.node("Select", _true(graph, condition), as_type(graph, x, kind),
                      as_type(graph, y, kind), raw=raw)


@lowers("leaky_relu")
def leaky_relu(graph: Builder, raw: Any, x: Value, negative_slope: float = 0.01) -> Value:
    """`x`, times a slope where it is negative."""
    return select(graph, raw, _positive(graph, x), x,
                  two(graph, raw, "Mul", x, negative_slope))


@lowers("elu")
def elu(graph: Builder, raw: Any, x: Value, alpha: float = 1.0, scale: float = 1.0,
        input_scale: float = 1.0) -> Value:
    """`x`, an exponential function where it is negative."""
    low = two(graph, raw, "Minimum", two(graph, raw, "Mul", x, input_scale), 0)
    low = two(graph, raw, "Mul", graph.node("Expm1", low, raw=raw), alpha * scale)
    return select(graph, raw, _positive(graph, x), two(graph, raw, "Mul", x, scale), low)


def _positive(graph: Builder, x: Value) -> Value:
    return graph.node("Greater", x, as_type(graph, 0, x.dtype),
                      raw=torch.empty_like(x.raw, dtype=torch.bool))


@lowers("gelu")
def gelu(graph: Builder, raw: Any, x: Value, approximate: str = "none") -> Value:
    """``x`` times the normal distribution function of it."""
    if approximate == "tanh":
        return graph.node("GeLU", x, raw=raw)
    inner = graph.node("Erf", two(graph, raw, "Mul", x, math.sqrt(0.5)), raw=raw)
    return two(graph, raw, "Mul", two(graph, raw, "Mul", x, 0.5),
               two(graph, raw, "Add", inner, 1))


@lowers("_to_copy")
def to_copy(graph: Builder, raw: Any, x: Value, **_: Any) -> Value:
    """A copy of another type."""
    if raw.dtype.is_complex or x.dtype.is_complex:
        raise Unwritable("complex numbers")
    return as_type(graph, x, raw.dtype)


@lowers("clone", "alias", "detach", "lift_fresh_copy")
def same(graph: Builder, raw: Any, x: Value, **_: Any) -> Value:
    """The same elements."""
    return x
