"""The reasons why a run can't be a graph, and the exception that ends a run to be undone."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Cause(enum.Enum):
    """What a refusal means for the next call."""

    ALWAYS = "the function does so in each run"
    RARE = "the next run is unlikely to do so"
    ERROR = "it has caught an error of a kernel, which may be rare"
    NEW_OBJECT = "an object stays that the run has made, such as when it is first needed"
    DRAW = "it draws from generators that are not Lamella's, which a dry run can repeat"
    LATE_GUARD = "a guard is known only after what it depends on has been changed"
    NOT_INSPECTED = "the snapshot lacks what a run to be undone may change: a real run comes first"
    DRY = "what runs for its kernels alone would have a side effect"


class Refusal(NamedTuple):
    """Why a run is no graph.

    Attributes:
        what: what the function does, for messages.
    """

    what: str
    cause: Cause = Cause.ALWAYS

    def __str__(self) -> str:
        return self.what


class CannotTrace(BaseException):
    """The function does something that no graph can hold, which the message names.

    A real run continues eagerly after a refusal (`Trace.refuse`). This exception ends a run that is
    undone (a dry run, one on fake tensors) in the middle of the program's own code, whose
    ``except Exception`` must not catch it. It also ends the preparation of a graph after a run.
    """

    def __init__(self, what: str, cause: Cause = Cause.ALWAYS):
        super().__init__(what)
        self.cause = cause

    @property
    def refusal(self) -> Refusal:
        """The reason as a result."""
        return Refusal(str(self), self.cause)
