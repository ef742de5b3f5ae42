"""Products of matrices and vectors that are added to a tensor."""

from __future__ import annotations

import torch

from ..core.adapters import adapted
from ..core.docstrings import documented_like
from ..core.dtype import is_inexact
from ..core.errors import op
from ..machine import products
from ..tensors.inplace import in_place
from ..tensors.tensor import Tensor, tensor_methods, wrap
from ..tensors.unsigned import SIGNED

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]


@op
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1,
          alpha: float = 1) -> Tensor:
    """`beta` * `input` + `alpha` * (`mat1` @ `mat2`).

    Args:
        input: a Tensor that broadcasts to shape (N, R).
        mat1: shape (N, M).
        mat2: shape (M, R).
        beta: factor of `input`.
        alpha: factor of the product.

    Returns:
        Tensor of shape (N, R)

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0])
        >>> y = ms.Tensor([[1.0, 2.0]])
        >>> z = ms.Tensor([[3.0], [4.0]])
        >>> print(ms.ops.addmm(x, y, z, beta=2))
        [[13.]]
    """
    if not is_inexact(input._raw.dtype) and (isinstance(beta, float) or isinstance(alpha, float)):
        return wrap(beta * input._raw + alpha * products.any_matmul(mat1._raw, mat2._raw))
    return wrap(products.addmm(input._raw, mat1._raw, mat2._raw, beta=beta, alpha=alpha))


@op
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: float = 1,
            alpha: float = 1) -> Tensor:
    """`beta` * `input` + `alpha` * (`batch1` @ `batch2`), for each pair of matrices.

    Args:
        input: a Tensor that broadcasts to shape (B, N, R).
        batch1: shape (B, N, M).
        batch2: shape (B, M, R).
        beta: factor of `input`.
        alpha: factor of the product.

    Returns:
        Tensor of shape (B, N, R)

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[1.0]]])
        >>> y = ms.Tensor([[[1.0, 2.0]]])
        >>> z = ms.Tensor([[[3.0], [4.0]]])
        >>> print(ms.ops.baddbmm(x, y, z))
        [[[12.]]]
    """
    a, b = batch1._raw, batch2._raw
    if not is_inexact(a.dtype) and (isinstance(beta, float) or isinstance(alpha, float)):
        raise TypeError(f"For 'baddbmm', with integers 'beta' and 'alpha' must be integers, "
                        f"but got {beta} and {alpha}.")
    if a.dim() == 3 == b.dim():
        return wrap(products.baddbmm(input._raw, a, b, beta=beta, alpha=alpha))
    return wrap(beta * input._raw + alpha * products.any_matmul(a, b))


@documented_like(addmm)
@op
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1,
           alpha: float = 1) -> Tensor:
    """`beta` * `input` + `alpha` * the sum of `batch1` @ `batch2` over all pairs of matrices.

    Args:
        input: a Tensor that broadcasts to shape (N, R).
        batch1: shape (B, N, M).
        batch2: shape (B, M, R).
        beta: factor of `input`.
        alpha: factor of the product.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0]])
        >>> y = ms.Tensor([[[1.0]], [[2.0]]])
        >>> z = ms.Tensor([[[3.0]], [[4.0]]])
        >>> print(ms.ops.addbmm(x, y, z))
        [[12.]]
    """
    a, b = batch1._raw, batch2._raw
    if a.dim() == 3 == b.dim():
        if not is_inexact(a.dtype):  # the sum of the products is int64
            total = beta * input._raw.long() + alpha * torch.matmul(a.long(), b.long()).sum(0)
            return wrap(total.to(a.dtype) if a.dtype in SIGNED else total)
        return wrap(products.addbmm(input._raw, a, b, beta=beta, alpha=alpha))
    return wrap(beta * input._raw + alpha * products.any_matmul(a, b).sum(0))


@op
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta` * `input` + `alpha` * (`mat` @ `vec`).

    Args:
        input: a Tensor that broadcasts to shape (N,).
        mat: shape (N, M).
        vec: shape (M,).
        beta: factor of `input`.
        alpha: factor of the product.

    Returns:
        Tensor of shape (N,)

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 1.0])
        >>> y = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> z = ms.Tensor([1.0, 1.0])
        >>> print(ms.ops.addmv(x, y, z))
        [4. 8.]
    """
    return wrap(torch.addmv(input._raw, mat._raw, vec._raw, beta=beta, alpha=alpha))


@op
def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """`beta` * `x` + `alpha` * the outer product of `vec1` and `vec2`.

    Args:
        x: a Tensor that broadcasts to shape (N, M).
        vec1: shape (N,).
        vec2: shape (M,).
        beta: factor of `x`.
        alpha: factor of the product.

    Returns:
        Tensor of shape (N, M)

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.addr(ms.Tensor([[1.0, 1.0]]), ms.Tensor([2.0]), ms.Tensor([3.0, 4.0])))
        [[7. 9.]]
    """
    kinds = vec1._raw.dtype, vec2._raw.dtype
    if kinds[0] is not kinds[1]:
        raise TypeError(f"For 'addr', 'vec1' and 'vec2' must be of one type, but got "
                        f"{vec1.dtype} and {vec2.dtype}.")
    return wrap(torch.addr(x._raw, vec1._raw, vec2._raw, beta=beta, alpha=alpha))


def _tensor_addmm_(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1,
                   alpha: float = 1) -> Tensor:
    if self._raw.dtype is torch.float16:  # in float32, and rounded once
        return in_place(self, lambda raw: raw.copy_(products.addmm(
            raw, mat1._raw, mat2._raw, beta=beta, alpha=alpha)))
    return in_place(self, lambda raw: raw.addmm_(mat1._raw, mat2._raw, beta=beta, alpha=alpha))


tensor_methods(addmm=addmm, addmm_=_tensor_addmm_, baddbmm=baddbmm, addbmm=addbmm, addmv=addmv,
               addr=adapted(addr, "self:x, vec1, vec2, beta=1, alpha=1"))
