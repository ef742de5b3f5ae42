"""Functions on CSRTensors: sums, products, softmax, what lies in their positions."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.dtype import Type, to_raw
from ..core.errors import op
from ..ops.arguments import as_ints, axis_in
from ..tensors.tensor import Tensor, wrap
from .conversions import coo2csr, need
from .csr import CSRTensor, rows_of
from .held import meet, multiplied, summed


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
        need(x, kind, "csr_add", name)
    if a.shape != b.shape:
        raise ValueError(f"For 'csr_add', 'a' and 'b' must have one shape, but got {a.shape} and "
                         f"{b.shape}.")
    x, y = meet(a.values, b.values)
    values = torch.cat((alpha._raw.to(x.dtype) * x, beta._raw.to(x.dtype) * y))
    columns = torch.cat(meet(a.indices, b.indices))
    return _from_positions(torch.cat((a.rows(), b.rows())), columns, values, a.shape)


def _from_positions(rows: torch.Tensor, columns: torch.Tensor, values: torch.Tensor,
                    shape: tuple[int, ...]) -> CSRTensor:
    """A CSRTensor from positions in any order; values at the same position are summed."""
    pairs = torch.stack((rows.to(columns.dtype), columns), 1)
    pairs, sums = summed(pairs, values, shape[:2])
    return CSRTensor(coo2csr(wrap(pairs[:, 0]), shape[0]), wrap(pairs[:, 1]), wrap(sums), shape)


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
    need(csr_tensor, CSRTensor, "csr_reduce_sum", "csr_tensor")
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
    need(logits, CSRTensor, "csr_softmax", "logits")
    raw = logits.values._raw.to(to_raw(dtype, "csr_softmax"))
    rows, height = logits.rows().long(), logits.shape[0]
    most = raw.new_full((height,), -torch.inf).scatter_reduce(0, rows, raw.detach(), "amax")
    powers = torch.exp(raw - most[rows])
    sums = raw.new_zeros(height).index_add(0, rows, powers)
    return logits.with_values(wrap(powers / sums[rows]))


# -- products -------------------------------------------------------------------------------------

@op
def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, sparse_shape: Any) -> Tensor:
    """The elements of a dense Tensor, broadcast to `sparse_shape`, in the positions of a CSRTensor.

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
    """`y` in the positions of the values of `x`."""
    need(x, CSRTensor, where, "x")
    if isinstance(y, (bool, int, float)):
        return Tensor(y)
    need(y, Tensor, where, "y")
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
    need(csr_tensor, CSRTensor, where, "csr_tensor")
    need(dense, Tensor, where, "dense")
    if csr_tensor.ndim != 2 or dense.ndim != 2 or csr_tensor.shape[1] != dense.shape[0]:
        raise ValueError(f"For '{where}', the columns of the CSRTensor must be as many as the rows "
                         f"of the matrix, but got shapes {csr_tensor.shape} and {dense.shape}.")
    values, matrix = meet(csr_tensor.values, dense)
    return multiplied(csr_tensor.rows(), csr_tensor.indices._raw, values, matrix,
                      csr_tensor.shape[0])


def _transposed(x: CSRTensor, conjugate: bool) -> CSRTensor:
    values = ops.conj(x.values) if conjugate and x.values._raw.is_complex() else x.values
    return _from_positions(x.indices._raw, x.rows().to(x.indices._raw.dtype), values._raw,
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
        need(x, CSRTensor, "csr_mm", name)
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
    return _from_positions(a.rows()[which], columns[at], left[which] * right[at],
                           (a.shape[0], b.shape[1]))
