"""A process that waits for others says after some seconds what each of them waits for."""

from pathlib import Path

import pytest

from lamella.communication import waiting as waits

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


@pytest.mark.parametrize("text, seconds", [
    (None, 10.0), ("", 10.0), ("soon", 10.0), ("3", 3.0), ("2.5", 2.5), ("0", 0.1), ("0.1", 0.1),
    ("-3", 0.1), ("-5", 0.1)])
def test_when_a_process_that_waits_says_so(monkeypatch, text, seconds):
    monkeypatch.delenv("LAMELLA_WAIT_NOTICE", raising=False)
    if text is not None:
        monkeypatch.setenv("LAMELLA_WAIT_NOTICE", text)
    assert waits.notice() == seconds


def test_what_is_said_of_others(monkeypatch):
    """Of each but this process, which is the first here."""
    now = 1000.0
    monkeypatch.setattr(waits.time, "time", lambda: now)
    notes = {1: {"ended": 4}, 2: {"waits": "all_reduce at a.py, line 3", "since": now - 12}, 3: {}}
    assert waits._told(notes, [0, 1, 2, 3, 4]) == (
        "\n  process 1 has ended its program, or has called 'release', after 4 exchanges"
        "\n  process 2 has waited 12 s, in all_reduce at a.py, line 3"
        "\n  process 3 waits for no other: it computes, or has stopped"
        "\n  process 4 waits for no other: it computes, or has stopped")
    assert waits._told(notes, [0]) == waits._told({0: {"ended": 1}}, [0]) == ""


class Others:
    """Stands for a group whose processes compare what they exchange, or don't."""

    def __init__(self, compares=True):
        self.compares, self.ranks = compares, [0, 1]


@pytest.mark.parametrize("text", ["Connection closed by peer", "Connection reset by peer",
                                  "Broken pipe", "Socket closed", "Connection refused"])
def test_a_lost_connection_is_explained(text):
    said = waits.reason(RuntimeError(f"[tcp] {text} [1]"), Others())
    assert said.startswith("the connection to another process of the group was lost")
    assert waits.reason(RuntimeError(text), Others(False)) == text


@pytest.mark.parametrize("text", ["Timed out waiting 5ms", "timed out", "Timeout", "a timeout of"])
def test_lateness_is_explained(text, monkeypatch):
    monkeypatch.setenv("HCCL_EXEC_TIMEOUT", "90")
    said = waits.reason(RuntimeError(text), Others())
    assert said.startswith("no answer within the 90 s that HCCL_EXEC_TIMEOUT or the group allow.")
    assert said.endswith("\n  process 1 waits for no other: it computes, or has stopped")
    assert waits.reason(RuntimeError(text), Others(False)) == text


def test_a_process_that_has_ended_is_named_for_either(monkeypatch):
    monkeypatch.setattr(waits, "_notes", lambda group: {1: {"ended": 2}})
    for text in ("Broken pipe", "Timeout"):
        said = waits.reason(RuntimeError(text), Others())
        assert said.startswith("\n  process 1 has ended its program") and "after 2 ex" in said
    assert waits.reason(RuntimeError("wrong size"), Others()) == "wrong size"
