"""DeepSeek's sparse attention (DeepSeek-AI, 2025): an indexer selects keys, attention is to these.

Queries are of the layout (B, S, N, D), or (T, N, D) for sequences in a row; keys may lie in blocks
of a paged cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.require import one_of, positive_int
from ..tensors.tensor import Tensor, wrap
from .arguments import as_ints, require
from .native_sparse_attention import attend, best, grouped_scores, lengths, multiplicity, wide

__all__ = ["lightning_indexer", "sparse_flash_attention"]

_FAR = 2 ** 63 - 1


class _Layout(NamedTuple):
    """Where the sequences of queries and keys lie."""

    name: str
    of_query: str
    of_keys: str
    query_lengths: Any
    key_lengths: Any
    table: Tensor | None

    def queries(self, raw: torch.Tensor) -> list[torch.Tensor]:
        """The rows of each sequence."""
        return self._split(raw, self.of_query, self.query_lengths, "actual_seq_lengths_query")

    def keys(self, raw: torch.Tensor) -> list[torch.Tensor]:
        """The rows of each sequence."""
        if self.of_keys == "PA_BSND":
            return list(self._paged(raw))
        return self._split(raw, self.of_keys, self.key_lengths, "actual_seq_lengths_key")

    def _split(self, raw: torch.Tensor, layout: str, given: Any, argument: str
               ) -> list[torch.Tensor]:
        rank = 3 if layout == "TND" else 4
        if layout == "TND":
            return list(raw.split(lengths(given, len(raw), self.name, argument)))
        require(raw.ndim in (rank, rank - 1), RuntimeError,
                f"For '{self.name}', a Tensor of the layout {layout!r} must have {rank} "
                f"dimensions, but got shape {tuple(raw.shape)}.")
        many = [raw.shape[1]] * len(raw) if given is None else \
            list(as_ints(given, self.name, argument))
        require(len(many) == len(raw) and all(0 <= n <= raw.shape[1] for n in many), RuntimeError,
                f"For '{self.name}', '{argument}' must be {len(raw)} numbers from 0 to "
                f"{raw.shape[1]}, but got {many}.")
        return [rows[:n] for rows, n in zip(raw, many, strict=True)]

    def _paged(self, raw: torch.Tensor) -> Iterator[torch.Tensor]:
        if self.table is None or self.key_lengths is None:
            raise ValueError(f"For '{self.name}', 'block_table' and the lengths of the keys must "
                             f"be given with the layout 'PA_BSND'.")
        size = raw.shape[1]
        many = as_ints(self.key_lengths, self.name, "actual_seq_lengths_key")
        for blocks, n in zip(self.table._raw, many, strict=True):
            used = blocks[:-(-n // size)].long()
            require(bool(((used >= 0) & (used < len(raw))).all()) and len(used) * size >= n,
                    RuntimeError, f"For '{self.name}', 'block_table' must name blocks from 0 to "
                    f"{len(raw) - 1}, enough for {n} keys.")
            yield raw[used].flatten(0, 1)[:n]

    def joined(self, parts: list[torch.Tensor], like: torch.Tensor, fill: float) -> torch.Tensor:
        """The results of all sequences in the layout of the queries."""
        if self.of_query == "TND":
            return torch.cat(parts)
        long = like.shape[1]
        return torch.stack([torch.nn.functional.pad(
            part, (0, 0) * (part.ndim - 1) + (0, long - len(part)), value=fill) for part in parts])


def _layout(name: str, of_query: str, of_keys: str, *rest: Any) -> _Layout:
    one_of(of_query, ("BSND", "TND"), "layout_query", name)
    one_of(of_keys, ("BSND", "TND", "PA_BSND"), "layout of the keys", name)
    require(of_keys in (of_query, "PA_BSND"), ValueError,
            f"For '{name}', the layout of the keys must be that of the query or 'PA_BSND', but got "
            f"{of_keys!r} and {of_query!r}.")
    return _Layout(name, of_query, of_keys, *rest)


def _later(rows: int, keys: int, mode: int, name: str, device: torch.device
           ) -> torch.Tensor | None:
    """Which keys lie behind a row, both counted from the end, in mode 3; None in mode 0."""
    if one_of(mode, (0, 3), "sparse_mode", name) == 0:
        return None
    places = torch.arange(keys, device=device) - (keys - rows)
    return places > torch.arange(rows, device=device).unsqueeze(1)


@op
def lightning_indexer(query: Tensor, key: Tensor, weights: Tensor, *,
                      actual_seq_lengths_query: Any = None, actual_seq_lengths_key: Any = None,
                      block_table: Tensor | None = None, layout_query: str = "BSND",
                      layout_key: str = "BSND", sparse_count: int = 2048, sparse_mode: int = 3,
                      pre_tokens: int = _FAR, next_tokens: int = _FAR, return_value: bool = False
                      ) -> tuple[Tensor, Tensor]:
    """The keys with the greatest ``sum of weights * relu(q k)`` over the heads of the query.

    Args:
        query: shape (B, S1, N1, D), or (T1, N1, D).
        key: shape (B, S2, 1, D), (T2, 1, D), or in blocks (blocks, block_size, 1, D).
        weights: of the heads, shape (B, S1, N1) or (T1, N1).
        actual_seq_lengths_query, actual_seq_lengths_key: how many rows of each sequence count; in
            the layout ``"TND"`` where each ends.
        block_table: the blocks of each sequence, with ``"PA_BSND"``.
        layout_query: ``"BSND"`` or ``"TND"``.
        layout_key: the same, or ``"PA_BSND"``.
        sparse_count: how many keys are selected.
        sparse_mode: 3, where no row sees a later key, counted from the end; 0, where it does.
        pre_tokens, next_tokens: must be as they are.
        return_value: whether to give the sums too.

    Returns:
        The keys as int32, shape (B, S1, 1, sparse_count) or (T1, 1, sparse_count), -1 where there
        are fewer, and their sums in the type of `query`, -inf there; without `return_value` no
        elements.

    Raises:
        RuntimeError: if shapes or lengths don't fit.
        ValueError: if an option isn't there.

    Examples:
        >>> import lamella as ms
        >>> q, w = ms.ops.ones((1, 2, 1, 1)), ms.ops.ones((1, 2, 1))
        >>> k = ms.Tensor([3.0, 1.0, 2.0]).reshape((1, 3, 1, 1))
        >>> print(ms.ops.lightning_indexer(q, k, w, sparse_count=2)[0].reshape((2, 2)))
        [[0 1]
         [0 2]]
    """
    name = "lightning_indexer"
    count = positive_int(sparse_count, "sparse_count", name)
    require(pre_tokens == next_tokens == _FAR, ValueError,
            f"For '{name}', 'pre_tokens' and 'next_tokens' must be {_FAR}, but got {pre_tokens} "
            f"and {next_tokens}.")
    places = _layout(name, layout_query, layout_key, actual_seq_lengths_query,
                     actual_seq_lengths_key, block_table)
    kind, chosen, sums = query._raw.dtype, [], []
    for q, k, w in zip(places.queries(query._raw), places.keys(key._raw),
                       places.queries(weights._raw), strict=True):
        require(k.shape[1] == 1 and q.shape[2] == k.shape[2], RuntimeError,
                f"For '{name}', 'key' must have one head of the width of 'query', but got "
                f"{key.shape} and {query.shape}.")
        found = (grouped_scores(q, k, 1.0)[0].relu() * wide(w).T.unsqueeze(-1)).sum(0)
        later = _later(len(q), len(k), sparse_mode, name, found.device)
        if later is not None:
            found = found.masked_fill(later, -torch.inf)
        values, where = best(found, count)
        chosen.append(where.unsqueeze(1))
        sums.append(values.to(kind).unsqueeze(1))
    values = places.joined(sums, query._raw, -torch.inf) if return_value else \
        query._raw.new_zeros(0)
    return wrap(places.joined(chosen, query._raw, -1)), wrap(values)


@documented_like(lightning_indexer)
@op
def sparse_flash_attention(query: Tensor, key: Tensor, value: Tensor, sparse_indices: Tensor,
                           scale_value: float, *, block_table: Tensor | None = None,
                           actual_seq_lengths_query: Any = None, actual_seq_lengths_kv: Any = None,
                           query_rope: Tensor | None = None, key_rope: Tensor | None = None,
                           sparse_block_size: int = 1, layout_query: str = "BSND",
                           layout_kv: str = "BSND", sparse_mode: int = 3, pre_tokens: int = _FAR,
                           next_tokens: int = _FAR, attention_mode: int = 0,
                           return_softmax_lse: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """Attention of each position to the keys, or blocks of keys, that were selected for it.

    Args:
        query: shape (B, S1, N1, D), or (T1, N1, D).
        key, value: shape (B, S2, N2, D), (T2, N2, D), or in blocks (blocks, block_size, N2, D).
        sparse_indices: what each row selects, int32, shape (B, S1, N2, count) or (T1, N2, count);
            -1 selects nothing.
        scale_value: the scale of the scores.
        block_table, actual_seq_lengths_query, actual_seq_lengths_kv, layout_query, layout_kv,
            sparse_mode: as in `lightning_indexer`.
        query_rope, key_rope: further columns of `query` and `key` that carry the positions.
        sparse_block_size: how many keys one index stands for.
        pre_tokens, next_tokens: must be as they are.
        attention_mode: 0, or 2 with `query_rope` and `key_rope`.
        return_softmax_lse: whether to give maxima and sums of the softmax.

    Returns:
        The attention in the shape of `query`, and maxima and sums, (B, N2, S1, N1 / N2) or
        (N2, T1, N1 / N2); without `return_softmax_lse` of no elements.

    Examples:
        >>> import lamella as ms
        >>> q, k = ms.ops.ones((1, 1, 1, 2)), ms.ops.ones((1, 3, 1, 2))
        >>> v = ms.Tensor([[1.0, 0.0], [3.0, 0.0], [8.0, 0.0]]).reshape((1, 3, 1, 2))
        >>> chosen = ms.Tensor([[[[0, 1]]]], ms.int32)
        >>> print(ms.ops.sparse_flash_attention(q, k, v, chosen, 1.0)[0].reshape((-1,)))
        [2. 0.]
    """
    name = "sparse_flash_attention"
    one_of(attention_mode, (0, 2), "attention_mode", name)
    require((query_rope is None) == (key_rope is None) and (
        query_rope is not None or attention_mode != 2), ValueError,
        f"For '{name}', 'query_rope' and 'key_rope' must be given together, and in "
        f"'attention_mode' 2.")
    require(pre_tokens == next_tokens == _FAR, ValueError,
            f"For '{name}', 'pre_tokens' and 'next_tokens' must be {_FAR}, but got {pre_tokens} "
            f"and {next_tokens}.")
    size = positive_int(sparse_block_size, "sparse_block_size", name)
    places = _layout(name, layout_query, layout_kv, actual_seq_lengths_query,
                     actual_seq_lengths_kv, block_table)
    whole_q, whole_k = query._raw, key._raw
    if query_rope is not None and key_rope is not None:
        whole_q = torch.cat((whole_q, query_rope._raw), -1)
        whole_k = torch.cat((whole_k, key_rope._raw), -1)
    parts = []
    for q, k, v, i in zip(places.queries(whole_q), places.keys(whole_k), places.keys(value._raw),
                          places.queries(sparse_indices._raw), strict=True):
        often = multiplicity(i.transpose(0, 1), size, len(k)).clamp_max(1)
        scores = grouped_scores(q, k, scale_value) + often.log().unsqueeze(1)
        later = _later(len(q), len(k), sparse_mode, name, scores.device)
        if later is not None:
            scores = scores.masked_fill(later, -torch.inf)
        _, out, highest, sums = attend(scores, v, query._raw.dtype)
        parts.append((out, *(t.squeeze(-1).permute(2, 0, 1) for t in (highest, sums))))
    out, highest, sums = ([*each] for each in zip(*parts, strict=True))
    statistics = []
    for each in (highest, sums):
        joined = places.joined(each, query._raw, 0)  # (..., rows, kv_heads, heads of each)
        joined = joined.transpose(-3, -2) if return_softmax_lse else joined.new_zeros(0)
        statistics.append(wrap(joined))
    return wrap(places.joined(out, query._raw, 0)), statistics[0], statistics[1]
