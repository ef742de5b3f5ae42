"""A backward pass in two gives the gradients of one in one pass."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops
from lamella.autodiff.run import record
from lamella.parallel.split_backward import SplitBackward


def normal(seed, shape):
    return ms.Tensor(np.random.default_rng(seed).normal(size=shape), ms.float32)


def _layered(x, w):
    """A weight used twice, one between, and a view as the result."""
    return ops.reshape(ops.tanh(ops.matmul(ops.tanh(ops.matmul(x, w[0])), w[1])) @ w[0], (-1,)),


def _apart(x, w):
    """A result that doesn't depend on the input, and a weight that no result depends on."""
    return ops.matmul(x, w[0]), ops.sin(w[1])


def _again(x, w):
    """A result that is the input itself, and one of a run that is repeated."""
    return x, ops.matmul(ops.exp(ops.matmul(x, w[1])), w[0])


def _assigned(x, w):
    """A weight that is assigned on the way."""
    ops.assign(w[0], w[0] * 2)
    return ops.matmul(x, w[0]),


@pytest.mark.filterwarnings("ignore:The gradient doesn't flow through the assignment:UserWarning")
@pytest.mark.parametrize("function", [_layered, _apart, _again, _assigned])
@pytest.mark.parametrize("count", [0, 1])
def test_gradients_are_those_of_one_pass(function, count):
    values = [normal(seed, (3, 3)) for seed in range(4)]

    def run():
        weights = tuple(ms.Parameter(value, name=f"w{i}") for i, value in enumerate(values[1:]))
        made = record(function, (values[0], weights), {}, (0,) * count, weights, None)
        return made, list(made.value), [ops.cos(out) for out in made.value]

    made, outputs, starts = run()
    wanted = list(made.backward(outputs, starts))
    split = SplitBackward(*run(), count)
    found = [*split.by_inputs(), *split.by_others()]
    assert len(found) == len(wanted) == count + 3
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), 1e-5, 1e-6)


def test_the_first_pass_computes_no_gradient_of_a_weight():
    seen = []
    net = nn.SequentialCell(nn.Dense(3, 3), nn.Dense(3, 3))
    weights = tuple(net.trainable_params())
    for weight in weights:
        weight.register_hook(lambda gradient, name=weight.name: seen.append(name))
    made = record(net, (normal(0, (2, 3)),), {}, (0,), weights, None)
    split = SplitBackward(made, [made.value], [ops.ones((2, 3))], 1)
    split.by_inputs()
    assert seen == []
    split.by_others()
    assert sorted(seen) == sorted(weight.name for weight in weights)


def test_an_error_of_a_rule_is_the_programs_own():
    def refuse(gradient):
        raise KeyError("the gradient")

    made = record(lambda x: ops.InsertGradientOf(refuse)(x * 2), (normal(0, (2,)),), {}, (0,), (),
                  None)
    with pytest.raises(KeyError, match="the gradient"):
        SplitBackward(made, [made.value], [ops.ones(2)], 1).by_inputs()
