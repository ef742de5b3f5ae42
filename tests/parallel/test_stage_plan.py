"""The plan of a pipeline: which stage runs which Cells, and what it needs of others."""

from __future__ import annotations

import pytest
import torch

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.parallel import stage_plan
from lamella.parallel.chunks import Chunks
from lamella.parallel.schedule import Message, Move, Step


class Net(nn.Cell):
    """Three layers, with what a test does between them."""

    def __init__(self, stages=(0, 0, 1), between=lambda net, x: x, last=lambda net, y, x: y):
        super().__init__()
        self.one, self.two, self.three = (nn.Dense(4, 4) for _ in range(3))
        for cell, stage in zip((self.one, self.two, self.three), stages, strict=True):
            if stage is not None:
                cell.pipeline_stage = stage
        self.own = ms.Parameter(ops.ones(4), name="own")
        self.between, self.last = between, last

    def construct(self, x):
        first = self.one(x)
        return self.last(self, self.three(self.between(self, self.two(first))), first)


X = ops.ones((2, 4))


def planned(net, order="once", stages=2):
    return stage_plan.plan(net, (X,), Chunks(stages, order), "f")


def names(parameters):
    return [p.name for p in parameters]


def test_what_stages_run_and_send():
    net = Net()
    found = planned(net)
    assert [(call.cell, call.chunk) for call in found.calls] == [
        (net.one, 0), (net.two, 0), (net.three, 1)]
    assert [[(v.number, v.chunk) for v in each] for each in found.needs] == [[], [(1, 0)]]
    assert found.last == [1, 2] and found.count == 2 and not found.narrow
    assert {p.name: stage for p, stage in found.owners.items()} == {
        f"{cell}.{name}": stage for cell, stage in (("one", 0), ("two", 0), ("three", 1))
        for name in ("weight", "bias")}
    assert names(found.uses[1]) == ["three.weight", "three.bias"] and found.borrowed == [[], []]
    assert tuple(found.result.shape) == (2, 4)
    assert net.one.weight._data.device.type == "cpu" and not hasattr(X._raw, "sources")


def test_messages_carry_values_forward_and_gradients_back():
    found = planned(Net(last=lambda net, y, x: y + x))  # the first result is needed at the end
    (need,) = found.needs[1:]
    assert [v.number for v in need] == [0, 1]
    assert found.carried(Message(True, 0, 1, 0)) == need == found.carried(Message(False, 1, 0, 0))
    assert found.carried(Message(True, 1, 0, 0)) == found.carried(Message(False, 0, 1, 0)) == []
    whole = planned(Net(stages=(0, 1, 1), last=lambda net, y, x: y))
    assert [v.number for v in whole.needs[1]] == [0]

    class Places(nn.Cell):
        def construct(self, x):
            return x.argmax(-1), x * 2

    net = Net(between=lambda net, x: net.places(x)[1] + net.places(x)[0].sum())
    net.places = Places()
    net.places.pipeline_stage = 0
    found = planned(net)
    sent, back = (found.carried(Message(*m, 0)) for m in ((True, 0, 1), (False, 1, 0)))
    assert [v.like.dtype for v in sent] == [torch.float32, torch.int64]
    assert [v.like.dtype for v in back] == [torch.float32]  # integers have no gradient


def test_parameters_that_two_stages_use_are_lent():
    net = Net(between=lambda net, x: x * net.own)
    found = planned(net)
    assert found.owners[net.own] == 1 and found.borrowed == [[], []]
    shared = Net(between=lambda net, x: x @ net.one.weight)
    found = planned(shared)
    assert found.owners[shared.one.weight] == 0 and names(found.borrowed[1]) == ["one.weight"]
    assert found.lends(0) == [(shared.one.weight, 1)] and found.lends(1) == []
    assert names(found.uses[1]) == ["one.weight", "three.weight", "three.bias"]
    assert {p.name for p in found.stand_ins} >= {"one.weight"}


@pytest.mark.parametrize("stages, order, want", [
    ((0, None, 1), "once", [0, 0, 1]), ((None, None, 1), "once", [0, 0, 1]),
    ((0, 1, None), "once", [0, 1, 1]), ((0, 1, 0), "loop", [0, 1, 2]),
    ((0, 1, 0), "v", [0, 1, 3]), ((0, 1, 1), "v", [0, 1, 1]), ((1, 0, 0), "loop", [1, 2, 2])])
def test_chunks_of_cells(stages, order, want):
    found = planned(Net(stages), order)
    assert [call.chunk for call in found.calls] == want
    assert found.count == (4 if order == "v" or max(want) > 1 else 2)
    assert [found.chunks.stage(chunk) for chunk in want] == [
        stage if stage is not None else found.chunks.stage(chunk)
        for stage, chunk in zip(stages, want, strict=True)]


@pytest.mark.parametrize("order, want", [("v", 3), ("loop", 0)])
def test_segments_count_in_a_v_alone(order, want):
    net = Net((None, None, None))
    net.one.pipeline_stage, net.one.pipeline_segment = 0, 1
    assert planned(net, order).calls[0].chunk == want


def inside(outer, inner):
    cell = nn.SequentialCell(nn.Dense(4, 4), nn.Dense(4, 4))
    cell.pipeline_stage, cell[1].pipeline_stage = outer, inner
    net = Net((None, None, 1))
    net.one = cell
    return net


def segment(value):
    net = Net()
    net.three.pipeline_segment = value
    return net


@pytest.mark.parametrize("net, order, words", [
    (lambda: Net((None,) * 3), "once", "no Cell of the network has a 'pipeline_stage'"),
    (lambda: Net((0, 1, 2)), "once", "of 'three' must be less than the 2 stages, but got 2"),
    (lambda: Net((1, 0, 1)), "once", "to later stages only, without 'pipeline_interleave'"),
    (lambda: segment(2), "v", "of 'three' must be 0 or 1, but got 2"),
    (lambda: Net((0, 1, 0), last=lambda net, y, x: net.two(y)), "v", "back only once"),
    (lambda: inside(0, 1), "once", r"a Cell SequentialCell of stage 0 has Cells of stages \[1\]")])
def test_stages_that_cannot_be(net, order, words):
    with pytest.raises(ValueError, match=f"For 'f', .*{words}"):
        planned(net(), order)


def test_stages_that_can_be():
    for net, order in ((inside(0, 0), "once"), (segment(1), "v"), (segment(7), "loop"),
                       (Net((0, 0, 0)), "once")):
        assert planned(net, order).calls


def drawn(net, x):
    net.drawn = ops.rand(4)
    return x * net.drawn


class Drawn(Net):
    def construct(self, x):
        noise = ops.rand(4)
        return self.three(self.one(x * noise) * noise)


def test_what_is_drawn_between_cells_has_one_user():
    for last in (lambda net, y, x: y, lambda net, y, x: y * net.drawn):  # both in stage 1
        assert len(planned(Net(between=drawn, last=last)).calls) == 3
    with pytest.raises(RuntimeError, match=r"of 'aten::rand', .* are used by stages 0 and 1, but"):
        planned(Drawn())


def test_a_network_gives_a_tensor():
    for given, words in ((lambda net, y, x: (y, x), "but got"), (lambda net, y, x: None, "None")):
        with pytest.raises(TypeError, match=f"must give a Tensor, .*{words}"):
            planned(Net(last=given))


def test_float16_is_noted():
    assert planned(Net(between=lambda net, x: x.astype(ms.float16).astype(ms.float32))).narrow
    assert not planned(Net(between=lambda net, x: x.astype(ms.bfloat16).astype(ms.float32))).narrow


def test_timetables_are_made_once():
    found = planned(Net())
    table = found.table("1f1b", 2, True)
    assert found.table("1f1b", 2, True) is table and found.table("1f1b", 3, True) is not table
    assert [len([s for s in row if isinstance(s, Step)]) for row in table] == [4, 4]
    assert [len([s for s in row if isinstance(s, Move)]) for row in table] == [4, 4]
    forward = found.table("1f1b", 2, False)
    assert [[s.action.kind for s in row if isinstance(s, Step)]
            for row in forward] == [["F"] * 2] * 2


def test_parameters_and_inputs_keep_their_data():
    net = Net(between=lambda net, x: ops.depend(x, net.own.set_data(net.own * 2)))
    before = {p.name: p.asnumpy().copy() for p in net.get_parameters()}
    planned(net)
    assert all((p.asnumpy() == before[p.name]).all() for p in net.get_parameters())
    assert isinstance(net(Tensor(X)), Tensor)
