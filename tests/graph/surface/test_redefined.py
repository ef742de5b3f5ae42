"""GRAPH_MODE: gradients of functions defined anew by each call; hooks that come and go."""

import functools

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn
from lamella.graph.surface import redefined


@pytest.fixture
def recorded(monkeypatch):
    """The compiled functions that are made."""
    made = []
    monkeypatch.setattr(redefined, "_compiled", type(redefined._compiled)())
    known = redefined.redefined

    def noting(request, compile):
        return known(request, lambda run: made.append(compile(run)) or made[-1])

    monkeypatch.setattr("lamella.graph.surface.mode.redefined", noting)
    yield made
    ms.set_context(mode=ms.PYNATIVE_MODE)


NET = nn.Dense(3, 3)


def of_a_lambda(x, n):
    return ms.grad(lambda y: (NET(y) ** 2).sum())(x)


def of_a_number(x, n):
    scale = n * 0.5
    return ms.grad(lambda y: (NET(y) * scale).sum())(x)


def of_a_tensor(x, n):
    weight = x * n
    return ms.grad(lambda y: (NET(y) * weight).sum())(x)


def of_a_default(x, n):
    def loss(y, scale=n * 2, *, shift=n + 0.5):
        return (NET(y) * scale + shift * y).sum()
    return ms.grad(loss)(x)


def of_parameters(x, n):
    parts = [x, x * n]

    def loss(y):
        return (NET(y) * parts[1]).mean(), y * n
    (value, out), gradients = ms.value_and_grad(
        loss, 0, NET.trainable_params(), has_aux=True)(x)
    return value, out, gradients


def of_other_cells(x, n):
    net = CELLS[n % 2]
    return ms.grad(lambda y: net(y).sum() * n)(x)


CELLS = [nn.Dense(3, 2), nn.Dense(3, 4)]


def flat(value):
    if isinstance(value, (tuple, list)):
        return [part for v in value for part in flat(v)]
    return [value.asnumpy()]


@pytest.mark.parametrize("step", [of_a_lambda, of_a_number, of_a_tensor, of_a_default,
                                  of_parameters, of_other_cells], ids=lambda step: step.__name__)
def test_a_function_that_is_defined_in_the_step_is_replayed(step, recorded):
    inputs = [Tensor(np.full((2, 3), n, np.float32)) for n in range(1, 12)]
    wanted = [flat(step(x, n)) for n, x in enumerate(inputs)]
    ms.set_context(mode=ms.GRAPH_MODE)
    for n, (x, want) in enumerate(zip(inputs, wanted, strict=True)):
        for a, b in zip(flat(step(x, n)), want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert len(recorded) == 1
    report = recorded[0].report()
    assert report["traces"] <= 5 and report["replays"] >= 5, report


def test_a_function_that_assigns_variables_around_it_still_does(recorded):
    def step(x):
        count = 0

        def loss(y):
            nonlocal count
            count += 1
            return (y * y).sum()

        return ms.grad(loss)(x), count

    ms.set_context(mode=ms.GRAPH_MODE)
    for n in range(5):
        gradient, count = step(Tensor([float(n)]))
        assert float(gradient) == 2 * n and count == 1
    assert not recorded


def double(cell, args, out):
    return out * 2


@pytest.mark.parametrize("kind", ["forward", "backward", "Parameter"])
def test_hooks_that_come_and_go_have_a_graph_each(kind):
    net, weight = nn.Dense(3, 3), Parameter(Tensor([1.0, 2.0, 3.0]), name="weight")

    def fn(x):
        return ms.grad(lambda y: (net(y) * weight).sum(), 0, [weight])(x)

    def register():
        if kind == "forward":
            return net.register_forward_hook(double)
        if kind == "backward":
            return net.register_backward_hook(tripled)
        return weight.register_hook(negated)

    compiled = jit(fn)
    x = Tensor([[1.0, 2.0, 3.0]])
    for number in range(10):
        handle = register() if number % 2 else None
        for a, b in zip(flat(compiled(x)), flat(fn(x)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
        if handle is not None:
            handle.remove()
    assert compiled.report()["traces"] <= 3 and compiled.report()["replays"] >= 7


def tripled(cell, gradient, given):
    return (gradient[0] * 3,)


def negated(gradient):
    return -gradient


def square(y):
    return (y * y).sum()


def of_a_function_with_an_attribute(x):
    def loss(y):
        return (y * y).sum()

    loss.tag = "a"
    return ms.grad(loss)(x)


def of_a_function_in_a_function(x):
    def inner(y):
        return y * y

    return ms.grad(lambda y: inner(y).sum())(x)


def of_a_variable_without_a_value(x):
    def loss(y):
        return (y * y).sum() if y is not None else later

    found = ms.grad(loss)(x)
    later = 1
    return found


@pytest.mark.parametrize("step", [
    lambda x: ms.grad(square)(x), of_a_function_with_an_attribute, of_a_function_in_a_function,
    of_a_variable_without_a_value, lambda x: ms.grad(functools.partial(square))(x),
    lambda x: ms.grad(nn.ReLU())(x) * x * 2])
def test_functions_that_have_no_graph_in_common(step, recorded):
    ms.set_context(mode=ms.GRAPH_MODE)
    for n in range(1, 5):
        assert step(Tensor([float(n)])).tolist() == [2.0 * n]
    assert not recorded


def test_the_gradients_of_a_function_by_other_arguments_are_told_apart(recorded):
    def step(x, by, n):
        return ms.grad(lambda y, z: (y * y * z).sum() * n, by)(x, x * 3)

    ms.set_context(mode=ms.GRAPH_MODE)
    x = Tensor([2.0])
    for n in range(1, 5):
        assert step(x, 0, n).tolist() == [24.0 * n] and step(x, 1, n).tolist() == [4.0 * n]
    assert len(recorded) == 2 and {one.name.split(" of ")[0] for one in recorded} == {"grad"}
    assert all(one.name.endswith("<lambda>") for one in recorded)


def test_the_code_met_longest_ago_is_forgotten(recorded, monkeypatch):
    monkeypatch.setattr(redefined, "MOST", 2)
    space = {"ms": ms}
    steps = []
    for n in range(3):
        exec(f"def step(x):\n return ms.grad(lambda y: (y * y).sum() * {n + 1})(x)", space)
        steps.append(space["step"])
    ms.set_context(mode=ms.GRAPH_MODE)

    def run(number):
        assert steps[number](Tensor([1.0])).tolist() == [2.0 * (number + 1)]
        return len(recorded), len(redefined._compiled)

    assert [run(0), run(0), run(1), run(1)] == [(0, 1), (1, 1), (1, 2), (2, 2)]
    assert [run(2), run(1), run(0), run(0)] == [(2, 2), (2, 2), (2, 2), (3, 2)]
