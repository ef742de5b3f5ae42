"""Which calls of a program are side effects, guards, or neither, as the profiler sees them."""

from __future__ import annotations

import abc
import copy
import functools
import importlib
import inspect
import logging
import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest
import torch

from lamella.graph.tracing.outside import Outside, _log_around


def watched(function, *args):
    """What is told of a call, and the watcher."""
    told: list[str] = []
    with Outside(told.append) as outside:
        function(*args)
    return told, outside


class Shape(abc.ABC):
    """An abstract class."""

    @abc.abstractmethod
    def area(self): ...


class Lazy:
    @functools.cached_property
    def value(self):
        return 3


def lock():
    with LOCK:
        pass


def in_a_handler():
    try:
        raise ValueError
    except ValueError:
        return sys.exc_info()


def sets_errors():
    np.seterr(all="ignore")


def sets_errors_back():
    with np.errstate(all="ignore"):
        return np.float32(1) / np.float32(3)


def changes_the_environment():
    os.environ["LAMELLA_TEST"] = "1"


def leaves_the_environment():
    del os.environ["LAMELLA_TEST"]


LOCK = threading.Lock()
LOGGER = logging.getLogger("of.events")
SIDE_EFFECTS = {
    "a call of the system": (lambda: os.getpid(), "calls posix.getpid"),
    "a function itself": (time.time, "calls time.time"),
    "a function by a library": (lambda: os.path.exists("/"), "calls genericpath.exists"),
    "the library's own": (lambda: threading.current_thread(), "calls threading.current_thread"),
    "an item of the environment": (lambda: os.environ["PATH"], "reads the environment"),
    "by a method": (lambda: os.environ.get("PATH"), "reads the environment"),
    "its names": (lambda: list(os.environ), "reads the environment"),
    "its length": (lambda: len(os.environ), "reads the environment"),
    "by a function": (lambda: os.getenv("PATH"), "calls os.getenv"),
    "changed": (changes_the_environment, "changes the environment"),
    "removed": (leaves_the_environment, "changes the environment"),
    "an id": (lambda: id(3), "calls id"), "a hash": (lambda x: x.__hash__(), "calls __hash__"),
    "a frame": (lambda: inspect.currentframe(), "calls inspect.currentframe"),
    "a lock": (lock, "calls lock.__exit__"),
    "settings": (sets_errors, "changes how NumPy treats errors"),
    "a log": (lambda: LOGGER.warning("text"), "writes to a log")}


@pytest.mark.usefixtures("executor")
@pytest.mark.parametrize("name", SIDE_EFFECTS)
def test_side_effects(name):
    function, what = SIDE_EFFECTS[name]
    before = np.geterr()
    os.environ["LAMELLA_TEST"] = "0"
    LOGGER.addHandler(logging.NullHandler())
    try:
        told, _ = watched(function, *[3] * function.__code__.co_argcount if hasattr(
            function, "__code__") else ())
    finally:
        np.seterr(**before)
        os.environ.pop("LAMELLA_TEST", None)
        LOGGER.handlers.clear()
    assert told[-1 if name == "settings" else 0] == what and sys.getprofile() is None
    assert name != "settings" or "seterr" in told[0]


NONE = {
    "a pure function": lambda: len([1]), "in a handler": in_a_handler,
    "ids in a copy": lambda: copy.deepcopy({"a": [1]}),
    "a lock of a property": lambda: Lazy().value,
    "settings that are put back": sets_errors_back,
    "a setting of a library": lambda: logging.getLogger("of.events")}


@pytest.mark.usefixtures("executor")
@pytest.mark.parametrize("name", NONE)
def test_what_is_neither_a_side_effect_nor_a_guard(name):
    told, outside = watched(NONE[name])
    assert told == [] and outside.queries == [] and not outside.warned


def asks_twice():
    return isinstance(3, Shape), isinstance(4, Shape), issubclass(int, Shape)


def asks_for_two():
    return isinstance(3, Shape), isinstance("a", Shape)


def warns():
    warnings.warn("once", stacklevel=1)


QUERIES = {
    "a class": (asks_twice, [False], False), "two classes": (asks_for_two, [False, False], False),
    "an exception": (lambda: (sys.exc_info(), sys.exc_info()), [True], False),
    "a level": (lambda: LOGGER.isEnabledFor(10), [False], False),
    "two levels": (lambda: (LOGGER.isEnabledFor(10), LOGGER.debug("a")), [False, False], False),
    "a setting": (lambda: (torch.get_num_threads(), torch.get_num_threads()), [True], False),
    "a warning": (warns, [True], True)}
# showing a warning may be a reason in a real run
SHOWN = {"calls warnings.WarningMessage.__init__", "calls warnings.__init__"}


@pytest.mark.usefixtures("executor")
@pytest.mark.parametrize("name", QUERIES)
def test_questions_that_become_guards(name):
    function, answers, warned = QUERIES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *args, **kwargs: None
        told, outside = watched(function)
        assert {*told} <= SHOWN and (warned or not told) and outside.warned is warned
        assert [bool(answer) for _, answer in outside.queries] == answers
        assert all(question() == answer for question, answer in outside.queries)


@pytest.mark.usefixtures("executor")
def test_a_warning_that_is_not_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told, outside = watched(warns)
    assert told == [] and not outside.warned and len(outside.queries) == 1


@pytest.mark.usefixtures("executor")
def test_the_exception_that_the_caller_handles():
    def nested():
        try:
            raise KeyError
        except KeyError:
            return sys.exc_info()

    try:
        raise ValueError
    except ValueError:
        told, outside = watched(lambda: nested() and sys.exc_info())
    assert told == ["asks for the exception that its caller handles"] and not outside.queries


@pytest.mark.usefixtures("executor")
def test_what_a_module_does_while_it_is_imported(tmp_path, monkeypatch):
    (tmp_path / "imported_once.py").write_text(
        "import os, abc\nos.getpid()\nos.environ.get('PATH')\nos.getenv('PATH')\n"
        "class A(abc.ABC): pass\nisinstance(3, A)\ndef f():\n    return os.getpid()\nf()\n",
        encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()

    def imports():
        import imported_once  # type: ignore[import-not-found]
        return imported_once.f

    told: list[str] = []
    try:
        with Outside(told.append) as outside:
            found = imports()
            assert told == [] and outside.queries == []
            found()
    finally:
        sys.modules.pop("imported_once", None)
    assert told == ["calls posix.getpid"] and found.__code__ in outside.codes


@pytest.mark.usefixtures("executor")
def test_code_of_the_program_is_met_once_before_it_runs():
    met = []

    def inner():
        return len(met)

    def outer():
        return inner(), inner()

    with Outside(met.append) as outside:
        outside.meets = met.append
        found = outer()
    assert met == [outer.__code__, inner.__code__] and found == (2, 2)
    assert outside.codes == {outer.__code__: globals(), inner.__code__: globals()}


@pytest.mark.usefixtures("executor")
def test_nothing_is_told_while_it_is_paused_or_after_it_was_stopped():
    told: list[str] = []
    with Outside(told.append) as outside:
        outside.pause()
        os.getpid()
        outside.resume()
        os.getpid()
        assert len(told) == 1
        outside.stop()
        assert sys.getprofile() is None
        os.getpid()
        outside.pause()
        outside.resume()
        os.getpid()
        before = np.seterr(all="ignore")
    np.seterr(**before)
    assert len(told) == 1


def below(depth):
    return _log_around(sys._getframe()) if depth == 0 else below(depth - 1)


@pytest.mark.parametrize("depth, is_found", [(0, True), (5, True), (6, False)])
def test_code_a_few_calls_below_a_log_call_belongs_to_it(depth, is_found):
    class Deep(logging.Handler):
        found = None

        def emit(self, record):
            self.found = below(depth)

    handler = Deep()
    LOGGER.addHandler(handler)
    try:
        LOGGER.error("text")
    finally:
        LOGGER.removeHandler(handler)
    assert (handler.found is not None) is is_found
    assert not is_found or handler.found.f_code.co_filename == logging.__file__
    assert _log_around(sys._getframe()) is None and _log_around(None) is None
