"""Loops of the program's by XLA, also those that keep values while their count depends on data."""

import numpy as np
import pytest

import lamella as ms
from lamella import ops
from lamella.graph.ir.loop import loop_of
from lamella.graph.xla import native, text
from lamella.graph.xla.lowering import NotLowered

from .forced import engine, forced, tensor  # noqa: F401


def grown(x, most):
    """How x grows, in as many steps as it takes to get beyond a limit."""
    def further(value):
        x, y = value
        return x * 1.1 + 0.01 * ops.sin(y), y + x

    x, y = ms.while_loop(lambda value: value[0].sum() < most, further, (x, ops.cos(x)))
    return (x * y).sum()


def check(compiled, eager, *args):
    for a, b in zip(compiled(*args), eager(*args), strict=True):
        a, b = a.asnumpy(), b.asnumpy()
        np.testing.assert_allclose(a, b, 2e-5, 2e-5 * abs(b).max())


def test_the_gradient_of_counted_steps():
    x = ops.ones((3,)) / 10
    gradient = ms.value_and_grad(grown)
    compiled = ms.jit(gradient)
    for most in (2.0, 2.0, 2.0, 4.0, 0.0, 0.5):  # 0: no steps
        check(compiled, gradient, x, ms.Tensor(most))
    (graph,) = compiled.graphs(x, ms.Tensor(2.0))
    (stage,) = graph.execution.plan.stages
    assert sum(loop_of(node) is not None for node in stage.part.nodes) == 2
    assert engine(compiled) == ["xla"] and compiled.report()["graphs"] == 1


def test_the_gradient_of_steps_that_read_places():
    """Whether an index is in range is asked in its backward steps, too."""
    def product(x, at):
        return ms.while_loop(lambda v: v[2] < 3, lambda v: (
            v[0] * ops.sin(ops.gather(x, v[1], 0)), v[1] + 1, v[2] + 1), (x.sum(), at, at * 0))[0]

    x, gradient = ms.Tensor([1.0, 2.0, 3.0, 4.0]), ms.value_and_grad(product)
    compiled = ms.jit(gradient)
    for at in (0, 0, 1, 0, 1):
        check(compiled, gradient, x, ms.Tensor(at))
    assert engine(compiled) == ["xla"]
    with pytest.raises(RuntimeError, match=r"should be in the range \[-4, 4\)"):
        compiled(x, ms.Tensor(2))


@pytest.mark.parametrize("most_room, rooms", [(2**16, [32, 64, 128, 256]), (64, [32, 64]),
                                              (65, [32, 64, 128])])
def test_more_steps_than_there_is_room_for(monkeypatch, most_room, rooms):
    asked = []
    monkeypatch.setattr(native, "MOST_ROOM", most_room)
    monkeypatch.setattr(native.Native, "request", lambda self, values, prompt=False: (
        asked.append(self._room), self.make_now(values)))
    x, gradient = ops.ones((3,)) / 10, ms.value_and_grad(grown)
    compiled = ms.jit(gradient)
    for most in (0.5, 0.5, 0.5, 1e3, 1e3, 1e3, 1e5, 0.5):
        check(compiled, gradient, x, ms.Tensor(most))
    assert asked == rooms and engine(compiled) == ["xla"]


def test_how_much_loops_may_keep(monkeypatch):
    x, most = ops.ones((3,)) / 10, ms.Tensor(2.0)
    compiled = ms.jit(ms.value_and_grad(grown))
    for _ in range(3):
        compiled(x, most)
    (graph,) = compiled.graphs(x, most)
    (stage,) = graph.execution.plan.stages
    given = [x._raw, most._raw, *graph.inputs.constants, *graph.execution.plan.constants]
    code = native.Native(stage.part, stage.native.name, stage.replay)
    part, values = code._plain(), [given[i] for i in stage.takes]
    found = text.described(part, values, code._checks, 20, constants=code._numbers)
    (forward, backward) = [step for step in found["steps"] if step["op"] == "repeat"]
    first, last = forward["carried"], forward["carried"] + len(stage_loop(part).kept)
    assert forward["room"] == 20 and "room" in backward
    assert all(shape[0] == 20 for shape, _ in forward["aval"][first:last])
    assert forward["aval"][-1] == [[], "bool"] and found["flag"] is not None
    per_step = sum(e.new_zeros(e.shape[1:]).nbytes for e in stage_loop(part).kept)
    monkeypatch.setattr(text, "MOST_KEPT", 20 * per_step)
    text.described(part, values, code._checks, 20, constants=code._numbers)
    for room, reason in ((21, "keeps much"), (0, "as many values as it has steps")):
        with pytest.raises(NotLowered, match=reason):
            text.described(part, values, code._checks, room, constants=code._numbers)


def stage_loop(part):
    """The first loop of a part."""
    return next(loop for loop in map(loop_of, part.nodes) if loop is not None)


def test_a_stage_of_its_own_where_something_else_takes_the_stacks():
    def second(x):
        return ms.grad(lambda x: (ms.grad(grown)(x, ms.Tensor(1.0)) ** 2).sum())(x)

    x = ops.ones((3,)) / 10
    compiled = ms.jit(lambda x: [second(x)])
    for _ in range(3):
        check(compiled, lambda x: [second(x)], x)


def test_steps_of_an_adaptive_solver():
    def loss(w, x):
        ends = ms.odeint(lambda y, t, w: ops.tanh(y @ w), x, ms.Tensor([0.0, 1.0]), w,
                         adjoint=False)[-1]
        return (ends * ends).sum()

    w, x = tensor(4, 4) / 6, tensor(8, 4, seed=1)
    gradient = ms.value_and_grad(loss, (0, 1))
    compiled = ms.jit(lambda w, x: [y for part in gradient(w, x) for y in (
        part if isinstance(part, tuple) else [part])])
    for scale in (1.0, 1.0, 1.0, 3.0):
        check(compiled, compiled.__wrapped__, w * scale, x)
    assert engine(compiled) == ["xla"]


@pytest.mark.parametrize("count", [6])
def test_a_loop_of_loops(count):
    """The same loop, again and again, is rolled; another one isn't taken for it."""
    def step(c, x):
        return ops.tanh(c + x), c * x

    def other(c, x):
        return ops.sin(c + x), c * x

    def function(x, xs):
        outs = []
        for i in range(count):
            x, made = ms.scan(step if i % count != 4 else other, x, xs)
            outs.append(made.sum())
        return x, ops.stack(outs)

    def alike(x, xs):
        for _ in range(count):
            x, _ = ms.scan(step, x, xs)
        return (x,)

    for fn in (function, alike):
        compiled = ms.jit(fn)
        for _ in range(3):
            check(compiled, fn, tensor(5), tensor(10, 5, seed=1))
        assert engine(compiled) == ["xla"]


def test_what_is_not_differentiated_takes_no_stacks():
    """A root of 0 in the last step, which has no gradient: nothing else takes the open stacks."""
    def run(x):
        def further(value):
            y = ops.relu(value[0] - 1) + 0 * x
            return y, ops.sqrt(((y - value[0]) ** 2).sum())

        y, error = ms.while_loop(lambda value: value[1] > 0.4, further, (ops.ceil(x * 4), x.sum()))
        return (y * x * x + ops.sin(x)).sum(), error

    x = ops.ones((3,))
    first = ms.grad(run, has_aux=True)
    second = ms.grad(lambda x: first(x)[0].sum())
    for derivative in (lambda x: first(x)[:1], lambda x: [second(x)]):
        compiled = ms.jit(derivative)
        for scale in (1, 1, 1, 5):
            check(compiled, derivative, x * scale)
        assert engine(compiled) == ["xla"] and compiled.report()["graphs"] == 1
        (graph,) = compiled.graphs(x)
        assert len(graph.execution.plan.stages) == 1
