"""One tensor as several: split along a dimension, or taken apart."""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap_view
from .arguments import as_int, as_ints, axis_in, raw_of

__all__ = ["chunk", "dsplit", "hsplit", "split", "tensor_split", "unbind", "unstack", "vsplit"]


@op
def split(tensor: Tensor, split_size_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """A tensor as pieces along `axis`.

    Args:
        tensor: any shape and type.
        split_size_or_sections: the length of every piece (the last may be shorter), or a tuple or
            list with the length of each.
        axis: in ``[-rank, rank)``.

    Raises:
        TypeError: if `split_size_or_sections` is no int, tuple or list.
        ValueError: if a length is not positive, or the lengths do not sum up to the axis's.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.ops.split(ms.ops.arange(5), 3)
        >>> print(a, b)
        [0 1 2] [3 4]
    """
    raw = raw_of(tensor, "split", "tensor")
    axis = axis_in(axis, raw.dim(), "split")
    if isinstance(split_size_or_sections, (tuple, list)):
        sizes: Any = as_ints(split_size_or_sections, "split", "split_size_or_sections")
        if any(n < 0 for n in sizes) or sum(sizes) != raw.shape[axis]:
            raise ValueError(f"For 'split', the sum of 'split_size_or_sections' must be "
                             f"{raw.shape[axis]}, the length of axis {axis}, but got {sizes}.")
        sizes = list(sizes)
    else:
        sizes = as_int(split_size_or_sections, "split", "split_size_or_sections")
        if sizes <= 0:
            raise ValueError(f"For 'split', 'split_size_or_sections' must be more than 0, "
                             f"but got {sizes}.")
    return tuple([wrap_view(piece) for piece in raw.split(sizes, axis)])


@op
def chunk(input: Tensor, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """A tensor as at most `chunks` pieces of one length along `axis`; the last may be shorter.

    Raises:
        ValueError: if `chunks` is not positive or `axis` is out of range.

    Examples:
        >>> import lamella as ms
        >>> [piece.shape for piece in ms.ops.chunk(ms.ops.arange(5), 2)]
        [(3,), (2,)]
    """
    raw = raw_of(input, "chunk")
    count = as_int(chunks, "chunk", "chunks")
    if count <= 0:
        raise ValueError(f"For 'chunk', 'chunks' must be more than 0, but got {chunks}.")
    return tuple([wrap_view(p) for p in raw.chunk(count, axis_in(axis, raw.dim(), "chunk"))])


@op
def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along `axis`, without that dimension.

    Raises:
        ValueError: if there is no such dimension.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.ops.unstack(ms.Tensor([[1, 2], [3, 4]]))
        >>> print(a, b)
        [1 2] [3 4]
    """
    raw = raw_of(input_x, "unstack", "input_x")
    return tuple([wrap_view(part) for part in raw.unbind(axis_in(axis, raw.dim(), "unstack"))])


@op
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The parts of a tensor along `dim`, without that dimension; as `unstack`.

    Examples:
        >>> import lamella as ms
        >>> [int(x) for x in ms.ops.unbind(ms.Tensor([1, 2]))]
        [1, 2]
    """
    return unstack(input, dim)


def _sections(raw: torch.Tensor, given: Any, axis: int, where: str) -> tuple[Tensor, ...]:
    axis = axis_in(axis, raw.dim(), where)
    if isinstance(given, (tuple, list)):
        pieces = raw.tensor_split(list(as_ints(given, where, "indices_or_sections")), axis)
    else:
        count = as_int(given, where, "indices_or_sections")
        if count <= 0:
            raise ValueError(f"For '{where}', 'indices_or_sections' must be more than 0, "
                             f"but got {given}.")
        pieces = raw.tensor_split(count, axis)
    return tuple([wrap_view(piece) for piece in pieces])


@op
def tensor_split(input: Tensor, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    """A tensor as pieces along `axis`, cut at given positions or into a given number.

    Args:
        input: any shape and type.
        indices_or_sections: where to cut, a tuple or list of indices; or how many pieces, which
            then differ in length by at most 1.
        axis: in ``[-rank, rank)``.

    Raises:
        TypeError: if `indices_or_sections` is no int, tuple or list.
        ValueError: if the number is not positive or `axis` out of range.

    Examples:
        >>> import lamella as ms
        >>> [piece.shape for piece in ms.ops.tensor_split(ms.ops.arange(6), (1, 4))]
        [(1,), (3,), (2,)]
    """
    return _sections(raw_of(input, "tensor_split"), indices_or_sections, axis, "tensor_split")


@op
def hsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """As `tensor_split` along dimension 1, or 0 for rank 1.

    Examples:
        >>> import lamella as ms
        >>> [piece.shape for piece in ms.ops.hsplit(ms.ops.ones((2, 4)), 2)]
        [(2, 2), (2, 2)]
    """
    raw = raw_of(input, "hsplit")
    return _sections(raw, indices_or_sections, min(raw.dim() - 1, 1), "hsplit")


@op
def vsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """As `tensor_split` along dimension 0.

    Examples:
        >>> import lamella as ms
        >>> [piece.shape for piece in ms.ops.vsplit(ms.ops.ones((4, 2)), 2)]
        [(2, 2), (2, 2)]
    """
    return _sections(raw_of(input, "vsplit"), indices_or_sections, 0, "vsplit")


@op
def dsplit(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
    """As `tensor_split` along dimension 2.

    Examples:
        >>> import lamella as ms
        >>> [piece.shape for piece in ms.ops.dsplit(ms.ops.ones((1, 2, 4)), 2)]
        [(1, 2, 2), (1, 2, 2)]
    """
    return _sections(raw_of(input, "dsplit"), indices_or_sections, 2, "dsplit")


def _tensor_split_method(self: Tensor, split_size_or_sections: Any = None, axis: int = 0, *,
                         split_size: Any = None, dim: int | None = None) -> tuple[Tensor, ...]:
    """`ops.split`; the arguments also go by the names ``split_size`` and ``dim``."""
    size = split_size if split_size_or_sections is None else split_size_or_sections
    return split(self, size, axis if dim is None else dim)


def _tensor_chunk(self: Tensor, chunks: int, axis: int = 0, *,
                  dim: int | None = None) -> tuple[Tensor, ...]:
    """`ops.chunk`; the axis also goes by the name ``dim``."""
    return chunk(self, chunks, axis if dim is None else dim)


tensor_methods(split=_tensor_split_method, chunk=_tensor_chunk, unbind=unbind, hsplit=hsplit,
               vsplit=vsplit, dsplit=dsplit, tensor_split=tensor_split)
