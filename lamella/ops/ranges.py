"""Evenly spaced numbers, grids, and the positions of a matrix's triangles."""

from __future__ import annotations

from typing import Any

import torch

from ..core import dtype as mstype
from ..core.context import current_device
from ..core.dtype import to_raw
from ..core.errors import op
from ..core.wrappers import differs
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, as_shape, kind_or, raw_of, raw_or_number

__all__ = [
    "arange", "linspace", "logspace", "meshgrid", "range", "tensor_range", "tril_indices",
    "triu_indices",
]


def _number(value: Any, where: str, name: str) -> Any:
    raw = getattr(value, "_raw", None)
    if raw is not None:
        value = raw.item()
    if isinstance(value, (int, float, torch.SymInt)):
        return value
    raise TypeError(f"For '{where}', '{name}' must be a number or a Tensor of one, "
                    f"but got {value!r}.")


def _spaced(start: Any, end: Any, step: Any, dtype: torch.dtype | None, where: str) -> Tensor:
    if step == 0:
        raise ValueError(f"For '{where}', 'step' must not be 0.")
    if (end - start) * step < 0:
        raise ValueError(f"For '{where}', 'step' must lead from 'start' to 'end', "
                         f"but got start={start}, end={end}, step={step}.")
    floating = any(isinstance(v, float) for v in (start, end, step))
    natural = torch.float32 if floating else torch.int64
    if type(step) is int and abs(step) > 2**31 and not floating:
        # the kernel's count of numbers overflows, and a step across the whole range gives the same
        step = min(step, max(end - start, 1)) if step > 0 else max(step, min(end - start, -1))
    raw = torch.arange(start, end, step, dtype=natural, device=current_device())
    return wrap(raw if dtype is None else raw.to(dtype))


@op
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Evenly spaced numbers from `start` up to, without, `end`.

    Args:
        start, end, step: numbers or Tensors of one; ``arange(end)`` starts at 0.
        dtype: default: int64 for ints, float32 for floats.

    Raises:
        TypeError: if they are no numbers.
        ValueError: if `step` is 0 or leads away from `end`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.arange(1, 6, 2))
        [1 3 5]
    """
    if end is None:
        start, end = 0, start
    return _spaced(_number(start, "arange", "start"), _number(end, "arange", "end"),
                   _number(step, "arange", "step"), kind_or(dtype, None, "arange"),
                   "arange")


@op
def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Tensor:  # noqa: A001
    """Evenly spaced numbers from `start` up to, without, `end`; int64 or float32.

    Args:
        start, end, step: numbers or Tensors of one.
        maxlen: the most numbers there may be.

    Raises:
        ValueError: if `step` is 0 or leads away from `end`, or there are more than `maxlen`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.range(0, 10, 4))
        [0 4 8]
    """
    out = _spaced(_number(start, "range", "start"), _number(end, "range", "end"),
                  _number(step, "range", "step"), None, "range")
    if out._raw.numel() > maxlen:
        raise ValueError(f"For 'range', there may be at most 'maxlen' = {maxlen} numbers, "
                         f"but {out._raw.numel()} were asked for.")
    return out


tensor_range = range


@op
def linspace(start: Any, end: Any, steps: int) -> Tensor:
    """`steps` evenly spaced numbers from `start` to `end`, both included.

    Args:
        start, end: numbers or Tensors of one, of one type.
        steps: how many, more than 0.

    Raises:
        TypeError: if the types differ or `steps` is not an int.
        ValueError: if `steps` is not positive.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.linspace(1, 10, 4))
        [ 1.  4.  7. 10.]
    """
    count = as_int(steps, "linspace", "steps")
    if count <= 0:
        raise ValueError(f"For 'linspace', 'steps' must be positive, but got {steps}.")
    first, last = raw_or_number(start), raw_or_number(end)
    if isinstance(start, Tensor) and isinstance(end, Tensor) and first.dtype != last.dtype:
        raise TypeError(f"For 'linspace', 'start' and 'end' must have one type, "
                        f"but got {start.dtype} and {end.dtype}.")
    own = first if isinstance(start, Tensor) else last if isinstance(end, Tensor) else None
    kind = own.dtype if own is not None and own.is_floating_point() else torch.float32
    if differs(first) or differs(last):  # numbers of the examples of a `vmap`
        share = torch.linspace(0, 1, count, dtype=kind, device=current_device())
        return wrap(first + (last - first) * share)
    return wrap(torch.linspace(_number(start, "linspace", "start"), _number(end, "linspace", "end"),
                               count, dtype=kind, device=current_device()))


@op
def logspace(start: Any, end: Any, steps: int, base: int = 10, *,
             dtype: Any = mstype.float32) -> Tensor:
    """`steps` powers of `base`, their exponents evenly spaced from `start` to `end`.

    Args:
        start, end: Tensors of one number, or numbers.
        steps: how many, 0 or more.
        base: an integer.
        dtype: float16, float32 or float64.

    Raises:
        TypeError: if `dtype` is no floating type.
        ValueError: if `steps` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logspace(ms.Tensor(0.0), ms.Tensor(2.0), 3))
        [  1.  10. 100.]
    """
    kind = to_raw(dtype, "logspace")
    if not kind.is_floating_point:
        raise TypeError(f"For 'logspace', 'dtype' must be a floating type, but got {dtype}.")
    count = as_int(steps, "logspace", "steps")
    if count < 0:
        raise ValueError(f"For 'logspace', 'steps' must be 0 or more, but got {steps}.")
    return wrap(torch.logspace(_number(start, "logspace", "start"), _number(end, "logspace", "end"),
                               count, base, dtype=kind, device=current_device()))


@op
def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """The coordinates of a grid, from those along each side.

    Args:
        inputs: Tensors of rank 1 (or 0), or one tuple of them.
        indexing: ``"xy"`` puts the first input along the columns, ``"ij"`` along the rows.

    Raises:
        TypeError: if an input is no Tensor.
        ValueError: if `indexing` is neither.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.ops.meshgrid(ms.Tensor([1, 2]), ms.Tensor([3, 4, 5]))
        >>> print(x.shape, y[:, 0])
        (3, 2) [3 4 5]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"For 'meshgrid', 'indexing' must be 'xy' or 'ij', but got {indexing!r}.")
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs = tuple(inputs[0])
    raws = [raw_of(i, "meshgrid", "inputs") for i in inputs]
    return tuple(wrap(raw) for raw in torch.meshgrid(*raws, indexing=indexing))


@op
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = mstype.int64) -> Tensor:
    """The positions of a matrix on and below a diagonal: a (2, n) Tensor of rows and columns.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tril_indices(2, 2))
        [[0 1 1]
         [0 0 1]]
    """
    rows, columns = as_shape((row, col), "tril_indices", "row, col")
    return wrap(torch.tril_indices(rows, columns, offset, device=current_device()).to(
        to_raw(dtype, "tril_indices")))


@op
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = mstype.int64) -> Tensor:
    """The positions of a matrix on and above a diagonal: a (2, n) Tensor of rows and columns.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.triu_indices(2, 2))
        [[0 0 1]
         [0 1 1]]
    """
    rows, columns = as_shape((row, col), "triu_indices", "row, col")
    return wrap(torch.triu_indices(rows, columns, offset, device=current_device()).to(
        to_raw(dtype, "triu_indices")))
