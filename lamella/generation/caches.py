"""Key-value caches of attention: for a whole sequence, a prompt, or one token of each slot.

All sequences of a `Generator` share one pair of tensors for each layer, of shape
(slots, heads, capacity, D). Row ``i`` of a batch of new tokens belongs to slot ``i``, so the keys
of the first rows are a view, and nothing is copied or gathered.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F

from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap


class Layer(NamedTuple):
    """The keys and values of one layer, each of shape (slots, heads, capacity, D)."""

    keys: Tensor
    values: Tensor


class LayerForm(NamedTuple):
    """What one token adds to a layer's cache."""

    heads: int
    key_width: int
    value_width: int
    dtype: torch.dtype
    device: torch.device

    def allocate(self, slots: int, capacity: int) -> Layer:
        """The cache of this layer, for so many sequences of so many tokens."""
        keys, values = (torch.zeros((slots, self.heads, capacity, width), dtype=self.dtype,
                                    device=self.device)
                        for width in (self.key_width, self.value_width))
        return Layer(wrap(keys), wrap(values))


class WholeSequence:
    """The cache that keeps nothing: each token attends to those before it in the same call.

    For training, and for scores of whole sequences.

    Args:
        tokens: of shape (B, T); gives the positions 0 to T - 1.

    Attributes:
        positions: int64 Tensor of shape (1, T).

    Examples:
        >>> import lamella as ms
        >>> from lamella.generation import WholeSequence
        >>> cache = WholeSequence(ms.Tensor([[5, 3, 8]]))
        >>> print(cache.positions)
        [[0 1 2]]
        >>> x = ms.ops.ones((1, 3, 2, 4))
        >>> cache.attention(x, x, x).shape
        (1, 3, 2, 4)
    """

    def __init__(self, tokens: Tensor):
        of_type(tokens, Tensor, "tokens", "WholeSequence")
        raw = tokens._raw
        self.positions: Tensor = wrap(torch.arange(raw.shape[-1], device=raw.device)[None])
        self.forms: list[LayerForm] = []  # of the layers that have been called

    def attention(self, query: Tensor, key: Tensor, value: Tensor,
                  scale: float | None = None) -> Tensor:
        """softmax(Q Kᵀ scale) V, where no token sees a later one.

        Args:
            query: shape (B, T, heads, D).
            key: shape (B, T, G, D), where G divides the number of heads; each key serves as many
                heads that follow each other.
            value: shape (B, T, G, E).
            scale: D ** -0.5 by default.

        Returns:
            Tensor of shape (B, T, heads, E).
        """
        q, k, v = heads_first(query, key, value)
        self.forms.append(LayerForm(k.shape[1], k.shape[3], v.shape[3], k.dtype, k.device))
        return wrap(causal(q, k, v, scale).transpose(1, 2))

    def last(self, x: Tensor) -> Tensor:
        """All of `x`: every token's scores are needed."""
        return x


class Prompt:
    """A prompt of one sequence, which fills the beginning of its slot.

    Args:
        layers: the cache.
        slot: which slot, int64, shape (1,).
        length: how many tokens the prompt really has, int64, shape (1,); those behind it, up to
            the size class, are written too, and overwritten before anything reads them.
        size: the size class, at most the capacity.
    """

    def __init__(self, layers: list[Layer], slot: torch.Tensor, length: torch.Tensor, size: int):
        self.positions: Tensor = wrap(torch.arange(size, device=slot.device)[None])
        self._layers = iter(layers)
        self._slot, self._length, self._size = slot, length, size

    def attention(self, query: Tensor, key: Tensor, value: Tensor,
                  scale: float | None = None) -> Tensor:
        """As in `WholeSequence`; keys and values are kept."""
        q, k, v = heads_first(query, key, value)
        layer = next(self._layers)
        for kept, new in ((layer.keys._raw, k), (layer.values._raw, v)):
            kept[:, :, :self._size].index_copy_(0, self._slot, new)
        return wrap(causal(q, k, v, scale).transpose(1, 2))

    def last(self, x: Tensor) -> Tensor:
        """Of `x`, what belongs to the prompt's last token."""
        return wrap(x._raw.index_select(1, self._length - 1))


class NextTokens:
    """One more token for each of the first slots.

    Args:
        layers: the cache.
        positions: where the new tokens stand, int64, shape (rows,).
        size: how many of a slot's tokens are read, a size class above all positions.
    """

    def __init__(self, layers: list[Layer], positions: torch.Tensor, size: int):
        self.positions: Tensor = wrap(positions[:, None])
        self._layers = iter(layers)
        self._rows, self._size = positions.shape[0], size
        reach = torch.arange(size, device=positions.device)
        self._visible = (reach <= positions[:, None])[:, None, None]  # (rows, 1, 1, size)

    def attention(self, query: Tensor, key: Tensor, value: Tensor,
                  scale: float | None = None) -> Tensor:
        """Attention of each row's new token to itself and all of its slot before it."""
        layer, (rows, _, heads, width) = next(self._layers), query.shape
        keys, values = (self._with_new(kept._raw, new._raw)
                        for kept, new in ((layer.keys, key), (layer.values, value)))
        # heads that share keys are one key head's queries: (rows, G, heads / G, D)
        q = query._raw.reshape(rows, keys.shape[1], heads // keys.shape[1], width)
        out = F.scaled_dot_product_attention(
            q, keys, values, self._visible.expand(-1, -1, q.shape[2], -1), scale=scale)
        return wrap(out.reshape(rows, 1, heads, -1))

    def _with_new(self, kept: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        """Write a token for each row, and give what may be read: (rows, G, size, D)."""
        _, heads, capacity, width = kept.shape
        lines = torch.arange(self._rows * heads, device=kept.device) * capacity
        at = lines.view(self._rows, heads) + self.positions._raw
        kept.view(-1, width).index_copy_(0, at.view(-1), new.reshape(-1, width))
        return kept[:self._rows, :, :self._size]

    def last(self, x: Tensor) -> Tensor:
        """All of `x`."""
        return x


def heads_first(query: Tensor, key: Tensor, value: Tensor
                ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query, key and value as (B, heads, T, D), after a check of their shapes."""
    shapes = query.shape, key.shape, value.shape
    if not all(len(shape) == 4 for shape in shapes) or shapes[1][:3] != shapes[2][:3] or (
            query.shape[:2] != key.shape[:2] or query.shape[3] != key.shape[3]
            or not key.shape[2] or query.shape[2] % key.shape[2]):
        raise ValueError(f"For 'attention', 'query', 'key' and 'value' must have the shapes "
                         f"(B, T, heads, D), (B, T, G, D) and (B, T, G, E), where G divides the "
                         f"number of heads, but got {shapes[0]}, {shapes[1]} and {shapes[2]}.")
    q, k, v = (x._raw.transpose(1, 2) for x in (query, key, value))
    return q, k, v


def causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float | None
           ) -> torch.Tensor:
    """Attention of a whole sequence to itself; (B, heads, T, D)."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale,
                                          enable_gqa=q.shape[1] != k.shape[1])
