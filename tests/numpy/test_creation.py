"""Tensors from data: what is copied, and what isn't."""

import pytest

import lamella as ms
from lamella import numpy as np


def test_array_copies_a_tensor_that_asarray_gives_back():
    x = np.ones((2, 3))
    assert np.asarray(x) is x and np.array(x, copy=False) is x
    copied = np.array(x)
    copied[0] = 5.0
    assert x.asnumpy().max() == 1.0


@pytest.mark.parametrize("call", [
    lambda x: np.full((2, 3), x), lambda x: np.full_like(x, x), np.positive, np.abs, np.copy])
@pytest.mark.parametrize("kind", [ms.float32, ms.uint8])
def test_a_write_to_a_result_leaves_what_it_was_made_of(call, kind):
    x = np.ones((2, 3), kind)
    found = call(x)
    found[0] = 5
    assert x.asnumpy().max() == 1.0 and found.asnumpy().max() == 5


def test_integers_that_do_not_fit_int32():
    for number in (2**31, -2**31 - 1):
        assert np.array([number]).dtype == ms.int64 and np.array([number]).asnumpy() == [number]
    assert np.array([2**31 - 1, -2**31]).asnumpy().tolist() == [2**31 - 1, -2**31]
