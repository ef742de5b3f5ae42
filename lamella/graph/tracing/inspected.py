"""Checks that a run which will be undone uses only objects that were searched before it."""

from __future__ import annotations

from types import CodeType

from ..guards.ran import uninspected
from ..guards.reachable import Reachable
from .refusals import CannotTrace, Cause


class Inspection:
    """Called with each of the program's functions before it runs for the first time.

    Args:
        reach: the objects that were inspected.

    Raises:
        CannotTrace: by a call, if the function may change anything else.
    """

    def __init__(self, reach: Reachable):
        self._is_unknown = uninspected(reach)
        self._failed = False

    def __call__(self, code: CodeType) -> None:
        if self._is_unknown(code):
            self._failed = True
            raise CannotTrace(f"runs {code.co_name!r}, which may use objects that weren't found "
                              f"before the run", Cause.NOT_INSPECTED)

    def check(self) -> None:
        """Raise the error again, if the program has caught it."""
        if self._failed:
            raise CannotTrace("uses objects that weren't found before the run", Cause.NOT_INSPECTED)
