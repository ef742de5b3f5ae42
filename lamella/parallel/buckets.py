"""Gradients added up over processes in few large messages, while the backward pass goes on.

The messages and their order are made from the Parameters alone, so they are the same in every
process, whatever gradients come first, or don't come at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..communication import exchange
from ..communication.groups import Group

__all__ = ["LARGEST", "Reduction", "cut"]

LARGEST = 25 << 20  # bytes of one message; small gradients travel together
_FIRST = 1 << 20  # of the first, so that something travels soon


def cut(raws: Sequence[torch.Tensor | None]) -> list[list[int]]:
    """Which tensors travel together, as their places; the last ones first, as backward passes
    reach them."""
    found: list[list[int]] = []
    size, limit, kind = 0, _FIRST, None
    for place in reversed(range(len(raws))):
        raw = raws[place]
        if raw is None:
            continue
        if raw.dtype is not kind or size + raw.nbytes > limit:
            limit = _FIRST if not found else LARGEST
            found.append([])
            size, kind = 0, raw.dtype
        found[-1].append(place)
        size += raw.nbytes
    return found


class Reduction:
    """The gradients of one backward pass, on their way to their sums over a group.

    Args:
        name: the function that the program called, for errors.
        likes: a tensor of the shape and type of each gradient; None for one that is left alone.
        group: the processes.
        divisor: what sums are divided by.
    """

    def __init__(self, name: str, likes: Sequence[torch.Tensor | None], group: Group,
                 divisor: int = 1):
        self.name, self.group, self.divisor = name, group, divisor
        self.likes: Any = likes
        self.buckets = cut(likes)
        self.bucket_of = {place: i for i, bucket in enumerate(self.buckets) for place in bucket}
        self.missing = [len(bucket) for bucket in self.buckets]
        self.flats: list[torch.Tensor | None] = [None] * len(self.buckets)
        self.parts: dict[int, torch.Tensor] = {}
        self.waits: list[Callable[[], torch.Tensor]] = []

    def ready(self, place: int, raw: torch.Tensor) -> None:
        """A gradient is there: it is sent as soon as those that travel with it, or before it,
        are there too."""
        number = self.bucket_of.get(place)
        if number is None:
            return
        self._part(place).copy_(raw.detach())
        self.missing[number] -= 1
        while len(self.waits) < len(self.buckets) and not self.missing[len(self.waits)]:
            self._send()

    def _part(self, place: int) -> torch.Tensor:
        """The memory of a gradient in the message that it travels in."""
        if place not in self.parts:
            number = self.bucket_of[place]
            bucket = self.buckets[number]
            likes = [self.likes[i] for i in bucket]
            flat = likes[0].new_empty(sum(like.numel() for like in likes))
            self.flats[number] = flat
            pieces = flat.split([like.numel() for like in likes])
            for i, like, piece in zip(bucket, likes, pieces, strict=True):
                self.parts[i] = piece.view(like.shape)
        return self.parts[place]

    def _send(self) -> None:
        flat = self.flats[len(self.waits)]
        assert flat is not None  # `ready` or `finish` made it
        self.waits.append(exchange.begin_sum(self.name, flat, self.group))

    def finish(self, raws: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The sums, when all have come.

        Args:
            raws: all gradients; those that `ready` was told of are there already.
        """
        for number, bucket in enumerate(self.buckets):
            if len(self.waits) > number:
                continue
            for place in bucket:
                self._part(place).copy_(raws[place].detach())
            self._send()
        found = list(raws)
        for number, (bucket, wait) in enumerate(zip(self.buckets, self.waits, strict=True)):
            flat, total = self.flats[number], wait()
            if self.divisor != 1:
                total = total.div_(self.divisor)
            if total is not flat:  # a type that is converted to be added up
                pieces = total.split([self.likes[i].numel() for i in bucket])
                self.parts.update((i, piece.view(self.likes[i].shape))
                                  for i, piece in zip(bucket, pieces, strict=True))
            for place in bucket:
                found[place] = self.parts[place]
        return found
