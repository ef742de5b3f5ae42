"""Attention with several heads, masked by numbers."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...core import checks
from ...core import dtype as mstype
from ...nn.cell import Cell
from ...nn.dropout import Dropout
from ...tensors.tensor import Tensor
from .layers import _Linear

__all__ = ["MultiHeadAttention"]


class MultiHeadAttention(Cell):
    """Several attentions side by side (Vaswani et al., 2017, Attention Is All You Need).

    Args:
        batch_size: of no effect: any batch is taken.
        src_seq_length, tgt_seq_length: of no effect: inputs say it.
        hidden_size: the length of a vector.
        num_heads: how many attentions; must divide `hidden_size`.
        hidden_dropout_rate, attention_dropout_rate: of the result, and of the weights.
        compute_dtype, softmax_compute_type, param_init_type: types.
        use_past: must be False.

    Inputs:
        - **query_tensor**, **key_tensor**, **value_tensor** - Tensors (B, S, hidden_size), or
          (B * S, hidden_size).
        - **attention_mask** - Tensor (B, S, T): 1 where a query sees a key, 0 where it doesn't;
          None: all.

    Outputs:
        The result, of the query's shape, and a tuple of the keys (B, heads, d, T) and the values
        (B, heads, T, d).

    Raises:
        ValueError: if `num_heads` doesn't divide `hidden_size`.
        NotImplementedError: if `use_past`.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import MultiHeadAttention
        >>> net, x = MultiHeadAttention(2, 3, 3, 8, 2), ms.ops.ones((2, 3, 8))
        >>> out, (keys, values) = net(x, x, x, ms.ops.ones((2, 3, 3)))
        >>> out.shape, keys.shape, values.shape
        ((2, 3, 8), (2, 2, 4, 3), (2, 2, 3, 4))
    """

    def __init__(self, batch_size: int | None, src_seq_length: int, tgt_seq_length: int,
                 hidden_size: int, num_heads: int, hidden_dropout_rate: float = 0.1,
                 attention_dropout_rate: float = 0.1, compute_dtype: Any = mstype.float16,
                 softmax_compute_type: Any = mstype.float32,
                 param_init_type: Any = mstype.float32, use_past: bool = False,
                 parallel_config: Any = None):
        super().__init__()
        for name, size in (("hidden_size", hidden_size), ("num_heads", num_heads)):
            checks.check_positive_int(size, name, self.cls_name)
        if hidden_size % num_heads:
            raise ValueError(f"For '{self.cls_name}', 'num_heads' must divide 'hidden_size', but "
                             f"got {num_heads} and {hidden_size}.")
        if use_past:
            raise NotImplementedError(f"For '{self.cls_name}', 'use_past' isn't in Lamella; "
                                      f"lamella.generation keeps caches.")
        self.n_head, self.size_per_head = num_heads, hidden_size // num_heads
        self.hidden_size, self.tgt_seq_length = hidden_size, tgt_seq_length
        self.dtype, self.softmax_dtype = compute_dtype, softmax_compute_type
        common = {"compute_dtype": compute_dtype, "param_init_type": param_init_type}
        self.projection = _Linear(hidden_size, hidden_size, transpose_b=False, **common)
        self.dense1 = _Linear(hidden_size, hidden_size, **common)
        self.dense2 = _Linear(hidden_size, hidden_size, **common)
        self.dense3 = _Linear(hidden_size, hidden_size, **common)
        self.dropout = Dropout(p=hidden_dropout_rate)
        self.prob_dropout = Dropout(p=attention_dropout_rate)

    def construct(self, query_tensor: Tensor, key_tensor: Tensor, value_tensor: Tensor,
                  attention_mask: Tensor | None = None, key_past: Tensor | None = None,
                  value_past: Tensor | None = None, batch_valid_length: Tensor | None = None
                  ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch = query_tensor.shape[0]
        if query_tensor.ndim == 2:
            batch = (query_tensor.shape[0] // self.tgt_seq_length if attention_mask is None
                     else attention_mask.shape[0])
        query = self._by_head(self.dense1(query_tensor), batch)
        key = self._by_head(self.dense2(key_tensor), batch)
        value = self._by_head(self.dense3(value_tensor), batch)
        scores = ops.matmul(query / self._root(), key.swapaxes(2, 3) / self._root())
        scores = ops.cast(scores, self.softmax_dtype)
        if attention_mask is not None:
            mask = ops.cast(attention_mask.expand_dims(1), self.softmax_dtype)
            scores = scores + (1 - mask) * -10000.0
        weights = self.prob_dropout(ops.cast(ops.softmax(scores, -1), self.dtype))
        mixed = ops.matmul(weights, value).swapaxes(1, 2).reshape(query_tensor.shape)
        output = self.dropout(self.projection(ops.cast(mixed, query_tensor.dtype)))
        return output, (key.swapaxes(2, 3), value)

    def _by_head(self, x: Tensor, batch: int) -> Tensor:
        heads = x.reshape((batch, -1, self.n_head, self.size_per_head))
        return ops.cast(heads.swapaxes(1, 2), self.dtype)

    def _root(self) -> float:
        return math.sqrt(math.sqrt(self.size_per_head))
