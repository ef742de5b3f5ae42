"""The axes of the device mesh that strategies need."""

import math

import pytest

import lamella as ms
from lamella import communication, nn, ops
from lamella.communication.simulate import simulate
from lamella.parallel import Layout, shard
from lamella.parallel.axes import arranged, counts_of, subset


@pytest.mark.parametrize("size, strategies, want", [
    (8, [], [8]), (256, [(1, 256), (256, 1)], [256]), (1024, [(128, 1), (1, 8)], [128, 8]),
    (8, [(2, 4), (4, 2)], [2, 4]), (4, [(2, 1), (4, 1)], [2, 2]), (12, [(4, 1), (6, 1)], [2, 2, 3]),
    (4, [(3, 1)], [4]), (6, [(2, 2)], [2, 3])])
def test_axes(size, strategies, want):
    assert arranged(size, strategies) == want and math.prod(want) == size


@pytest.mark.parametrize("count, lengths, want", [
    (4, [2, 4], [1]), (4, [2, 3, 2], [0, 2]), (1, [2], []), (3, [2, 2], None)])
def test_axes_of_a_count(count, lengths, want):
    assert subset(count, lengths, range(len(lengths))) == want


def test_strategies_in_any_form():
    layout = Layout((2, 4), ("dp", "mp"))
    assert counts_of(((2, 1), layout("dp", "mp"), None)) == [(2, 1), (2, 4)]
    assert counts_of("full_batch") == counts_of(None) == []


@pytest.mark.parametrize("rows, columns", [(1, 256), (32, 8)])
def test_large_worlds_take_seconds(rows, columns):
    def program():
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel",
                                     dataset_strategy="full_batch")
        communication.init()
        weight = ms.Parameter(ops.ones((16, 256)), name="weight")
        product = ops.MatMul().shard(((rows, 1), (1, columns)))
        net = _Product(product, weight)
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))
        step(ops.ones((32, 16)))
        return step

    try:
        found = simulate(program, 256)  # a mesh with eight axes of 2 would take hours
    finally:
        ms.reset_auto_parallel_context()
    assert found.held[0] == pytest.approx(2 * 4 * 16 * 256 / columns, abs=100)


class _Product(nn.Cell):
    def __init__(self, product, weight):
        super().__init__()
        self.product, self.weight = product, weight

    def construct(self, x):
        return self.product(x, self.weight).sum()


def test_processes_are_arranged_anew_for_other_strategies():
    def program():
        ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel",
                                     dataset_strategy="full_batch")
        communication.init()
        for strategy in ((8, 1), (2, 4), (4, 2)):
            assert shard(ops.relu, (strategy,))(ops.ones((8, 8))).shape == (8, 8)

    try:
        simulate(program, 8)
    finally:
        ms.reset_auto_parallel_context()
