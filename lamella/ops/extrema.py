"""Largest and smallest: maximum, max, amax, argmax, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.state import in_graph
from ..tensors.kernels import STOPS_AT_BOUNDS
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arithmetic import add
from .operands import axes, both, flag, spelled

__all__ = ["amax", "amin", "aminmax", "argmax", "argmin", "fmax", "fmin", "max", "maximum",
           "min", "minimum", "reduce_max", "reduce_min"]


def _masked(name: str, raw: torch.Tensor, initial: Any, where: Any) -> torch.Tensor:
    """The elements that `where` picks, with `initial` taking part."""
    kind = raw.dtype  # the result's, whatever type `initial` has
    bound = getattr(initial, "_raw", initial)
    if where is not None and where is not True:
        if initial is None:
            raise ValueError(f"For '{name}', 'initial' must be given with 'where', but got None.")
        raw = torch.where(getattr(where, "_raw", where), raw, bound).to(kind)
    if initial is not None:
        raw = raw.clamp(min=bound) if name.endswith("max") else raw.clamp(max=bound)
        raw = raw.to(kind)
    return raw


def _with_elements(name: str, input: Tensor, keepdims: Any) -> torch.Tensor:
    """The raw tensor of an input whose arguments are right, if there is an extremum."""
    raw = input._raw
    flag(keepdims, name, "keepdims")
    if raw.numel() == 0:
        raise ValueError(f"For '{name}', 'input' must have elements, but got shape "
                         f"{tuple(raw.shape)}.")
    return raw


def _extremum(name: str, along: Callable[..., Any], whole: Callable[..., torch.Tensor],
              input: Tensor, axis: Any, keepdims: bool, initial: Any,
              where: Any) -> tuple[Tensor, Tensor]:
    raw = _with_elements(name, input, keepdims)
    if axis is None:  # MindSpore ignores the other arguments here
        return wrap(whole(raw)), wrap(torch.zeros((), dtype=torch.int64, device=raw.device))
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise TypeError(f"For '{name}', 'axis' must be an int or None, but got {axis!r}.")
    values, indices = along(_masked(name, raw, initial, where), axis, keepdims)
    return wrap(values), wrap(indices)


def _arg(name: str, kernel: Callable[..., torch.Tensor], input: Tensor, axis: Any,
         keep: bool) -> Tensor:
    if axis is not None and (not isinstance(axis, int) or isinstance(axis, bool)):
        raise TypeError(f"For '{name}', the axis must be an int or None, but got {axis!r}.")
    raw = input._raw
    flag(keep, name, "keepdim" if name == "argmax" else "keepdims")
    if raw.dtype is torch.bool:
        raw = raw.to(torch.uint8)
    return wrap(kernel(raw, axis, keep and axis is not None))


@documented_like(add)
@op
def maximum(input: Tensor, other: Tensor | float) -> Tensor:
    """The larger of two elements, nan if either is; where they are equal each side gets half of
    the gradient.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.maximum(ms.Tensor([1.0, 5.0]), 2))
        [2. 5.]
    """
    return wrap(torch.maximum(*both(input, other)))


@documented_like(maximum)
@op
def minimum(input: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of two elements, nan if either is; where they are equal each side gets half
    of the gradient.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.minimum(ms.Tensor([1.0, 5.0]), 2))
        [1. 2.]
    """
    return wrap(torch.minimum(*both(input, other)))


@documented_like(maximum)
@op
def fmax(input: Tensor, other: Tensor | float) -> Tensor:
    """The larger of two elements, the other one where one is nan; where they are equal the
    first side gets all of the gradient.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fmax(ms.Tensor([1.0, float("nan")]), 2))
        [2. 2.]
    """
    a, b = both(input, other)
    if STOPS_AT_BOUNDS and a.is_floating_point():  # and shares the gradient where they are equal
        return wrap(torch.where((a >= b) | b.isnan(), a, b))
    return wrap(torch.fmax(a, b))


@documented_like(maximum)
@op
def fmin(input: Tensor, other: Tensor | float) -> Tensor:
    """The smaller of two elements, the other one where one is nan; where they are equal the
    first side gets all of the gradient.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fmin(ms.Tensor([1.0, float("nan")]), 2))
        [1. 2.]
    """
    a, b = both(input, other)
    if STOPS_AT_BOUNDS and a.is_floating_point():
        return wrap(torch.where((a <= b) | b.isnan(), a, b))
    return wrap(torch.fmin(a, b))


@op
def max(input: Tensor, axis: Any = None, keepdims: bool = False, *,
        initial: Any = None, where: Any = None) -> tuple[Tensor, Tensor]:
    """The largest elements along an axis and where they are.

    Along an axis the gradient goes to the first of equal elements; of the whole tensor it is
    shared among them.

    Args:
        input: any shape.
        axis: the axis, an int; None: the largest element of all, with index 0.
        keepdims: whether reduced axes stay, with length 1.
        initial: a value that takes part as if it were an element.
        where: booleans that pick the elements that count; needs `initial`.

    Returns:
        (values, indices of int64)

    Raises:
        TypeError: if `axis` is not an int.
        ValueError: if there is no such axis, or the tensor is empty.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.max(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [3. 4.] [1 0]
    """
    return _extremum("max", torch.max, torch.amax, input, axis, keepdims, initial, where)


@documented_like(max)
@op
def min(input: Tensor, axis: Any = None, keepdims: bool = False, *,
        initial: Any = None, where: Any = None) -> tuple[Tensor, Tensor]:
    """The smallest elements along an axis and where they are.

    Along an axis the gradient goes to the first of equal elements; of the whole tensor it is
    shared among them.

    Args:
        input: any shape.
        axis: the axis, an int; None: the smallest element of all, with index 0.
        keepdims: whether reduced axes stay, with length 1.
        initial: a value that takes part as if it were an element.
        where: booleans that pick the elements that count; needs `initial`.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.min(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [1. 2.] [0 1]
    """
    return _extremum("min", torch.min, torch.amin, input, axis, keepdims, initial, where)


@op
def amax(input: Tensor, axis: Any = None, keepdims: bool = False, *,
         initial: Any = None, where: Any = None) -> Tensor:
    """The largest elements over axes; equal ones share the gradient.

    Args:
        input: any shape.
        axis: the axis or axes to reduce; None or () stands for all.
        keepdims: whether reduced axes stay, with length 1.
        initial: a value that takes part as if it were an element.
        where: booleans that pick the elements that count; needs `initial`.

    Returns:
        Tensor without the reduced axes, or with length 1 there.

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.amax(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [3. 4.]
    """
    raw = _masked("amax", input._raw, initial, where)
    return wrap(torch.amax(raw, axes(axis, raw), keepdims))


@documented_like(amax)
@op
def amin(input: Tensor, axis: Any = None, keepdims: bool = False, *,
         initial: Any = None, where: Any = None) -> Tensor:
    """The smallest elements over axes; equal ones share the gradient.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.amin(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [1. 2.]
    """
    raw = _masked("amin", input._raw, initial, where)
    return wrap(torch.amin(raw, axes(axis, raw), keepdims))


@documented_like(amax)
@op
def reduce_max(x: Tensor, axis: Any = ()) -> Tensor:
    """The largest elements over axes.

    Args:
        x: any shape.
        axis: the axis or axes to reduce; None or () stands for all.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reduce_max(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [3. 4.]
    """
    return wrap(torch.amax(x._raw, axes(axis, x._raw)))


@documented_like(reduce_max)
@op
def reduce_min(x: Tensor, axis: Any = ()) -> Tensor:
    """The smallest elements over axes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reduce_min(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [1. 2.]
    """
    return wrap(torch.amin(x._raw, axes(axis, x._raw)))


@op
def argmax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Where the largest element along an axis is, the first of equal ones.

    Args:
        input: any shape.
        dim: the axis; None: the index into the flattened tensor.
        keepdim: whether the axis stays, with length 1.

    Returns:
        Int64 Tensor

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.argmax(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [1 0]
    """
    return _arg("argmax", torch.argmax, input, dim, keepdim)


@documented_like(argmax)
@op
def argmin(input: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Where the smallest element along an axis is, the first of equal ones.

    Returns:
        Int32 Tensor, Int64 of a number

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.argmin(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), 1))
        [0 1]
    """
    positions = _arg("argmin", torch.argmin, input, axis, keepdims)
    return positions if input._raw.dim() == 0 else wrap(positions._raw.int())


@op
def aminmax(input: Tensor, *, axis: Any = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest and the largest elements along an axis.

    Along an axis the gradient goes to the first of equal elements; of the whole tensor it is
    shared among them.

    Args:
        input: any shape.
        axis: the axis; None: of the whole tensor.
        keepdims: whether reduced axes stay, with length 1.

    Returns:
        (smallest, largest)

    Raises:
        ValueError: if there is no such axis.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.aminmax(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), axis=1))
        [1. 2.] [3. 4.]
    """
    raw = input._raw
    if axis is None:
        low, high = torch.aminmax(raw, keepdim=keepdims)
    else:
        low, high = torch.min(raw, axis, keepdims)[0], torch.max(raw, axis, keepdims)[0]
    return wrap(low), wrap(high)


def _of_all(name: str, whole: Callable[..., torch.Tensor]) -> Callable[..., Tensor]:
    """The extremum of all elements alone."""

    def of_all(self: Tensor, keepdims: Any) -> Tensor:
        return wrap(whole(_with_elements(name, self, keepdims)))

    of_all.__name__ = name
    return op(of_all)


def _method(function: Callable[..., Any], over: Callable[..., Tensor],
            whole: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """Tensor.max or Tensor.min: the values, or a pair.

    It is a pair for an axis given as `dim` or with `keepdim`, and eagerly for one given by position
    alone; in compiled functions of MindSpore that is the values.
    """

    of_all = _of_all(function.__name__, whole)

    def method(self: Tensor, given: Any = None, kept: Any = None, /, *, dim: Any = None,
               keepdim: Any = None, axis: Any = None, keepdims: Any = None, initial: Any = None,
               where: Any = True, return_indices: bool = False) -> Any:
        if keepdim is None and (keepdims is not None or return_indices or in_graph()
                                or initial is not None or where is not True):
            axis = axis if given is None else given
            keepdims = keepdims if kept is None else kept
        else:
            dim = dim if given is None else given
            keepdim = keepdim if kept is None else kept
        keepdim, keepdims = keepdim or False, keepdims or False
        if isinstance(dim, (tuple, list)):
            return over(self, dim, keepdim, initial=initial, where=where)
        if dim is not None:
            return function(self, dim, keepdim, initial=initial, where=where)
        if isinstance(axis, (tuple, list)):
            return over(self, axis, keepdims, initial=initial, where=where)
        if axis is None and not return_indices:
            return of_all(self, keepdims)
        pair = function(self, axis, keepdims, initial=initial, where=where)
        return pair if return_indices else pair[0]

    method.__name__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _tensor_ptp(self: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The difference of the largest and the smallest element over axes."""
    raw, dims = self._raw, axes(axis, self._raw)
    return wrap(torch.amax(raw, dims, keepdims) - torch.amin(raw, dims, keepdims))


def _tensor_argmax_with_value(self: Tensor, axis: int = 0,
                              keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements along an axis, and where they are."""
    return max(self, axis, keep_dims)


def _tensor_argmin_with_value(self: Tensor, axis: int = 0,
                              keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest elements along an axis, and where they are."""
    return min(self, axis, keep_dims)


tensor_methods(maximum=maximum, minimum=minimum, fmax=fmax, fmin=fmin,
               max=_method(max, amax, torch.amax), min=_method(min, amin, torch.amin),
               amax=amax, amin=amin, aminmax=aminmax, ptp=_tensor_ptp,
               argmax=spelled(argmax, axis="dim", keepdims="keepdim"),
               argmin=spelled(argmin, dim="axis", keepdim="keepdims"),
               argmax_with_value=_tensor_argmax_with_value,
               argmin_with_value=_tensor_argmin_with_value)
