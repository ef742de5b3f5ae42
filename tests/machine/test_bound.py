"""A process becomes a command that ends with its parent."""

import os
import signal
import sys

import pytest

from lamella.machine import bound


class Library:
    """Stands for the C library; notes the calls of prctl(2)."""

    def __init__(self):
        self.calls = []

    def prctl(self, *given):
        self.calls.append(given)


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setattr(bound.ctypes, "CDLL", lambda name: made)
    return made


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_process_becomes_the_command(library, platform, monkeypatch):
    became = []
    monkeypatch.setattr(bound.sys, "platform", platform)
    monkeypatch.setattr(os, "execvp", lambda *given: became.append(given))
    bound.main(os.getppid(), ["program", "-x", "1"])
    assert became == [("program", ["program", "-x", "1"])]
    # PR_SET_PDEATHSIG is 1
    assert library.calls == ([(1, signal.SIGKILL)] if platform == "linux" else [])


def test_it_ends_where_the_parent_has_ended_before(library, monkeypatch):
    monkeypatch.setattr(bound.sys, "platform", "linux")
    monkeypatch.setattr(os, "execvp", lambda *given: pytest.fail("it runs"))
    for parent in (os.getppid() + 1, os.getppid() - 1):
        with pytest.raises(SystemExit) as found:
            bound.main(parent, ["program"])
        assert found.value.code == 1


def test_a_command_that_is_not_there_is_named(library):
    with pytest.raises(SystemExit, match="'/no/such/program' can't be run: No such file"):
        bound.main(os.getppid(), ["/no/such/program"])
    assert sys.platform != "linux" or library.calls
