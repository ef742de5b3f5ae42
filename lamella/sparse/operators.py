"""What `ops` shows of sparse tensors: conversions, sums, products, and Primitives.

`ops` imports this file when one of its names is first asked for.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..dtype import Type, to_raw
from ..errors import op
from ..ops.arguments import as_ints, axis_in, raw_of
from ..ops.primitive import Primitive, primitive
from ..tensor import Tensor, wrap
from .coo import COOTensor
from .csr import CSRTensor, rows_of
from .elementwise import FUNCTIONS
from .held import meet, multiplied, summed
from .row import RowTensor

__all__ = ["Coalesce", "FUNCTIONS", "SparseGatherV2", "SparseSlice", "SparseTensorDenseAdd",
           "SparseTensorDenseMatmul", "SparseToDense", "coalesce", "coo2csr", "coo_add",
           "coo_concat", "coo_tensor_get_dense_shape", "coo_tensor_get_indices",
           "coo_tensor_get_values", "csr2coo", "csr_add", "csr_div", "csr_gather", "csr_mm",
           "csr_mul", "csr_mv", "csr_reduce_sum", "csr_softmax", "csr_tensor_get_dense_shape",
           "csr_tensor_get_indices", "csr_tensor_get_indptr", "csr_tensor_get_values",
           "csr_to_coo", "csr_to_dense", "dense_to_sparse_coo", "dense_to_sparse_csr",
           "make_coo_tensor", "make_csr_tensor", "make_row_tensor", "make_row_tensor_inner",
           "make_sparse_tensor", "row_tensor_add", "row_tensor_get_dense_shape",
           "row_tensor_get_indices", "row_tensor_get_values"]


def _need(value: Any, kind: Any, where: str, name: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"For '{where}', '{name}' must be a {kind.__name__}, "
                        f"but got {type(value).__name__}.")


# -- making them, and what they hold --------------------------------------------------------------

def make_coo_tensor(indices: Tensor, values: Tensor, dense_shape: tuple) -> COOTensor:
    """As `COOTensor`."""
    return COOTensor(indices, values, dense_shape)


make_sparse_tensor = make_coo_tensor


def make_csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor,
                    dense_shape: tuple) -> CSRTensor:
    """As `CSRTensor`."""
    return CSRTensor(indptr, indices, values, dense_shape)


def make_row_tensor(indices: Tensor, values: Tensor, dense_shape: tuple) -> RowTensor:
    """As `RowTensor`."""
    return RowTensor(indices, values, dense_shape)


make_row_tensor_inner = make_row_tensor


def coo_tensor_get_indices(x: COOTensor) -> Tensor:
    """``x.indices``"""
    return x.indices


def coo_tensor_get_values(x: COOTensor) -> Tensor:
    """``x.values``"""
    return x.values


def coo_tensor_get_dense_shape(x: COOTensor) -> tuple[int, ...]:
    """``x.shape``"""
    return x.shape


csr_tensor_get_indices, csr_tensor_get_values = coo_tensor_get_indices, coo_tensor_get_values
row_tensor_get_indices, row_tensor_get_values = coo_tensor_get_indices, coo_tensor_get_values
csr_tensor_get_dense_shape = row_tensor_get_dense_shape = coo_tensor_get_dense_shape


def csr_tensor_get_indptr(x: CSRTensor) -> Tensor:
    """``x.indptr``"""
    return x.indptr


def row_tensor_add(x: RowTensor, y: RowTensor) -> RowTensor:
    """The rows of both, one after the other: rows with one number add up where they are used."""
    return RowTensor(ops.cat((x.indices, y.indices)), ops.cat((x.values, y.values)), x.shape)


# -- conversions ----------------------------------------------------------------------------------

@op
def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Where each row begins, from ascending numbers of rows.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.coo2csr(ms.Tensor([0, 0, 2]), 3))
        [0 2 2 3]
    """
    rows = raw_of(row_indices, "coo2csr", "row_indices")
    starts = torch.arange(height + 1, device=rows.device, dtype=rows.dtype)
    return wrap(torch.searchsorted(rows.contiguous(), starts).to(rows.dtype))


@op
def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """The row of each of `nnz` values, from where each row begins.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.csr2coo(ms.Tensor([0, 2, 2, 3]), 3))
        [0 0 2]
    """
    return wrap(rows_of(raw_of(indptr, "csr2coo", "indptr"), nnz))


def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """As `CSRTensor.to_coo`."""
    _need(tensor, CSRTensor, "csr_to_coo", "tensor")
    return tensor.to_coo()


def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """As `CSRTensor.to_dense`.

    Raises:
        TypeError: if it is no CSRTensor.
        ValueError: if it has not two dimensions.
    """
    _need(csr_tensor, CSRTensor, "csr_to_dense", "csr_tensor")
    if csr_tensor.ndim != 2:
        raise ValueError(f"For 'csr_to_dense', 'csr_tensor' must be a matrix, "
                         f"but got shape {csr_tensor.shape}.")
    return csr_tensor.to_dense()


def _matrix(tensor: Any, where: str) -> None:
    _need(tensor, Tensor, where, "tensor")
    if tensor.ndim != 2:
        raise ValueError(f"For '{where}', 'tensor' must be a matrix, but got shape {tensor.shape}.")


@op
def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """The elements of a matrix that aren't 0, with their places in int32.

    Raises:
        TypeError: if it is no Tensor.
        ValueError: if it is no matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.dense_to_sparse_coo(ms.Tensor([[0, 5], [7, 0]])).values)
        [5 7]
    """
    _matrix(tensor, "dense_to_sparse_coo")
    places = torch.nonzero(tensor._raw.detach())
    values = tensor._raw[tuple(places.unbind(1))]
    return COOTensor(wrap(places.int()), wrap(values), tensor.shape)


def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """As `dense_to_sparse_coo`, as a CSRTensor."""
    _matrix(tensor, "dense_to_sparse_csr")
    return dense_to_sparse_coo(tensor).to_csr()


@op
def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Any) -> tuple[Tensor, Tensor, Any]:
    """Coordinates in ascending order, each once, with the sums of their values.

    Args:
        x_indices: (rank, n) coordinates.
        x_values: the n values.
        x_shape: the shape of the dense tensor.

    Returns:
        (coordinates, values, `x_shape`)

    Examples:
        >>> import lamella as ms
        >>> places = ms.Tensor([[0, 0, 1], [1, 1, 2]])
        >>> indices, values, _ = ms.ops.coalesce(places, ms.Tensor([1.0, 5.0, 4.0]),
        ...                                      ms.Tensor([3, 3]))
        >>> print(indices, values)
        [[0 1]
         [1 2]] [6. 4.]
    """
    places, sums = summed(x_indices._raw.T, x_values._raw, as_ints(x_shape, "coalesce", "x_shape"))
    return wrap(places.T), wrap(sums), x_shape


# -- sums -----------------------------------------------------------------------------------------

@op
def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """The sum of two COOTensors, without what is smaller than a threshold.

    Args:
        x1: a COOTensor.
        x2: a COOTensor of the same shape.
        thresh: sums of a smaller absolute value are left out.

    Raises:
        TypeError: if `x1` or `x2` is no COOTensor.
        ValueError: if their shapes differ.

    Examples:
        >>> import lamella as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1], [1, 2]]), ms.Tensor([1, 2]), (3, 4))
        >>> y = ms.COOTensor(ms.Tensor([[0, 0], [1, 2]]), ms.Tensor([3, 4]), (3, 4))
        >>> print(ms.ops.coo_add(x, y, ms.Tensor(0)).values)
        [3 1 6]
    """
    for name, x in (("x1", x1), ("x2", x2)):
        _need(x, COOTensor, "coo_add", name)
    if x1.shape != x2.shape:
        raise ValueError(f"For 'coo_add', 'x1' and 'x2' must have one shape, but got {x1.shape} "
                         f"and {x2.shape}.")
    places = torch.cat(meet(x1.indices, x2.indices))
    places, sums = summed(places, torch.cat(meet(x1.values, x2.values)), x1.shape)
    limit = thresh._raw if isinstance(thresh, Tensor) else thresh
    kept = sums.abs() >= limit
    return COOTensor(wrap(places[kept]), wrap(sums[kept]), x1.shape)


@op
def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """COOTensors joined along an axis, with ascending coordinates.

    Args:
        sp_input: a tuple or list of COOTensors, or of (indices, values, shape).
        concat_dim: the axis.

    Raises:
        ValueError: if there are fewer than two, there is no such axis, or shapes differ elsewhere.

    Examples:
        >>> import lamella as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([1]), (2, 2))
        >>> print(ms.ops.coo_concat((x, x), 1).to_dense())
        [[0 1 0 1]
         [0 0 0 0]]
    """
    parts = [COOTensor(*p) if isinstance(p, tuple) else p for p in sp_input]
    if len(parts) < 2:
        raise ValueError(f"For 'coo_concat', there must be two COOTensors or more, "
                         f"but got {len(parts)}.")
    axis = axis_in(concat_dim, parts[0].ndim, "coo_concat", "concat_dim")
    shape, places, offset = list(parts[0].shape), [], 0
    for part in parts:
        if [*part.shape[:axis], *part.shape[axis + 1:]] != [*shape[:axis], *shape[axis + 1:]]:
            raise ValueError(f"For 'coo_concat', the shapes must be the same but for axis {axis}, "
                             f"but got {parts[0].shape} and {part.shape}.")
        moved = part.indices._raw.clone()
        moved[:, axis] += offset
        places.append(moved)
        offset += part.shape[axis]
    shape[axis] = offset
    at, values = torch.cat(places), torch.cat([p.values._raw for p in parts])
    keys = torch.zeros(at.shape[0], dtype=torch.int64, device=at.device)
    for column, length in zip(at.unbind(1), shape, strict=True):
        keys = keys * length + column
    order = torch.sort(keys, stable=True)[1]
    return COOTensor(wrap(at[order]), wrap(values[order]), tuple(shape))


@op
def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """``alpha * a + beta * b``.

    Raises:
        TypeError: if `a` or `b` is no CSRTensor, or `alpha` or `beta` no Tensor.
        ValueError: if the shapes of `a` and `b` differ.

    Examples:
        >>> import lamella as ms
        >>> a = ms.ops.dense_to_sparse_csr(ms.Tensor([[1.0, 0.0], [0.0, 2.0]]))
        >>> print(ms.ops.csr_add(a, a, ms.Tensor(1.0), ms.Tensor(2.0)).to_dense())
        [[3. 0.]
         [0. 6.]]
    """
    for name, x, kind in (("a", a, CSRTensor), ("b", b, CSRTensor), ("alpha", alpha, Tensor),
                          ("beta", beta, Tensor)):
        _need(x, kind, "csr_add", name)
    if a.shape != b.shape:
        raise ValueError(f"For 'csr_add', 'a' and 'b' must have one shape, but got {a.shape} and "
                         f"{b.shape}.")
    x, y = meet(a.values, b.values)
    values = torch.cat((alpha._raw.to(x.dtype) * x, beta._raw.to(x.dtype) * y))
    columns = torch.cat(meet(a.indices, b.indices))
    return _from_places(torch.cat((a.rows(), b.rows())), columns, values, a.shape)


def _from_places(rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor,
                 shape: tuple[int, ...]) -> CSRTensor:
    """A CSRTensor from places in any order, in each of which values add up."""
    places, sums = summed(torch.stack((rows.to(columns.dtype), columns), 1), values, shape[:2])
    return CSRTensor(coo2csr(wrap(places[:, 0]), shape[0]), wrap(places[:, 1]), wrap(sums), shape)


@op
def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """The sums along an axis of a matrix, which stays with length 1.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.dense_to_sparse_csr(ms.Tensor([[1.0, 3.0], [0.0, 2.0]]))
        >>> print(ms.ops.csr_reduce_sum(x, 1))
        [[4.]
         [2.]]
    """
    _need(csr_tensor, CSRTensor, "csr_reduce_sum", "csr_tensor")
    axis = axis_in(axis, csr_tensor.ndim, "csr_reduce_sum")
    if axis > 1:
        return ops.sum(csr_tensor.to_dense(), axis, True, dtype=csr_tensor.dtype)
    raw = csr_tensor.values._raw
    shape = list(csr_tensor.shape)
    into = csr_tensor.rows() if axis == 1 else csr_tensor.indices._raw
    sums = raw.new_zeros((shape[1 - axis], *shape[2:])).index_add(0, into.long(), raw)
    shape[axis] = 1
    return wrap(sums.reshape(shape))


@op
def csr_softmax(logits: CSRTensor, dtype: Type) -> CSRTensor:
    """The softmax of the values in each row.

    Raises:
        TypeError: if `logits` is no CSRTensor, or `dtype` no type of Tensors.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.dense_to_sparse_csr(ms.Tensor([[1.0, 1.0], [0.0, 2.0]]))
        >>> print(ms.ops.csr_softmax(x, ms.float32).values)
        [0.5 0.5 1. ]
    """
    _need(logits, CSRTensor, "csr_softmax", "logits")
    raw = logits.values._raw.to(to_raw(dtype, "csr_softmax"))
    rows, height = logits.rows().long(), logits.shape[0]
    most = raw.new_full((height,), -torch.inf).scatter_reduce(0, rows, raw.detach(), "amax")
    powers = torch.exp(raw - most[rows])
    sums = raw.new_zeros(height).index_add(0, rows, powers)
    return logits.with_values(wrap(powers / sums[rows]))


# -- products -------------------------------------------------------------------------------------

@op
def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, sparse_shape: Any) -> Tensor:
    """The elements of a dense Tensor, broadcast to `sparse_shape`, in the places of a CSRTensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.csr_gather(ms.Tensor([0, 1, 2]), ms.Tensor([1, 0]),
        ...                         ms.Tensor([[1, 2], [3, 4]]), (2, 2)))
        [2 3]
    """
    shape = as_ints(sparse_shape, "csr_gather", "sparse_shape")
    columns = indices._raw.long()
    rows = rows_of(indptr._raw, columns.numel()).long()
    raw = dense._raw
    if raw.dim() == len(shape):
        raw = raw.expand(raw.shape[:2] + tuple(shape[2:]))
    elif raw.dim() < len(shape):
        raw = raw.expand(shape)
    # a dense tensor of length 1 along rows or columns is the same in all of them
    at = tuple(torch.zeros_like(p) if raw.shape[d] == 1 else p
               for d, p in enumerate((rows, columns)))
    return wrap(raw[at])


def _beside(x: CSRTensor, y: Any, where: str) -> Tensor:
    """`y` in the places of the values of `x`."""
    _need(x, CSRTensor, where, "x")
    if isinstance(y, (bool, int, float)):
        return Tensor(y)
    _need(y, Tensor, where, "y")
    lengths = zip(reversed(x.shape), reversed(y.shape), strict=False)
    if y.ndim > x.ndim or any(n not in (1, m) for m, n in lengths):
        raise ValueError(f"For '{where}', 'y' must broadcast to the shape {x.shape} of 'x', "
                         f"but got {y.shape}.")
    if y.size == 1:
        return ops.reshape(y, ())
    return csr_gather(x.indptr, x.indices, y, x.shape)


@op
def csr_mul(x: CSRTensor, y: Any) -> CSRTensor:
    """The product of a CSRTensor with a number or a dense Tensor that broadcasts to it.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.dense_to_sparse_csr(ms.Tensor([[1.0, 0.0], [0.0, 2.0]]))
        >>> print(ms.ops.csr_mul(x, ms.Tensor([[5.0], [7.0]])).to_dense())
        [[ 5.  0.]
         [ 0. 14.]]
    """
    return x.with_values(x.values * _beside(x, y, "csr_mul"))


@op
def csr_div(x: CSRTensor, y: Any) -> CSRTensor:
    """The quotient of a CSRTensor and a number or a dense Tensor that broadcasts to it.

    Where `y` is 0 and `x` has no value, there is none after it.
    """
    return x.with_values(x.values / _beside(x, y, "csr_div"))


def csr_dense_mm(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """The product of a CSRTensor with a dense matrix.

    Raises:
        TypeError: if `dense` is no Tensor.
        ValueError: if the shapes don't go together.
    """
    return _dense_product("csr_mm", csr_tensor, dense)


@op
def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """The product of a CSRTensor with a dense matrix of one column.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.dense_to_sparse_csr(ms.Tensor([[1.0, 0.0], [3.0, 2.0]]))
        >>> print(ms.ops.csr_mv(x, ms.Tensor([[1.0], [1.0]])))
        [[1.]
         [5.]]
    """
    return _dense_product("csr_mv", csr_tensor, dense)


def _dense_product(where: str, csr_tensor: Any, dense: Any) -> Tensor:
    _need(csr_tensor, CSRTensor, where, "csr_tensor")
    _need(dense, Tensor, where, "dense")
    if csr_tensor.ndim != 2 or dense.ndim != 2 or csr_tensor.shape[1] != dense.shape[0]:
        raise ValueError(f"For '{where}', the columns of the CSRTensor must be as many as the rows "
                         f"of the matrix, but got shapes {csr_tensor.shape} and {dense.shape}.")
    values, matrix = meet(csr_tensor.values, dense)
    return multiplied(csr_tensor.rows(), csr_tensor.indices._raw, values, matrix,
                      csr_tensor.shape[0])


def _transposed(x: CSRTensor, conjugate: bool) -> CSRTensor:
    values = ops.conj(x.values) if conjugate and x.values._raw.is_complex() else x.values
    return _from_places(x.indices._raw, x.rows().to(x.indices._raw.dtype), values._raw,
                        x.shape[::-1])


@op
def csr_mm(a: CSRTensor, b: CSRTensor, trans_a: bool = False, trans_b: bool = False,
           adjoint_a: bool = False, adjoint_b: bool = False) -> CSRTensor:
    """The product of two CSRTensors.

    Args:
        a: a matrix.
        b: a matrix.
        trans_a: whether `a` is transposed.
        trans_b: whether `b` is transposed.
        adjoint_a: whether `a` is transposed and conjugated.
        adjoint_b: whether `b` is transposed and conjugated.

    Raises:
        TypeError: if `a` or `b` is no CSRTensor.
        ValueError: if the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> a = ms.ops.dense_to_sparse_csr(ms.Tensor([[0.0, 2.0], [1.0, 0.0]]))
        >>> print(ms.ops.csr_mm(a, a).to_dense())
        [[2. 0.]
         [0. 2.]]
    """
    for name, x in (("a", a), ("b", b)):
        _need(x, CSRTensor, "csr_mm", name)
    a = _transposed(a, adjoint_a) if trans_a or adjoint_a else a
    b = _transposed(b, adjoint_b) if trans_b or adjoint_b else b
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"For 'csr_mm', the columns of 'a' must be as many as the rows of 'b', "
                         f"but got shapes {a.shape} and {b.shape}.")
    left, right = meet(a.values, b.values)
    start, columns = b.indptr._raw.long(), b.indices._raw
    inner = a.indices._raw.long()
    counts = start[inner + 1] - start[inner]  # each value of `a` meets a whole row of `b`
    which = torch.repeat_interleave(torch.arange(inner.numel(), device=inner.device), counts)
    first = torch.cumsum(counts, 0) - counts
    at = torch.arange(which.numel(), device=inner.device) - first[which] + start[inner[which]]
    return _from_places(a.rows()[which], columns[at], left[which] * right[at],
                        (a.shape[0], b.shape[1]))


# -- Primitives -----------------------------------------------------------------------------------

def _sparse_to_dense(indices: Tensor, values: Tensor, sparse_shape: Any) -> Tensor:
    return COOTensor(indices, values, as_ints(sparse_shape, "SparseToDense")).to_dense()


def _sparse_dense_add(x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2: Tensor) -> Tensor:
    return COOTensor(x1_indices, x1_values, as_ints(x1_shape, "SparseTensorDenseAdd")) + x2


def _slice(indices: Tensor, values: Tensor, shape: Any, start: Any, size: Any
           ) -> tuple[Tensor, Tensor, Tensor]:
    lengths, first, many = (as_ints(v, "SparseSlice") for v in (shape, start, size))
    ends = [min(f + m, n) for f, m, n in zip(first, many, lengths, strict=True)]
    low = torch.tensor(first, device=indices._raw.device)
    high = torch.tensor(ends, device=indices._raw.device)
    kept = ((indices._raw >= low) & (indices._raw < high)).all(1)
    return (wrap(indices._raw[kept] - low), wrap(values._raw[kept]),
            wrap((high - low).clamp(min=0)))


Coalesce = primitive("Coalesce", coalesce)
SparseToDense = primitive("SparseToDense", _sparse_to_dense)
SparseTensorDenseAdd = primitive("SparseTensorDenseAdd", _sparse_dense_add)
SparseSlice = primitive("SparseSlice", _slice)
SparseGatherV2 = primitive("SparseGatherV2", ops.gather)


class SparseTensorDenseMatmul(Primitive):
    """The product of a sparse matrix with a dense one.

    Args:
        adjoint_st: whether the sparse matrix is transposed.
        adjoint_dt: whether the dense matrix is transposed.

    Inputs:
        - **indices** - (n, 2) coordinates.
        - **values** - the n values.
        - **sparse_shape** - the shape of the sparse matrix.
        - **dense** - the dense matrix.

    Outputs:
        Tensor, the dense product.

    Raises:
        TypeError: if `adjoint_st` or `adjoint_dt` is no bool.
        ValueError: if the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> product = ms.ops.SparseTensorDenseMatmul()
        >>> print(product(ms.Tensor([[0, 1], [1, 0]]), ms.Tensor([1.0, 2.0]), (2, 2),
        ...               ms.Tensor([[1.0, 1.0], [5.0, 6.0]])))
        [[5. 6.]
         [2. 2.]]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False):
        super().__init__("SparseTensorDenseMatmul")
        for name, value in (("adjoint_st", adjoint_st), ("adjoint_dt", adjoint_dt)):
            if not isinstance(value, bool):
                raise TypeError(f"For 'SparseTensorDenseMatmul', '{name}' must be a bool, "
                                f"but got {value!r}.")
        self.adjoint_st, self.adjoint_dt = adjoint_st, adjoint_dt

    def __call__(self, indices: Tensor, values: Tensor, sparse_shape: Any, dense: Tensor) -> Tensor:
        shape = as_ints(sparse_shape, "SparseTensorDenseMatmul", "sparse_shape")
        x = COOTensor(indices, values, shape)
        rows, columns = x.indices._raw.unbind(1)
        if self.adjoint_st:
            rows, columns, shape = columns, rows, shape[::-1]
        held, matrix = meet(x.values, dense)
        matrix = matrix.mH if self.adjoint_dt else matrix
        if len(shape) != 2 or matrix.dim() != 2 or matrix.shape[0] != shape[1]:
            raise ValueError(f"For 'SparseTensorDenseMatmul', the columns of the sparse matrix "
                             f"must be as many as the rows of the dense one, but got shapes "
                             f"{shape} and {tuple(matrix.shape)}.")
        held = held.conj() if self.adjoint_st else held
        return multiplied(rows, columns, held, matrix, shape[0])
