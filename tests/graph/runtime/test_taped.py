"""Compiled functions inside of eager gradient calls give what they give eagerly."""

import dataclasses

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, nn, ops
from lamella.nn import Cell

from .taped import STEPS, array, assert_alike, batch, check, mlp


def test_a_network_with_a_loss():
    def make():
        net = mlp()
        return (lambda x, y: ops.cross_entropy(net(x), y)), net

    check(make, batch)


@pytest.mark.parametrize("inner", [
    lambda x, seen: x,
    lambda x, seen: x * 2,
    lambda x, seen: (x.register_hook(seen.append), x * x)[1],
    lambda x, seen: (x.register_hook(lambda g: g).remove(), x * 2)[1],
])
def test_a_hook_on_an_argument_has_the_gradient_of_all_uses(inner):
    def gradients(compiled):
        seen = []

        def hooked(x):
            x.register_hook(lambda gradient: gradient * 2)
            return inner(x, seen)

        if compiled:
            hooked = jit(hooked)

        def f(x, weight):
            y = x * weight
            return hooked(y) * weight + y

        found = [ms.grad(f, (0, 1))(Tensor(array(3)), Tensor(array(3, seed=1)))
                 for _ in range(STEPS)]
        return found, seen

    with pytest.warns(UserWarning, match="registers a hook on a Tensor that it was given"):
        found = gradients(True)
    assert_alike(found, gradients(False))


def test_further_outputs_are_no_part_of_the_gradient():
    def make():
        net = mlp()

        def forward(x, y):
            logits = net(x)
            return ops.cross_entropy(logits, y), logits, {"most": logits.argmax(1)}

        return forward, net

    check(make, batch, has_aux=True)


def test_the_gradients_of_several_outputs_add_up():
    def make():
        net = mlp()

        def forward(x, y):
            logits = net(x)
            return ops.cross_entropy(logits, y), logits * 2, logits.sum()

        return forward, net

    check(make, batch)


def test_convolutions_with_batch_norm_and_pools():
    def make():
        net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(),
                                nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(16, 3))
        net.set_train()
        return (lambda x, y: ops.cross_entropy(net(x), y)), net

    check(make, lambda step: (Tensor(array(5, 1, 4, 4, seed=step)), batch(step)[1]))


@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_in_evaluation(affine):
    """Its gradient reads the statistics, and changes nothing."""
    def make():
        net = nn.SequentialCell(nn.Dense(4, 4), nn.BatchNorm1d(4, affine=affine), nn.Tanh())
        net[1].moving_mean.set_data(Tensor([0.1, 0.2, 0.3, 0.4]))
        return (lambda x, y: ops.cross_entropy(net(x), y)), net.set_train(False)

    check(make, batch)


def test_a_loop_over_a_cell():
    def make():
        cell = nn.RNNCell(4, 6)

        def forward(x):
            h = ops.zeros((2, 6), ms.float32)
            for t in range(x.shape[0]):
                h = cell(x[t], h)
            return (h * h).sum()

        return forward, cell

    check(make, lambda step: (Tensor(array(3, 2, 4, seed=step)),))


def test_an_lstm_layer():
    def make():
        net = nn.LSTM(4, 6, batch_first=True)
        return (lambda x: (net(x)[0] ** 2).mean()), net

    check(make, lambda step: (Tensor(array(2, 3, 4, seed=step)),))


def test_attention_with_layer_norm():
    def make():
        net = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        net.set_train()
        return (lambda x: (net(x) ** 2).mean()), net

    check(make, lambda step: (Tensor(array(2, 3, 8, seed=step)),))


def test_dropout_draws_what_it_draws_eagerly():
    def make():
        net = nn.SequentialCell(nn.Dense(4, 32), nn.Dropout(p=0.5), nn.Dense(32, 3))
        net.set_train()
        return (lambda x, y: ops.cross_entropy(net(x), y)), net

    check(make, batch)


def test_by_inputs_and_weights():
    def make():
        net = mlp()
        return (lambda x, y: ops.cross_entropy(net(x), y)), net

    check(make, batch, positions=0)


def test_by_inputs_only():
    def make():
        return (lambda x, y, n: ops.sin(x) * y * n), None

    check(make, lambda step: (Tensor(array(3, seed=step)), Tensor(array(3, seed=step + 9)),
                              Tensor([1, 2, 3], ms.int32)), positions=(0, 1))


def test_control_flow_on_values():
    def make():
        net = mlp()

        def forward(x, y):
            loss = ops.cross_entropy(net(x), y)
            return loss * 2 if x.sum() > 0 else loss * loss

        return forward, net

    signs = [1.0, -1.0, 1.0, -1.0]
    check(make, lambda step: (Tensor(np.abs(array(5, 4, seed=step)) * signs[step]),
                              batch(step)[1]), traces=2)


def test_containers_and_numbers():
    def make():
        net = mlp()

        def forward(given, factor, *, bias=0.0):
            loss = ops.cross_entropy(net(given["x"]), given["y"][0]) * factor + bias
            return {"loss": loss, "all": [loss, loss * 2]}

        return forward, net

    check(make, lambda step: ({"x": batch(step)[0], "y": [batch(step)[1]]}, 2.0))


def test_dataclass_results():
    @dataclasses.dataclass
    class Found:
        loss: Tensor
        logits: Tensor

    def make():
        net = mlp()

        def forward(x, y):
            logits = net(x)
            return Found(ops.cross_entropy(logits, y), logits)

        return forward, net

    check(make, batch)


def test_shared_parameters():
    def make():
        net = nn.SequentialCell(nn.Dense(4, 4), nn.Tanh(), nn.Dense(4, 4))
        net[2].weight = net[0].weight
        return (lambda x: (net(x) ** 2).sum()), net

    check(make, lambda step: (Tensor(array(5, 4, seed=step)),))


def test_two_compiled_parts_and_eager_operations_between():
    def run(compile):
        ms.set_seed(1)
        first, second = mlp(), nn.SequentialCell(nn.Dense(3, 5), nn.ReLU(), nn.Dense(5, 3))
        one, two = compile(lambda x: first(x)), compile(lambda h: second(h))
        weights = [*first.trainable_params(), *second.trainable_params()]
        gradient = ms.value_and_grad(
            lambda x, y: ops.cross_entropy(two(ops.sigmoid(one(x) * 2) + one(-x)), y), 0, weights)
        return [gradient(*batch(step)) for step in range(STEPS)], one, two

    eager, *_ = run(lambda f: f)
    found, one, two = run(jit)
    assert_alike(found, eager)
    assert (one.report()["traces"], one.report()["replays"]) == (1, 2 * STEPS - 1)
    assert (two.report()["traces"], two.report()["replays"]) == (1, STEPS - 1)


def test_a_compiled_construct_inside_of_a_network():
    class Block(Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(4, 4)

        @jit
        def construct(self, x):
            return ops.gelu(self.dense(x)) + x

    def run(plain):
        ms.set_seed(1)
        net = nn.SequentialCell(Block(), Block(), nn.Dense(4, 3))
        if plain:
            for block in net[:2]:
                block.construct = block.construct.fn.func.__get__(block)
        gradient = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None,
                                     net.trainable_params())
        return [gradient(*batch(step)) for step in range(STEPS)], net

    eager, _ = run(True)
    found, net = run(False)
    assert_alike(found, eager)
    assert net[0].construct.report()["traces"] == 1
    assert net[1].construct.report()["replays"] == STEPS - 1


def test_a_function_that_is_compiled_inside_of_a_compiled_one():
    def make():
        net = mlp()
        inner = jit(lambda x: net(x))
        return (lambda x, y: ops.cross_entropy(inner(x) * 2, y)), net

    check(make, batch)


def test_vjp_and_a_second_pull():
    f = jit(lambda x, w: (ops.tanh(x @ w), (x * x).sum()))
    x, w = Tensor(array(3, 4)), Tensor(array(4, 2, seed=1))
    sens = Tensor(array(3, 2, seed=2)), Tensor(2.0)
    for _ in range(3):
        out, pull = ms.vjp(f, x, w)
        wanted_out, wanted = ms.vjp(f.fn, x, w)
        assert_alike(out, wanted_out)
        assert_alike(pull(*sens), wanted(*sens))
        assert_alike(pull(*sens), wanted(*sens))
    assert (f.report()["traces"], f.report()["replays"]) == (1, 2)


def test_a_pull_that_is_differentiated_or_batched():
    f = jit(lambda x: ops.tanh(x) * x)
    x = Tensor(array(4))
    for _ in range(3):
        pull, wanted = ms.vjp(f, x)[1], ms.vjp(f.fn, x)[1]
        one, several = Tensor(array(4, seed=5)), Tensor(array(2, 4, seed=5))
        assert_alike(ms.grad(lambda g, pull=pull: (pull(g)[0] ** 2).sum())(one),
                     ms.grad(lambda g, pull=wanted: (pull(g)[0] ** 2).sum())(one))
        assert_alike(ms.vmap(lambda g, pull=pull: pull(g)[0])(several),
                     ms.vmap(lambda g, pull=wanted: pull(g)[0])(several))


@pytest.mark.parametrize("bend", [
    lambda f: ms.grad(ms.grad(lambda x: f(x).sum())), ms.jacrev, ms.jacfwd,
    lambda f: ms.vmap(ms.grad(lambda x: f(x))), lambda f: ms.hessian(lambda x: f(x).sum())])
def test_other_derivatives_of_it(bend):
    f = jit(lambda x: ops.sin(x) * x * x)
    x = Tensor(array(3))
    for _ in range(3):
        ms.grad(f)(x)
        assert_alike(bend(f)(x), bend(f.fn)(x))


def test_a_batched_function_of_numbers():
    compiled = ms.jit(ms.vmap(lambda x: (x * x + 1) * 2))
    for scale in (1.0, 2.0, 3.0):
        x = ms.Tensor([1.0, 2.0]) * scale
        found = ms.grad(lambda x: compiled(x).sum())(x)
        np.testing.assert_allclose(found.asnumpy(), 4 * x.asnumpy())
