"""Functions of `mint` that rearrange, join, pick and scatter, along `dim`."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.adapters import adapted
from ..core.dtype import promote_types
from ..core.errors import op
from ..ops.arguments import tensors
from ..tensors.inplace import in_place
from ..tensors.tensor import Tensor, wrap, wrap_view
from .forms import with_forms

__all__ = ["addr_", "baddbmm", "bmm", "cat", "chunk", "concat", "conv_tbc", "diag", "diff",
           "flatten", "gather", "index_add", "index_select", "meshgrid", "mv", "narrow", "permute",
           "repeat_interleave", "scatter", "scatter_add", "select", "split", "squeeze", "stack",
           "transpose"]

baddbmm = adapted(ops.baddbmm, "input, batch1, batch2, *, beta=1, alpha=1")
bmm = adapted(ops.bmm, "input:input_x, mat2")
chunk = adapted(ops.chunk, "input, chunks, dim:axis=0")
diff = adapted(ops.diff, "input:x, n=1, dim:axis=-1, prepend=None, append=None")
flatten = adapted(ops.flatten, "input, start_dim=0, end_dim=-1")
gather = adapted(ops.gather_elements, "input, dim, index", "gather")
index_select = adapted(ops.index_select, "input, dim:axis, index")
mv = adapted(ops.mv, "input:mat, vec")
narrow = adapted(ops.narrow, "input, dim:axis, start, length")
permute = adapted(ops.permute, "input, dims:axis")
scatter = adapted(ops.scatter, "input, dim:axis, index, src")
split = adapted(ops.split, "tensor, split_size_or_sections, dim:axis=0")
squeeze = adapted(ops.squeeze, "input, dim:axis")
stack = adapted(ops.stack, "tensors, dim:axis=0")
transpose = adapted(ops.swapaxes, "input, dim0:axis0, dim1:axis1", "transpose")


@op
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """As `ops.cat`; Tensors of different types are promoted.

    >>> import lamella as ms
    >>> print(ms.mint.cat((ms.Tensor([1, 2]), ms.Tensor([0.5]))))
    [1.  2.  0.5]
    """
    return wrap(torch.cat(_of_one_type(tensors), dim))


def _of_one_type(values: Any) -> list[torch.Tensor]:
    raws = tensors(values, "cat", "tensors")
    kind = raws[0].dtype
    for raw in raws[1:]:
        kind = kind if raw.dtype is kind else promote_types(kind, raw.dtype)
    return [raw.to(kind) for raw in raws]


concat = adapted(cat, "tensors, dim=0", "concat")


@op
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with a vector on a diagonal, or the diagonal of a matrix.

    >>> import lamella as ms
    >>> print(ms.mint.diag(ms.Tensor([1, 2]), 1))
    [[0 1 0]
     [0 0 2]
     [0 0 0]]
    """
    return wrap(torch.diag(input._raw, diagonal))


@op
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """`input` with ``alpha * source`` added at the indices `index` along `dim`.

    A `source` of a type that `input` holds, such as integers for floating-point numbers, is cast.

    >>> import lamella as ms
    >>> x = ms.mint.index_add(ms.Tensor([1, 2, 3]), 0, ms.Tensor([0, 2]), ms.Tensor([5, 5]))
    >>> print(x)
    [6 2 8]
    """
    raw, added = input._raw, source._raw
    if added.dtype is not raw.dtype and promote_types(raw.dtype, added.dtype) is raw.dtype:
        added = added.to(raw.dtype)
    return wrap(torch.index_add(raw, dim, index._raw.long(), added, alpha=alpha))


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """As `ops.meshgrid`; `indexing` is ``"ij"`` unless it says ``"xy"``.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.mint.meshgrid(ms.Tensor([1, 2]), ms.Tensor([3, 4, 5]))
        >>> x.shape, y.shape
        ((2, 3), (2, 3))
    """
    return ops.meshgrid(*tensors, indexing=indexing or "ij")


@with_forms
def repeat_interleave(input: Tensor, repeats: Any, dim: Any = None, *,
                      output_size: int | None = None) -> Tensor:
    """As `ops.repeat_interleave`; `output_size` is a hint that isn't needed."""
    return ops.repeat_interleave(input, repeats, dim)


@op
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """As `ops.tensor_scatter_elements` with ``reduction="add"``.

    >>> import lamella as ms
    >>> print(ms.mint.scatter_add(ms.Tensor([1, 2]), 0, ms.Tensor([0, 0]), ms.Tensor([5, 6])))
    [12  2]
    """
    return input.scatter_add(dim, index, src)


@op
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The part of a tensor at one position along `dim`, a view without it.

    >>> import lamella as ms
    >>> print(ms.mint.select(ms.Tensor([[1, 2], [3, 4]]), 1, 0))
    [1 3]
    """
    return wrap_view(torch.select(input._raw, dim, index))


@op
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``, in place.

    >>> import lamella as ms
    >>> x = ms.Tensor([[1.0, 1.0], [1.0, 1.0]])
    >>> print(ms.mint.addr_(x, ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 0.0])))
    [[2. 1.]
     [3. 1.]]
    """
    return in_place(input, lambda raw: raw.addr_(vec1._raw, vec2._raw, beta=beta, alpha=alpha))


@op
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over sequences laid out as (time, batch, channels).

    >>> import lamella as ms
    >>> from lamella import mint
    >>> mint.conv_tbc(mint.ones((5, 2, 3)), mint.ones((2, 3, 4)), mint.zeros(4), pad=1).shape
    (6, 2, 4)
    """
    return wrap(torch.conv_tbc(input._raw, weight._raw, bias._raw, pad))
