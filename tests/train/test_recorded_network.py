"""Names of a network's inputs, and what is said of a network that can't be recorded."""

import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.train.recorded_network import names_of, recorded


class Takes(nn.Cell):
    def construct(self, x, scale=2.0, *more):
        return x * scale + sum(more)


@pytest.mark.parametrize("count, names", [
    (1, ["x"]), (2, ["x", "scale"]), (3, ["x", "scale", "more0"]),
    (5, ["x", "scale", "more0", "more1", "more2"])])
def test_names_of_inputs(count, names):
    assert names_of(Takes(), [ops.ones(2)] * count) == names


class Two(nn.Cell):
    def construct(self, x, y):
        return x + y


@pytest.mark.parametrize("inputs", [(), (ops.ones(2),), (ops.ones(2),) * 3], ids=range(3))
def test_examples_that_are_missing_or_too_many(inputs):
    for call in (names_of, recorded):
        with pytest.raises(TypeError, match=r"'export', .*: give an example of each input after the"
                                            r" network; Two takes .*x, y"):
            call(Two(), inputs)


@pytest.mark.parametrize("given, axes, sizes", [
    ((Tensor(shape=[None, 3], dtype=ms.float32), ops.ones((4, 3))), (), [(3, 3), (4, 3)]),
    ((ops.ones((2, 3)), ops.ones((2, 3))), ({0}, {0}), [(3, 3), (3, 3)]),
    ((ops.ones((2, 3)), ops.ones((2, 3))), ({0, 1}, {0, 1}), [(3, 5), (3, 5)])], ids=range(3))
def test_open_sizes_stand_for_others_than_one(given, axes, sizes):
    """Equal in one dimension, and different in different ones."""
    program, parameters = recorded(Two() if axes else First(), given, axes)
    assert [tuple(x.shape) for x in program.example_inputs[0]] == sizes and parameters == []


class First(nn.Cell):
    def construct(self, x, y):
        return x * 2, y


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.calls = ms.Parameter(Tensor(0.0), name="calls")

    def construct(self, x):
        self.calls += 1
        return x * self.calls


@pytest.mark.parametrize("stateful", [True, False])
def test_what_a_network_assigns_is_recorded_unless_it_may_not(stateful):
    net = Counting()
    program, (parameter,) = recorded(net, [ops.ones(2)], (), stateful)
    assert parameter is net.calls and float(net.calls) == 0.0
    run = program.module()
    assert run(torch.ones(2)).tolist() == [1, 1]
    assert run(torch.ones(2)).tolist() == ([2, 2] if stateful else [1, 1])


class Asks(nn.Cell):
    def construct(self, x):
        return x if x.sum() > 3 else -x


def test_a_value_that_is_asked_for_is_named_with_its_line():
    with pytest.raises(RuntimeError, match=r"For 'export', Asks can't be recorded.* A network that "
                                           r"is exported must not make Python values of Tensors"):
        recorded(Asks(), [ops.ones(2)])
