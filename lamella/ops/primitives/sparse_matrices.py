"""Primitive classes of sparse matrices as five Tensors, in compressed rows, one or a batch.

Such a matrix is its dense shape (two or three lengths), how many elements there are before each
matrix of the batch, for each matrix how many there are before each row, the columns, the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ...core.dtype import to_raw
from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..primitive import primitive
from .attributes import with_attributes

__all__ = [
    "CSRSparseMatrixToDense", "CSRSparseMatrixToSparseTensor", "DenseToCSRSparseMatrix",
    "SparseMatrixAdd", "SparseMatrixMatMul", "SparseMatrixNNZ", "SparseMatrixOrderingAMD",
    "SparseMatrixSoftmax", "SparseMatrixSparseMatMul", "SparseMatrixTranspose",
    "SparseTensorToCSRSparseMatrix",
]


class _Matrices(NamedTuple):
    """One sparse matrix or a batch: its shape, where each element is, and the elements."""

    shape: list[int]
    batch: torch.Tensor
    row: torch.Tensor
    column: torch.Tensor
    values: torch.Tensor

    @property
    def count(self) -> int:
        """How many matrices there are."""
        return self.shape[0] if len(self.shape) == 3 else 1

    def indices(self) -> torch.Tensor:
        """(elements, dimensions): where each element is."""
        places = [self.batch, self.row, self.column][-len(self.shape):]
        return torch.stack(places, 1)

    def dense(self) -> torch.Tensor:
        """(batch, rows, columns): with zeros elsewhere."""
        out = self.values.new_zeros((self.count, *self.shape[-2:]))
        return out.index_put((self.batch, self.row, self.column), self.values, accumulate=True)


def _read(name: str, shape: Tensor, batches: Tensor, rows: Tensor, columns: Tensor,
          values: Tensor) -> _Matrices:
    """A matrix of the five Tensors that a class is given."""
    lengths = [int(n) for n in shape._raw.reshape(-1)]
    if len(lengths) not in (2, 3):
        raise ValueError(f"For '{name}', the dense shape must have 2 or 3 lengths, but got "
                         f"{lengths}.")
    column, data = columns._raw.long(), values._raw
    if column.shape != data.shape or column.dim() != 1:
        raise ValueError(f"For '{name}', the columns and the values must have one dimension and "
                         f"one length, but got shapes {columns.shape} and {values.shape}.")
    count = lengths[0] if len(lengths) == 3 else 1
    if rows.size != count * (lengths[-2] + 1):
        raise ValueError(f"For '{name}', there must be {count * (lengths[-2] + 1)} row pointers, "
                         f"but got {rows.size}.")
    each = rows._raw.long().reshape(count, -1).diff(dim=1)
    if int(each.sum()) != len(column) or bool((each < 0).any()):
        raise ValueError(f"For '{name}', the row pointers must ascend to the number of values, "
                         f"{len(column)}, but got {rows}.")
    if bool(((column < 0) | (column >= lengths[-1])).any()):
        raise ValueError(f"For '{name}', the columns must be in [0, {lengths[-1]}), but got "
                         f"{columns}.")
    where = torch.arange(each.numel(), device=column.device).repeat_interleave(each.reshape(-1))
    return _Matrices(lengths, where // lengths[-2], where % lengths[-2], column, data)


def _written(found: _Matrices, kind: torch.dtype) -> tuple[Tensor, ...]:
    """The five Tensors of a matrix whose elements are in order."""
    rows, device = found.shape[-2], found.values.device
    each = torch.bincount(found.batch * rows + found.row, minlength=found.count * rows)
    within = torch.nn.functional.pad(each.reshape(found.count, rows).cumsum(1), (1, 0))
    batches = torch.nn.functional.pad(within[:, -1].cumsum(0), (1, 0))
    shape = torch.tensor(found.shape, dtype=kind, device=device)
    return (wrap(shape), wrap(batches.to(kind)), wrap(within.reshape(-1).to(kind)),
            wrap(found.column.to(kind)), wrap(found.values))


def _in_order(found: _Matrices) -> _Matrices:
    """The same elements, by matrix, row and column."""
    rows, columns = found.shape[-2:]
    order = torch.argsort((found.batch * rows + found.row) * columns + found.column, stable=True)
    return found._replace(batch=found.batch[order], row=found.row[order],
                          column=found.column[order], values=found.values[order])


def _at(shape: list[int], indices: torch.Tensor, values: torch.Tensor) -> _Matrices:
    """A matrix from places, one in each row of `indices`."""
    places = indices.long().unbind(1)
    batch = places[0] if len(places) == 3 else torch.zeros_like(places[0])
    return _Matrices(shape, batch, places[-2], places[-1], values)


def _held(dense: torch.Tensor, where: torch.Tensor, shape: list[int]) -> _Matrices:
    """The elements of a batch of dense matrices where a mask is true."""
    batch, row, column = where.nonzero().unbind(1)
    return _Matrices(shape, batch, row, column, dense[batch, row, column])


@op
def _to_dense(x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor,
              x_col_indices: Tensor, x_values: Tensor) -> Tensor:
    """The matrix with zeros where it holds nothing."""
    found = _read("CSRSparseMatrixToDense", x_dense_shape, x_batch_pointers, x_row_pointers,
                  x_col_indices, x_values)
    return wrap(found.dense().reshape(found.shape))


@op
def _to_coordinates(x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor,
                    x_col_indices: Tensor, x_values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The place of each element, the elements, and the dense shape."""
    found = _read("CSRSparseMatrixToSparseTensor", x_dense_shape, x_batch_pointers,
                  x_row_pointers, x_col_indices, x_values)
    kind = x_dense_shape._raw.dtype
    return wrap(found.indices().to(kind)), wrap(found.values), wrap(x_dense_shape._raw.clone())


@op
def _from_dense(dense_input: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
    """The elements of a dense matrix at the places that are given."""
    places = indices._raw.long()
    if places.dim() != 2 or places.shape[1] != dense_input.ndim:
        raise ValueError(f"For 'DenseToCSRSparseMatrix', 'indices' must have the shape (n, "
                         f"{dense_input.ndim}), but got {indices.shape}.")
    found = _at(list(dense_input.shape), places, dense_input._raw[places.unbind(1)])
    return _written(found, indices._raw.dtype)


@op
def _from_coordinates(x_indices: Tensor, x_values: Tensor, x_dense_shape: Tensor
                      ) -> tuple[Tensor, ...]:
    """The matrix whose elements are at the places that are given, by rows in order."""
    shape = [int(n) for n in x_dense_shape._raw]
    return _written(_at(shape, x_indices._raw, x_values._raw), x_indices._raw.dtype)


@op
def _sum(x1_dense_shape: Tensor, x1_batch_pointers: Tensor, x1_row_pointers: Tensor,
         x1_col_indices: Tensor, x1_values: Tensor, x2_dense_shape: Tensor,
         x2_batch_pointers: Tensor, x2_row_pointers: Tensor, x2_col_indices: Tensor,
         x2_values: Tensor, alpha: Tensor, beta: Tensor) -> tuple[Tensor, ...]:
    """``alpha * x1 + beta * x2``, with the elements that either holds."""
    name = "SparseMatrixAdd"
    one = _read(name, x1_dense_shape, x1_batch_pointers, x1_row_pointers, x1_col_indices,
                x1_values)
    other = _read(name, x2_dense_shape, x2_batch_pointers, x2_row_pointers, x2_col_indices,
                  x2_values)
    if one.shape != other.shape:
        raise ValueError(f"For '{name}', both matrices must have one shape, but got {one.shape} "
                         f"and {other.shape}.")
    where = _mask(one) | _mask(other)
    total = one.dense() * alpha._raw + other.dense() * beta._raw
    return _written(_held(total, where, one.shape), x1_dense_shape._raw.dtype)


def _mask(found: _Matrices) -> torch.Tensor:
    return found._replace(values=torch.ones_like(found.values, dtype=torch.bool)).dense()


def _turned(raw: torch.Tensor, transposed: bool, adjoint: bool) -> torch.Tensor:
    return raw.mH if adjoint else raw.mT if transposed else raw


@op
def _product(x1_dense_shape: Tensor, x1_batch_pointers: Tensor, x1_row_pointers: Tensor,
             x1_col_indices: Tensor, x1_values: Tensor, x2_dense: Tensor, *, transpose_x1: bool,
             transpose_x2: bool, adjoint_x1: bool, adjoint_x2: bool, transpose_output: bool,
             conjugate_output: bool) -> Tensor:
    """The product of a sparse matrix with a dense one, which is dense."""
    found = _read("SparseMatrixMatMul", x1_dense_shape, x1_batch_pointers, x1_row_pointers,
                  x1_col_indices, x1_values)
    left = _turned(found.dense().reshape(found.shape), transpose_x1, adjoint_x1)
    out = left @ _turned(x2_dense._raw, transpose_x2, adjoint_x2)
    out = out.conj().resolve_conj() if conjugate_output else out
    return wrap(out.mT.contiguous() if transpose_output else out)


@op
def _sparse_product(x1_dense_shape: Tensor, x1_batch_pointers: Tensor, x1_row_pointers: Tensor,
                    x1_col_indices: Tensor, x1_values: Tensor, x2_dense_shape: Tensor,
                    x2_batch_pointers: Tensor, x2_row_pointers: Tensor, x2_col_indices: Tensor,
                    x2_values: Tensor, *, transpose_a: bool, transpose_b: bool, adjoint_a: bool,
                    adjoint_b: bool) -> tuple[Tensor, ...]:
    """The product of two sparse matrices; it holds an element where any two terms meet."""
    name = "SparseMatrixSparseMatMul"
    one = _read(name, x1_dense_shape, x1_batch_pointers, x1_row_pointers, x1_col_indices,
                x1_values)
    other = _read(name, x2_dense_shape, x2_batch_pointers, x2_row_pointers, x2_col_indices,
                  x2_values)
    left = _turned(one.dense(), transpose_a, adjoint_a)
    right = _turned(other.dense(), transpose_b, adjoint_b)
    met = (_turned(_mask(one), transpose_a, adjoint_a).float()
           @ _turned(_mask(other), transpose_b, adjoint_b).float()) > 0
    out = left @ right
    shape = [*one.shape[:-2], *out.shape[-2:]]
    return _written(_held(out, met, shape), x1_dense_shape._raw.dtype)


@op
def _element_counts(x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor,
                    x_col_indices: Tensor, x_values: Tensor) -> Tensor:
    """How many elements each matrix holds, as int32."""
    return wrap(x_batch_pointers._raw.diff().to(torch.int32))


@op
def _transposed(x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor,
                x_col_indices: Tensor, x_values: Tensor, *, conjugate: bool
                ) -> tuple[Tensor, ...]:
    """Each matrix with its rows as columns."""
    found = _read("SparseMatrixTranspose", x_dense_shape, x_batch_pointers, x_row_pointers,
                  x_col_indices, x_values)
    *before, rows, columns = found.shape
    values = found.values.conj().resolve_conj() if conjugate else found.values
    turned = _Matrices([*before, columns, rows], found.batch, found.column, found.row, values)
    return _written(_in_order(turned), x_dense_shape._raw.dtype)


@op
def _softmax(x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor,
             x_col_indices: Tensor, x_values: Tensor, *, dtype: Any) -> tuple[Tensor, ...]:
    """Softmax over the elements of each row; what the matrix doesn't hold takes no part."""
    found = _read("SparseMatrixSoftmax", x_dense_shape, x_batch_pointers, x_row_pointers,
                  x_col_indices, x_values)
    values, rows = found.values.to(to_raw(dtype)), found.shape[-2]
    where = found.batch * rows + found.row
    out = softmax_of_groups(values, where, found.count * rows)
    same = (x_dense_shape, x_batch_pointers, x_row_pointers, x_col_indices)
    return (*(wrap(tensor._raw.clone()) for tensor in same), wrap(out))


def softmax_of_groups(values: torch.Tensor, group: torch.Tensor, count: int) -> torch.Tensor:
    """Softmax over the values that have the same number in `group`."""
    largest = values.new_full((count,), -torch.inf).scatter_reduce(0, group, values, "amax")
    powers = (values - largest[group]).exp()
    return powers / values.new_zeros(count).index_add(0, group, powers)[group]


@op
def _minimum_degree(x_dense_shape: Tensor, x_batch_pointers: Tensor, x_row_pointers: Tensor,
                    x_col_indices: Tensor, x_values: Tensor) -> Tensor:
    """An order of elimination with little fill-in, by the least degree at each step, as int32.

    Of rows with the same degree the one that had fewer neighbours at first is taken. (Amestoy,
    Davis and Duff: "An approximate minimum degree ordering algorithm", 1996; degrees are exact.)
    """
    found = _read("SparseMatrixOrderingAMD", x_dense_shape, x_batch_pointers, x_row_pointers,
                  x_col_indices, x_values)
    lower = _mask(found).tril(-1)
    orders = [_elimination(each | each.mT) for each in lower]
    out = torch.tensor(orders, dtype=torch.int32, device=found.values.device)
    return wrap(out if len(found.shape) == 3 else out[0])


def _elimination(joined: torch.Tensor) -> list[int]:
    """The order in which the rows of one symmetric pattern are eliminated."""
    near = [set(row.nonzero().reshape(-1).tolist()) for row in joined]
    first = [len(row) for row in near]
    left, order = set(range(len(near))), []
    while left:
        row = min(left, key=lambda r: (len(near[r]), first[r], r))
        order.append(row)
        left.remove(row)
        for other in near[row]:
            near[other] |= near[row]
            near[other] -= {row, other}
    return order


CSRSparseMatrixToDense = primitive("CSRSparseMatrixToDense", _to_dense)
CSRSparseMatrixToSparseTensor = primitive("CSRSparseMatrixToSparseTensor", _to_coordinates)
DenseToCSRSparseMatrix = primitive("DenseToCSRSparseMatrix", _from_dense)
SparseMatrixAdd = primitive("SparseMatrixAdd", _sum)
SparseMatrixMatMul = with_attributes(
    "SparseMatrixMatMul", _product, transpose_x1=False, transpose_x2=False, adjoint_x1=False,
    adjoint_x2=False, transpose_output=False, conjugate_output=False)
SparseMatrixNNZ = primitive("SparseMatrixNNZ", _element_counts)
SparseMatrixOrderingAMD = primitive("SparseMatrixOrderingAMD", _minimum_degree)
SparseMatrixSoftmax = with_attributes("SparseMatrixSoftmax", _softmax, "dtype")
SparseMatrixSparseMatMul = with_attributes(
    "SparseMatrixSparseMatMul", _sparse_product, transpose_a=False, transpose_b=False,
    adjoint_a=False, adjoint_b=False)
SparseMatrixTranspose = with_attributes("SparseMatrixTranspose", _transposed, conjugate=False)
SparseTensorToCSRSparseMatrix = primitive("SparseTensorToCSRSparseMatrix", _from_coordinates)
