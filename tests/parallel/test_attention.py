"""Fused attention over processes: the kernel runs on each process's examples and heads."""

import json
from pathlib import Path

import numpy as np
import pytest

from ..worlds import run_world
from . import attention_worker as worker

SCRIPT = Path(__file__).with_name("attention_worker.py")


@pytest.fixture(scope="module")
def found():
    return [json.loads(out.splitlines()[-1]) for out in run_world(SCRIPT, 4)]


@pytest.fixture(scope="module")
def wanted():
    return {(case, form): worker.run(case, form) for case in worker.CASES for form in worker.FORMS}


@pytest.mark.parametrize("form", worker.FORMS)
@pytest.mark.parametrize("case", worker.CASES)
def test_losses_and_gradients_are_those_of_one_process(found, wanted, case, form):
    loss, gradients, _ = wanted[case, form]
    for answer in found:
        got, given, _ = answer[f"{case} {form}"]
        np.testing.assert_allclose(got, loss, rtol=1e-5)
        for one, two in zip(given, gradients, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", worker.FORMS)
def test_the_kernel_is_given_plain_tensors_of_this_process(found, form):
    size = len(found)
    rows = size // 2
    shapes = {"batch": [4 // size, 2, 6, 4], "heads": [3, 4 // size, 6, 4],
              "grouped": [3, 8 // size, 6, 4], "few heads": [3, 4, 6, 4], "whole": [3, 3, 6, 4],
              "both": [4 // rows, 2, 6, 4]}
    if form == "mint":  # whose keys are repeated for each head
        shapes["few heads"] = [3, 4 // size, 6, 4]
    for answer in found:
        for case, shape in shapes.items():
            assert answer[f"{case} {form}"][2] == ["Tensor", *shape]


def test_compiled_training_is_that_of_one_process(found):
    losses = worker.run("heads", "causal", compiled=True)
    assert losses[2] < losses[0]
    for answer in found:
        np.testing.assert_allclose(answer["compiled"], losses, rtol=1e-5)


def test_a_compiled_function_that_returns_what_is_cut_runs_eagerly_and_right(found, wanted):
    for answer in found:
        given, messages = answer["returned"]
        for one, two in zip(given, wanted["heads", "causal"][1], strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)
        assert any("returns a Tensor that is cut over processes" in text for text in messages)
