"""Reductions of `mint`, along `dim` and with `keepdim`; indices are int64."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core.adapters import adapted
from ..core.dtype import int64, is_inexact
from ..core.errors import op
from ..tensors.tensor import Tensor
from .forms import with_forms

__all__ = ["all", "amax", "amin", "any", "argmin", "argsort", "bincount", "count_nonzero",
           "cummax", "cummin", "cumsum", "kthvalue", "max", "mean", "median", "min", "nansum",
           "norm", "prod", "sort", "std", "std_mean", "topk", "unique", "var", "var_mean"]

_methods: Any = Tensor
_SPREAD = "input, dim:axis=None, *, correction:ddof=1, keepdim:keepdims=False"
_NOT_N = "Divides by n - `correction`."

all = adapted(ops.all, "input, dim:axis=None, keepdim:keep_dims=False")
amax = adapted(ops.amax, "input, dim:axis=(), keepdim:keepdims=False")
amin = adapted(ops.amin, "input, dim:axis=(), keepdim:keepdims=False")
any = with_forms(adapted(ops.any, "input, dim:axis=None, keepdim:keep_dims=False"))
count_nonzero = adapted(ops.count_nonzero, "input:x, dim:axis=None", dtype=int64)
cummax = adapted(ops.cummax, "input, dim:axis")
kthvalue = adapted(_methods.kthvalue, "input:self, k, dim=-1, keepdim=False")
nansum = adapted(ops.nansum, "input, dim:axis=None, keepdim:keepdims=False, *, dtype=None")
prod = adapted(ops.prod, "input, dim:axis=None, keepdim:keep_dims=False, *, dtype=None")
std = adapted(ops.std, _SPREAD, doc=_NOT_N)
std_mean = adapted(ops.std_mean, _SPREAD, doc=_NOT_N)
unique = adapted(_methods.unique, "input:self, sorted=True, return_inverse=False, "
                 "return_counts=False, dim=None")
var = adapted(ops.var, _SPREAD, doc=_NOT_N)
var_mean = adapted(ops.var_mean, _SPREAD, doc=_NOT_N)


def argmin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """As `ops.argmin`; indices are int64."""
    return ops.argmin(input, dim, keepdim).to(int64)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """As `ops.bincount`; without `weights` the counts are int64.

    >>> import lamella as ms
    >>> print(ms.mint.bincount(ms.Tensor([3, 1, 1])))
    [0 2 0 1]
    """
    counts = ops.bincount(input, weights, minlength)
    return counts.to(int64) if weights is None else counts


@op
def cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """As `ops.cumsum`; integers are summed in int64, as everywhere in PyTorch.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.cumsum(ms.Tensor([1, 2, 3]), 0))
        [1 3 6]
    """
    if dtype is None and not is_inexact(input._raw.dtype):
        dtype = int64
    return ops.cumsum(input, dim, dtype)


def _with_positions(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return pair[0], pair[1].to(int64)


@op
def cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """As `ops.cummin`; indices are int64."""
    return _with_positions(ops.cummin(input, dim))


def sort(input: Tensor, *, dim: int = -1, descending: bool = False,
         stable: bool = False) -> tuple[Tensor, Tensor]:
    """As `ops.sort`; indices are int64. The order of equal elements is always kept."""
    return _with_positions(ops.sort(input, dim, descending))


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """As `ops.argsort`; indices are int64. The order of equal elements is always kept."""
    return ops.argsort(input, dim, descending).to(int64)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True,
         sorted: bool = True) -> tuple[Tensor, Tensor]:
    """As `ops.topk`; indices are int64.

    Examples:
        >>> import lamella as ms
        >>> values, indices = ms.mint.topk(ms.Tensor([3.0, 5.0, 4.0]), 2)
        >>> print(values, indices)
        [5. 4.] [1 2]
    """
    return _with_positions(ops.topk(input, k, dim, largest, sorted))


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """As `ops.mean`, maybe computed in another type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.mean(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1))
        [1.5 3.5]
    """
    return ops.mean(input if dtype is None else input.to(dtype), dim, keepdim)


@with_forms
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; with `dim` a pair of values and indices; with another Tensor `maximum`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 3.0], [4.0, 2.0]])
        >>> print(ms.mint.max(x), *ms.mint.max(x, 1), *ms.mint.max(x, x.T))
        4.0 [3. 4.] [1 0] [1. 4.] [4. 2.]
    """
    return _extremum(ops.max, ops.maximum, input, dim, keepdim, other)


@with_forms
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; with `dim` a pair of values and indices; with another Tensor `minimum`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 3.0], [4.0, 2.0]])
        >>> print(ms.mint.min(x), *ms.mint.min(x, 1))
        1.0 [1. 2.] [0 1]
    """
    return _extremum(ops.min, ops.minimum, input, dim, keepdim, other)


def _extremum(along: Any, between: Any, input: Any, dim: Any, keepdim: bool, other: Any) -> Any:
    if isinstance(dim, (Tensor, float)) or other is not None:
        return between(input, dim if other is None else other)
    return along(input)[0] if dim is None else along(input, dim, keepdim)


@op
def median(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """As `ops.median`; without `dim` the median of all elements, one Tensor.

    >>> import lamella as ms
    >>> print(ms.mint.median(ms.Tensor([[1.0, 3.0], [4.0, 2.0]])))
    2.0
    """
    return ops.median(input.ravel(), -1)[0] if dim is None else ops.median(input, dim, keepdim)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *,
         dtype: Any = None) -> Tensor:
    """The norm of vectors along `dim`, or of all elements; ``"fro"`` is 2.

    >>> import lamella as ms
    >>> print(ms.mint.norm(ms.Tensor([[3.0, 4.0], [0.0, 0.0]])))
    5.0
    """
    if p == "nuc":
        return ops.matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return ops.vector_norm(input, 2 if p == "fro" else p, dim, keepdim, dtype=dtype)
