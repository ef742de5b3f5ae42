"""Inputs of a Transformer: token embeddings, and masks of later tokens."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...common.initializer import initializer
from ...core import checks
from ...core import dtype as mstype
from ...nn.cell import Cell
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor

__all__ = ["AttentionMask", "VocabEmbedding"]


class VocabEmbedding(Cell):
    """The vectors of tokens, and the table that they come from.

    Args:
        vocab_size, embedding_size: the table's shape.
        parallel_config: kept, of no effect.
        param_init: the table's initializer.

    Inputs:
        - **input_ids** - Tensor of ints.

    Outputs:
        The vectors, one dimension more than `input_ids`, and the table.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import VocabEmbedding
        >>> vectors, table = VocabEmbedding(5, 4)(ms.Tensor([[1, 2]]))
        >>> vectors.shape, table.shape
        ((1, 2, 4), (5, 4))
    """

    def __init__(self, vocab_size: int, embedding_size: int, parallel_config: Any = None,
                 param_init: Any = "normal"):
        super().__init__()
        checks.check_positive_int(vocab_size, "vocab_size", self.cls_name)
        checks.check_positive_int(embedding_size, "embedding_size", self.cls_name)
        self.vocab_size, self.embedding_size = vocab_size, embedding_size
        self.embedding_table = Parameter(
            initializer(param_init, [vocab_size, embedding_size], mstype.float32),
            name="embedding_table")

    def construct(self, input_ids: Tensor) -> tuple[Tensor, Tensor]:
        return ops.gather(self.embedding_table, input_ids, 0), self.embedding_table.value()


class AttentionMask(Cell):
    """Which keys each query sees: tokens up to its own place that aren't padding.

    Args:
        seq_length: S.
        parallel_config: kept, of no effect.

    Inputs:
        - **input_mask** - Tensor (B, S): 1 for a token, 0 for padding.

    Outputs:
        Tensor (B, S, S) of 1 and 0.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import AttentionMask
        >>> print(AttentionMask(3)(ms.Tensor([[1.0, 1.0, 0.0]])))
        [[[1. 0. 0.]
          [1. 1. 0.]
          [0. 0. 0.]]]
    """

    def __init__(self, seq_length: int, parallel_config: Any = None):
        super().__init__()
        self.seq_length = checks.check_positive_int(seq_length, "seq_length", self.cls_name)

    def construct(self, input_mask: Tensor) -> Tensor:
        visible = ops.cast(input_mask, mstype.float32)
        earlier = ops.tril(ops.ones((self.seq_length, self.seq_length), mstype.float32))
        return visible.expand_dims(1) * visible.expand_dims(2) * earlier
