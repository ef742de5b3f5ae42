"""Generation of text by a language model, token by token, for many requests at once.

A decoder is any Cell ``net(tokens, cache)`` that gives scores (logits) of shape (B, T, V) for
tokens of shape (B, T). Of the cache it uses

- ``cache.positions``: where each token stands in its sequence, integers of shape (B, T);
- ``cache.attention(query, key, value)``: attention to the sequence so far, called once in each
  layer, in the same order in each call; shapes (B, T, heads, D), where keys and values may have
  fewer heads;
- ``cache.last(x)``: of hidden states (B, T, D), those whose scores are needed (optional; it saves
  the scores of a prompt's earlier tokens).

`WholeSequence` is the cache that keeps nothing, for training. `Generator` decodes: it has a static
cache with a slot for each sequence, and a compiled graph for each size class.
"""

from .caches import WholeSequence
from .generator import Generator
from .request import Request
from .sampling import Sampling

__all__ = ["Generator", "Request", "Sampling", "WholeSequence"]
