from types import SimpleNamespace

import pytest

import lamella as ms
from lamella import nn
from lamella.parallel import Layout, stages, strategy
from lamella.parallel.parameter_layout import ParameterLayout
from lamella.parallel.stages import StageParameter
from lamella.parallel.tensor_info import _DistributedTensorInfo

layout = Layout((2, 2, 2), ("dp", "sp", "mp"))


@pytest.mark.parametrize("axes, want", [
    (("dp", "mp"), (2, 0)), (("None", "mp"), (-1, 0)), ((("dp", "mp"), "sp"), ((2, 0), 1)),
    ((("mp", "dp"), "sp"), ((0, 2), 1)), ((), ())])
def test_places_of_a_tensor(axes, want):  # as recorded from MindSpore
    assert layout(*axes).to_dict() == {
        "device_matrix": (2, 2, 2), "tensor_map": want, "interleaved_parallel": False,
        "alias_name": ("dp", "sp", "mp"), "rank_list": list(range(8))}


def test_a_layout_is_not_changed_by_a_call():
    layout("dp")
    with pytest.raises(ValueError, match="tensor_map of layout is None"):
        layout.to_dict()
    assert Layout((2,), ("a",), [3, 1])("a").to_dict()["rank_list"] == [3, 1]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: layout("zz"), ValueError, "axis zz is not found"),
    (lambda: layout("dp", "dp"), ValueError, "set more than one"),
    (lambda: Layout(2, ("a",)), TypeError, "device_matrix must be tuple"),
    (lambda: Layout((2, 2), ("a",)), ValueError, "equal to alias_name length"),
    (lambda: Layout((2,), ("a",), [0]), ValueError, "got 1 and 2"),
    (lambda: Layout((2, 2), ("a", "a")), ValueError, "should be different"),
    (lambda: Layout((2, 2), ("a", "None")), ValueError, "means no sharding"),
    (lambda: Layout((0,), ("a",)), ValueError, "above 0"),
    (lambda: Layout(("2",), ("a",)), TypeError, "must be int"),
    (lambda: Layout((2, True), ("a", "b")), TypeError, "must be int"),
    (lambda: Layout((2,), ["a"]), TypeError, "alias_name must be tuple"),
    (lambda: Layout((2,), (3,)), TypeError, "alias_name must be str"),
    (lambda: Layout((2,), ("",)), ValueError, "can not be empty"),
    (lambda: Layout((2,), ("a",), (0, 1)), TypeError, "rank_list must be list"),
    (lambda: Layout((2,), ("a",), [0, 1, 2]), ValueError, "got 3 and 2"),
    (lambda: layout(("dp", "sp"), ("mp", "sp")), ValueError, "set more than one"),
    (lambda: Layout((2, 2), ("a",)), ValueError, r"got \(2, 2\) and \('a',\)"),
], ids=range(17))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_the_smallest_and_the_name_that_means_interleaving():
    assert Layout((1,), ("a",))("a").to_dict()["rank_list"] == [0]
    found = Layout((2, 2), ("dp", "interleaved_parallel"))("dp").to_dict()
    assert found["interleaved_parallel"] is True and found["tensor_map"] == (1,)


@pytest.mark.parametrize("axes, parts", [
    (("a", "b"), [2, 3]), (("c", "None"), [5, 1]), ((("a", "c"), "b"), [10, 3]), ((), []),
    (("None", ("c", "b", "a")), [1, 30]), (("None",), [1])])
def test_parts_along_each_dimension(axes, parts):
    found = _DistributedTensorInfo(Layout((2, 3, 5), ("a", "b", "c"))(*axes))
    assert found.sharding_strategy == parts and found.layout is found.distributed_info
    with pytest.raises(TypeError, match="only supports Layout"):
        _DistributedTensorInfo((2, 3))


@pytest.mark.parametrize("devices, axes, extra, matrix, places", [
    ((6,), ((), ()), 0, (6,), (-1, -1)), ((2, 3), ((0,), (1,)), 0, (2, 3), (0, 1)),
    ((2, 3), ((1,), ()), 0, (2, 3), (1, -1)), ((2, 3), ((1, 0), ()), 0, (2, 3), ((1, 0), -1)),
    ((6,), ((), ()), 6, (6,), (0, -1)), ((6,), ((), ()), 2, (3, 2), (0, -1)),
    ((6,), ((),), 3, (2, 3), (0,)), ((6,), (), 0, (6,), ())])
def test_layouts_of_parameters(devices, axes, extra, matrix, places):
    """Those that are cut once more are cut by neighbours, that is, along the last axis."""
    ranks = list(range(6))
    told = strategy._layout(ParameterLayout(devices, axes, extra), ranks).to_dict()
    assert (told["device_matrix"], told["tensor_map"]) == (matrix, places)
    assert told["rank_list"] == ranks and told["alias_name"] == ("a", "b")[:len(matrix)]


def test_layouts_are_told_while_they_are_asked_for():
    net = nn.Dense(2, 3)
    assert strategy.get_strategy_metadata(net) is None
    strategy.enable_save_strategy_online()
    try:
        for given in (None, 0):
            (rank, found), = strategy.get_strategy_metadata(net, given).items()
            assert rank == 0 and {n: told[1:] for n, told in found.items()} == {
                "weight": ["Float32", (3, 2)], "bias": ["Float32", (3,)]}
        assert strategy.get_current_strategy_metadata(net)[0].keys() == {"weight", "bias"}
        for rank in (-1, 1, "0"):
            with pytest.raises(ValueError, match=r"'rank_id' must be in \[0, 1\), but got"):
                strategy.get_strategy_metadata(net, rank)
    finally:
        strategy.clear_strategy_metadata()
    assert strategy.get_current_strategy_metadata(net) is None
    with pytest.raises(TypeError, match="'network' must be a Cell"):
        strategy.get_strategy_metadata(ms.ops.sin)


def test_layouts_of_the_stages_of_a_pipeline(monkeypatch):
    """Each stage tells of its own Parameters, and of those that are in none, by its own ranks."""
    net = nn.SequentialCell(nn.Dense(2, 3, has_bias=False), nn.Dense(3, 4, has_bias=False))
    net.own = ms.Parameter(ms.ops.ones(5), name="own")
    pipeline = SimpleNamespace(alike=SimpleNamespace(size=2))
    for stage, cell in enumerate(net):
        cell.weight.__dict__["stage"] = stage
        cell.weight.__class__ = StageParameter
    monkeypatch.setattr(strategy, "group_of", lambda *given: SimpleNamespace(size=6, rank=3))
    monkeypatch.setattr(stages, "latest", lambda: pipeline)
    strategy.enable_save_strategy_online()
    try:
        found = strategy.get_strategy_metadata(net)
        assert list(found) == list(range(6))
        for rank, named in found.items():
            wanted = {0: {"0.weight", "own"}, 1: {"1.weight", "own"}}.get(rank // 2, {"own"})
            assert named.keys() == wanted
            ranks = [rank // 2 * 2, rank // 2 * 2 + 1]
            assert all(told[0].to_dict()["rank_list"] == ranks for told in named.values())
        assert list(strategy.get_strategy_metadata(net, 5)) == [5]
        (key, named), = strategy.get_current_strategy_metadata(net).items()
        assert key == 0 and named["1.weight"][2] == (4, 3)
        with pytest.raises(ValueError, match=r"in \[0, 6\), but got 6"):
            strategy.get_strategy_metadata(net, 6)
    finally:
        strategy.clear_strategy_metadata()
