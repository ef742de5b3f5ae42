"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..core.wrappers import differs
from ..tensors.tensor import Tensor, tensor_methods, wrap, wrap_view
from .arguments import as_int, as_ints, axis_in, raw_of

__all__ = ["block_diag", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter",
           "matrix_band_part", "matrix_diag", "matrix_diag_part", "matrix_set_diag", "tril", "triu"]


@op
def diag(input: Tensor) -> Tensor:
    """A tensor with `input` on its diagonal: of shape ``input.shape + input.shape``.

    Raises:
        ValueError: if `input` has rank 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diag(ms.Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    raw = raw_of(input, "diag")
    if raw.dim() == 0:
        raise ValueError("For 'diag', 'input' must have 1 dimension or more, but got shape ().")
    if raw.dim() == 1:
        return wrap(raw.diag())
    return wrap(raw.reshape(-1).diag().reshape(*raw.shape, *raw.shape))


@op
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with the elements of `input` on its diagonal number `offset`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diagflat(ms.Tensor([1, 2]), 1))
        [[0 1 0]
         [0 0 2]
         [0 0 0]]
    """
    return wrap(torch.diagflat(input._raw, as_int(offset, "diagflat", "offset")))


@op
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements on a diagonal of the matrices along `dim1` and `dim2`, as last dimension.

    Args:
        input: rank 2 or more.
        offset: 0 for the main diagonal, positive above it, negative below.
        dim1, dim2: two different dimensions.

    Raises:
        ValueError: if `input` is no matrix or the dimensions are one or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diagonal(ms.Tensor([[1, 2], [3, 4]])))
        [1 4]
    """
    return wrap_view(raw_of(input, "diagonal").diagonal(
        offset, *_plane(input, dim1, dim2, "diagonal")))


def _plane(input: Tensor, dim1: int, dim2: int, where: str) -> tuple[int, int]:
    rank = input._raw.dim()
    if rank < 2:
        raise ValueError(f"For '{where}', 'input' must have 2 dimensions or more, "
                         f"but got shape {input.shape}.")
    first, second = axis_in(dim1, rank, where, "dim1"), axis_in(dim2, rank, where, "dim2")
    if first == second:
        raise ValueError(f"For '{where}', 'dim1' and 'dim2' must differ, but both are {dim1}.")
    return first, second


@op
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices along `dim1` and `dim2` of the result, with `input`'s last dimension on a diagonal.

    Raises:
        ValueError: if `dim1` and `dim2` are one or out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diag_embed(ms.Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    raw = raw_of(input, "diag_embed")
    first = axis_in(dim1, raw.dim() + 1, "diag_embed", "dim1")
    second = axis_in(dim2, raw.dim() + 1, "diag_embed", "dim2")
    if first == second:
        raise ValueError(f"For 'diag_embed', 'dim1' and 'dim2' must differ, but both are {dim1}.")
    return wrap(torch.diag_embed(raw, offset, first, second))


@op
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0,
                     dim2: int = 1) -> Tensor:
    """`input` with `src` on a diagonal.

    Raises:
        ValueError: if `src` has not the shape of that diagonal.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.diagonal_scatter(ms.ops.zeros((2, 2)), ms.Tensor([1.0, 2.0])))
        [[1. 0.]
         [0. 2.]]
    """
    plane = _plane(input, dim1, dim2, "diagonal_scatter")
    return wrap(torch.diagonal_scatter(input._raw, src._raw.to(input._raw.dtype), offset, *plane))


@op
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of matrices, zeros elsewhere.

    Args:
        input: rank 2 or more.
        diagonal: the last diagonal to keep; 0 is the main one.

    Raises:
        ValueError: if `input` is no matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.tril(ms.ops.ones((2, 3))))
        [[1. 0. 0.]
         [1. 1. 0.]]
    """
    return wrap(_matrix(input, "tril").tril(as_int(diagonal, "tril", "diagonal")))


@op
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of matrices, zeros elsewhere.

    Args:
        input: rank 2 or more.
        diagonal: the first diagonal to keep; 0 is the main one.

    Raises:
        ValueError: if `input` is no matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.triu(ms.ops.ones((2, 3)), 1))
        [[0. 1. 1.]
         [0. 0. 1.]]
    """
    return wrap(_matrix(input, "triu").triu(as_int(diagonal, "triu", "diagonal")))


def _matrix(input: Any, where: str) -> torch.Tensor:
    raw = raw_of(input, where)
    if raw.dim() < 2:
        raise ValueError(f"For '{where}', 'input' must have 2 dimensions or more, "
                         f"but got shape {tuple(raw.shape)}.")
    return raw


@op
def block_diag(*inputs: Tensor) -> Tensor:
    """A matrix with the `inputs`, of rank 2 or less, one after the other along its diagonal.

    Raises:
        ValueError: if an input has more than 2 dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.block_diag(ms.Tensor([[1, 2]]), ms.Tensor([3])))
        [[1 2 0]
         [0 0 3]]
    """
    raws = [raw_of(i, "block_diag", "inputs") for i in inputs]
    if any(raw.dim() > 2 for raw in raws):
        raise ValueError(f"For 'block_diag', the inputs must have at most 2 dimensions, "
                         f"but got shapes {[tuple(raw.shape) for raw in raws]}.")
    return wrap(torch.block_diag(*raws))


@op
def matrix_band_part(x: Tensor, lower: Any, upper: Any) -> Tensor:
    """Matrices with zeros outside a band about the diagonal.

    Args:
        x: rank 2 or more.
        lower, upper: how many diagonals to keep below and above; negative means all. Ints or
            Tensors of them.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_band_part(ms.ops.ones((3, 3)), 1, 0))
        [[1. 0. 0.]
         [1. 1. 0.]
         [0. 1. 1.]]
    """
    raw = _matrix(x, "matrix_band_part")
    if any(isinstance(bound, Tensor) and differs(bound._raw) for bound in (lower, upper)):
        return wrap(_band_of_example(raw, lower, upper))
    below = as_int(lower, "matrix_band_part", "lower")
    above = as_int(upper, "matrix_band_part", "upper")
    kept = raw.clone() if below < 0 else raw.triu(-below)
    return wrap(kept if above < 0 else kept.tril(above))


def _band_of_example(raw: torch.Tensor, lower: Any, upper: Any) -> torch.Tensor:
    """What `matrix_band_part` keeps where bounds differ between the examples of a `vmap`."""
    below, above = (b._raw if isinstance(b, Tensor) else torch.tensor(b) for b in (lower, upper))
    rows = torch.arange(raw.shape[-2], device=raw.device).unsqueeze(-1)
    distance = rows - torch.arange(raw.shape[-1], device=raw.device)
    kept = ((below < 0) | (distance <= below)) & ((above < 0) | (-distance <= above))
    return torch.where(kept, raw, torch.zeros_like(raw))


def _band(k: Any, where: str) -> tuple[int, int]:
    ends = as_ints(k, where, "k")
    first, last = (ends[0], ends[0]) if len(ends) == 1 else ends
    if first > last:
        raise ValueError(f"For '{where}', the first of 'k' must not be above the second, "
                         f"but got {k}.")
    return first, last


def _positions(rows: int, columns: int, band: tuple[int, int], align: str, where: str,
               ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For a packed band, of shape (diagonals, longest): rows, columns, and which lie inside.

    The highest diagonal comes first. `align` says at which end the shorter ones are padded: its
    first word for those above the main diagonal, its second for those below.
    """
    if align not in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        raise ValueError(f"For '{where}', 'align' must be two of 'LEFT' and 'RIGHT' joined by '_', "
                         f"but got {align!r}.")
    if not -rows < band[0] <= band[1] < columns and rows * columns:
        raise ValueError(f"For '{where}', 'k' must name diagonals of {rows} rows and {columns} "
                         f"columns, but got {band}.")
    above, below = align.split("_")
    d = torch.arange(band[1], band[0] - 1, -1)[:, None]
    length = torch.minimum(rows + d.clamp(max=0), columns - d.clamp(min=0))
    longest = int(length.max())
    right = torch.where(d > 0, above == "RIGHT", below == "RIGHT") & (length < longest)
    position = torch.arange(longest) - torch.where(right, longest - length, 0)
    inside = (position >= 0) & (position < length)
    rows_of, columns_of = position - d.clamp(max=0), position + d.clamp(min=0)
    return rows_of.where(inside, 0), columns_of.where(inside, 0), inside


@op
def matrix_diag(x: Tensor, k: Any = 0, num_rows: Any = -1, num_cols: Any = -1,
                padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with given diagonals and one value elsewhere.

    Args:
        x: the diagonals along the last dimension; for several, packed in the last two.
        k: which diagonal, or the lowest and highest of a band.
        num_rows, num_cols: the size of the matrices; -1 for the least that fits.
        padding_value: the value elsewhere, a number or a Tensor of one.
        align: at which end diagonals shorter than the longest are padded, above and below.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_diag(ms.Tensor([1.0, 2.0])))
        [[1. 0.]
         [0. 2.]]
    """
    raw, band = raw_of(x, "matrix_diag", "x"), _band(k, "matrix_diag")
    packed = raw.unsqueeze(-2) if band[0] == band[1] else raw
    longest = packed.shape[-1]
    rows, columns = as_int(num_rows, "matrix_diag"), as_int(num_cols, "matrix_diag")
    least = longest - min(band[1], 0), longest + max(band[0], 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least)
    rows, columns = (least[0] if rows == -1 else rows), (least[1] if columns == -1 else columns)
    r, c, inside = _positions(rows, columns, band, align, "matrix_diag")
    if inside.shape != packed.shape[-2:]:
        raise ValueError(f"For 'matrix_diag', {rows} rows and {columns} columns have diagonals of "
                         f"shape {tuple(inside.shape)} for k={k}, but 'x' has shape {x.shape}.")
    fill = getattr(padding_value, "_raw", padding_value)
    blank = raw.new_ones((*packed.shape[:-2], rows, columns)) * fill
    blank = blank.to(raw.dtype)
    inside = inside.to(raw.device)
    return wrap(blank.index_put(_at(blank, r, c, inside), packed[..., inside]))


def _at(like: torch.Tensor, r: torch.Tensor, c: torch.Tensor, inside: torch.Tensor) -> tuple:
    """Index tensors for the positions of a band in each matrix of a batch."""
    lead = like.dim() - 2
    batch = [torch.arange(n, device=like.device).reshape(*[1] * i, n, *[1] * (lead - i))
             for i, n in enumerate(like.shape[:-2])]
    return (*batch, r.to(like.device)[inside], c.to(like.device)[inside])


@op
def matrix_diag_part(x: Tensor, k: Any, padding_value: Any, align: str = "RIGHT_LEFT") -> Tensor:
    """The diagonals of matrices: the inverse of `matrix_diag`; arguments as there.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_diag_part(ms.Tensor([[1, 2], [3, 4]]), 0, 0))
        [1 4]
    """
    raw, band = _matrix(x, "matrix_diag_part"), _band(k, "matrix_diag_part")
    r, c, inside = _positions(raw.shape[-2], raw.shape[-1], band, align, "matrix_diag_part")
    fill = getattr(padding_value, "_raw", padding_value)
    taken = raw[..., r.to(raw.device), c.to(raw.device)]
    out = torch.where(inside.to(raw.device), taken, torch.as_tensor(fill).to(raw))
    return wrap(out.squeeze(-2))  # where it is a single diagonal


@op
def matrix_set_diag(x: Tensor, diagonal: Tensor, k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with other diagonals, packed as for `matrix_diag`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_set_diag(ms.ops.ones((2, 2)), ms.Tensor([5.0, 6.0])))
        [[5. 1.]
         [1. 6.]]
    """
    raw, band = _matrix(x, "matrix_set_diag"), _band(k, "matrix_set_diag")
    r, c, inside = _positions(raw.shape[-2], raw.shape[-1], band, align, "matrix_set_diag")
    given = raw_of(diagonal, "matrix_set_diag", "diagonal").to(raw.dtype)
    packed = given.unsqueeze(-2) if band[0] == band[1] else given
    inside = inside.to(raw.device)
    return wrap(raw.index_put(_at(raw, r, c, inside), packed[..., inside]))


def _fill_diagonal(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """The tensor with `fill_value` on its diagonal; `wrap` starts it again in tall ones."""
    raw = self._raw.clone()
    raw.fill_diagonal_(fill_value, wrap)
    out = object.__new__(Tensor)
    out._raw = raw
    return out


def _tensor_diag(self: Tensor, diagonal: int | None = None) -> Tensor:
    """`ops.diag`; given the number of a diagonal, PyTorch's: a matrix from a vector or back."""
    return diag(self) if diagonal is None else wrap(self._raw.diag(diagonal))


def _tensor_diagonal(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """`ops.diagonal`."""
    return diagonal(self, offset, axis1, axis2)


tensor_methods(diag=_tensor_diag, diagonal=_tensor_diagonal, diagflat=diagflat, tril=tril,
               triu=triu, diagonal_scatter=diagonal_scatter, fill_diagonal=_fill_diagonal)
