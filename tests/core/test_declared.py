"""Declared state: graphs follow every attribute of Lamella's objects but their caches."""

from __future__ import annotations

import copy
import logging

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.core.declared import caches_of, without_caches

X = Tensor([[1.0, -2.0, 0.3]])


def histories(make, rounds=8):
    """What eager and compiled calls give, with the states that they leave; and the graphs."""
    found = []
    for wrap in (lambda function: function, jit):
        ms.set_seed(3)
        function, change, state = make()
        function, history = wrap(function), []
        for i in range(rounds):
            change(i)
            history.append((function(X).asnumpy().tolist(), state()))
        found.append(history)
    return (*found, function.report())


@pytest.mark.filterwarnings("ignore:.*turns a tensor into a Python value after")
@pytest.mark.parametrize("kind", [nn.Momentum, nn.SGD])
@pytest.mark.parametrize("inside", [False, True])
def test_a_new_momentum_counts_in_the_next_step(kind, inside):
    def make():
        net = nn.Dense(3, 1)
        optimizer = kind(net.trainable_params(), learning_rate=0.1, momentum=0.9)
        forward = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())

        def step(x):
            if inside:
                optimizer.momentum.set_data(optimizer.momentum * 0.9)
            loss, gradients = forward(x)
            optimizer(gradients)
            return loss

        def change(i):
            if not inside and i in (3, 6):
                optimizer.momentum.set_data(Tensor(0.5 if i == 3 else 0.0, ms.float32))

        return step, change, lambda: net.weight.asnumpy().tolist()

    eager, compiled, report = histories(make)
    assert compiled == eager
    assert inside or report["replays"] >= 4


@pytest.mark.parametrize("kind, name, values", [
    (ops.Elu, "alpha", (2.0, 0.5)), (ops.CeLU, "alpha", (2.0, 0.5)),
    (ops.HShrink, "lambd", (0.1, 3.0)), (ops.SoftShrink, "lambd", (0.1, 3.0)),
    (ops.LogSoftmax, "axis", (0, 1)), (ops.Softmax, "axis", ((0,), (1,))),
    (ops.ReduceSum, "keep_dims", (True, False))])
def test_attributes_of_operators_are_kept_once(kind, name, values):
    def make():
        operator = kind()

        def change(i):
            if i in (2, 4):
                operator.add_prim_attr(name, values[i // 2 - 1])
            if i == 6:
                setattr(operator, name, values[0])
                assert operator.attrs[name] == operator.get_attr_dict()[name] == values[0]

        args = (1,) if kind is ops.ReduceSum else ()
        return lambda x: operator(x, *args), change, lambda: repr(operator)

    eager, compiled, _ = histories(make)
    assert compiled == eager


def test_attributes_that_are_taken_away_are_gone():
    operator = ops.Elu(2.0)
    assert operator.attrs == {"alpha": 2.0} and "alpha=2.0" in repr(operator)
    operator.del_prim_attr("alpha")
    assert operator.attrs == {} and not hasattr(operator, "alpha")
    operator.attrs = {"alpha": 3.0}
    assert operator.alpha == 3.0 and copy.deepcopy(operator).attrs == {"alpha": 3.0}


def test_a_new_scale_of_a_loss_scaler_counts():
    def make():
        scaler = ms.amp.DynamicLossScaler(4.0, 2, 1)

        def change(i):
            if i == 2:
                scaler.scale_value = Parameter(Tensor(8.0, ms.float32), name="scale_value")
            if i == 5:
                scaler.scale_factor = 3

        def step(x):
            scaled = scaler.scale(x)
            scaler.adjust(x.sum() < 100)
            return scaled

        return step, change, lambda: scaler.scale_value.asnumpy().tolist()

    eager, compiled, report = histories(make)
    assert compiled == eager and report["replays"] >= 4


def test_private_and_public_objects_of_a_layer_count():
    """Whatever their names and kinds are: dicts, objects, Tensors."""
    class Kept:
        def __init__(self, factor):
            self.factor = factor

    for name, first, second in (("_options", {"f": 2.0}, {"f": 3.0}),
                                ("options", {"f": 2}, {"f": 3}),
                                ("_kept", Kept(2.0), Kept(3.0)), ("_number", 2.0, 3.0)):
        layer = nn.Identity()
        layer.__dict__[name] = first

        def step(x, layer=layer, name=name):
            held = layer.__dict__[name]
            return x * (held["f"] if isinstance(held, dict) else getattr(held, "factor", held))

        compiled = jit(step)
        compiled(X)
        layer.__dict__[name] = second
        assert compiled(X).asnumpy().tolist() == (X * 3).asnumpy().tolist(), name


def test_a_hook_that_is_added_again_needs_no_new_graph():
    net, seen = nn.Dense(3, 1), []
    double = lambda cell, inputs, output: output * 2  # noqa: E731
    compiled = jit(net)
    for _ in range(4):
        handle = net.register_forward_hook(double)
        assert compiled(X).asnumpy().tolist() == net(X).asnumpy().tolist()
        handle.remove()
        handle.remove()
        seen.append("_call_hooks" in net.__dict__)
        assert compiled(X).asnumpy().tolist() == net(X).asnumpy().tolist()
    assert seen == [False] * 4 and compiled.report()["traces"] <= 3


def test_an_old_handle_removes_no_other_hook():
    weight = Parameter(Tensor([1.0]))
    first = weight.register_hook(lambda gradient: gradient * 2)
    second = weight.register_hook(lambda gradient: gradient * 3)
    second.remove()
    weight.register_hook(lambda gradient: gradient * 5)
    second.remove()
    gradient = ms.grad(lambda: (weight * 1.0).sum(), None, weight)
    assert gradient().asnumpy().tolist() == [10.0]
    first.remove()
    assert gradient().asnumpy().tolist() == [5.0]


def test_copies_begin_without_caches():
    class Net(nn.Cell):
        @jit
        def construct(self, x):
            return x * 2

    net = Net()
    net(X)
    assert "_compiled_methods" in net.__dict__ and "_compiled_methods" in caches_of(Net)
    assert "_compiled_methods" not in without_caches(net)
    assert "_compiled_methods" not in copy.copy(net).__dict__
    assert "_cache" in caches_of(logging.Logger) and caches_of(int) == {"_compiled_methods"}


def test_random_operators_make_their_stream_once():
    for operator, args in ((ops.StandardNormal(3), ((2, 3),)),
                           (ops.DropoutGenMask(1, 2), ((2, 3), Tensor(0.5)))):
        compiled = jit(lambda x, operator=operator, args=args: (x, operator(*args)))
        again = type(operator)(*((3,) if len(args) == 1 else (1, 2)))
        for _ in range(4):
            assert compiled(X)[1].asnumpy().tolist() == again(*args).asnumpy().tolist()
        assert compiled.report()["traces"] == 1 and compiled.report()["replays"] == 3
