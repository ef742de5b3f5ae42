"""What a loop gives but isn't differentiated has no gradient, in compiled functions as eagerly.

A gradient of 0 would do as well but where a derivative is infinite: these loops take roots of 0.
"""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime.compiled import Compiled
from tests.graph.tracing.program_loops import finds_loops, flat, values

CALLS = 5


def root(x):
    return ops.sqrt((x ** 2).sum())


def with_an_error(a):
    x = ops.ceil(a * 4) + a * 0
    error = root(x - a)
    while error > 0.4:
        y = ops.relu(x - 1) + 0 * a
        error, x = root(y - x), y
    return x * a, error


def with_a_break(a):
    x, n = ops.ceil(a * 4) + a * 0, 0
    while True:
        y = ops.relu(x - 1) + 0 * a
        error, x = root(y - x), y
        n += 1
        if error < 0.4:
            break
    return x * a, error, n


def of_two_ways(a):
    x = ops.ceil(a * 4) + a * 0
    error = root(x - a)
    while error > 0.4:
        if x.max() > 3:
            y = ops.relu(x - 2) + 0 * a
        else:
            y = ops.relu(x - 1) + ops.sqrt(x + 1) * 0 * a
        error, x = root(y - x), y
    return x * a, error


def takes_a_root_outside(a):
    weight = ops.sqrt((a - a).sum())
    x, error, t = a, a.sum(), 0 * a.sum()
    while t < 3:
        error = x.sum() * weight
        x, t = x * 0.9, t + a.max()
    return x, error


def of_a_loop(a):
    x, error, t = a, a.sum(), 0 * a.sum()
    while t < 3:
        s, last = 0 * a.sum(), a.sum()
        while s < 2:
            last = root(ops.relu(x - x + s - 0.7) * x)
            x, s = x * 0.95, s + a.mean()
        error = last + 0.1 * root(ops.relu(x - x + t - 1.1))
        t = t + a.max() * 0.7
    return x, error


def of_a_loop_that_carries_it(a):
    x, t, last = a, 0 * a.sum(), a.sum()
    while t < 3:
        s = 0 * a.sum()
        while s < 2:
            x = x * 0.95 + 0.01 * last
            last = root(ops.relu(x - x + s + t - 0.7) * x)
            s = s + a.mean()
        t = t + a.max() * 0.7
    return x, last


def with_early_roots(a):
    """The last step's error is a number, those of the steps before are roots of 0."""
    x, error, t = a, a.sum(), 0 * a.sum()
    while t < 4:
        error = root(ops.relu(x - x + t - 1.5) * x)
        x, t = x * 0.9, t + a.max() * 0.5
    return x, error


def that_swaps(a):
    x, p, q, t = a, a.sum(), a.mean(), 0 * a.sum()
    while t < 4:
        p, q = q, root(ops.relu(x - x + t - 1.5) * x)
        x, t = x * 0.9 + 0.1 * a, t + a.max() * 0.5
    return x, p, q


def of_while_loop(a):
    def step(state):
        x, _ = state
        y = ops.relu(x - 1) + 0 * a
        return y, root(y - x)

    x, error = ops.WhileLoop()(lambda s: s[1] > 0.4, step, (ops.ceil(a * 4) + a * 0, a.sum() + 1))
    return x * a, error


def of_scan(a):
    def step(x, element):
        y = ops.relu(x - 1) + 0 * a
        return y, root(y - x) * element

    x, errors = ops.Scan()(step, ops.ceil(a * 4) + a * 0, ops.ones((4,)), 4, True)
    return x * a, ops.stack(errors) if isinstance(errors, list) else errors


def first(fn):
    return lambda a: fn(a)[0].sum()


def with_others(fn):
    def run(a):
        found = fn(a)
        return found[0].sum(), *found[1:]

    return run


def check(derivative, recordings=3, is_finite=True):
    """Hold a derivative against itself compiled."""
    compiled, numbers = Compiled(derivative), 0
    for call in range(CALLS):
        wanted = [np.asarray(part) for part in parts(derivative(values(call)))]
        found = [np.asarray(part) for part in parts(compiled(values(call)))]
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        numbers += all(np.isfinite(part).all() for part in wanted)
    assert numbers == CALLS if is_finite else numbers > 0
    assert compiled.statistics.traces <= recordings


def parts(value):
    if isinstance(value, (tuple, list)):
        return [one for part in value for one in parts(part)]
    return flat(value)


LOOPS = [with_an_error, with_a_break, of_two_ways, takes_a_root_outside, of_a_loop,
         of_a_loop_that_carries_it, with_early_roots, that_swaps, of_while_loop, of_scan]


@finds_loops
@pytest.mark.parametrize("fn", LOOPS, ids=lambda fn: fn.__name__)
def test_what_is_returned_besides_has_no_gradient(fn):
    check(ms.grad(with_others(fn), has_aux=True), is_finite=fn is not of_a_loop_that_carries_it)


@finds_loops
def test_a_value_with_a_gradient_and_what_is_returned_besides():
    check(ms.value_and_grad(with_others(with_an_error), 0, None, has_aux=True))


@finds_loops
def test_a_second_derivative():
    derivative = ms.grad(first(with_an_error))
    check(ms.grad(lambda a: derivative(a).sum()), recordings=5)
    derivative = ms.grad(first(of_while_loop))
    check(ms.grad(lambda a: derivative(a).sum()))


@finds_loops
@pytest.mark.parametrize("fn", [with_early_roots, that_swaps, of_a_loop],
                         ids=lambda fn: fn.__name__)
def test_a_value_that_each_step_computes_anew_has_a_gradient_in_the_last_step_alone(fn):
    check(ms.grad(lambda a: fn(a)[0].sum() + fn(a)[-1].sum()), is_finite=False)
    check(ms.grad(lambda a: fn(a)[-1].sum()), is_finite=False)


@finds_loops
def test_a_value_before_the_loop_that_each_step_replaces():
    def run(a):
        x, error, t = a, root(a - a), a.max()
        while t < 3:
            error, x, t = x.sum(), x * 0.9, t + a.max()
        return x.sum() + error

    derivative = ms.grad(run)
    compiled = Compiled(derivative)
    for call in (0, 1, 0, 1, 2, 3, 0, 3):  # the last takes no step
        found, wanted = compiled(values(call)).asnumpy(), derivative(values(call)).asnumpy()
        assert np.isfinite(wanted).all() == (call < 3)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_gradient_that_is_there_at_first_alone():
    """Of `scan`, only what the steps give is differentiated: the last carried value isn't."""
    def run(a):
        _, sums = ops.Scan()(lambda x, e: (root(x) * e, x * e), a.sum(), Tensor([1.0, 2.0, 0.0]), 3,
                             True)
        return ops.stack(sums).sum() if isinstance(sums, list) else sums.sum()

    check(ms.grad(run))


def of_no_step(a):
    w = root(a - a)
    x, t = a, a.max()
    while t < 3:
        x, t = x * (0.9 + w), t + a.max()
    return (x * a).sum()


def of_no_step_of_while_loop(a):
    w = root(a - a)
    x, _ = ops.WhileLoop()(lambda s: s[1] < 3, lambda s: (s[0] * (0.9 + w), s[1] + a.max()),
                           (a, a.max()))
    return x.sum()


def of_no_step_that_replaces(a):
    x, error, t = a, root(a - a), a.max()
    while t < 3:
        error, x, t = x.sum(), x * 0.9, t + a.max()
    return x.sum() + t + 0 * (error > 0)


def of_no_inner_step(a):
    w = root(a - a)
    x, t = a, 0 * a.sum()
    while t < 3:
        s = 0 * a.sum()
        while s < 3:
            u = a.max()
            while u < 3:
                x, u = x * (0.9 + w), u + a.max()
            s = s + a.max()
        t = t + a.max()
    return x.sum()


def of_no_way(a):
    w = root(a - a)
    x, t = a, 0 * a.sum()
    while t < 3:
        if x.sum() < 0 or a.max() < 3:
            x = x * w
        x = x * 0.9 + a
        t = t + a.max()
    return x.sum()


def of_no_way_for_what_it_begins_with(a):
    w = root(a - a)
    x, y, t = a, w, 0 * a.sum()
    while t < 3:
        if a.max() < 3:
            x = x + y
        y = x.mean()
        t = t + a.max()
    return x.sum()


def that_passes_it_on(a):
    """Only later steps use what the loop begins with."""
    x, y, z, t = a, a * a, a * 3, 0 * a.sum()
    while t < 3:
        if t > 1:
            x, z = x + y + z, z * 0.5
        else:
            y = y
        t = t + a.max()
    return x.sum()


@finds_loops
def test_what_later_steps_use_has_its_gradient():
    check(ms.grad(that_passes_it_on))


def test_derivatives_of_many_that_take_no_step():
    """Each example has its own number of steps."""
    gradient = ms.grad(of_no_step_of_while_loop)
    again = ms.grad(lambda a: (gradient(a) ** 2).sum())
    rows = [Tensor(np.array([1.0, 0.8, 0.6], np.float32) * scale) for scale in (0.3, 3.5, 1.1, 4)]
    for derivative in (gradient, again):
        found = Compiled(ms.vmap(derivative))(ops.stack(rows)).asnumpy()
        wanted = np.stack([derivative(row).asnumpy() for row in rows])
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        assert np.isfinite(wanted).all(1).tolist() == [False, True, False, True]


def derivative_of(fn, order):
    """The gradient, or that of its square."""
    gradient = ms.grad(fn)
    return gradient if order == 1 else ms.grad(lambda a: (gradient(a) ** 2).sum())


@finds_loops
@pytest.mark.parametrize("fn", [of_no_step, of_no_step_of_while_loop, of_no_step_that_replaces,
                                of_no_inner_step, of_no_way,
                                of_no_way_for_what_it_begins_with], ids=lambda fn: fn.__name__)
@pytest.mark.parametrize("order", [1, 2])
def test_what_no_step_takes_from_outside_has_no_gradient(fn, order):
    """The root of 0 has no derivative; it is used where there is a step, and else not."""
    derivative = derivative_of(fn, order)
    compiled, numbers = Compiled(derivative), []
    for scale in (0.4, 0.6, 0.8, 0.5, 3.2, 0.7, 3.1):  # the two large ones take none
        a = values(0) * 0 + Tensor([scale, scale * 0.7, scale * 0.5, scale * 0.2])
        wanted, found = derivative(a).asnumpy(), compiled(a).asnumpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        numbers.append(bool(np.isfinite(wanted).all()))
    assert any(numbers) and compiled.statistics.replays
    assert order == 2 or compiled.statistics.traces <= 3


def that_passes_a_root_on(a):
    """The second step uses what it begins with, the third what that was made of."""
    x, y, z, t = a, root(a - a), a.sum(), 0 * a.sum()
    while t < 3:
        x, z, y, t = x * 0.9 + 0.1 * z, y, x.mean(), t + a.max()
    return x.sum()


def of_while_loop_that_passes_it_on(a):
    def step(state):
        x, y, z, t = state
        return x * 0.9 + 0.1 * z, x.mean(), y, t + a.max()

    first = (a, root(a - a), a.sum(), 0 * a.sum())
    return ops.WhileLoop()(lambda s: s[3] < 3, step, first)[0].sum()


def that_passes_it_on_to_no_way(a):
    x, y, z, t = a, root(a - a), a.sum(), 0 * a.sum()
    while t < 3:
        if x.sum() < 0:
            x = x + z
        x, z, t = x * 0.9, y * 2, t + a.max()
    return x.sum()


def that_passes_what_is_outside_on(a):
    w = root(a - a)
    x, z, t = a, a.sum(), 0 * a.sum()
    while t < 3:
        if a.max() < 3:
            x = x + z
        x, z, t = x * 0.9, w * x.sum(), t + a.max()
    return x.sum()


def of_a_loop_that_passes_it_on(a):
    w = root(a - a)
    x, t = a, 0 * a.sum()
    while t < 3:
        z, y, s = a.sum(), w, 0 * a.sum()
        while s < 2:
            x, z, y, s = x * 0.9 + 0.1 * z, y, x.mean(), s + a.max()
        t = t + a.max()
    return x.sum()


def around_a_loop_that_passes_it_on(a):
    x, y, z, t = a, root(a - a), a.sum(), 0 * a.sum()
    while t < 3:
        s = 0 * a.sum()
        while s < 2:
            x, s = x * 0.9 + 0.1 * z, s + a.max()
        z, y, t = y, x.mean(), t + a.max()
    return x.sum()


def after_a_loop_that_passes_it_on(a):
    """The first step is recorded by itself, and its root is used by the third one."""
    q, p = a.mean(), a.sum()
    x, y, z, w, t = p, p, p, p * 0.5, 0 * p
    while t < 3:
        x, w = w * 0.3, z
        y = 0.5 * x
        s = 0 * t
        while s < 2:
            z, y, s = root(q - q), y * 0.2, s + a.max()
        t = t + a.max()
    return x + y


@finds_loops
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("fn", [
    that_passes_a_root_on, of_while_loop_that_passes_it_on, that_passes_it_on_to_no_way,
    that_passes_what_is_outside_on, of_a_loop_that_passes_it_on, around_a_loop_that_passes_it_on,
    after_a_loop_that_passes_it_on], ids=lambda fn: fn.__name__)
def test_what_steps_pass_on_but_never_use_has_no_gradient(fn, order):
    """With few steps, a chain of carried values ends before the root of 0 is used."""
    derivative = derivative_of(fn, order)
    compiled, numbers = Compiled(derivative), []
    for scale in (0.4, 1.6, 3.2, 0.6, 1.7, 3.1):  # five steps or more, two, or one
        a = Tensor(np.array([1, 0.7, 0.5, 0.2], np.float32) * scale)
        wanted, found = derivative(a).asnumpy(), compiled(a).asnumpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        numbers.append(bool(np.isfinite(wanted).all()))
    assert numbers[2] and numbers[5] and compiled.statistics.replays
    assert order == 2 or compiled.statistics.traces <= 3
