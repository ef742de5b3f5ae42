"""Attention as Primitives, also over keys and values that are kept in blocks."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..attention import rotary_position_embedding, scaled_dot_product
from ..flash_attention import flash_attention_score
from ..primitive import primitive
from .attributed import Attributed

__all__ = ["ApplyRotaryPosEmb", "FlashAttentionScore", "PagedAttention", "PagedAttentionMask",
           "ReshapeAndCache", "RotaryPositionEmbedding", "apply_rotary_pos_emb_",
           "reshape_and_cache"]

_FAR = 2147483647


class FlashAttentionScore(Attributed):
    """As `ops.flash_attention_score`, whose arguments but the Tensors are attributes.

    Inputs:
        - **query**, **key**, **value** - in the order of dimensions `input_layout`.
        - **real_shift**, **drop_mask**, **padding_mask**, **attn_mask**, **prefix**,
          **actual_seq_qlen**, **actual_seq_kvlen** - as `ops.flash_attention_score` takes them.

    Outputs:
        Three Tensors that the gradient's kernel of MindSpore reads, without meaning here, and the
        result, of the shape of `query`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 8))
        >>> print(ms.ops.FlashAttentionScore(2, sparse_mode=2)(x, x, x)[3].sum())
        24.0
    """

    def __init__(self, head_num: int, keep_prob: float = 1.0, scale_value: float = 1.0,
                 pre_tokens: int = _FAR, next_tokens: int = _FAR, inner_precise: int = 0,
                 input_layout: str = "BSH", sparse_mode: int = 0):
        super().__init__(head_num=head_num, keep_prob=keep_prob, scale_value=scale_value,
                         pre_tokens=pre_tokens, next_tokens=next_tokens,
                         inner_precise=inner_precise, input_layout=input_layout,
                         sparse_mode=sparse_mode)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, real_shift: Tensor | None = None,
                 drop_mask: Tensor | None = None, padding_mask: Tensor | None = None,
                 attn_mask: Tensor | None = None, prefix: Any = None, actual_seq_qlen: Any = None,
                 actual_seq_kvlen: Any = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        out = flash_attention_score(
            query, key, value, self.head_num, real_shift, drop_mask, padding_mask, attn_mask,
            prefix, actual_seq_qlen, actual_seq_kvlen, self.keep_prob, self.scale_value,
            self.pre_tokens, self.next_tokens, self.inner_precise, self.input_layout,
            self.sparse_mode)
        unused = torch.zeros(3, 1, device=query._raw.device)
        return wrap(unused[0]), wrap(unused[1]), wrap(unused[2]), out


RotaryPositionEmbedding = primitive("RotaryPositionEmbedding", rotary_position_embedding)


@op
def apply_rotary_pos_emb_(query: Tensor, key: Tensor, cos: Tensor, sin: Tensor,
                          position_ids: Tensor, cos_format: int = 0) -> tuple[Tensor, Tensor]:
    """Queries and keys turned by the angles of their positions (Su et al., 2021, RoFormer).

    Args:
        query, key: shape (N, T, heads * D); the two may have different numbers of heads.
        cos, sin: with `cos_format` 0 or 1 one row for each position there may be, (positions, D),
            of which `position_ids` chooses; with 2 or 3 the rows themselves, one for each element
            of a sequence, or one for each sequence where T is 1. Where there are more rows than
            T, each sequence takes the first ones.
        position_ids: the position of each of the N sequences: the one that the last element of it
            has. Where N is 1 and several sequences lie one after the other, their lengths.
        cos_format: 1 and 3 as 0 and 2.

    Returns:
        The turned queries and keys, of the shapes of the given ones.

    Raises:
        ValueError: if the last dimension is no multiple of D, or `cos_format` is unknown.

    Examples:
        >>> import lamella as ms
        >>> x, at = ms.Tensor([[[1.0, 2.0]]]), ms.Tensor([0])
        >>> turned, _ = ms.ops.apply_rotary_pos_emb_(x, x, ms.ops.zeros((4, 2)),
        ...                                          ms.ops.ones((4, 2)), at)
        >>> print(turned)
        [[[-2.  1.]]]
    """
    name = "apply_rotary_pos_emb_"
    if cos_format not in (0, 1, 2, 3):
        raise ValueError(f"For '{name}', 'cos_format' must be 0 to 3, but got {cos_format}.")
    size = cos.shape[-1]
    length = query.shape[-2]
    rows_of_cos, rows_of_sin = cos._raw, sin._raw
    if cos_format < 2:
        last = position_ids._raw.reshape(-1, 1).long()
        positions = last if length == 1 else torch.arange(length, device=last.device)
        rows_of_cos, rows_of_sin = rows_of_cos[positions], rows_of_sin[positions]
    elif length == 1:
        rows_of_cos, rows_of_sin = (r.reshape(-1, 1, size) for r in (rows_of_cos, rows_of_sin))
    elif rows_of_cos.shape[0] > length:
        at = _places(position_ids._raw, length)
        rows_of_cos, rows_of_sin = rows_of_cos[at], rows_of_sin[at]
    found = []
    for given in (query, key):
        raw = given._raw
        if raw.dim() != 3 or raw.shape[-1] % size:
            raise ValueError(f"For '{name}', queries and keys must have shape (N, T, heads * "
                             f"{size}), but got {given.shape}.")
        heads = raw.unflatten(-1, (-1, size))
        turned = rotary_position_embedding(
            wrap(heads), wrap(rows_of_cos.unsqueeze(-2)), wrap(rows_of_sin.unsqueeze(-2)))
        found.append(wrap(turned._raw.flatten(-2).to(raw.dtype)))
    return found[0], found[1]


def _places(lengths: torch.Tensor, total: int) -> Any:
    """The place of each element in its sequence, of one sequence or of several in a row."""
    each = lengths.reshape(-1).long()
    if each.numel() == 1 or int(each.sum()) != total:
        return slice(0, total)
    begins = torch.repeat_interleave(each.cumsum(0) - each, each)
    return torch.arange(total, device=each.device) - begins


class ApplyRotaryPosEmb(Attributed):
    """As `ops.apply_rotary_pos_emb_`, with `cos_format` as attribute."""

    def __init__(self, cos_format: int = 0):
        super().__init__(cos_format=cos_format)

    def __call__(self, query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, position_ids: Tensor
                 ) -> tuple[Tensor, Tensor]:
        return apply_rotary_pos_emb_(query, key, cos, sin, position_ids, self.cos_format)


@op
def reshape_and_cache(key: Tensor, value: Tensor | None = None, key_cache: Tensor | None = None,
                      value_cache: Tensor | None = None, slot_mapping: Tensor | None = None
                      ) -> Tensor:
    """Write keys and values into slots of a cache of blocks.

    Args:
        key, value: one row for each token; `value` may be None.
        key_cache, value_cache: Tensors or Parameters (blocks, block size, ...), written into.
        slot_mapping: for each token its slot, counted over all blocks; a token with a slot below 0
            is left out.

    Returns:
        `key`.

    Raises:
        TypeError: if a cache or the slots are missing.

    Examples:
        >>> import lamella as ms
        >>> cache = ms.ops.zeros((2, 2, 1))
        >>> _ = ms.ops.reshape_and_cache(ms.Tensor([[5.0]]), None, cache, None, ms.Tensor([2]))
        >>> print(cache.reshape(-1))
        [0. 0. 5. 0.]
    """
    if slot_mapping is None or key_cache is None or (value is None) != (value_cache is None):
        raise TypeError("For 'reshape_and_cache', 'slot_mapping' and a cache for the keys, and for "
                        "the values if there are any, must be given.")
    for rows, cache in ((key, key_cache), (value, value_cache)):
        if rows is None or cache is None:
            continue
        raw, positions = cache._raw, slot_mapping._raw.reshape(-1).long()
        flat = raw.reshape(raw.shape[0] * raw.shape[1], -1)
        new = rows._raw.reshape(positions.numel(), -1).to(raw.dtype)
        if not bool((positions >= 0).all()):
            chosen = (positions >= 0).nonzero().reshape(-1)
            positions, new = positions[chosen], new[chosen]
        flat = flat.index_copy(0, positions, new)
        cache._raw = flat.reshape(raw.shape)
    return key


ReshapeAndCache = primitive("ReshapeAndCache", reshape_and_cache)


@op
def _paged(query: Tensor, key_cache: Tensor, value_cache: Tensor, block_tables: Tensor,
           context_lens: Tensor, heads: int, kv_heads: int, scale: float,
           bias: Tensor | None) -> Tensor:
    """One query for each sequence, whose keys and values are in blocks of a cache."""
    blocks, block_size = key_cache.shape[0], key_cache.shape[1]
    q = query._raw
    size = q.reshape(q.shape[0], -1).shape[1] // heads
    tables = block_tables._raw.long().clamp(0, blocks - 1)
    count = tables.shape[0]
    if q.shape[0] != count:
        raise ValueError(f"For 'PagedAttention', there must be one query for each row of "
                         f"'block_tables', {count}, but got shape {query.shape}.")
    k, v = (cache._raw[tables].reshape(count, -1, kv_heads, cache._raw[0, 0].numel() // kv_heads)
            .transpose(1, 2) for cache in (key_cache, value_cache))
    length = tables.shape[1] * block_size
    positions = torch.arange(length, device=q.device)
    beyond = positions >= context_lens._raw.reshape(-1, 1)
    added = torch.zeros((), dtype=q.dtype, device=q.device)
    if bias is not None:
        raw = bias._raw.reshape(count, -1, 1, bias.shape[-1])
        added = torch.nn.functional.pad(raw, (0, length - raw.shape[-1]))
    mask = torch.where(beyond[:, None, None, :], -math.inf, added)
    out = scaled_dot_product(q.reshape(count, heads, 1, size), k, v, mask, 0.0, False, scale)
    return wrap(out.reshape(*q.shape[:-1], -1))


class PagedAttention(Attributed):
    """Attention of one query a sequence to keys and values in blocks (Kwon et al., 2023).

    Args:
        head_num: the heads of the query.
        scale_value: the scale of the scores.
        kv_head_num: the heads of keys and values, which may be fewer.
        kv_cache_quant_mode, mask_mode: must be ``"DEFAULT"`` and ``"MASK_DEFAULT"``.
        mla_v_dim: must be 0.

    Inputs:
        - **query** - Tensor (N, head_num * D) or (N, 1, head_num * D).
        - **key_cache**, **value_cache** - Tensors (blocks, block size, kv_head_num, D).
        - **block_tables** - Tensor (N, most blocks): which blocks a sequence has, in order.
        - **context_lens** - Tensor (N,): the sequences' lengths.
        - **antiquant_scale**, **antiquant_offset**, **attn_mask**, **q_seq_lens** - None.
        - **alibi_mask** - Tensor that is added to the scores, or None.

    Outputs:
        Tensor of the shape of `query`.

    Raises:
        ValueError: if an attribute or input that must have one value has another.
    """

    def __init__(self, head_num: int, scale_value: float, kv_head_num: int,
                 kv_cache_quant_mode: str = "DEFAULT", mask_mode: str = "MASK_DEFAULT",
                 mla_v_dim: int = 0):
        super().__init__(head_num=head_num, scale_value=scale_value, kv_head_num=kv_head_num,
                         kv_cache_quant_mode=kv_cache_quant_mode, mask_mode=mask_mode,
                         mla_v_dim=mla_v_dim)
        _check_plain(self.name, kv_cache_quant_mode=(kv_cache_quant_mode, "DEFAULT"),
                     mask_mode=(mask_mode, "MASK_DEFAULT"), mla_v_dim=(mla_v_dim, 0))

    def __call__(self, query: Tensor, key_cache: Tensor, value_cache: Tensor,
                 block_tables: Tensor, context_lens: Tensor, antiquant_scale: Any = None,
                 antiquant_offset: Any = None, attn_mask: Any = None, q_seq_lens: Any = None,
                 alibi_mask: Tensor | None = None) -> Tensor:
        _check_plain(self.name, antiquant_scale=(antiquant_scale, None),
                     antiquant_offset=(antiquant_offset, None), attn_mask=(attn_mask, None),
                     q_seq_lens=(q_seq_lens, None))
        return _paged(query, key_cache, value_cache, block_tables, context_lens, self.head_num,
                      self.kv_head_num, self.scale_value, alibi_mask)


class PagedAttentionMask(Attributed):
    """As `PagedAttention`, with what is added to the scores as an input in its place.

    Inputs:
        - **query**, **key_cache**, **value_cache**, **block_tables**, **context_lens** - as there.
        - **antiquant_scale**, **antiquant_offset** - None.
        - **alibi_mask** - Tensor (N, heads, 1, length) that is added to the scores.
    """

    def __init__(self, head_num: int, scale_value: float, kv_head_num: int,
                 kv_cache_quant_mode: str = "DEFAULT"):
        super().__init__(head_num=head_num, scale_value=scale_value, kv_head_num=kv_head_num,
                         kv_cache_quant_mode=kv_cache_quant_mode)
        _check_plain(self.name, kv_cache_quant_mode=(kv_cache_quant_mode, "DEFAULT"))

    def __call__(self, query: Tensor, key_cache: Tensor, value_cache: Tensor,
                 block_tables: Tensor, context_lens: Tensor, antiquant_scale: Any = None,
                 antiquant_offset: Any = None, alibi_mask: Tensor | None = None,
                 attn_mask: Any = None) -> Tensor:
        _check_plain(self.name, antiquant_scale=(antiquant_scale, None),
                     antiquant_offset=(antiquant_offset, None), attn_mask=(attn_mask, None))
        return _paged(query, key_cache, value_cache, block_tables, context_lens, self.head_num,
                      self.kv_head_num, self.scale_value, alibi_mask)


def _check_plain(name: str, **given: Any) -> None:
    """Check what has one possible value: pairs of what is given and that."""
    for argument, (value, only) in given.items():
        if value != only:
            raise ValueError(f"For '{name}', '{argument}' must be {only!r} here, "
                             f"but got {value!r}.")
