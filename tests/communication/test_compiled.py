"""Collectives in compiled functions: each call makes those of an eager call, in the same order."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from ..worlds import run_world

SCRIPT = Path(__file__).with_name("compiled_worker.py")
RULES = ["sum", "max", "gather", "scatter", "broadcast", "all to all"]


@pytest.fixture(scope="module", params=[
    2, pytest.param(4, marks=pytest.mark.long("the same exchanges between two processes"))])
def found(request):
    return [json.loads(out.splitlines()[-1]) for out in run_world(SCRIPT, request.param)]


def same(got, want):
    if isinstance(want, list):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", RULES)
def test_replays_give_the_results_of_eager_calls(found, case):
    for answer in found:
        eager, *compiled = answer[case]
        for each in compiled:
            same(each, eager)
        assert answer[f"{case} graphs"] == [1, 2]


def test_guards_that_fail_on_some_processes(found):
    """Results and collectives are those of eager calls, whichever branch a process takes."""
    for answer in found:
        for (value, made), (compiled, replayed) in answer["branches"]:
            same(compiled, value)
            assert replayed == made
            assert [kind for kind, _ in made] == ["all_reduce"] * 2 + ["all_gather", "all_reduce"]
        assert answer["branches report"]["eager"] == []
    assert sum(answer["branches report"]["guard_misses"] for answer in found) > 0
    assert all(answer["branches report"]["replays"] > 0 for answer in found)


def test_collectives_and_assignments_keep_their_order(found):
    for answer in found:
        for (value, made), (compiled, replayed) in answer["changed"]:
            same(compiled, value)
            assert replayed == made and len(made) == 3
        same(*answer["changed weights"])


def test_processes_that_diverge_get_one_error(found):
    if len(found) > 2:
        return
    for answer in found:
        case = answer["diverging"]
        assert case["before"] == [[4.0, 8.0]] * 3 == [case["after"]] * 3
        for kind in ("one raises", "other sizes"):
            said, made = case[kind]
            assert said.startswith("Divergence: For 'AllReduce', the processes of group")
            assert said.count("compiled_worker.py:") == 2  # a line for each process
            assert len(made) == 2
        assert "of 1 float32" in case["one raises"][0] and "of 2 float32" in case["one raises"][0]
        assert "of 3 float32" in case["other sizes"][0]


def test_a_function_with_send_or_receive_runs_eagerly(found):
    if len(found) > 2:
        return
    assert [answer["message"] for answer in found] == [[1.0, -2.0], [1.5, -3.0]]
    assert "sends a message to a single process" in found[0]["message warned"][0]
    assert "receives a message from a single process" in found[1]["message warned"][0]


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted by Linux's /proc")
def test_communicators_end_although_graphs_hold_their_groups(found):
    for answer in found:
        before, after = answer["threads"]
        assert before and not after
        assert "Please call `init()` first" in answer["ended"]
