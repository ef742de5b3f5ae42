"""``nn.layer.flash_attention``: attention by one fused kernel, as a layer."""

from __future__ import annotations

import math
from typing import Any

from ..core import checks
from ..nn.cell import Cell
from ..ops.flash_attention import flash_attention_score
from ..tensors.tensor import Tensor

__all__ = ["FlashAttention"]


class FlashAttention(Cell):
    """softmax(Q Kᵀ / sqrt(head_dim)) V of each head.

    Args:
        head_dim: the size of a head.
        head_num: how many heads there are.
        dropout_rate: of the weights, in training.
        prev_block_num, next_block_num: how many positions back and ahead a position sees.
        alibi: must be False; a bias by distance belongs to the kernel of a device.
        tiling_stgy_name, dp, mp, high_precision, have_attention_mask_batch: accepted as
            MindSpore's layer did.

    Inputs:
        - **query**, **key**, **value** - Tensors (N, heads, length, head_dim).
        - **attn_mask** - Tensor (N or 1, length of queries, length of keys), 1 or True for pairs
          that don't count; or None.

    Outputs:
        Tensor of the shape of `query`.

    Raises:
        TypeError: if an argument has a wrong type.
        ValueError: if `head_dim` or `head_num` is below 1, or `alibi` is True.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.flash_attention import FlashAttention
        >>> x = ms.ops.ones((1, 2, 16, 8))
        >>> FlashAttention(8, 2, next_block_num=0)(x, x, x).shape
        (1, 2, 16, 8)
    """

    def __init__(self, head_dim: int, head_num: int, dropout_rate: float = 0.0,
                 prev_block_num: int = 65536, next_block_num: int = 65536,
                 tiling_stgy_name: str = "sparse", dp: int = 1, mp: int = 1,
                 high_precision: bool = False, have_attention_mask_batch: bool = True,
                 alibi: bool = False):
        super().__init__()
        checks.check_positive_int(head_dim, "head_dim", self.cls_name)
        self.head_num = checks.check_positive_int(head_num, "head_num", self.cls_name)
        if alibi:
            raise ValueError("For 'FlashAttention', 'alibi' must be False; add the bias to the "
                             "scores by 'real_shift' of ops.flash_attention_score.")
        self.scale = 1 / math.sqrt(head_dim)
        self.dropout_rate = dropout_rate
        self.band = (prev_block_num, next_block_num)

    def construct(self, query: Tensor, key: Tensor, value: Tensor,
                  attn_mask: Tensor | None = None, alibi_mask: Any = None) -> Tensor:
        """The heads' results."""
        if alibi_mask is not None:
            raise ValueError("For 'FlashAttention', 'alibi_mask' must be None, as "
                             "'alibi' is False.")
        if attn_mask is not None:
            attn_mask = (attn_mask != 0).expand_dims(1)
        keep = 1.0 - self.dropout_rate if self.training else 1.0
        return flash_attention_score(
            query, key, value, self.head_num, attn_mask=attn_mask,
            keep_prob=keep, scalar_value=self.scale, pre_tokens=self.band[0],
            next_tokens=self.band[1], input_layout="BNSD")
