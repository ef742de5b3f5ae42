"""Tensors from data: what is copied, and what isn't."""

from lamella import numpy as np


def test_array_copies_a_tensor_that_asarray_gives_back():
    x = np.ones((2, 3))
    assert np.asarray(x) is x and np.array(x, copy=False) is x
    copied = np.array(x)
    copied[0] = 5.0
    assert x.asnumpy().max() == 1.0
