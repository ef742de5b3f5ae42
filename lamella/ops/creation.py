"""New tensors: of one value, of evenly spaced numbers, from Python numbers, of another type."""

from __future__ import annotations

from typing import Any

import torch

from .. import dtype as mstype
from ..context import current_device
from ..dtype import to_raw
from ..errors import op
from ..tensor import Tensor, as_raw, tensor_methods, wrap
from .arguments import as_int, as_ints, as_shape, raw_of, raw_or_number

__all__ = [
    "arange", "cast", "empty", "empty_like", "eye", "fill", "fills", "full", "full_like",
    "linspace", "logspace", "meshgrid", "ones", "ones_like", "range", "scalar_cast",
    "scalar_to_array", "scalar_to_tensor", "tensor_range", "tril_indices", "triu_indices",
    "tuple_to_array", "zeros", "zeros_like",
]


def _kind(dtype: Any, default: Any, where: str) -> Any:
    return default if dtype is None else to_raw(dtype, where)


@op
def zeros(size: Any, dtype: Any = None) -> Tensor:
    """A tensor of zeros.

    Args:
        size: the shape: an int, a tuple, a list or a Tensor of ints.
        dtype: default: float32.

    Raises:
        TypeError: if `size` is none of these.
        ValueError: if a length is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.zeros((2, 2)))
        [[0. 0.]
         [0. 0.]]
    """
    return wrap(torch.zeros(as_shape(size, "zeros", "size"), device=current_device(),
                            dtype=_kind(dtype, torch.float32, "zeros")))


@op
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones; arguments as for `zeros`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ones(3, ms.int32))
        [1 1 1]
    """
    return wrap(torch.ones(as_shape(shape, "ones"), device=current_device(),
                           dtype=_kind(dtype, torch.float32, "ones")))


@op
def empty(*size: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose elements are not set: any numbers.

    Args:
        size: the shape, as one tuple or int by int.
        dtype: default: float32.
        device: accepted as MindSpore does; the current device holds the tensor.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.empty(2, 3).shape
        (2, 3)
    """
    shape = as_shape(size[0] if len(size) == 1 else size, "empty", "size")
    return wrap(torch.empty(shape, device=current_device(),
                            dtype=_kind(dtype, torch.float32, "empty")))


@op
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of one value.

    Args:
        size: the shape, a tuple or list of ints.
        fill_value: a number, or a Tensor of one element.
        dtype: default: int64, whatever the type of `fill_value`, as in MindSpore.

    Raises:
        TypeError: if `size` is no tuple or list.
        ValueError: if a length is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.full((2,), 0.5, dtype=ms.float32))
        [0.5 0.5]
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"For 'full', 'size' must be a tuple or list of ints, but got {size!r} "
                        f"of type {type(size).__name__}.")
    return fill(mstype.int64 if dtype is None else dtype, size, fill_value)


@op
def fill(type: Any, shape: Any, value: Any) -> Tensor:  # noqa: A002
    """A tensor of one value.

    Args:
        type: the data type, first.
        shape: a tuple, list or Tensor of ints.
        value: a number, or a Tensor of one element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fill(ms.float32, (2, 2), 1))
        [[1. 1.]
         [1. 1.]]
    """
    where = as_shape(shape, "fill")
    raw_type = to_raw(type, "fill")
    raw = getattr(value, "_raw", None)
    if raw is not None:
        return wrap(raw.reshape(()).to(raw_type).expand(where).clone())
    if raw_type is torch.bool:
        value = bool(value)
    elif not (raw_type.is_floating_point or raw_type.is_complex):
        value = int(value)
    return wrap(torch.full(where, value, dtype=raw_type, device=current_device()))


@op
def zeros_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Zeros in the shape of `input`, and in its type unless `dtype` says another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.zeros_like(ms.Tensor([1, 2])))
        [0 0]
    """
    raw = raw_of(input, "zeros_like")
    return wrap(torch.zeros_like(raw, dtype=_kind(dtype, raw.dtype, "zeros_like")))


@op
def ones_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Ones in the shape of `input`, and in its type unless `dtype` says another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ones_like(ms.Tensor([1, 2]), dtype=ms.float32))
        [1. 1.]
    """
    raw = raw_of(input, "ones_like")
    return wrap(torch.ones_like(raw, dtype=_kind(dtype, raw.dtype, "ones_like")))


@op
def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose elements are not set, in the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.empty_like(ms.Tensor([1, 2])).shape
        (2,)
    """
    raw = raw_of(input, "empty_like")
    return wrap(torch.empty_like(raw, dtype=_kind(dtype, raw.dtype, "empty_like")))


@op
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One value in the shape of `input`, and in its type unless `dtype` says another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.full_like(ms.Tensor([1.0, 2.0]), 7))
        [7. 7.]
    """
    raw = raw_of(input, "full_like")
    return fill(_kind(dtype, raw.dtype, "full_like"), tuple(raw.shape), fill_value)


@op
def fills(x: Tensor, value: Any) -> Tensor:
    """One value in the shape and type of `x`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.fills(ms.Tensor([1.0, 2.0]), 0.5))
        [0.5 0.5]
    """
    raw = raw_of(x, "fills", "x")
    return fill(raw.dtype, tuple(raw.shape), value)


def _number(value: Any, where: str, name: str) -> Any:
    raw = getattr(value, "_raw", None)
    if raw is not None:
        value = raw.item()
    if isinstance(value, (int, float)):
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
                   _number(step, "arange", "step"), _kind(dtype, None, "arange"),
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
    return wrap(torch.linspace(_number(start, "linspace", "start"), _number(end, "linspace", "end"),
                               count, dtype=kind, device=current_device()))


@op
def logspace(start: Any, end: Any, steps: int, base: int = 10, *,
             dtype: Any = mstype.float32) -> Tensor:
    """`steps` powers of `base`, their exponents evenly spaced from `start` to `end`.

    Args:
        start, end: Tensors of one number, or numbers.
        steps: how many, 0 or more.
        base: a whole number.
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
def eye(n: int, m: int | None = None, dtype: Any = None) -> Tensor:
    """Ones on the diagonal of an (n, m) matrix, zeros elsewhere.

    Args:
        n, m: rows and columns; as many columns as rows by default.
        dtype: default: float32.

    Raises:
        TypeError: if `n` or `m` is no int.
        ValueError: if one is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.eye(2, 3, ms.int32))
        [[1 0 0]
         [0 1 0]]
    """
    rows = as_int(n, "eye", "n")
    columns = rows if m is None else as_int(m, "eye", "m")
    as_shape((rows, columns), "eye", "n, m")
    return wrap(torch.eye(rows, columns, dtype=_kind(dtype, torch.float32, "eye"),
                          device=current_device()))


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
    """The places of a matrix on and below a diagonal: a (2, n) Tensor of rows and columns.

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
    """The places of a matrix on and above a diagonal: a (2, n) Tensor of rows and columns.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.triu_indices(2, 2))
        [[0 0 1]
         [0 1 1]]
    """
    rows, columns = as_shape((row, col), "triu_indices", "row, col")
    return wrap(torch.triu_indices(rows, columns, offset, device=current_device()).to(
        to_raw(dtype, "triu_indices")))


@op
def cast(input: Any, dtype: Any) -> Tensor:
    """`input` in another data type.

    Args:
        input: a Tensor or a number.
        dtype: the type; numbers lose their fraction on the way to whole types.

    Raises:
        TypeError: if `dtype` is no type of tensors.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cast(ms.Tensor([1.5, 2.0]), ms.int32))
        [1 2]
    """
    return wrap(raw_or_number(input).to(to_raw(dtype, "cast")))


@op
def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """A Python number as that of another type: int64, float64 or bool.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.scalar_cast(1.5, ms.int64)
        1
    """
    kinds = {mstype.int64: int, mstype.float64: float, mstype.bool_: bool}
    if input_y not in kinds:
        raise ValueError(f"For 'scalar_cast', the type must be int64, float64 or bool_, "
                         f"but got {input_y!r}.")
    return kinds[input_y](input_x)


@op
def scalar_to_tensor(input_x: Any, dtype: Any = mstype.float32) -> Tensor:
    """A Tensor of rank 0 from a number.

    Raises:
        TypeError: if `input_x` is no number.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.scalar_to_tensor(3)
        Tensor(shape=[], dtype=Float32, value= 3)
    """
    if not isinstance(input_x, (bool, int, float)):
        raise TypeError(f"For 'scalar_to_tensor', 'input_x' must be a bool, int or float, "
                        f"but got {input_x!r}.")
    return wrap(torch.tensor(input_x, dtype=to_raw(dtype, "scalar_to_tensor"),
                             device=current_device()))


@op
def scalar_to_array(input_x: Any) -> Tensor:
    """A Tensor of rank 0 from a number, int64 or float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.scalar_to_array(1.0).dtype)
        Float32
    """
    return wrap(as_raw(input_x))


@op
def tuple_to_array(input_x: tuple) -> Tensor:
    """A Tensor of rank 1 from a tuple of numbers: int32 if all are ints, else float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tuple_to_array((1, 2, 3)))
        [1 2 3]
    """
    if not isinstance(input_x, (tuple, list)) or not input_x:
        raise TypeError(f"For 'tuple_to_array', the input must be a tuple of numbers, "
                        f"but got {input_x!r}.")
    kind = torch.int32 if all(isinstance(v, int) for v in input_x) else torch.float32
    return wrap(torch.tensor(input_x, dtype=kind, device=current_device()))


def _new(self: Tensor, size: Any, value: Any, dtype: Any) -> Tensor:
    return fill(self.dtype if dtype is None else dtype, as_ints(size, "Tensor.new"), value)


def _new_zeros(self: Tensor, size: Any, dtype: Any = None) -> Tensor:
    """Zeros of shape `size`, in this tensor's type."""
    return _new(self, size, 0, dtype)


def _new_ones(self: Tensor, size: Any, dtype: Any = None) -> Tensor:
    """Ones of shape `size`, in this tensor's type."""
    return _new(self, size, 1, dtype)


def _new_full(self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """`fill_value` in the shape `size`, in this tensor's type."""
    return _new(self, size, fill_value, dtype)


def _new_empty(self: Tensor, size: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of shape `size` whose elements are not set, in this tensor's type."""
    return empty(as_ints(size, "Tensor.new_empty"), dtype=self.dtype if dtype is None else dtype)


tensor_methods(fills=fills, new_zeros=_new_zeros, new_ones=_new_ones, new_full=_new_full,
               new_empty=_new_empty)
