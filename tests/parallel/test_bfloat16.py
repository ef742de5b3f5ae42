"""Training in bfloat16, spread over processes, is as near to float32's as in one process."""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms

from ..worlds import run_world_here
from . import bfloat16_worker as worker

SCRIPT = Path(__file__).with_name("bfloat16_worker.py")


@pytest.fixture(scope="module")
def found():
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        worker.main, SCRIPT, 2)]


@pytest.fixture(scope="module")
def exact():
    return worker.train(dtype=ms.float32)


def errors(trained, exact):
    """How far losses and weights are from float32's; and how far training moves the weights."""
    (losses, weights), (exact_losses, exact_weights) = trained, exact
    starts = [p.asnumpy() for p in worker.Net(ms.float32, ms.float32).trainable_params()]
    off = [np.abs(np.subtract(got, want)).max() for got, want in
           zip([losses, *weights], [exact_losses, *exact_weights], strict=True)]
    far = [np.abs(np.subtract(got, start)).max() for got, start in
           zip(exact_weights, starts, strict=True)]
    return np.array(off), np.array([1.0, *far])


@pytest.mark.parametrize("held, compiled", worker.CASES)
@pytest.mark.parametrize("way", ["tensor", "level1", "level3", "both", "data"])
def test_processes_round_as_much_as_one(found, exact, way, held, compiled):
    one, far = errors(worker.train(held=held), exact)
    assert (one < 0.1 * far).all()  # a gradient that is summed twice, or halved, is off by more
    for answer in found:
        trained = answer[f"{way} {held} {compiled}"]
        assert trained == found[0][f"{way} {held} {compiled}"]
        assert (errors(trained, exact)[0] <= 1.5 * one + 0.01 * far).all()
