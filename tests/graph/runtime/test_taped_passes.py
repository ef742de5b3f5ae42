"""Backward passes of compiled functions below eager gradients: what they start from, in whatever
layout, and how they are run."""

import pytest

import lamella as ms
from lamella import Tensor, jit, ops
from lamella.graph.runtime import taped

from .taped import array, assert_alike

X, W = Tensor(array(6)), Tensor(array(2, 3, seed=7))
TABLE = Tensor(array(3, 4, seed=8))

# what becomes of a gradient is the other way round: most of them end in a view
FUNCTIONS = {
    "reshaped": lambda x: (x * x).reshape(2, 3), "a view": lambda x: ops.sin(x).view(2, 3),
    "turned": lambda x: ops.sin(x).reshape(3, 2).T, "a product": lambda x: x.reshape(2, 3) @ TABLE,
    "turned twice": lambda x: (ops.exp(x).reshape(3, 2).T * W).reshape(1, 2, 3).transpose(2, 0, 1),
    "repeated": lambda x: ops.broadcast_to((x * x).reshape(2, 1, 3), (2, 4, 3)),
    "several": lambda x: (ops.sin(x).reshape(2, 3), ops.cos(x).reshape(3, 2).T)}

# and how a gradient lies in memory depends on what the program does with the result
USES = {
    "each": lambda y: (y * y).sum(), "a sum": lambda y: y.sum(),
    "turned": lambda y: (y.T * ops.arange(y.size).reshape(y.T.shape)).sum(),
    "rows": lambda y: (y[1:] * 3).sum(), "the last": lambda y: (y[..., ::2] ** 2).sum(),
    "repeated": lambda y: (ops.broadcast_to(y, (4, *y.shape)) * y).sum(),
    "a mean": lambda y: y.mean(0).sum() + y.max()}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_in_any_layout(name, use):
    function, call = FUNCTIONS[name], jit(FUNCTIONS[name])

    def gradient(call, x):
        return ms.value_and_grad(lambda x: sum([USES[use](y) for y in ms.tree.leaves(call(x))]))(x)

    for number in range(3):
        x = X * (number + 1)
        assert_alike(gradient(call, x), gradient(function, x))
    assert (call.report()["traces"], call.report()["replays"]) == (1, 2)


def turned(shape):
    """A gradient of this shape that lies in memory in another order, from one of the reverse."""
    return (lambda g: g.T), Tensor(array(*shape[::-1], seed=5))


@pytest.mark.parametrize("bend", [
    lambda pull, lay, g: ms.grad(lambda g: (pull(lay(g))[0] ** 2).sum())(g),
    lambda pull, lay, g: ms.grad(lambda g: ms.grad(lambda g: (pull(lay(g))[0] ** 3).sum())(g).sum()
                                 )(g),
    lambda pull, lay, g: ms.vmap(lambda g: pull(lay(g))[0])(ops.stack([g, g * 2])),
    lambda pull, lay, g: ms.vmap(lambda g: pull(lay(g))[0], 1)(ops.stack([g, g * 2], 1)),
    lambda pull, lay, g: ms.vmap(ms.grad(lambda g: (pull(lay(g))[0] ** 2).sum()))(
        ops.stack([g, g * 2])),
    lambda pull, lay, g: ms.jacfwd(lambda g: pull(lay(g))[0])(g),
    lambda pull, lay, g: pull(lay(g))[0]], ids=range(7))
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "several"])
def test_a_pull_of_gradients_in_another_layout(name, bend):
    function, call = FUNCTIONS[name], jit(FUNCTIONS[name])
    lay, gradient = turned(function(X).shape)
    for number in range(3):
        found, wanted = (ms.vjp(f, X + number)[1] for f in (call, function))
        assert_alike(bend(found, lay, gradient), bend(wanted, lay, gradient))
    assert call.report()["replays"] == 2


def test_a_pull_inside_of_another_compiled_function():
    call = jit(FUNCTIONS["turned"])
    for number in range(3):
        pull, wanted = (ms.vjp(f, X + number)[1] for f in (call, call.fn))
        around = jit(lambda g, pull=pull: pull(g * 2)[0] + 1)
        for factor in (1.0, 3.0, 0.5):
            assert_alike(around(W * factor), wanted(W * (factor * 2))[0] + 1)


def test_kernels_are_called_one_by_one_only_where_the_tape_has_to_see_them(monkeypatch):
    calls, known = [], taped._by_kernels
    monkeypatch.setattr(taped, "_by_kernels", lambda *given: calls.append(0) or known(*given))
    call = jit(lambda x: ops.tanh(x) * x)
    for _ in range(3):
        ms.grad(call)(X)
        pull = ms.vjp(call, X)[1]
        pull(X)
    assert not calls
    ms.grad(lambda g: pull(g)[0].sum())(X)
    assert len(calls) == 1
    ms.vmap(lambda g: pull(g)[0])(ops.stack([X, X]))
    assert len(calls) == 2


@pytest.mark.parametrize("first", [(0,), (1,), (0, 1)])
def test_inputs_that_a_choice_of_results_does_not_depend_on(first):
    """They get no gradient: a hook before isn't called."""
    seen = []

    def gradients(call, chosen):
        def loss(x, y):
            hooked = ops.InsertGradientOf(lambda g: seen.append(1) or g)(y)
            results = call(x, hooked)
            return sum([results[i].sum() for i in chosen])

        found = ms.grad(loss, (0, 1))(X, X * 2)
        count = len(seen)
        seen.clear()
        return found, count

    call = jit(lambda x, y: (x * x, y * 3 + 1))
    for chosen in (first, (0,), (1,), (0, 1), (1,), (0,)):
        assert_alike(gradients(call, chosen), gradients(call.fn, chosen))
    assert call.report()["traces"] == 1
