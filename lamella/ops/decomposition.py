"""Decompositions of matrices, and solutions from their factors."""

from __future__ import annotations

from typing import Any

import torch

from ..core.adapters import adapted
from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..tensors.tensor import Tensor, tensor_methods, wrap

__all__ = ["cholesky", "cholesky_inverse", "cholesky_solve", "eig", "eigvals", "geqrf",
           "lu_solve", "lu_unpack", "orgqr", "ormqr", "qr", "svd"]


def _wide(name: str, matrices: Tensor) -> torch.Tensor:
    raw = matrices._raw
    if raw.itemsize < 4 or not is_inexact(raw.dtype):
        raise TypeError(f"For '{name}', 'A' must be floating or complex numbers of 32 bits or "
                        f"more, but got {matrices.dtype}.")
    return raw


@op
def svd(input: Tensor, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular values of matrices, and the vectors to them: input = u diag(s) v^H.

    Args:
        input: shape (..., N, M).
        full_matrices: whether u and v are square.
        compute_uv: whether to give u and v.

    Returns:
        (s, u, v), or s alone

    Raises:
        ValueError: if `input` has less than two dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.svd(ms.Tensor([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
        [4. 3.]
    """
    if not compute_uv:
        return wrap(torch.linalg.svdvals(input._raw).to(input._raw.dtype))
    u, s, vh = torch.linalg.svd(input._raw, full_matrices)
    return wrap(s.to(u.dtype)), wrap(u), wrap(vh.mH.resolve_conj())


@op
def qr(input: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Matrices as an orthonormal q times an upper triangular r.

    Args:
        input: shape (..., N, M).
        mode: ``"reduced"``, ``"complete"`` for square q, or ``"r"`` for an empty q.

    Returns:
        (q, r)

    Raises:
        ValueError: if `mode` is another word.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.qr(ms.Tensor([[0.0, 2.0], [1.0, 0.0]]))[1])
        [[-1.  0.]
         [ 0. -2.]]
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"For 'qr', 'mode' must be 'reduced', 'complete' or 'r', "
                         f"but got {mode!r}.")
    q, r = torch.linalg.qr(input._raw, mode)
    return wrap(q), wrap(r)


@op
def eig(A: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of square matrices.

    Args:
        A: shape (..., N, N).

    Returns:
        (values, vectors), complex, of shapes (..., N) and (..., N, N)

    Raises:
        ValueError: if the matrices are not square.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.eig(ms.Tensor([[2.0, 0.0], [0.0, 3.0]]))[0])
        [2.+0.j 3.+0.j]
    """
    values, vectors = torch.linalg.eig(_wide("eig", A))
    return wrap(values), wrap(vectors)


@op
def eigvals(A: Tensor) -> Tensor:
    """Eigenvalues of square matrices.

    Args:
        A: shape (..., N, N).

    Returns:
        complex Tensor of shape (..., N)

    Raises:
        ValueError: if the matrices are not square, or hold nan or infinity.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.eigvals(ms.Tensor([[2.0, 0.0], [0.0, 3.0]])))
        [2.+0.j 3.+0.j]
    """
    # not `eigvals`, which ends the process where a matrix holds nan or infinity
    return wrap(torch.linalg.eig(_wide("eigvals", A)).eigenvalues)


@op
def cholesky(input_x: Tensor, upper: bool = False) -> Tensor:
    """The triangular factor of symmetric positive definite matrices.

    Args:
        input_x: shape (..., N, N).
        upper: whether to give the upper factor instead of the lower one.

    Returns:
        Tensor of the shape of `input_x`

    Raises:
        ValueError: if the matrices are not square.
        RuntimeError: if one is not positive definite.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cholesky(ms.Tensor([[4.0, 2.0], [2.0, 5.0]])))
        [[2. 0.]
         [1. 2.]]
    """
    return wrap(torch.linalg.cholesky(input_x._raw, upper=upper))


@op
def cholesky_inverse(input_x: Tensor, upper: bool = False) -> Tensor:
    """Inverse of symmetric positive definite matrices, from their Cholesky factors.

    Args:
        input_x: the factors, shape (N, N).
        upper: whether they are upper ones.

    Returns:
        Tensor of the shape of `input_x`

    Raises:
        ValueError: if the matrices are not square.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cholesky_inverse(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[ 0.25   -0.    ]
         [-0.      0.0625]]
    """
    return wrap(torch.cholesky_inverse(input_x._raw, upper))


@op
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The solution x of a x = `input`, from the Cholesky factor of a.

    Args:
        input: shape (..., N, M).
        input2: the factor, shape (..., N, N).
        upper: whether it is an upper one.

    Returns:
        Tensor of the shape of `input`

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[4.0], [8.0]])
        >>> y = ms.Tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> print(ms.ops.cholesky_solve(x, y))
        [[1. ]
         [0.5]]
    """
    return wrap(torch.cholesky_solve(input._raw, input2._raw, upper))


@documented_like(cholesky_solve)
@op
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution x of a x = `b`, from the LU factors of a.

    Args:
        b: shape (..., N, M).
        LU_data: the factors, shape (..., N, N).
        LU_pivots: the rows exchanged, counted from 1, shape (..., N).

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[4.0], [9.0]])
        >>> y = ms.Tensor([[2.0, 0.0], [0.0, 3.0]])
        >>> z = ms.Tensor([1, 2], ms.int32)
        >>> print(ms.ops.lu_solve(x, y, z))
        [[2.]
         [3.]]
    """
    return wrap(torch.linalg.lu_solve(LU_data._raw, LU_pivots._raw.int(), b._raw))


@op
def lu_unpack(LU_data: Tensor,
              LU_pivots: Tensor,
              unpack_data: bool = True,
              unpack_pivots: bool = True) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The permutation and the triangular factors out of packed LU factors.

    Args:
        LU_data: the factors, shape (..., N, M).
        LU_pivots: the rows exchanged, counted from 1, shape (..., min(N, M)).
        unpack_data: whether to give the factors.
        unpack_pivots: whether to give the permutation.

    Returns:
        (permutation, lower, upper), with None for what is not asked for

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lu_unpack(ms.Tensor([[2.0, 1.0], [0.5, 3.0]]), ms.Tensor([1, 2]))[1])
        [[1.  0. ]
         [0.5 1. ]]
    """
    shape, pivots = LU_data.shape, LU_pivots._raw
    # PyTorch's kernel reads past the end of pivots of another shape
    if len(shape) < 2 or pivots.shape != (*shape[:-2], min(shape[-2:])):
        raise ValueError(f"For 'lu_unpack', 'LU_pivots' of factors of shape (..., N, M) must have "
                         f"shape (..., min(N, M)), but got shapes {LU_pivots.shape} and {shape}.")
    p, low, up = torch.lu_unpack(LU_data._raw, pivots.int())
    return (wrap(p) if unpack_pivots else None, wrap(low) if unpack_data else None,
            wrap(up) if unpack_data else None)


@op
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """The QR decomposition in LAPACK's form: r above the diagonal, Householder vectors below.

    Args:
        input: shape (..., N, M).

    Returns:
        (packed matrices, factors of the vectors)

    Raises:
        ValueError: if `input` has less than two dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.geqrf(ms.Tensor([[3.0, 1.0], [4.0, 2.0]]))[1])
        [1.6 0. ]
    """
    packed, tau = torch.geqrf(input._raw)
    return wrap(packed), wrap(tau)


@documented_like(cholesky_solve)
@op
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The orthonormal q from what `geqrf` gives.

    Args:
        input: the packed matrices, shape (..., N, M).
        input2: the factors, shape (..., K).

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.orgqr(ms.Tensor([[1.0, 0.0], [0.0, 1.0]]), ms.Tensor([0.0, 0.0])))
        [[ 1.  0.]
         [-0.  1.]]
    """
    return wrap(torch.linalg.householder_product(input._raw, input2._raw))


@op
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True,
          transpose: bool = False) -> Tensor:
    """The product of q, given by what `geqrf` gives, and another matrix.

    Args:
        input: the packed matrices, shape (..., N, K).
        tau: the factors, shape (..., K).
        other: the other matrix.
        left: whether q stands on the left.
        transpose: whether to take the conjugate transpose of q.

    Returns:
        Tensor of the shape of `other`

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> y = ms.Tensor([0.0, 0.0])
        >>> z = ms.Tensor([[1.0], [2.0]])
        >>> print(ms.ops.ormqr(x, y, z))
        [[1.]
         [2.]]
    """
    return wrap(torch.ormqr(input._raw, tau._raw, other._raw, left, transpose))


def _tensor_qr(self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    return qr(self, "reduced" if some else "complete")


tensor_methods(svd=svd, qr=_tensor_qr, eigvals=eigvals, cholesky=cholesky,
               cholesky_inverse=cholesky_inverse, cholesky_solve=cholesky_solve,
               lu_solve=lu_solve, geqrf=geqrf, orgqr=orgqr,
               ormqr=adapted(ormqr, "self:input, input2:tau, input3:other, left=True, "
                                    "transpose=False"))
