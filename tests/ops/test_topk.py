"""`topk` is the start of a stable sort, whichever kernel computes it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lamella as ms
from lamella import Tensor, ops


@settings(max_examples=150)
@given(st.data())
def test_the_first_elements_of_a_stable_sort(data):
    shape = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    count = data.draw(st.integers(1, shape[axis]))
    largest = data.draw(st.booleans())
    kind = data.draw(st.sampled_from(["equal", "different", "nan", "int"]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = rng.standard_normal(shape).astype(np.float32)
    if kind == "equal":
        x = np.round(x)
    elif kind == "int":
        x = rng.integers(-4, 4, shape)
    elif kind == "nan":
        x[rng.random(shape) < 0.2] = np.nan
    values, positions = ops.topk(Tensor(x), count, axis, largest)
    wanted = torch.from_numpy(x).sort(dim=axis, descending=largest, stable=True)
    take = [slice(None)] * len(shape)
    take[axis] = slice(0, count)
    np.testing.assert_array_equal(values.asnumpy(), wanted.values.numpy()[tuple(take)])
    np.testing.assert_array_equal(positions.asnumpy(), wanted.indices.numpy()[tuple(take)])


@pytest.mark.parametrize("equal", [False, True])
def test_gradients_and_graphs(equal):
    x = Tensor(np.random.default_rng(0).permutation(60).reshape(6, 10).astype(np.float32))
    x = x // 3 if equal else x

    def function(x):
        values, positions = ops.topk(x, 3)
        return (values * (positions + 1)).sum()

    gradient = ms.grad(function)
    wanted = np.zeros((6, 10), np.float32)
    order = np.argsort(-x.asnumpy(), 1, kind="stable")[:, :3]
    np.put_along_axis(wanted, order, order + 1, 1)
    np.testing.assert_array_equal(gradient(x).asnumpy(), wanted)
    for transform in (ms.jit, ms.vmap):
        np.testing.assert_array_equal(transform(gradient)(x).asnumpy(), wanted)
