"""Running results of associative functions, against NumPy, loops and JAX's order of arguments."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(length, reverse):
    x = RNG.normal(size=(3, length)).astype(np.float32)
    wanted = np.flip(np.flip(x, 1).cumsum(1), 1) if reverse else x.cumsum(1)
    found = ms.associative_scan(ops.add, Tensor(x), reverse, axis=-1)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_products_of_matrices_keep_their_order(reverse):
    x = RNG.normal(size=(7, 2, 2)).astype(np.float32)
    wanted, last = [], np.eye(2, dtype=np.float32)
    for one in x[::-1] if reverse else x:
        last = one @ last if reverse else last @ one
        wanted.append(last)
    found = ms.associative_scan(ops.matmul, Tensor(x), reverse).asnumpy()
    np.testing.assert_allclose(found, wanted[::-1] if reverse else wanted, rtol=1e-4, atol=1e-5)


def recurrence(a, b):
    return ms.associative_scan(
        lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, {"a": a, "b": b})["b"]


def stepwise(a, b):
    return ms.scan(lambda x, one: (one[0] * x + one[1],) * 2, ops.zeros_like(b[0]), (a, b))[1]


def test_a_linear_recurrence_with_its_gradients_and_batches():
    a, b = (Tensor(RNG.normal(size=(11, 4)).astype(np.float32)) for _ in range(2))
    np.testing.assert_allclose(recurrence(a, b).asnumpy(), stepwise(a, b).asnumpy(), rtol=1e-4,
                               atol=1e-5)
    weights = Tensor(RNG.normal(size=(11, 4)).astype(np.float32))
    slopes = [ms.grad(lambda a, b, f=f: (f(a, b) * weights).sum(), (0, 1)) for f in
              (recurrence, stepwise)]
    compiled = ms.jit(slopes[0])
    for _ in range(3):
        for mine, eager, its in zip(compiled(a, b), slopes[0](a, b), slopes[1](a, b), strict=True):
            np.testing.assert_allclose(eager.asnumpy(), its.asnumpy(), rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(mine.asnumpy(), eager.asnumpy(), rtol=1e-5, atol=1e-6)
    columns = ms.vmap(recurrence, 1, 1)(a, b)
    np.testing.assert_allclose(columns.asnumpy(), recurrence(a, b).asnumpy(), rtol=1e-5, atol=1e-6)


def test_few_calls():
    calls = []

    def add(x, y):
        calls.append(len(x))
        return x + y

    ms.associative_scan(add, ops.ones(1024))
    assert len(calls) < 2 * 10 and sum(calls) < 2 * 1024


@pytest.mark.parametrize("call, error, told", [
    (lambda: ms.associative_scan(1, ops.ones(2)), TypeError, "'fn' must be a function"),
    (lambda: ms.associative_scan(ops.add, [1, 2]), TypeError, "'elems' must have Tensors"),
    (lambda: ms.associative_scan(ops.add, Tensor(1.0)), ValueError, "must have axis 0"),
    (lambda: ms.associative_scan(ops.add, ops.ones(2), axis=1), ValueError, "must have axis 1"),
    (lambda: ms.associative_scan(ops.add, (ops.ones(2), ops.ones(3))), ValueError, "one length"),
    (lambda: ms.associative_scan(lambda x, y: (x, y), ops.ones(2)), TypeError, "structure"),
    (lambda: ms.associative_scan(ops.add, ops.ones(2), 1), TypeError, "'reverse' must be a bool"),
])
def test_wrong_calls(call, error, told):
    with pytest.raises(error, match=f"For 'associative_scan', .*{told}"):
        call()
