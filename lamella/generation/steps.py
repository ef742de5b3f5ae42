"""The two computations of generation, with a compiled graph for each size class.

A graph holds for one number of rows, one reach of the cache and one way of choosing tokens. Both
numbers are powers of two, so a generator has a dozen graphs at most that are used, whatever the
lengths of its sequences, and nothing is recorded per token.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..graph import jit
from ..tensors.tensor import Tensor, wrap
from .caches import Layer, NextTokens, Prompt
from .penalties import Penalties, penalized
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
        keys = layers[0].keys._raw
        self.device = keys.device
        # the tokens of each slot; only steps with penalties keep and read them
        self.history: Tensor = wrap(keys.new_zeros((keys.shape[0], keys.shape[2]),
                                                   dtype=torch.int64))
        self.graphs: dict[tuple[Any, ...], Callable[..., Tensor]] = {}

    def prefill(self, tokens: list[int], slot: int, rules: Rules, kind: str, size: int,
                penalties: Penalties | None = None) -> int:
        """Write a prompt into a slot, and choose the token that follows it.

        Args:
            tokens: the prompt.
            slot: a free slot.
            rules: of one row.
            kind: one of `sampling.KINDS`.
            size: the size class.
            penalties: of one row, if there are any.
        """
        padded = tokens + [0] * (size - len(tokens))
        graph = self._graph(("prefill", size, kind), prefill, penalties)
        return int(graph(self.layers, self._tensor([padded]), self._tensor([slot]),
                         self._tensor([len(tokens)]), *map(wrap, rules),
                         *self._kept(penalties)))

    def decode(self, tokens: list[int], positions: list[int], rules: Rules, kind: str,
               size: int, penalties: Penalties | None = None) -> list[int]:
        """Write one token for each of the first slots, and choose those that follow.

        Args:
            tokens, positions: of each slot.
            rules: of each slot.
            kind: one of `sampling.KINDS`.
            size: how much of the cache is read, above all positions.
            penalties: of each slot, if any has some; its prompt came with some, too.
        """
        graph = self._graph(("decode", len(tokens), size, kind), decode, penalties)
        chosen = graph(self.layers, self._tensor(tokens), self._tensor(positions),
                       *map(wrap, rules), *self._kept(penalties))
        return chosen._raw.tolist()

    def move(self, slot: int, to: int) -> None:
        """Copy what a slot holds to another one."""
        for kept in (self.history, *(kept for layer in self.layers for kept in layer)):
            kept._raw[to] = kept._raw[slot]

    def _kept(self, penalties: Penalties | None) -> list[Tensor]:
        """What a step with penalties is given in addition."""
        return [] if penalties is None else [self.history, *map(wrap, penalties)]

    def _graph(self, key: tuple[Any, ...], step: Callable[..., Tensor],
               penalties: Penalties | None) -> Callable[..., Tensor]:
        """The step of a size class, compiled once."""
        size, kind = key[-2:]
        key = key if penalties is None else (*key, "penalties")
        found = self.graphs.get(key)
        if found is None:
            net = self.net

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
    scores, (given, kept) = scores[:, -1], parts(rules)
    if kept:
        kept[0][:, :size].index_copy_(0, slot._raw, tokens._raw)
        scores = penalized(scores, tokens._raw, length._raw, Penalties(*kept[1:]))
    return wrap(choose(scores, length._raw, given, kind))


def decode(net: Callable[..., Tensor], size: int, kind: str, layers: list[Layer],
           tokens: Tensor, positions: Tensor, *rules: Tensor) -> Tensor:
    """The tokens after those given, (rows,), at their positions, (rows,); gives (rows,)."""
    new, place = tokens._raw, positions._raw
    cache = NextTokens(layers, place, size)
    scores, (given, kept) = net(wrap(new[:, None]), cache)._raw[:, -1], parts(rules)
    if kept:
        history = kept[0][:len(new), :size]
        history.scatter_(1, place[:, None], new[:, None])
        scores = penalized(scores, history, place + 1, Penalties(*kept[1:]))
    return wrap(choose(scores, place + 1, given, kind))


def parts(rules: tuple[Tensor, ...]) -> tuple[Rules, list[torch.Tensor]]:
    """The rules of sampling; the history and the penalties, or nothing."""
    raw = [rule._raw for rule in rules]
    count = len(Rules._fields)
    return Rules(*raw[:count]), raw[count:]
