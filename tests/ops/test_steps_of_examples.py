"""Steps of optimizers inside of `vmap`, with numbers that differ between the examples."""

import numpy as np
import pytest

from lamella import Parameter, ops
from lamella import Tensor as T

W = np.arange(6, dtype=np.float32).reshape(3, 2) / 10 + 1
G = np.float32([[1, -2], [0.5, 3], [2, -1]])
LR = np.float32([0.1, 0.2, 0.3])


def each(operator, count, *numbers):
    """The new var of each example, by a loop."""
    found = []
    for i in range(3):
        states = [Parameter(T(W[i]), name=f"s{n}") for n in range(count)]
        out = operator(*states, T(LR[i]), *numbers, T(G[i]))
        found.append((out[0] if isinstance(out, tuple) else out).asnumpy())
    return np.stack(found)


@pytest.mark.parametrize("operator, count, numbers", [
    (ops.ApplyProximalGradientDescent(), 1, (0.1, 0.2)),
    (ops.ApplyProximalAdagrad(), 2, (0.1, 0.2)),
    (ops.ApplyAdadelta(), 3, (0.95, 1e-6)),
], ids=range(3))
def test_each_example_has_its_rate(operator, count, numbers):
    def step(w, lr, g):
        out = operator(*[w * 1 for _ in range(count)], lr, *numbers, g)
        return out[0] if isinstance(out, tuple) else out

    found = ops.vmap(step, (0, 0, 0))(T(W), T(LR), T(G))
    np.testing.assert_allclose(found.asnumpy(), each(operator, count, *numbers), rtol=1e-5)


def test_rates_without_examples_of_parameters():
    step = ops.ApplyProximalGradientDescent()
    with pytest.raises(ValueError, match="mapped over"):
        ops.vmap(lambda lr: step(T(W), lr, 0.0, 0.0, T(G)), 0)(T(np.ones(5, np.float32)))


def test_bands_of_examples():
    x = np.ones((2, 3, 4), np.float32)
    found = ops.vmap(ops.MatrixBandPart(), (0, 0, 0))(T(x), T([0, 1]), T([1, -1]))
    np.testing.assert_array_equal(found.asnumpy(), [np.triu(np.tril(x[0], 1)),
                                                    np.triu(x[1], -1)])


def test_formats_of_examples():
    found = ops.vmap(ops.DataFormatDimMap())(T([[0, 1], [2, -4]]))
    assert found.asnumpy().tolist() == [[0, 3], [1, 0]]
    with pytest.raises(ValueError, match=r"in \[-4, 4\)"):
        ops.vmap(ops.DataFormatDimMap())(T([[0, 1], [2, 4]]))


def test_numbers_of_two_levels_of_examples():
    # rho belongs to the inner level, the rate to both, epsilon to none
    w, g = np.ones((2, 3, 2), np.float32), np.stack([G, G + 1])
    rate, rho = np.float32([[0.1, 0.2, 0.3], [1, 2, 3]]), np.float32([0.9, 0.5, 0.1])

    def step(w, lr, rho, g):
        return ops.ApplyAdadelta()(w * 1, w * 0.1, w * 0.2, lr, rho, 1e-6, g)[0]

    found = ops.vmap(ops.vmap(step), (0, 0, None, 0))(T(w), T(rate), T(rho), T(g))
    want = [[step(T(w[i, j]), rate[i, j], rho[j], T(g[i, j])).asnumpy() for j in range(3)]
            for i in range(2)]
    np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-6)


def test_rows_of_examples():
    w, a = (Parameter(T(np.full((2, 2, 1), x, np.float32)), name=n)
            for x, n in ((1, "w"), (0, "a")))
    out = ops.vmap(ops.SparseApplyAdagrad(0.1), (0, 0, 0, 0))(
        w, a, T(np.float32([[[2.0]], [[3.0]]])), T([[1], [0]]))
    np.testing.assert_allclose(out[0].asnumpy()[..., 0], [[1, 0.9], [0.9, 1]], rtol=1e-6)
    np.testing.assert_allclose(a.asnumpy()[..., 0], [[0, 4], [9, 0]])
