"""Permutation of tokens for a mixture of experts, and its inverse."""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .arguments import as_int, raw_of, require, typed
from .operands import flag

__all__ = ["moe_token_permute", "moe_token_unpermute"]


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


def _not_padded(padded_mode: bool, where: str) -> None:
    require(not flag(padded_mode, where, "padded_mode"), ValueError,
            f"For '{where}', 'padded_mode' must be False.")
