"""Which Parameters are cut, into which parts, and what their rules multiply by; by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.distributed.tensor import Partial, Replicate, Shard

import lamella as ms
from lamella import nn, ops
from lamella.parallel import Layout, parts, rules, sharding


@pytest.fixture
def no_strategies(monkeypatch):
    """Strategies that a test gives aren't those of later ones."""
    monkeypatch.setattr(sharding, "_strategies", {})


def placed(size: int, rank: int = 0, threshold: int = 0) -> Any:
    found = object.__new__(parts.Placement)
    found.group, found.threshold, found.processes = SimpleNamespace(
        size=size, rank=rank), threshold, 0  # type: ignore[assignment]
    return found


@pytest.mark.parametrize("shape, kind, size, threshold, fits", [
    ((4, 3), ms.float32, 2, 0, True), ((3, 4), ms.float32, 2, 0, False), ((6,), ms.float32, 3, 0,
                                                                          True),
    ((), ms.float32, 1, 0, False), ((4,), ms.int32, 2, 0, False), ((4,), ms.float16, 2, 8, True),
    ((4,), ms.float16, 2, 9, False), ((4, 3), ms.float32, 2, 48, True),
    ((4, 3), ms.float32, 2, 49, False), ((0, 3), ms.float32, 2, 0, False)])
def test_parameters_that_are_cut(shape, kind, size, threshold, fits):
    parameter = ms.Parameter(ops.zeros(shape, kind), name="p")
    assert placed(size, threshold=threshold).fits(parameter) is fits
    parameter.parallel_optimizer = False
    assert not placed(size, threshold=threshold).fits(parameter)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_parts_are_rows(size):
    whole = torch.arange(12.0).reshape(6, 2)
    found = [placed(size, rank).part(whole) for rank in range(size)]
    assert torch.equal(torch.cat(found), whole) and len({part.shape for part in found}) == 1
    placement = placed(size)
    assert placement.whole_shape(tuple(found[0].shape)) == (6, 2)
    assert placement.arrangement() == ([1], {}, size)  # there is one process here
    placement.processes = 12
    assert placement.arrangement() == ([12], {}, size)


def test_in_a_world_of_one_nothing_is_cut():
    assert parts.placement_of() is parts.placement_of(2) is None
    net = nn.Dense(4, 4)
    parts.place(net.get_parameters(), None)
    assert {type(p) for p in net.get_parameters()} == {ms.Parameter}
    assert not parts.stays_whole(net.weight)
    parts.keep_whole([net.weight])
    assert parts.stays_whole(net.weight) and not parts.stays_whole(net.bias)


class Mesh:
    """An arrangement of processes, as far as these functions ask for it."""

    def size(self, axis: int) -> int:
        return (2, 3, 5)[axis]


CUT, SAME, SUM = Shard(0), Replicate(), Partial()


@pytest.mark.parametrize("of_input, own, count", [
    ((SAME, SAME, SAME), (SAME, SAME, SAME), 30), ((CUT, SAME, SAME), (SAME, SAME, SAME), 15),
    ((SAME, SAME, SAME), (SAME, SUM, SAME), 10), ((SAME, SUM, CUT), (SAME, SAME, SAME), 6),
    ((CUT, CUT, SAME), (SAME, SAME, CUT), 1), ((SAME, CUT, SAME), (CUT, CUT, SAME), 5)])
def test_processes_that_have_the_same(of_input, own, count):
    value, gradient = (SimpleNamespace(placements=each, device_mesh=Mesh())
                       for each in (of_input, own))
    assert rules._processes(value, lambda one, two: not one.is_shard() and two.is_replicate(),
                            gradient) == count
    assert rules._processes(value, lambda one, _: not one.is_shard()) == math.prod(
        size for size, each in zip((2, 3, 5), of_input, strict=True) if not each.is_shard())


def test_rules_of_one_process_get_what_there_is():
    raws = [torch.ones(2), torch.ones(3)]
    operator = SimpleNamespace()
    assert rules.shares(operator, raws, raws) is raws
    assert rules.wholes_of_shares(operator, [raws[0], None], raws) == [raws[0], None]


@pytest.mark.parametrize("plan, error, words", [
    ({"weight": (2, 1)}, None, ""), ({"self.weight": (2, 1)}, None, ""),
    ({"weight": Layout((2,), ("a",))("a", "None")}, None, ""), ({}, None, ""),
    ({"weight": [2, 1]}, TypeError, r"for each name, but got 'weight': \[2, 1\]"),
    ({3: (2, 1)}, TypeError, "for each name, but got 3"),
    ({"weights": (2, 1)}, ValueError, "no parameter 'weights'; it has weight, bias"),
    ({"weight.self.": (2, 1)}, ValueError, "no parameter 'weight.self.'")])
def test_plans_of_parameters(no_strategies, plan, error, words):
    net = nn.Dense(4, 4)
    if error is not None:
        with pytest.raises(error, match=words):
            sharding.plan_parameters(net, plan, "f")
        return
    sharding.plan_parameters(net, plan, "f")
    assert [p.__dict__.get("strategy") for p in (net.weight, net.bias)] == [
        *(plan.values() or [None]), None]


def test_where_nothing_is_spread_functions_are_as_they_are(no_strategies):
    net = nn.Dense(4, 4)
    assert not sharding.splits() and not sharding.in_region() and not sharding.is_sharded(net)
    twice = sharding.shard(lambda x, y: (x * 2, y), ((2, 1), None), ((1, 1),))
    x = ops.ones((2, 2))
    assert [t.asnumpy().tolist() for t in twice(x, x)] == [[[2, 2], [2, 2]], [[1, 1], [1, 1]]]
    net.matmul = ops.MatMul().shard(((2, 1), (1, 1)))
    assert sharding.is_sharded(net)
    raw = torch.ones(2)
    assert sharding.whole(raw) is raw and sharding.lay_out(raw, None, "f") is raw
