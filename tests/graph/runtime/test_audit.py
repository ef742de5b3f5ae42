"""Audit: each replay is compared with an eager run of the function."""

import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.runtime import audit

X = Tensor([1.0, -2.0, 3.0])
W = Parameter(Tensor([1.0, 1.0, 1.0]), name="w")


@pytest.fixture(autouse=True)
def every(monkeypatch):
    monkeypatch.setattr(audit, "EVERY", 1)


def test_right_replays_pass_and_have_their_side_effects_once(capsys):
    weight = Parameter(Tensor([1.0, 1.0, 1.0]), name="w")
    seen: list = []

    def step(x):
        ops.assign_add(weight, x)
        seen.append(x.sum())
        print("step")
        return {"a": (x * weight, ops.rand(2)), "n": len(x)}

    compiled = jit(step)
    for i in range(1, 6):
        compiled(X)
        assert weight.asnumpy().tolist() == [1.0 + i, 1.0 - 2 * i, 1.0 + 3 * i] and len(seen) == i
    assert compiled.report()["replays"] >= 2
    assert capsys.readouterr().out == "step\n" * 5


def test_a_training_step_passes():
    net = nn.Dense(3, 2)
    update = nn.Adam(net.trainable_params(), 0.1)
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())

    @jit
    def step(x):
        loss, gradients = gradient(x)
        update(gradients)
        return loss

    for _ in range(4):
        step(X.reshape(1, 3))
    assert step.report()["replays"] == 3


def test_a_wrong_result_is_an_error_that_names_it():
    compiled = jit(lambda x: (x + 1, x * 2))
    compiled(X)
    replay = compiled.graphs(X)[0]
    run = replay.run

    def wrong(*args):
        found = run(*args)
        return found and [found[0], found[1] * 1.5]

    replay.run = wrong
    with pytest.raises(RuntimeError, match=r"result\[1\] is .*aten.mul.Tensor .*test_audit"):
        compiled(X)


def test_a_wrong_mutation_is_an_error():
    weight = Parameter(Tensor([1.0]), name="weight")
    compiled = jit(lambda x: ops.assign_add(weight, x.sum().reshape(1)) * 1)
    compiled(X)
    replay = compiled.graphs(X)[0]
    run = replay.run

    def wrong(*args):
        found = run(*args)
        with torch.no_grad():
            weight._data.add_(1)
        return found

    replay.run = wrong
    with pytest.raises(RuntimeError, match="leaves .* in weight"):
        compiled(X)


@pytest.mark.parametrize("function", [lambda x: x + 1, lambda x: (x + 1, x), lambda x: {"a": x + 1},
                                      lambda x: ops.assign_add(W, x) is None or None])
def test_a_number_in_the_place_of_another_result_is_an_error(function):
    compiled = jit(function)
    compiled(X)
    replay = compiled.graphs(X)[0]
    replay.outputs.gives_one, replay.outputs.build = False, None
    replay.outputs.out_tree = (5.0, *replay.outputs.out_tree[1:])
    with pytest.raises(RuntimeError, match="its result is 5.0"):
        compiled(X)
