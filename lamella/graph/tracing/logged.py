"""Log messages of a recorded run: written at once, and again at the end of every replay.

As for `print`, nothing but the log sees the text, as long as its handlers are those of Python or of
an installed package: a handler of the program's own may change what the program reads.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...core.state import state
from ...tensors.tensor import Tensor
from ..guards.kinds import ATOMS, is_users
from ..guards.replacement import Replacement
from .copies import copied
from .scalars import SymbolicScalar
from .texts import joined, parts_of_text, printing

_replaced = Replacement(logging.Logger, "_log")
# frames between the call of `findCaller` and that of a method of the logger, which it would count
_OWN_FRAMES = 1 if sys.version_info >= (3, 11) else 0


def _logged(self: logging.Logger, level: int, msg: Any, args: Sequence[Any], exc_info: Any = None,
            extra: Any = None, stack_info: bool = False, stacklevel: int = 1) -> None:
    trace = state.trace
    given = (msg, *args)
    pieces = {i: found for i, found in enumerate(map(parts_of_text, given)) if found is not None}
    if trace is not None and trace.outside.is_from_program(sys._getframe(1)):
        if not (exc_info or extra or stack_info) and _can_repeat(self, given):
            trace.outside.depend_once((_has_others_handlers, id(self)),
                                      functools.partial(_has_others_handlers, self))
            place = _place(self, stacklevel + _OWN_FRAMES)
            function: Any = functools.partial(_write, self, level, place)
            if pieces:
                function = functools.partial(printing, function, frozenset(pieces))
            trace.defer(function, tuple([pieces.get(i, arg) for i, arg in enumerate(given)]), {},
                        copied)
            return
        trace.refuse("writes to a log")
    msg, *rest = [joined(pieces[i]) if i in pieces else arg for i, arg in enumerate(given)]
    _replaced.original(self, level, msg, tuple(rest), exc_info, extra, stack_info, stacklevel + 1)


def _place(logger: logging.Logger, stacklevel: int) -> tuple[str, int, str]:
    """The file, the line and the function that a message comes from."""
    if not logging._srcfile:  # type: ignore[attr-defined]
        return "(unknown file)", 0, "(unknown function)"
    return logger.findCaller(False, stacklevel + 1)[:3]


def _write(logger: logging.Logger, level: int, place: tuple[str, int, str], msg: Any, *args: Any
           ) -> None:
    file, line, function = place
    logger.handle(logger.makeRecord(logger.name, level, file, line, msg, args, None, function))


def _can_repeat(logger: logging.Logger, given: Sequence[Any]) -> bool:
    """Whether a replay can write a message: its parts are values, and its handlers only write."""
    return all(map(_is_value, given)) and not _has_others_handlers(logger)


def _is_value(part: Any) -> bool:
    kind = type(part)
    if kind in (tuple, list):
        return all(map(_is_value, part))
    if kind is dict:
        return all(map(_is_value, (*part, *part.values())))
    return kind is Tensor or kind in ATOMS or isinstance(part, (SymbolicScalar, np.generic))


def _has_others_handlers(logger: logging.Logger) -> bool:
    """Whether a message may be handled by code of the program's own."""
    kind, found = type(logger), logger
    users: list[Any] = [*logger.filters]
    while found is not None:
        users += [part for handler in found.handlers for part in (handler, *handler.filters)]
        found = found.parent if found.propagate else None
    return (any(map(_is_programs, users)) or kind.handle is not logging.Logger.handle
            or kind.makeRecord is not logging.Logger.makeRecord
            or logging.getLogRecordFactory() is not logging.LogRecord)


def _is_programs(thing: Any) -> bool:
    """Whether a handler or a filter is of the program's own code."""
    kind = thing if hasattr(thing, "__code__") else type(thing)
    module = getattr(kind, "__module__", None)
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return is_users(module) and "-packages" not in file


def logs_recorded() -> AbstractContextManager[None]:
    """A block in which messages to logs are deferred by the run that this thread records."""
    return _replaced.by(_logged)
