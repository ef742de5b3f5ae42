"""Parameters of a pipeline's stages, as one process of a world that isn't there sees them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import lamella as ms
from lamella import Parameter, Tensor
from lamella.communication import settings
from lamella.communication.groups import ended
from lamella.core.state import state
from lamella.parallel import parts, pipeline, stages
from lamella.parallel.stages import Elsewhere, Pipeline, StageParameter, StagePartParameter, here
from lamella.tensors.tensor import wrap


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setattr(stages, "_latest", None)
    monkeypatch.setattr(parts, "in_use", False)
    monkeypatch.setattr(stages, "_placements", {})
    yield
    here.run, here.start, here.wholes = None, None, {}
    ms.reset_auto_parallel_context()


def pipe(stage: int = 0, alike: int = 1, born: int | None = None) -> Any:
    """Two stages, of which this process runs one."""
    return Pipeline(2, stage, SimpleNamespace(ranks=[5, 7], name="chain"),  # type: ignore[arg-type]
                    SimpleNamespace(size=alike, name="alike", ranks=[5, 6]),  # type: ignore
                    ended() if born is None else born)


class Halves:
    """Two processes have the two halves of a Parameter; this one has the first."""

    group = SimpleNamespace(size=2)
    takes_parts = False

    def part(self, whole: torch.Tensor) -> torch.Tensor:
        return whole.chunk(2)[0]

    def whole_shape(self, part: tuple[int, ...]) -> tuple[int, ...]:
        return (2 * part[0], *part[1:])

    def gather(self, part: torch.Tensor) -> torch.Tensor:
        return torch.cat([part, part + 10])

    def scatter_all(self, wholes: list[torch.Tensor]) -> list[torch.Tensor]:
        return [self.part(whole) * 2 for whole in wholes]

    def around(self, part: torch.Tensor) -> torch.Tensor:
        return part


def parameter(name: str = "w") -> Any:
    return Parameter(Tensor([[1.0, 2.0], [3.0, 4.0]]), name=name)


def placed(stage: int, mine: int = 0, cut: Any = None, name: str = "w") -> Any:
    weight = parameter(name)
    stages.place(weight, stage, pipe(mine), lambda p: cut)
    return weight


@pytest.mark.parametrize("stage, mine, cut, kind, shape", [
    (0, 0, None, StageParameter, (2, 2)), (1, 0, None, StageParameter, (2, 2)),
    (1, 1, Halves(), StagePartParameter, (1, 2)), (1, 0, Halves(), StagePartParameter, (1, 2))])
def test_a_stage_holds_the_data_and_others_their_form(stage, mine, cut, kind, shape):
    weight = placed(stage, mine, cut)
    assert type(weight) is kind and weight.stage == stage and weight.pipeline.stage == mine
    assert weight._data.is_meta is (stage != mine) and tuple(weight._data.shape) == shape
    assert weight.shape == (2, 2) and weight.dtype == ms.float32 and weight.size == 4
    assert weight.__dict__["device"].type == "cpu" and stages.latest() is weight.pipeline
    if stage == mine:
        assert weight._data.tolist() == [[1, 2], [3, 4]][:shape[0]]


def test_a_parameter_stays_in_its_stage():
    weight, later = placed(1), pipe()
    stages.place(weight, 1, later, lambda p: pytest.fail("it is placed"))
    assert weight.pipeline is later
    for stage, other in ((0, pipe()), (1, pipe()._replace(stages=3))):
        with pytest.raises(RuntimeError, match=f"in stage 1 of 2, and can't be in stage {stage} of "
                                               f"{other.stages}"):
            stages.place(weight, stage, other, lambda p: None)


def test_the_latest_pipeline_ends_with_its_groups():
    placed(0)
    assert stages.latest() is not None
    stages._latest = pipe(born=ended() - 1)
    assert stages.latest() is None


@pytest.fixture
def broadcasts(monkeypatch):
    found = []

    def broadcast(name, raw, root, group):
        found.append((raw.clone(), root, group.name))
        return raw + 100

    monkeypatch.setattr(stages.exchange, "broadcast", broadcast)
    return found


@pytest.mark.parametrize("stage, cut", [(0, None), (1, None), (0, Halves())])
def test_who_reads_it_gets_it_from_its_stage(broadcasts, stage, cut):
    weight = placed(stage, 0, cut)
    found = weight._raw
    (sent, root, group), = broadcasts
    assert (root, group) == ((5, 7)[stage], "chain") and torch.equal(found, sent + 100)
    assert sent.shape == (2, 2) and sent.device.type == "cpu" and sent.dtype is torch.float32
    if stage == 0:
        assert sent.tolist() == ([[1, 2], [11, 12]] if cut else [[1, 2], [3, 4]])


def test_a_gradient_call_outside_of_a_step(broadcasts, monkeypatch):
    mine, other, cut = placed(0), placed(1, name="o"), placed(0, 0, Halves(), name="c")
    alias = torch.ones(2, 2)
    monkeypatch.setattr(state, "overlay", {mine: alias, other: alias.to("meta"), cut: alias})
    assert mine._raw is alias
    for weight in (other, cut):
        with pytest.raises(RuntimeError, match=f"'{weight.name}' is in stage {weight.stage} of a "
                                               f"pipeline: its gradient is computed by"):
            _ = weight._raw
    assert broadcasts == []
    monkeypatch.setattr(state, "overlay", {})
    assert mine._raw.tolist() == [[101, 102], [103, 104]]


def test_inside_of_a_step(monkeypatch):
    """A process has its own, those that it borrows, and stand-ins for the others."""
    mine, other, cut = placed(0), placed(1, name="o"), placed(0, 0, Halves(), name="c")
    here.run = SimpleNamespace(stand_in=lambda weight: ("for", weight), borrowed={}, plans=False)
    assert mine._raw is mine._data and other._raw == ("for", other)
    assert cut._raw.tolist() == [[1, 2], [11, 12]]
    whole, alias = torch.zeros(2, 2), torch.ones(2, 2)
    here.wholes = {cut: whole}
    assert cut._raw is whole
    monkeypatch.setattr(state, "overlay", {
        mine: alias, other: alias.to("meta"), cut: alias.to("meta")})
    assert mine._raw is alias and other._raw == ("for", other) and cut._raw is whole
    monkeypatch.setattr(state, "overlay", {other: alias, cut: alias})
    assert other._raw is alias and cut._raw is alias


def test_assignments():
    mine, other = placed(0), placed(1, name="o")
    mine.assign_raw(torch.zeros(2, 2))
    assert mine._data.tolist() == [[0, 0], [0, 0]]
    here.run = SimpleNamespace(borrowed={other: torch.ones(2, 2)}, plans=False)
    mine.assign_raw(torch.ones(2, 2))
    assert mine._data.tolist() == [[1, 1], [1, 1]]
    with pytest.raises(RuntimeError, match="'o' is in stage 1 .* another stage that uses it can't"):
        other.assign_raw(torch.zeros(2, 2))


def test_what_a_gradient_call_takes_aliases_of():
    mine, other, cut = placed(0), placed(1, name="o"), placed(0, 0, Halves(), name="c")
    first, second, third = mine.begin([mine, other, cut], None)
    assert first is mine._data and second is other._data
    assert third.shape == (2, 2) and third.tolist() == [[1, 1], [1, 1]]  # of its size alone
    here.wholes = {cut: torch.zeros(2, 2)}
    assert mine.begin([cut], None)[0] is here.wholes[cut]
    assert mine.recorded(len, None) is len


def test_gradients_of_stages():
    mine, other, cut = placed(0), placed(1, name="o"), placed(0, 0, Halves(), name="c")
    far = placed(1, 0, Halves(), name="f")
    weights, raws = [mine, other, cut, far], [torch.full((2, 2), float(i)) for i in range(4)]
    found = [each._raw for each in mine.gradient_of(weights, raws, None)]
    assert found[0] is raws[0]
    assert isinstance(found[1], Elsewhere) and (found[1].stage, found[1].shape) == (1, (2, 2))
    assert found[2].tolist() == [[2, 2]]  # the sum of two, by their number
    assert isinstance(found[3], Elsewhere) and found[3].stage == 1
    here.wholes = {cut: torch.zeros(2, 2)}  # in a step: they are added up when it ends
    assert [each._raw for each in mine.gradient_of(weights, raws, None)] == raws


def test_states_of_an_optimizer_follow_their_parameters():
    plain, mine, cut = parameter("p"), placed(1), placed(0, 0, Halves(), name="c")
    rows = [[parameter(f"{kind}.{p.name}") for p in (plain, mine, cut)] for kind in "ab"]
    counts = [Parameter(Tensor([0.0]), name=f"n.{p.name}") for p in (plain, mine, cut)]
    stages.place_states([plain, mine, cut], [*rows, counts])
    assert [type(row[0]) for row in (*rows, counts)] == [Parameter] * 3
    for row in (*rows, counts):
        assert row[1].stage == 1 and row[1]._data.is_meta and type(row[1]) is StageParameter
    assert [type(row[2]) for row in (*rows, counts)] == [
        StagePartParameter, StagePartParameter, StageParameter]
    assert rows[0][2]._data.tolist() == [[1, 2]] and counts[2]._data.tolist() == [0]


def test_who_computes():
    with FakeTensorMode(allow_non_fake_inputs=True):
        nothing = wrap(torch.ones(2))
    some = Tensor([1.0])
    assert stages.computes([nothing, some])  # outside of a step
    here.run = SimpleNamespace(plans=False)
    assert stages.computes([some, 3, None]) and stages.computes([])
    assert not stages.computes([some, nothing])
    here.run = SimpleNamespace(plans=True)
    assert not stages.computes([some])


def test_values_of_all_stages(monkeypatch):
    asked = []
    monkeypatch.setattr(stages.exchange, "all_reduce",
                        lambda *given: asked.append(given) or given[1] * 2)
    raw = torch.tensor(3.0)
    assert stages.total("f", raw, "sum") is raw
    weight = placed(0)
    assert float(stages.total("f", raw, "max")) == 6
    assert asked == [("f", raw, "max", weight.pipeline.chain)]
    here.run = SimpleNamespace(plans=False)
    assert stages.total("f", raw, "sum") is raw


@pytest.mark.parametrize("options, size, answer", [
    ({}, 4, False), ({"pipeline_stages": 2}, 1, False),
    ({"pipeline_stages": 2}, 4, "need the 'parallel_mode' .*, but got 'stand_alone'"),
    ({"pipeline_stages": 2, "parallel_mode": "data_parallel"}, 4, "but got 'data_parallel'"),
    ({"pipeline_stages": 2, "parallel_mode": "semi_auto_parallel"}, 4, True),
    ({"pipeline_stages": 2, "parallel_mode": "auto_parallel", "pipeline_scheduler": "gpipe"}, 4,
     True),
    ({"pipeline_stages": 2, "parallel_mode": "auto_parallel", "pipeline_scheduler": "seqpipe"}, 4,
     "but got 'seqpipe', which also cuts")])
def test_whether_there_are_stages(monkeypatch, options, size, answer):
    ms.set_auto_parallel_context(**options)
    monkeypatch.setattr(stages, "group_of", lambda name, function: SimpleNamespace(size=size))
    if isinstance(answer, bool):
        assert stages.in_use() is answer
    else:
        with pytest.raises(RuntimeError, match=answer):
            stages.in_use()


@pytest.mark.parametrize("size, count, rank, chain, alike", [
    (4, 2, 0, [0, 2], [0, 1]), (4, 2, 3, [1, 3], [2, 3]), (4, 4, 2, None, [2]),
    (6, 2, 4, [1, 4], [3, 4, 5]), (6, 3, 5, [1, 3, 5], [4, 5]), (3, 1, 1, [1], None)])
def test_the_processes_of_a_pipeline(monkeypatch, size, count, rank, chain, alike):
    """All groups are made by all processes; one of all is the world."""
    ms.set_auto_parallel_context(pipeline_stages=count)
    made: dict[str, list[int]] = {}
    world = SimpleNamespace(size=size, rank=rank, ranks=list(range(size)))
    monkeypatch.setattr(stages, "create_group", made.__setitem__)
    monkeypatch.setattr(stages, "group_of", lambda name, function: world if name is None else
                        SimpleNamespace(ranks=made[name]))
    found = stages.pipeline_of()
    assert (found.stages, found.stage, found.born) == (count, rank // (size // count), ended())
    assert found.chain.ranks == (list(range(size)) if chain is None else chain)
    assert found.alike.ranks == (list(range(size)) if alike is None else alike)
    assert (found.chain is world) is (chain is None) and (found.alike is world) is (alike is None)
    width = size // count
    assert len(made) == (0 if count == size else width) + (0 if count == 1 else count)


@pytest.mark.parametrize("change, cut", [
    ({}, True), ({"alike": 1}, False), ({"enabled": False}, False), ({"trained": False}, False),
    ({"stays": True}, False), ({"fits": False}, False)])
def test_which_parameters_a_stage_cuts(monkeypatch, change, cut):
    made = []

    def placement(group, **options):
        made.append((group.name, options))
        return SimpleNamespace(fits=lambda p: change.get("fits", True))

    monkeypatch.setattr(stages, "Placement", placement)
    ms.set_auto_parallel_context(enable_parallel_optimizer=change.get("enabled", True),
                                 parallel_optimizer_config={"parallel_optimizer_threshold": 3})
    weight = parameter()
    weight.requires_grad = change.get("trained", True)
    if "stays" in change:
        parts.keep_whole([weight])
    here_now = pipe(alike=change.get("alike", 2))
    found = [stages.placement_in(here_now, weight) for _ in range(2)]
    assert (found[0] is not None) is cut and found[0] is found[1]
    if cut:
        assert made == [("alike", {"threshold": 3 << 10, "processes": 2})]


@pytest.mark.parametrize("scheduler, interleave, order", [
    ("1f1b", False, "once"), ("1f1b", True, "loop"), ("gpipe", True, "loop"),
    ("zero_bubble_v", True, "v"), ("zero_bubble_v", False, "v"), ("gpipe", False, "once")])
def test_in_which_order_chunks_follow(scheduler, interleave, order):
    ms.set_auto_parallel_context(pipeline_stages=3, pipeline_config={
        "pipeline_scheduler": scheduler, "pipeline_interleave": interleave})
    assert pipeline._chunks() == (3, order) and settings._get_pipeline_stages() == 3


def test_where_a_backward_pass_starts():
    found: Any = SimpleNamespace(narrow=False, result=torch.zeros((), dtype=torch.float64))
    start = pipeline._start(found)
    assert start is not None and start.dtype is torch.float64 and float(start) == 1
    found.narrow = True
    assert pipeline._start(found) is None
    here.start = lambda loss: loss + 7
    for found.narrow in (False, True):
        start = pipeline._start(found)
        assert start is not None and float(start) == 7 and start.dtype is torch.float64
    assert float(pipeline.from_one(Tensor(5.0))) == 1
