"""A block after which all that a function can reach is as it was."""

from __future__ import annotations

import numpy as np
import pytest

from lamella import Parameter, Tensor, nn, ops
from lamella.insight.gradcheck.rehearsal import Rehearsal


class Holding(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([1.0, 2.0]), name="weight")
        self.buffer = Tensor([3.0, 4.0])
        self.more = [Tensor([5.0]), {"a": Tensor([6.0])}]

    def construct(self, x):
        return x * self.weight


def state_of(net):
    return [each.asnumpy().tolist() for each in (net.weight, net.buffer, net.more[0],
                                                 net.more[1]["a"])]


def in_place(net):
    net.weight.copy_(Tensor([9.0, 9.0]))
    net.buffer[0] = 9.0
    net.more[0].add_(1.0)


def anew(net):
    net.weight.set_data(Tensor([8.0, 8.0]))
    net.buffer = Tensor([8.0, 8.0])
    net.more[0], net.more[1]["a"] = Tensor([8.0]), Tensor([8.0])


def both(net):
    in_place(net)
    anew(net)
    in_place(net)


@pytest.mark.parametrize("change", [in_place, anew, both])
@pytest.mark.parametrize("raises", [False, True])
def test_all_is_as_it_was(change, raises):
    net = Holding()
    before, held = state_of(net), (net.weight, net.weight._data, net.buffer, net.more[0])
    try:
        with Rehearsal(net) as rehearsal:
            change(net)
            assert state_of(net) != before
            rehearsal.reset()
            assert state_of(net) == before
            change(net)
            if raises:
                raise KeyError
    except KeyError:
        assert raises
    assert state_of(net) == before
    assert all(a is b for a, b in zip(
        (net.weight, net.weight._data, net.buffer, net.more[0]), held, strict=True))


def test_random_numbers_are_drawn_again():
    draws = []
    with Rehearsal(lambda x: x) as rehearsal:
        for _ in range(2):
            rehearsal.reset()
            draws.append(ops.rand(3).asnumpy())
        outside = ops.rand(3).asnumpy()
    np.testing.assert_array_equal(*draws)
    assert not np.array_equal(outside, draws[0])
    np.testing.assert_array_equal(ops.rand(3).asnumpy(), draws[0])  # as if nothing had been drawn


def test_a_parameter_that_is_reached_twice_is_kept_once():
    net = Holding()
    rehearsal = Rehearsal(net, [net.weight], lambda: net.weight)
    assert [p is net.weight for p in rehearsal.parameters] == [True]
