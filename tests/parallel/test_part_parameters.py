"""Parameters of which this process has a part, with the exchanges of a world that isn't there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn
from lamella.core.state import state
from lamella.parallel import parts
from lamella.parallel.parts import PartParameter, Placement
from lamella.tensors.tensor import wrap


class Half(Placement):
    """Two processes have halves; the other one's numbers are larger by 100."""

    def __init__(self, rank: int = 0, **options: Any):
        self.group = SimpleNamespace(size=2, rank=rank, name="pair")  # type: ignore[assignment]
        self.others, self.divisor, self.threshold, self.processes = None, 1, 0, 0
        self.alike = self.on_use = self.takes_parts = False
        self.__dict__.update(options)

    def around(self, part: torch.Tensor) -> torch.Tensor:
        return part


@pytest.fixture(autouse=True)
def exchanges(monkeypatch):
    """The kinds of the exchanges that were made, and how many elements were sent."""
    found: list[Any] = []

    def all_gather(name, raw, group):
        found.append(("gather", raw.numel()))
        return torch.stack([raw, raw + 100])

    def begin_scatter(name, raw, group):
        found.append(("scatter", raw.numel()))
        return raw

    def all_reduce(name, raw, op, group):
        found.append((op, group))
        return raw * 3

    monkeypatch.setattr(parts.exchange, "all_gather", all_gather)
    monkeypatch.setattr(parts.exchange, "begin_scatter", begin_scatter)
    monkeypatch.setattr(parts.exchange, "end_scatter", lambda name, raw, group: torch.stack(
        [raw[:1], 10 * raw[:1]]))
    monkeypatch.setattr(parts.exchange, "all_reduce", all_reduce)
    monkeypatch.setattr(parts.rules, "all_gather", lambda name, raw, group: torch.cat(
        [raw, raw + 100]))
    monkeypatch.setattr(parts, "in_use", False)
    yield found
    ms.reset_auto_parallel_context()


def parameter(*shape: int, kind: Any = ms.float32, name: str = "w") -> Any:
    count = int(torch.Size(shape).numel())
    return Parameter(Tensor(torch.arange(float(count)).reshape(shape).numpy(), kind), name=name)


def held(*shape: int, placement: Any = None, name: str = "w") -> Any:
    found = parameter(*shape, name=name)
    parts.shard(found, placement or Half())
    return found


@pytest.mark.parametrize("shape, kind, options, flag, fits", [
    ((4, 3), ms.float32, {}, True, True), ((4, 3), ms.float32, {}, False, False),
    ((), ms.float32, {}, True, False), ((4, 3), ms.int32, {}, True, False),
    ((3, 4), ms.float32, {}, True, False), ((0, 3), ms.float32, {}, True, False),
    ((4,), ms.float16, {"threshold": 8}, True, True), ((4,), ms.float16, {"threshold": 9}, True,
                                                       False), ((2,), ms.float64, {}, True, True)])
def test_which_parameters_are_cut(shape, kind, options, flag, fits):
    weight = parameter(*shape, kind=kind)
    weight.parallel_optimizer = flag
    assert Half(**options).fits(weight) is fits
    parts.place([weight], Half(**options))
    assert isinstance(weight, PartParameter) is fits and parts.in_use is fits
    parts.place([weight], Half(**options))  # once
    parts.place([weight], None)
    assert weight._data.shape == (shape if not fits else (shape[0] // 2, *shape[1:]))


@pytest.mark.parametrize("rank", [0, 1])
def test_what_is_held_and_what_is_read(rank):
    weight = held(4, 3, placement=Half(rank))
    assert weight._data.tolist() == parameter(4, 3).asnumpy()[2 * rank:][:2].tolist()
    assert (weight.shape, weight.ndim, weight.size, len(weight)) == ((4, 3), 2, 12, 4)
    assert weight._raw.shape == (4, 3) and weight._raw[2:].equal(weight._data + 100)
    parts.unshard(weight)
    assert type(weight) is Parameter and weight._data.shape == (4, 3)
    plain = parameter(2)
    parts.unshard(plain)
    assert plain.asnumpy().tolist() == [0, 1]


def test_wholes_travel_in_few_messages(exchanges):
    shapes = [(2, 3), (4,), (1, 2, 2)]
    rows = [torch.arange(float(torch.Size(s).numel())).reshape(s) + i for i, s in enumerate(shapes)]
    found = Half().gather_all(rows)
    for part, whole in zip(rows, found, strict=True):
        assert torch.equal(whole, torch.cat([part, part + 100]))
    assert sum(count for _, count in exchanges) == 14 and len(exchanges) <= 2
    exchanges.clear()
    wholes = [torch.cat([part, part + 50]) for part in rows]
    for part, got in zip(rows, Half().scatter_all(wholes), strict=True):
        assert torch.equal(got, 11 * part)  # of this process and of the other
    assert sum(count for _, count in exchanges) == 28 and len(exchanges) <= 2
    exchanges.clear()
    for rank in (0, 1):
        alike = Half(rank, alike=True).scatter_all(wholes)
        assert all(torch.equal(got, part + 50 * rank) and got.is_contiguous()
                   for part, got in zip(rows, alike, strict=True))
    assert exchanges == []


@pytest.mark.parametrize("options, want", [
    ({}, 2.0), ({"divisor": 4}, 0.5), ({"others": "all"}, 6.0), ({"others": "all", "divisor": 2},
                                                                 3.0)])
def test_gradients_of_all_processes(exchanges, options, want):
    found = Half(**options).gradient(torch.tensor([2.0]))
    assert found.asnumpy().tolist() == [want]
    assert exchanges == ([("sum", "all")] if "others" in options else [])


@pytest.mark.parametrize("arrange, want", [(0, ([8], {}, 2)), (4, ([4], {}, 2))])
def test_how_processes_are_arranged(monkeypatch, arrange, want):
    monkeypatch.setattr(parts, "group_of", lambda name, function: SimpleNamespace(size=8))
    assert Half(processes=arrange).arrangement() == want


def level(outer: Any = None) -> Any:
    return SimpleNamespace(outer=outer)


def test_what_a_gradient_call_takes_aliases_of(exchanges, monkeypatch):
    """All wholes at once; parts where they are gathered on use; inside of another call the wholes
    that it has."""
    cut, used = held(4, 3), held(2, 2, placement=Half(takes_parts=True, on_use=True), name="u")
    first, second = cut.begin([cut, used], level())
    assert torch.equal(first, torch.cat([cut._data, cut._data + 100])) and second is used._data
    assert exchanges == [("gather", 6)]
    exchanges.clear()
    for inner, overlay in ((level(level()), None), (level(), {}), (level(level()), {})):
        monkeypatch.setattr(state, "overlay", overlay)
        first, second = cut.begin([cut, used], inner)
        assert first.shape == (4, 3)
        assert second.shape == ((2, 2) if inner.outer is not None else (1, 2))
    assert exchanges == []


def test_how_a_gradient_call_runs_its_function(monkeypatch):
    monkeypatch.setattr(parts, "uses_in", lambda level, placement: SimpleNamespace(
        run=lambda function, x: ("watched", function(x)),
        gradient=lambda weight: torch.full((1, 2), 5.0)))
    cut, used = held(4, 3), held(2, 2, placement=Half(takes_parts=True, on_use=True), name="u")
    assert cut.recorded(len, level()) is len and used.recorded(len, level(level())) is len
    assert used.recorded(len, level())([1, 2]) == ("watched", 2)
    raws = [torch.ones(4, 3), torch.ones(2, 2)]
    found = [each.asnumpy() for each in cut.gradient_of([cut, used], raws, level())]
    assert found[0].tolist() == [[11.0] * 3] * 2 and found[1].tolist() == [[5, 5]]


@pytest.mark.parametrize("inner, needs", [(True, False), (False, True)])
def test_gradients_that_are_differentiated_again(monkeypatch, inner, needs):
    """By operations on the tape, one for each."""
    monkeypatch.setattr(Placement, "scattered", lambda self, raw: raw[:2] * 2)
    cut = held(4, 3)
    raw = torch.ones(4, 3, requires_grad=needs)
    (found,) = cut.gradient_of([cut], [raw], level(level() if inner else None))
    assert found._raw.tolist() == [[2.0] * 3] * 2 and found._raw.requires_grad is needs


@pytest.mark.parametrize("alike", [True, False])
def test_a_part_of_one_gradient(monkeypatch, alike):
    monkeypatch.setattr(parts.rules, "reduce_scatter", lambda name, raw, op, group: (op, group))
    placement = Half(1, alike=alike)
    found: Any = placement.scattered(torch.arange(4.0))
    assert found.tolist() == [2, 3] if alike else found == ("sum", placement.group)


def test_reads_in_a_gradient_call(monkeypatch):
    weight = held(4, 3)
    whole = torch.zeros(4, 3)
    monkeypatch.setattr(Half, "whole_of", lambda self, p, alias: ("whole of", p, alias))
    monkeypatch.setattr(state, "overlay", {weight: whole})
    assert weight._raw is whole
    part = torch.zeros(2, 3)
    monkeypatch.setattr(state, "overlay", {weight: part})
    assert weight._raw == ("whole of", weight, part)
    monkeypatch.setattr(state, "overlay", {})
    assert weight._raw.shape == (4, 3)


def test_new_data():
    weight = held(4, 3)
    new = torch.arange(12.0).reshape(4, 3) * 2
    weight.set_data(wrap(new))
    assert weight._data.equal(new[:2])
    weight.set_data(wrap(torch.ones(2, 3)), slice_shape=True)
    assert weight._data.equal(torch.ones(2, 3))
    weight.assign_raw(new)
    assert weight._data.equal(new[:2])
    weight.assign_raw(torch.zeros(2, 3))
    assert weight._data.equal(torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"part of parameter 'w' has shape \(2, 3\), but got"):
        weight.set_data(wrap(torch.ones(3, 3)), slice_shape=True)
    for wrong in (wrap(torch.ones(2, 3)), 3, 2.5, [1.0], None):
        with pytest.raises(ValueError, match=r"the shape of 'data' must be \(4, 3\) as that of"):
            weight.set_data(wrong)


def test_data_that_are_made_later():
    with nn.no_init_parameters():
        weight = nn.Dense(3, 4, weight_init="ones", has_bias=False).weight
    parts.shard(weight, Half(1))
    assert weight.has_init and weight.shape == (4, 3)
    weight.init_data()
    assert weight._data.tolist() == [[1.0] * 3] * 2 and not weight.has_init
    before = weight._data
    assert weight.init_data()._data is before


def test_gradients_are_cut_as_their_parameters():
    plain, cut = parameter(4, 3), held(4, 3)
    whole, part = torch.arange(12.0).reshape(4, 3), torch.ones(2, 3)
    found = parts.parts_of([wrap(whole), wrap(whole), wrap(part)], [plain, cut, cut])
    assert [each._raw.tolist() for each in found] == [whole.tolist(), whole[:2].tolist(),
                                                      part.tolist()]


def test_states_are_cut_as_their_parameters():
    plain, cut = parameter(4, 3), held(4, 3)
    moments = [parameter(4, 3, name="a"), parameter(4, 3, name="b")]
    counts = [parameter(1, name="n"), parameter(3, 4, name="m")]
    parts.fit_states([plain, cut], [moments, counts])
    assert [isinstance(each, PartParameter) for each in (*moments, *counts)] == [
        False, True, False, False]
    parts.fit_states([plain, cut], [moments, counts])  # once
    assert moments[1]._data.shape == (2, 3)


def test_rules_that_need_whole_parameters():
    for elementwise, weights, fine in ((True, [held(4, 3)], True), (False, [parameter(4, 3)], True),
                                       (False, [parameter(2), held(4, 3)], False)):
        optimizer = SimpleNamespace(_elementwise=elementwise, parameters=weights)
        if fine:
            parts.check_elementwise(optimizer)
        else:
            with pytest.raises(RuntimeError, match="'SimpleNamespace' needs whole parameters"):
                parts.check_elementwise(optimizer)
    weight = parameter(2)
    assert not parts.stays_whole(weight)
    parts.keep_whole([weight])
    assert parts.stays_whole(weight)


@pytest.mark.parametrize("size, rank, given, config, options, want", [
    (1, 0, -1, {}, {}, None), (4, 0, 1, {}, {}, None), (4, 0, -1, {}, {"pipeline_stages": 2}, None),
    (4, 1, -1, {}, {}, (4, None, 1, 64 << 10, False, False)),
    (4, 1, 4, {}, {"gradients_mean": True}, (4, None, 4, 64 << 10, False, False)),
    (4, 3, 2, {}, {}, ([2, 3], [1, 3], 1, 64 << 10, False, False)),
    (6, 1, 3, {}, {}, ([0, 1, 2], [1, 4], 1, 64 << 10, False, False)),
    (4, 0, -1, {"optimizer_weight_shard_size": 2, "optimizer_level": "level3",
                "parallel_optimizer_threshold": 1}, {}, ([0, 1], [0, 2], 1, 1024, True, False)),
    (4, 2, -1, {"optimizer_level": "level2"}, {"parallel_mode": "semi_auto_parallel"},
     (4, None, 1, 64 << 10, False, True)),
    (4, 0, 3, {}, {}, "Weights can't be cut in 3 parts among 4 processes")])
def test_placements_by_the_settings(monkeypatch, size, rank, given, config, options, want):
    made: dict[str, list[int]] = {}
    world = SimpleNamespace(size=size, rank=rank, ranks=list(range(size)))
    monkeypatch.setattr(parts, "create_group", made.__setitem__)
    monkeypatch.setattr(parts, "group_of", lambda name, function: world if name is None else
                        SimpleNamespace(ranks=made[name]))
    monkeypatch.setattr(parts, "Placement", lambda *found: found)
    ms.set_auto_parallel_context(**{"parallel_mode": "data_parallel", **options})
    ms.set_auto_parallel_context(parallel_optimizer_config=config)
    if isinstance(want, str):
        with pytest.raises(ValueError, match=want):
            parts.placement_of(given)
        return
    found: Any = parts.placement_of(given)
    if want is None:
        assert found is None and made == {}
        return
    group, others, *rest = found
    assert rest == [*want[2:]]
    if others is None:
        assert group is world and want[:2] == (size, None) and made == {}
    else:
        assert (group.ranks, others.ranks) == want[:2]
        count = len(want[0])
        assert len(made) == size // count + count  # every process makes all groups
        for kind in ("part", "same"):
            ranks = [rank for name, its in made.items() if name.startswith(kind) for rank in its]
            assert sorted(ranks) == list(range(size))
    assert parts.placement_of(given, 7)[3] == 7 << 10  # type: ignore[index]
