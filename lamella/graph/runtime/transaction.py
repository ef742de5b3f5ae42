"""A run of a graph that can be rolled back, so that the function may run from its start instead."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...communication.repeated import Attempt
from ..ir.streams import put_back


class Transaction:
    """A run of a graph that can be rolled back until it changes its inputs.

    Args:
        streams: the generators that it draws from.
        exchanges: whether other processes take part. If it is rolled back, the results of exchanges
            are kept for the run that follows.
    """

    def __init__(self, streams: Sequence[torch.Generator], exchanges: bool):
        self._streams, self._positions = streams, [s.get_state() for s in streams]
        self._attempt = Attempt() if exchanges else None
        self._copies: list[tuple[torch.Tensor, torch.Tensor]] = []

    @property
    def stays_open(self) -> bool:
        """Whether it can be rolled back after it was closed."""
        return bool(self._copies)

    def close(self, undone: Sequence[torch.Tensor]) -> None:
        """The guards hold, and inputs are changed from now on; with copies of these it stays open.
        """
        self._copies = [(value, value.clone()) for value in undone]
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


UNDONE_BY_ITSELF = Transaction((), False)  # of a run that draws and exchanges nothing
