"""A run of a graph that can be rolled back, so that the function may run from its start instead."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...communication.repeated import Attempt
from ..ir.streams import put_back


class Transaction:
    """A run of a graph, which can be rolled back as long as it is open.

    Args:
        streams: the generators that it draws from.
        exchanges: whether other processes take part. If it is rolled back, the results of exchanges
            are kept for the run that follows.

    Attributes:
        is_open: whether it can be rolled back.
    """

    __slots__ = ("is_open", "_streams", "_positions", "_attempt", "_copies")

    def __init__(self, streams: Sequence[torch.Generator], exchanges: bool):
        self.is_open = True
        self._streams, self._positions = streams, [s.get_state() for s in streams]
        self._attempt = Attempt() if exchanges else None
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []

    def close(self, undone: Sequence[torch.Tensor]) -> None:
        """The guards hold, and what follows changes inputs: these are copied to leave it open."""
        self._copies = [(value, value.clone()) for value in undone]
        self.is_open = bool(self._copies)
        if self._attempt is not None:
            self._attempt.hold()

    def roll_back(self) -> None:
        """Undo what the run has changed."""
        for value, copy in self._copies:
            value.copy_(copy)
        put_back(self._streams, self._positions)
        if self._attempt is not None:
            self._attempt.miss()

    def end(self) -> None:
        """The run has ended, or has failed after it was closed."""
        if self._attempt is not None:
            self._attempt.end()
