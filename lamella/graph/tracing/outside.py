"""Side effects of a run, detected from the calls that Python reports to a profiler.

If the program calls a function written in C that isn't in the table of pure functions (`purity`),
no graph can hold the run. Calls that Lamella and PyTorch make themselves don't count: they are
passed over in C++ (`outside.cpp`) where that has been built.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import inspect
import logging
import os
import pathlib
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator
from types import CodeType, FrameType
from typing import Any

import numpy as np
import torch

from ...core.outside import is_outside
from ...machine import collector
from ...machine.extension import Extension
from ..guards.arithmetic import NUMPY
from .purity import is_pure, is_pure_library, name_of, reads_a_setting

_PACKAGE = str(pathlib.Path(__file__).resolve().parents[2]) + os.sep
_NAME = __name__.partition(".")[0]
_TORCH, _NUMPY, _STANDARD = (os.path.dirname(os.path.abspath(str(m.__file__))) + os.sep
                             for m in (torch, np, os))
_INSTALLED = ("site-packages", "dist-packages")
# PyTorch's own files with functions that say or change how it is set: part of their callers
_OF_SETTINGS = tuple(_TORCH + name for name in (
    "__init__.py", "random.py", "backends" + os.sep, os.path.join("cuda", "random.py")))
# packages that PyTorch itself calls
_UNDER_TORCH = tuple(f"{os.sep}{name}{os.sep}" for name in (
    "sympy", "mpmath", "networkx", "filelock", "fsspec", "jinja2", "torchgen"))

extension = Extension("lamella_outside", pathlib.Path(__file__).with_name("outside.cpp"))

OURS, TRANSPARENT, USERS = range(3)
_SWITCHES_FAST = sys.version_info < (3, 12)  # whether a profiler is set and removed in no time

_of_environment = type(os.environ)
# functions whose results are guarded: every replay calls them again
_ENABLED = logging.Logger.isEnabledFor.__code__
_SHOWN = (warnings.WarningMessage.__init__.__code__,  # in this order, where a warning is shown
          warnings._showwarnmsg.__code__)  # type: ignore[attr-defined]
_exception = getattr(sys, "exception", None)  # from Python 3.11 on
_LOCKS = type(threading.Lock()), type(threading.RLock())
_OF_ERRSTATE = (np.errstate.__enter__.__code__.co_filename, ("__enter__", "__exit__", "inner"))
_QUERIES = {_ENABLED, abc.ABCMeta.__instancecheck__.__code__,
            abc.ABCMeta.__subclasscheck__.__code__}
# functions of Python's library whose side effects their C functions don't show
_PROPERTY = functools.cached_property.__get__.__code__
_EFFECTS: dict[CodeType, str] = {
    logging.Logger._log.__code__: "writes to a log",
    _of_environment.__getitem__.__code__: "reads the environment",
    _of_environment.__iter__.__code__: "reads the environment",
    _of_environment.__len__.__code__: "reads the environment",
    _of_environment.__setitem__.__code__: "changes the environment",
    _of_environment.__delitem__.__code__: "changes the environment"}


def origin_of(file: str) -> int:
    """The origin of a file's code: Lamella or PyTorch, a library that counts as part of its caller,
    or the user."""
    module = _module_of(file)
    if module is None:
        return _origin_elsewhere(file)
    return TRANSPARENT if is_outside(module) else OURS


@functools.cache
def _module_of(file: str) -> str | None:
    """The name of Lamella's module in a file; None for the files of others."""
    if file.startswith("<") or not (file := os.path.abspath(file)).startswith(_PACKAGE):
        return None
    parts = pathlib.Path(file[len(_PACKAGE):]).with_suffix("").parts
    return ".".join((_NAME, *(parts[:-1] if parts[-1] == "__init__" else parts)))


@functools.cache
def _origin_elsewhere(file: str) -> int:
    if file.startswith("<"):
        return USERS if file[:6] in ("<stdin", "<ipyth") or file == "<console>" else TRANSPARENT
    file = os.path.abspath(file)
    if file.startswith(_OF_SETTINGS):
        return TRANSPARENT
    if file.startswith(_TORCH) or any(name in file for name in _UNDER_TORCH) and any(
            part in file for part in _INSTALLED):
        return OURS
    if file.startswith(_NUMPY):
        return TRANSPARENT
    if file.startswith(_STANDARD) and not any(part in file for part in _INSTALLED):
        return TRANSPARENT
    if os.path.basename(file) == "typing_extensions.py":  # called by the standard `typing`
        return TRANSPARENT
    return USERS


class Outside:
    """A block in which `refuse` is called with each side effect of this thread, before it happens.

    Attributes:
        codes: the user's code objects that ran, each with its globals.
        queries: functions of Python, logs and settings, each with its result at the recording.
        warned: whether a warning was shown; most are shown once only.
        is_apart: whether the run is undone, so that no warning may be shown.
        meets: called with the user's code that runs for the first time, before it runs.
    """

    def __init__(self, refuse: Callable[[str], None]):
        self.codes: dict[CodeType, dict[str, Any]] = {}
        self.queries: list[tuple[Callable[[], Any], Any]] = []
        self.warned = self.is_apart = False
        self.meets: Callable[[CodeType], None] = _passes
        self._refuse = refuse
        self._asked: set[Hashable] = set()  # what is in `queries`
        self._origins: dict[int, int] = {}  # by identity: code's hash is slow
        self._met: list[CodeType] = []  # code in there, kept alive
        self._before: Any = None
        self._of_numpy: Any = None
        self._handled: BaseException | None = None  # by the caller of the program's function
        self._active = False
        self._is_paused = False
        # kept alive: Python holds no reference while it calls it
        built = extension.load()
        self._profiler: Any = (_quick(self._origins.get, self._event) if built is None else
                               (self._event, self._is_ours, built.known()))
        self._set: Any = _set_profiler if built is None else built.enable

    def __enter__(self) -> Outside:
        self._before, self._of_numpy = sys.getprofile(), NUMPY.held()
        self._handled = sys.exc_info()[1]
        self._active = True
        collector.pause()  # finalizers are no part of a run
        _set_profiler(self._profiler)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._active and NUMPY.held() != self._of_numpy:
            self._refuse("changes how NumPy treats errors")
        self.stop()

    def stop(self) -> None:
        """Detect nothing from now on."""
        if self._active:
            self._active = False
            _set_profiler(self._before)
            collector.resume()

    def pause(self) -> None:
        """Detect nothing while one of PyTorch's kernels is recorded, until `resume`.

        Recording one makes some 150 events. From Python 3.12 on, switching them off and on costs
        more than they do. They aren't the program's either way: what PyTorch does in a kernel, such
        as importing a module, is no side effect, and must not be interrupted.
        """
        self._is_paused = True
        if self._active and _SWITCHES_FAST:
            sys.setprofile(None)

    def resume(self) -> None:
        """Detect side effects again, unless it was stopped."""
        self._is_paused = False
        if self._active and _SWITCHES_FAST:
            self._set(self._profiler)

    def _event(self, frame: FrameType, event: str, arg: Any) -> None:
        if self._is_paused:
            return
        code = frame.f_code
        kind = self._origins.get(id(code))
        if kind is None:
            kind = self._origin(code)
        if not kind or not self._active:  # ours
            return
        if event == "call":
            if kind == USERS:
                if code not in self.codes and not _is_importing(frame):
                    if _log_around(frame) is None or self._caller(frame.f_back)[0] == USERS:
                        self.meets(code)
                    self.codes[code] = frame.f_globals
                    if "__hash__" in code.co_names:  # it is called in a way that nothing reports
                        self._refuse("calls __hash__")
            elif code in _EFFECTS:
                if self._caller(frame)[0] == USERS and not _is_importing(frame):
                    self._refuse(_EFFECTS[code])
            elif code in _QUERIES:
                self._query(code, frame)
            elif code in _SHOWN:
                if self._caller(frame)[0] == USERS:
                    if self.is_apart:
                        self._refuse("issues a warning")
                    self.warned = True
            elif self._is_called_by_user(frame) and not is_pure_library(
                    str(frame.f_globals.get("__name__", "")), code.co_name):
                if not _is_importing(frame):
                    self._refuse(f"calls {_name(frame)}")
        elif event != "c_call":
            return
        elif arg is warnings.warn or arg is warnings.warn_explicit:
            if self._caller(frame)[0] == USERS:
                self.depend(_filters)
        elif arg is sys.exc_info or arg is _exception:
            self._handled_exception(frame)
        elif reads_a_setting(arg):
            if self._caller(frame)[0] == USERS:
                self.depend_once(arg, arg)
        elif not is_pure(arg):
            origin, library = self._caller(frame)
            if (origin == USERS and not _is_importing(frame)
                    and not (library is not None and _is_own_affair(arg, library))):
                with _left(arg):
                    self._refuse(f"calls {name_of(arg) if library is None else _name(library)}")

    def _origin(self, code: CodeType) -> int:
        """The origin of code that is met for the first time."""
        self._met.append(code)
        kind = self._origins[id(code)] = origin_of(code.co_filename)
        return kind

    def _is_ours(self, code: CodeType) -> bool:
        """Whether this is Lamella's or PyTorch's code, which is passed over."""
        return self._origin(code) == OURS

    def _is_called_by_user(self, frame: FrameType) -> bool:
        caller = frame.f_back
        return (caller is not None and origin_of(caller.f_code.co_filename) == USERS
                and _log_around(caller) is None)  # a log handler counts as part of the log call

    def is_from_program(self, frame: FrameType) -> bool:
        """Whether the program makes a call, itself or through Python's library."""
        return self._caller(frame)[0] == USERS

    def _handled_exception(self, frame: FrameType) -> None:
        """Handle a question for the exception that is being handled, maybe outside of the run."""
        if self._caller(frame)[0] != USERS or sys.exc_info()[1] is not self._handled:
            return
        if self._handled is None:
            self.depend_once(sys.exc_info, _handles_nothing)
        else:
            self._refuse("asks for the exception that its caller handles")

    def _query(self, code: CodeType, frame: FrameType) -> None:
        """Handle a call whose result has to be guarded."""
        if self._caller(frame)[0] != USERS or _is_importing(frame):
            return
        own = frame.f_locals
        if code is _ENABLED:
            self.depend(functools.partial(logging.Logger.isEnabledFor, own["self"], own["level"]))
            return
        kind = own["instance"].__class__ if "instance" in own else own["subclass"]
        self.depend_once((id(kind), id(own["cls"])),  # kept alive by the question
                         functools.partial(issubclass, kind, own["cls"]))

    def depend_once(self, key: Hashable, question: Callable[[], Any], *answer: Any) -> None:
        """Add a guard as `depend` does, unless one has been added under this key.

        The answer may be given, if it can't be asked for in the run.
        """
        if key in self._asked:
            return
        self._asked.add(key)
        if answer:
            self.queries.append((question, *answer))
        else:
            self.depend(question)

    def depend(self, question: Callable[[], Any]) -> None:
        """Add a guard on the result of a function, which the run depends on."""
        try:
            self.queries.append((question, question()))
        except Exception:  # the run raises the same
            self._refuse("reads a setting that doesn't exist")

    def _caller(self, frame: FrameType | None) -> tuple[int, FrameType | None]:
        """The origin of a call, and the library's function through which it was made, if any."""
        library = None
        while frame is not None:
            code = frame.f_code
            kind = self._origins.get(id(code))
            if kind is None:
                kind = self._origin(code)
            if kind == USERS:
                logs = _log_around(frame)
                if logs is None:
                    return USERS, library
                frame = logs  # a log handler counts as part of the log call
            elif kind == OURS:
                return OURS, library
            library, frame = frame, frame.f_back
        return USERS, library


@contextlib.contextmanager
def _left(function: Any) -> Iterator[None]:
    """A block that ends a run before this call; a lock that the run has taken is released then.

    Nothing reports that a ``with`` of the program takes a lock, only that it releases it. A run
    that ended before the release would keep the lock for ever.
    """
    try:
        yield
    except BaseException:
        if function.__name__ == "__exit__" and isinstance(
                getattr(function, "__self__", None), _LOCKS):
            function(None, None, None)
        raise


def _quick(origin: Callable[[int], int | None], event: Callable[..., None]
           ) -> Callable[..., None]:
    """A profiler that passes over Lamella's and PyTorch's code, from which most events come."""
    def profiler(frame: FrameType, what: str, arg: Any) -> None:
        if origin(id(frame.f_code)) != OURS:
            event(frame, what, arg)

    return profiler


def _set_profiler(profiler: Any) -> None:
    """Let this thread use a profiler: a function, ours in C++, or None."""
    if profiler is None or callable(profiler):
        sys.setprofile(profiler)
    elif type(profiler) is tuple:
        assert extension.module is not None
        extension.module.enable(profiler)
    else:  # before Python 3.12, cProfile's own profiler, which is not a function
        sys.setprofile(None)
        profiler.enable()


def _log_around(frame: FrameType | None) -> FrameType | None:
    """The function of `logging` that called this code; None if none did."""
    for _ in range(8):
        if frame is None:
            return None
        if frame.f_code.co_filename == logging.__file__:
            return frame
        frame = frame.f_back
    return None


def _passes(code: CodeType) -> None:
    pass


def _handles_nothing() -> bool:
    return sys.exc_info()[1] is None


def _filters() -> list[Any]:
    """The filters that decide which warnings are shown."""
    return list(warnings.filters)


def _name(frame: FrameType) -> str:
    """The name, for messages, of the library function of a frame."""
    module = str(frame.f_globals.get("__name__", "")).lstrip("_")
    return f"{module}.{getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)}"


def _is_own_affair(function: Any, library: FrameType) -> bool:
    """Whether a library function asks who called it or what an object's id is, or takes a lock that
    it releases again, or shows a warning, which is noted.

    `namedtuple` asks for its caller's module, `deepcopy` for ids; `logging` takes a lock to check
    whether a message is enabled, `cached_property` to compute once. `np.errstate` puts back what it
    sets; whether it has is checked at the end of the run.
    """
    file, names = _OF_ERRSTATE
    if function is id or library.f_code in _SHOWN or (
            library.f_code.co_filename == file and library.f_code.co_name in names):
        return True
    if function is sys._getframe:
        return library.f_code is not inspect.currentframe.__code__
    return function.__name__ in ("acquire", "release", "__enter__", "__exit__") and (
        library.f_code.co_filename == logging.__file__ or library.f_code is _PROPERTY)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a module is being imported, which happens only once, also eagerly."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
