"""Attention: scaled dot products, multiple heads, rotary position codes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..core.errors import op
from ..core.spreading import is_part, spreading
from ..core.state import numbers, state
from ..machine.halves import in_float32
from ..tensors.tensor import Tensor, wrap
from .arguments import FLOATS, raw_of, require, typed

__all__ = ["multi_scale_deformable_attn_function", "rotary_position_embedding"]

_fused = in_float32(F.scaled_dot_product_attention, forward=True)


def scaled_dot_product(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                       bias: torch.Tensor | None, dropout_p: float, is_causal: bool,
                       scale: float | None) -> torch.Tensor:
    """softmax(Q Kᵀ scale + bias) V for (B, heads, T, d), where heads may share keys and values."""
    if key.shape[-2] != value.shape[-2] or query.shape[-1] != key.shape[-1]:
        raise ValueError(f"For 'scaled_dot_product', keys and values must be as many, and keys as "
                         f"wide as queries, but got the shapes {tuple(query.shape)}, "
                         f"{tuple(key.shape)} and {tuple(value.shape)}.")
    return attend(query, key, value, bias, dropout_p, is_causal, scale,
                  query.shape[1] != key.shape[1])


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, bias: torch.Tensor | None,
           dropout_p: float, is_causal: bool, scale: float | None, grouped: bool) -> torch.Tensor:
    """PyTorch's fused attention, also where processes hold parts, and of any derivative."""
    def kernel(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, b: torch.Tensor | None
               ) -> torch.Tensor:
        return _fused(q, k, v, b, dropout_p, is_causal, scale=scale, enable_gqa=grouped)

    with differentiable_attention():
        if dropout_p == 0 and any(type(raw) is not torch.Tensor and is_part(raw)
                                  for raw in (query, key, value)):
            return spreading().attend(kernel, query, key, value, bias)
        return kernel(query, key, value, bias)


def differentiable_attention() -> Any:
    """Where more than a gradient is computed, the kernel that has every derivative."""
    level = state.level
    if level is None or level.outer is None and not level.forward:
        return nullcontext()
    return sdpa_kernel(SDPBackend.MATH)


def _check_attention(query: Tensor, key: Tensor, value: Tensor, heads: int,
                     given: dict[str, Any]) -> None:
    """Refuse shapes that PyTorch's function refuses by `assert`."""
    width, own = given["embed_dim_to_check"], given["use_separate_proj_weight"]
    widths = [width, given["k_proj_weight"].shape[1] if own else width,
              given["v_proj_weight"].shape[1] if own else width]
    for name, tensor, wanted in zip(("query", "key", "value"), (query, key, value), widths,
                                    strict=True):
        raw = raw_of(tensor, "multi_head_attention_forward", name)
        if raw.dim() not in (2, 3) or raw.dim() != query.ndim or raw.shape[-1] != wanted:
            raise ValueError(
                f"For 'multi_head_attention_forward', '{name}' must have shape (L, {wanted}) or "
                f"(L, N, {wanted}), and the rank of 'query', but got {tuple(raw.shape)}.")
    if key.shape[:-1] != value.shape[:-1] or key.shape[1:-1] != query.shape[1:-1]:
        raise ValueError(f"For 'multi_head_attention_forward', 'key' and 'value' must have one "
                         f"length, and 'query' their batch, but got the shapes {query.shape}, "
                         f"{key.shape} and {value.shape}.")
    if heads < 1 or width % heads:
        raise ValueError(f"For 'multi_head_attention_forward', 'num_heads' must divide the width "
                         f"{width}, but got {heads}.")
    batch = () if query.ndim == 2 else (query.shape[1],)
    shapes = {"key_padding_mask": [(*batch, key.shape[0])],
              "attn_mask": [(query.shape[0], key.shape[0]),
                            (heads * (batch or (1,))[0], query.shape[0], key.shape[0])]}
    for name, fitting in shapes.items():
        mask = given.get(name)
        if mask is not None and given.get("static_k") is None and tuple(mask.shape) not in fitting:
            raise ValueError(f"For 'multi_head_attention_forward', '{name}' must have shape "
                             f"{' or '.join(map(str, fitting))}, but got {tuple(mask.shape)}.")


def multi_head_attention(query: Tensor, key: Tensor, value: Tensor, num_heads: int,
                         need_weights: bool, **options: Any) -> tuple[Tensor, Tensor | None]:
    """`multi_head_attention_forward` that can leave out the weights, and is then faster."""
    given: dict[str, Any] = {k: v._raw if isinstance(v, Tensor) else v for k, v in options.items()}
    _check_attention(query, key, value, num_heads, given)
    with differentiable_attention():
        out, weights = F.multi_head_attention_forward(
            query._raw, key._raw, value._raw, num_heads=num_heads, need_weights=need_weights,
            **given)
    return wrap(out), None if weights is None else wrap(weights)


@op
def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Tensor | None, in_proj_bias: Tensor | None, bias_k: Tensor | None,
        bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
        out_proj_bias: Tensor | None, training: bool = True,
        key_padding_mask: Tensor | None = None, attn_mask: Tensor | None = None,
        use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None,
        k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
        static_k: Tensor | None = None, static_v: Tensor | None = None,
        average_attn_weights: bool = True, is_causal: bool = False, k_is_v: bool = False,
        q_is_k: bool = False, dtype: Any = None) -> tuple[Tensor, Tensor]:
    """Multi-head attention (Vaswani et al., 2017, Attention Is All You Need).

    Args:
        query, key, value: shape (T, N, E) and (S, N, E), or without N.
        embed_dim_to_check: E.
        num_heads: a divisor of E.
        in_proj_weight, in_proj_bias: of the three projections, shape (3 E, E) and (3 E,).
        bias_k, bias_v: one more key and value, shape (1, 1, E), or None.
        add_zero_attn: add a key and value of zeros.
        dropout_p: of the weights, in training.
        out_proj_weight, out_proj_bias: of the last projection, shape (E, E) and (E,).
        key_padding_mask: keys that don't count, shape (N, S): True, or floats to add.
        attn_mask: pairs that don't count, shape (T, S) or (N heads, T, S), likewise.
        use_separate_proj_weight: use the three weights that follow instead of the one.
        static_k, static_v: keys and values to use instead.
        average_attn_weights: the mean of the heads' weights instead of all.
        is_causal: no position sees a later one.
        k_is_v, q_is_k, dtype: accepted for MindSpore's sake.

    Returns:
        The output of the shape of `query`, and the weights (N, T, S) or (N, heads, T, S).

    Raises:
        ValueError: if shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.attention import multi_head_attention_forward
        >>> x, w = ms.ops.ones((3, 2, 4)), ms.ops.ones((12, 4))
        >>> out, weights = multi_head_attention_forward(
        ...     x, x, x, 4, 2, w, None, None, None, False, 0.0, ms.ops.ones((4, 4)), None)
        >>> out.shape, weights.shape
        ((3, 2, 4), (2, 3, 3))
    """
    if embed_dim_to_check != query.shape[-1]:
        raise ValueError(f"For 'multi_head_attention_forward', the last dimension of 'query' must "
                         f"be {embed_dim_to_check}, but got shape {query.shape}.")
    if embed_dim_to_check % num_heads:
        raise ValueError(f"For 'multi_head_attention_forward', 'num_heads' must divide "
                         f"{embed_dim_to_check}, but got {num_heads}.")
    if attn_mask is not None and attn_mask._raw.dtype is torch.uint8:
        attn_mask = wrap(attn_mask._raw.bool())
    if is_causal and attn_mask is None:
        hidden = torch.ones((query.shape[0], key.shape[0]), dtype=torch.bool,
                            device=query._raw.device)
        attn_mask = wrap(hidden.triu(1))
    out, weights = multi_head_attention(
        query, key, value, num_heads, True, embed_dim_to_check=embed_dim_to_check,
        in_proj_weight=in_proj_weight, in_proj_bias=in_proj_bias, bias_k=bias_k, bias_v=bias_v,
        add_zero_attn=add_zero_attn, dropout_p=dropout_p, out_proj_weight=out_proj_weight,
        out_proj_bias=out_proj_bias, training=training, key_padding_mask=key_padding_mask,
        attn_mask=attn_mask, use_separate_proj_weight=use_separate_proj_weight,
        q_proj_weight=q_proj_weight, k_proj_weight=k_proj_weight, v_proj_weight=v_proj_weight,
        static_k=static_k, static_v=static_v, average_attn_weights=average_attn_weights)
    return out, weights  # type: ignore[return-value]  (asked for, so never None)


@op
def rotary_position_embedding(x: Tensor, cos: Tensor, sin: Tensor, mode: int = 0) -> Tensor:
    """x cos + rotated(x) sin (Su et al., 2021, RoFormer).

    Args:
        x: shape (..., D).
        cos, sin: of shapes that broadcast to that of `x`.
        mode: 0 turns the pairs (x[i], x[i + D / 2]), 1 the pairs (x[2 i], x[2 i + 1]).

    Returns:
        Tensor of the shape and type of `x`.

    Raises:
        ValueError: if `mode` is neither 0 nor 1.

    Examples:
        >>> import lamella as ms
        >>> x, zero, one = ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 0.0]), ms.Tensor([1.0, 1.0])
        >>> print(ms.ops.rotary_position_embedding(x, zero, one))
        [-2.  1.]
    """
    raw = x._raw
    if mode == 0:
        a, b = raw.chunk(2, -1)
        turned = torch.cat((-b, a), -1)
    elif mode == 1:
        turned = torch.stack((-raw[..., 1::2], raw[..., ::2]), -1).flatten(-2)
    else:
        raise ValueError(f"For 'rotary_position_embedding', 'mode' must be 0 or 1, "
                         f"but got {mode}.")
    return wrap(raw * cos._raw + turned * sin._raw)


@op
def multi_scale_deformable_attn_function(value: Tensor, shape: Tensor, offset: Tensor,
                                         locations: Tensor, weight: Tensor) -> Tensor:
    """Weighted sums of pictures' features at points, over several scales (Zhu et al., 2021).

    Args:
        value: the pictures one behind the other, shape (N, pixels, heads, D).
        shape: (height, width) of each picture, integers, shape (levels, 2).
        offset: where each picture begins among the pixels, shape (levels,).
        locations: (x, y) from 0 to 1 over the pictures' edges, shape (N, queries, heads, levels,
            points, 2); features between pixels are interpolated, those outside are 0.
        weight: shape (N, queries, heads, levels, points).

    Returns:
        Tensor of shape (N, queries, heads * D).

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> value = ms.Tensor([1.0, 3.0, 5.0, 7.0]).reshape((1, 4, 1, 1))
        >>> point, one = ms.ops.ones((1, 1, 1, 1, 1, 2)) / 2, ms.ops.ones((1, 1, 1, 1, 1))
        >>> print(ms.ops.multi_scale_deformable_attn_function(
        ...     value, ms.Tensor([[2, 2]]), ms.Tensor([0]), point, one))
        [[[4.]]]
    """
    name, whole = "multi_scale_deformable_attn_function", (torch.int32, torch.int64)
    sizes = numbers(typed(shape, name, "shape", whole, 2))
    begins = numbers(typed(offset, name, "offset", whole, 1))
    pixels, at = typed(value, name, "value", FLOATS, 4), typed(locations, name, "locations",
                                                               FLOATS, 6)
    n, count, heads, width = pixels.shape
    queries, points = at.shape[1], at.shape[4]
    expected = (n, queries, heads, len(begins), points)
    require(tuple(weight.shape) == expected and tuple(at.shape) == (*expected, 2), ValueError,
            f"For '{name}', 'weight' must have the shape {expected} and 'locations' have 2 more "
            f"numbers each, but got {weight.shape} and {locations.shape}.")
    require(len(sizes) == len(begins) and all(
        len(s) == 2 and min(s) > 0 and 0 <= b and b + s[0] * s[1] <= count
        for s, b in zip(sizes, begins, strict=True)), ValueError,
        f"For '{name}', each picture of 'shape' must lie in the {count} pixels of 'value' from "
        f"its 'offset' on, but got {sizes} and {begins}.")
    # (N heads, D, pixels) and (N heads, queries, levels, points, 2)
    planes = pixels.permute(0, 2, 3, 1).reshape(n * heads, width, count)
    grid = 2 * at.transpose(1, 2).flatten(0, 1) - 1
    sampled = torch.stack([
        F.grid_sample(planes[..., begin:begin + tall * wide].unflatten(2, (tall, wide)),
                      grid[:, :, level], align_corners=False)
        for level, ((tall, wide), begin) in enumerate(zip(sizes, begins, strict=True))], -2)
    out = (sampled * weight._raw.transpose(1, 2).flatten(0, 1).unsqueeze(1)).sum((-2, -1))
    return wrap(out.reshape(n, heads * width, queries).transpose(1, 2))
