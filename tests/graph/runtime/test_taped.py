"""Compiled functions inside of eager gradient calls give what they give eagerly."""

import dataclasses
import threading
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.core.state import state
from lamella.graph.tracing.symbolic import preparation
from lamella.nn import Cell

STEPS = 4


def array(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def leaves(value):
    if isinstance(value, Tensor):
        yield value.asnumpy()
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from leaves(part)
    elif dataclasses.is_dataclass(value):
        yield from leaves(vars(value))
    else:
        yield np.asarray(value)


def assert_alike(found, wanted):
    found, wanted = list(leaves(found)), list(leaves(wanted))
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def train(forward, cell, inputs, compiled, positions=None, has_aux=False):
    """The results of some steps, and the report of the compiled function."""
    call = jit(forward) if compiled else forward
    weights = None if cell is None else tuple(cell.trainable_params())
    gradient = ms.value_and_grad(call, positions, weights, has_aux=has_aux)
    update = nn.Momentum(weights, 0.1, 0.9) if weights else None
    ms.set_seed(3)
    seen = []
    for step in range(STEPS):
        value, gradients = gradient(*inputs(step))
        seen.append((value, gradients))
        if update is not None:
            update(gradients if positions is None else gradients[1])
    if cell is not None:
        seen.append([p.value() for p in cell.get_parameters()])
    return seen, call.report() if compiled else None


def check(make, inputs, traces=1, **options):
    """Eager and compiled programs have the same results; one is recorded `traces` times.

    Args:
        make: returns a forward function and the Cell whose weights are trained, or None.
        inputs: from the number of a step to the arguments.
    """
    ms.set_seed(1)
    forward, cell = make()
    eager, _ = train(forward, cell, inputs, False, **options)
    ms.set_seed(1)
    forward, cell = make()
    found, report = train(forward, cell, inputs, True, **options)
    assert_alike(found, eager)
    assert report is not None
    assert report["eager"] == [], report
    assert (report["traces"], report["replays"]) == (traces, STEPS - traces), report


def mlp():
    return nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 3))


def batch(step, count=5):
    return (Tensor(array(count, 4, seed=step)),
            Tensor(np.arange(count, dtype=np.int32) % 3))


def test_a_network_with_a_loss():
    def make():
        net = mlp()
        return (lambda x, y: ops.cross_entropy(net(x), y)), net

    check(make, batch)


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


class Recurrent(Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 4)
        self.state: Any = None

    def construct(self, x):
        self.state = ops.tanh(self.dense(x if self.state is None else x + self.state))
        return self.state


def steps_of(kind, compile):
    ms.set_seed(1)
    net: Any = kind()
    step = compile(lambda x: net(x))

    def forward(x):
        net.state = None
        last = step(step(step(x)))
        return (last ** 2).sum() + getattr(net, "state").sum()  # noqa: B009

    gradient = ms.value_and_grad(forward, 0, net.trainable_params())
    return [gradient(batch(number)[0]) for number in range(STEPS)], step


def test_state_that_is_returned_stays_on_the_tape():
    found, step = steps_of(Recurrent, jit)
    assert_alike(found, steps_of(Recurrent, lambda f: f)[0])
    assert step.report()["eager"] == []


def test_state_that_only_an_object_keeps_stays_on_the_tape():
    class Hidden(Recurrent):
        def construct(self, x):
            return super().construct(x) * 2

    with pytest.warns(UserWarning, match="keeps what is differentiated"):
        found, _ = steps_of(Hidden, jit)
    assert_alike(found, steps_of(Hidden, lambda f: f)[0])


def test_a_tensor_on_the_tape_that_is_found_elsewhere():
    def run(compile):
        held = {}
        f = compile(lambda x: (x * held["h"]).sum())

        def forward(x):
            held["h"] = ops.sin(x)
            return f(x)

        found = []
        for number in range(STEPS):
            found.append(ms.value_and_grad(forward)(Tensor(array(3, seed=number))))
        held["h"] = Tensor(array(3))
        found.append(ms.value_and_grad(f)(Tensor(array(3))))
        return found, f

    found, f = run(jit)
    assert_alike(found, run(lambda f: f)[0])
    assert f.report()["replays"] == STEPS - 2  # the dict is looked into from the second call on


class Doubled(Cell):
    """A Cell whose gradient is none of its function's."""

    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 10 * x,)


def test_rules_of_the_users_that_only_compute():
    def make():
        net, rule = mlp(), Doubled()
        halve = ops.InsertGradientOf(lambda g: 0.5 * g)
        return (lambda x, y: ops.cross_entropy(halve(net(rule(x))), y)), net

    check(make, batch, positions=0)


def test_rules_with_side_effects_run_as_often_as_eagerly(capsys):
    def run(compile):
        net, norms = mlp(), []

        def note(g):
            norms.append(1)
            print("gradient", g.shape)
            return g * 3

        watch = ops.InsertGradientOf(note)
        f = compile(lambda x, y: ops.cross_entropy(watch(net(x)), y))
        gradient = ms.value_and_grad(f, None, net.trainable_params())
        found = [gradient(*batch(step)) for step in range(STEPS)]
        return found, len(norms), capsys.readouterr().out

    ms.set_seed(1)
    eager = run(lambda f: f)
    ms.set_seed(1)
    with pytest.warns(UserWarning, match="when it is differentiated"):
        found = run(jit)
    assert_alike(found[0], eager[0])
    assert found[1:] == eager[1:]


def test_a_rule_that_keeps_what_it_was_given():
    def run(compile):
        kept = {}
        watch = ops.InsertGradientOf(lambda g: kept.update(g=g) or g)
        f = compile(lambda x: watch(x * x).sum())
        found = [ms.grad(f)(Tensor([1.0, number])) * 1 for number in range(STEPS)]
        return found, kept["g"]

    with pytest.warns(UserWarning, match="when it is differentiated"):
        found = run(jit)
    assert_alike(found, run(lambda f: f))


def test_hooks_of_weights_and_inputs():
    def run(compile):
        ms.set_seed(1)
        net, seen = mlp(), []
        net[0].weight.register_hook(lambda g: seen.append(1) or g * 2)
        f = compile(lambda x: (net(x) ** 2).sum())
        gradient = ms.grad(f, 0, net.trainable_params())
        return [gradient(batch(step)[0]) for step in range(STEPS)], len(seen)

    found, eager = run(jit), run(lambda f: f)
    assert_alike(found, eager)


def test_recomputed_blocks():
    def make():
        net = mlp()
        return (lambda x, y: ops.cross_entropy(ms.recompute(net, x), y)), net

    check(make, batch)


def test_a_parameter_that_is_assigned_inside():
    class Assigning(Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor(array(4)), name="w")

        def construct(self, x):
            first = (self.w * x).sum()
            ops.assign(self.w, ops.stop_gradient(self.w) * 0.5)
            return first + (self.w * self.w * x).sum()

    def run(compile):
        net = Assigning()
        f = compile(lambda x: net(x))
        gradient = ms.value_and_grad(f, 0, net.trainable_params())
        return [gradient(Tensor(array(4, seed=step))) for step in range(STEPS)], net.w.value()

    with pytest.warns(UserWarning):
        found = run(jit)
    assert_alike(found, run(lambda f: f))


def test_what_raises_raises_again_and_changes_nothing():
    net = mlp()
    f = jit(lambda x: (net(x) ** 2).sum())
    gradient = ms.value_and_grad(f, None, net.trainable_params())
    gradient(batch(0)[0])
    for _ in range(3):
        with pytest.raises(ValueError, match="Dense"):
            gradient(Tensor(array(5, 3)))
    assert_alike(gradient(batch(0)[0]),
                 ms.value_and_grad(f.fn, None, net.trainable_params())(batch(0)[0]))
    assert state.level is None


def test_threads_use_one_graph():
    net = mlp()
    f = jit(lambda x, y: ops.cross_entropy(net(x), y))
    gradient = ms.value_and_grad(f, None, net.trainable_params())
    wanted = {n: ms.value_and_grad(f.fn, None, net.trainable_params())(*batch(n)) for n in range(4)}
    found = {}

    def work(number):
        found[number] = [gradient(*batch(number)) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, several in found.items():
        for one in several:
            assert_alike(one, wanted[number])
    assert f.report()["replays"] >= 20


def test_gradients_are_not_recorded_where_they_are_stopped():
    f = jit(lambda x: x * x)
    for _ in range(3):
        assert_alike(ms.grad(lambda x: ops.stop_gradient(f(x)) * x)(Tensor(3.0)), Tensor(9.0))


def test_it_does_not_change_what_it_returns_by_changing_that():
    f = jit(lambda x: (x * 2, x.reshape(-1)))

    def forward(x):
        doubled, flat = f(x)
        doubled += 1
        doubled[0] = 5.0
        return (doubled * doubled).sum() + flat.sum()

    def eagerly(x):
        doubled, flat = f.fn(x)
        doubled += 1
        doubled[0] = 5.0
        return (doubled * doubled).sum() + flat.sum()

    x = Tensor(array(2, 3))
    for _ in range(3):
        assert_alike(ms.value_and_grad(forward)(x), ms.value_and_grad(eagerly)(x))


def test_weights_changed_before_the_backward_pass():
    net = mlp()
    f = jit(lambda x: (net(x) ** 2).sum())
    x = batch(0)[0]

    def forward(function, x):
        loss = function(x)
        ops.assign(net[0].weight, ops.stop_gradient(net[0].weight) * 0.5)
        return loss + (net[0].weight ** 2).sum()

    before = net[0].weight.asnumpy().copy()
    found = []
    for function in (f.fn, f, f, f):
        net[0].weight.set_data(Tensor(before))
        found.append(ms.value_and_grad(lambda x, function=function: forward(function, x), 0,
                                       net.trainable_params())(x))
    for other in found[1:]:
        assert_alike(other, found[0])


def test_graph_mode_under_vjp():
    net = mlp()
    x = batch(0)[0]
    wanted = ms.vjp(net, x)[1](Tensor(array(5, 3)))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for _ in range(3):
            assert_alike(ms.vjp(net, x)[1](Tensor(array(5, 3))), wanted)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_it_is_compiled_outside_of_gradients_as_well():
    net = mlp()
    f = jit(lambda x: (net(x) ** 2).sum())
    x = batch(0)[0]
    for _ in range(3):
        assert_alike(f(x), f.fn(x))
        ms.grad(f)(x)
    assert (f.report()["traces"], f.report()["replays"]) == (2, 4)
    assert len(f.report()["backends"]) == 2
