"""Along which axes of a mesh strategies cut the dimensions of Tensors: `parallel.sharding`."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from torch.distributed.tensor import DTensor, Replicate, Shard

import lamella as ms
from lamella import ops
from lamella.parallel import Layout, attention, sharding


class Mesh:
    """An arrangement of processes, as far as these functions ask for it."""

    def __init__(self, *shape: int):
        self.shape, self.ndim = shape, len(shape)

    def size(self, axis: int | None = None) -> int:
        return math.prod(self.shape) if axis is None else self.shape[axis]


def axes_of(counts, keys, taken, mesh):
    return sharding._axes_of(counts, keys, taken, mesh, "shard")


@pytest.mark.parametrize("mesh, counts, want", [
    (Mesh(2, 4), (2, 4), [[0], [1]]), (Mesh(2, 4), (4, 2), [[1], [0]]),
    (Mesh(2, 4), (8, 1), [[0, 1], []]), (Mesh(2, 4), (1, 8), [[], [0, 1]]),
    (Mesh(2, 2, 3), (2, 1, 6), [[0], [], [1, 2]]), (Mesh(2, 4), (1, 1), [[], []]),
    (Mesh(2, 2, 3), (3, 4), [[2], [0, 1]])])
def test_each_dimension_has_axes_of_its_own(mesh, counts, want):
    assert axes_of(counts, list(range(len(counts))), {}, mesh) == want
    placements = sharding._placements(want, mesh)
    for axis, placement in enumerate(placements):
        dims = [dim for dim, mine in enumerate(want) if axis in mine]
        assert placement == (Shard(dims[0]) if dims else Replicate())


def test_dimensions_of_one_kind_are_cut_along_the_same_axes():
    mesh, taken = Mesh(2, 2, 2), {}
    assert axes_of((2, 2), ["rows", "inner"], taken, mesh) == [[0], [1]]
    # `columns` take an axis that no other has, `inner` its own
    assert axes_of((2, 2), ["inner", "columns"], taken, mesh) == [[1], [2]]
    assert axes_of((2,), ["columns"], taken, mesh) == [[2]]
    assert axes_of((4,), ["rows"], taken, mesh) == [[0, 1]]  # another count: others, used or not
    assert taken == {"rows": [0], "inner": [1], "columns": [2]}


@pytest.mark.parametrize("counts", [(3, 1), (16, 1), (2, 8), (4, 4)])
def test_strategies_that_a_mesh_has_no_axes_for(counts):
    with pytest.raises(ValueError, match=r"can't be laid over 8 processes, .* axes of \[2, 4\]"):
        axes_of(counts, [0, 1], {}, Mesh(2, 4))


@pytest.mark.parametrize("places, want", [
    (("dp", "mp"), [[0], [2]]), (("None", "dp"), [[], [0]]), ((("dp", "mp"), "sp"), [[0, 2], [1]]),
    ((("mp", "dp"),), [[0, 2]]), (("sp", "None", "mp"), [[1], [], [2]]), ((), [])])
def test_layouts(places, want):
    layout = Layout((2, 3, 5), ("dp", "sp", "mp"))(*places)
    assert sharding._of_layout(layout, {}, Mesh(2, 3, 5), "shard") == want


def test_a_layout_has_all_processes():
    ranks = Layout((2, 2), ("a", "b"), [3, 1, 0, 2])("a")
    assert sharding._of_layout(ranks, {}, Mesh(2, 2), "shard") == [[0]]
    for layout in (Layout((2,), ("a",))("a"), Layout((2, 2), ("a", "b"), [0, 1, 2, 4])("a")):
        with pytest.raises(ValueError, match="must have all processes of the world"):
            sharding._of_layout(layout, {}, Mesh(2, 2), "shard")


def spread(shape, *placements):
    return SimpleNamespace(shape=shape, placements=placements, dim=lambda: len(shape))


B, H, T = Shard(0), Shard(1), Shard(2)
ALL = Replicate()


@pytest.mark.parametrize("mesh, tensors, want", [
    (Mesh(2), [((4, 6, 5, 8), B)] * 3, [0]), (Mesh(2), [((4, 6, 5, 8), H)] * 3, [1]),
    (Mesh(2), [((4, 6, 5, 8), T)] * 3, [None]), (Mesh(2), [((4, 6, 5, 8), ALL)] * 3, [None]),
    (Mesh(2), [((4, 6, 5, 8), ALL), ((4, 6, 5, 8), H)], [1]),  # as one of them is cut
    (Mesh(2), [((4, 6, 5, 8), B), ((4, 6, 5, 8), H)], [0]),  # the first that is wanted
    (Mesh(4), [((4, 6, 5, 8), H)] * 2, [None]), (Mesh(4), [((4, 8, 5, 8), H), ((4, 2, 5, 8), H)],
                                                 [None]),
    (Mesh(4), [((6, 8, 5, 8), B), ((6, 8, 5, 8), H)], [1]),  # six examples are no four parts
    (Mesh(2, 3), [((4, 6, 5, 8), B, H)] * 3, [0, 1]),
    (Mesh(2, 3), [((12, 6, 5, 8), B, B)] * 3, [0, 0]), (Mesh(2, 3), [((4, 6, 5, 8), B, B)] * 3,
                                                        [0, None]),
    (Mesh(2, 2), [((2, 2, 5, 8), B, B), ((2, 2, 5, 8), B, H)], [0, 1]),
    (Mesh(2), [((4, 5, 8), H)] * 3, [None]), (Mesh(2), [((4, 5, 8), B)] * 3, [0])])
def test_what_attention_is_cut_along(mesh, tensors, want):
    """Examples and heads, if all tensors have as many as there are processes, or times as many."""
    assert attention._cuts(mesh, *[spread(*each) for each in tensors]) == want


def roles(name: str, place: int, rank: int, **options: bool) -> Any:
    operator = SimpleNamespace(name=name, **options)
    return sharding._Sharded._keys(operator, place, ops.ones((2,) * rank))  # type: ignore[arg-type]


@pytest.mark.parametrize("name, place, rank, options, want", [
    ("MatMul", 0, 2, {}, ["rows", "inner"]), ("MatMul", 1, 2, {}, ["inner", "columns"]),
    ("MatMul", 0, 2, {"transpose_a": True}, ["inner", "rows"]),
    ("MatMul", 0, 2, {"transpose_b": True}, ["rows", "inner"]),
    ("MatMul", 1, 2, {"transpose_a": True}, ["inner", "columns"]),
    ("MatMul", 1, 2, {"transpose_b": True}, ["columns", "inner"]),
    ("BatchMatMul", 0, 4, {}, [-4, -3, "rows", "inner"]),
    ("BatchMatMul", 1, 3, {}, [-3, "inner", "columns"]), ("MatMul", 2, 2, {}, None),
    ("Add", 0, 2, {}, None)])
def test_roles_of_the_dimensions_of_a_product(name, place, rank, options, want):
    assert roles(name, place, rank, **options) == want
    assert sharding._Sharded._keys(SimpleNamespace(name=name), place, 3) is None  # type: ignore


@pytest.mark.parametrize("axis, first, outputs, want", [
    (-1, (2, 4), None, (((2,), (1,)), ((2, 4),))), (0, (2, 4), None, (((4,), (1,)), ((2, 4),))),
    (1, (2, 4), "given", (((2,), (1,)), "given")),
    (-1, (2,), None, (((2,), (1,)), None))])  # one for the indices themselves
def test_strategies_of_one_hot(axis, first, outputs, want):
    found = sharding._Sharded._of_one_hot(
        SimpleNamespace(axis=axis), (first, (1,)), (ms.Tensor([1, 2]), 3), outputs)  # type: ignore
    assert found == want


@pytest.mark.parametrize("strategies, count, want", [
    (None, 2, (None, None)), (((2, 1),), 2, ((2, 1), None)), ((), 1, (None,)),
    (((2, 1), (1, 1)), 2, ((2, 1), (1, 1)))])
def test_a_strategy_for_each(strategies, count, want):
    assert sharding._for_each(strategies, (1,) * count, "shard") == want
    with pytest.raises(ValueError, match="there are 3 strategies, but 2 Tensors"):
        sharding._for_each(((1,),) * 3, (1, 2), "shard")


def given(monkeypatch: Any, mesh: Mesh, tensor: Any, strategy: Any, place: int = 0) -> Any:
    """How an input of a region lies, of which this process has its part."""
    laid = []

    def from_local(raw: Any, mesh: Any, placements: Any, run_check: bool) -> Any:
        laid.append(list(placements))
        return raw

    monkeypatch.setattr(DTensor, "from_local", from_local)
    monkeypatch.setattr(sharding, "mesh_here", lambda: mesh)
    found = sharding._given(tensor, strategy, place, "f")
    assert found._raw is tensor._raw
    return laid[0] if laid else found


GRID = Layout((2, 4), ("a", "b"))


@pytest.mark.parametrize("strategy, place, want", [
    ("data_parallel", 0, [B, B]), ("full_batch", 0, [ALL, ALL]), ([[2, 4]], 0, [B, H]),
    ([[8, 1]], 0, [B, B]), ([[1, 8]], 0, [H, H]), ([[1, 1]], 0, [ALL, ALL]),
    ([[2, 4]], 1, [ALL, ALL]), ([[1, 1], [2, 4]], 1, [B, H]), ([GRID("a", "b")], 0, [B, H]),
    ([GRID(("a", "b"), "None")], 0, [B, B]), ([GRID("None", ("a", "b"))], 0, [H, H]),
    ([GRID("None", "None")], 0, [ALL, ALL])])
def test_inputs_of_which_each_process_has_its_part(monkeypatch, strategy, place, want):
    assert given(monkeypatch, Mesh(2, 4), ops.ones((2, 3)), strategy, place) == want
    number = ops.ones(())
    if isinstance(strategy, str):  # nothing of a number is cut
        assert given(monkeypatch, Mesh(2, 4), number, strategy) == [ALL, ALL]
    weight = ms.Parameter(ops.ones((2, 3)), name="w")
    assert given(monkeypatch, Mesh(2, 4), weight, strategy, place) is weight


@pytest.mark.parametrize("cut", [
    [2, 1], [1, 4], [4, 2], GRID("a", "None"), GRID("b", "a"),
    Layout((2, 4), ("a", "b"), [1, 0, *range(2, 8)])("a", "b")], ids=range(6))
def test_inputs_that_are_cut_in_another_order_or_number(monkeypatch, cut):
    with pytest.raises(ValueError, match="For 'f', .*|can't be laid over"):
        given(monkeypatch, Mesh(2, 4), ops.ones((2, 3)), [cut])


def test_one_layout_is_that_of_the_first_input():
    layout = GRID("a", "b")
    assert sharding._for_each(layout, (1, 2), "shard") == (layout, None)
