"""Which other threads may have changed what a run has read."""

import _thread
import functools
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from lamella.core.threads import compiled_calls, own, workers
from lamella.graph.tracing.threads import Beside, alone, other_thread


@contextmanager
def beside(name, work=None, starts=True):
    """A thread of the program's that waits, then does work when it is asked, and waits again."""
    asked, done, over = threading.Event(), threading.Event(), threading.Event()

    def run():
        done.set()
        asked.wait(60)
        if work is not None and not over.is_set():
            work()
        done.set()
        over.wait(60)

    thread = threading.Thread(target=run, name=name)

    def ask():
        done.clear()
        asked.set()
        assert done.wait(60)

    def start():
        thread.start()
        assert done.wait(60)
        resting(thread)

    try:
        if starts:
            start()
        yield ask if starts else start
    finally:
        over.set()
        asked.set()
        if thread.ident is not None:
            thread.join(60)


def resting(thread):
    """Wait until a thread has not run for a while, however busy the machine is."""
    if sys.platform != "linux":
        return
    clock = time.pthread_getcpuclockid(thread.ident)
    still, last = 0, -1
    while still < 20:
        now = time.clock_gettime_ns(clock)
        still, last = (still + 1 if now == last else 0), now
        time.sleep(0.005)


onlinux = pytest.mark.skipif(sys.platform != "linux", reason="a thread's time isn't known there")


@onlinux
def test_a_thread_that_waits_has_not_run():
    with beside("waits"):
        assert other_thread() == "waits"
        made = Beside()
        assert made.ran() is None
        with alone() as is_so:
            assert not is_so


@onlinux
def test_a_thread_that_has_worked_has_run():
    with beside("works", lambda: sum(range(20000))) as ask:
        made = Beside()
        ask()
        assert made.ran() == "works"


@onlinux
def test_a_thread_that_has_begun_since_then():
    with beside("waits"), beside("new", starts=False) as start:
        made = Beside()
        start()
        assert made.ran() == "new"


@onlinux
def test_a_thread_that_has_ended_since_then():
    with beside("stays"):
        with beside("ends"):
            made = Beside()
        assert made.ran() == "ends"
        assert other_thread() == "stays"


def test_nothing_runs_beside():
    made = Beside()
    assert made.ran() is None and other_thread() is None
    with alone() as is_so:
        assert is_so


def test_a_thread_whose_time_is_not_known_may_have_run(monkeypatch):
    with beside("waits"):
        monkeypatch.setattr(sys, "platform", "another")
        assert Beside().ran() == "waits"


PACKAGE = """
def wait(begun, over, call=None):
    begun.set()
    (call or over.wait)(*([] if call else [60]))
"""


@contextmanager
def running(make, own_thread=False):
    """A thread that waits, of a target that is made of two events."""
    begun, over = threading.Event(), threading.Event()
    made = make(begun, over)
    thread = made if isinstance(made, threading.Thread) else None
    if thread is None:
        _thread.start_new_thread(made, ())
    else:
        thread.name = "another"
        if own_thread:
            own(thread)
        thread.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        over.set()
        if thread is not None:
            thread.join(60)
        while other_thread() is not None:
            time.sleep(0.001)


def of_package():
    names: dict = {}
    exec(compile(PACKAGE, "/opt/site-packages/some/module.py", "exec"), names)
    return names["wait"]


def own_wait(begun, over):
    begun.set()
    over.wait(60)


class Waits:
    def __init__(self, begun, over):
        self.events = begun, over

    def __call__(self):
        own_wait(*self.events)


class Thread(threading.Thread):
    def __init__(self, begun, over):
        super().__init__()
        self.events = begun, over

    def run(self):
        own_wait(*self.events)


def thread(target, *args):
    return threading.Thread(target=target, args=args)


OTHERS = {
    "the program's function": (lambda b, o: thread(own_wait, b, o), "another"),
    "a callable object": (lambda b, o: thread(Waits(b, o)), "another"),
    "a class": (Thread, "another"),
    "a bound one": (lambda b, o: thread(functools.partial(own_wait, b, o)), "another"),
    "a package's function": (lambda b, o: thread(of_package(), b, o), None),
    "a bound one of a package": (lambda b, o: thread(functools.partial(functools.partial(
        of_package(), b), o)), None),
    "a package's that calls the program": (lambda b, o: thread(
        of_package(), b, o, lambda: o.wait(60)), "another"),
    "one without a name": (lambda b, o: lambda: own_wait(b, o), ""),
    "a package's without a name": (lambda b, o: functools.partial(of_package(), b, o), None)}


@pytest.mark.parametrize("name", OTHERS)
def test_which_threads_may_run_code_of_the_program(name):
    make, wanted = OTHERS[name]
    with running(make):
        assert other_thread() == wanted
        with alone() as is_so:
            assert is_so is (wanted is None)


def test_lamellas_own_threads_are_none_of_the_program():
    with running(lambda b, o: thread(own_wait, b, o), own_thread=True):
        assert other_thread() is None
        with alone() as is_so:
            assert is_so


@pytest.mark.parametrize("lock", [compiled_calls, workers])
def test_a_run_is_not_alone_while_another_thread_is_in_a_call_of_the_program(lock):
    def inside(begun, over):
        lock.enter()
        try:
            own_wait(begun, over)
        finally:
            lock.leave()

    with running(lambda b, o: thread(inside, b, o), own_thread=True):
        with alone() as is_so:
            assert not is_so
    with alone() as is_so:
        assert is_so
