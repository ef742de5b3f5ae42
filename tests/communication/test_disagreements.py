"""Processes that send and receive different shapes or types all raise the same error."""

import json
from pathlib import Path

import pytest

from ..worlds import run_world

SCRIPT = Path(__file__).with_name("disagreeing.py")


@pytest.fixture(scope="module")
def found():
    return [json.loads(out) for out in run_world(SCRIPT, 2, LAMELLA_WAIT_NOTICE="0.5")]


def line_of(text):
    """The file and line of the script that contains a text."""
    for number, line in enumerate(SCRIPT.read_text().splitlines(), 1):
        if text in line:
            return f"{SCRIPT}:{number}"
    raise AssertionError(text)


@pytest.mark.parametrize(("case", "number", "sent", "taken", "place"), [
    ("sizes", 1, "8 float32", "4 float32", "return comm_func.send"),
    ("types", 2, "4 float32", "4 int32", "return comm_func.send"),
    ("operators", 1, "2 float32", "3 float32", "lambda: send(ops.ones(2))")])
def test_a_message_of_another_size_or_type(found, case, number, sent, taken, place):
    told = [answer[case].split(" one process sends")[1] for answer in found]
    assert told[0] == told[1]
    assert all(answer[case].startswith("Divergence: For '") for answer in found)
    assert f"as message {number} from process 0 to process 1 in group '" in told[0]
    assert f"at {line_of(place)}: {sent} elements" in told[0]
    assert f"at {line_of(place)}: {taken} elements" in told[0]


def test_the_next_message_arrives(found):
    assert [answer["then"] for answer in found] == [[0, 1, 2, 3]] * 2


@pytest.mark.parametrize("case", ["eager", "compiled"])
def test_dtensors_of_different_shapes(found, case):
    assert found[0][case] == found[1][case]
    assert found[0][case].startswith("Divergence: For 'DTensor', the processes of group "
                                     "'mesh of [0, 1]' exchange different things")
    for elements in (6, 9):
        assert f"all_reduce(sum) of {elements} float32 elements, at {SCRIPT}:" in found[0][case]
    for answer in found:
        assert answer[f"{case} before"] == answer[f"{case} after"] == [[4.0] * 3] * 2


def test_a_message_that_never_comes(found):
    assert found[0]["hang"].startswith(
        "RuntimeError: For 'irecv', message 1 from process 1 to process 0 in group '")
    assert f"at {line_of('comm_func.recv(ops.ones(3)')}, failed: " in found[0]["hang"]
