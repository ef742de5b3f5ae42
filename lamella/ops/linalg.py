"""Determinants, inverses, powers and solutions of matrices."""

from __future__ import annotations

from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..core.state import state
from ..tensors.kernels import power
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import as_int, kind_or
from .operands import flag, floating

__all__ = ["adjoint", "cond", "det", "inverse", "log_matrix_determinant", "logdet", "lstsq",
           "matrix_determinant", "matrix_exp", "matrix_power", "matrix_solve", "pinv",
           "slogdet", "trace", "vander"]


def _driver(raw: torch.Tensor) -> str:
    return "gelsd" if raw.device.type == "cpu" else "gels"


@op
def det(input: Tensor) -> Tensor:
    """Determinant of square matrices.

    Args:
        input: shape (..., N, N).

    Returns:
        Tensor of shape (...)

    Raises:
        ValueError: if the matrices are not square.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.det(ms.Tensor([[4.0, 1.0], [2.0, 3.0]])))
        10.0
    """
    raw = input._raw
    if state.level is not None and state.level.forward:
        upper, sign = _triangular(raw)
        return wrap(upper.prod(-1) * sign)
    return wrap(torch.linalg.det(raw))


def _triangular(raw: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What the determinant is the product of: a triangle's diagonal, and the sign of a permutation.

    Derivatives of the tangent of PyTorch's own determinant are wrong beyond the first.
    """
    permuted, _, upper = torch.linalg.lu(raw)
    return upper.diagonal(dim1=-2, dim2=-1), torch.linalg.det(permuted.detach())


matrix_determinant = det


@documented_like(det)
@op
def slogdet(input: Tensor) -> tuple[Tensor, Tensor]:
    """Sign, and logarithm of the magnitude, of the determinant of square matrices.

    Returns:
        (sign, logarithm), each of shape (...)

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.slogdet(ms.Tensor([[4.0, 1.0], [2.0, 3.0]])))
        1.0 2.3025851
    """
    raw = input._raw
    if state.level is not None and state.level.forward:
        upper, sign = _triangular(raw)
        return wrap(upper.sgn().prod(-1) * sign), wrap(upper.abs().log().sum(-1).to(raw.dtype))
    sign, logarithm = torch.linalg.slogdet(raw)
    return wrap(sign), wrap(logarithm.to(raw.dtype))


log_matrix_determinant = slogdet


@documented_like(det)
@op
def logdet(input: Tensor) -> Tensor:
    """Logarithm of the determinant of square matrices; nan where it is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.logdet(ms.Tensor([[4.0, 1.0], [2.0, 3.0]])))
        2.3025851
    """
    return wrap(torch.logdet(input._raw))


@op
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix.

    Args:
        input: shape (N, M).

    Returns:
        Tensor of rank 0, in the type of `input`

    Raises:
        ValueError: if `input` is not a matrix.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.trace(ms.Tensor([[1, 2], [3, 4]])))
        5
    """
    raw = input._raw
    if raw.dim() != 2:
        raise ValueError(f"For 'trace', 'input' must be a matrix, but got shape {input.shape}.")
    return wrap(torch.diagonal(raw).sum(dtype=raw.dtype))


@op
def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices.

    Args:
        x: shape (..., N, M).

    Returns:
        Tensor of shape (..., M, N)

    Raises:
        ValueError: if `x` has less than two dimensions.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.adjoint(ms.Tensor([[1 + 1j, 2 + 0j]])))
        [[1.-1.j]
         [2.-0.j]]
    """
    if x._raw.dim() < 2:
        raise ValueError(f"For 'adjoint', 'x' must have 2 dimensions or more, "
                         f"but got shape {x.shape}.")
    return wrap(torch.adjoint(x._raw).resolve_conj())


@op
def inverse(input: Tensor) -> Tensor:
    """Inverse of square matrices.

    Args:
        input: shape (..., N, N).

    Returns:
        Tensor of the shape of `input`

    Raises:
        ValueError: if the matrices are not square.
        RuntimeError: if a matrix has no inverse.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.inverse(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    return wrap(torch.linalg.inv(input._raw))


@documented_like(adjoint)
@op
def pinv(x: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """Moore-Penrose pseudo-inverse of matrices.

    Args:
        x: shape (..., N, M).
        atol: singular values up to this count as 0.
        rtol: the same, relative to the largest one.
        hermitian: whether the matrices equal their conjugate transposes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.pinv(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    low, part = getattr(atol, "_raw", atol), getattr(rtol, "_raw", rtol)
    return wrap(torch.linalg.pinv(x._raw, atol=low, rtol=part, hermitian=hermitian))


@op
def lstsq(input: Tensor, A: Tensor) -> Tensor:
    """The x that brings `input` @ x nearest to `A`; of several the shortest.

    Args:
        input: shape (M, N).
        A: shape (M, K) or (M,).

    Returns:
        Tensor of shape (N, K), with K = 1 for a vector

    Raises:
        ValueError: if the shapes don't fit, or there is nan or infinity.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.lstsq(ms.Tensor([[1.0, 0.0], [0.0, 2.0]]), ms.Tensor([[1.0], [4.0]])))
        [[1.]
         [2.]]
    """
    b = A._raw if A._raw.dim() > 1 else A._raw.unsqueeze(-1)
    try:
        return wrap(torch.linalg.lstsq(input._raw, b, driver=_driver(b)).solution)
    except RuntimeError as error:
        if "illegal value" not in str(error):
            raise
        raise ValueError("For 'lstsq', 'input' and 'A' must hold finite numbers, but got nan or "
                         "infinity.") from None


@op
def matrix_solve(matrix: Tensor, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """The solution x of `matrix` @ x = `rhs`.

    Args:
        matrix: shape (..., N, N).
        rhs: shape (..., N, M).
        adjoint: whether to take the conjugate transpose of `matrix`.

    Returns:
        Tensor of the shape of `rhs`

    Raises:
        ValueError: if the shapes don't fit.
        RuntimeError: if a matrix has no inverse.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> y = ms.Tensor([[2.0], [8.0]])
        >>> print(ms.ops.matrix_solve(x, y))
        [[1.]
         [2.]]
    """
    flag(adjoint, "matrix_solve", "adjoint")
    try:
        return wrap(torch.linalg.solve(matrix._raw.mH if adjoint else matrix._raw, rhs._raw))
    except RuntimeError as error:
        if "singular" not in str(error):
            raise
        raise ValueError(f"For 'matrix_solve', 'matrix' must be invertible, but got a singular one "
                         f"of shape {matrix.shape}.") from None


@op
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Square matrices to an integer power; negative ones are powers of the inverse.

    Args:
        input: shape (..., N, N).
        n: the power, an int.

    Returns:
        Tensor of the shape of `input`

    Raises:
        ValueError: if the matrices are not square.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_power(ms.Tensor([[1.0, 1.0], [0.0, 1.0]]), 3))
        [[1. 3.]
         [0. 1.]]
    """
    power = as_int(n, "matrix_power", "n")
    if not -2**63 < power < 2**63:  # PyTorch's kernel negates it
        raise ValueError(f"For 'matrix_power', 'n' must fit in 64 bits, but got {power}.")
    return wrap(torch.linalg.matrix_power(input._raw, power))


@documented_like(det)
@op
def matrix_exp(input: Tensor) -> Tensor:
    """e to the power of square matrices.

    Returns:
        Tensor of the shape of `input`

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.matrix_exp(ms.Tensor([[0.0, 1.0], [0.0, 0.0]])))
        [[1. 1.]
         [0. 1.]]
    """
    raw = input._raw
    if raw.itemsize == 2 and raw.is_floating_point():  # PyTorch's kernel has wrong numbers there
        return wrap(torch.linalg.matrix_exp(raw.float()).to(raw.dtype))
    return wrap(torch.linalg.matrix_exp(raw))


@op
def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number of matrices: their norm times that of their inverse.

    Args:
        A: shape (..., N, M).
        p: the norm, as in `matrix_norm`; None: the 2-norm.

    Returns:
        Tensor of shape (...)

    Raises:
        ValueError: if there is no such norm.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.cond(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])))
        2.0
    """
    raw = floating(A._raw)
    if p in (None, 2, -2):
        return wrap(torch.linalg.cond(raw, p))
    # PyTorch's own function has no gradient for the other norms
    inverted = torch.linalg.inv(raw)
    return wrap(torch.linalg.matrix_norm(raw, p) * torch.linalg.matrix_norm(inverted, p))


@op
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers of each element, highest first.

    Args:
        x: shape (M,).
        N: how many powers; default: M.

    Returns:
        Tensor of shape (M, N)

    Raises:
        ValueError: if `x` is not a vector or `N` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.vander(ms.Tensor([1, 2, 3])))
        [[1 1 1]
         [4 2 1]
         [9 3 1]]
    """
    if x._raw.dim() != 1 or (N is not None and N < 0):
        raise ValueError(f"For 'vander', 'x' must be a vector and 'N' 0 or more, "
                         f"but got shape {x.shape} and N={N}.")
    powers = torch.arange((len(x) if N is None else N) - 1, -1, -1, device=x._raw.device)
    return wrap(power(x._raw.unsqueeze(-1), powers))


def _tensor_trace(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1,
                  dtype: Any = None) -> Tensor:
    own = self._raw.dtype
    whole = not is_inexact(own) and own not in (torch.bool, torch.uint64)
    kind = kind_or(dtype, torch.int64 if whole else own, "trace")
    offset = as_int(offset, "Tensor.trace", "offset")
    # cast first: PyTorch's gradient of a real sum in a complex type raises (2.13)
    return wrap(torch.diagonal(self._raw, offset, axis1, axis2).to(kind).sum(-1, dtype=kind))


def _tensor_triangular_solve(self: Tensor, A: Tensor, upper: bool = True,  # noqa: N803
                             transpose: bool = False, unitriangular: bool = False) -> Any:
    """The solution x of `A` x = this tensor, for a triangular `A`, and `A` itself."""
    matrix = A._raw.mT if transpose else A._raw
    x = torch.linalg.solve_triangular(matrix, self._raw, upper=upper != transpose,
                                      unitriangular=unitriangular)
    return wrap(x), A


tensor_methods(det=det, matrix_determinant=det, slogdet=slogdet, log_matrix_determinant=slogdet,
               logdet=logdet, trace=_tensor_trace, adjoint=adjoint, inverse=inverse, lstsq=lstsq,
               matrix_power=matrix_power, triangular_solve=_tensor_triangular_solve)
