"""How far the search for reachable objects goes; each recording may widen it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..guards.kinds import is_users, is_users_code
from ..guards.ran import not_found, was_read
from ..guards.reachable import Reachable
from ..guards.search import reachable_from_call
from ..tracing.trace import Trace


class Scope:
    """What earlier recordings of a function have taught about what it reads.

    Attributes:
        opened: by identity, the large containers that it may read, which are looked into.
        ran: the names of functions that ran though the search had not found them.
        lost: by its code, for each function that isn't found by its name either (a `property` in a
            dict holds it, or a ufunc), one that reads the same globals.
        by_name: whether Tensors in variables and globals are found by their names.
    """

    def __init__(self) -> None:
        self.opened: dict[int, Any] = {}
        self.ran: set[str] = set()
        self.lost: dict[types.CodeType, types.FunctionType] = {}
        self.by_name = False

    def reach(self, fn: Any, args: tuple, kwargs: dict, without: Any = None) -> Reachable:
        """The objects that a call can reach."""
        return reachable_from_call(fn, args, kwargs, self.ran, self.lost.values(),
                                   opened=self.opened, without=without, by_name=self.by_name)

    def covers(self, trace: Trace, again: Callable[[], Reachable]) -> bool:
        """Whether all that a run may have read was inspected; if not, the next search inspects it.

        Args:
            again: searches once more, with what is known then.
        """
        codes = trace.outside.codes
        read = was_read(trace.reach, codes)
        self.opened.update(read)  # the next recording looks into these containers
        unknown = not_found(trace.reach, codes)  # and for these functions
        ran = {code.co_name for code in unknown} - self.ran
        if ran:
            self.ran |= ran
            unknown = not_found(again(), unknown)
        lost = {code: _like(code, codes[code]) for code in unknown if code not in self.lost
                and is_users(codes[code].get("__name__")) and is_users_code(code)}
        self.lost.update(lost)
        return not (read or ran or lost)


def _like(code: types.CodeType, space: dict[str, Any]) -> types.FunctionType:
    """A function with this code, whose own variables have no values."""
    return types.FunctionType(code, space, code.co_name, None,
                              tuple([types.CellType() for _ in code.co_freevars]))
