"""The two computations of generation, with a compiled graph for each size class.

A graph holds for one number of rows, one reach of the cache and one way of choosing tokens. These
are powers of two, so a generator has a dozen graphs at most that are used, whatever the lengths of
its sequences, and nothing is recorded per token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..graph import jit
from ..tensors.tensor import Tensor, wrap
from .caches import Layer, NextTokens, Prompt
from .sampling import Rules, choose

SMALLEST = 16  # size class of prompts, and of the cache's reach


def size_class(count: int, smallest: int, largest: int) -> int:
    """The least power of two that is at least `count`, within limits."""
    return min(max(1 << (count - 1).bit_length(), smallest), largest)


class Steps:
    """A decoder's steps on one cache.

    Args:
        net: the decoder.
        layers: its cache.
        compiled: whether steps are compiled.
    """

    def __init__(self, net: Callable[..., Tensor], layers: list[Layer], compiled: bool):
        self.net, self.layers, self.compiled = net, layers, compiled
        self.device = layers[0].keys._raw.device
        self.graphs: dict[tuple[Any, ...], Callable[..., Tensor]] = {}

    def prefill(self, tokens: list[int], slot: int, rules: Rules, kind: str, size: int) -> int:
        """Write a prompt into a slot, and choose the token that follows it.

        Args:
            tokens: the prompt.
            slot: a free slot.
            rules: of one row.
            kind: one of `sampling.KINDS`.
            size: the size class.
        """
        padded = tokens + [0] * (size - len(tokens))
        graph = self._graph(("prefill", size, kind), prefill)
        return int(graph(self.layers, self._tensor([padded]), self._tensor([slot]),
                         self._tensor([len(tokens)]), *map(wrap, rules)))

    def decode(self, tokens: list[int], positions: list[int], rules: Rules, kind: str,
               size: int) -> list[int]:
        """Write one token for each of the first slots, and choose those that follow.

        Args:
            tokens, positions: of each slot.
            rules: of each slot.
            kind: one of `sampling.KINDS`.
            size: how much of the cache is read, above all positions.
        """
        graph = self._graph(("decode", len(tokens), size, kind), decode)
        chosen = graph(self.layers, self._tensor(tokens), self._tensor(positions),
                       *map(wrap, rules))
        return chosen._raw.tolist()

    def move(self, slot: int, to: int) -> None:
        """Copy what a slot holds to another one."""
        for layer in self.layers:
            for kept in layer:
                kept._raw[to] = kept._raw[slot]

    def _graph(self, key: tuple[Any, ...], step: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """The step of a size class, compiled once."""
        found = self.graphs.get(key)
        if found is None:
            net, size, kind = self.net, key[-2], key[-1]

            def run(layers: list[Layer], *given: Tensor) -> Tensor:
                return step(net, size, kind, layers, *given)

            found = self.graphs[key] = jit(run) if self.compiled else run
        return found

    def _tensor(self, values: Any) -> Tensor:
        return wrap(torch.tensor(values, dtype=torch.int64, device=self.device))


def prefill(net: Callable[..., Tensor], size: int, kind: str, layers: list[Layer],
            tokens: Tensor, slot: Tensor, length: Tensor, *rules: Tensor) -> Tensor:
    """The token after a prompt; tokens (1, size), slot and length (1,); gives (1,)."""
    cache = Prompt(layers, slot._raw, length._raw, size)
    scores = net(tokens, cache)._raw
    if scores.shape[1] == size > 1:  # the decoder doesn't use `cache.last`
        scores = scores.index_select(1, length._raw - 1)
    return wrap(choose(scores[:, -1], length._raw, Rules(*(r._raw for r in rules)), kind))


def decode(net: Callable[..., Tensor], size: int, kind: str, layers: list[Layer],
           tokens: Tensor, positions: Tensor, *rules: Tensor) -> Tensor:
    """The tokens after those given, (rows,), at their positions, (rows,); gives (rows,)."""
    cache = NextTokens(layers, positions._raw, size)
    scores = net(wrap(tokens._raw[:, None]), cache)._raw
    return wrap(choose(scores[:, -1], positions._raw + 1, Rules(*(r._raw for r in rules)), kind))
