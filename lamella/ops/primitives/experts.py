"""Primitive classes for mixtures of experts, as Ascend's kernels have them, on any device."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from .. import expert_exchange, experts
from ..arguments import require
from ..assign import assign
from ..primitive import Primitive, primitive

__all__ = ["FusedAddTopKDiv", "GroupTopk", "MoeDistributeCombine", "MoeDistributeDispatch",
           "MoeFinalizeRouting", "MoeInitRoutingV2", "MoeTokenUnpermute"]


MoeInitRoutingV2 = primitive("MoeInitRoutingV2", experts.moe_init_routing_v2)
MoeTokenUnpermute = primitive("MoeTokenUnpermute", experts.moe_token_unpermute)


class MoeFinalizeRouting(Primitive):
    """The results of a token's experts, weighted and added up.

    Inputs:
        - **expanded_x** - what the experts gave, shape (topk * tokens, hidden).
        - **x1** - added to the sum, shape (tokens, hidden).
        - **x2** - added as well, or None.
        - **bias** - of each expert, shape (experts, hidden), or None.
        - **scales** - weights, shape (tokens, topk), or None for 1.
        - **expanded_row_idx** - int32, shape (topk * tokens,): the row of token i's choice k stands
          at ``i + k * tokens``.
        - **expanded_expert_idx** - int32, shape (tokens, topk): which bias is a choice's.

    Outputs:
        Tensor of shape (tokens, hidden).

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.experts import MoeFinalizeRouting
        >>> given, none = ms.Tensor([[1.0], [2.0], [3.0], [4.0]]), ms.ops.zeros((2, 1))
        >>> rows, weights = ms.Tensor([0, 1, 2, 3], ms.int32), ms.Tensor([[1.0, 0.5], [1.0, 0.0]])
        >>> print(MoeFinalizeRouting()(given, none, scales=weights, expanded_row_idx=rows))
        [[2.5]
         [2. ]]
    """

    def __init__(self):
        super().__init__("MoeFinalizeRouting")

    def __call__(self, expanded_x: Tensor, x1: Tensor, x2: Tensor | None = None,
                 bias: Tensor | None = None, scales: Tensor | None = None,
                 expanded_row_idx: Tensor | None = None,
                 expanded_expert_idx: Tensor | None = None) -> Tensor:
        return _finalized(expanded_x, x1, x2, bias, scales, expanded_row_idx, expanded_expert_idx)


@op
def _finalized(expanded_x: Tensor, x1: Tensor, x2: Tensor | None, bias: Tensor | None,
               scales: Tensor | None, expanded_row_idx: Tensor | None,
               expanded_expert_idx: Tensor | None) -> Tensor:
    name, tokens = "MoeFinalizeRouting", len(x1._raw)
    if expanded_row_idx is None:
        raise ValueError(f"For '{name}', 'expanded_row_idx' must be given.")
    require(tokens > 0 and len(expanded_row_idx._raw) % tokens == 0, ValueError,
            f"For '{name}', 'expanded_row_idx' must have a number for each choice of {tokens} "
            f"tokens, but got shape {expanded_row_idx.shape}.")
    require((bias is None) == (expanded_expert_idx is None), ValueError,
            f"For '{name}', 'bias' and 'expanded_expert_idx' must both be given, or neither.")
    parts = expanded_x._raw[expanded_row_idx._raw.long()].reshape(-1, tokens, x1._raw.shape[1])
    if bias is not None and expanded_expert_idx is not None:
        parts = parts + bias._raw[expanded_expert_idx._raw.long()].transpose(0, 1)
    if scales is not None:
        parts = parts * scales._raw.T.unsqueeze(2)
    total = x1._raw + parts.sum(0)
    return wrap(total if x2 is None else total + x2._raw)


class FusedAddTopKDiv(Primitive):
    """The experts of each token, by groups, as DeepSeek-V3 routes (DeepSeek-AI, 2024).

    The probabilities are ``sigmoid(x)``. Experts are chosen by these plus `add_num`: first the
    `group_topk` groups with the greatest sums of their `n` greatest, then the `k` greatest in them.

    Inputs:
        - **x** - Tensor (tokens, experts).
        - **add_num** - Tensor (experts,), added for the choice alone.
        - **group_num**, **group_topk** - how many groups there are, and how many are chosen.
        - **n** - how many of a group's probabilities are added up.
        - **k** - how many experts are chosen.
        - **activate_type** - 0, the sigmoid.
        - **is_norm** - whether the probabilities are divided by their sum.
        - **scale** - what they are multiplied by.
        - **mapping_num**, **mapping_table**, **enable_expert_mapping** - None, None and False.

    Outputs:
        The probabilities, float32, and the experts, int32, both (tokens, k).

    Examples:
        >>> import lamella as ms
        >>> from lamella.ops.primitives.experts import FusedAddTopKDiv
        >>> x, add = ms.Tensor([[0.0, 1.0, 3.0, -1.0]]), ms.ops.zeros(4)
        >>> weights, chosen = FusedAddTopKDiv()(x, add, 2, 1, 1, 2, scale=1.0)
        >>> print(weights.round(decimals=2), chosen)
        [[0.78 0.22]] [[2 3]]
    """

    def __init__(self):
        super().__init__("FusedAddTopKDiv")

    def __call__(self, x: Tensor, add_num: Tensor, group_num: int, group_topk: int, n: int, k: int,
                 activate_type: int = 0, is_norm: bool = True, scale: float = 2.5,
                 mapping_num: Any = None, mapping_table: Any = None,
                 enable_expert_mapping: bool = False) -> tuple[Tensor, Tensor]:
        if activate_type != 0 or enable_expert_mapping:
            raise ValueError(f"For '{self.name}', 'activate_type' must be 0 and "
                             f"'enable_expert_mapping' False, but got {activate_type} and "
                             f"{enable_expert_mapping}.")
        return _chosen_experts(x, add_num, group_num, group_topk, n, k, is_norm, scale)


@op
def _chosen_experts(x: Tensor, add_num: Tensor, group_num: int, group_topk: int, n: int, k: int,
                    is_norm: bool, scale: float) -> tuple[Tensor, Tensor]:
    width = x._raw.shape[-1]
    require(group_num > 0 and width % group_num == 0, ValueError,
            f"For 'FusedAddTopKDiv', 'group_num' must divide the {width} experts, but got "
            f"{group_num}.")
    probabilities = x._raw.float().sigmoid()
    scores = probabilities + add_num._raw.float()
    groups = scores.reshape(-1, group_num, width // group_num).topk(n, -1)[0].sum(-1)
    best = torch.zeros_like(groups).scatter(1, groups.topk(group_topk, -1)[1], 1.0)
    outside = best.repeat_interleave(width // group_num, 1) == 0
    chosen = scores.masked_fill(outside, float("-inf")).topk(k, -1)[1]
    weights = probabilities.gather(1, chosen)
    if is_norm:
        weights = weights / weights.sum(-1, keepdim=True)
    return wrap(weights * scale), wrap(chosen.int())


class GroupTopk(Primitive):
    """Sets the probabilities of all but the best groups of experts to 0, in place.

    Inputs:
        - **token** - the probabilities, Tensor (tokens, experts), which is changed.
        - **idx_arr** - accepted for MindSpore's sake.
        - **group_num** - how many groups there are.
        - **k** - how many groups stay: those with the greatest sums.
        - **k_inner** - of how many of its greatest probabilities a group's sum is.

    Outputs:
        `token`.

    Raises:
        ValueError: if a number is out of range.

    Examples:
        >>> import lamella as ms
        >>> token = ms.Tensor([[0.1, 0.3, 0.2, 0.4]])
        >>> print(ms.ops.GroupTopk()(token, ms.ops.arange(4), 2, 1, 1))
        [[0.  0.  0.2 0.4]]
    """

    def __init__(self):
        super().__init__("GroupTopk")

    def __call__(self, token: Tensor, idx_arr: Any, group_num: int, k: int, k_inner: int) -> Tensor:
        return _best_groups(token, group_num, k, k_inner)


@op
def _best_groups(token: Tensor, group_num: int, k: int, k_inner: int) -> Tensor:
    width = token.shape[-1]
    require(group_num > 0 and width % group_num == 0 and 0 < k <= group_num
            and 0 < k_inner <= width // group_num, ValueError,
            f"For 'GroupTopk', 'group_num' must divide the {width} experts, 'k' be in [1, "
            f"group_num] and 'k_inner' in [1, experts of a group], but got {group_num}, {k} and "
            f"{k_inner}.")
    groups = token._raw.unflatten(-1, (group_num, -1))
    best = groups.topk(k_inner, -1)[0].sum(-1).topk(k, -1)[1]
    stays = torch.zeros_like(groups[..., 0], dtype=torch.bool).scatter(-1, best, True)
    return assign(token, wrap((groups * stays.unsqueeze(-1)).flatten(-2)))


MoeDistributeDispatch = primitive("MoeDistributeDispatch", expert_exchange.moe_distribute_dispatch)
MoeDistributeCombine = primitive("MoeDistributeCombine", expert_exchange.moe_distribute_combine)
