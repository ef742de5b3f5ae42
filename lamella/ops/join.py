"""Several tensors as one: side by side or along a new dimension."""

from __future__ import annotations

from typing import Any

import torch

from ..core.dtype import promote_types
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import axis_in, raw_of, tensors

__all__ = ["atleast_1d", "atleast_2d", "atleast_3d", "cartesian_prod", "cat", "column_stack",
           "combinations", "concat", "dstack", "hstack", "row_stack", "stack", "vstack"]


def _common(raws: list[torch.Tensor]) -> list[torch.Tensor]:
    kind = raws[0].dtype
    for raw in raws[1:]:
        if raw.dtype is not kind:
            kind = promote_types(kind, raw.dtype)
    return [raw.to(kind) for raw in raws]


def _joined(values: Any, axis: int, where: str) -> Tensor:
    raws = tensors(values, where)
    axis = axis_in(axis, raws[0].dim(), where)
    shape = list(raws[0].shape)
    for raw in raws[1:]:
        other = list(raw.shape)
        if len(other) != len(shape) or other[:axis] + other[axis + 1:] != (
                shape[:axis] + shape[axis + 1:]):
            raise ValueError(f"For '{where}', the tensors must have one shape except along axis "
                             f"{axis}, but got {[tuple(r.shape) for r in raws]}.")
    return wrap(torch.cat(_common(raws), axis))


@op
def concat(tensors: Any, axis: int = 0) -> Tensor:
    """Tensors one after the other along `axis`.

    Args:
        tensors: a tuple or list of Tensors of one shape except along `axis`; mixed types are
            promoted.
        axis: in ``[-rank, rank)``.

    Raises:
        TypeError: if `tensors` is no tuple or list of Tensors.
        ValueError: if the shapes do not fit or `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.concat((ms.Tensor([[1], [2]]), ms.Tensor([[3], [4]])), 1))
        [[1 3]
         [2 4]]
    """
    return _joined(tensors, axis, "concat")


@op
def cat(tensors: Any, axis: int = 0) -> Tensor:
    """Tensors one after the other along `axis`; as `concat`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cat((ms.Tensor([1, 2]), ms.Tensor([3]))))
        [1 2 3]
    """
    return _joined(tensors, axis, "cat")


@op
def stack(tensors: Any, axis: int = 0) -> Tensor:
    """Tensors along a new dimension.

    Args:
        tensors: a tuple or list of Tensors of one shape and type.
        axis: the position of the new dimension, in ``[-rank - 1, rank]``.

    Raises:
        TypeError: if `tensors` is no tuple or list of Tensors, or their types differ.
        ValueError: if the shapes differ or `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.stack((ms.Tensor([1, 2]), ms.Tensor([3, 4])), -1))
        [[1 3]
         [2 4]]
    """
    raws = _raws(tensors, "stack")
    if any(raw.dtype != raws[0].dtype for raw in raws):
        raise TypeError(f"For 'stack', the tensors must have one type, "
                        f"but got {[str(t.dtype) for t in tensors]}.")
    if any(raw.shape != raws[0].shape for raw in raws):
        raise ValueError(f"For 'stack', the tensors must have one shape, "
                         f"but got {[tuple(raw.shape) for raw in raws]}.")
    return wrap(torch.stack(raws, axis_in(axis, raws[0].dim() + 1, "stack")))


_raws = tensors  # the functions above have an argument of that name


@op
def hstack(tensors: Any) -> Tensor:
    """Tensors one after the other along dimension 1, or 0 where they have rank 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.hstack((ms.Tensor([1, 2]), ms.Tensor([3]))))
        [1 2 3]
    """
    return wrap(torch.hstack(_common(_raws(tensors, "hstack"))))


@op
def vstack(inputs: Any) -> Tensor:
    """Tensors below each other; those of rank 1 count as rows.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.vstack((ms.Tensor([1, 2]), ms.Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return wrap(torch.vstack(_common(_raws(inputs, "vstack", "inputs"))))


@op
def row_stack(tensors: Any) -> Tensor:
    """Tensors below each other; as `vstack`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.row_stack((ms.Tensor([1, 2]), ms.Tensor([3, 4]))).shape
        (2, 2)
    """
    return wrap(torch.vstack(_common(_raws(tensors, "row_stack"))))


@op
def dstack(tensors: Any) -> Tensor:
    """Tensors one after the other along dimension 2.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.dstack((ms.Tensor([1, 2]), ms.Tensor([3, 4]))))
        [[[1 3]
          [2 4]]]
    """
    return wrap(torch.dstack(_common(_raws(tensors, "dstack"))))


@op
def column_stack(tensors: Any) -> Tensor:
    """Tensors side by side; those of rank 1 count as columns.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.column_stack((ms.Tensor([1, 2]), ms.Tensor([3, 4]))))
        [[1 3]
         [2 4]]
    """
    return wrap(torch.column_stack(_common(_raws(tensors, "column_stack"))))


def _at_least(inputs: Any, grow: Any, where: str) -> Any:
    if isinstance(inputs, (tuple, list)):
        return tuple(wrap(grow(raw)) for raw in _raws(inputs, where, "inputs"))
    return wrap(grow(raw_of(inputs, where, "inputs")))


@op
def atleast_1d(inputs: Any) -> Any:
    """A Tensor, or each of several, with 1 dimension or more.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.atleast_1d(ms.Tensor(1)).shape
        (1,)
    """
    return _at_least(inputs, torch.atleast_1d, "atleast_1d")


@op
def atleast_2d(inputs: Any) -> Any:
    """A Tensor, or each of several, with 2 dimensions or more; new ones come first.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.atleast_2d(ms.Tensor([1, 2])).shape
        (1, 2)
    """
    return _at_least(inputs, torch.atleast_2d, "atleast_2d")


@op
def atleast_3d(inputs: Any) -> Any:
    """A Tensor, or each of several, with 3 dimensions or more: ``(1, n, 1)`` or ``(m, n, 1)``.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.atleast_3d(ms.Tensor([1, 2])).shape
        (1, 2, 1)
    """
    return _at_least(inputs, torch.atleast_3d, "atleast_3d")


@op
def cartesian_prod(*inputs: Tensor) -> Tensor:
    """All tuples with one element of each of the `inputs`, of rank 0 or 1, one in each row.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cartesian_prod(ms.Tensor([1, 2]), ms.Tensor([3, 4])))
        [[1 3]
         [1 4]
         [2 3]
         [2 4]]
    """
    raws = [torch.atleast_1d(raw_of(i, "cartesian_prod", "inputs")) for i in inputs]
    return wrap(torch.cartesian_prod(*raws) if len(raws) > 1
                else raws[0].unsqueeze(1).clone())


@op
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of `input`, of rank 1, one in each row.

    Raises:
        ValueError: if `input` has not rank 1 or `r` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.combinations(ms.Tensor([1, 2, 3])))
        [[1 2]
         [1 3]
         [2 3]]
    """
    raw = raw_of(input, "combinations")
    if raw.dim() != 1 or r < 0:
        raise ValueError(f"For 'combinations', 'input' must have rank 1 and 'r' be 0 or more, "
                         f"but got shape {tuple(raw.shape)} and {r}.")
    return wrap(torch.combinations(raw, r, with_replacement))
