"""Native sparse attention (Yuan et al., 2025): compressed keys, the choice of blocks, these blocks.

Sequences lie one after the other, in the layout (rows, heads, width); where each ends is given.
"""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..core.require import positive_int
from ..tensors.tensor import Tensor, wrap
from .arguments import as_ints, require

__all__ = ["nsa_compress", "nsa_compress_attention", "nsa_select_attention"]


def lengths(ends: Any, total: int, name: str, argument: str) -> list[int]:
    """The lengths of sequences that end at `ends`, the last one at `total`."""
    if ends is None:
        raise ValueError(f"For '{name}', '{argument}' must be given.")
    numbers = as_ints(ends, name, argument)
    found = [end - begin for begin, end in zip((0, *numbers), numbers, strict=False)]
    if not numbers or min(found) < 0 or numbers[-1] != total:
        raise RuntimeError(f"For '{name}', '{argument}' must be numbers that don't fall, the last "
                           f"of them {total}, the number of rows, but got {numbers}.")
    return found


def wide(raw: torch.Tensor) -> torch.Tensor:
    """Numbers in float32, or float64 if they are."""
    return raw if raw.dtype is torch.float64 else raw.float()


def grouped_scores(query: torch.Tensor, key: torch.Tensor, scale: float) -> torch.Tensor:
    """Scores in float32 or float64, shape (kv_heads, heads of each, q_rows, k_rows)."""
    q = wide(query).unflatten(1, (key.shape[1], -1)).permute(1, 2, 0, 3)
    return (q @ wide(key).permute(1, 2, 0).unsqueeze(1)) * scale


def best(scores: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` greatest along the last dimension and where they are; of equal ones the first.

    Where there are fewer than `count` above -inf, the place is -1.
    """
    values, places = scores.sort(dim=-1, descending=True, stable=True)
    values, places = values[..., :count], places[..., :count]
    places = places.masked_fill(values == -torch.inf, -1)
    missing = (0, count - values.shape[-1])
    return (torch.nn.functional.pad(values, missing, value=-torch.inf),
            torch.nn.functional.pad(places, missing, value=-1).int())


def attend(scores: torch.Tensor, value: torch.Tensor, kind: torch.dtype
           ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The softmax of grouped scores, what it gives of `value`, and its maxima and sums.

    Where all pairs are hidden, the weights are 0.
    """
    highest = scores.detach().amax(-1, keepdim=True) if scores.shape[-1] else \
        scores.new_full((*scores.shape[:-1], 1), -torch.inf)
    powers = (scores - highest.clamp_min(torch.finfo(scores.dtype).min)).exp()
    sums = powers.sum(-1, keepdim=True)
    weights = powers / sums.clamp_min(torch.finfo(scores.dtype).tiny)
    out = weights @ wide(value).transpose(0, 1).unsqueeze(1)
    return weights, out.flatten(0, 1).transpose(0, 1).to(kind), highest, sums


def _eight(found: torch.Tensor) -> torch.Tensor:
    """(kv_heads, heads of each, rows, 1) as (rows, heads, 8), the number eight times."""
    return found.flatten(0, 1).transpose(0, 1).expand(-1, -1, 8)


def _heads(name: str, query: Tensor, key: Tensor, value: Tensor, head_num: int) -> None:
    shapes = query.shape, key.shape, value.shape
    fits = all(len(shape) == 3 for shape in shapes) and shapes[0][2] == shapes[1][2] \
        and shapes[1][:2] == shapes[2][:2] and shapes[0][1] == head_num \
        and shapes[1][1] > 0 and head_num % shapes[1][1] == 0
    require(fits, RuntimeError,
            f"For '{name}', 'query', 'key' and 'value' must have the shapes (T1, N1, D1), (T2, N2, "
            f"D1) and (T2, N2, D2), with N1 = 'head_num' a multiple of N2, but got {shapes[0]}, "
            f"{shapes[1]}, {shapes[2]} and head_num {head_num}.")


@op
def nsa_compress(input: Tensor, weight: Tensor, compress_block_size: int, compress_stride: int, *,
                 actual_seq_len: Any) -> Tensor:
    """The weighted sums of rows over windows of each sequence.

    Args:
        input: shape (T, N, D).
        weight: of the type of `input`, shape (compress_block_size, N).
        compress_block_size: the length of a window.
        compress_stride: from one window to the next.
        actual_seq_len: where each sequence ends, the last one at T; no window crosses an end.

    Returns:
        Tensor of shape (windows, N, D); a sequence of L rows has ``1 + (L - block) // stride``
        windows, none if it is shorter than a block.

    Raises:
        TypeError: if the types differ, or a number is no int.
        RuntimeError: if shapes or ends don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, ones = ms.ops.arange(6.0).reshape((6, 1, 1)), ms.ops.ones((2, 1))
        >>> print(ms.ops.nsa_compress(x, ones, 2, 2, actual_seq_len=(4, 6)).reshape((-1,)))
        [1. 5. 9.]
    """
    name, rows, kernel = "nsa_compress", input._raw, weight._raw
    size = positive_int(compress_block_size, "compress_block_size", name)
    stride = positive_int(compress_stride, "compress_stride", name)
    if rows.dtype != kernel.dtype:
        raise TypeError(f"For '{name}', 'input' and 'weight' must be of one type, but got "
                        f"{input.dtype} and {weight.dtype}.")
    require(rows.ndim == 3 and tuple(kernel.shape) == (size, rows.shape[1]), RuntimeError,
            f"For '{name}', 'input' must have the shape (T, N, D) and 'weight' "
            f"(compress_block_size, N), but got {input.shape} and {weight.shape}.")
    parts = [part.unfold(0, size, stride) for part in rows.split(
        lengths(actual_seq_len, len(rows), name, "actual_seq_len")) if len(part) >= size]
    if not parts:
        return wrap(rows.new_zeros(0, *rows.shape[1:]))
    windows = torch.cat(parts)  # (windows, N, D, block)
    return wrap((wide(windows) * wide(kernel).T.unsqueeze(1)).sum(-1).to(rows.dtype))


def _importance(weights: torch.Tensor, blocks: int, span: int, reach: int) -> torch.Tensor:
    """The sums of weights that a block takes part in, (kv_heads, q_rows, blocks).

    Block j gathers the windows ``span * j - m - n`` with m below `span` and n below `reach`.
    """
    places = torch.arange(blocks)[:, None, None] * span - torch.arange(span)[None, :, None] \
        - torch.arange(reach)
    places = places.flatten(1).to(weights.device)
    inside = (places >= 0) & (places < weights.shape[-1])
    shares = weights.sum(1)[..., places.clamp(0, max(weights.shape[-1] - 1, 0))] \
        if weights.shape[-1] else weights.new_zeros(*weights.sum(1).shape[:2], *places.shape)
    return shares.masked_fill(~inside, 0).sum(-1)


@op
def nsa_compress_attention(query: Tensor, key: Tensor, value: Tensor, scale_value: float,
                           head_num: int, compress_block_size: int, compress_stride: int,
                           select_block_size: int, select_block_count: int, *,
                           topk_mask: Tensor | None = None, atten_mask: Tensor | None = None,
                           actual_seq_qlen: Any, actual_cmp_seq_kvlen: Any,
                           actual_sel_seq_kvlen: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Attention to compressed keys, and the blocks of keys that its weights point to.

    Args:
        query: shape (T1, N1, D1).
        key, value: compressed, shapes (T2, N2, D1) and (T2, N2, D2).
        scale_value: the scale of the scores.
        head_num: N1.
        compress_block_size, compress_stride: those of `nsa_compress`.
        select_block_size: the length of a block to select, a multiple of `compress_stride`.
        select_block_count: how many blocks are selected.
        topk_mask: True for blocks that a row of the query may not select, shape (S1, blocks).
        atten_mask: True for pairs that don't count, shape (S1, S2).
        actual_seq_qlen, actual_cmp_seq_kvlen, actual_sel_seq_kvlen: where each sequence of queries,
            of compressed keys and of blocks ends.

    Returns:
        The attention (T1, N1, D2); the blocks (T1, N2, select_block_count) as int32, counted
        within their sequence, -1 where there are fewer; maxima and sums of the softmax
        (T1, N1, 8).

    Raises:
        RuntimeError: if shapes or ends don't fit.
        ValueError: if a size is no multiple of another.

    Examples:
        >>> import lamella as ms
        >>> q, k = ms.ops.ones((3, 2, 16)), ms.ops.ones((4, 1, 16))
        >>> out, blocks, _, _ = ms.ops.nsa_compress_attention(
        ...     q, k, k, 0.25, 2, 16, 16, 32, 1, actual_seq_qlen=(3,), actual_cmp_seq_kvlen=(4,),
        ...     actual_sel_seq_kvlen=(2,))
        >>> print(out.shape, blocks.reshape((-1,)))
        (3, 2, 16) [1 1 1]
    """
    name = "nsa_compress_attention"
    _heads(name, query, key, value, head_num)
    stride = positive_int(compress_stride, "compress_stride", name)
    span, reach = select_block_size // stride, compress_block_size // stride
    require(select_block_size % stride == 0 and compress_block_size % stride == 0
            and span > 0 and reach > 0, ValueError,
            f"For '{name}', 'select_block_size' and 'compress_block_size' must be multiples of "
            f"'compress_stride' {stride}, but got {select_block_size} and {compress_block_size}.")
    count = positive_int(select_block_count, "select_block_count", name)
    blocks = as_ints(actual_sel_seq_kvlen, name, "actual_sel_seq_kvlen")
    sizes = (lengths(actual_seq_qlen, len(query._raw), name, "actual_seq_qlen"),
             lengths(actual_cmp_seq_kvlen, len(key._raw), name, "actual_cmp_seq_kvlen"),
             lengths(blocks, blocks[-1], name, "actual_sel_seq_kvlen"))
    require(len({len(each) for each in sizes}) == 1, RuntimeError,
            f"For '{name}', the ends must be of as many sequences each, but got "
            f"{[len(each) for each in sizes]}.")
    masks = [None if mask is None else mask._raw.bool() for mask in (atten_mask, topk_mask)]
    parts = []
    for q, k, v, n in zip(query._raw.split(sizes[0]), key._raw.split(sizes[1]),
                          value._raw.split(sizes[1]), sizes[2], strict=True):
        scores = grouped_scores(q, k, scale_value)
        if masks[0] is not None:
            scores = scores.masked_fill(masks[0][:len(q), :len(k)], -torch.inf)
        weights, out, highest, sums = attend(scores, v, query._raw.dtype)
        importance = _importance(weights.detach(), n, span, reach)
        if masks[1] is not None:
            importance = importance.masked_fill(masks[1][:len(q), :n], -torch.inf)
        chosen = best(importance, count)[1].transpose(0, 1)
        parts.append((out, chosen, _eight(highest), _eight(sums)))
    out, chosen, highest, sums = (wrap(torch.cat(each)) for each in zip(*parts, strict=True))
    return out, chosen, highest, sums


def multiplicity(indices: torch.Tensor, size: int, rows: int) -> torch.Tensor:
    """How often each of `rows` keys is selected: blocks of `size` (..., count) to (..., rows).

    Numbers below 0, and blocks behind the end, select nothing.
    """
    blocks = -(-rows // size)
    valid = (indices >= 0) & (indices < blocks)
    counts = torch.zeros(*indices.shape[:-1], blocks + 1, device=indices.device)
    counts.scatter_add_(-1, torch.where(valid, indices, blocks).long(),
                        torch.ones_like(indices, dtype=counts.dtype))
    return counts[..., :blocks].repeat_interleave(size, -1)[..., :rows]


@op
def nsa_select_attention(query: Tensor, key: Tensor, value: Tensor, topk_indices: Tensor,
                         scale_value: float, head_num: int, select_block_size: int,
                         select_block_count: int, *, atten_mask: Tensor | None = None,
                         actual_seq_qlen: Any, actual_seq_kvlen: Any
                         ) -> tuple[Tensor, Tensor, Tensor]:
    """Attention of each position to the blocks of keys that were selected for it.

    Args:
        query: shape (T1, N1, D1).
        key, value: shapes (T2, N2, D1) and (T2, N2, D2).
        topk_indices: the blocks, counted within their sequence, shape (T1, N2,
            select_block_count); one that is named twice counts twice, -1 selects nothing.
        scale_value: the scale of the scores.
        head_num: N1.
        select_block_size: the length of a block.
        select_block_count: the last dimension of `topk_indices`.
        atten_mask: True for pairs that don't count, shape (S1, S2).
        actual_seq_qlen, actual_seq_kvlen: where each sequence ends.

    Returns:
        The attention (T1, N1, D2), and maxima and sums of the softmax (T1, N1, 8).

    Raises:
        RuntimeError: if shapes or ends don't fit.

    Examples:
        >>> import lamella as ms
        >>> q, k, v = ms.ops.ones((1, 1, 4)), ms.ops.ones((4, 1, 4)), ms.ops.arange(4.0)
        >>> out, _, _ = ms.ops.nsa_select_attention(
        ...     q, k, v.reshape((4, 1, 1)), ms.Tensor([[[1]]], ms.int32), 0.5, 1, 2, 1,
        ...     actual_seq_qlen=(1,), actual_seq_kvlen=(4,))
        >>> print(out.reshape((-1,)))  # the mean of the rows 2 and 3
        [2.5]
    """
    name, indices = "nsa_select_attention", topk_indices._raw
    _heads(name, query, key, value, head_num)
    size = positive_int(select_block_size, "select_block_size", name)
    require(tuple(indices.shape) == (len(query._raw), key.shape[1], select_block_count),
            RuntimeError, f"For '{name}', 'topk_indices' must have the shape "
            f"{(len(query._raw), key.shape[1], select_block_count)}, but got "
            f"{tuple(indices.shape)}.")
    rows = lengths(actual_seq_qlen, len(query._raw), name, "actual_seq_qlen")
    keys = lengths(actual_seq_kvlen, len(key._raw), name, "actual_seq_kvlen")
    require(len(rows) == len(keys), RuntimeError,
            f"For '{name}', 'actual_seq_qlen' and 'actual_seq_kvlen' must be of as many sequences, "
            f"but got {len(rows)} and {len(keys)}.")
    mask = None if atten_mask is None else atten_mask._raw.bool()
    parts = []
    for q, i, k, v in zip(query._raw.split(rows), indices.split(rows), key._raw.split(keys),
                          value._raw.split(keys), strict=True):
        often = multiplicity(i.transpose(0, 1), size, len(k))  # (kv_heads, q_rows, k_rows)
        scores = grouped_scores(q, k, scale_value) + often.log().unsqueeze(1)
        if mask is not None:
            scores = scores.masked_fill(mask[:len(q), :len(k)], -torch.inf)
        _, out, highest, sums = attend(scores, v, query._raw.dtype)
        parts.append((out, _eight(highest), _eight(sums)))
    out, highest, sums = (wrap(torch.cat(each)) for each in zip(*parts, strict=True))
    return out, highest, sums
