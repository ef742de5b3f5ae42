"""Tracebacks that end at the user's line: frames of Lamella are left out where an error is shown.

An error keeps its traceback and its cause. Only what shows an uncaught one (the interpreter, a
thread's end, a notebook) is given a shorter form: of each run of frames between two lines of the
user's program, those are left out that have a frame of Lamella among them, and an error of a kernel
that Lamella explains isn't printed in front of the explanation. So neither an operator nor a call
of a Cell pays for it. With ``LAMELLA_TRACEBACK=full`` in the environment everything is shown.
"""

from __future__ import annotations

import functools
import opcode
import os
import pathlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

import torch

PACKAGE = str(pathlib.Path(__file__).resolve().parents[1])
_OURS = PACKAGE + os.sep
_STANDARD, _TORCH = (os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep
                     for module in (os, torch))
_INSTALLED = ("site-packages", "dist-packages")
# packages that Lamella calls, whose frames below a frame of Lamella's aren't the user's program
_CALLED = ("numpy", "scipy", "PIL", "cv2", "safetensors", "onnx", "onnxscript", "onnx_ir", "tqdm",
           "rich", "typer", "click", "tokenizers", "jieba", "sentencepiece", "soundfile", "av")
_MADE = ("<frozen", "<eval_with_key", "<string>")
_RAISE = opcode.opmap["RAISE_VARARGS"]
_HINT = ("This comes from inside of Lamella; LAMELLA_TRACEBACK=full in the environment shows "
         "where.")
_STARTER = f"{__name__.partition('.')[0]}.commands.cli"  # `lamella run` starts the program there


@functools.lru_cache(maxsize=4096)
def origin(file: str) -> str:
    """Whose code a file holds: "lamella", "torch", "other" (Python's, or made) or "user"."""
    if file.startswith(_MADE):
        return "other"
    if file.startswith("<"):
        return "user"  # typed at a prompt
    file = os.path.abspath(file)
    if file.startswith(_OURS):
        return "lamella"
    if file.startswith(_TORCH):
        return "torch"
    installed = next((part for part in _INSTALLED if part in file), "")
    if installed:
        package = file.rpartition(installed + os.sep)[2].partition(os.sep)[0]
        return "other" if package in _CALLED else "user"
    return "other" if file.startswith(_STANDARD) else "user"


def user_stacklevel() -> int:
    """The `stacklevel` for `warnings.warn` that names the innermost line of the user's program."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and not _is_users(frame):
        level, frame = level + 1, frame.f_back
    return level


def _is_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file == "<string>":  # of python -c; else made by a library
        return frame.f_globals.get("__name__") == "__main__"
    return origin(file) == "user"


def _is_ours(frame: FrameType) -> bool:
    return origin(frame.f_code.co_filename) == "lamella"


def folded(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without Lamella's frames, and what lies between them and the user's lines.

    Returns:
        None if it has no line of the user's.
    """
    kept: list[TracebackType] = []
    between: list[TracebackType] = []
    found = False
    for step in _steps(traceback):
        if step.tb_frame.f_globals.get("__name__") == _STARTER:  # the command, not the program
            kept, between, found = [], [step], False
        elif not _is_users(step.tb_frame):
            between.append(step)
        else:
            kept += [*_unless_ours(between), step]
            between, found = [], True
    if not found:
        return None
    rest: TracebackType | None = None
    for step in reversed([*kept, *_unless_ours(between)]):
        rest = TracebackType(rest, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return rest


def _unless_ours(steps: list[TracebackType]) -> list[TracebackType]:
    return [] if any(_is_ours(step.tb_frame) for step in steps) else steps


@contextmanager
def shown_folded(error: BaseException) -> Iterator[None]:
    """A block in which an error, and those that it came from, have the shorter form."""
    full = os.environ.get("LAMELLA_TRACEBACK") == "full"
    before = [] if full else [
        (one, one.__traceback__, one.__cause__, one.__context__, one.__suppress_context__)
        for one in _chain(error)]
    # Python 3.10 has no notes
    hinted: Any = error if before and _is_a_surprise(error) and hasattr(error, "add_note") else None
    try:
        if hinted is not None:
            hinted.add_note(_HINT)
        shorter = [(one, folded(traceback), *_visible(cause, context, suppressed))
                   for one, traceback, cause, context, suppressed in before]
        for one, traceback, cause, context in shorter:
            if traceback is not None or isinstance(one, SyntaxError):  # which names its own line
                one.__traceback__ = traceback
            one.__cause__, one.__context__ = cause, context
            one.__suppress_context__ = context is None
        yield
    finally:
        for one, traceback, cause, context, suppressed in before:
            one.__traceback__ = traceback
            one.__cause__, one.__context__ = cause, context
            one.__suppress_context__ = suppressed
        if hinted is not None:
            hinted.__notes__.remove(_HINT)


def _visible(cause: BaseException | None, context: BaseException | None,
             suppressed: bool) -> tuple[BaseException | None, BaseException | None]:
    """The cause and the context to show: not those that Lamella caught from its kernels."""
    if cause is not None and not _is_internal(cause):
        return cause, None
    step = cause if cause is not None else None if suppressed else context
    while step is not None and _is_internal(step):
        step = step.__cause__ or (None if step.__suppress_context__ else step.__context__)
    return None, step


def _chain(error: BaseException | None) -> list[BaseException]:
    """An error and all that it came from, each once."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and all(one is not other for other in found):
            found.append(one)
            waiting += [one.__cause__, one.__context__]
    return found


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_internal(error: BaseException) -> bool:
    """Whether an error was raised and caught in Lamella, without a line of the user's between."""
    traceback = error.__traceback__
    return (traceback is not None and _is_ours(traceback.tb_frame)
            and not any(_is_users(step.tb_frame) for step in _steps(traceback)))


def _is_a_surprise(error: BaseException) -> bool:
    """Whether Lamella's own code failed, instead of raising an error on purpose."""
    steps = list(_steps(error.__traceback__))
    if isinstance(error, SyntaxError) or not isinstance(error, Exception):
        return False
    if not any(_is_ours(step.tb_frame) for step in steps):
        return False
    last = steps[-1]
    return (not _is_users(last.tb_frame)
            and last.tb_frame.f_code.co_code[last.tb_lasti] != _RAISE)


def install() -> None:
    """Have uncaught errors shown folded: by the interpreter, in threads and in a notebook."""
    if not hasattr(sys.excepthook, "folds"):
        sys.excepthook = _hook(sys.excepthook)
    if not hasattr(threading.excepthook, "folds"):
        threading.excepthook = _thread_hook(threading.excepthook)
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _show_in_notebook)


def _hook(shown: Callable[..., Any]) -> Callable[..., Any]:
    def excepthook(kind: type[BaseException], error: BaseException,
                   traceback: TracebackType | None) -> None:
        if error.__traceback__ is None:
            error = error.with_traceback(traceback)
        with shown_folded(error):
            shown(kind, error, error.__traceback__)

    setattr(excepthook, "folds", True)  # noqa: B010
    return excepthook


def _thread_hook(shown: Callable[..., Any]) -> Callable[..., Any]:
    def excepthook(given: Any, /) -> None:
        if given.exc_value is None:
            return shown(given)
        with shown_folded(given.exc_value):
            return shown(threading.ExceptHookArgs((given.exc_type, given.exc_value,
                                                   given.exc_value.__traceback__, given.thread)))

    setattr(excepthook, "folds", True)  # noqa: B010
    return excepthook


def _show_in_notebook(shell: Any, kind: type[BaseException], error: BaseException, traceback: Any,
                      tb_offset: int | None = None) -> None:
    """What IPython calls instead of showing an error itself."""
    with shown_folded(error):
        shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
