"""Attention over padded keys, or over keys that lie on several processes."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..core.errors import op
from ..core.require import one_of
from ..tensors.tensor import Tensor, wrap
from .arguments import as_ints, require
from .flash_attention import _fused, _heads_first, _hidden, _in_layout, _refuse

__all__ = ["fused_infer_attention_score", "ring_attention_update"]

_FAR = 2147483647


@op
def ring_attention_update(prev_attn_out: Tensor, prev_softmax_max: Tensor,
                          prev_softmax_sum: Tensor, cur_attn_out: Tensor, cur_softmax_max: Tensor,
                          cur_softmax_sum: Tensor, actual_seq_qlen: Any = None,
                          layout: str = "SBH") -> tuple[Tensor, Tensor, Tensor]:
    """The attention to two parts of the keys, from that to each (Liu et al., 2023, ring attention).

    Args:
        prev_attn_out, cur_attn_out: the two results, shape (S, B, H), or (T, N, D).
        prev_softmax_max, cur_softmax_max: the maxima of the softmax, float32, shape (B, N, S, 8),
            or (T, N, 8).
        prev_softmax_sum, cur_softmax_sum: the sums of its powers, of the same shape.
        actual_seq_qlen: where each sequence ends, beginning with 0, with ``"TND"``; all rows are
            treated alike.
        layout: ``"SBH"`` or ``"TND"``.

    Returns:
        The attention, the maxima and the sums over both parts.

    Raises:
        ValueError: if `layout` is another one, or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> row, one = ms.ops.ones((1, 1, 2)), ms.ops.ones((1, 1, 1, 8))
        >>> out, _, total = ms.ops.ring_attention_update(row, one, one, 3 * row, one, 3 * one)
        >>> print(out.reshape((-1,)), total.max())
        [2.5 2.5] 4.0
    """
    name = "ring_attention_update"
    one_of(layout, ("SBH", "TND"), "layout", name)
    out, highest, sums = (t._raw for t in (prev_attn_out, prev_softmax_max, prev_softmax_sum))
    own = layout == "TND"
    heads = highest.shape[1] if highest.ndim == (3 if own else 4) else 0
    fits = out.ndim == 3 and heads > 0 and highest.shape == sums.shape and (
        highest.shape[:2] == out.shape[:2] if own else
        (highest.shape[2], highest.shape[0]) == tuple(out.shape[:2]) and out.shape[2] % heads == 0)
    require(fits and cur_attn_out.shape == prev_attn_out.shape
            and prev_softmax_max.shape == cur_softmax_max.shape == cur_softmax_sum.shape,
            ValueError, f"For '{name}', the shapes of the attention {prev_attn_out.shape}, "
            f"{cur_attn_out.shape} and of maxima and sums {prev_softmax_max.shape}, "
            f"{prev_softmax_sum.shape}, {cur_softmax_max.shape}, {cur_softmax_sum.shape} don't fit "
            f"the layout {layout!r}.")
    both = torch.maximum(highest, cur_softmax_max._raw)
    before = sums * (highest - both).exp()
    now = cur_softmax_sum._raw * (cur_softmax_max._raw - both).exp()
    total = before + now

    def share(part: torch.Tensor) -> torch.Tensor:
        """Its weight, in the layout of the attention."""
        weight = (part / total)[..., :1]
        if own:
            return weight
        return weight.permute(2, 0, 1, 3).expand(-1, -1, -1, out.shape[2] // heads).flatten(2)

    merged = out.float() * share(before) + cur_attn_out._raw.float() * share(now)
    return wrap(merged.to(out.dtype)), wrap(both), wrap(total)


def _beyond(ends: Any, batch: int, long: int, name: str, argument: str) -> torch.Tensor | None:
    """Which of `long` positions lie behind the length of a sequence, (batch, long)."""
    if ends is None:
        return None
    many = as_ints(ends, name, argument)
    many = many * batch if len(many) == 1 else many
    require(len(many) == batch and all(0 <= n <= long for n in many), ValueError,
            f"For '{name}', '{argument}' must be {batch} numbers from 0 to {long}, but got {many}.")
    return torch.arange(long) >= torch.tensor(many).unsqueeze(1)


def _log_sum(q: torch.Tensor, k: torch.Tensor, scale: float, bias: Tensor | None,
             hidden: torch.Tensor | None) -> torch.Tensor:
    scores = q.float() @ k.float().repeat_interleave(q.shape[1] // k.shape[1], 1).mT * scale
    if bias is not None:
        scores = scores + bias._raw
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return scores.logsumexp(-1, keepdim=True)


@op
def fused_infer_attention_score(
        query: Tensor, key: Any, value: Any, *, pse_shift: Tensor | None = None,
        atten_mask: Tensor | None = None, actual_seq_lengths: Any = None,
        actual_seq_lengths_kv: Any = None, dequant_scale1: Any = None, quant_scale1: Any = None,
        dequant_scale2: Any = None, quant_scale2: Any = None, quant_offset2: Any = None,
        antiquant_scale: Any = None, antiquant_offset: Any = None, key_antiquant_scale: Any = None,
        key_antiquant_offset: Any = None, value_antiquant_scale: Any = None,
        value_antiquant_offset: Any = None, block_table: Any = None,
        query_padding_size: Any = None, kv_padding_size: Any = None,
        key_shared_prefix: Any = None, value_shared_prefix: Any = None,
        actual_shared_prefix_len: Any = None, num_heads: int = 1, scale: float = 1.0,
        pre_tokens: int = _FAR, next_tokens: int = _FAR, input_layout: str = "BSH",
        num_key_value_heads: int = 0, sparse_mode: int = 0, inner_precise: int = 1,
        block_size: int = 0, antiquant_mode: int = 0, key_antiquant_mode: int = 0,
        value_antiquant_mode: int = 0, softmax_lse_flag: bool = False) -> tuple[Tensor, Tensor]:
    """`flash_attention_score` for inference, of prompts and of single new positions.

    Args:
        query, key, value: in the order of dimensions `input_layout`; keys and values may be lists
            of one Tensor.
        pse_shift: added to the scores.
        atten_mask: 1 or True for pairs that don't count.
        actual_seq_lengths, actual_seq_lengths_kv: how many positions of each sequence count; rows
            behind them are 0.
        num_heads, num_key_value_heads: of the query, and of keys and values if they have fewer.
        scale: the scale.
        input_layout: ``"BSH"``, ``"BNSD"`` or ``"BSND"``.
        pre_tokens, next_tokens, sparse_mode: as `flash_attention_score`.
        softmax_lse_flag: whether to give the logarithms of the sums too.
        inner_precise, block_size, antiquant_mode, key_antiquant_mode, value_antiquant_mode:
            accepted for MindSpore's sake; the others, scales of quantized inputs and what belongs
            to paged caches, must be None.

    Returns:
        The attention, of the shape of `query`, and the logarithms of the sums of the softmax,
        float32, shape (B, num_heads, S, 1); without `softmax_lse_flag` a single 0.

    Raises:
        ValueError: if an argument is out of range or not supported.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 8))
        >>> out, _ = ms.ops.fused_infer_attention_score(x, x, x, num_heads=2,
        ...                                             actual_seq_lengths=[2])
        >>> print(out[0, :, 0])
        [1. 1. 0.]
    """
    name = "fused_infer_attention_score"
    _refuse(name, {
        "dequant_scale1": dequant_scale1, "quant_scale1": quant_scale1,
        "dequant_scale2": dequant_scale2, "quant_scale2": quant_scale2,
        "quant_offset2": quant_offset2, "antiquant_scale": antiquant_scale,
        "antiquant_offset": antiquant_offset, "key_antiquant_scale": key_antiquant_scale,
        "key_antiquant_offset": key_antiquant_offset,
        "value_antiquant_scale": value_antiquant_scale,
        "value_antiquant_offset": value_antiquant_offset, "block_table": block_table,
        "query_padding_size": query_padding_size, "kv_padding_size": kv_padding_size,
        "key_shared_prefix": key_shared_prefix, "value_shared_prefix": value_shared_prefix,
        "actual_shared_prefix_len": actual_shared_prefix_len})
    key, value = (t[0] if isinstance(t, (list, tuple)) else t for t in (key, value))
    kv_heads = num_key_value_heads or num_heads
    q = _heads_first(name, query._raw, input_layout, num_heads)
    k = _heads_first(name, key._raw, input_layout, kv_heads)
    rows = _beyond(actual_seq_lengths, len(q), q.shape[2], name, "actual_seq_lengths")
    keys = _beyond(actual_seq_lengths_kv, len(k), k.shape[2], name, "actual_seq_lengths_kv")
    hidden = None if atten_mask is None or sparse_mode in (2, 3, 4) else atten_mask._raw.bool()
    if hidden is not None and hidden.ndim == 3:
        hidden = hidden.unsqueeze(1)
    rule = _hidden(q.shape[2], k.shape[2], sparse_mode, pre_tokens, next_tokens, q.device)
    for one in (rule, None if keys is None else keys[:, None, None].to(q.device)):
        if one is not None:
            hidden = one if hidden is None else hidden | one
    mask = None if hidden is None else wrap(hidden)
    out = _fused(name, query, key, value, num_heads, num_key_value_heads, input_layout, pse_shift,
                 mask, 1.0, scale, _FAR, _FAR, 1)._raw
    if rows is not None:
        behind = _in_layout(rows[:, None, :, None].to(q.device).expand_as(q), input_layout)
        out = out.masked_fill(behind, 0)
    sums = _log_sum(q, k, scale, pse_shift, hidden) if softmax_lse_flag else \
        q.new_zeros(1, dtype=torch.float32)
    return wrap(out), wrap(sums)
