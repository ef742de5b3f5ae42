"""Fused attention over processes: the kernel runs on each process's examples and heads."""

import json
from pathlib import Path

import numpy as np
import pytest

from ..worlds import asked_for, run_world_here
from . import attention_worker as worker

SCRIPT = Path(__file__).with_name("attention_worker.py")
LONG = pytest.mark.long("this way to cut is run in another form, and this form with heads cut")
PAIRS = [pytest.param(case, form, marks=() if form == "causal" or case == "heads" or (
    case, form) == ("few heads", "mint") else LONG)
         for case in worker.CASES for form in worker.FORMS]


@pytest.fixture(scope="module")
def found(request):
    chosen = sorted(" ".join(pair) for pair in asked_for(request, "case", "form"))
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 4, json.dumps(chosen))]


@pytest.mark.parametrize("case, form", PAIRS)
def test_losses_and_gradients_are_those_of_one_process(found, case, form):
    loss, gradients, _ = worker.run(case, form)
    for answer in found:
        got, given, _ = answer[f"{case} {form}"]
        np.testing.assert_allclose(got, loss, rtol=1e-5)
        for one, two in zip(given, gradients, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case, form", PAIRS)
def test_the_kernel_is_given_plain_tensors_of_this_process(found, case, form):
    size = len(found)
    rows = size // 2
    shape = {"batch": [4 // size, 2, 6, 4], "heads": [3, 4 // size, 6, 4],
             "grouped": [3, 8 // size, 6, 4], "few heads": [3, 4, 6, 4], "whole": [3, 3, 6, 4],
             "both": [4 // rows, 2, 6, 4]}[case]
    if (case, form) == ("few heads", "mint"):  # whose keys are repeated for each head
        shape = [3, 4 // size, 6, 4]
    for answer in found:
        assert answer[f"{case} {form}"][2] == ["Tensor", *shape]


def test_compiled_training_is_that_of_one_process(found):
    losses = worker.run("heads", "causal", compiled=True)
    assert losses[2] < losses[0]
    for answer in found:
        np.testing.assert_allclose(answer["compiled"], losses, rtol=1e-5)


def test_a_compiled_function_that_returns_what_is_cut_runs_eagerly_and_right(found):
    _, gradients, _ = worker.run("heads", "causal")
    for answer in found:
        given, messages = answer["returned"]
        for one, two in zip(given, gradients, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
        assert any("returns a Tensor that is cut over processes" in text for text in messages)
