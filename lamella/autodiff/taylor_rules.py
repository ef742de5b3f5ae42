"""Taylor series through kernels: a rule for each, which computes all orders at once.

A series is a list of coefficients, of t**0, t**1, ... up to an order; None stands for zeros. The
rules are those of Griewank and Walther, "Evaluating Derivatives", 2008, chapter 13: a product is a
convolution, and a function that obeys a differential equation gives a recurrence. Their work grows
with the square of the order; that of nested derivatives doubles with each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .tree import differentiable

Series = list[Any]  # of tensors, or None for zeros
# of a function of raw tensors, points and the series by these: the series of the results
Nested = Callable[[Callable[..., Any], list[Series]], list[Series]]

_LINEAR = frozenset((
    "t", "permute", "transpose", "unsqueeze", "squeeze", "expand", "select", "slice", "clone",
    "alias", "sum", "mean", "neg", "cumsum", "flip", "roll", "diagonal", "repeat", "index_select",
    "gather", "index", "_to_copy", "unbind", "split", "split_with_sizes", "tril", "triu", "trace"))
_RESHAPES = frozenset(("view", "_unsafe_view", "_reshape_alias"))
_CONSTANT = frozenset((
    "detach", "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones",
    "new_full", "new_empty", "sign", "floor", "ceil", "round", "trunc", "isnan", "isinf"))


class Moving:
    """A value on the path.

    Attributes:
        series: its coefficients.
    """

    __slots__ = ("series",)

    def __init__(self, series: Series):
        self.series = series


def moved(order: int, nested: Nested) -> Callable[..., Any]:
    """A function that applies a kernel to values of which some are `Moving`.

    Args:
        order: of the last coefficient.
        nested: computes the series of a function that there is no rule for.
    """
    def apply(func: Any, args: tuple, kwargs: dict) -> Any:
        if not _moving([args, list(kwargs.values())]):
            return func(*args, **kwargs)
        name = func._schema.name.partition("::")[2]
        if name in _CONSTANT:
            return func(*_starts(args), **_starts(kwargs))
        rule, rest = _RULES.get(name), [*args[1:], *kwargs.values()]
        if name in _LINEAR and not _moving(rest):
            return _linear(func, args, kwargs)
        if name in _RESHAPES and not isinstance(args[1], torch.dtype):  # in any layout
            return _linear(torch.reshape, args[:2], {})
        found = None
        if rule is not None and "mode" not in func._overloadname:
            found = rule(order, *args, **kwargs)
        if found is None:
            return _by_nested(func, args, kwargs, nested)
        return Moving(found)

    return apply


def _moving(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_moving, value))
    return isinstance(value, Moving)


def _starts(value: Any) -> Any:
    """Arguments with the values at time 0."""
    if isinstance(value, Moving):
        return value.series[0]
    if isinstance(value, dict):
        return {name: _starts(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([_starts(part) for part in value])
    return value


def _linear(func: Any, args: tuple, kwargs: dict) -> Any:
    """A function that is linear in its first argument, and may give several results."""
    rows: list[Any] = [None if raw is None else func(raw, *args[1:], **kwargs)
                       for raw in args[0].series]
    if isinstance(rows[0], torch.Tensor):
        return Moving(rows) if differentiable(rows[0]) else rows[0]
    several = zip(*[rows[0] if row is None else row for row in rows], strict=True)
    return [Moving([None if row is None else raw for row, raw in zip(rows, column, strict=True)])
            for column in several]


def _by_nested(func: Any, args: tuple, kwargs: dict, nested: Nested) -> Any:
    """The series by nested derivatives of this kernel alone."""
    found: list[Moving] = []

    def put(value: Any, raws: Any) -> Any:
        if isinstance(value, Moving):
            if raws is None:
                found.append(value)
                return None
            return next(raws)
        if isinstance(value, (tuple, list)):
            return type(value)([put(part, raws) for part in value])
        return value

    put((args, list(kwargs.values())), None)
    several: list[bool] = []

    def call(*raws: torch.Tensor) -> tuple[torch.Tensor, ...]:
        given, named = put((args, list(kwargs.values())), iter(raws))
        results = func(*given, **dict(zip(kwargs, named, strict=True)))
        several.append(not isinstance(results, torch.Tensor))
        return tuple(results) if several[-1] else (results,)

    rows = [Moving(series) if differentiable(series[0]) else series[0]
            for series in nested(call, [value.series for value in found])]
    return rows if several[-1] else rows[0]


def _of(value: Any, order: int) -> Series:
    """The series of a value that may be constant."""
    return value.series if isinstance(value, Moving) else [value, *[None] * order]


def _total(parts: Sequence[Any]) -> Any:
    """The sum of some coefficients."""
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def _times(a: Any, b: Any, product: Callable[[Any, Any], Any] = torch.mul) -> Any:
    return None if a is None or b is None else product(a, b)


def _scaled(a: Any, factor: float) -> Any:
    return a if a is None or factor == 1 else a * factor


def _product(a: Series, b: Series, product: Callable[[Any, Any], Any] = torch.mul) -> Series:
    """The convolution."""
    return [_total([_times(a[j], b[k - j], product) for j in range(k + 1)]) for k in range(len(a))]


def _bilinear(product: Callable[[Any, Any], Any]) -> Callable[..., Series]:
    def rule(order: int, a: Any, b: Any) -> Series:
        return _product(_of(a, order), _of(b, order), product)

    return rule


def _mul(order: int, a: Any, b: Any) -> Series:
    found = _product(_of(a, order), _of(b, order))
    return [_like(raw, found[0]) for raw in found]


def _like(raw: Any, result: torch.Tensor) -> Any:
    """A coefficient in the shape and type of the value at time 0."""
    if raw is None or raw.shape == result.shape and raw.dtype is result.dtype:
        return raw
    return raw.to(result.dtype).expand(result.shape)


def _add(order: int, a: Any, b: Any, alpha: Any = 1) -> Series:
    a, b = _of(a, order), _of(b, order)
    start = torch.add(a[0], b[0], alpha=alpha) if isinstance(a[0], torch.Tensor) else (
        a[0] + b[0] * alpha)
    return [start, *[_like(_total([x, _scaled(y, alpha)]), start)
                     for x, y in zip(a[1:], b[1:], strict=True)]]


def _sub(order: int, a: Any, b: Any, alpha: Any = 1) -> Series:
    return _add(order, a, b, -alpha)


def _rsub(order: int, a: Any, b: Any, alpha: Any = 1) -> Series:
    return _add(order, b, a, -alpha)


def _div(order: int, a: Any, b: Any) -> Series:
    a, b = _of(a, order), _of(b, order)
    found = [a[0] / b[0]]
    for k in range(1, order + 1):
        known = _total([_times(found[j], b[k - j]) for j in range(k)])
        rest = a[k] if known is None else -known if a[k] is None else a[k] - known
        found.append(None if rest is None else _like(rest / b[0], found[0]))
    return found


def _reciprocal(order: int, u: Moving) -> Series:
    return _div(order, torch.ones_like(u.series[0]), u)


def _addmm(order: int, bias: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Series:
    products = _product(_of(a, order), _of(b, order), torch.mm)
    return _add(order, Moving([_scaled(raw, alpha) for raw in products]),
                Moving([_scaled(raw, beta) for raw in _of(bias, order)]))


def _joined(func: Callable[..., Any]) -> Callable[..., Series]:
    def rule(order: int, parts: Any, dim: int = 0) -> Series:
        rows = [_of(part, order) for part in parts]
        return [None if all(row[k] is None for row in rows) else func(
            [torch.zeros_like(row[0]) if row[k] is None else row[k] for row in rows], dim)
            for k in range(order + 1)]

    return rule


def _where(order: int, condition: Any, a: Any, b: Any) -> Series | None:
    if isinstance(condition, Moving):
        return None
    a, b = _of(a, order), _of(b, order)
    start = torch.where(condition, a[0], b[0])
    return [start, *[None if x is None and y is None else torch.where(
        condition, torch.zeros_like(start) if x is None else x,
        torch.zeros_like(start) if y is None else y) for x, y in zip(a[1:], b[1:], strict=True)]]


def _exp(order: int, u: Moving) -> Series:
    v: Series = []
    return _recurrence(u.series, u.series[0].exp(), v, v.__getitem__)


def _recurrence(u: Series, start: Any, v: Series, slope: Callable[[int], Any]) -> Series:
    """v, filled from its start on, from v' = w u'; `slope` gives w's coefficients, in order."""
    w: Series = []
    v.append(start)
    for k in range(1, len(u)):
        w.append(slope(k - 1))
        total = _total([_scaled(_times(u[j], w[k - j]), j) for j in range(1, k + 1)])
        v.append(_scaled(total, 1 / k))
    return v


def _square_of(v: Series, k: int) -> Any:
    """Coefficient k of the square."""
    pairs = [_scaled(_times(v[j], v[k - j]), 2) for j in range((k + 1) // 2)]
    return _total([*pairs, *([_times(v[k // 2], v[k // 2])] if k % 2 == 0 else [])])


def _negative(raw: Any) -> Any:
    return None if raw is None else -raw


def _tanh(order: int, u: Moving) -> Series:
    v: Series = []
    return _recurrence(u.series, u.series[0].tanh(), v, lambda k: (
        1 - v[0] * v[0] if k == 0 else _negative(_square_of(v, k))))


def _sigmoid(order: int, u: Moving) -> Series:
    v: Series = []

    def slope(k: int) -> Any:
        return v[0] * (1 - v[0]) if k == 0 else _total([v[k], _negative(_square_of(v, k))])

    return _recurrence(u.series, u.series[0].sigmoid(), v, slope)


def _silu(order: int, u: Moving) -> Series:
    return _product(u.series, _sigmoid(order, u))


def _log(order: int, u: Moving) -> Series:
    return _recurrence(u.series, u.series[0].log(), [], _reciprocal(order, u).__getitem__)


def _sqrt(order: int, u: Moving) -> Series:
    v = [u.series[0].sqrt()]
    for k in range(1, order + 1):
        rest = _total([u.series[k], _negative(_square_of([*v, None], k))])
        v.append(None if rest is None else rest / (2 * v[0]))
    return v


def _sine_and_cosine(u: Series) -> tuple[Series, Series]:
    s, c = [u[0].sin()], [u[0].cos()]
    for k in range(1, len(u)):
        for target, other, factor in ((s, c, 1 / k), (c, s, -1 / k)):
            total = _total([_scaled(_times(u[j], other[k - j]), j) for j in range(1, k + 1)])
            target.append(_scaled(total, factor))
    return s, c


def _pow(order: int, u: Any, exponent: Any) -> Series | None:
    if not isinstance(u, Moving) or isinstance(exponent, (Moving, torch.Tensor, complex)):
        return None
    if exponent == 0.5:
        return _sqrt(order, u)
    if not 1 <= abs(exponent) <= 16 or exponent != int(exponent):
        return None
    found, square, left = None, u.series, abs(int(exponent))
    while left:  # by squaring: it may be 0
        if left % 2:
            found = square if found is None else _product(found, square)
        left //= 2
        if left:
            square = [_square_of(square, k) for k in range(order + 1)]
    assert found is not None
    return found if exponent > 0 else _reciprocal(order, Moving(found))


def _masked(mask: Callable[[torch.Tensor], torch.Tensor], kernel: Callable[..., Any]
            ) -> Callable[..., Series | None]:
    """A function of real numbers whose slope is constant around each element but for kinks."""
    def rule(order: int, u: Moving) -> Series | None:
        if u.series[0].is_complex():
            return None
        slope = mask(u.series[0])
        return [kernel(u.series[0]), *[_times(raw, slope) for raw in u.series[1:]]]

    return rule


_RULES: dict[str, Callable[..., Series | None]] = {
    "add": _add, "sub": _sub, "rsub": _rsub, "mul": _mul, "div": _div, "addmm": _addmm,
    "mm": _bilinear(torch.mm), "bmm": _bilinear(torch.bmm), "mv": _bilinear(torch.mv),
    "dot": _bilinear(torch.dot), "stack": _joined(torch.stack), "cat": _joined(torch.cat),
    "where": _where, "exp": _exp, "log": _log, "sqrt": _sqrt, "tanh": _tanh, "sigmoid": _sigmoid,
    "silu": _silu, "pow": _pow,
    "reciprocal": _reciprocal,
    "rsqrt": lambda order, u: _reciprocal(order, Moving(_sqrt(order, u))),
    "sin": lambda order, u: _sine_and_cosine(u.series)[0],
    "cos": lambda order, u: _sine_and_cosine(u.series)[1],
    "relu": _masked(lambda x: (x > 0).to(x.dtype), torch.relu),
    "abs": _masked(torch.sign, torch.abs),
}
