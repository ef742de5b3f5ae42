"""Tensors from data: what is copied, and what isn't."""

import lamella as ms
from lamella import numpy as np


def test_array_copies_a_tensor_that_asarray_gives_back():
    x = np.ones((2, 3))
    assert np.asarray(x) is x and np.array(x, copy=False) is x
    copied = np.array(x)
    copied[0] = 5.0
    assert x.asnumpy().max() == 1.0


def test_integers_that_do_not_fit_int32():
    for number in (2**31, -2**31 - 1):
        assert np.array([number]).dtype == ms.int64 and np.array([number]).asnumpy() == [number]
    assert np.array([2**31 - 1, -2**31]).asnumpy().tolist() == [2**31 - 1, -2**31]
