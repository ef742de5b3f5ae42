"""Derivatives of a high order along a path: `jet`, `derivative`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import float32, float64, int32, int64
from ..core.require import of_type
from ..core.state import state
from ..tensors.tensor import Tensor, wrap
from .forward import push
from .level import batching, current, in_forward_mode, recording
from .taylor_rules import Moving, Series, moved
from .tree import differentiable, map_tensors, tensors

_HIGHEST = 12  # each order doubles the work
_MOST_NESTED = 3  # up to this order nested derivatives cost less than a recording, eagerly

_recorders: list[Callable[..., Any]] = []


def register_recorder(recorder: Callable[..., Any]) -> None:
    """Register what records a function as a graph of kernels, where no run is recorded.

    `graph`, a room above this one, does so on import; see `graph.tracing.body_apart`.
    """
    _recorders[:] = [recorder]


def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """The value of `fn` and its derivatives along a path, to the order the path is given to.

    The path has the derivatives `series` at the point `primals`; the result has those of `fn` on
    it. With first derivatives of one and others of zero they are the derivatives by the input
    itself. In compiled functions, and eagerly from order 4 on (3 inside of a gradient call), all
    orders are computed at once, as Taylor series (Griewank and Walther, "Evaluating Derivatives",
    2008, chapter 13), if `fn` only computes and has no rules of its own. Else what it did is
    undone, and nested derivatives are computed, where each order costs about three times as much.

    Args:
        fn: a function or Cell of Tensors.
        primals: the input, or a tuple or list of inputs; integers count as float32.
        series: for each input a Tensor of its shape after one dimension more, in front: the
            derivatives of order 1, 2, ... of the path.

    Returns:
        The output, and a Tensor of its derivatives of order 1, 2, ... For several outputs, lists of
        both.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if lengths or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, path = ms.Tensor([0.0, 1.0]), ms.Tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
        >>> value, derivatives = ms.ops.jet(lambda x: x**3, x, path)
        >>> print(value, derivatives)
        [0. 1.] [[0. 3.]
         [0. 6.]
         [6. 6.]]
    """
    points, steps = _listed(primals, "primals", "jet"), _listed(series, "series", "jet")
    if len(points) != len(steps):
        raise ValueError(f"For 'jet', 'primals' and 'series' must hold as many Tensors, "
                         f"but got {len(points)} and {len(steps)}.")
    points = [_floating(p) for p in points]
    raws = [s._raw.to(p._raw.dtype) for p, s in zip(points, steps, strict=True)]
    orders = {raw.shape[0] if raw.dim() else 0 for raw in raws}
    for point, raw in zip(points, raws, strict=True):
        if raw.dim() != point.ndim + 1 or tuple(raw.shape[1:]) != point.shape:
            raise ValueError(f"For 'jet', 'series' must have shape (order, *{point.shape}) for an "
                             f"input of shape {point.shape}, but got {tuple(raw.shape)}.")
    if len(orders) != 1 or 0 in orders:
        raise ValueError(f"For 'jet', all of 'series' must be of one order of 1 or more, "
                         f"but got {sorted(orders)}.")
    value, found = _along(fn, points, raws, orders.pop())
    return _as_given(value), _as_given(_stacked(found))


def derivative(fn: Callable[..., Any], primals: Any, order: int) -> tuple[Any, Any]:
    """The value of `fn` and its derivative of one order, all inputs moving at speed one.

    For an elementwise function of one input that is the derivative of each element.

    Args:
        fn: a function or Cell of Tensors.
        primals: the input, or a tuple of inputs; integers count as float32.
        order: which derivative, from 1 to 12: each doubles the work.

    Returns:
        The output and the derivative; for several outputs, lists of both.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `order` is not from 1 to 12.

    Examples:
        >>> import lamella as ms
        >>> value, third = ms.ops.derivative(lambda x: x**4, ms.Tensor([1.0, 2.0]), 3)
        >>> print(value, third)
        [ 1. 16.] [24. 48.]
    """
    of_type(order, int, "order", "derivative")
    if not 1 <= order <= _HIGHEST:
        raise ValueError(f"For 'derivative', 'order' must be from 1 to {_HIGHEST}, but got "
                         f"{order}.")
    points = _listed(primals, "primals", "derivative")
    for point in points:
        if point.dtype not in (int32, int64, float32, float64):
            raise TypeError(f"For 'derivative', 'primals' must be of type int32, int64, float32 or "
                            f"float64, but got {point.dtype}.")
    points = [_floating(p) for p in points]
    paths = [torch.zeros((order, *p.shape), dtype=p._raw.dtype, device=p._raw.device)
             for p in points]
    for path in paths:
        path[0] = 1
    value, found = _along(fn, points, paths, order)
    return _as_given(value), _as_given(found[-1])


def _listed(values: Any, what: str, name: str) -> list[Tensor]:
    listed = [values] if isinstance(values, Tensor) else values
    if not isinstance(listed, (tuple, list)) or not listed or not all(
            isinstance(v, Tensor) for v in listed):
        raise TypeError(f"For '{name}', '{what}' must be a Tensor, or a tuple or list of Tensors, "
                        f"but got {type(values).__name__}.")
    return list(listed)


def _floating(tensor: Tensor) -> Tensor:
    raw = tensor._raw
    return tensor if differentiable(raw) else wrap(raw.float())


def _along(fn: Callable[..., Any], points: list[Tensor], paths: list[torch.Tensor],
           order: int) -> tuple[Any, list[Any]]:
    """The value of `fn` on the path at time 0, and its derivatives by time."""
    if not callable(fn):
        raise TypeError(f"For 'jet' and 'derivative', 'fn' must be a function or Cell, but got "
                        f"{type(fn).__name__}.")
    if order > _HIGHEST:
        raise ValueError(f"For 'jet' and 'derivative', the order must be at most {_HIGHEST}, but "
                         f"got {order}.")

    # derivatives of the result make nested ones three times as long
    most = 1 if state.trace is not None else _MOST_NESTED - recording(current())
    if order > most:
        found = _by_rules(fn, points, paths, order)
        if found is not None:
            return found
    return _nested_along(fn, points, paths, order)


def _nested_along(fn: Callable[..., Any], points: list[Tensor], paths: list[torch.Tensor],
                  order: int) -> tuple[Any, list[Any]]:
    """As `_along`, by derivatives of derivatives."""
    # the value on the path, and its derivatives: D of a function of the path's derivatives
    # x0, x1, ... is its derivative along x1, x2, ...
    known = [[point._raw for point in points],
             *[[path[k] for path in paths] for k in range(_moving(paths))]]
    count = len(points)

    def start(*given: Tensor) -> Any:
        return (fn(*given[:count]),)

    def differentiated(inner: Callable[..., Any], order: int) -> Callable[..., Any]:
        def outer(*given: Tensor) -> Any:
            inputs = given[:order * count]
            along = [tensor._raw for tensor in given[count:(order + 1) * count]]
            along += [None] * (len(inputs) - len(along))  # type: ignore[list-item]
            value, tangent = push(inner, inputs, along)
            return (*value, tangent[-1])

        return outer

    at: Callable[..., Any] = start
    for k in range(1, order + 1):
        at = differentiated(at, k)
    value, *found = at(*[wrap(raw) for part in known for raw in part])
    return value, found


def _by_rules(fn: Callable[..., Any], points: list[Tensor], paths: list[torch.Tensor],
              order: int) -> tuple[Any, list[Any]] | None:
    """As `_along`, by Taylor series of all orders at once; None if `fn` doesn't only compute."""
    tree: list[Any] = []

    def call(raws: list[torch.Tensor]) -> list[torch.Tensor]:
        tree[:] = [fn(*map(wrap, raws))]
        return [leaf._raw for leaf in tensors(tree[0])]

    record = _recorders[0] if state.trace is None else state.trace.body
    body = record(fn, call, [point._raw for point in points])
    if body is None:
        return None
    rows = _moving(paths)
    given = [Moving([point._raw, *[path[k] / math.factorial(k + 1) for k in range(rows)],
                     *[None] * (order - rows)])
             for point, path in zip(points, paths, strict=True)]
    with torch.enable_grad():
        ends = [end.series if isinstance(end, Moving) else [end, *[None] * order]
                for end in body(given, moved(order, _nested))]
    found = [[torch.zeros_like(row[0]) if raw is None else raw * math.factorial(k)
              for k, raw in enumerate(row)] for row in ends]

    def of(k: int) -> Any:
        column = iter([row[k] for row in found])
        return map_tensors(lambda _: wrap(next(column)), tree[0])

    return of(0), [of(k) for k in range(1, order + 1)]


def _nested(call: Callable[..., Any], several: list[Series]) -> list[Series]:
    """The series of a function of raw tensors by nested derivatives."""
    order = len(several[0]) - 1
    paths = [torch.stack([torch.zeros_like(series[0]) if raw is None else raw * math.factorial(k)
                          for k, raw in enumerate(series)][1:]) for series in several]
    value, found = _nested_along(
        lambda *given: tuple([wrap(raw) for raw in call(*[g._raw for g in given])]),
        [wrap(series[0]) for series in several], paths, order)
    return [[start._raw, *[row[i]._raw / math.factorial(k + 1) for k, row in enumerate(found)]]
            for i, start in enumerate(value)]


def _moving(paths: list[torch.Tensor]) -> int:
    """The number of a path's derivatives up to the last that isn't zero, and at least one."""
    rows = len(paths[0])
    if state.trace is not None or in_forward_mode() or batching() or any(
            path.requires_grad for path in paths):
        return rows  # numbers aren't known, or derivatives by them are asked for
    last = rows
    while last > 1 and not any(path[last - 1].any() for path in paths):
        last -= 1
    return last


def _stacked(found: list[Any]) -> Any:
    rows = [[t._raw for t in tensors(tree)] for tree in found]
    columns = iter([torch.stack(column) for column in zip(*rows, strict=True)])
    return map_tensors(lambda _: wrap(next(columns)), found[0])


def _as_given(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) and len(value) > 1 else value
