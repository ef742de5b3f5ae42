"""New tensors: of one value, from Python numbers, of another type."""

from __future__ import annotations

from typing import Any

import torch

from ..core import dtype as mstype
from ..core.context import current_device
from ..core.dtype import is_inexact, to_raw
from ..core.errors import op
from ..tensors.tensor import Tensor, as_raw, tensor_methods, wrap
from ..tensors.unsigned import SIGNED
from .arguments import as_int, as_ints, as_shape, kind_or, raw_of, raw_or_number

__all__ = [
    "cast", "empty", "empty_like", "eye", "fill", "fills", "full", "full_like", "ones", "ones_like",
    "scalar_cast", "scalar_to_array", "scalar_to_tensor", "tuple_to_array", "zeros", "zeros_like",
]


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
                            dtype=kind_or(dtype, torch.float32, "zeros")))


@op
def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A tensor of ones; arguments as for `zeros`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ones(3, ms.int32))
        [1 1 1]
    """
    return wrap(torch.ones(as_shape(shape, "ones"), device=current_device(),
                           dtype=kind_or(dtype, torch.float32, "ones")))


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
                            dtype=kind_or(dtype, torch.float32, "empty")))


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
    if not isinstance(fill_value, (bool, int, float, complex, Tensor)):
        raise TypeError(f"For 'full', 'fill_value' must be a number, but got {fill_value!r} "
                        f"of type {type(fill_value).__name__}.")
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
    elif not is_inexact(raw_type):
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
    return wrap(torch.zeros_like(raw, dtype=kind_or(dtype, raw.dtype, "zeros_like")))


@op
def ones_like(input: Tensor, *, dtype: Any = None) -> Tensor:
    """Ones in the shape of `input`, and in its type unless `dtype` says another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ones_like(ms.Tensor([1, 2]), dtype=ms.float32))
        [1. 1.]
    """
    raw = raw_of(input, "ones_like")
    return wrap(torch.ones_like(raw, dtype=kind_or(dtype, raw.dtype, "ones_like")))


@op
def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor whose elements are not set, in the shape and type of `input`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.empty_like(ms.Tensor([1, 2])).shape
        (2,)
    """
    raw = raw_of(input, "empty_like")
    return wrap(torch.empty_like(raw, dtype=kind_or(dtype, raw.dtype, "empty_like")))


@op
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One value in the shape of `input`, and in its type unless `dtype` says another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.full_like(ms.Tensor([1.0, 2.0]), 7))
        [7. 7.]
    """
    raw = raw_of(input, "full_like")
    return fill(kind_or(dtype, raw.dtype, "full_like"), tuple(raw.shape), fill_value)


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
    kind = kind_or(dtype, torch.float32, "eye")
    made = torch.eye(rows, columns, device=current_device(), dtype=SIGNED.get(kind, kind))
    return wrap(made.to(kind))


@op
def cast(input: Any, dtype: Any) -> Tensor:
    """`input` in another data type.

    Args:
        input: a Tensor or a number.
        dtype: the type; a cast to an integer type drops the fraction.

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
    """A Tensor of rank 1 from a tuple of numbers: int32 if the first is an int, else float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tuple_to_array((1, 2, 3)))
        [1 2 3]
    """
    if not isinstance(input_x, (tuple, list, range)) or not input_x:
        raise TypeError(f"For 'tuple_to_array', the input must be a tuple of numbers, "
                        f"but got {input_x!r}.")
    kind = torch.int32 if isinstance(input_x[0], int) else torch.float32
    return wrap(torch.tensor(list(input_x), dtype=kind, device=current_device()))


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


def _tensor_fill(self: Tensor, value: Any) -> Tensor:
    """One value in the shape and type of the tensor."""
    return full_like(self, value)


tensor_methods(fills=fills, fill=_tensor_fill, new_zeros=_new_zeros, new_ones=_new_ones,
               new_full=_new_full, new_empty=_new_empty)
