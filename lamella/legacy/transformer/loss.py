"""Cross entropy of tokens, with a mask."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...core import dtype as mstype
from ...nn.cell import Cell
from ...tensors.tensor import Tensor

__all__ = ["CrossEntropyLoss"]


class CrossEntropyLoss(Cell):
    """The mean of tokens' cross entropy, weighted by a mask.

    Args:
        parallel_config: kept, of no effect.

    Inputs:
        - **logits** - Tensor (N, C).
        - **label** - Tensor (N,) of ints.
        - **input_mask** - Tensor (N,): the weight of each token.

    Outputs:
        Tensor of shape (1,).

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import CrossEntropyLoss
        >>> loss = CrossEntropyLoss()
        >>> loss(ms.ops.zeros((2, 4)), ms.Tensor([0, 3]), ms.Tensor([1.0, 0.0])).shape
        (1,)
    """

    def __init__(self, parallel_config: Any = None):
        super().__init__()

    def construct(self, logits: Tensor, label: Tensor, input_mask: Tensor) -> Tensor:
        logarithms = ops.log_softmax(ops.cast(logits, mstype.float32), -1)
        losses = -ops.gather_elements(logarithms, 1, label.reshape((-1, 1))).reshape((-1,))
        weights = ops.cast(input_mask, mstype.float32).reshape((-1,))
        return ops.sum(losses * weights).reshape((1,)) / (ops.sum(weights) + 1e-8)
