"""A cache entry: a recorded graph, and the state of the program for which it holds."""

from __future__ import annotations

from typing import NamedTuple

from ..guards.fingerprint import Fingerprint
from ..guards.guard import Guard
from .replay import Replay


class CacheEntry(NamedTuple):
    """A graph, and what it holds for.

    Attributes:
        guard: what the function can reach; several entries may share it.
        fingerprint: that of the recording.
        replay: the graph, prepared for replay.
    """

    guard: Guard
    fingerprint: Fingerprint
    replay: Replay

    def holds(self) -> bool:
        """Whether everything that the function can reach is as it was in the recording."""
        return self.guard.fingerprint() == self.fingerprint
