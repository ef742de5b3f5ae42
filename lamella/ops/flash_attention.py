"""Fused attention by the interfaces of accelerators' kernels, in any layout of the heads."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .attention import scaled_dot_product

__all__ = ["flash_attention_score", "incre_flash_attention", "prompt_flash_attention",
           "speed_fusion_attention"]

_FAR = 2147483647


def _heads_first(name: str, raw: torch.Tensor, layout: str, heads: int) -> torch.Tensor:
    """(B, heads, T, d) from a layout's order of dimensions."""
    if layout == "BNSD":
        return raw
    if layout == "BSND":
        return raw.transpose(1, 2)
    if layout == "BSH":
        return raw.unflatten(2, (heads, -1)).transpose(1, 2)
    if layout == "SBH":
        return raw.unflatten(2, (heads, -1)).permute(1, 2, 0, 3)
    raise ValueError(f"For '{name}', 'input_layout' must be 'BSH', 'SBH', 'BNSD', 'BSND', "
                     f"'TND' or 'TH', but got {layout!r}.")


def _in_layout(raw: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "BNSD":
        return raw
    if layout == "BSND":
        return raw.transpose(1, 2)
    flat = raw.transpose(1, 2).flatten(2)
    return flat if layout == "BSH" else flat.transpose(0, 1)


def _hidden(q_len: int, k_len: int, mode: int, pre_tokens: int, next_tokens: int,
            device: torch.device) -> torch.Tensor | None:
    """Which pairs a sparse mode hides: 2, 3 causal from the left or right end, 0, 4 a band."""
    longer = max(q_len, k_len)
    if mode == 1 or mode in (0, 4) and pre_tokens >= longer and next_tokens >= longer:
        return None
    shift = k_len - q_len if mode in (3, 4) else 0
    ahead = torch.arange(k_len, device=device) - torch.arange(q_len, device=device).unsqueeze(1)
    ahead = ahead - shift
    if mode in (2, 3):
        return ahead > 0
    return (ahead > next_tokens) | (ahead < -pre_tokens)


def _fused(name: str, query: Tensor, key: Tensor, value: Tensor, heads: int, kv_heads: int,
           layout: str, bias: Tensor | None, mask: Tensor | None, keep_prob: float, scale: float,
           pre_tokens: int, next_tokens: int, sparse_mode: int) -> Tensor:
    q = _heads_first(name, query._raw, layout, heads)
    if layout in ("BSH", "SBH") and not kv_heads:
        kv_heads = key.shape[2] // q.shape[3]
    k, v = (_heads_first(name, t._raw, layout, kv_heads) for t in (key, value))
    if not 0 < keep_prob <= 1:
        raise ValueError(f"For '{name}', 'keep_prob' must be in (0, 1], but got {keep_prob}.")
    if sparse_mode not in (0, 1, 2, 3, 4):
        raise ValueError(f"For '{name}', 'sparse_mode' must be 0 to 4, but got {sparse_mode}.")
    causal = sparse_mode == 2 or sparse_mode == 3 and q.shape[2] == k.shape[2]
    if causal and bias is None:  # the kernel's own rule, which skips what is hidden
        out = scaled_dot_product(q, k, v, None, 1 - keep_prob, True, scale)
        return wrap(_in_layout(out, layout))
    hidden = None if mask is None or sparse_mode in (2, 3, 4) else mask._raw.bool()
    rule = _hidden(q.shape[2], k.shape[2], sparse_mode, pre_tokens, next_tokens, q.device)
    if rule is not None:
        hidden = rule if hidden is None else hidden | rule
    extra = None if bias is None else bias._raw
    if hidden is not None:
        added = torch.zeros((), dtype=q.dtype, device=q.device) if extra is None else extra
        extra = torch.where(hidden, -math.inf, added)
    out = scaled_dot_product(q, k, v, extra, 1 - keep_prob, False, scale)
    return wrap(_in_layout(out, layout))


_PACKED = ("TND", "TH")


def _lengths(name: str, argument: str, given: Any, layout: str, total: int) -> list[int]:
    """The lengths of sequences that lie one after the other in `total` rows.

    For ``"TND"`` the ends of the sequences are given, for ``"TH"`` their lengths.
    """
    if given is None:
        return [total]
    numbers = [int(n) for n in (given._raw.reshape(-1).tolist() if isinstance(given, Tensor)
                                else given)]
    if layout == "TND":
        numbers = [end - begin for begin, end in zip([0, *numbers], numbers, strict=False)]
    if min(numbers, default=-1) < 0 or sum(numbers) != total:
        what = "end at" if layout == "TND" else "add up to"
        raise ValueError(f"For '{name}', the sequences of '{argument}' must {what} the {total} "
                         f"rows, but got {given}.")
    return numbers


def _part(given: Tensor | None, q_len: int, k_len: int) -> Tensor | None:
    """A mask for one of several sequences: that of the first positions."""
    return None if given is None else wrap(given._raw[..., :q_len, :k_len])


def _packed(name: str, query: Tensor, key: Tensor, value: Tensor, heads: int, layout: str,
            bias: Tensor | None, mask: Tensor | None, q_lengths: Any, k_lengths: Any,
            keep_prob: float, scale: float, pre_tokens: int, next_tokens: int, sparse_mode: int
            ) -> Tensor:
    """Attention of several sequences in a row, each within itself."""
    many = _lengths(name, "actual_seq_qlen", q_lengths, layout, query.shape[0])
    keys = _lengths(name, "actual_seq_kvlen", k_lengths, layout, key.shape[0])
    if len(many) != len(keys):
        raise ValueError(f"For '{name}', 'actual_seq_qlen' and 'actual_seq_kvlen' must be of as "
                         f"many sequences, but got {len(many)} and {len(keys)}.")
    inner = "BSH" if layout == "TH" else "BSND"
    # a triangle smaller than the sequences stands for one of their size
    if mask is not None and (mask.shape[-2] < max(many) or mask.shape[-1] < max(keys)):
        mask, sparse_mode = None, 3
    parts = []
    for q, k, v in zip(query._raw.split(many), key._raw.split(keys), value._raw.split(keys),
                       strict=True):
        one, its_keys, its_values = (wrap(t.unsqueeze(0)) for t in (q, k, v))
        found = _fused(name, one, its_keys, its_values, heads, 0, inner,
                       _part(bias, len(q), len(k)), _part(mask, len(q), len(k)), keep_prob, scale,
                       pre_tokens, next_tokens, sparse_mode)
        parts.append(found._raw.squeeze(0))
    return wrap(torch.cat(parts))


@op
def flash_attention_score(query: Tensor, key: Tensor, value: Tensor, head_num: int,
                          real_shift: Tensor | None = None, drop_mask: Tensor | None = None,
                          padding_mask: Tensor | None = None, attn_mask: Tensor | None = None,
                          prefix: Any = None, actual_seq_qlen: Any = None,
                          actual_seq_kvlen: Any = None, keep_prob: float = 1.0,
                          scalar_value: float = 1.0, pre_tokens: int = _FAR,
                          next_tokens: int = _FAR, inner_precise: int = 0,
                          input_layout: str = "BSH", sparse_mode: int = 0) -> Tensor:
    """softmax(Q Kᵀ scale + shift) V by one fused kernel (Dao et al., 2022, FlashAttention).

    Args:
        query, key, value: in the order of dimensions `input_layout`; keys and values may have fewer
            heads, which then serve several.
        head_num: of the query.
        real_shift: added to the scores.
        attn_mask: 1 or True for pairs that don't count.
        keep_prob: 1 minus the dropout of the weights.
        scalar_value: the scale.
        pre_tokens, next_tokens: how far back and ahead a position sees, in modes 0 and 4.
        input_layout: ``"BSH"``, ``"SBH"``, ``"BNSD"`` or ``"BSND"``; ``"TND"`` or ``"TH"`` for
            sequences of several lengths that lie one after the other.
        sparse_mode: 0 `attn_mask` and band, 1 `attn_mask`, 2 causal, 3 causal from the end,
            4 band from the end.
        actual_seq_qlen, actual_seq_kvlen: in the layout ``"TND"`` where each sequence ends, in
            ``"TH"`` how long each is; None for a single one. With ``"TH"`` a mask that is smaller
            than the sequences means: causal.
        drop_mask, padding_mask, prefix: must be None.
        inner_precise: accepted for MindSpore's sake.

    Returns:
        Tensor of the shape of `query`.

    Raises:
        ValueError: if an argument is out of range or not supported.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 8))
        >>> print(ms.ops.flash_attention_score(x, x, x, 2, sparse_mode=2).sum())
        24.0
    """
    packed = input_layout in _PACKED
    _refuse("flash_attention_score", {
        "drop_mask": drop_mask, "padding_mask": padding_mask, "prefix": prefix,
        "actual_seq_qlen": None if packed else actual_seq_qlen,
        "actual_seq_kvlen": None if packed else actual_seq_kvlen})
    if packed:
        return _packed("flash_attention_score", query, key, value, head_num, input_layout,
                       real_shift, attn_mask, actual_seq_qlen, actual_seq_kvlen, keep_prob,
                       scalar_value, pre_tokens, next_tokens, sparse_mode)
    return _fused("flash_attention_score", query, key, value, head_num, 0, input_layout, real_shift,
                  attn_mask, keep_prob, scalar_value, pre_tokens, next_tokens, sparse_mode)


def _refuse(name: str, given: dict[str, Any]) -> None:
    for what, value in given.items():
        if value is not None:
            raise ValueError(f"For '{name}', '{what}' is for Ascend devices only and must be None "
                             f"here; put what it says into the attention mask.")


@documented_like(flash_attention_score)
@op
def prompt_flash_attention(query: Tensor, key: Tensor, value: Tensor,
                           attn_mask: Tensor | None = None, actual_seq_lengths: Any = None,
                           actual_seq_lengths_kv: Any = None, pse_shift: Tensor | None = None,
                           deq_scale1: Any = None, quant_scale1: Any = None, deq_scale2: Any = None,
                           quant_scale2: Any = None, quant_offset2: Any = None, num_heads: int = 1,
                           scale_value: float = 1.0, pre_tokens: int = _FAR, next_tokens: int = 0,
                           input_layout: str = "BSH", num_key_value_heads: int = 0,
                           sparse_mode: int = 0, inner_precise: int = 1) -> Tensor:
    """`flash_attention_score` for inference; by default no position sees a later one.

    Args:
        query, key, value: in the order of dimensions `input_layout`.
        attn_mask: 1 or True for pairs that don't count.
        pse_shift: added to the scores.
        num_heads, num_key_value_heads: of the query, and of keys and values if they have fewer.
        scale_value: the scale.
        pre_tokens, next_tokens, input_layout, sparse_mode: as `flash_attention_score`.
        inner_precise: accepted for MindSpore's sake; the others, lengths and scales of quantized
            inputs, must be None.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 8))
        >>> ms.ops.prompt_flash_attention(x, x, x, num_heads=2).shape
        (1, 3, 8)
    """
    name = "prompt_flash_attention"
    _refuse(name, {"actual_seq_lengths": actual_seq_lengths,
                   "actual_seq_lengths_kv": actual_seq_lengths_kv, "deq_scale1": deq_scale1,
                   "quant_scale1": quant_scale1, "deq_scale2": deq_scale2,
                   "quant_scale2": quant_scale2, "quant_offset2": quant_offset2})
    return _fused(name, query, key, value, num_heads, num_key_value_heads, input_layout, pse_shift,
                  attn_mask, 1.0, scale_value, pre_tokens, next_tokens, sparse_mode)


@op
def incre_flash_attention(query: Tensor, key: Any, value: Any, attn_mask: Tensor | None = None,
                          actual_seq_lengths: Any = None, pse_shift: Tensor | None = None,
                          dequant_scale1: Any = None, quant_scale1: Any = None,
                          dequant_scale2: Any = None, quant_scale2: Any = None,
                          quant_offset2: Any = None, antiquant_scale: Any = None,
                          antiquant_offset: Any = None, block_table: Any = None,
                          num_heads: int = 1, input_layout: str = "BSH", scale_value: float = 1.0,
                          num_key_value_heads: int = 0, block_size: int = 0,
                          inner_precise: int = 1, kv_padding_size: Any = None) -> Tensor:
    """`flash_attention_score` of one new position to all keys so far.

    Args:
        query: of length 1, in the order of dimensions `input_layout`.
        key, value: of any length; or a list of one Tensor.
        attn_mask: 1 or True for keys that don't count, shape (B, 1, S) or (B, 1, 1, S).
        pse_shift: added to the scores.
        num_heads, num_key_value_heads: of the query, and of keys and values if they have fewer.
        input_layout, scale_value: as `prompt_flash_attention`.
        block_size, inner_precise: accepted for MindSpore's sake; the others must be None.

    Returns:
        Tensor of the shape of `query`.

    Raises:
        ValueError: if an argument is not supported.

    Examples:
        >>> import lamella as ms
        >>> q, k = ms.ops.ones((1, 1, 8)), ms.ops.ones((1, 5, 8))
        >>> ms.ops.incre_flash_attention(q, k, k, num_heads=2).shape
        (1, 1, 8)
    """
    name = "incre_flash_attention"
    _refuse(name, {"actual_seq_lengths": actual_seq_lengths, "dequant_scale1": dequant_scale1,
                   "quant_scale1": quant_scale1, "dequant_scale2": dequant_scale2,
                   "quant_scale2": quant_scale2, "quant_offset2": quant_offset2,
                   "antiquant_scale": antiquant_scale, "antiquant_offset": antiquant_offset,
                   "block_table": block_table, "kv_padding_size": kv_padding_size})
    k, v = (t[0] if isinstance(t, (list, tuple)) else t for t in (key, value))
    if attn_mask is not None and attn_mask.ndim == 3:
        attn_mask = wrap(attn_mask._raw.unsqueeze(1))
    return _fused(name, query, k, v, num_heads, num_key_value_heads, input_layout, pse_shift,
                  attn_mask, 1.0, scale_value, _FAR, _FAR, 1)


@op
def speed_fusion_attention(query: Tensor, key: Tensor, value: Tensor, head_num: int,
                           input_layout: str, *, pse: Tensor | None = None,
                           padding_mask: Any = None, atten_mask: Tensor | None = None,
                           scale: float = 1.0, keep_prob: float = 1.0, pre_tokens: int = _FAR,
                           next_tokens: int = _FAR, inner_precise: int = 0, prefix: Any = None,
                           actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
                           sparse_mode: int = 0, gen_mask_parallel: bool = True,
                           sync: bool = False, pse_type: int = 1, q_start_idx: Any = None,
                           kv_start_idx: Any = None) -> tuple[Tensor, ...]:
    """`flash_attention_score` under the name and argument names of Ascend's own operator.

    Args:
        query, key, value, head_num, input_layout: as `flash_attention_score`.
        pse: added to the scores, with `pse_type` 1 as here.
        atten_mask, scale, keep_prob, pre_tokens, next_tokens, sparse_mode, actual_seq_qlen,
            actual_seq_kvlen: as there.
        inner_precise, gen_mask_parallel, sync: accepted for MindSpore's sake; the others must be
            None.

    Returns:
        A tuple whose first element is the attention, of the shape of `query`.

    Raises:
        ValueError: if an argument is out of range or not supported.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 8))
        >>> ms.ops.speed_fusion_attention(x, x, x, 2, "BSH")[0].shape
        (1, 3, 8)
    """
    name = "speed_fusion_attention"
    packed = input_layout in _PACKED
    _refuse(name, {"padding_mask": padding_mask, "prefix": prefix, "q_start_idx": q_start_idx,
                   "kv_start_idx": kv_start_idx,
                   "actual_seq_qlen": None if packed else actual_seq_qlen,
                   "actual_seq_kvlen": None if packed else actual_seq_kvlen})
    if pse_type != 1:
        raise ValueError(f"For '{name}', 'pse_type' must be 1, but got {pse_type}.")
    if packed:
        return (_packed(name, query, key, value, head_num, input_layout, pse, atten_mask,
                        actual_seq_qlen, actual_seq_kvlen, keep_prob, scale, pre_tokens,
                        next_tokens, sparse_mode),)
    return (_fused(name, query, key, value, head_num, 0, input_layout, pse, atten_mask, keep_prob,
                   scale, pre_tokens, next_tokens, sparse_mode),)
