"""Primitive classes of matrix products and linear algebra."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...machine import products
from ...tensors.tensor import Tensor, wrap
from ..decomposition import (
    cholesky,
    cholesky_inverse,
    cholesky_solve,
    eig,
    eigvals,
    geqrf,
    lu_solve,
    lu_unpack,
    orgqr,
    ormqr,
    qr,
    svd,
)
from ..linalg import (
    det,
    inverse,
    lstsq,
    matrix_exp,
    matrix_power,
    matrix_solve,
    slogdet,
    trace,
)
from ..norm import cdist, renorm
from ..primitive import primitive
from ..products import cross, einsum, outer
from .attributes import with_attributes

__all__ = ["BatchMatMul", "Cdist", "Cholesky", "CholeskyInverse", "CholeskySolve",
           "ConjugateTranspose", "Cross", "Eig", "Einsum", "Geqrf", "Ger", "LogMatrixDeterminant",
           "Lstsq", "LuSolve", "LuUnpack", "MatMul", "MatrixDeterminant", "MatrixExp",
           "MatrixInverse", "MatrixLogarithm", "MatrixPower", "MatrixSolve", "MatrixSolveLs",
           "MatrixTriangularSolve", "Orgqr", "Ormqr", "Pdist", "Qr", "Renorm", "Svd", "Trace",
           "TridiagonalMatMul"]


@op
def mat_mul(input: Tensor, mat2: Tensor, *, transpose_a: bool, transpose_b: bool) -> Tensor:
    """The product of two matrices, each transposed first if its attribute says so.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0, 4.0]])
        >>> print(ms.ops.MatMul(transpose_b=True)(a, b))
        [[11.]]
    """
    a, b = input._raw, mat2._raw
    if a.dim() != 2 or b.dim() != 2:
        raise ValueError(f"For 'MatMul', both inputs must be matrices, but got shapes "
                         f"{tuple(a.shape)} and {tuple(b.shape)}.")
    return wrap(products.mm(a.mT if transpose_a else a, b.mT if transpose_b else b))


@op
def batch_mat_mul(x: Tensor, y: Tensor, *, transpose_a: bool, transpose_b: bool) -> Tensor:
    """The products of two batches of matrices, each transposed first if its attribute says so.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.ops.ones((2, 3, 4)), ms.ops.ones((2, 5, 4))
        >>> ms.ops.BatchMatMul(transpose_b=True)(x, y).shape
        (2, 3, 5)
    """
    a, b = x._raw, y._raw
    if a.dim() < 2 or b.dim() < 2:
        raise ValueError(f"For 'BatchMatMul', both inputs must have 2 dimensions or more, but got "
                         f"shapes {tuple(a.shape)} and {tuple(b.shape)}.")
    return wrap(products.any_matmul(a.mT if transpose_a else a, b.mT if transpose_b else b))


@op
def einsum_of(inputs: Any, *, equation: str) -> Tensor:
    """The products of tensors that an equation names.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])
        >>> print(ms.ops.Einsum("i,j->ij")((x, y)))
        [[3. 4.]
         [6. 8.]]
    """
    return einsum(equation, *inputs)


@op
def invert_matrix(x: Tensor, *, adjoint: bool) -> Tensor:
    """The inverse of matrices, or of their conjugate transposes."""
    out = inverse(x)
    return wrap(out._raw.mH.resolve_conj()) if adjoint else out


@op
def triangular_solve(matrix: Tensor, rhs: Tensor, *, lower: bool, adjoint: bool) -> Tensor:
    """The solution x of `matrix` @ x = `rhs` for triangular matrices."""
    raw = matrix._raw.mH if adjoint else matrix._raw
    return wrap(torch.linalg.solve_triangular(raw, rhs._raw, upper=lower == adjoint))


@op
def solve_least_squares(matrix: Tensor, rhs: Tensor, l2_regularizer: Any = 0.0, *,
                        fast: bool) -> Tensor:
    """The x that brings `matrix` @ x nearest to `rhs`, kept short by `l2_regularizer`."""
    a, b = matrix._raw, rhs._raw
    weight = getattr(l2_regularizer, "_raw", l2_regularizer)
    if not fast:
        return lstsq(matrix, rhs)
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    return wrap(torch.linalg.solve(a.mH @ a + weight * eye, a.mH @ b))


@op
def least_squares(x: Tensor, a: Tensor, *, fast: bool, l2_regularizer: float) -> Tensor:
    """The solution y that brings `x` @ y nearest to `a`."""
    return lstsq(x, a)


@op
def svd_of(input: Tensor, *, full_matrices: bool, compute_uv: bool) -> tuple[Tensor, ...]:
    """Singular values and vectors; without `compute_uv` the vectors are one 0 each."""
    if compute_uv:
        return svd(input, full_matrices)
    none = torch.zeros(1, dtype=input._raw.dtype, device=input._raw.device)
    return svd(input, full_matrices, False), wrap(none), wrap(none.clone())


@op
def qr_of(x: Tensor, *, full_matrices: bool) -> tuple[Tensor, Tensor]:
    """The QR decomposition."""
    return qr(x, "complete" if full_matrices else "reduced")


@op
def eig_of(x: Tensor, *, compute_v: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors; without `compute_v` a 0 stands for the vectors."""
    if compute_v:
        return eig(x)
    values = eigvals(x)._raw
    return wrap(values), wrap(values.new_zeros(()))


@op
def matrix_logarithm(x: Tensor) -> Tensor:
    """The logarithm of complex matrices that have a full set of eigenvectors."""
    if not x._raw.is_complex():
        raise TypeError(f"For 'MatrixLogarithm', 'x' must be complex, but got {x.dtype}.")
    values, vectors = torch.linalg.eig(x._raw)
    return wrap(vectors * values.log().unsqueeze(-2) @ torch.linalg.inv(vectors))


@op
def conjugate_transpose(x: Tensor, perm: Any) -> Tensor:
    """The conjugate with its dimensions in the order `perm`."""
    return wrap(torch.conj_physical(x._raw).permute(tuple(perm)))


@op
def pdist(x: Tensor, *, p: float) -> Tensor:
    """The distances between each two rows of a matrix."""
    return wrap(torch.pdist(x._raw, p))


@op
def tridiagonal_matmul(superdiag: Tensor, maindiag: Tensor, subdiag: Tensor,
                       rhs: Tensor) -> Tensor:
    """The product of a matrix given by three diagonals, of shape (..., 1, M), and `rhs`.

    The last element of `superdiag` and the first of `subdiag` are not used.
    """
    above, main, below = (d._raw.mT for d in (superdiag, maindiag, subdiag))
    raw = rhs._raw
    none = torch.zeros_like(raw[..., :1, :])
    upper = torch.cat([raw[..., 1:, :], none], -2)
    lower = torch.cat([none, raw[..., :-1, :]], -2)
    return wrap(above * upper + main * raw + below * lower)


MatMul = with_attributes("MatMul", mat_mul, transpose_a=False, transpose_b=False)
BatchMatMul = with_attributes("BatchMatMul", batch_mat_mul, transpose_a=False, transpose_b=False)
Einsum = with_attributes("Einsum", einsum_of, "equation")
Cross = with_attributes("Cross", cross, dim=-65530)
Ger = primitive("Ger", outer)
Trace = primitive("Trace", trace)
MatrixInverse = with_attributes("MatrixInverse", invert_matrix, adjoint=False)
MatrixDeterminant = primitive("MatrixDeterminant", det)
LogMatrixDeterminant = primitive("LogMatrixDeterminant", slogdet)
MatrixSolve = with_attributes("MatrixSolve", matrix_solve, adjoint=False)
MatrixSolveLs = with_attributes("MatrixSolveLs", solve_least_squares, fast=True)
MatrixTriangularSolve = with_attributes("MatrixTriangularSolve", triangular_solve, lower=True,
                                        adjoint=False)
MatrixPower = with_attributes("MatrixPower", matrix_power, "n")
MatrixExp = primitive("MatrixExp", matrix_exp)
MatrixLogarithm = primitive("MatrixLogarithm", matrix_logarithm)
Cholesky = with_attributes("Cholesky", cholesky, upper=False)
CholeskyInverse = with_attributes("CholeskyInverse", cholesky_inverse, upper=False)
CholeskySolve = with_attributes("CholeskySolve", cholesky_solve, upper=False)
LuSolve = primitive("LuSolve", lu_solve)
LuUnpack = with_attributes("LuUnpack", lu_unpack, unpack_data=True, unpack_pivots=True)
Lstsq = with_attributes("Lstsq", least_squares, fast=True, l2_regularizer=0.0)
Svd = with_attributes("Svd", svd_of, full_matrices=False, compute_uv=True)
Qr = with_attributes("Qr", qr_of, full_matrices=False)
Eig = with_attributes("Eig", eig_of, compute_v=False)
Geqrf = primitive("Geqrf", geqrf)
Orgqr = primitive("Orgqr", orgqr)
Ormqr = with_attributes("Ormqr", ormqr, left=True, transpose=False)
ConjugateTranspose = primitive("ConjugateTranspose", conjugate_transpose)
Cdist = with_attributes("Cdist", cdist, p=2.0)
Pdist = with_attributes("Pdist", pdist, p=2.0)
Renorm = with_attributes("Renorm", lambda input_x, *, p, dim, maxnorm: renorm(
    input_x, p, dim, maxnorm), "p", "dim", "maxnorm")
TridiagonalMatMul = primitive("TridiagonalMatMul", tridiagonal_matmul)
