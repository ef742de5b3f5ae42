"""Operators that turn an argument into Python numbers, inside of `vmap`."""

import numpy as np
import pytest
import scipy.special

import lamella as ms
from lamella import Tensor, ops
from lamella.autodiff import by_example

X = Tensor(np.array([[0.5, 1.0, 2.0], [1.5, 3.0, 0.25]], np.float32))
ORDERS = Tensor([1, 2])
WANTED = np.stack([scipy.special.polygamma(1, X[0].asnumpy()),
                   scipy.special.polygamma(2, X[1].asnumpy())])


@pytest.mark.parametrize("compiled", [False, True])
def test_an_order_of_each_example(compiled):
    mapped = ops.vmap(ops.polygamma)
    run = ms.jit(mapped) if compiled else mapped
    for _ in range(3):
        np.testing.assert_allclose(run(ORDERS, X).asnumpy(), WANTED, rtol=1e-5)


def test_inside_of_another_vmap():
    orders = Tensor([[1, 2], [2, 1]])
    found = ops.vmap(lambda n: ops.vmap(ops.polygamma)(n, X))(orders).asnumpy()
    np.testing.assert_allclose(found[0], WANTED, rtol=1e-5)
    np.testing.assert_allclose(found[1, 1], scipy.special.polygamma(1, X[1].asnumpy()), rtol=1e-5)


def test_gradient_around():
    found = ms.grad(lambda x: ops.vmap(ops.polygamma)(ORDERS, x).sum())(X).asnumpy()
    np.testing.assert_allclose(found[0], scipy.special.polygamma(2, X[0].asnumpy()), rtol=1e-5)


def test_several_results():
    rows = Tensor([[3, 4, 5], [0, 1, 2]])
    found = ops.vmap(lambda x, n: by_example.retried(lambda x, n: (x * int(n), [x]), (x, n), {})
                         )(rows, Tensor([2, 3]))
    assert found[0].asnumpy().tolist() == [[6, 8, 10], [0, 3, 6]]
    assert found[1][0].asnumpy().tolist() == rows.asnumpy().tolist()


def test_shapes_that_depend_on_numbers():
    rows = Tensor([[0, 1, 1], [1, 0, 2], [2, 2, 2]])
    found = ops.vmap(lambda x: ops.nonzero(x < 2))(Tensor([[0, 1, 2], [2, 0, 1]]))
    assert found.asnumpy().tolist() == [[[0], [1]], [[1], [2]]]
    with pytest.raises(RuntimeError, match="can't depend on values"):
        ops.vmap(ops.nonzero)(rows)


@pytest.mark.parametrize("function", [
    lambda x: x.sum().item(), lambda x: ops.arange(int(x[0])),
    lambda x: ops.grad(lambda y: ops.polygamma(x[0].astype(ms.int64), y).sum())(x)])
def test_what_stays_refused(function):
    with pytest.raises(RuntimeError, match="stands for many examples"):
        ops.vmap(function)(X + 1)
