"""Gradients summed over processes in few large messages, while the backward pass runs.

The messages and their order are made from the Parameters alone, so they are the same in every
process, whatever gradients come first, or don't come at all.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch

from ..communication import exchange
from ..communication.groups import Group, beside
from ..state import state

__all__ = ["LARGEST", "Reduction", "cut"]

LARGEST = 25 << 20  # bytes at which a message is full; small gradients travel together
_FIRST = 1 << 20  # of the first message, so that sending begins early


def cut(raws: Sequence[torch.Tensor | None], largest: int | None = None) -> list[list[int]]:
    """Which tensors share a message, by their places; the last ones first, as backward passes
    reach them.

    Args:
        largest: bytes at which a message is full; default `LARGEST`.
    """
    found: list[list[int]] = []
    size, limit, kind = 0, 0, None
    largest = largest or LARGEST
    for place in reversed(range(len(raws))):
        raw = raws[place]
        if raw is None:
            continue
        if raw.dtype is not kind or size >= limit:
            limit = largest if found else min(largest, _FIRST)
            found.append([])
            size, kind = 0, raw.dtype
        found[-1].append(place)
        size += raw.nbytes
    return found


class Reduction:
    """The gradients of one backward pass, on their way to their sums over a group.

    Each is copied to its place in a message when it comes, and what it sums up to is a view of that
    message. They travel beside the group's other exchanges. That all processes have the same
    messages is compared while the backward pass begins.

    Args:
        name: the function that the program called, for errors.
        likes: a tensor of the shape and type of each gradient; None for one that is left alone.
        group: the processes.
        divisor: what gradients are divided by, on their way into the messages.
        largest: see `cut`.
    """

    def __init__(self, name: str, likes: Sequence[torch.Tensor | None], group: Group,
                 divisor: int = 1, largest: int | None = None):
        self.name, self.group, self.divisor = name, beside(group), divisor
        self.likes: Any = likes
        self.buckets = cut(likes, largest)
        self.bucket_of = {place: i for i, bucket in enumerate(self.buckets) for place in bucket}
        self.missing = [set(bucket) for bucket in self.buckets]
        self.flats: dict[int, torch.Tensor] = {}  # messages that are being filled
        self.came: dict[int, torch.Tensor] = {}  # gradients, by place
        self.sums: list[torch.Tensor] = []
        self.compared: torch.Tensor | None = None
        if self.buckets:
            plan = f"sums of {len(self.buckets)} messages, {self._digest()}"
            self.compared = exchange.begin_comparison(name, [], plan, self.group)

    def ready(self, place: int, raw: torch.Tensor) -> torch.Tensor | None:
        """A gradient is there: it is sent as soon as those that travel with it, or before it,
        are there too.

        Returns:
            The memory that it has now, and its sum will have; None if it keeps its own.
        """
        number = self.bucket_of.get(place)
        if number is None:
            return None
        copy = self._put(number, place, raw)
        if self.compared is None or state.trace is not None or exchange.has_finished(self.compared):
            while len(self.sums) < len(self.buckets) and not self.missing[len(self.sums)]:
                self._send()
        return copy

    def _put(self, number: int, place: int, raw: torch.Tensor) -> torch.Tensor | None:
        """Put a gradient in its message. A graph joins its message when all have come: no part of
        a graph changes memory of another one."""
        self.missing[number].remove(place)
        if state.trace is not None:
            self.came[place] = raw
            return None
        bucket = self.buckets[number]
        if number not in self.flats:
            likes = [self.likes[each] for each in bucket]
            flat = likes[0].new_empty(sum(like.numel() for like in likes))
            self.flats[number] = flat
            self.came.update(zip(bucket, _views(flat, likes), strict=True))
        copy = self.came[place]
        if self.divisor == 1:
            return copy.copy_(raw.detach())
        return torch.div(raw.detach(), self.divisor, out=copy)

    def _send(self) -> None:
        if self.compared is not None:
            exchange.end_comparison(self.name, self.compared, self.group)
            self.compared = None
        number = len(self.sums)
        raws = [self.came.pop(place) for place in self.buckets[number]]
        flat = self.flats.pop(number, None)
        if flat is None:
            flat = torch.cat([raw.detach().reshape(-1) for raw in raws])
            if self.divisor != 1:
                flat = flat.div_(self.divisor)
        self.sums.append(exchange.begin_sum(self.name, flat, self.group))

    def _digest(self) -> str:
        """A checksum of which gradients are in which message."""
        forms = [[(like.dtype, tuple(like.shape)) for like in map(self.likes.__getitem__, bucket)]
                 for bucket in self.buckets]
        return f"{zlib.crc32(repr(forms).encode()):08x}"

    def finish(self, raws: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The sums, after all messages have arrived.

        Args:
            raws: all gradients; those that `ready` was told of are there already.
        """
        while len(self.sums) < len(self.buckets):
            number = len(self.sums)
            for place in sorted(self.missing[number]):
                self._put(number, place, raws[place])
            self._send()
        found = list(raws)
        for bucket, pending in zip(self.buckets, self.sums, strict=True):
            likes = [self.likes[place] for place in bucket]
            total = exchange.end_sum(self.name, pending, likes[0].dtype, self.group)
            for place, view in zip(bucket, _views(total, likes), strict=True):
                found[place] = view
        return found


def _views(flat: torch.Tensor, likes: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """A message as tensors of the shapes of `likes`."""
    pieces = flat.split([like.numel() for like in likes])
    return [piece.view(like.shape) for piece, like in zip(pieces, likes, strict=True)]
