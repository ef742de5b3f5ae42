"""Linear algebra with SciPy's names: decompositions, and what is solved with them.

Integers are computed as float64. `overwrite_a`, `overwrite_b` and `check_finite` are accepted
and have no effect, as in MindSpore.
"""

from __future__ import annotations

from typing import Any

import torch

from .. import numpy as lnp
from .. import ops
from ..core.dtype import is_inexact, promote_types
from ..core.errors import op
from ..core.require import one_of
from ..ops.primitives.factorizations import of_triangle
from ..ops.primitives.factorizations import solve_triangular as _solve_triangular
from ..tensors.tensor import Tensor, wrap

__all__ = ["block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "eigvalsh", "inv",
           "lstsq", "lu", "lu_factor", "lu_solve", "solve", "solve_triangular"]

_REAL = (torch.int32, torch.int64, torch.float32, torch.float64)
_TRANSPOSED = {"N": 0, "T": 1, "C": 2}


def _checked(where: str, name: str, a: Any, square: bool = True,
             types: tuple[torch.dtype, ...] = _REAL, **flags: Any) -> torch.Tensor:
    """The raw tensor of a matrix, integers as float64.

    Raises:
        TypeError: if it is no Tensor of `types`, or a flag no bool.
        ValueError: if it is no matrix, or has to be square and isn't.
    """
    for flag, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"For '{where}', the type of '{flag}' should be bool, but got "
                            f"'{value}' with type {type(value).__name__}.")
    if not isinstance(a, Tensor):
        raise TypeError(f"For '{where}', the type of '{name}' should be Tensor, but got '{a}' with "
                        f"type {type(a).__name__}.")
    if a._raw.dtype not in types:
        raise TypeError(f"For '{where}', the data type of '{name}' should be one of "
                        f"{', '.join(str(t).removeprefix('torch.') for t in types)}, "
                        f"but got {a.dtype}.")
    if square:
        if a.ndim != 2:
            raise ValueError(f"For '{where}', the dimension of '{name}' should be 2, "
                             f"but got {a.ndim}.")
        if a.shape[0] != a.shape[1]:
            raise ValueError(f"For '{where}', '{name}' should be a square matrix, but got shape "
                             f"{a.shape}.")
    return a._raw if is_inexact(a._raw.dtype) else a._raw.double()


@op
def inv(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse of a matrix.

    Raises:
        TypeError: if `a` is no Tensor, or of another type.
        ValueError: if it is no square matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.scipy.linalg.inv(ms.Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[-2.0000002   1.0000001 ]
         [ 1.5000001  -0.50000006]]
    """
    raw = _checked("inv", "a", a, overwrite_a=overwrite_a, check_finite=check_finite)
    return wrap(torch.linalg.inv(raw))


@op
def det(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The determinant of a matrix; see `ops.det`."""
    raw = _checked("det", "a", a, overwrite_a=overwrite_a, check_finite=check_finite)
    return ops.det(wrap(raw))


@op
def cholesky(a: Tensor, lower: bool = False, overwrite_a: bool = False,
             check_finite: bool = True) -> Tensor:
    """The triangle of a positive-definite matrix whose product with its transpose is that.

    Args:
        a: the matrix.
        lower: whether the lower triangle is wanted; else the upper one.
        overwrite_a: without effect.
        check_finite: without effect.

    Raises:
        TypeError: if `a` is no Tensor, or of another type.
        ValueError: if it is no square matrix.
        RuntimeError: if it isn't positive-definite.

    Examples:
        >>> import lamella as ms
        >>> print(ms.scipy.linalg.cholesky(ms.Tensor([[4.0, 2.0], [2.0, 5.0]])))
        [[2. 1.]
         [0. 2.]]
    """
    raw = _checked("cholesky", "a", a, lower=lower, overwrite_a=overwrite_a,
                   check_finite=check_finite)
    return wrap(torch.linalg.cholesky(raw, upper=not lower))


def cho_factor(a: Tensor, lower: bool = False, overwrite_a: bool = False,
               check_finite: bool = True) -> tuple[Tensor, bool]:
    """(`cholesky`, `lower`), which `cho_solve` takes."""
    return cholesky(a, lower, overwrite_a, check_finite), lower


@op
def cho_solve(c_and_lower: tuple[Tensor, bool], b: Tensor, overwrite_b: bool = False,
              check_finite: bool = True) -> Tensor:
    """The solution x of A x = b, from what `cho_factor` gave for A.

    Examples:
        >>> import lamella as ms
        >>> from lamella.scipy import linalg
        >>> print(linalg.cho_solve(linalg.cho_factor(ms.Tensor([[4.0, 0.0], [0.0, 2.0]])),
        ...                        ms.Tensor([4.0, 1.0])))
        [1.  0.5]
    """
    c, lower = c_and_lower
    first, second = ("N", "T") if lower else ("T", "N")
    _checked("cho_solve", "b", b, False, overwrite_b=overwrite_b, check_finite=check_finite,
             lower=lower)
    factor = wrap(_checked("cho_solve", "c", c, False))
    y = solve_triangular(factor, b, first, lower)
    return solve_triangular(factor, y, second, lower)


@op
def solve(a: Tensor, b: Tensor, lower: bool = False, overwrite_a: bool = False,
          overwrite_b: bool = False, check_finite: bool = True, assume_a: str = "gen") -> Tensor:
    """The solution x of A x = b.

    Args:
        a: the square matrix A.
        b: a vector, or a matrix of one right side a column.
        lower: whether the lower triangle is read, with `assume_a` ``"pos"``.
        overwrite_a: without effect.
        overwrite_b: without effect.
        check_finite: without effect.
        assume_a: ``"pos"``: A is symmetric (Hermitian) and positive definite, and one triangle is
            read; ``"gen"``, ``"sym"``, ``"her"``: any A, of which all is read.

    Returns:
        Tensor of the shape of `b`.

    Raises:
        TypeError: if `a` or `b` is no Tensor, or of another type.
        ValueError: if `a` is no square matrix, `b` has other rows, or `assume_a` is unknown.
        RuntimeError: if A is singular.

    Examples:
        >>> import lamella as ms
        >>> a = ms.Tensor([[2.0, 1.0], [0.0, 4.0]])
        >>> print(ms.scipy.linalg.solve(a, ms.Tensor([4.0, 8.0])))
        [1. 2.]
    """
    one_of(assume_a, ("gen", "sym", "her", "pos"), "assume_a", "solve")
    matrix = _checked("solve", "a", a, True, (*_REAL, torch.complex64, torch.complex128),
                      lower=lower, overwrite_a=overwrite_a, overwrite_b=overwrite_b,
                      check_finite=check_finite)
    right = _checked("solve", "b", b, False, (*_REAL, torch.complex64, torch.complex128))
    if right.dim() not in (1, 2) or right.shape[0] != matrix.shape[0]:
        raise ValueError(f"For 'solve', 'b' must have as many rows as 'a', but got shapes "
                         f"{a.shape} and {b.shape}.")
    kind = promote_types(matrix.dtype, right.dtype)
    matrix, right = matrix.to(kind), right.to(kind)
    if assume_a != "pos":
        return wrap(torch.linalg.solve(matrix, right))
    columns = right if right.dim() == 2 else right.unsqueeze(1)
    strict = matrix.tril(-1) if lower else matrix.triu(1)
    whole = strict + strict.mH + torch.diag(matrix.diagonal())  # so that its gradient is right
    return wrap(torch.cholesky_solve(columns, torch.linalg.cholesky(whole)).view_as(right))


@op
def solve_triangular(a: Tensor, b: Tensor, trans: int | str = 0, lower: bool = False,
                     unit_diagonal: bool = False, overwrite_b: bool = False, debug: Any = None,
                     check_finite: bool = True) -> Tensor:
    """The solution x of a x = b for a triangular matrix.

    Args:
        a: the matrix, of which the other triangle isn't read; integers count as float32, int64 as
            float64.
        b: a vector or a matrix, which counts as of the type of `a`.
        trans: 0 or ``"N"``: a, 1 or ``"T"``: its transpose, 2 or ``"C"``: that conjugated.
        lower: whether the lower triangle is the matrix; else the upper one.
        unit_diagonal: whether the diagonal is taken for 1.
        overwrite_b: without effect.
        debug: without effect.
        check_finite: without effect.

    Raises:
        ValueError: if `trans` is another, or the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> a = ms.Tensor([[2.0, 0.0], [1.0, 4.0]])
        >>> print(ms.scipy.linalg.solve_triangular(a, ms.Tensor([2.0, 5.0]), lower=True))
        [1. 1.]
    """
    kind = _TRANSPOSED.get(trans) if isinstance(trans, str) else trans
    if kind not in (0, 1, 2):
        raise ValueError(f"For 'solve_triangular', 'trans' must be one of 0, 1, 2, 'N', 'T', 'C', "
                         f"but got {trans!r}.")
    types = (torch.float16, torch.int8, torch.int16, *_REAL, torch.complex64, torch.complex128)
    matrix = _checked("solve_triangular", "a", a, False, types)
    right = _checked("solve_triangular", "b", b, False, types).to(matrix.dtype)
    kept = a._raw.dtype  # float16 is computed in float32, and integers but int64 give float32
    if kept in (torch.float16, torch.int8, torch.int16, torch.int32):
        matrix, right = matrix.float(), right.float()
    if matrix.dim() < 2 or matrix.shape[-1] != matrix.shape[-2]:
        raise ValueError(f"For 'solve_triangular', 'a' must be square matrices, but got shape "
                         f"{a.shape}.")
    rows = right.shape[-1 if right.dim() == matrix.dim() - 1 else -2:][:1]
    if rows != matrix.shape[-1:]:
        raise ValueError(f"For 'solve_triangular', 'b' must have as many rows as 'a', but got "
                         f"shapes {a.shape} and {b.shape}.")
    out = _solve_triangular(wrap(matrix), wrap(right), kind, lower, unit_diagonal)
    return wrap(out._raw.half()) if kept is torch.float16 else out


@op
def eigh(a: Tensor, b: None = None, lower: bool = True, eigvals_only: bool = False,
         overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True,
         eigvals: None = None, type: int = 1, check_finite: bool = True) -> Any:
    """Eigenvalues, ascending, and eigenvectors of a symmetric or Hermitian matrix.

    Args:
        a: the matrix, of which one triangle is read.
        b: None: generalized problems aren't there, as in MindSpore.
        lower: whether the lower triangle is read.
        eigvals_only: whether only the eigenvalues are wanted.
        overwrite_a: without effect.
        overwrite_b: without effect.
        turbo: without effect.
        eigvals: None.
        type: without effect.
        check_finite: without effect.

    Returns:
        (eigenvalues, eigenvectors as columns), or the eigenvalues, of the type of `a`: those of a
        complex matrix have imaginary parts 0.

    Raises:
        TypeError: if `a` is no Tensor, or of another type.
        ValueError: if it is no square matrix, or `b` or `eigvals` isn't None.

    Examples:
        >>> import lamella as ms
        >>> print(ms.scipy.linalg.eigh(ms.Tensor([[3.0, 0.0], [0.0, 1.0]]), eigvals_only=True))
        [1. 3.]
    """
    raw = _checked("eigh", "a", a, True, (*_REAL, torch.complex64, torch.complex128), lower=lower,
                   eigvals_only=eigvals_only, overwrite_a=overwrite_a, overwrite_b=overwrite_b,
                   turbo=turbo, check_finite=check_finite)
    for name, value in (("b", b), ("eigvals", eigvals)):
        if value is not None:
            raise ValueError(f"For 'eigh', currently only case {name}=None of 'eigh' is "
                             f"implemented.")
    hermitian = of_triangle(raw, lower)
    if eigvals_only:
        return wrap(torch.linalg.eigvalsh(hermitian).to(raw.dtype))
    values, vectors = torch.linalg.eigh(hermitian)
    return wrap(values.to(raw.dtype)), wrap(vectors)


def eigvalsh(a: Tensor, b: None = None, lower: bool = True, overwrite_a: bool = False,
             overwrite_b: bool = False, turbo: bool = True, eigvals: None = None, type: int = 1,
             check_finite: bool = True) -> Tensor:
    """The eigenvalues alone, as `eigh` with `eigvals_only`."""
    return eigh(a, b, lower, True, overwrite_a, overwrite_b, turbo, eigvals, type, check_finite)


@op
def lu_factor(a: Tensor, overwrite_a: bool = False, check_finite: bool = True
              ) -> tuple[Tensor, Tensor]:
    """Both triangles of an LU decomposition in one matrix, and the rows that were exchanged.

    Returns:
        (LU, pivots): row ``i`` was exchanged with row ``pivots[i]``.

    Examples:
        >>> import lamella as ms
        >>> lu, pivots = ms.scipy.linalg.lu_factor(ms.Tensor([[1.0, 2.0], [2.0, 0.0]]))
        >>> print(lu, pivots)
        [[2.  0. ]
         [0.5 2. ]] [1 1]
    """
    raw = _checked("lu_factor", "a", a, overwrite_a=overwrite_a, check_finite=check_finite)
    both, pivots = torch.linalg.lu_factor(raw)
    return wrap(both), wrap(pivots - 1)  # PyTorch counts from 1


@op
def lu(a: Tensor, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
       ) -> Any:
    """The LU decomposition with exchanged rows: a = p l u.

    Args:
        a: a matrix with at most as many rows as columns.
        permute_l: whether p l is returned instead of p and l.
        overwrite_a: without effect.
        check_finite: without effect.

    Returns:
        (p in int32, l, u), or (p l, u).

    Raises:
        TypeError: if `a` is no Tensor, or of another type.
        ValueError: if it is no matrix, or has more rows than columns, as in MindSpore.

    Examples:
        >>> import lamella as ms
        >>> p, l, u = ms.scipy.linalg.lu(ms.Tensor([[1.0, 2.0], [2.0, 0.0]]))
        >>> print(l)
        [[1.  0. ]
         [0.5 1. ]]
    """
    raw = _checked("lu", "a", a, False, permute_l=permute_l, overwrite_a=overwrite_a,
                   check_finite=check_finite)
    if raw.dim() != 2:
        raise ValueError(f"For 'lu', the dimension of 'a' should be 2, but got {raw.dim()}.")
    if raw.shape[0] > raw.shape[1]:
        raise ValueError(f"For 'lu', 'a' must have at most as many rows as columns, but got shape "
                         f"{a.shape}.")
    exchange, left, right = torch.linalg.lu(raw)
    if permute_l:
        return wrap(exchange @ left), wrap(right)
    return wrap(exchange.int()), wrap(left), wrap(right)


@op
def lu_solve(lu_and_piv: tuple[Tensor, Tensor], b: Tensor, trans: int = 0,
             overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """The solution x of a x = b, from what `lu_factor` gave for a.

    Args:
        lu_and_piv: (LU, pivots).
        b: a vector or a matrix.
        trans: 1 or 2 for the transpose of a.
        overwrite_b: without effect.
        check_finite: without effect.

    Raises:
        ValueError: if `trans` is another, or the shapes don't go together.

    Examples:
        >>> import lamella as ms
        >>> from lamella.scipy import linalg
        >>> print(linalg.lu_solve(linalg.lu_factor(ms.Tensor([[0.0, 2.0], [1.0, 0.0]])),
        ...                       ms.Tensor([4.0, 3.0])))
        [3. 2.]
    """
    both, pivots = lu_and_piv
    raw = _checked("lu_solve", "lu_matrix", both, overwrite_b=overwrite_b,
                   check_finite=check_finite)
    right = _checked("lu_solve", "b", b, False).to(raw.dtype)
    one_of(trans, (0, 1, 2), "trans", "lu_solve")
    vector = right.dim() == 1
    out = torch.linalg.lu_solve(raw, pivots._raw.int() + 1, right[:, None] if vector else right,
                                adjoint=trans != 0)
    return wrap(out[:, 0] if vector else out)


@op
def block_diag(*arrs: Tensor) -> Tensor:
    """A matrix with the given ones along its diagonal, in the type that they meet in.

    Raises:
        ValueError: if one has more than two dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.scipy.linalg.block_diag(ms.Tensor([[1, 2]]), ms.Tensor(5)))
        [[1 2 0]
         [0 0 5]]
    """
    if not arrs:
        return lnp.zeros((1, 0))
    return ops.block_diag(*arrs)


_DRIVERS = (None, "gels", "gelsy", "gelss", "gelsd")


@op
def lstsq(A: Tensor, B: Tensor, rcond: Any = None,  # noqa: N803
          driver: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The X for which the squares of A X - B have the least sum.

    Args:
        A: matrices of shape (..., M, N).
        B: matrices of shape (..., M, K), or vectors of shape (..., M).
        rcond: without effect, as in MindSpore.
        driver: LAPACK's: None (``"gelsy"``), ``"gels"``, ``"gelsy"``, ``"gelss"``, ``"gelsd"``.

    Returns:
        (solution, residuals, rank, singular values); what the driver doesn't compute is empty.

    Raises:
        TypeError: if the types of `A` and `B` differ.
        ValueError: if the shapes don't go together, or `driver` is another.

    Examples:
        >>> import lamella as ms
        >>> solution, *_ = ms.scipy.linalg.lstsq(ms.Tensor([[2.0, 0.0], [0.0, 4.0]]),
        ...                                      ms.Tensor([2.0, 4.0]))
        >>> print(solution)
        [1. 1.]
    """
    one_of(driver, _DRIVERS, "driver", "lstsq")
    a, b = A._raw, B._raw
    if a.dtype is not b.dtype:
        raise TypeError(f"For 'lstsq', 'A' and 'B' must be of one type, but got {A.dtype} and "
                        f"{B.dtype}.")
    if a.dim() < 2 or b.dim() < a.dim() - 1:
        raise ValueError(f"For 'lstsq', 'A' must have 2 dimensions or more and 'B' as many or one "
                         f"fewer, but got shapes {A.shape} and {B.shape}.")
    vector = b.dim() == a.dim() - 1
    kind = driver or "gelsy"
    if a.device.type != "cpu":
        kind = "gels"  # the one that a GPU has
    out = torch.linalg.lstsq(a, b.unsqueeze(-1) if vector else b, driver=kind)
    solution = out.solution.squeeze(-1) if vector else out.solution
    residuals = out.residuals.squeeze(-1) if vector and out.residuals.numel() else out.residuals
    return wrap(solution), wrap(residuals), wrap(out.rank), wrap(out.singular_values)
