"""Products of arrays, norms, convolution and correlation."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.dtype import is_inexact
from ..core.errors import op
from ..core.require import one_of
from ..machine import products
from ..ops.arguments import axis_in
from ..tensors.tensor import Tensor, wrap
from .shape import axes_in
from .types import (
    as_tensor,
    as_tensors,
    bool_,
    cast,
    float16,
    float32,
    float64,
    floating,
    inf,
    int32,
    int64,
    promoted,
    together,
    typed,
)

__all__ = ["convolve", "correlate", "cross", "dot", "inner", "kron", "matmul", "matrix_power",
           "multi_dot", "norm", "outer", "tensordot"]


def matmul(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
    """As `ops.matmul`."""
    return typed(ops.matmul(*together(*as_tensors("matmul", x1=x1, x2=x2))), dtype)


@op
def dot(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axis of `a` and the last but one of `b` (or its only one).

    Raises:
        ValueError: if these lengths differ.

    Examples:
        >>> import lamella.numpy as np
        >>> np.dot(np.ones((2, 3, 4)), np.ones((5, 4, 6))).shape
        (2, 3, 5, 6)
    """
    x, y = together(*as_tensors("dot", a=a, b=b))
    if x.ndim == 0 or y.ndim == 0:
        return ops.mul(x, y)
    return wrap(_contracted("dot", x, y, (x.ndim - 1,), (max(y.ndim - 2, 0),)))


def _contracted(where: str, x: Tensor, y: Tensor, of_x: Any, of_y: Any) -> torch.Tensor:
    lengths = [tuple(t.shape[d] for d in dims) for t, dims in ((x, of_x), (y, of_y))]
    if lengths[0] != lengths[1]:
        raise ValueError(f"For '{where}', the axes that are summed over must have one length, but "
                         f"got {lengths[0]} of shape {x.shape} and {lengths[1]} of {y.shape}.")
    axes: Any = of_x, of_y
    if x.dtype is bool_:
        return torch.tensordot(x._raw.int(), y._raw.int(), axes) > 0
    return products.tensordot(x._raw, y._raw, axes)


@op
def inner(a: Any, b: Any) -> Tensor:
    """Sums of products over the last axes of both.

    Raises:
        ValueError: if these lengths differ.
    """
    x, y = together(*as_tensors("inner", a=a, b=b))
    if x.ndim == 0 or y.ndim == 0:
        return ops.mul(x, y)
    return wrap(_contracted("inner", x, y, (x.ndim - 1,), (y.ndim - 1,)))


def outer(a: Any, b: Any) -> Tensor:
    """As `ops.outer`, of the flattened arrays."""
    x, y = together(*as_tensors("outer", a=a, b=b))
    return ops.outer(ops.ravel(x), ops.ravel(y))


@op
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """As `ops.tensor_dot`; without dimensions and with ``axes=0`` the product.

    Examples:
        >>> import lamella as ms
        >>> a = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> print(ms.numpy.tensordot(a, a, 1))
        [[ 7. 10.]
         [15. 22.]]
    """
    x, y = together(*as_tensors("tensordot", a=a, b=b))
    if x.ndim * y.ndim == 0 and axes == 0:
        return ops.mul(x, y)
    return ops.tensor_dot(x, y, axes)


def kron(a: Any, b: Any) -> Tensor:
    """As `ops.kron`."""
    x, y = together(*as_tensors("kron", a=a, b=b))
    if x.dtype is bool_:
        return cast(ops.kron(cast(x, int32), cast(y, int32)), bool_)
    return ops.kron(x, y)


@op
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1,
          axis: int | None = None) -> Tensor:
    """The cross product of vectors of 2 or 3 numbers, where a missing third one is 0.

    Args:
        a: vectors along `axisa`.
        b: vectors along `axisb`, which broadcast with those of `a`.
        axisa: the axis of the vectors in `a`.
        axisb: the axis of the vectors in `b`.
        axisc: the axis of the vectors in the result, which has none if both have 2 numbers.
        axis: instead of the three.

    Raises:
        ValueError: if the vectors have another length, or there is no such axis.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.cross([1, 2, 3], [4, 5, 6]), np.cross([1, 2], [4, 5]))
        [-3  6 -3] -3
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = together(*as_tensors("cross", a=a, b=b))
    kind = x._raw.dtype
    u = x._raw.movedim(axis_in(axisa, x.ndim, "cross", "axisa"), -1)
    v = y._raw.movedim(axis_in(axisb, y.ndim, "cross", "axisb"), -1)
    lengths = u.shape[-1], v.shape[-1]
    if any(n not in (2, 3) for n in lengths):
        raise ValueError(f"For 'cross', the vectors must have 2 or 3 numbers, but got {lengths}.")
    if kind is torch.bool:
        u, v = u.int(), v.int()
    if lengths == (2, 2):
        return wrap((u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]).to(kind))
    u, v = (torch.nn.functional.pad(w, (0, 3 - w.shape[-1])) for w in (u, v))
    out = torch.cross(*torch.broadcast_tensors(u, v), dim=-1)
    return wrap(out.movedim(-1, axis_in(axisc, out.dim(), "cross", "axisc")).to(kind))


@op
def multi_dot(arrays: Any) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications.

    Args:
        arrays: two or more matrices; the first and the last may be vectors.

    Raises:
        ValueError: if there are fewer than two, one has another rank, or lengths don't fit.

    Examples:
        >>> import lamella.numpy as np
        >>> np.multi_dot([np.ones((2, 3)), np.ones((3, 1)), np.ones((1, 4))]).shape
        (2, 4)
    """
    parts = ops.unbind(arrays) if isinstance(arrays, Tensor) else \
        [as_tensor(a, "multi_dot", "arrays") for a in arrays]
    if len(parts) < 2:
        raise ValueError(f"For 'multi_dot', there must be two arrays or more, "
                         f"but got {len(parts)}.")
    parts = together(*parts)
    raws = [p._raw for p in parts]
    if len(raws) == 2:
        return dot(*parts)
    if is_inexact(raws[0].dtype):
        return wrap(torch.linalg.multi_dot(raws))
    out = raws[0]
    for raw in raws[1:]:  # PyTorch's takes floating types
        out = out @ raw
    return wrap(out)


def matrix_power(a: Any, n: int) -> Tensor:
    """As `ops.matrix_power`, of integers too; `n` is 0 or more.

    Raises:
        TypeError: if `n` is no int.
        ValueError: if `n` is below 0, or `a` isn't of square matrices.
    """
    a = as_tensor(a, "matrix_power", "a")
    if not isinstance(n, int):
        raise TypeError(f"For 'matrix_power', 'n' must be an int, but got {n!r}.")
    if n < 0 or a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"For 'matrix_power', 'a' must be square matrices and 'n' 0 or more, but "
                         f"got shape {a.shape} and {n}.")
    return ops.matrix_power(a, n)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """As `ops.norm`, without the orders ``"nuc"``, 2 and -2 of matrices, which MindSpore lacks.

    Args:
        x: any shape; integers count as float32.
        ord: of vectors a number, inf or -inf; of matrices None, ``"fro"``, 1, -1, inf, -inf.
        axis: the axis of the vectors, or two of the matrices; without it `x` is a vector or a
            matrix, or any array for ``ord=None``, which is flattened.
        keepdims: whether reduced axes stay, with length 1.

    Raises:
        ValueError: if there is no such order or axis.
        NotImplementedError: for the orders of matrices that are not there.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.norm(np.array([[3.0, 4.0]])), np.norm(np.array([[3.0, -4.0]]), axis=0))
        5.0 [3. 4.]
    """
    if not isinstance(ord, (int, float)) and ord not in (None, "fro", "nuc"):
        raise ValueError(f"For 'norm', 'ord' must be a number, None, 'fro' or 'nuc', "
                         f"but got {ord!r}.")
    x = as_tensor(x, "norm")
    half = x.dtype is float16
    x = x if x.dtype is float64 or x._raw.is_complex() else cast(x, float32)
    rank = x.ndim
    if axis is None:
        x = ops.ravel(x) if ord is None else x
        if x.ndim not in (1, 2):
            raise ValueError(f"For 'norm', without 'axis' 'x' must be a vector or a matrix, "
                             f"but got shape {x.shape}.")
    axes = axes_in(axis, x.ndim, "norm")
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"For 'norm', the order {ord!r} is one of matrices, but got one axis.")
        out = ops.vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    elif len(axes) == 2:
        if ord in ("nuc", 2, -2):
            raise NotImplementedError(f"For 'norm', the order {ord!r} of matrices is not there; "
                                      f"ops.matrix_norm has it.")
        if ord not in (None, "fro", 1, -1, inf, -inf):
            raise ValueError(f"For 'norm', the order of matrices must be None, 'fro', 1, -1, inf "
                             f"or -inf, but got {ord!r}.")
        out = ops.matrix_norm(x, ord or "fro", axes, keepdims)
    else:
        raise ValueError(f"For 'norm', 'axis' must be one axis or two, but got {axis!r}.")
    if half and (len(axes) == 2 or ord in (inf, -inf)):  # what has no power of a number
        out = cast(out, float16)
    return ops.reshape(out, (1,) * (rank - out.ndim) + out.shape) if keepdims else out


_MODES = ("full", "same", "valid")


def _sliding(where: str, a: torch.Tensor, v: torch.Tensor, mode: str) -> torch.Tensor:
    """Sums of products of `v` with each part of `a`, which is the longer one."""
    one_of(mode, _MODES, "mode", where)
    count = v.numel()
    before, after = {"full": (count - 1, count - 1), "valid": (0, 0),
                     "same": (count // 2, count - count // 2 - 1)}[mode]
    padded = torch.nn.functional.pad(a, (before, after))
    return products.any_matmul(padded.unfold(0, count, 1), v)


def _vectors(where: str, a: Any, v: Any) -> tuple[Tensor, Tensor]:
    x, y = as_tensors(where, a=a, v=v)
    if x.size == 0 or y.size == 0 or x.ndim > 1 or y.ndim > 1:
        raise ValueError(f"For '{where}', 'a' and 'v' must be vectors of one element or more, "
                         f"but got shapes {x.shape} and {y.shape}.")
    return ops.reshape(x, (-1,)), ops.reshape(y, (-1,))


@op
def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """The discrete convolution of two vectors.

    Args:
        a: a vector.
        v: a vector.
        mode: ``"full"``: wherever they overlap, ``"same"``: as many as the longer one has,
            ``"valid"``: where they overlap wholly.

    Raises:
        ValueError: if one isn't a vector, one is empty, or `mode` is another.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.convolve([1, 2, 3], [0, 1]))
        [0 1 2 3]
    """
    x, y = _vectors("convolve", a, v)
    kind = promoted(x.dtype, y.dtype)
    raws = [t._raw.to(kind.raw) for t in (x, y)]
    long, short = raws if raws[0].numel() >= raws[1].numel() else raws[::-1]
    if kind is bool_:
        return cast(wrap(_sliding("convolve", long.int(), short.int().flip(0), mode)), kind)
    return wrap(_sliding("convolve", long, short.flip(0), mode))


@op
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """The cross-correlation of two vectors: sums of products of `a` with `v` moved along it.

    Integers give float32, int64 gives float64.

    Args:
        a: a vector.
        v: a vector.
        mode: as in `convolve`.

    Raises:
        ValueError: if one isn't a vector, one is empty, or `mode` is another.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.correlate([1.0, 2.0, 3.0], [0.0, 1.0, 0.5], mode="same"))
        [2.  3.5 3. ]
    """
    x, y = _vectors("correlate", a, v)
    kind = promoted(x.dtype, y.dtype)
    wide = float64 if kind is int64 else floating(cast(x, kind)).dtype
    p, q = cast(x, wide)._raw, cast(y, wide)._raw
    if p.numel() >= q.numel():
        return wrap(_sliding("correlate", p, q.conj(), mode))
    return wrap(_sliding("correlate", q.conj(), p, mode).flip(0))
