"""Mixture of experts: sorts tokens by expert, and puts results back in order."""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, raw_of, require, require_values, typed
from .operands import flag

__all__ = ["moe_init_routing_v2", "moe_token_permute", "moe_token_unpermute"]


@op
def moe_token_permute(tokens: Tensor, indices: Tensor, num_out_tokens: int | None = None,
                      padded_mode: bool = False) -> tuple[Tensor, Tensor]:
    """Tokens ordered by the expert that they go to, in their old order for each.

    Args:
        tokens: shape (tokens, hidden).
        indices: the experts of each token, int32 or int64, shape (tokens, topk) or (tokens,).
        num_out_tokens: how many of the ordered ones to keep; None for all.
        padded_mode: only False.

    Returns:
        The tokens, and for each token and expert its position among them, int32.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `padded_mode` is True, `num_out_tokens` negative, or a rank wrong.
        RuntimeError: if `tokens` and `indices` differ in length.

    Examples:
        >>> import lamella as ms
        >>> tokens = ms.Tensor([[1.0], [7.0], [2.0]])
        >>> out, positions = ms.ops.moe_token_permute(tokens, ms.Tensor([2, 0, 1]))
        >>> print(out.reshape((3,)), positions)
        [7. 2. 1.] [2 0 1]
    """
    name = "moe_token_permute"
    raw = raw_of(tokens, name, "tokens")
    experts = typed(indices, name, "indices", (torch.int32, torch.int64))
    _not_padded(padded_mode, name)
    require(raw.dim() == 2 and experts.dim() in (1, 2), ValueError,
            f"For '{name}', 'tokens' must have rank 2 and 'indices' rank 1 or 2, "
            f"but got {tokens.shape} and {indices.shape}.")
    require(len(raw) == len(experts), RuntimeError,
            f"For '{name}', 'tokens' and 'indices' must have one length, "
            f"but got {tokens.shape} and {indices.shape}.")
    order = experts.reshape(-1).argsort(stable=True)
    each = experts.shape[1] if experts.dim() == 2 else 1
    count = len(order) if num_out_tokens is None else as_int(num_out_tokens, name,
                                                             "num_out_tokens")
    require(count >= 0, ValueError,
            f"For '{name}', 'num_out_tokens' must be 0 or more, but got {count}.")
    return wrap(raw[order[:count] // each]), wrap(order.argsort().int())


@op
def moe_token_unpermute(permuted_tokens: Tensor, sorted_indices: Tensor,
                        probs: Tensor | None = None, padded_mode: bool = False,
                        restore_shape: Any = None) -> Tensor:
    """Tokens in the order before `moe_token_permute`, those of one token added up by weight.

    Args:
        permuted_tokens: shape (tokens * topk, hidden), or less where tokens were dropped.
        sorted_indices: what `moe_token_permute` gave, shape (tokens * topk,).
        probs: the weights of each token's experts, shape (tokens, topk); None for one expert each.
        padded_mode: only False.
        restore_shape: has no meaning then.

    Returns:
        Tensor of shape (tokens, hidden).

    Raises:
        TypeError: if an argument is no Tensor.
        ValueError: if `padded_mode` is True or a shape is wrong.

    Examples:
        >>> import lamella as ms
        >>> tokens, weights = ms.Tensor([[1.0], [7.0]]), ms.Tensor([[0.5, 0.25], [0.0, 1.0]])
        >>> out, positions = ms.ops.moe_token_permute(tokens, ms.Tensor([[1, 0], [0, 2]]))
        >>> print(ms.ops.moe_token_unpermute(out, positions, weights).reshape((2,)))
        [0.75 7.  ]
    """
    name = "moe_token_unpermute"
    raw = raw_of(permuted_tokens, name, "permuted_tokens")
    positions = typed(sorted_indices, name, "sorted_indices", (torch.int32, torch.int64), 1).long()
    _not_padded(padded_mode, name)
    require(raw.dim() == 2, ValueError,
            f"For '{name}', 'permuted_tokens' must have rank 2, but got {permuted_tokens.shape}.")
    there = positions < len(raw)  # others were dropped
    found = torch.where(there.unsqueeze(1), raw[positions.clamp_max(len(raw) - 1)], 0)
    if probs is None:
        return wrap(found)
    weights = raw_of(probs, name, "probs")
    require(weights.dim() == 2 and weights.numel() == len(positions), ValueError,
            f"For '{name}', 'probs' must have the shape (tokens, topk) for {len(positions)} "
            f"indices, but got {probs.shape}.")
    parts = found.reshape(*weights.shape, raw.shape[1]) * weights.unsqueeze(2)
    return wrap(parts.sum(1).to(raw.dtype))


@op
def moe_init_routing_v2(x: Tensor, expert_idx: Tensor, active_num: int, expert_capacity: int,
                        expert_num: int, drop_pad_mode: int,
                        expert_tokens_count_or_cumsum_flag: int,
                        expert_tokens_before_capacity_flag: bool
                        ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Tokens ordered by the expert that they go to, all of them or as many as an expert takes.

    Args:
        x: shape (tokens, hidden), floating.
        expert_idx: the experts of each token, int32, shape (tokens, topk).
        active_num: how many of the ordered ones to keep; 0 for all. Without effect where
            `drop_pad_mode` is 1.
        expert_capacity: how many tokens an expert takes, where `drop_pad_mode` is 1.
        expert_num: how many experts there are.
        drop_pad_mode: 1: each expert gets `expert_capacity` rows, of which zeros are left over;
            what is more is dropped. 0: nothing is padded.
        expert_tokens_count_or_cumsum_flag: 1: count tokens up to and with each expert; 2: of each
            expert; 0: neither.
        expert_tokens_before_capacity_flag: whether to count what comes before the drop.

    Returns:
        The tokens, shape (tokens * topk or less, hidden) or (expert_num, expert_capacity, hidden);
        for each entry of `expert_idx`, row by row, its place among them, -1 where it was dropped,
        int32; and the two counts, int32, shape (expert_num,), zeros where
        they weren't asked for.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a rank, a number or an expert is out of range.

    Examples:
        >>> import lamella as ms
        >>> x, experts = ms.Tensor([[1.0], [7.0]]), ms.Tensor([[1], [0]], ms.int32)
        >>> out, rows, counts, _ = ms.ops.moe_init_routing_v2(x, experts, 0, 0, 2, 0, 2, False)
        >>> print(out.reshape((2,)), rows, counts)
        [7. 1.] [1 0] [1 1]
    """
    name = "moe_init_routing_v2"
    raw = raw_of(x, name, "x")
    experts = typed(expert_idx, name, "expert_idx", (torch.int32, torch.int64), 2).long()
    require(raw.dim() == 2 and len(raw) == len(experts), ValueError,
            f"For '{name}', 'x' and 'expert_idx' must have rank 2 and as many rows, but got "
            f"{x.shape} and {expert_idx.shape}.")
    padded, count_flag = drop_pad_mode == 1, expert_tokens_count_or_cumsum_flag
    require(drop_pad_mode in (0, 1) and count_flag in (0, 1, 2), ValueError,
            f"For '{name}', 'drop_pad_mode' must be 0 or 1 and 'expert_tokens_count_or_cumsum_flag'"
            f" 0, 1 or 2, but got {drop_pad_mode} and {count_flag}.")
    counted = padded or count_flag > 0
    require(not padded or 0 < expert_capacity <= len(raw), ValueError,
            f"For '{name}', 'expert_capacity' must be 1 to the number of tokens, {len(raw)}, but "
            f"got {expert_capacity}.")
    require(active_num >= 0 and (not counted or expert_num > 0), ValueError,
            f"For '{name}', 'active_num' must be 0 or more and 'expert_num' above 0, but got "
            f"{active_num} and {expert_num}.")
    if counted:
        require_values(((experts >= 0) & (experts < expert_num)).all(),
                       f"For '{name}', 'expert_idx' must be 0 to {expert_num - 1}.")
    # rows of one expert stay in the order of tokens, and of a token's choices
    chosen = experts.reshape(-1)
    order = chosen.argsort(stable=True)
    rows = order.argsort()
    each = torch.bincount(chosen, minlength=expert_num) if counted else raw.new_zeros(
        expert_num, dtype=torch.int64)
    none = torch.zeros_like(each).int()
    if not padded:
        kept = order[:active_num] if active_num else order
        counts = {0: none, 1: each.cumsum(0).int(), 2: each.int()}[count_flag]
        return (wrap(raw[kept // experts.shape[1]]), wrap(rows.int()), wrap(counts), wrap(none))
    places = rows - (each.cumsum(0) - each)[chosen]  # within its expert
    slots = torch.where(places < expert_capacity, chosen * expert_capacity + places, -1)
    filled = raw.new_zeros(expert_num * expert_capacity + 1, raw.shape[1])  # the last is dropped
    filled = filled.index_copy(0, torch.where(slots < 0, len(filled) - 1, slots),
                               raw.repeat_interleave(experts.shape[1], 0))
    out = filled[:-1].reshape(expert_num, expert_capacity, raw.shape[1])
    before = each.int() if expert_tokens_before_capacity_flag else none
    return wrap(out), wrap(slots.int()), wrap(none), wrap(before)


def _not_padded(padded_mode: bool, where: str) -> None:
    require(not flag(padded_mode, where, "padded_mode"), ValueError,
            f"For '{where}', 'padded_mode' must be False.")
