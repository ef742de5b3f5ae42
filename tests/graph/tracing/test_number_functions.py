"""Python's functions of numbers that are read off tensors: exactly Python's, also in replays."""

import math
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, ops
from lamella.graph.tracing.number_functions import number_function

FLOATS = [0.1, -7.25, 2.5, 3.5, -2.5, 0.0, -0.0, 1.0, -8.0, 1e-320, 1e30, 800.0, 1e300, math.inf,
          -math.inf, math.nan, 0.5]
INTS = [3, 25, -5, 2, 15, 0, 1, 2**31, 2**40, -2**62, 64]


def never_raises(a):
    return (a % 3.0, a % -0.7, a % math.pi, a // 0.3, a // -3, divmod(a, -2.5), round(a, 2),
            math.hypot(a, 2.0), math.atan2(a, -1), a ** True, a % (a * a + 1),
            0 if math.isnan(a) else 1, a if np.isfinite(a) else -1.0)


def of_ints(a):
    return (a % 7, a % -7, a // -3, divmod(a, 5), round(a), round(a, -1), math.floor(a),
            2 ** min(a, 70), math.isinf(a), a % 2.5)


OF_FLOATS = {
    "never raises": never_raises,
    "whole": lambda a: (round(a), math.floor(a), math.ceil(a), math.trunc(a), round(a, None)),
    "zero divides": lambda a: (7.5 % a, -7 // a, divmod(9, a), a ** -1),
    "overflows": lambda a: (a ** 2, 2.0 ** a, math.exp(a)),
    "roots": lambda a: math.sqrt(a) + math.log(a + 1), "may be complex": lambda a: a ** 0.5,
    "in a row": lambda a: round(math.log(1 + math.exp(-abs(a))) * 100 / 3, 1) // 0.7}
OF_INTS = {
    "never raises": of_ints, "zero divides": lambda a: (5 // a, 5 % a, divmod(17, a), a ** -1),
    "too large for int64": lambda a: (a ** 2, a ** 9), "float": lambda a: math.log(abs(a) + 1)}


def outcome(function, x):
    try:
        return repr(function(x)[1])  # with its type, and the sign of zeros
    except (ArithmeticError, ValueError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind, name", [*[("float", name) for name in OF_FLOATS],
                                        *[("int", name) for name in OF_INTS]])
def test_python_s_functions_give_what_python_gives(kind, name):
    values, functions, dtype = ((FLOATS, OF_FLOATS, np.float64) if kind == "float"
                                else (INTS, OF_INTS, np.int64))

    def step(x):
        return x * 2, functions[name](x.item())

    compiled = jit(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for value in [*values, *values[::-1]]:
            x = Tensor(np.array(value, dtype))
            assert outcome(compiled, x) == outcome(step, x), value
    report = compiled.report()
    assert report["replays"] > len(values) and not report["eager"]


def test_a_result_is_used_by_kernels_and_by_a_number_that_varies():
    def step(x, n):
        norm = float(ops.norm(x)) ** 0.5 // 0.01
        return x / (norm + 1) * round(n % norm, 3)

    compiled = jit(step)
    for k in range(60):  # also as the graph is rewritten and compiled
        x = ops.arange(6).float() * (k + 1)
        np.testing.assert_allclose(compiled(x, k / 7).asnumpy(), step(x, k / 7).asnumpy(), 1e-6)
    assert compiled.report()["traces"] <= 4 and not compiled.report()["eager"]


def test_a_gradient_passes_beside_such_numbers():
    def step(x):
        return ms.grad(lambda x: (x * math.exp(float(ops.stop_gradient(x).mean()))).sum())(x)

    compiled = jit(step)
    for k in range(6):
        np.testing.assert_allclose(compiled(ops.ones(3) * k).asnumpy(),
                                   step(ops.ones(3) * k).asnumpy(), 1e-6)
    assert not compiled.report()["eager"]


def test_a_function_reports_when_its_result_does_not_hold():
    power = number_function(pow, int)
    assert power is number_function(pow, int) and str(power) == "python.pow"
    two = ops.full((), 2, dtype=ms.int64)._raw
    assert [raw.item() for raw in power([two, 5])] == [32, True]
    for operands in ([two, -1], [two, 63], [two * 0, -1]):  # a float, too large, an error
        assert not power(operands)[1]


@pytest.mark.filterwarnings("ignore:For 'jit'")
def test_a_number_beside_what_is_no_number():
    def step(x, n):
        return x * len([0] * n) + len(n * "ab") + ((1, 2) * n)[-1]

    compiled = ms.jit(step)
    for n in range(1, 7):
        assert compiled(Tensor([1.0]), n).item() == n + 2 * n + 2
