"""Primitive classes of eigenvalues, triangular and tridiagonal systems, and least squares."""

from __future__ import annotations

from typing import Any

import torch

from ...core.dtype import promote_types, to_raw
from ...core.errors import op
from ...core.require import one_of
from ...tensors.tensor import Tensor, wrap
from ..primitive import primitive
from .attributes import with_attributes
from .gradients import pulled_back

__all__ = ["Correlate", "Eigh", "LstsqV2", "LstsqV2Grad", "LuUnpackGrad", "SelfAdjointEig",
           "SolveTriangular", "TraceGrad", "TraceV2", "TraceV2Grad", "TridiagonalSolve"]


def _square(raw: torch.Tensor, name: str) -> torch.Tensor:
    if raw.dim() < 2 or raw.shape[-1] != raw.shape[-2]:
        raise ValueError(f"For '{name}', the last two dimensions of the input must be equal, but "
                         f"got shape {tuple(raw.shape)}.")
    return raw


def of_triangle(raw: torch.Tensor, lower: bool) -> torch.Tensor:
    """The Hermitian matrix with the lower or the upper triangle of another, through which alone
    gradients flow."""
    half = raw.tril(-1) if lower else raw.triu(1)
    return half + half.mH + torch.diag_embed(raw.diagonal(dim1=-2, dim2=-1))


@op
def eigh_of(A: Tensor, *, compute_eigenvectors: bool, lower: bool) -> Any:  # noqa: N803
    """Eigenvalues, ascending, of Hermitian matrices, and their vectors if they are wanted."""
    raw = of_triangle(_square(A._raw, "Eigh"), lower)
    if not compute_eigenvectors:
        return wrap(torch.linalg.eigvalsh(raw).to(raw.dtype))
    values, vectors = torch.linalg.eigh(raw)
    return wrap(values.to(raw.dtype)), wrap(vectors)


@op
def self_adjoint_eig(x: Tensor, *, compute_v: bool) -> tuple[Tensor, Tensor]:
    """Eigenvalues, ascending, of Hermitian matrices; without `compute_v` the vectors are empty."""
    raw = _square(x._raw, "SelfAdjointEig")
    if compute_v:
        values, vectors = torch.linalg.eigh(raw)
    else:
        values, vectors = torch.linalg.eigvalsh(raw), raw.new_zeros(0)
    return wrap(values.to(raw.dtype)), wrap(vectors)


@op
def solve_triangular(a: Tensor, b: Tensor, trans: Any = 0, lower: bool = False,
                     unit_diagonal: bool = False) -> Tensor:
    """The x with `a` @ x = `b` for triangular matrices `a`.

    Args:
        a: shape (..., n, n).
        b: shape (..., n) or (..., n, k).
        trans: 0 or ``"N"`` for `a` itself, 1 or ``"T"`` for its transpose, 2 or ``"C"`` for the
            conjugate of that.
        lower: whether the elements below the diagonal are used, not those above.
        unit_diagonal: whether the elements of the diagonal are taken as 1.

    Returns:
        Tensor of the shape of `b`.

    Raises:
        ValueError: if `trans` is another value or the shapes don't fit.
    """
    form = {"N": 0, "T": 1, "C": 2}.get(trans, trans) if isinstance(trans, str) else trans
    one_of(form, (0, 1, 2), "trans", "SolveTriangular")
    raw, rhs = _square(a._raw, "SolveTriangular"), b._raw
    vector = rhs.dim() == raw.dim() - 1
    if rhs.shape[:rhs.dim() - (1 if vector else 2)] != raw.shape[:-2]:
        raise ValueError(f"For 'SolveTriangular', all dimensions of 'a' and 'b' but the last ones "
                         f"must be the same, but got shapes {a.shape} and {b.shape}.")
    rhs = rhs.unsqueeze(-1) if vector else rhs
    matrix = raw if form == 0 else raw.mT if form == 1 else raw.mH
    out = torch.linalg.solve_triangular(matrix, rhs, upper=bool(lower) == (form != 0),
                                        unitriangular=bool(unit_diagonal))
    return wrap(out.squeeze(-1) if vector else out)


@op
def tridiagonal_solve(diagonals: Tensor, rhs: Tensor, *, partial_pivoting: bool) -> Tensor:
    """The x with A @ x = `rhs` for matrices A with three diagonals.

    Args:
        diagonals: shape (..., 3, n): above, on and below the diagonal; the last element of the
            first and the first element of the last are not used.
        rhs: shape (..., n, k).
        partial_pivoting: accepted as MindSpore does; rows are always exchanged where it helps.

    Returns:
        Tensor of the shape of `rhs`.
    """
    above, main, below = diagonals._raw.unbind(-2)
    matrix = (torch.diag_embed(main) + torch.diag_embed(above[..., :-1], 1)
              + torch.diag_embed(below[..., 1:], -1))
    return wrap(torch.linalg.solve(matrix, rhs._raw))


@op
def lstsq_of(A: Tensor, B: Tensor, driver: Any = None) -> tuple[Tensor, ...]:  # noqa: N803
    """The x that brings `A` @ x nearest to `B`: x, residuals, rank and singular values."""
    a, b = A._raw, B._raw
    vector = b.dim() == a.dim() - 1
    b = b.unsqueeze(-1) if vector else b
    named = driver if driver is None or isinstance(driver, str) else (
        "gels", "gelsy", "gelsd", "gelss")[int(driver)]
    solution, residuals, rank, values = torch.linalg.lstsq(a, b, driver=named)
    solution = solution.squeeze(-1) if vector else solution
    return wrap(solution), wrap(residuals), wrap(rank), wrap(values)


@op
def lstsq_gradients(gX: Tensor, A: Tensor, B: Tensor) -> tuple[Tensor, ...]:  # noqa: N803
    """The gradients of the solution of `LstsqV2` by the matrix and the right side."""
    def solution(a: Tensor, b: Tensor) -> Tensor:
        return wrap(torch.linalg.pinv(a._raw) @ b._raw)

    return pulled_back(solution, gX, A, B)


@op
def correlate_of(a: Tensor, v: Tensor, *, pad_mode: str) -> Tensor:
    """The sums of products of a sequence and another, moved along it, as `numpy.correlate`."""
    one_of(pad_mode, ("valid", "same", "full"), "pad_mode", "Correlate")
    x, y = a._raw, v._raw
    if x.dim() != 1 or y.dim() != 1 or not x.numel() or not y.numel():
        raise ValueError(f"For 'Correlate', both inputs must have one dimension and an element, "
                         f"but got shapes {tuple(x.shape)} and {tuple(y.shape)}.")
    kind = promote_types(x.dtype, y.dtype)
    if not kind.is_floating_point and not kind.is_complex:
        kind = torch.float64 if kind is torch.int64 else torch.float32
    x, y = x.to(kind), y.to(kind).conj()
    swapped = len(x) < len(y)
    long, short = (y, x) if swapped else (x, y)
    m = len(short)
    before = {"valid": 0, "same": m // 2, "full": m - 1}[pad_mode]
    after = {"valid": 0, "same": m - 1 - m // 2, "full": m - 1}[pad_mode]
    out = torch.nn.functional.pad(long, (before, after)).unfold(0, m, 1) @ short
    return wrap(out.flip(0) if swapped else out)


@op
def trace_of(input: Tensor, offset: int = 0, axis1: int = 1, axis2: int = 0,
             dtype: Any = None) -> Tensor:
    """The sums along a diagonal over two dimensions; sums of integers are int64."""
    raw = torch.diagonal(input._raw, offset, axis1, axis2)
    return wrap(raw.sum(-1) if dtype is None else raw.to(kind := to_raw(dtype)).sum(-1, dtype=kind))


@op
def trace_gradient(dout: Tensor, shape: Any, offset: int = 0, axis1: int = 1,
                   axis2: int = 0) -> Tensor:
    """The gradient of `TraceV2` for an input of a shape."""
    sizes = tuple(shape.tolist() if isinstance(shape, Tensor) else shape)
    none = wrap(dout._raw.new_zeros(sizes))
    return pulled_back(lambda x: trace_of(x, offset, axis1, axis2), dout, none)[0]


@op
def trace_grad(y_grad: Tensor, x_shape: Any) -> Tensor:
    """The gradient of the trace of a matrix of a shape."""
    return trace_gradient(y_grad, x_shape, 0, 0, 1)


@op
def lu_unpack_gradients(L_grad: Tensor, U_grad: Tensor, LU_data: Tensor,  # noqa: N803
                        **_: bool) -> tuple[Tensor, Tensor]:
    """What the gradients of L and U give for the matrix that holds both, each in its triangle."""
    data = LU_data._raw
    rows, columns = data.shape[-2:]
    least = min(rows, columns)
    lower = torch.zeros_like(data)
    lower[..., :, :least] = L_grad._raw.tril(-1)
    upper = torch.zeros_like(data)
    upper[..., :least, :] = U_grad._raw.triu()
    return wrap(lower), wrap(upper)


Correlate = with_attributes("Correlate", correlate_of, pad_mode="valid")
Eigh = with_attributes("Eigh", eigh_of, compute_eigenvectors=True, lower=True)
LstsqV2 = primitive("LstsqV2", lstsq_of)
LstsqV2Grad = primitive("LstsqV2Grad", lstsq_gradients)
LuUnpackGrad = with_attributes("LuUnpackGrad", lu_unpack_gradients, "L_grad_flag", "U_grad_flag")
SelfAdjointEig = with_attributes("SelfAdjointEig", self_adjoint_eig, compute_v=True)
SolveTriangular = primitive("SolveTriangular", solve_triangular)
TraceGrad = primitive("TraceGrad", trace_grad)
TraceV2 = primitive("TraceV2", trace_of)
TraceV2Grad = primitive("TraceV2Grad", trace_gradient)
TridiagonalSolve = with_attributes("TridiagonalSolve", tridiagonal_solve, partial_pivoting=True)
