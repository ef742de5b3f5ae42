"""Inputs of integers and booleans, by which there is nothing to differentiate."""

import numpy as np

import lamella as ms
from lamella import Tensor, ops


def test_inputs_that_must_be_whole_numbers():
    x, i, m = Tensor([1.0, 2.0, 3.0, 4.0]), Tensor([0, 2]), Tensor([True, False, True, True])

    def f(x, i, m):
        return ops.where(m, x, -x)[i] ** 2

    want = np.zeros((2, 4), np.float32)
    want[0, 0], want[1, 2] = 2, 6
    np.testing.assert_array_equal(ms.jacfwd(f)(x, i, m).asnumpy(), want)
    np.testing.assert_array_equal(
        ms.vmap(ms.jacfwd(f), (None, 0, None))(x, i.reshape(2, 1), m).asnumpy()[:, 0], want)
    np.testing.assert_array_equal(ms.jit(ms.jacfwd(f))(x, i, m).asnumpy(), want)
    value, push = ops.linearize(f, (x, i, m))
    np.testing.assert_array_equal(push((x, None, None)).asnumpy(), [2.0, 18.0])
    value, pull = ms.vjp(f, x, i, m)
    by_x, by_i, by_m = pull(ops.ones(2))
    assert value.asnumpy().tolist() == [1.0, 9.0]
    assert by_x.asnumpy().tolist() == [2, 0, 6, 0] and not by_i.any() and not by_m.any()
    second = ms.jacfwd(ms.grad(f))(x, i, m).asnumpy()
    np.testing.assert_array_equal(second, np.diag([2, 0, 2, 0]))
