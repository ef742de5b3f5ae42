"""An `if` in the loops of compiled functions: the way that isn't taken leaves no trace."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime.compiled import Compiled

from .program_loops import CALLS, check, finds_loops, values


def with_roots(a):
    x, t, weight = a, 0 * a.sum(), a * a
    while t < 3:
        if x.min() > 0.4:
            x = x * 0.8
        elif t > 1:
            x = x + weight
        else:  # the derivative of this is no number
            x = ops.sqrt(x - x) + a + ops.sqrt(weight - weight)
        t = t + a.max()
    return x


@finds_loops
@pytest.mark.parametrize("order", [1, 2])
def test_a_choice_under_a_gradient_has_the_gradient_of_the_way_taken(order):
    def wanted(a):
        return with_roots(a).sum()

    for _ in range(order):
        wanted = ms.grad(lambda a, fn=wanted: fn(a).sum())
    compiled = Compiled(wanted)
    for call in range(CALLS):
        np.testing.assert_allclose(compiled(values(call)).asnumpy(), wanted(values(call)).asnumpy(),
                                   rtol=1e-6)
    assert compiled.statistics.traces <= 3


@finds_loops
@pytest.mark.parametrize("derive", [False, True])
def test_a_loop_in_a_way_that_is_not_taken_ends(derive):
    def run(a):
        x, y, t = a, 0 * a.sum() + 1, 0 * a.sum()
        while t < 4:
            if a.max() < 0.9:
                while y > 1e-3:  # for ever, if it ran with larger numbers
                    y = y * a.max()
            else:
                y = y * 0.9 * a.mean()
            t = t + ops.abs(a.max())
        return y * x + t

    wanted = ms.grad(lambda a: run(a).sum()) if derive else run
    compiled = Compiled(wanted)
    for call in range(CALLS):  # a loop's backward pass adds up in another order
        np.testing.assert_allclose(compiled(values(call)).asnumpy(), wanted(values(call)).asnumpy(),
                                   rtol=1e-6)
    assert compiled.statistics.traces <= 4


def rejects_what_is_no_number(a):
    x, t = a, 0 * a.sum()
    while t < 3:
        y = ops.sqrt(x - 0.4)  # computed in any case, and not used if it has no value
        if ops.isnan(y).any():
            x = x * 1.2
        else:
            x = y
        t = t + a.max()
    return x


def divides_unless_zero(a):
    x, g, t = a, a * 0, 0 * a.sum()
    while t < 3:
        n = ops.sqrt((g * g).sum())
        if n > 0:
            g = g / n
        g = g + 0.3 * x
        x = x - 0.1 * g
        t = t + a.max()
    return x


def has_an_error_of_zero(a):
    x, error = ops.ceil(a * 4) + a * 0, ops.sqrt((a * a).sum())
    while error > 0.4:
        y = ops.relu(x - 1) + 0 * a
        error = ops.sqrt(((y - x) ** 2).sum())
        x = y
    return x * a


def gives_the_value_before(a):
    x, before, t = a, a, 0 * a.sum()
    while t < 3:
        before = x
        x = ops.sqrt(ops.relu(x - 0.3))  # its last value isn't used
        t = t + a.max()
    return before


@finds_loops
@pytest.mark.parametrize("fn", [rejects_what_is_no_number, divides_unless_zero,
                                has_an_error_of_zero, gives_the_value_before],
                         ids=lambda fn: fn.__name__)
def test_what_is_not_used_has_no_gradient(fn):
    wanted = ms.grad(lambda a: fn(a).sum())
    compiled = Compiled(wanted)
    for call in range(CALLS):
        found = compiled(values(call)).asnumpy()
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, wanted(values(call)).asnumpy(), rtol=1e-6)
    assert compiled.statistics.traces <= 3


@finds_loops
def test_a_name_that_only_one_way_assigns():
    def run(a):
        x, t = a, 0 * a.sum()
        while t < 3:
            if x.max() > 1:
                z = x * 2
            t = t + a.max()
            x = x * 1.2
        return z  # noqa: F821  (it has a value by then)

    check(run, 3)
    check(run, 4, derive=True)


@pytest.mark.filterwarnings("ignore:.*recorded again:UserWarning")
def test_a_warning_names_what_hinders_a_loop():
    def run(a):
        x = a
        while x.max() > 0.01:
            try:
                if x.sum() > 8:
                    raise ValueError
                x = x * 0.9
            except ValueError:
                x = x * 0.8
        return x

    compiled = Compiled(run)
    with pytest.warns(UserWarning, match="without its 'raise' in line"):
        for call in range(10):
            compiled(Tensor([1.0 + call, 0.5]))
