"""What a compiled function below an eager gradient is recorded again for."""

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.tracing.symbolic import preparation
from lamella.nn import Cell

from .taped import STEPS, array, assert_alike, batch, check, mlp


def test_what_the_weights_are_is_a_guard():
    net = mlp()
    f = jit(lambda x: (net(x) ** 2).sum())
    x, weights = batch(0)[0], net.trainable_params()
    for chosen in (weights, weights[:1], weights[2:], weights):
        found = ms.grad(f, None, chosen)(x)
        assert_alike(found, ms.grad(f.fn, None, chosen)(x))
    assert_alike(ms.grad(f)(x), ms.grad(f.fn)(x))
    assert_alike(ms.grad(f, 0, weights)(x), ms.grad(f.fn, 0, weights)(x))
    assert f.report()["traces"] == 5
    assert f.report()["replays"] == 1


def test_frozen_and_replaced_weights():
    net = mlp()
    f = jit(lambda x: (net(x) ** 2).sum())
    x = batch(0)[0]
    gradient = ms.grad(f, 0, net.trainable_params())
    gradient(x)
    net[0].weight.set_data(Tensor(array(8, 4, seed=7)))
    assert_alike(gradient(x), ms.grad(f.fn, 0, net.trainable_params())(x))
    net[2].weight.requires_grad = False
    assert_alike(gradient(x), ms.grad(f.fn, 0, [p for p in net.get_parameters()])(x))
    net[0] = nn.Dense(4, 8)
    fresh = ms.grad(f, 0, net.trainable_params())
    assert_alike(fresh(x), ms.grad(f.fn, 0, net.trainable_params())(x))


def test_changed_shapes():
    def make():
        net = mlp()
        return (lambda x, y: ops.cross_entropy(net(x), y)), net

    check(make, lambda step: batch(step, (5, 7, 5, 7)[step]), traces=2)


def test_many_sizes_have_one_graph():
    net = mlp()
    f = jit(lambda x, y: ops.cross_entropy(net(x), y))
    gradient = ms.value_and_grad(f, 0, net.trainable_params())
    wanted = ms.value_and_grad(f.fn, 0, net.trainable_params())
    for count in (*range(4, 8), None, *range(8, 20)):
        if count is None:
            preparation.finished.wait()
            continue
        assert_alike(gradient(*batch(0, count)), wanted(*batch(0, count)))
    assert f.report()["traces"] <= 6
    assert f.report()["replays"] >= 9


def test_results_that_nothing_depends_on_in_a_graph_for_many_sizes():
    net = mlp()
    f = jit(lambda x: (net(x), ops.tanh(net(x)), x * 2))
    preparation.begin()
    preparation.finished.wait()
    for count in range(3, 10):
        x = Tensor(array(count, 4))
        assert_alike(ms.grad(lambda x: (f(x)[1] ** 2).sum(), 0, net.trainable_params())(x),
                     ms.grad(lambda x: (f.fn(x)[1] ** 2).sum(), 0, net.trainable_params())(x))
    assert f.report()["traces"] <= 4


def test_numbers_that_vary_become_inputs():
    net = mlp()
    f = jit(lambda x, factor: (net(x) ** 2).sum() * factor)
    gradient = ms.value_and_grad(f, 0, net.trainable_params())
    wanted = ms.value_and_grad(f.fn, 0, net.trainable_params())
    for step in range(8):
        assert_alike(gradient(batch(0)[0], 0.5 * step), wanted(batch(0)[0], 0.5 * step))
    assert f.report()["traces"] <= 3
    assert f.report()["replays"] >= 5


def test_side_effects_are_repeated():
    class Counting(Cell):
        def __init__(self):
            super().__init__()
            self.dense, self.calls, self.seen = nn.Dense(4, 3), 0, []
            self.total = Parameter(Tensor(0.0), requires_grad=False)

        def construct(self, x):
            self.calls += 1
            self.total += x.sum()
            return self.dense(x)

    def run(compile):
        ms.set_seed(1)
        net = Counting()
        f = compile(lambda x: (net(x) ** 2).sum())
        gradient = ms.value_and_grad(f, None, net.trainable_params())
        found = [gradient(batch(step)[0]) for step in range(STEPS)]
        return found, net.calls, net.total.asnumpy(), f

    eager, found = run(lambda f: f), run(jit)
    assert_alike(found[:3], eager[:3])
    assert found[1] == STEPS
    assert found[3].report()["eager"] == []


def test_what_is_printed(capsys):
    f = jit(lambda x: (print("sum", x.sum()), (x * x).sum())[1])
    for number in range(3):
        ms.grad(f)(Tensor([1.0, number]))
    assert capsys.readouterr().out == "sum 1.0\nsum 2.0\nsum 3.0\n"
