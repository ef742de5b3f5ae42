"""One of several functions by a value: eager, compiled, differentiated and in batches."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def half_or_square(x):
    return ms.cond(x > 1, lambda x: x / 2, ops.square, x)


def of_three(i, x):
    return ms.switch(i, (ops.sin, ops.square, lambda x: x * 3), x)


def test_one_function_runs():
    ran = []
    assert ms.cond(True, lambda: 1, lambda: ran.append(2)) == 1 and not ran
    assert ms.switch(2, (lambda x: ran.append(x), lambda x: ran.append(x), abs), -3) == 3
    assert not ran


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_values_and_gradients(wrap):
    f, slope = wrap(half_or_square), wrap(ms.grad(half_or_square))
    for value, wanted, gradient in [(3.0, 1.5, 0.5), (0.5, 0.25, 1.0), (4.0, 2.0, 0.5)] * 2:
        assert float(f(Tensor(value))) == wanted and float(slope(Tensor(value))) == gradient
    g = wrap(of_three)
    for i, wanted in [(-5, np.sin(2.0)), (0, np.sin(2.0)), (1, 4.0), (2, 6.0), (9, 6.0)] * 2:
        assert float(g(Tensor(i), Tensor(2.0))) == pytest.approx(wanted)


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "compiled"])
def test_examples_that_differ(wrap):
    x = np.float32([3.0, 0.5, 1.0, 4.0])
    f = wrap(ms.vmap(half_or_square))
    slope = wrap(ms.vmap(ms.grad(half_or_square)))
    for _ in range(3):
        assert f(Tensor(x)).tolist() == [1.5, 0.25, 1.0, 2.0]
        assert slope(Tensor(x)).tolist() == [0.5, 1.0, 2.0, 0.5]
    i = np.int32([-1, 1, 2, 7])
    g = wrap(ms.vmap(of_three))
    for _ in range(3):
        np.testing.assert_allclose(g(Tensor(i), Tensor(x)).asnumpy(),
                                   [np.sin(x[0]), x[1] ** 2, x[2] * 3, x[3] * 3], rtol=1e-6)


def test_structures_and_examples_that_agree():
    def f(test, x):
        return ms.cond(test, lambda x: {"a": x, "b": (x, 2)}, lambda x: {"a": -x, "b": (x, 2)}, x)

    found = ms.vmap(lambda t, x: f(t, x)["a"])(Tensor([True, False]), Tensor([1.0, 2.0]))
    assert found.tolist() == [1.0, -2.0]
    same = ms.vmap(lambda x: f(Tensor(False), x)["a"])(Tensor([1.0, 2.0]))
    assert same.tolist() == [-1.0, -2.0]


def test_inside_of_a_loop():
    @ms.jit
    def collatz(n):
        step = lambda n: ms.cond(n % 2 == 0, lambda n: n // 2, lambda n: 3 * n + 1, n)  # noqa: E731
        return ms.while_loop(lambda s: s[0] != 1, lambda s: (step(s[0]), s[1] + 1), (n, Tensor(0)))

    for n, steps in [(6, 8), (7, 16), (27, 111), (1, 0)]:
        assert [int(v) for v in collatz(Tensor(n))] == [1, steps]


@pytest.mark.parametrize("call, error, told", [
    (lambda: ms.cond(True, 1, abs, 2), TypeError, "'true_fun' must be a function"),
    (lambda: ms.cond(True, abs, None, 2), TypeError, "'false_fun' must be a function"),
    (lambda: ms.cond(Tensor([True, False]), abs, abs, 1), ValueError, "'pred' must have one elem"),
    (lambda: ms.switch(0, [], 1), ValueError, "'branches' must have a function"),
    (lambda: ms.switch(0, abs, 1), TypeError, "'branches' must be"),
    (lambda: ms.switch(1.0, [abs], 1), TypeError, "'index' must be an int or Tensor"),
    (lambda: ms.switch(Tensor(1.0), [abs], 1), TypeError, "'index' must be an integer"),
    (lambda: ms.switch(Tensor([1, 2]), [abs], 1), ValueError, "'index' must have one element"),
    (lambda: ms.vmap(lambda x: ms.cond(x > 0, lambda x: (x, x), lambda x: x, x))(ops.ones(2)),
     TypeError, "results of one structure"),
])
def test_wrong_calls(call, error, told):
    with pytest.raises(error, match=f"For '(cond|switch)', .*{told}"):
        call()
