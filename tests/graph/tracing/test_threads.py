"""Which other threads may have changed what a run has read."""

import sys
import threading
import time
from contextlib import contextmanager

import pytest

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
