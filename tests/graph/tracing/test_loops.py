"""Which of the program's loops are operations of a graph, and what they give in any case."""

import functools

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.autodiff.stop import no_grad
from lamella.graph.ir.loop import loops_of
from lamella.graph.runtime.compiled import Compiled

X = Tensor(np.float32([0.5, 2.0]))
CALLS = (X, X * 3, X * 0.1, X * 8)


def parts(value):
    if isinstance(value, (tuple, list)):
        return [p for part in value for p in parts(part)]
    return [value.asnumpy() if isinstance(value, Tensor) else value]


def loops_in(fn, *calls, tolerance=1e-6):
    """How many loops the last graph of a function has, whose results are compared."""
    compiled = Compiled(fn)
    for x in (*calls, calls[0]) or CALLS:
        for a, b in zip(parts(compiled(x)), parts(fn(x)), strict=True):
            assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    entries = list(compiled.cache.all_entries())
    return [len(loops_of(e.replay.execution.graph.graph.nodes)) for e in entries][-1] if (
        entries) else 0


def until(limit, body, first=lambda x: x):
    """A loop of a body and of a count of steps, below a limit of the sum."""
    def run(x):
        return ms.while_loop(lambda s: (ops.abs(s[0]).sum() < limit).all(),
                             lambda s: (body(s[0]), s[1] + 1), (first(x), Tensor(0)))

    return run


@pytest.mark.parametrize("body, first, loops", [
    (lambda v: v * 2, lambda x: x, 1), (lambda v: v + v.T, lambda x: x.reshape(1, 2).T @ x.reshape(
        1, 2), 1), (lambda v: v.astype(ms.float64) * 2, lambda x: x, 0),
    (lambda v: v * 2, lambda x: x.astype(ms.float16), 1),
    (lambda v: ops.concat([v, v]), lambda x: x, 0), (lambda v: v[None] * 2, lambda x: x, 0),
    (lambda v: v.T * 2, lambda x: x.reshape(1, 2).T @ x.reshape(1, 2), 1)], ids=range(7))
def test_values_and_steps_that_may_be_carried(body, first, loops):
    assert loops_in(until(30, body, first), *CALLS) == loops


@pytest.mark.parametrize("step, first, loops", [
    (lambda v: v * 1j, lambda z: z, 1), (lambda v: ops.conj(v) * 1j, lambda z: z, 1),
    (lambda v: ops.conj(v * 1j), lambda z: z, None), (lambda v: v * 1j, ops.conj, None)],
    ids=range(4))
def test_conjugates_are_carried_as_numbers(step, first, loops):
    """PyTorch keeps them as marks of the numbers that they are made of."""
    def run(x):
        return ms.while_loop(lambda s: s[1] < 9, lambda s: (step(s[0]), s[1] + 1),
                             (first(x * (1 + 1j)), Tensor(0)))[0] * 1

    assert loops_in(run, *CALLS) == loops or loops is None


@pytest.mark.parametrize("condition, loops", [
    (lambda v: v.sum() < 30, 1), (lambda v: (v.sum() < 30).reshape(1, 1), 1),
    (lambda v: ops.relu(30 - v.sum()), 1), (lambda v: ops.relu(30 - v.sum()).int(), 1),
    (lambda v: bool(v.sum() < 30), 0), (lambda v: float(v.sum()) < 30, 0)], ids=range(6))
def test_what_says_whether_there_is_another_step(condition, loops):
    def run(x):
        return ms.while_loop(condition, lambda v: v * 1.5 + 0.1, x)

    assert loops_in(run, *CALLS) == loops


@pytest.mark.parametrize("condition", [lambda v: v < 30, lambda v: v[:0] < 30])
def test_a_condition_of_several_elements_is_an_error(condition):
    def run(x):
        return ms.while_loop(condition, lambda v: v * 2, x)

    with pytest.raises(Exception) as wanted:  # noqa: PT011  (compared below)
        run(X)
    with pytest.raises(type(wanted.value)) as found:
        Compiled(run)(X)
    assert str(found.value) == str(wanted.value)


def test_a_function_that_keeps_its_results_is_called_as_often_as_eagerly():
    def make():
        calls = []

        @functools.lru_cache
        def rate(n):
            calls.append(n)
            return Tensor(np.float32(n / 10))

        def run(x):
            return ms.fori_loop(0, 9, lambda i, v: v * rate(3) + rate(4), x)

        return run, calls, rate

    (eager, wanted, _), (fn, found, rate) = make(), make()
    compiled = Compiled(fn)
    for x in CALLS:
        np.testing.assert_array_equal(compiled(x).asnumpy(), eager(x).asnumpy())
        assert found == wanted
    assert float(rate(3)) == np.float32(0.3)  # kept of no run that was given up


@pytest.mark.filterwarnings("ignore:.*runs eagerly:UserWarning")
@pytest.mark.parametrize("derive", [lambda f: f, ms.grad], ids=["value", "gradient"])
def test_a_step_that_changes_a_parameter_is_undone(derive):
    def make():
        weight = ms.Parameter(np.ones(2, np.float32), name="weight")

        def body(v):
            ops.assign(weight, weight * 0.5)
            return v * 2 + weight

        return derive(lambda x: ms.while_loop(
            lambda v: v.sum() < 30, body, x).sum()), weight

    (eager, wanted), (fn, found) = make(), make()
    compiled = Compiled(fn)
    for x in CALLS:
        np.testing.assert_array_equal(compiled(x).asnumpy(), eager(x).asnumpy())
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())


@pytest.mark.parametrize("derive", [
    lambda f: f, ms.grad, lambda f: ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum()),
    lambda f: lambda x: ms.jvp(f, x, x)[1], lambda f: lambda x: ms.vmap(f)(x[None]),
    lambda f: ms.grad(lambda x: ms.jvp(f, x, x)[1])], ids=range(6))
@pytest.mark.parametrize("kind", ["net", "dropout"])
def test_networks_in_steps_that_have_effects(derive, kind):
    """Random numbers; a plain network has none."""
    def make():
        ms.set_seed(3)
        net = nn.Dense(2, 2) if kind == "net" else nn.Dropout(p=0.5)
        net.set_train()

        def run(x):
            rows = ops.stack([x.reshape(2), x.reshape(2) * 2])
            return ms.scan(lambda v, e: (ops.tanh(net(v)) + e, None), rows,
                           ops.ones((9, 2)))[0].sum()

        return derive(run), list(net.get_parameters())

    (eager, own), (fn, its) = make(), make()
    compiled = Compiled(fn)
    for x in CALLS[:3]:
        ms.set_seed(5)
        wanted = eager(x).asnumpy()
        ms.set_seed(5)
        np.testing.assert_allclose(compiled(x).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    for a, b in zip(own, its, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-6)


def scanned(step):
    return lambda x: (ms.scan(step, x, ops.ones((9, 2)) * X)[0] ** 2).sum()


def with_inner_gradient(v, e):
    return v - 0.1 * ms.grad(lambda u: (ops.sin(u * e) ** 2).sum())(v), None


def with_a_cut(v, e):
    return ops.sin(v) * ops.stop_gradient(v) + e, None


def with_a_block(v, e):
    with no_grad():
        scale = ops.sin(v)
    return v * 0.5 + scale * e, None


def with_a_block_of_whole_numbers(v, e):
    with no_grad():
        place = (e * 2).int() + 1
    return ops.sin(v) * place * 0.3, None


def with_a_hook(v, e):
    u = ops.sin(v)
    u.register_hook(lambda g: g * 2)
    return u + e, None


def with_a_cut_loop(v, e):
    def step(_, u):
        return ops.stop_gradient(u) * 0.5 + ops.sin(u) * 0.4

    return ms.fori_loop(0, 9, step, v) + e, None


def with_a_loop(v, e):
    return ms.fori_loop(0, 9, lambda i, u: ops.sin(u) * 0.9 + 0.1 * e, v), None


def with_examples(v, e):
    return ms.vmap(lambda u: ops.sin(u) * u)(v) + e, None


STEPS = [with_inner_gradient, with_a_cut, with_a_block, with_a_block_of_whole_numbers, with_a_hook,
         with_a_cut_loop, with_a_loop, with_examples]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
@pytest.mark.parametrize("name", ["first", "second", "tangents", "batch", "of a batch"])
def test_steps_whose_derivatives_their_kernels_do_not_show(step, name):
    f = scanned(step)
    derived = {
        "first": ms.grad(f), "second": ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum()),
        "tangents": lambda x: ms.jvp(f, x, x)[1],
        "batch": lambda x: ms.vmap(ms.grad(f))(ops.stack([x, x * 0.5])),
        "of a batch": ms.grad(lambda x: ms.vmap(f)(ops.stack([x, x * 0.5])).sum())}[name]
    loops_in(derived, X, X * 0.3, tolerance=1e-4)


@pytest.mark.parametrize("name", ["first", "second", "tangents", "batch"])
def test_a_loop_that_the_backward_pass_computes_again(name):
    def part(x):
        return ms.scan(lambda v, e: (ops.sin(v * e), None), x, ops.ones((9, 2)))[0] * x

    def f(x):
        return (ms.recompute(part, x) ** 2).sum()

    derived = {
        "first": ms.grad(f), "second": ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum()),
        "tangents": lambda x: ms.jvp(ms.grad(f), x, x)[1],
        "batch": lambda x: ms.vmap(ms.grad(f))(ops.stack([x, x * 0.5]))}[name]
    loops_in(derived, X, X * 0.3, tolerance=1e-4)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axes, size", [((0, 1), 3), ((1, 0), 3), ((None, 2), 3), ((0, None), 2)])
def test_examples_along_any_axis_of_carried_values_and_stacks(axes, size, reverse):
    def f(c, xs, ys):
        c, sums = ms.scan(lambda v, e: (ops.sin(v) * 0.5 + e[0], v.sum() * e[1]), c, (xs, ys),
                          reverse=reverse)
        return c, sums

    shapes = [[2], [10, 2], [10]]
    for shape, axis in zip(shapes, (*axes, axes[1] and 0), strict=True):
        if axis is not None:
            shape.insert(axis, size)
    given = [Tensor(np.random.default_rng(i).uniform(0, 1, shape).astype(np.float32))
             for i, shape in enumerate(shapes)]
    in_axes = (*axes, axes[1] and 0)
    batched = ms.vmap(f, in_axes)
    for fn in (batched, ms.vmap(ms.grad(lambda *a: f(*a)[0].sum() + (f(*a)[1] ** 2).sum(),
                                        (0, 1, 2)), in_axes)):
        compiled, wanted = Compiled(fn), parts(fn(*given))
        for _ in range(2):
            for a, b in zip(parts(compiled(*given)), wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("derive", [False, True])
def test_examples_with_their_own_numbers_of_steps(derive):
    """Some carried values are the same for all examples until these wait."""
    def f(x, limit):
        def step(s):
            a, b, n, c = s
            return a * 1.3 + b, b * 0.9, n + 1, c

        a, b, n, c = ms.while_loop(lambda s: s[0].sum() < limit, step,
                                   (x, ops.ones((2,)) * 0.1, Tensor(0), X))
        return (a * b * c).sum() + (b ** 2).sum() + 0.1 * n * a.sum()

    fn = ms.vmap(ms.grad(f) if derive else f, (0, 0))
    x = ops.stack([X, X * 0.1, X * 20, X * 2])
    compiled, wanted = Compiled(fn), fn(x, Tensor(np.float32([9, 8, 7, 30])))
    for limits in ([9, 8, 7, 30], [9, 8, 7, 30], [1, 1, 1, 1], [0.1, 50, 3, 3]):
        limits = Tensor(np.float32(limits))
        wanted = ops.stack([(ms.grad(f) if derive else f)(row, limit)
                            for row, limit in zip(x, limits, strict=True)])
        np.testing.assert_allclose(compiled(x, limits).asnumpy(), wanted.asnumpy(), rtol=1e-4)
