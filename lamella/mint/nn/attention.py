"""Attention with PyTorch's arguments."""

from __future__ import annotations

from ...core.errors import op
from ...ops.attention import attend
from ...tensors.tensor import Tensor, wrap

__all__ = ["scaled_dot_product_attention"]


@op
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 attn_mask: Tensor | None = None, dropout_p: float = 0.0,
                                 is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(Q Kᵀ scale + mask) V (Vaswani et al., 2017).

    Args:
        query: shape (..., T, d).
        key: shape (..., S, d).
        value: shape (..., S, dv).
        attn_mask: broadcast to (..., T, S); bool: True where a query may see a key; else it is
            added to the products.
        dropout_p: the share of weights that is dropped.
        is_causal: whether a query sees no keys behind its own position; not with `attn_mask`.
        scale: factor of the products; default ``1 / sqrt(d)``.
        enable_gqa: whether several heads of queries share one of keys and values
            (Ainslie et al., 2023): the number of heads, axis -3, is a multiple of theirs.

    Returns:
        Tensor (..., T, dv) of the type of `query`.

    Raises:
        ValueError: if shapes don't fit, or both `attn_mask` and `is_causal` are given.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> print(ms.mint.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)[0])
        [1. 0.]
    """
    if is_causal and attn_mask is not None:
        raise ValueError("For 'scaled_dot_product_attention', 'attn_mask' must be None when "
                         "'is_causal' is True, but both were given.")
    return wrap(attend(query._raw, key._raw, value._raw,
                       None if attn_mask is None else attn_mask._raw, dropout_p, is_causal, scale,
                       enable_gqa))
