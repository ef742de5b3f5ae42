"""Gradients summed over processes in few large buckets, while the backward pass runs.

The buckets and their order depend on the Parameters alone, so they are the same in every process,
in whatever order the backward pass computes the gradients, and even if it doesn't compute some.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch

from ..core.state import state
from . import exchange
from .groups import Group, beside

__all__ = ["LARGEST", "Reduction", "cut"]

LARGEST = 25 << 20  # bytes at which a bucket is full
_FIRST = 1 << 20  # of the first bucket, so that sending begins early


def cut(raws: Sequence[torch.Tensor | None], largest: int | None = None) -> list[list[int]]:
    """Which tensors share a bucket, by index; the last ones first, as backward passes reach them.

    Args:
        largest: bytes at which a bucket is full; default `LARGEST`.
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
    """The sums over a group of the gradients of one backward pass.

    Each gradient is copied to its bucket when it is computed, and its sum is a view of that bucket.
    Buckets are sent through a second communicator. That all processes have the same buckets is
    compared while the backward pass begins, and awaited before the first bucket is sent. So which
    exchanges a process has made by any line of the backward pass doesn't depend on how fast the
    others are, and if an error ends the pass there, the next exchanges are alike again.

    Args:
        name: the function that the program called, for errors.
        likes: a tensor of the shape and type of each gradient; None for one that isn't summed.
        group: the processes.
        divisor: what gradients are divided by when they are copied.
        largest: see `cut`.
    """

    def __init__(self, name: str, likes: Sequence[torch.Tensor | None], group: Group,
                 divisor: int = 1, largest: int | None = None):
        self.name, self.group, self.divisor = name, beside(group), divisor
        self.likes: Any = likes
        self.buckets = cut(likes, largest)
        self.bucket_of = {place: i for i, bucket in enumerate(self.buckets) for place in bucket}
        self.missing = [set(bucket) for bucket in self.buckets]
        self.flats: dict[int, torch.Tensor] = {}  # buckets that are being filled
        self.gradients: dict[int, torch.Tensor] = {}  # gradients, by index
        self.sums: list[torch.Tensor] = []
        self.compared: torch.Tensor | None = None
        if self.buckets:
            plan = f"sums of {len(self.buckets)} buckets, {self._digest()}"
            self.compared = exchange.begin_comparison(name, [], plan, self.group)

    def ready(self, place: int, raw: torch.Tensor) -> torch.Tensor | None:
        """Add a computed gradient; a bucket is sent when it and those before it are full.

        Returns:
            The part of the bucket that holds the gradient and will hold its sum; None if the
            gradient isn't copied.
        """
        number = self.bucket_of.get(place)
        if number is None:
            return None
        copy = self._put(number, place, raw)
        while len(self.sums) < len(self.buckets) and not self.missing[len(self.sums)]:
            self._send()
        return copy

    def _put(self, number: int, place: int, raw: torch.Tensor) -> torch.Tensor | None:
        """Copy a gradient to its bucket.

        In a recording, the gradients of a bucket are concatenated instead when all are computed,
        since no stage of a graph changes memory of another stage.
        """
        self.missing[number].remove(place)
        if state.trace is not None:
            self.gradients[place] = raw
            return None
        bucket = self.buckets[number]
        if number not in self.flats:
            likes = [self.likes[each] for each in bucket]
            flat = likes[0].new_empty(sum(like.numel() for like in likes))
            self.flats[number] = flat
            self.gradients.update(zip(bucket, _views(flat, likes), strict=True))
        copy = self.gradients[place]
        if self.divisor == 1:
            return copy.copy_(raw.detach())
        return torch.div(raw.detach(), self.divisor, out=copy)

    def _send(self) -> None:
        if self.compared is not None:
            exchange.end_comparison(self.name, self.compared, self.group)
            self.compared = None
        number = len(self.sums)
        raws = [self.gradients.pop(place) for place in self.buckets[number]]
        flat = self.flats.pop(number, None)
        if flat is None:
            flat = torch.cat([raw.detach().reshape(-1) for raw in raws])
            if self.divisor != 1:
                flat = flat.div_(self.divisor)
        self.sums.append(exchange.begin_sum(self.name, flat, self.group))

    def _digest(self) -> str:
        """A checksum of which gradients are in which bucket."""
        forms = [[(like.dtype, tuple(like.shape)) for like in map(self.likes.__getitem__, bucket)]
                 for bucket in self.buckets]
        return f"{zlib.crc32(repr(forms).encode()):08x}"

    def finish(self, raws: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The sums, after all buckets have been exchanged.

        Args:
            raws: all gradients, including those that `ready` was called with.
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
    """The parts of a bucket, as tensors of the shapes of `likes`."""
    pieces = flat.split([like.numel() for like in likes])
    return [piece.view(like.shape) for piece, like in zip(pieces, likes, strict=True)]
