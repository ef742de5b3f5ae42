"""Tensors in structures: found, named, replaced, and refused where no function can reach them."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.autodiff import tree
from lamella.autodiff.forward import recurrent_kernels

A, B, C = Tensor([1.0]), Tensor([2], ms.int32), Tensor([3 + 1j])
Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Point:
    x: Any
    label: str = "p"


class Hidden:
    def __init__(self, held):
        self.held = held


TREES = [
    (A, [A], [""]), ((A, B), [A, B], ["[0]", "[1]"]), ([A, [B], 3], [A, B], ["[0]", "[1][0]"]),
    ({"a": A, 1: {"b": C}}, [A, C], ["['a']", "[1]['b']"]),
    (Pair(A, (None, B)), [A, B], [".left", ".right[1]"]),
    (Point([A, C]), [A, C], [".x[0]", ".x[1]"]), (3, [], []), (None, [], []), ((), [], [])]


@pytest.mark.parametrize("value, found, paths", TREES, ids=range(len(TREES)))
def test_tensors_in_order(value, found, paths):
    assert [*map(id, tree.tensors(value))] == [*map(id, found)]
    named = list(tree.paths("v", value))
    assert [path for path, _ in named] == [f"v{path}" for path in paths]
    assert [id(tensor) for _, tensor in named] == [*map(id, found)]
    assert [*map(id, tree.differentiable_tensors(value))] == [
        id(tensor) for tensor in found if tensor is not B]
    doubled = tree.map_tensors(lambda t: t * 2, value)
    assert type(doubled) is type(value)
    for got, tensor in zip(tree.tensors(doubled), found, strict=True):
        assert got.asnumpy() == tensor.asnumpy() * 2


def test_objects_without_tensors_come_back_themselves():
    point = Point(3)
    assert tree.map_tensors(lambda t: t * 2, point) is point
    assert tree.map_tensors(lambda t: t, Point(A)) is not point
    moved = tree.map_tensors(lambda t: t * 2, Point(A, "q"))
    assert moved.label == "q" and moved.x.asnumpy() == 2


def test_containers_leave_objects_alone():
    point = Point(A)
    value = [A, {"b": (B, point)}, 3]
    assert [*map(id, tree.container_tensors(value))] == [id(A), id(B)]
    made = tree.map_container_tensors(lambda t: t * 2, value)
    assert made[1]["b"][1] is point and made[0].asnumpy() == 2 and made[2] == 3
    assert made[1]["b"][0].asnumpy() == 4


@pytest.mark.parametrize("leaf, hides", [
    (Hidden(A), True), (Hidden([A]), False), (Hidden(3), False), (A, False), (3, False),
    (nn.Dense(2, 2), False), (Tensor, False)])
def test_what_hides_tensors(leaf, hides):
    assert tree.hides_tensor(leaf) is hides
    for value, where in ((leaf, ""), ([1, leaf], r", at \[1\]"), ({"k": (leaf,)},
                                                                r", at \['k'\]\[0\]")):
        if hides:
            with pytest.raises(TypeError, match=f"For 'f', the result{where} is of type Hidden, "):
                tree.check_no_hidden("f", "the result", value)
        else:
            tree.check_no_hidden("f", "the result", value)


def test_what_is_trained():
    assert tree.trained(A) and tree.trained(Parameter(A, name="w"))
    assert not tree.trained(Parameter(A, name="w", requires_grad=False))
    for kind, want in ((torch.float16, True), (torch.complex64, True), (torch.int8, False),
                       (torch.bool, False)):
        assert tree.differentiable(torch.zeros(1, dtype=kind)) is want


def several(a, /, b, *rest, key=None, **more): ...
def keywords(*, key): ...


class Net(nn.Cell):
    def construct(self, x, y=None):
        return x


@pytest.mark.parametrize("fn, count, names", [
    (several, 1, ["a"]), (several, 2, ["a", "b"]), (several, 4, ["a", "b", "rest[0]", "rest[1]"]),
    (several, 0, []), (Net(), 2, ["x", "y"]), (Net(), 3, ["x", "y", "args[2]"]),
    (keywords, 1, ["args[0]"]), (lambda: None, 2, ["args[0]", "args[1]"]), (3, 1, ["args[0]"])])
def test_names_of_arguments(fn, count, names):
    assert tree.argument_names(fn, count) == names


def enabled(plain=False):
    with recurrent_kernels(plain):
        return torch._C._get_mkldnn_enabled()


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="needs oneDNN")
def test_recurrent_kernels_of_onednn_are_left_out_where_they_have_no_rule():
    seen: list[bool] = []

    def look(x):
        seen.append(enabled())
        return x * 2

    x = ops.ones((2, 3))
    assert enabled() and not enabled(plain=True)
    for transform, want in ((lambda: ms.grad(look)(x), True), (lambda: ms.jvp(look, x, x), False),
                            (lambda: ms.vmap(look)(x), False),
                            (lambda: ms.vmap(ms.grad(look))(x), False), (lambda: look(x), True)):
        seen.clear()
        transform()
        assert set(seen) == {want} and torch._C._get_mkldnn_enabled()
    with pytest.raises(ZeroDivisionError), recurrent_kernels(plain=True):
        raise ZeroDivisionError
    assert torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    try:
        assert not enabled() and not enabled(plain=True)
        assert not torch._C._get_mkldnn_enabled()
    finally:
        torch._C._set_mkldnn_enabled(True)


@pytest.mark.parametrize("like, value, in_order, places", [
    ({"a": A, "b": B}, {"b": B, "a": C}, [C, B], [C, B]), (A, B, [B], [B]),
    (A, None, [], [None]), (A, (B, C), [B, C], None), (3, B, [B], []), (3, None, [], []),
    (3, (B,), [B], None),
    ([A, {"a": A, "b": B}], (B, {"b": C, "a": A}), [B, A, C], [B, A, C]),
    ({"a": A, "b": B}, {"b": B}, [B], None), ({"a": A}, {"b": B, "a": C}, [B, C], None),
    ((A, 3, B), (None, A, B), [A, B], [None, B]), ((A, (B, C)), (B, None), [B], [B, None, None]),
    (Pair(A, B), (B, A), [B, A], [B, A]), (Point(A), Point(B, "q"), [B], [B]),
    (Point(A), (B,), [B], None), ((A, B), (A, (B,)), [A, B], None)], ids=range(16))
def test_tensors_in_the_order_and_the_places_of_another_structure(like, value, in_order, places):
    assert [*map(id, tree.tensors_as(like, value))] == [*map(id, in_order)]
    found = tree.matched(like, value)
    assert found is places if None in (found, places) else [*map(id, found)] == [*map(id, places)]
