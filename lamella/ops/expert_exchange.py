"""Mixture of experts over several processes: sends tokens to experts, and back."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ..communication import rules
from ..communication.groups import Group, group_of
from ..core.errors import op
from ..core.require import one_of
from ..tensors.tensor import Tensor, wrap
from .arguments import require, require_values

__all__ = ["moe_distribute_combine", "moe_distribute_dispatch"]


class _Experts(NamedTuple):
    """The processes that share experts, each as many, in the order of their ranks."""

    name: str
    group: Group
    each: int

    def by_source(self, raw: torch.Tensor, counts: torch.Tensor) -> list[torch.Tensor]:
        """Rows ordered by expert, then by process (`counts` of each), as those of each process."""
        pieces = raw.split(counts.reshape(-1).tolist())
        size = self.group.size
        return [torch.cat(pieces[source::size]) for source in range(size)]

    def exchange(self, parts: list[torch.Tensor], taken: list[int]) -> list[torch.Tensor]:
        """Rows to each process, and `taken` rows from each."""
        rest = tuple(parts[0].shape[1:])
        return rules.all_to_all(self.name, parts, [(n, *rest) for n in taken], self.group)


def _experts(name: str, group: Any, world: int, rank: int, many: int,
             absent: dict[str, tuple[Any, Any]]) -> _Experts:
    for argument, (given, only) in absent.items():
        require(given == only or given is None, ValueError,
                f"For '{name}', '{argument}' must be {only!r}: Ascend's kernels alone have more, "
                f"but got {given!r}.")
    members = group_of(group, name)
    require((members.size, members.rank) == (world, rank), ValueError,
            f"For '{name}', 'ep_world_size' and 'ep_rank_id' must be {members.size} and "
            f"{members.rank}, as in the group, but got {world} and {rank}.")
    require(many > 0 and many % world == 0, ValueError,
            f"For '{name}', 'moe_expert_num' must be a multiple of the {world} processes, but got "
            f"{many}.")
    return _Experts(name, members, many // world)


@op
def moe_distribute_dispatch(
        x: Tensor, expert_ids: Tensor, ep_world_size: int, ep_rank_id: int, moe_expert_num: int,
        expert_scales: Tensor | None = None, scales: Tensor | None = None,
        x_active_mask: Tensor | None = None, group_ep: str | None = None,
        group_tp: str | None = None, tp_world_size: int = 0, tp_rank_id: int = 0,
        expert_shard_type: int = 0, shared_expert_num: int = 0, shared_expert_rank_num: int = 0,
        quant_mode: int = 0, global_bs: int = 0, expert_token_nums_type: int = 0
        ) -> tuple[Tensor, ...]:
    """Sends each token to the processes that have its experts.

    Args:
        x: the tokens of this process, shape (tokens, hidden).
        expert_ids: the experts of each, int32, shape (tokens, topk).
        ep_world_size, ep_rank_id: the size of the group, and this process's rank in it.
        moe_expert_num: how many experts there are; each process has as many, in order.
        expert_scales: the weights of each token's experts, shape (tokens, topk), or None.
        group_ep: the group's name; None for all processes.
        expert_token_nums_type: whether the fourth result is 0 sums so far, or 1 numbers.
        scales, x_active_mask, group_tp, tp_world_size, tp_rank_id, expert_shard_type,
            shared_expert_num, shared_expert_rank_num, quant_mode: must be as they are.
        global_bs: accepted for MindSpore's sake.

    Returns:
        The tokens that came, ordered by expert and then by process, exactly as many as came;
        Tensors of no elements for `dynamic_scales` and `tp_recv_counts` (the second and sixth);
        the place of each token and choice among those sent, int32; how many came for each expert
        here, int64; for each expert here and process how many, int32; and the weights of the
        tokens that came, float32, of no elements without `expert_scales`.

    Raises:
        ValueError: if the group, a number or an option doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> x, experts = ms.Tensor([[1.0], [2.0], [3.0]]), ms.Tensor([[1], [0], [1]], ms.int32)
        >>> out, _, places, numbers, *_ = ms.ops.moe_distribute_dispatch(
        ...     x, experts, 1, 0, 2, expert_token_nums_type=1)
        >>> print(out.reshape((-1,)), places, numbers)
        [2. 1. 3.] [1 0 2] [1 2]
    """
    name = "moe_distribute_dispatch"
    shared = _experts(name, group_ep, ep_world_size, ep_rank_id, moe_expert_num, {
        "scales": (scales, None), "x_active_mask": (x_active_mask, None),
        "group_tp": (group_tp or None, None), "tp_world_size": (tp_world_size or 0, 0),
        "tp_rank_id": (tp_rank_id, 0), "expert_shard_type": (expert_shard_type, 0),
        "shared_expert_num": (shared_expert_num, 0), "quant_mode": (quant_mode, 0),
        "shared_expert_rank_num": (shared_expert_rank_num, 0)})
    one_of(expert_token_nums_type, (0, 1), "expert_token_nums_type", name)
    raw, chosen = x._raw, expert_ids._raw.long()
    require(raw.ndim == chosen.ndim == 2 and len(raw) == len(chosen), ValueError,
            f"For '{name}', 'x' and 'expert_ids' must have the shapes (tokens, hidden) and "
            f"(tokens, topk), but got {x.shape} and {expert_ids.shape}.")
    require_values(((chosen >= 0) & (chosen < moe_expert_num)).all(),
                   f"For '{name}', 'expert_ids' must be in [0, {moe_expert_num}).")
    order = chosen.reshape(-1).argsort(stable=True)
    going = torch.bincount(chosen.reshape(-1), minlength=moe_expert_num)
    size = shared.group.size
    known = rules.all_gather(name, going.unsqueeze(0), shared.group)  # (processes, experts)
    mine = known[:, ep_rank_id * shared.each:(ep_rank_id + 1) * shared.each]
    given, taken = going.reshape(size, -1).sum(1).tolist(), mine.sum(1).tolist()

    def sent(rows: torch.Tensor) -> torch.Tensor:
        """The rows that come, by expert and then by process."""
        came = shared.exchange(list(rows[order].split(given)), taken)
        pieces = [part.split(counts) for part, counts in zip(came, mine.tolist(), strict=True)]
        return torch.cat([pieces[source][expert] for expert in range(shared.each)
                          for source in range(size)])

    out = sent(raw.repeat_interleave(chosen.shape[1], 0))
    weights = raw.new_zeros(0, dtype=torch.float32) if expert_scales is None else \
        sent(expert_scales._raw.float().reshape(-1))
    numbers = mine.sum(0)
    numbers = numbers if expert_token_nums_type else numbers.cumsum(0)
    nothing = raw.new_zeros(0, dtype=torch.float32)
    return (wrap(out), wrap(nothing), wrap(order.argsort().int()), wrap(numbers),
            wrap(mine.T.reshape(-1).int()), wrap(nothing.int()), wrap(weights))


@op
def moe_distribute_combine(
        expand_x: Tensor, expert_ids: Tensor, expand_idx: Tensor, ep_send_counts: Tensor,
        expert_scales: Tensor, ep_world_size: int, ep_rank_id: int, moe_expert_num: int,
        tp_send_counts: Tensor | None = None, x_active_mask: Tensor | None = None,
        activate_scale: Tensor | None = None, weight_scale: Tensor | None = None,
        group_list: Tensor | None = None, expand_scales: Tensor | None = None,
        group_ep: str | None = None, group_tp: str | None = None, tp_world_size: int = 0,
        tp_rank_id: int = 0, expert_shard_type: int = 0, shared_expert_num: int = 0,
        shared_export_rank_num: int = 0, global_bs: int = 0, out_dtype: int = 0,
        common_quant_mode: int = 0, group_list_type: int = 0) -> Tensor:
    """Sends what experts gave back to the tokens' processes, and adds it up by weight.

    Args:
        expand_x: what the experts gave for the tokens of `moe_distribute_dispatch`, in its order.
        expert_ids: the experts of each token of this process, shape (tokens, topk).
        expand_idx, ep_send_counts: the third and fifth results of `moe_distribute_dispatch`.
        expert_scales: the weights of each token's experts, shape (tokens, topk).
        ep_world_size, ep_rank_id, moe_expert_num, group_ep: as there.
        tp_send_counts, expand_scales, global_bs: accepted for MindSpore's sake; the others must be
            as they are.

    Returns:
        Tensor of shape (tokens, hidden).

    Raises:
        ValueError: if the group, a number or an option doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> x, experts = ms.Tensor([[1.0], [2.0]]), ms.Tensor([[1, 0], [0, 1]], ms.int32)
        >>> rows, _, places, _, counts, *_ = ms.ops.moe_distribute_dispatch(x, experts, 1, 0, 2)
        >>> weights = ms.Tensor([[1.0, 1.0], [0.5, 0.0]])
        >>> print(ms.ops.moe_distribute_combine(rows, experts, places, counts, weights, 1, 0, 2))
        [[2.]
         [1.]]
    """
    name = "moe_distribute_combine"
    shared = _experts(name, group_ep, ep_world_size, ep_rank_id, moe_expert_num, {
        "x_active_mask": (x_active_mask, None), "activate_scale": (activate_scale, None),
        "weight_scale": (weight_scale, None), "group_list": (group_list, None),
        "group_tp": (group_tp or None, None), "tp_world_size": (tp_world_size or 0, 0),
        "tp_rank_id": (tp_rank_id, 0), "expert_shard_type": (expert_shard_type, 0),
        "shared_expert_num": (shared_expert_num, 0), "out_dtype": (out_dtype, 0),
        "shared_export_rank_num": (shared_export_rank_num, 0),
        "common_quant_mode": (common_quant_mode, 0), "group_list_type": (group_list_type, 0)})
    chosen, size = expert_ids._raw.long(), shared.group.size
    counts = ep_send_counts._raw.reshape(-1)
    require(len(counts) == size * shared.each and int(counts.sum()) == len(expand_x._raw),
            ValueError, f"For '{name}', 'ep_send_counts' must be {size * shared.each} numbers that "
            f"add up to the {len(expand_x._raw)} rows of 'expand_x', but got {counts.tolist()}.")
    require(expert_scales.shape == expert_ids.shape and len(expand_idx._raw) == chosen.numel(),
            ValueError, f"For '{name}', 'expert_scales' must have the shape of 'expert_ids', "
            f"{expert_ids.shape}, and 'expand_idx' as many numbers, but got {expert_scales.shape} "
            f"and {expand_idx.shape}.")
    going = torch.bincount(chosen.reshape(-1), minlength=moe_expert_num)
    back = shared.exchange(shared.by_source(expand_x._raw, counts),
                           going.reshape(size, -1).sum(1).tolist())
    rows = torch.cat(back)[expand_idx._raw.long()].unflatten(0, tuple(chosen.shape))
    total = (rows.float() * expert_scales._raw.float().unsqueeze(2)).sum(1)
    return wrap(total.to(expand_x._raw.dtype))
