"""A process that waits for others says after some seconds what each of them waits for."""

from pathlib import Path

import pytest

from ..worlds import start_world

SCRIPT = Path(__file__).with_name("waiting.py")


@pytest.fixture
def world(request, tmp_path):
    signal = str(tmp_path / "go on")
    processes = start_world(SCRIPT, 2, request.param, signal, LAMELLA_WAIT_NOTICE="0.5")
    yield processes
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def line_of(text):
    lines = SCRIPT.read_text().splitlines()
    return f"at {SCRIPT}:{next(i for i, line in enumerate(lines, 1) if text in line)}"


def told(process, text):
    """What a process prints to its errors, up to a line that contains a text."""
    found = ""
    for line in process.stderr:
        found += line
        if text in line:
            return found
    raise AssertionError(found)


@pytest.mark.parametrize("world", ["groups"], indirect=True)
def test_each_is_told_what_the_other_waits_for(world):
    line = line_of("ops.AllReduce(**")
    for rank, (process, other) in enumerate(zip(world, ("'pair'", "world_group"), strict=True)):
        found = told(process, f"  process {1 - rank} has waited ")
        assert f"Process {rank} has waited " in found and "exchange 2, 'AllReduce'" in found
        assert found.count(line) >= 2 and other in found.splitlines()[-1]


@pytest.mark.parametrize("world", ["computes"], indirect=True)
def test_one_that_computes_is_told_of_and_waited_for(world, tmp_path):
    found = told(world[0], "process 1 waits for no other: it computes, or has stopped")
    assert "exchange 2, 'Broadcast', broadcast(from 0, (2,)) of 2 float32 elements" in found
    (tmp_path / "go on").touch()
    for process in world:
        out, errors = process.communicate(timeout=300)
        assert (out, process.returncode) == ("done\n", 0), errors
