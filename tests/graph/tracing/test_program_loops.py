"""Loops of the program's that go on until a Tensor says otherwise, in compiled functions."""


import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops
from lamella.graph.runtime.compiled import Compiled
from tests.graph.random_loops import check as check_random

from .program_loops import CALLS, check, finds_loops, values


def fixed_point(a):
    x, error = a, ops.abs(a).sum()
    while error > 1e-3:
        y = 0.5 * ops.cos(x) * x
        error = ops.abs(y - x).sum()
        x = y
    return x


def counted(a):
    x, n = a, 0
    while bool(ops.abs(x).max() > 0.1) and n < 50:
        x = x * 0.7
        n += 1
    return x, n


def of_a_range(a):
    x = 0 * a
    for _ in range(30):
        x = x + 0.1 * a
        if x.sum() > 2:
            break
        x = x * 0.95
    return x


def of_a_range_backwards(a):
    x, i = a, 0
    for i in range(40, 3, -2):  # noqa: B007  (it is returned)
        if not (x.max() > 0.05):
            break
        x = x * 0.8
    return x, i


def endless(a):
    x = a
    while True:
        x = x * 0.7
        if x.max() < 0.1 or x.min() < 0.01:
            break
    return x


def of_numbers(a):
    x, error, n = a + 1, 1.0, 0
    while error > 1e-3 and n < 100:
        y = 0.5 * (x + 4 * a / x)
        error = float(ops.abs(y - x).max())
        x = y
        n += 1
    return x, n


def with_a_choice(a):
    t, h = 0 * a.sum(), 0 * a.sum() + 0.3
    y = a
    while t < 1:
        new = y - h * y * y
        error = ops.abs(h * (new - y)).max()
        if error < 0.01:
            y = new
            t = t + h
            h = h * 1.3
        elif error < 0.02:
            h = h * 0.7
        else:
            h = h * 0.5
    return y


def in_a_loop(a):
    x, total = a, 0 * a.sum()
    while total < 6:
        error = ops.abs(x).max()
        while error > 0.2:
            x = x * 0.6
            error = ops.abs(x).max()
        x = x + a
        total = total + ops.abs(a).max()
    return x


def with_a_break_in_a_loop(a):
    x, t = a, 0 * a.sum()
    while t < 6:
        for _ in range(5):
            x = x * 0.8
            if x.max() < 0.2:
                break
            x = x * 0.9
        x = x + a
        t = t + ops.abs(a).max()
    return x


def one_after_another(a):
    x = a
    while ops.abs(x).max() > 0.1:
        x = x * 0.8
    y = a
    while ops.abs(y).max() < 20:
        y = y * 1.4 + 0.01
    return x + y


def with_structures(a):
    pair, weights = (a, a * 2), [a, a + 1]
    while pair[0].sum() > 0.1:
        pair = pair[0] * 0.5, pair[1] + pair[0]
        weights = [w * 0.9 for w in weights]
    return pair[1] + weights[0] + weights[1]


def by_a_helper(a):
    def halved(x):
        return ops.where(x > 0.3, x * 0.5, x * 0.7)

    x = a
    while not x.max() <= 0.1:
        x = halved(x)
    return x


def until_half(a):
    x = a
    for _ in range(6):  # mostly ends by itself
        x = x * 0.8
        if x.max() < 0.3:
            break
    return x * x


def goes_on(a):
    x = a
    while x.max() > 0.1:
        x = x * 0.7
        if x.min() > 1:
            continue
        x = x * 0.9
    return x


def goes_on_in_ways(a):
    x, n = a, 0
    for _ in range(30):
        if x.max() < 0.1:
            break
        x = x * 0.7
        if x.min() > 1:
            n += 1
            continue
        elif x.min() > 0.5:
            x = x * 0.8
        else:
            continue
        x = x * 0.9
    return x, n


def goes_on_deep_inside(a):
    x, n = a, 0
    while x.max() > 0.1:
        x = x * 0.7
        if x.min() > 0.4:
            n += 1
            if x.max() > 1:
                if x.min() > 1:
                    continue
                x = x * 0.9
            x = x * 0.95
        x = x * 0.9
        n += 2
    return x, n


def with_a_conditional_expression(a):
    x, n = a, 0
    while x.max() > 0.1:
        x = ops.sqrt(x - 1) * 0.3 if x.min() > 1 else x * (0.6 if x.max() > 1 else 0.8)
        n = n + 1 if x.min() > 0.2 else n
    return x, n


ROLLED = [fixed_point, counted, of_a_range, of_a_range_backwards, endless, of_numbers,
          with_a_choice, in_a_loop, with_a_break_in_a_loop, one_after_another, with_structures,
          by_a_helper, until_half, goes_on, goes_on_in_ways, goes_on_deep_inside,
          with_a_conditional_expression]


@finds_loops
@pytest.mark.parametrize("fn", ROLLED, ids=lambda fn: fn.__name__)
def test_a_loop_with_a_condition_is_recorded_twice(fn):
    check(fn, 4 if fn in (of_numbers, of_a_range_backwards, one_after_another, counted) else 3)


@finds_loops
@pytest.mark.parametrize("fn", ROLLED, ids=lambda fn: fn.__name__)
def test_its_gradient_is_two_loops(fn):
    check(fn, 4, derive=True)


@finds_loops
def test_a_loop_of_a_network():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(4, 4, weight_init="ones")

        def construct(self, x):
            x = x.reshape(1, 4)
            while ops.abs(x).max() > 0.1:
                x = 0.1 * self.dense(x)
            return x

    check(Net(), 3)
    net = Net()
    step = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    compiled = Compiled(step)
    for call in range(CALLS):
        (a, da), (b, db) = compiled(values(call)), step(values(call))
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
        for x, y in zip(da, db, strict=True):
            np.testing.assert_array_equal(x.asnumpy(), y.asnumpy())
    assert compiled.statistics.traces <= 3


# -- loops whose steps do more than computing, or differ: as before --------------------------------


def appends(a):
    x, seen = a, []
    while x.max() > 0.1:
        x = x * 0.7
        seen.append(x)
    return seen[-1] + len(seen)


def grows(a):
    x = a
    while x.sum() < 40:
        x = ops.concat([x, x])
    return x


def takes_an_element(a):
    x, table = a, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1] * 9
    n = 0
    while x.max() > 0.1:
        x = x * table[n]
        n += 1
    return x


def by_a_power(a):
    x, n = a, 1
    while x.max() > 0.1:
        x = x / 2 ** n
        n += 1
    return x


def doubles(a):
    x, n = a, 1
    while x.max() > 1e-3:
        x = x * 0.5
        n *= 3
    return x, n


def with_another_way_out(a):
    x = a
    while x.max() > 0.1:
        x = x * 0.7
        if x.min() < 0.06:
            return x + 1
    return x


def changes_in_place(a):
    x = a * 1
    same = x
    while x.max() > 0.1:
        x *= 0.7
    return same + x


def seen_by_another(a):
    x = a

    def largest():
        return x.max()

    while largest() > 0.1:
        x = x * 0.7
    return x


def asks_for_the_largest(a):
    x = a
    while max(x.max(), x.mean()) > 0.1:
        x = x * 0.7
    return x


def of_a_local_range(a):
    def range(count):
        return [0] * (count - 27)

    x = a
    for _ in range(30):
        x = x * 0.7
        if x.max() < 0.1:
            break
    return x


def of_another_kind(a):
    x, kind = a, "first"
    while x.max() > 0.1:
        x = x * (0.5 if kind == "first" else 0.8)
        kind = "second"
    return x


def gives_one_tensor_two_names(a):
    x, y = a * 1, a
    while x.max() > 0.1:
        x = x * 0.6
        y = x
    x[0] = 5
    return y, x is y


def gives_a_tensor_of_another_name(a):
    x, y, other = a * 1, a * 2, a * 3
    while x.max() > 0.1:
        x = x * 0.6
        y = other
    y[0] = 5
    return y, other


def carries_more(a):
    x, seen = a, (a, 1)
    while x.max() > 0.1:
        x = x * 0.7
        seen = (*seen, x)
    return seen[-1] + len(seen)


def carries_another_container(a):
    x, pair = a, (a, a)
    while x.max() > 0.1:
        x = x * 0.7
        pair = [x, pair[0]] if type(pair) is tuple else (x, pair[1])
    return pair[0] + pair[1] * (type(pair) is list)


def ends_in_an_else(a):
    x, y = a, a
    for _ in range(8):
        x = x * 0.9
        if x.max() < 0.01:
            break
    else:
        x = x - 2
    while y.max() > 0.1:
        y = y * 0.7
    else:
        y = y + 1
    return x, y


UNLIKE = [ends_in_an_else, carries_more, carries_another_container, gives_a_tensor_of_another_name,
          gives_one_tensor_two_names, appends, grows,
          takes_an_element, by_a_power, doubles, with_another_way_out, changes_in_place,
          seen_by_another, asks_for_the_largest, of_a_local_range, of_another_kind]


@pytest.mark.parametrize("fn", UNLIKE, ids=lambda fn: fn.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_loops_compute_the_same(fn):
    check(fn, 8)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_loop_that_changes_an_object():
    class Count:
        steps = 0

    def run(count, a):
        x = a
        while x.max() > 0.1:
            x = x * 0.7
            count.steps += 1
        return x

    ours, theirs = Count(), Count()
    compiled = Compiled(lambda a: run(ours, a))
    for call in range(CALLS):
        np.testing.assert_array_equal(compiled(values(call)).asnumpy(),
                                      run(theirs, values(call)).asnumpy())
        assert ours.steps == theirs.steps


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_loop_that_prints(capsys):
    def run(a):
        x = a
        while x.max() > 0.5:
            x = x * 0.7
            print("step")
        return x

    compiled = Compiled(run)
    for call in range(6):
        compiled(values(call))
        ours = capsys.readouterr().out
        run(values(call))
        assert ours == capsys.readouterr().out


def test_random_numbers_of_steps_are_the_same():
    def run(a):
        x = a
        while x.max() > 0.2:
            x = x * ops.rand(4) * 0.9
        return x

    compiled = Compiled(run)
    for call in range(CALLS):
        ms.set_seed(call)
        ours = compiled(values(call))
        ms.set_seed(call)
        np.testing.assert_array_equal(ours.asnumpy(), run(values(call)).asnumpy())


def test_while_loop_with_values_computed_before_it_from_what_is_differentiated():
    def run(a):
        g = a * a * a
        return ms.while_loop(lambda t: t.sum() < 10, lambda t: t * 1.5 + g * 0.1 + a * 0.01,
                             a).sum()

    compiled, wanted = Compiled(ms.grad(run)), ms.grad(run)
    for call in range(4):
        np.testing.assert_allclose(compiled(values(call)).asnumpy(), wanted(values(call)).asnumpy(),
                                   rtol=1e-6)


def test_while_loop_where_other_numbers_vary():
    compiled = Compiled(lambda a, rate: ms.while_loop(
        lambda t: t.sum() > 0.1, lambda t: t * 0.5, a) * rate)
    for call in range(6):
        compiled(values(call), 0.1 * call)
    assert compiled.statistics.traces <= 3


@finds_loops
def test_random_loops():
    for seed in (0, 7, 13):
        check_random(seed)
    check_random(3, derive=True)
