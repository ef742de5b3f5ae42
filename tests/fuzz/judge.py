"""Judges the outcome of a call: an answer, a clear error, or one that exposes internals."""

from __future__ import annotations

import dis
import re
import traceback
from types import TracebackType

FINE = "ok"  # an answer
CLEAR = "clear"  # an error that Lamella wrote
SIGNATURE = "signature"  # Python's own: wrong number or names of arguments
MEMORY = "memory"
GIVEN = "given"  # an error of a function or Cell that the call was given
KERNEL = "kernel"  # an error that shows PyTorch's own text
INSIDE = "inside"  # an error of Lamella's own code, such as AttributeError
RAW = "raw"  # an error that PyTorch raised, as it is
CRASH, HANG = "crash", "hang"
KINDS = (FINE, CLEAR, SIGNATURE, GIVEN, MEMORY, KERNEL, INSIDE, RAW, CRASH, HANG)
BAD = (KERNEL, INSIDE, RAW, CRASH, HANG)

_RAISES = dis.opmap["RAISE_VARARGS"]
_MEMORY = ("allocate", "MemoryError", "not enough memory", "overflow", "too large", "bad_alloc",
           "exceeds the maximum", "Invalid size", "invalid size")
_BINDING = re.compile(r"^[\w.<>]+\(\) (missing|takes|got (an? )?(unexpected|multiple|some)|"
                      r"argument after)|^\w+\(\) takes no arguments")
_LOCATION = re.compile(r"^(\[enforce fail.*?\] .*?\. )?((torch\.)?[\w.]+(\(\))?: (?=\w))?")


def judge(error: BaseException) -> str:
    """The kind of an error that a call raised."""
    text = str(error)
    if isinstance(error, MemoryError) or any(word in text for word in _MEMORY):
        return MEMORY
    deliberate = _is_raised_on_purpose(error)
    cause = error.__cause__
    if deliberate and cause is not None and not _is_raised_on_purpose(cause):
        shown = _LOCATION.sub("", str(cause).split("\n")[0]).rstrip(".")
        if len(shown) > 12 and shown in text and not _BINDING.match(shown):  # those are Python's
            return KERNEL
    if deliberate:
        return CLEAR
    if isinstance(error, TypeError) and _BINDING.match(text):
        return SIGNATURE
    if _is_of_an_example(error):
        return GIVEN
    return RAW if _is_from_torch(error) else INSIDE


def _last(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _is_raised_on_purpose(error: BaseException) -> bool:
    """Whether a `raise` of Lamella's raised it, rather than something that was called."""
    last = _last(error.__traceback__)
    if last is None or "/torch/" in last.tb_frame.f_code.co_filename:
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISES


def _is_of_an_example(error: BaseException) -> bool:
    """Whether code of a docstring's example raised it, whose file is called as the function is."""
    last = _last(error.__traceback__)
    return last is not None and "/" not in last.tb_frame.f_code.co_filename


def _is_from_torch(error: BaseException) -> bool:
    last = _last(error.__traceback__)
    if last is not None and "/torch/" in last.tb_frame.f_code.co_filename:
        return True
    return isinstance(error, (RuntimeError, IndexError)) or (
        isinstance(error, (TypeError, ValueError)) and "Tensor" in str(error))


def place(error: BaseException) -> str:
    """The innermost line of Lamella's that an error went through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/lamella/" in f.filename]
    if not frames:
        return ""
    return f"{frames[-1].filename.rpartition('/lamella/')[2]}:{frames[-1].lineno}"


