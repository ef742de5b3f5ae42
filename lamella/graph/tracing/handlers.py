"""Whether a program may catch an error that is raised below it."""

from __future__ import annotations

import dis
import functools
from types import CodeType, FrameType

from .outside import USERS, origin_of

# where a handler begins: of `except`, `finally` or `with` (before Python 3.11 where its block does)
_HANDLERS = frozenset(("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH"))


def may_be_caught(frame: FrameType | None, until: str) -> bool:
    """Whether an error raised in a frame may be caught by the program's code.

    Lamella's own code catches errors, too, but none that depend on the values of Tensors.

    Args:
        frame: the innermost frame that the error leaves.
        until: the file of the code that called the program.
    """
    while frame is not None and frame.f_code.co_filename != until:
        if origin_of(frame.f_code.co_filename) == USERS and _has_handler(frame.f_code):
            return True
        frame = frame.f_back
    return frame is None  # it was called in a way that can't be seen


@functools.lru_cache(1024)
def _has_handler(code: CodeType) -> bool:
    return any(instruction.opname in _HANDLERS for instruction in dis.get_instructions(code))
