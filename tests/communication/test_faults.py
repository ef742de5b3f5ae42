"""When a process dies or hangs, the others raise an error and end; training can be restarted."""

import os
import signal
from pathlib import Path

import pytest

from ..worlds import run_world, start_world
from .faulty import LOST, STEPS

SCRIPT = Path(__file__).with_name("faulty.py")


def losses(out):
    return [line for line in out.splitlines() if line.startswith("loss")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return [losses(out) for out in run_world(SCRIPT, 2, str(tmp_path_factory.mktemp("well")), "")]


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP", "error"])
def test_the_others_raise_an_error_and_training_resumes_after_a_restart(how, tmp_path,
                                                                         undisturbed):
    processes = start_world(SCRIPT, 2, str(tmp_path), how)
    try:
        out, errors = processes[0].communicate(timeout=600)
        assert processes[0].returncode == 1
        assert losses(out) == undisturbed[0][:LOST]
        for part in ("For 'DistributedGradReducer', exchange ", " of process 0, in group '",
                     f" of [0, 1], at {SCRIPT}:", "failed: "):
            assert part in errors
        if how == "SIGSTOP":
            os.kill(processes[1].pid, signal.SIGKILL)
        assert processes[1].wait(300) == (1 if how == "error" else -signal.SIGKILL)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    if how == "SIGKILL":
        again = [losses(out) for out in run_world(SCRIPT, 2, str(tmp_path), "again")]
        assert again == [those[LOST:STEPS] for those in undisturbed]


@pytest.mark.long("'SIGSTOP' above; that `msrun` ends the others is in commands/test_msrun.py")
def test_no_process_is_left_when_one_hangs(hanging):
    launcher, folder = hanging
    _, said = launcher.communicate(timeout=900)
    assert launcher.returncode == 1
    assert "process 0 ended with status 1" in said and "exchange" in said
    left = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline")
            if str(folder).encode() in _read(path)]
    assert not left


def _read(path):
    try:
        return path.read_bytes()
    except OSError:  # the process has ended in the meantime
        return b""
