"""Elements and slices at given indices.

PyTorch's kernels check the indices on the CPU, as MindSpore's do.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import torch

from ..core.errors import describe, op
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, axis_in, indices_of, kernel_checks, raw_of

__all__ = ["gather", "gather_d", "gather_elements", "gather_nd", "index_select", "take"]


@op
def gather(input_params: Tensor, input_indices: Tensor, axis: Any, batch_dims: int = 0) -> Tensor:
    """The slices of a tensor along `axis` at given indices.

    Args:
        input_params: any shape and type.
        input_indices: integers in ``[-n, n)`` for the n slices, any shape.
        axis: an int or a Tensor of one.
        batch_dims: how many leading dimensions both tensors share, gathered entry by entry.

    Returns:
        Tensor of shape ``input_params.shape[:axis] + input_indices.shape[batch_dims:] +
        input_params.shape[axis + 1:]``.

    Raises:
        TypeError: if `input_indices` is no Tensor of integers.
        ValueError: if `axis` or `batch_dims` is out of range.
        RuntimeError: if an index is out of range.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1, 2, 3], [4, 5, 6]])
        >>> print(ms.ops.gather(x, ms.Tensor([0, 2]), 1))
        [[1 3]
         [4 6]]
    """
    raw = raw_of(input_params, "gather", "input_params")
    index = indices_of(wrap(raw_of(input_indices, "gather", "input_indices")), "gather",
                       "input_indices")
    axis = axis_in(axis, raw.dim(), "gather")
    lead = as_int(batch_dims, "gather", "batch_dims")
    lead = lead + index.dim() if lead < 0 else lead
    if not 0 <= lead <= min(axis, index.dim()):
        raise ValueError(f"For 'gather', 'batch_dims' must be at most 'axis' {axis} and the rank "
                         f"{index.dim()} of 'input_indices', but got {batch_dims}.")
    if lead == 0:
        out = _slices(raw, axis, index.reshape(-1), "gather")
        return wrap(out.reshape((*raw.shape[:axis], *index.shape, *raw.shape[axis + 1:])))
    batch = math.prod(raw.shape[:lead])
    data = raw.reshape(batch, *raw.shape[lead:]).movedim(axis - lead + 1, 1)
    rows = torch.arange(batch, device=raw.device)[:, None]
    try:
        out = data[rows, index.reshape(batch, -1)]  # (batch, indices, rest)
    except IndexError as error:
        raise _outside(error, index, raw.shape[axis], axis, "gather") from error
    out = out.movedim(1, axis - lead + 1)
    shape = (*raw.shape[:axis], *index.shape[lead:], *raw.shape[axis + 1:])
    return wrap(out.reshape(shape))


def _slices(raw: torch.Tensor, axis: int, positions: torch.Tensor, where: str) -> torch.Tensor:
    length = raw.shape[axis]
    if kernel_checks(raw, positions):
        with contextlib.suppress(IndexError, RuntimeError):  # of an index that isn't in [0, length)
            return raw.index_select(axis, positions)
    try:
        return raw.index_select(axis, _from_front(positions, length))
    except (IndexError, RuntimeError) as error:  # which, depends on the axis and the device
        raise _outside(error, positions, length, axis, where) from error


def _outside(error: Exception, positions: torch.Tensor, length: int, axis: int,
             where: str) -> Exception:
    """An error that names the index that is out of range; any other error is returned as it is."""
    if not any(word in str(error) for word in ("out of range", "out of bounds", "DATA bounds")):
        return error
    far = positions[(positions < -length) | (positions >= length)]
    if where == "gather":
        return RuntimeError(f"For 'Gather', the 'input_indices' should be in the range "
                            f"[{-length}, {length}) along axis {axis}, but got "
                            f"{far.tolist()[:8]}.")
    return RuntimeError(f"For '{where}', the indices must be in [{-length}, {length}) along axis "
                        f"{axis}, but got {far.tolist()[:8]}.")


def _from_front(index: torch.Tensor, length: int) -> torch.Tensor:
    """Negative indices counted from the end; the kernels check the others."""
    return torch.where(index < 0, index + length, index)


def _elements(x: Any, dim: Any, index: Any, where: str) -> Tensor:
    raw, positions = raw_of(x, where), indices_of(index, where, "index")
    axis = axis_in(dim, raw.dim(), where, "dim")
    length = raw.shape[axis]
    if kernel_checks(raw, positions):
        with contextlib.suppress(RuntimeError):
            return wrap(raw.gather(axis, positions))
    try:
        return wrap(raw.gather(axis, _from_front(positions, length)))
    except RuntimeError as error:
        raise _outside(error, positions, length, axis, where) from error


@op
def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """For each position of `index`, the element of `input` there, but at `index` along `dim`.

    Args:
        input: any type.
        dim: in ``[-rank, rank)``.
        index: integers in ``[-n, n)`` for n elements along `dim`, of the rank of `input`.

    Returns:
        Tensor of the shape of `index`.

    Raises:
        TypeError: if `index` is not of integers.
        ValueError: if the shapes do not fit, or `dim` or an index is out of range.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1, 2], [3, 4]])
        >>> print(ms.ops.gather_elements(x, 1, ms.Tensor([[0, 0], [1, 0]])))
        [[1 1]
         [4 3]]
    """
    return _elements(input, dim, index, "gather_elements")


@op
def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """As `gather_elements`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.gather_d(ms.Tensor([[1, 2], [3, 4]]), 0, ms.Tensor([[1, 0]])))
        [[3 2]]
    """
    return _elements(x, dim, index, "gather_d")


@op
def gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    """The elements or slices at the leading indices in the rows of `indices`.

    Args:
        input_x: any shape and type.
        indices: integers, of shape ``(..., k)``; k is at most the rank of `input_x`. Negative
            ones, which MindSpore refuses, count from the end.

    Returns:
        Tensor of shape ``indices.shape[:-1] + input_x.shape[k:]``.

    Raises:
        ValueError: if k is more than the rank.
        RuntimeError: if an index is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.gather_nd(ms.Tensor([[1, 2], [3, 4]]), ms.Tensor([[0, 1], [1, 0]])))
        [2 3]
    """
    raw = raw_of(input_x, "gather_nd", "input_x")
    positions = indices_of(indices, "gather_nd")
    if positions.dim() < 1 or positions.shape[-1] > raw.dim():
        raise ValueError(f"For 'gather_nd', the rows of 'indices' must have at most {raw.dim()} "
                         f"numbers, but 'indices' has shape {tuple(positions.shape)}.")
    if not positions.shape[-1]:  # each row names the whole of it
        return wrap(raw.expand(*positions.shape[:-1], *raw.shape).clone())
    return wrap(raw[tuple(positions.unbind(-1))])


@op
def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices along `axis` at the indices `index`, of rank 1.

    Raises:
        ValueError: if `axis` is out of range or `index` has not rank 1.
        RuntimeError: if an index is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.index_select(ms.Tensor([[1, 2], [3, 4]]), 0, ms.Tensor([1])))
        [[3 4]]
    """
    raw, positions = raw_of(input, "index_select"), indices_of(index, "index_select", "index")
    axis = axis_in(axis, raw.dim(), "index_select")
    if positions.dim() > 1:
        raise ValueError(f"For 'index_select', 'index' must have rank 1, "
                         f"but got shape {tuple(positions.shape)}.")
    return wrap(_slices(raw, axis, positions.reshape(-1), "index_select"))


@op
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements of the flattened tensor at the indices `index`.

    Returns:
        Tensor of the shape of `index`.

    Raises:
        RuntimeError: if an index is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.take(ms.Tensor([[1, 2], [3, 4]]), ms.Tensor([0, 3])))
        [1 4]
    """
    return wrap(raw_of(input, "take").take(indices_of(index, "take", "index")))


def _tensor_gather(self: Tensor, *args: Any, batch_dims: int = 0, **named: Any) -> Tensor:
    """``gather(input_indices, axis)`` as `ops.gather`; ``gather(dim, index)`` as `gather_elements`.

    The second form is recognized by its first argument, an int.
    """
    if "index" in named or (args and isinstance(args[0], int)):
        pair: dict[str, Any] = dict(zip(("dim", "index"), args)) | named  # noqa: B905  (as below)
        if pair.keys() == {"dim", "index"} and len(args) < 3:
            return gather_elements(self, **pair)
    order = ("input_indices", "axis", "batch_dims")
    given: dict[str, Any] = dict(zip(order, args)) | named  # noqa: B905  (the error about too many is below)
    if not {"input_indices", "axis"} <= given.keys() <= set(order) or len(args) > 3:
        raise TypeError("For 'Tensor.gather', the arguments must be 'input_indices' and 'axis', or "
                        f"'dim' and 'index', but got {describe(args)} and {list(named)}.")
    whole: dict[str, Any] = {"batch_dims": batch_dims, **given}
    return gather(self, **whole)


def _tensor_index_select(self: Tensor, dim: Any = None, index: Any = None, *,
                         axis: Any = None) -> Tensor:
    """`ops.index_select`; the axis also goes by the name ``axis``."""
    return index_select(self, axis if dim is None else dim, index)


def _tensor_take(self: Tensor, indices: Any = None, axis: int | None = None, mode: str = "clip",
                 *, index: Any = None) -> Tensor:
    """The elements at `indices` along `axis`, or of the flattened tensor.

    Negative indices count from the end. Indices out of range are moved to the nearest end
    (``mode="clip"``), taken modulo the length (``"wrap"``), or raise (``"raise"``).
    """
    raw = self._raw.reshape(-1) if axis is None else self._raw
    along = axis_in(axis or 0, raw.dim(), "Tensor.take")
    length = raw.shape[along]
    positions = indices_of(indices if index is None else index, "Tensor.take")
    if mode == "wrap":
        positions = positions % length
    elif mode == "clip":
        positions = torch.where(positions < 0, positions + length, positions).clamp(0, length - 1)
    elif mode != "raise":
        raise ValueError(f"For 'Tensor.take', 'mode' must be 'clip', 'wrap' or 'raise', "
                         f"but got {mode!r}.")
    out = _slices(raw, along, positions.reshape(-1), "Tensor.take")
    return wrap(out.reshape((*raw.shape[:along], *positions.shape, *raw.shape[along + 1:])))


tensor_methods(gather=_tensor_gather, gather_elements=gather_elements, gather_nd=gather_nd,
               index_select=_tensor_index_select, take=_tensor_take)
