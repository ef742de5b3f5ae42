"""`jet` and `derivative`: Taylor series, and errors."""


import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

from .arrays import X, Y, arrays, square


class ExpSin(nn.Cell):
    def construct(self, x):
        return ops.exp(ops.sin(x))


def test_jet():
    # numbers of MindSpore 2.10
    series = Tensor([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    value, found = ops.jet(ExpSin(), X, series)
    np.testing.assert_allclose(value.asnumpy(), [2.3197770, 2.4825778], rtol=1e-6)
    np.testing.assert_allclose(found.asnumpy(), [
        [1.2533807, -1.0331169], [-1.2748204, -1.8274731], [-4.0515365, 3.6724352]], rtol=1e-5)
    _, curved = ops.jet(ExpSin(), X, Tensor([[1.0, 1.0], [1.0, 2.0], [3.0, 0.0]]))
    np.testing.assert_allclose(curved.asnumpy(), [
        [1.2533807, -1.0331169], [-0.0214397, -3.8937073], [-4.1158552, -7.2924042]], rtol=2e-5)
    values, many = ops.jet(lambda x, y: (x * y, ops.sin(x)), (X, Y), (series, series))
    assert arrays(values[0]) == [3.0, 8.0]
    np.testing.assert_allclose(many[0].asnumpy(), [[4.0, 6.0], [2.0, 2.0], [0.0, 0.0]], atol=1e-6)
    ints = ops.jet(ExpSin(), Tensor([1, 2], ms.int32), Tensor([[1, 1], [0, 0]], ms.int32))
    np.testing.assert_allclose(ints[1].asnumpy()[1], [-1.2748204, -1.8274731], rtol=1e-5)


def test_derivative():
    value, third = ops.derivative(ExpSin(), X, 3)
    np.testing.assert_allclose(value.asnumpy(), [2.3197770, 2.4825778], rtol=1e-6)
    np.testing.assert_allclose(third.asnumpy(), [-4.0515365, 3.6724352], rtol=1e-5)
    values, seconds = ops.derivative(lambda x, y: (x * y, ops.sin(x)), (X, Y), 2)
    assert arrays(values[0]) == [3.0, 8.0] and arrays(seconds[0]) == [2.0, 2.0]
    assert arrays(ops.derivative(lambda x: x**5, Tensor(2.0, ms.float64), 4)[1]) == 240.0


def test_series_by_the_chain_rule():
    """Along a curved path, to the order 5, for several inputs; also under other derivatives."""
    generator = np.random.default_rng(0)
    point, path = generator.standard_normal(3), generator.standard_normal((5, 3)) / 3

    def along(time):
        raw, factor = Tensor(point), 1.0
        for k in range(5):
            factor *= k + 1
            raw = raw + Tensor(path[k]) * time ** (k + 1) / factor
        return ops.exp(ops.sin(raw)).sum() * raw[0]

    wants, at = [], along
    for _ in range(5):
        at = ms.grad(at)
        wants.append(float(at(Tensor(0.0, ms.float64))))

    def function(x):
        return ops.exp(ops.sin(x)).sum() * x[0]

    _, found = ms.jet(function, Tensor(point), Tensor(path))
    np.testing.assert_allclose(found.asnumpy(), wants, rtol=1e-9)
    zeros = path * np.array([1, 0, 1, 0, 0])[:, None]

    def last(path):
        return ms.jet(function, Tensor(point), path)[1][-1]

    ms.check_grads(last, Tensor(zeros))
    together = ms.vmap(last)(Tensor(np.stack([path, zeros])))
    np.testing.assert_allclose(together.asnumpy(), [wants[-1], float(last(Tensor(zeros)))])
    np.testing.assert_allclose(float(ms.jit(last)(Tensor(path))), wants[-1])


@pytest.mark.parametrize("call, error, message", [
    (lambda: ops.jet(square, X, 3), TypeError, "'series' must be a Tensor"),
    (lambda: ops.jet(square, (X, Y), (X,)), ValueError, "hold as many Tensors, but got 2 and 1"),
    (lambda: ops.jet(square, X, Tensor([1.0, 1.0])), ValueError, "'series' must have shape"),
    (lambda: ops.jet(lambda x, y: x * y, (X, Y), (ops.ones((2, 2)), ops.ones((3, 2)))), ValueError,
     r"must be of one order of 1 or more, but got \[2, 3\]"),
    (lambda: ops.jet(square, (), ()), TypeError, "'primals' must be a Tensor"),
    (lambda: ops.jet(square, [X, 3], [X, X]), TypeError, "'primals' must be a Tensor"),
    (lambda: ops.jet(3, X, ops.ones((1, 2))), TypeError, "'fn' must be a function or Cell, but"),
    (lambda: ops.derivative(square, Tensor([1], ms.int8), 1), TypeError, "but got Int8"),
    (lambda: ops.derivative(square, X, True), TypeError, "'order' must be an int"),
    (lambda: ops.derivative(square, X, 0), ValueError, "'order' must be from 1 to 12, but got 0"),
    (lambda: ops.derivative(square, X, 2**70), ValueError, "from 1 to 12, but got 1180591620"),
    (lambda: ops.derivative(square, X, 1.5), TypeError, "'order' must be an int, but got 1.5"),
    (lambda: ops.derivative(square, X.astype(ms.float16), 1), TypeError, "Float16"),
])
def test_errors_of_jet_and_derivative(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("order", [1, 2, 12])
def test_orders_up_to_the_highest(order):
    """Of exp(x) at 0 each derivative is 1."""
    point = Tensor(np.zeros(2))
    value, found = ops.derivative(ops.exp, point, order)
    assert value.tolist() == [1.0, 1.0]
    np.testing.assert_allclose(found.asnumpy(), [1.0, 1.0])
    path = np.zeros((order, 2))
    path[0] = 1
    np.testing.assert_allclose(ms.jet(ops.exp, point, Tensor(path))[1].asnumpy(), 1 + 0 * path)


def test_an_order_above_the_highest():
    point = Tensor(np.zeros(2))
    with pytest.raises(ValueError, match="'order' must be from 1 to 12, but got 13"):
        ops.derivative(ops.exp, point, 13)
    with pytest.raises(ValueError, match="the order must be at most 12, but got 13"):
        ms.jet(ops.exp, point, Tensor(np.zeros((13, 2))))
    for shape in ((2,), (3, 3), (3, 2, 1), (0, 2), ()):
        with pytest.raises(ValueError, match="For 'jet'"):
            ms.jet(ops.exp, point, Tensor(np.zeros(shape)))


@pytest.mark.parametrize("order", [1, 3, 5])
@pytest.mark.parametrize("primal", [Tensor([1, 2], ms.int32), Tensor([True, True]),
                                    Tensor([1.0, 2.0], ms.float64), Tensor([1.0 + 1j, 2.0])],
                         ids=lambda t: str(t.dtype))
def test_types_of_points(primal, order):
    point = primal.asnumpy() * 1.0
    path = np.zeros((order, 2))
    path[0] = 1
    value, found = ms.jet(lambda x: x ** 3, primal, Tensor(path))
    kind = ms.float32 if primal.dtype in (ms.int32, ms.bool_) else primal.dtype
    assert value.dtype is kind and found.dtype is kind
    np.testing.assert_allclose(value.asnumpy(), point ** 3)
    wanted = [3 * point ** 2, 6 * point, 6 + 0 * point, 0 * point, 0 * point]
    np.testing.assert_allclose(found.asnumpy(), wanted[:order], atol=1e-6)


@pytest.mark.parametrize("order", [2, 4])
def test_several_inputs_of_which_one_stands_still(order):
    """Of x**2 y + z, where y has no path and z a path that begins late."""
    x, y, z = (Tensor(np.array(values)) for values in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]))
    moves, stands, late = (np.zeros((order, 2)) for _ in range(3))
    moves[0], late[1] = 1, 7
    value, found = ms.jet(lambda x, y, z: (x * x * y + z, {"y": y * 2}), (x, y, z),
                          [Tensor(path) for path in (moves, stands, late)])
    np.testing.assert_allclose(value[0].asnumpy(), [8.0, 22.0])
    wanted = [[6.0, 16.0], [13.0, 15.0], [0.0, 0.0], [0.0, 0.0]]
    np.testing.assert_allclose(found[0].asnumpy(), wanted[:order], atol=1e-12)
    assert found[1]["y"].shape == (order, 2) and not found[1]["y"].any()
