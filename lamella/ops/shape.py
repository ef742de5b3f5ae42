"""The same elements in another shape, and what a tensor's shape and type are."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..core.dtype import Type, from_raw, to_raw
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .arguments import as_int, as_ints, axis_in, raw_of, varargs
from .operands import spelled

__all__ = [
    "broadcast_to", "deepcopy", "dtype", "dyn_shape", "expand", "expand_as", "expand_dims",
    "flatten", "is_nonzero", "numel", "rank", "ravel", "reshape", "reshape_", "shape", "shape_",
    "size", "squeeze", "type_as", "unsqueeze", "view_as",
]


@op
def reshape(input: Tensor, shape: Any) -> Tensor:
    """The elements of `input`, row by row, in another shape.

    Args:
        input: any shape and type.
        shape: a tuple, list or Tensor of ints; one of them may be -1, which is worked out.

    Raises:
        ValueError: if the number of elements would differ.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.reshape(ms.Tensor([[1, 2, 3], [4, 5, 6]]), (3, -1)))
        [[1 2]
         [3 4]
         [5 6]]
    """
    return wrap_view(input._raw.reshape(as_ints(shape, "reshape")))


reshape_ = reshape


@op
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements of `input` in the shape of `other`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.view_as(ms.ops.arange(4), ms.ops.zeros((2, 2))))
        [[0 1]
         [2 3]]
    """
    return wrap_view(input._raw.reshape(other._raw.shape))


@op
def flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one.

    Args:
        input: any shape and type; a tensor of rank 0 becomes one of rank 1.
        order: ``"C"``, or ``"F"`` to reverse the dimensions first.
        start_dim, end_dim: the first and last dimension to join.

    Raises:
        TypeError: if `order` is not a str.
        ValueError: if `order` is neither, or a dimension is out of range or before the first.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.flatten(ms.ops.ones((2, 3, 4))).shape
        (2, 12)
    """
    if not isinstance(order, str):
        raise TypeError(f"For 'flatten', 'order' must be a str, but got {order!r}.")
    if order not in ("C", "F"):
        raise ValueError(f"For 'flatten', 'order' must be 'C' or 'F', but got {order!r}.")
    raw = raw_of(input, "flatten")
    if order == "F":
        raw = raw.permute(tuple(range(raw.dim() - 1, -1, -1)))
    if raw.dim() < 2:
        return wrap_view(raw.reshape(-1))
    first = axis_in(start_dim, raw.dim(), "flatten", "start_dim")
    last = axis_in(end_dim, raw.dim(), "flatten", "end_dim")
    if first > last:
        raise ValueError(f"For 'flatten', 'start_dim' must not come after 'end_dim', "
                         f"but got {start_dim} and {end_dim}.")
    return wrap_view(raw.flatten(first, last))


@op
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.ravel(ms.Tensor([[1, 2], [3, 4]])))
        [1 2 3 4]
    """
    return wrap_view(input._raw.reshape(-1))


@op
def squeeze(input: Tensor, axis: Any = None) -> Tensor:
    """Without dimensions of length 1.

    Args:
        input: any shape and type.
        axis: the dimension, or a tuple of them; default: all. One that is longer than 1 stays.

    Raises:
        ValueError: if there is no such dimension.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.squeeze(ms.ops.ones((1, 2, 1)), 0).shape
        (2, 1)
    """
    raw = raw_of(input, "squeeze")
    if axis is None or axis == ():
        return wrap_view(raw.squeeze())
    axes = as_ints(axis, "squeeze", "axis")
    rank = raw.dim() or 1  # a number has one axis, as in PyTorch
    return wrap_view(raw.squeeze(tuple(axis_in(a, rank, "squeeze") for a in axes)))


@op
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With one more dimension, of length 1, before `dim` of the result.

    Args:
        input: any shape and type.
        dim: where, in ``[-rank - 1, rank]``.

    Raises:
        ValueError: if `dim` is out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.unsqueeze(ms.Tensor([1, 2]), -1).shape
        (2, 1)
    """
    raw = raw_of(input, "unsqueeze")
    return wrap_view(raw.unsqueeze(axis_in(dim, raw.dim() + 1, "unsqueeze", "dim")))


@op
def expand_dims(input_x: Tensor, axis: int) -> Tensor:
    """With one more dimension, of length 1; as `unsqueeze`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.expand_dims(ms.Tensor([1, 2]), 0).shape
        (1, 2)
    """
    raw = raw_of(input_x, "expand_dims", "input_x")
    return wrap_view(raw.unsqueeze(axis_in(axis, raw.dim() + 1, "expand_dims")))


@op
def broadcast_to(input: Tensor, shape: Any) -> Tensor:
    """`input` repeated along new dimensions and those of length 1, without copying.

    Args:
        input: any shape and type.
        shape: the shape of the result; -1 keeps the length of that dimension.

    Raises:
        ValueError: if `input` does not fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.broadcast_to(ms.Tensor([1, 2]), (2, 2)))
        [[1 2]
         [1 2]]
    """
    return wrap_view(input._raw.expand(as_ints(shape, "broadcast_to")))


@op
def expand(input_x: Tensor, size: Any) -> Tensor:
    """As `broadcast_to`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.expand(ms.Tensor([[1], [2]]), (2, 3)).shape
        (2, 3)
    """
    return wrap_view(input_x._raw.expand(as_ints(size, "expand", "size")))


@op
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` broadcast to the shape of `other`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.expand_as(ms.Tensor([1, 2]), ms.ops.ones((3, 2))).shape
        (3, 2)
    """
    return wrap_view(input._raw.expand(other._raw.shape))


@op
def shape(input_x: Tensor) -> tuple[int, ...]:
    """The lengths of the dimensions, a tuple of ints.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.shape(ms.ops.ones((2, 3)))
        (2, 3)
    """
    return tuple(raw_of(input_x, "shape", "input_x").shape)


shape_ = shape


@op
def dyn_shape(input_x: Tensor) -> Tensor:
    """The lengths of the dimensions, a Tensor of int64.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.dyn_shape(ms.ops.ones((2, 3))))
        [2 3]
    """
    raw = raw_of(input_x, "dyn_shape", "input_x")
    return wrap(torch.tensor(raw.shape, dtype=torch.int64, device=raw.device))


@op
def rank(input_x: Tensor) -> int:
    """The number of dimensions.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.rank(ms.ops.ones((2, 3)))
        2
    """
    return raw_of(input_x, "rank", "input_x").dim()


@op
def size(input_x: Tensor) -> int:
    """The number of elements.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.size(ms.ops.ones((2, 3)))
        6
    """
    return raw_of(input_x, "size", "input_x").numel()


@op
def numel(input: Tensor) -> int:
    """The number of elements.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.numel(ms.ops.ones((2, 3)))
        6
    """
    return raw_of(input, "numel").numel()


@op
def dtype(x: Tensor) -> Type:
    """The data type.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.dtype(ms.Tensor([1.0]))
        mindspore.float32
    """
    return from_raw[raw_of(x, "dtype", "x").dtype]


@op
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """`input` in the data type of `other`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.type_as(ms.Tensor([1.5]), ms.Tensor([1])).dtype
        mindspore.int64
    """
    return wrap(input._raw.to(other._raw.dtype))


@op
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of `input` is not zero.

    Raises:
        ValueError: if there is not exactly one.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.is_nonzero(ms.Tensor([0.5]))
        True
    """
    raw = raw_of(input, "is_nonzero")
    if raw.numel() != 1:
        raise ValueError(f"For 'is_nonzero', 'input' must have one element, "
                         f"but got shape {tuple(raw.shape)}.")
    return bool(raw)


@op
def deepcopy(input_x: Tensor) -> Tensor:
    """A copy of `input_x` in memory of its own.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.deepcopy(ms.Tensor([1, 2])))
        [1 2]
    """
    return wrap(input_x._raw.clone())


def _tensor_reshape(self: Tensor, *ints: Any, shape: Any = None) -> Tensor:
    """`ops.reshape`; the shape may be given as one tuple or int by int."""
    return reshape(self, varargs(ints, "Tensor.reshape", named=shape))


def _tensor_view(self: Tensor, *ints: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """`ops.reshape`, or, given a data type, the same bytes read as that type."""
    if dtype is not None or (len(ints) == 1 and isinstance(ints[0], (Type, torch.dtype))):
        return wrap_view(self._raw.view(to_raw(dtype or ints[0], "Tensor.view")))
    return reshape(self, varargs(ints, "Tensor.view", named=shape))


def _tensor_flatten(self: Tensor, order: Any = "C", end: int | None = None, *,
                    start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """`ops.flatten` from dimension 0: ``flatten(order)`` or ``flatten(start_dim, end_dim)``."""
    if isinstance(order, int):
        order, start_dim, end_dim = "C", order, end_dim if end is None else end
    return flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def _tensor_squeeze(self: Tensor, *axis: Any, **named: Any) -> Tensor:
    """`ops.squeeze`."""
    axes = axis or tuple(named.values())
    return squeeze(self, axes[0] if len(axes) == 1 else axes or None)


def _tensor_broadcast_to(self: Tensor, *ints: Any, shape: Any = None) -> Tensor:
    """`ops.broadcast_to`; the shape may be given as one tuple or int by int."""
    return broadcast_to(self, varargs(ints, "Tensor.broadcast_to", named=shape))


def _tensor_expand(self: Tensor, *ints: Any, size: Any = None) -> Tensor:
    """`ops.expand`; the shape may be given as one tuple or int by int."""
    return expand(self, varargs(ints, "Tensor.expand", "size", size))


def _tensor_expand_as(self: Tensor, other: Any = None, x: Any = None) -> Tensor:
    """`ops.expand_as`."""
    return expand_as(self, x if other is None else other)


def _resize(self: Tensor, *new_shape: Any) -> Tensor:
    """The elements in another shape, cut off or followed by zeros where their number differs."""
    if not new_shape:
        return self
    lengths = varargs(new_shape, "Tensor.resize", "new_shape")
    flat, count = self._raw.reshape(-1), math.prod(lengths)
    if any(n < 0 for n in lengths):
        raise ValueError(f"For 'Tensor.resize', the lengths must be 0 or more, but got {lengths}.")
    if count > flat.numel():
        flat = torch.cat((flat, flat.new_zeros(count - flat.numel())))
    return wrap_view(flat[:count].reshape(lengths))


def _tensor_unflatten(self: Tensor, axis: int, unflattened_size: Any) -> Tensor:
    """Dimension `axis` as several, of the lengths `unflattened_size`."""
    axis = axis_in(as_int(axis, "Tensor.unflatten"), self._raw.dim(), "Tensor.unflatten")
    return wrap_view(self._raw.unflatten(axis, as_ints(unflattened_size, "Tensor.unflatten")))


tensor_methods(reshape=_tensor_reshape, view=_tensor_view, view_as=view_as, reshape_as=view_as,
               flatten=_tensor_flatten, ravel=ravel, squeeze=_tensor_squeeze,
               unsqueeze=spelled(unsqueeze, axis="dim"),
               expand_dims=expand_dims, broadcast_to=_tensor_broadcast_to, expand=_tensor_expand,
               expand_as=_tensor_expand_as, resize=_resize, unflatten=_tensor_unflatten)
