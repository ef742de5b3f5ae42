"""Steps of programs that read the gradients added up in ``accu_grads``."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.tensors.parameter import collector_of


@pytest.fixture(autouse=True)
def fresh():
    yield
    ms.reset_auto_parallel_context()


class Squares(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return (self.dense(x) ** 2).mean()


class Step(nn.Cell):
    """One step by what was collected, as packages of language models write it."""

    def __init__(self, network, optimizer):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters
        self.accu_grads = self.weights.clone(prefix="accu_grads", init="zeros")
        self.grad = ops.GradOperation(get_by_list=True, sens_param=True)

    def construct(self, x):
        loss = self.network(x)
        self.grad(self.network, self.weights)(x, ops.ones_like(loss) / 2)
        taken = []
        for each in self.accu_grads:
            taken.append(each * 1)
            ops.assign(each, ops.zeros_like(each))
        self.optimizer(tuple(taken))
        return loss


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def weights_after(mode, wrap):
    ms.set_auto_parallel_context(parallel_mode=mode)
    network = Squares()
    step = Step(wrap(network), nn.SGD(network.trainable_params(), 0.1))
    for _ in range(2):
        step(Tensor(X))
    return [p.asnumpy() for p in network.get_parameters()]


@pytest.mark.parametrize("parts", [nn.GradAccumulationCell, nn.PipelineCell])
@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_parts_are_collected(parts, compiled):
    whole, network = Squares(), Squares()
    step = nn.TrainOneStepCell(whole, nn.SGD(whole.trainable_params(), 0.1))
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
    own = Step(parts(network, 2), nn.SGD(network.trainable_params(), 0.1))
    run = ms.jit(own) if compiled else own
    for _ in range(4):
        run(Tensor(X))
    ms.reset_auto_parallel_context()
    for _ in range(4):
        step(Tensor(X))
    for mine, theirs in zip(network.get_parameters(), whole.get_parameters(), strict=True):
        np.testing.assert_allclose(mine.asnumpy(), theirs.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("mode", "wrap"), [
    ("stand_alone", lambda net: nn.GradAccumulationCell(net, 2)),
    ("semi_auto_parallel", lambda net: net),
])
def test_elsewhere_programs_add_them_up_themselves(mode, wrap):
    before = [p.asnumpy() for p in Squares().get_parameters()]
    for mine, theirs in zip(weights_after(mode, wrap), before, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_newest_twin_collects():
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
    network = Squares()
    first = Step(nn.GradAccumulationCell(network, 2), nn.SGD(network.trainable_params(), 0.1))
    newer = Step(nn.GradAccumulationCell(network, 2), nn.SGD(network.trainable_params(), 0.1))
    newer(Tensor(X))
    changed = network.dense.weight.asnumpy()
    assert not np.array_equal(changed, np.ones((2, 3), np.float32))
    first.accu_grads = None
    np.testing.assert_array_equal(newer.accu_grads[0].asnumpy(), np.zeros((2, 3), np.float32))


def test_a_new_weight_has_no_collector_of_a_dead_one():
    for _ in range(1000):  # until a new weight lies where the dead one did
        weight = Parameter(np.zeros(2, np.float32), name="w")
        twins = ms.ParameterTuple([weight]).clone("accu_grads", "zeros")
        assert collector_of(weight) is twins[0]
        dead = id(weight)
        del weight
        weight = Parameter(np.zeros(2, np.float32), name="w")
        assert collector_of(weight) is None
        if id(weight) == dead:
            return
    pytest.fail("no new weight lay where a dead one did")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy,
                                    lambda weight: pickle.loads(pickle.dumps(weight))])
def test_a_copy_of_a_weight_has_no_collector(copied):
    weight = Parameter(np.zeros(2, np.float32), name="w")
    twins = ms.ParameterTuple([weight]).clone("accu_grads", "zeros")
    assert collector_of(copied(weight)) is None
    assert collector_of(weight) is twins[0]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_twin_made_between_two_steps_collects(compiled):
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
    network = Squares()
    own = Step(nn.GradAccumulationCell(network, 2), nn.SGD(network.trainable_params(), 0.1))
    run = ms.jit(own) if compiled else own
    for _ in range(3):
        run(Tensor(X))
    before = network.dense.weight.asnumpy()
    newer = own.weights.clone("accu_grads", "zeros")
    run(Tensor(X))
    np.testing.assert_array_equal(network.dense.weight.asnumpy(), before)
    assert newer[0].asnumpy().any()
