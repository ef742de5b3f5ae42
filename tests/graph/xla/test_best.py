"""The greatest elements of rows, found without a sort."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import ops
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.xla.lowering.best import BEST, with_best
from lamella.graph.xla.text import described
from tests.graph.passes.checks import recorded
from tests.graph.xla.forced import engine, forced  # noqa: F401  (a fixture for all tests here)


@pytest.mark.parametrize("axis", [0, -1])
def test_equal_elements_zeros_and_nan_come_in_the_order_of_a_stable_sort(axis):
    def fn(x):
        values, places = ops.topk(x * 1, 3, axis)
        return values, places, 1 / values, *ops.topk((x > 0).astype(ms.int32) + 1, 2, axis)

    rows = np.random.default_rng(0).integers(-1, 2, (8, 40)).astype(np.float32)
    rows[0, :9], rows[1, :5], rows[2, 3:7], rows[3] = -0.0, np.nan, -np.nan, np.minimum(rows[3], 0)
    compiled, x = Compiled(fn), ms.Tensor(rows)
    for _ in range(4):
        for a, b in zip(compiled(x), fn(x), strict=True):
            np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    assert engine(compiled) == ["xla"]


def ordered(x, descending=True):
    return x.sort(dim=1, descending=descending, stable=True)


@pytest.mark.parametrize("fn, count", [
    (lambda x: ordered(x)[1][:, :2].clone(), 1),
    (lambda x: [part[:, :2].clone() for part in ordered(x)], 1),
    (lambda x: [ordered(x)[0][:, :2].clone(), ordered(x)[0]], 1),
    (lambda x: list(ordered(x)), 0),
    (lambda x: [part[:, :n].clone() for n, part in enumerate(ordered(x), 1)], 0),
    (lambda x: ordered(x)[0][:, 1:3].clone(), 0),
    (lambda x: ordered(x)[0][:2].clone(), 0),
    (lambda x: ordered(x, False)[0][:, :2].clone(), 0)])
def test_which_sorts_are_searches(fn, count):
    text = described(recorded(fn, torch.ones(4, 6)), [torch.ones(4, 6)])
    made = with_best(text["steps"], [n for n, *_ in text["results"]])
    assert sum(step["op"] == BEST for step in made) == count
