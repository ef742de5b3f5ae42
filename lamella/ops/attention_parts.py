"""Parts of multi-head attention that programs import from ``mindspore.ops.function.nn_func``."""

from __future__ import annotations

from ..tensors.tensor import Tensor
from .convolution import dense as linear
from .dropout import dropout
from .padding import pad as _inner_pad  # noqa: F401  (of masks, too)

__all__: list[str] = []


def _check_qkv_shape(query_ndim: int, key_ndim: int, value_ndim: int) -> bool:
    """Whether query, key and value are batched, which is 3 dimensions instead of 2."""
    if query_ndim not in (2, 3):
        raise ValueError(f"The 'query' must have 2 or 3 dimensions, but got {query_ndim}.")
    if key_ndim != query_ndim or value_ndim != query_ndim:
        raise ValueError(f"The 'key' and 'value' must have as many dimensions as 'query', which "
                         f"has {query_ndim}, but got {key_ndim} and {value_ndim}.")
    return query_ndim == 3


def _check_kpm_shape(query_ndim: int, kmp_ndim: int) -> None:
    """Check that a mask of keys has a dimension less than the query."""
    if query_ndim in (2, 3) and kmp_ndim != query_ndim - 1:
        raise ValueError(f"The 'key_padding_mask' must have {query_ndim - 1} dimensions for a "
                         f"'query' of {query_ndim}, but got {kmp_ndim}.")


def _check_attn_mask_shape(query_ndim: int, query_shape: tuple[int, ...],
                           key_shape: tuple[int, ...], attn_mask_ndim: int,
                           attn_mask_shape: tuple[int, ...], num_heads: int) -> None:
    """Check that a mask of pairs has the shape (T, S), or one such for each head."""
    if attn_mask_ndim not in (2, 3):
        raise ValueError(f"The 'attn_mask' must have 2 or 3 dimensions, but got {attn_mask_ndim}.")
    expected = (num_heads, query_shape[0], key_shape[0])
    if query_ndim == 2 and attn_mask_ndim == 3 and attn_mask_shape != expected:
        raise ValueError(f"The 'attn_mask' must have the shape {expected}, "
                         f"but got {attn_mask_shape}.")


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
                   b_q: Tensor | None = None, b_k: Tensor | None = None,
                   b_v: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value, each times its own weight, to the query's width."""
    width = q.shape[-1]
    for name, x, w, b in (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v)):
        if w.shape != (width, x.shape[-1]):
            raise ValueError(f"The weight of '{name}' must have the shape "
                             f"{(width, x.shape[-1])}, but got {w.shape}.")
        if b is not None and b.shape != (width,):
            raise ValueError(f"The bias of '{name}' must have the shape {(width,)}, "
                             f"but got {b.shape}.")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None,
                          k_is_v: bool, q_is_k: bool) -> tuple[Tensor, ...]:
    """`_in_projection` with the three weights below each other in one."""
    if k_is_v and q_is_k:
        return linear(q, w, b).tensor_split(3, axis=-1)
    w_q, w_k, w_v = w.tensor_split(3)
    b_q, b_k, b_v = (None,) * 3 if b is None else b.tensor_split(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _inner_dropout(x: Tensor, p: float, training: bool) -> Tensor:
    """Dropout in training; nothing else at any other time."""
    return dropout(x, p, training)
