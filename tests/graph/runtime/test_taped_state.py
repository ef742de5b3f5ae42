"""State, rules and hooks of compiled functions below eager gradients."""

import functools
import sys
import threading
import time
import types
from typing import Any

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.core.state import state
from lamella.nn import Cell

from .taped import STEPS, array, assert_alike, batch, check, mlp


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

    with pytest.warns(UserWarning, match="keeps a differentiated Tensor outside of its result"):
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


def first_is(value, y, s):
    y[0] = value
    return y


def all_but_the_first(y, s):
    y[:1] = 0.1
    return y[1:], y.sum()


def into_another(y, s):
    other = ops.zeros(3, ms.float32)
    other[1:] = y[1:] * s.count
    return other


def negatives_are(value, y, s):
    y[y < 0] = value
    return {"y": y, "twice": y * 2}


def added_in_place(y, s):
    y += s.count
    y[1] = y[2]
    return y


@pytest.mark.parametrize("change", [
    functools.partial(first_is, 0.1), all_but_the_first, into_another, added_in_place,
    functools.partial(negatives_are, 0.1), lambda y, s: first_is(s.count, y, s)])
def test_results_that_were_changed_in_place_while_a_number_varies(change):
    """Runs that are recorded beside the program leave what they return on their own tape."""
    def results(compile):
        counter = types.SimpleNamespace(count=0)

        def forward(x):
            counter.count += 1
            return change(x / counter.count, counter)

        call = compile(forward)

        def loss(x):
            return sum([(ops.sin(each)).sum() for each in ms.tree.leaves(call(x))], Tensor(0.0))

        return [ms.value_and_grad(loss)(Tensor(array(3, seed=number))) for number in range(8)], call

    found, call = results(jit)
    assert_alike(found, results(lambda f: f)[0])
    report = call.report()
    assert report["replays"] > 0 and report["eager"] == []


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
    found, end = {number: [] for number in range(4)}, time.monotonic() + 60

    def work(number):  # while one of them records, the others run eagerly
        while len(found[number]) < 20 or (
                f.report()["replays"] < 20 and time.monotonic() < end):
            found[number].append(gradient(*batch(number)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, several in found.items():
        for one in several:
            assert_alike(one, wanted[number])
    assert f.report()["replays"] >= 20


def replays_of_threads():
    """What four threads get, and what one, from a graph that has just been recorded."""
    net = mlp()
    f = jit(lambda x, y: ops.cross_entropy(net(x), y))
    gradient = ms.value_and_grad(f, None, net.trainable_params())
    wanted = gradient(*batch(0))
    found: list[Any] = []
    start = threading.Barrier(4)

    def work():
        start.wait()
        found.append(gradient(*batch(0)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, wanted


def test_threads_replay_a_new_graph_at_the_same_time(request):
    request.addfinalizer(functools.partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1e-6)
    for _ in range(12):
        found, wanted = replays_of_threads()
        assert len(found) == 4
        for one in found:
            assert_alike(one, wanted)


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
