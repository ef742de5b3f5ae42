"""A command beside a busy program: how much it gets, and what the system says of idle cores."""

import builtins
import io
import signal
import subprocess
import sys
import time

import pytest

from lamella.machine import quiet

STAT = """cpu  100 0 50 9000 100 0 0 0
cpu0 50 0 25 4000 60 0 0 0
cpu1 50 0 25 5000 40 0 0 0
cpu12 7 0 7 800 8 0 0 0
intr 5 5 5 5 5 5
"""


class Command:
    """Stands for a process; it ends after so many waits."""

    def __init__(self, waits=10**9):
        self.pid, self.returncode, self.waits, self.waited = 4321, 7, waits, []

    def poll(self):
        return self.returncode if self.waits <= 0 else None

    def wait(self, seconds=None):
        self.waits -= 1
        self.waited.append(seconds)
        if seconds is not None:
            raise subprocess.TimeoutExpired("command", seconds)


@pytest.fixture
def files(monkeypatch):
    """The files of the system, by name."""
    found = {"/proc/stat": STAT}
    real = builtins.open

    def opened(name, *args, **kwargs):
        if str(name).startswith("/proc/"):
            if name not in found:
                raise FileNotFoundError(name)
            return io.StringIO(found[name])
        return real(name, *args, **kwargs)

    monkeypatch.setattr(quiet, "open", opened, raising=False)
    monkeypatch.setattr(quiet, "_TICKS", 100)
    return found


def test_idle_seconds_are_those_of_the_cores_that_may_be_used(files, monkeypatch):
    for cores, want in (({0}, 40.6), ({0, 1}, 91.0), ({12}, 8.08), ({2}, 0.0)):
        monkeypatch.setattr(quiet.os, "sched_getaffinity", lambda pid, cores=cores: cores,
                            raising=False)
        assert quiet.idle_seconds() == pytest.approx(want)
    del files["/proc/stat"]
    assert quiet.idle_seconds() == 0.0


def test_the_time_that_a_command_has_used(files):
    command = Command()
    files["/proc/4321/stat"] = ("4321 (a name) with) R 1 2 3 4 5 6 7 8 9 10 "
                                "250 150 0 0 20 0 1 0 0 0")
    assert quiet._has_used(command, 4.0) and quiet._has_used(command, 3.9)
    assert not quiet._has_used(command, 4.1)
    files["/proc/4321/stat"] = "unknown"
    assert quiet._has_used(command, 1e9)
    del files["/proc/4321/stat"]
    assert quiet._has_used(command, 1e9)


@pytest.mark.parametrize("idle, is_free", [(0.84, False), (0.86, True), (2.0, True)])
def test_a_core_is_idle_while_the_command_is_stopped(idle, is_free, monkeypatch):
    sent, now = [], [100.0]
    monkeypatch.setattr(quiet.time, "sleep", lambda s: now.__setitem__(0, now[0] + s))
    monkeypatch.setattr(quiet.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(quiet, "idle_seconds", lambda: 50.0 + idle * (now[0] - 100.0))
    monkeypatch.setattr(quiet.os, "killpg", lambda pid, number: sent.append((pid, number)))
    assert quiet._look(Command()) is is_free
    assert sent == [(4321, signal.SIGSTOP), (4321, signal.SIGCONT)]
    assert now[0] == pytest.approx(100.0 + quiet.LOOK)


@pytest.fixture
def run(monkeypatch):
    """`main` around a command that stands for a process: what it waited, was sent, and slept."""
    slept, sent, yielded = [], [], []

    def go(command, seconds=0.0, share=None, is_free=False, parent=1):
        monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: command)
        for name in ("signal", "pthread_sigmask"):
            monkeypatch.setattr(quiet.signal, name, lambda *args: None)
        monkeypatch.setattr(quiet.os, "getppid", lambda: 1)
        monkeypatch.setattr(quiet.os, "setpriority", lambda *args: yielded.append(args[1:]))
        monkeypatch.setattr(quiet.os, "killpg", lambda pid, number: sent.append(number))
        monkeypatch.setattr(quiet.time, "sleep", slept.append)
        monkeypatch.setattr(quiet, "_look", lambda worker: is_free)
        monkeypatch.setattr(quiet, "_has_used", lambda worker, limit: limit <= 1.0)
        monkeypatch.setenv("LAMELLA_COMPILE_SHARE", share or "")
        return quiet.main(parent, "/no/folder", seconds, ["command"])

    go.slept, go.sent, go.yielded = slept, sent, yielded
    return go


def test_with_a_whole_core_the_command_just_runs(run):
    command = Command(3)
    assert run(command, share="1") == 7
    assert command.waited == [quiet.PERIOD] * 3 and run.sent == run.slept == run.yielded == []


def test_beside_a_busy_program_it_gets_its_share(run):
    command = Command(2)
    assert run(command, share="0.25") == 7
    assert command.waited == [quiet.PERIOD * 0.25] * 2 and run.sent == [signal.SIGSTOP] * 2
    assert run.slept == pytest.approx([quiet.PERIOD * 0.75 - quiet.LOOK] * 2)
    assert run.yielded == []  # it began with the lowest priority


def test_beside_an_idle_core_it_runs_freely(run):
    command = Command(2)
    assert run(command, is_free=True) == 7
    assert command.waited == [quiet.PERIOD - quiet.LOOK] * 2 and run.sent == []


@pytest.mark.parametrize("seconds, waits", [(5.0, 3), (0.5, 1)])
def test_it_runs_freely_until_it_has_used_some_seconds(seconds, waits, run):
    command = Command(waits)
    run(command, seconds, is_free=True)
    free = seconds > 1.0  # by `_has_used` above
    assert command.waited == [quiet.PERIOD] * 3 if free else [quiet.PERIOD - quiet.LOOK]
    assert run.yielded == ([] if free else [(4321, 19)])


def test_it_ends_with_the_program(run):
    command = Command()
    with pytest.raises(SystemExit):
        run(command, parent=2)
    assert run.sent == [signal.SIGKILL] and command.waited == [None]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such files")
def test_this_systems_files_are_understood():
    command = subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"])
    try:
        while not quiet._has_used(command, 0.05):
            time.sleep(0.002)
        assert not quiet._has_used(command, 1e6) and quiet.idle_seconds() >= 0
    finally:
        command.kill()
        command.wait()


@pytest.mark.parametrize("text, want", [
    (None, 0.05), ("", 0.05), ("much", 0.05), ("0.3", 0.3), ("0", 0.01), ("0.01", 0.01),
    ("0.011", 0.011), ("1", 1.0), ("2", 1.0), ("-1", 0.01)])
def test_shares_of_a_core(text, want):
    assert quiet.share_of(text) == want


@pytest.fixture
def child(monkeypatch):
    """What `_become` asks of the system, in a process that stays as it is."""
    asked = []

    class Library:
        def prctl(self, *given):
            asked.append(("prctl", *given))

    monkeypatch.setattr(quiet.os, "setpgid", lambda *given: asked.append(("setpgid", *given)))
    monkeypatch.setattr(quiet.os, "nice", lambda by: asked.append(("nice", by)))
    monkeypatch.setattr(quiet.os, "sched_setscheduler", lambda pid, policy, given: asked.append(
        ("policy", pid, policy, given.sched_priority)), raising=False)
    monkeypatch.setattr(quiet.signal, "pthread_sigmask", lambda *given: asked.append(given))
    monkeypatch.setattr(quiet.ctypes, "CDLL", lambda name: Library())
    return asked


@pytest.mark.skipif(not hasattr(quiet.os, "SCHED_IDLE"), reason="Linux's policy")
@pytest.mark.parametrize("is_quiet, lacks, want", [
    (True, None, [("policy", 0, 5, 0)]), (True, "SCHED_IDLE", [("nice", 19)]),
    (True, "sched_setscheduler", [("nice", 19)]), (False, None, []),
    (False, "sched_setscheduler", [])])
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_command_has_a_group_a_low_priority_and_ends_with_its_parent(
        child, is_quiet, lacks, want, platform, monkeypatch):
    if lacks:
        monkeypatch.delattr(quiet.os, lacks)
    monkeypatch.setattr(quiet.sys, "platform", platform)
    quiet._become(is_quiet)
    assert child == [("setpgid", 0, 0), (signal.SIG_UNBLOCK, {signal.SIGTERM}), *want,
                     *([("prctl", 1, signal.SIGKILL)] if platform == "linux" else [])]


def test_a_command_that_ends_takes_its_unfinished_files_with_it(tmp_path, monkeypatch):
    folder, sent = tmp_path / "draft", []
    folder.mkdir()
    monkeypatch.setattr(quiet.os, "killpg", lambda pid, number: sent.append((pid, number)))
    with pytest.raises(SystemExit) as found:
        quiet._end(Command(), str(folder))
    assert found.value.code == 1 and sent == [(4321, signal.SIGKILL)] and not folder.exists()
