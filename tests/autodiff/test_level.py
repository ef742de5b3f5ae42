"""What is known of nested transformations, and of integers that a gradient flows through."""

from __future__ import annotations

import itertools

import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.autodiff import integers
from lamella.autodiff.level import (
    Level,
    batching,
    by_example,
    current,
    derivatives_nest,
    entered,
    for_any_example,
    in_forward_mode,
    lifted,
    pushes,
    recording,
    watched,
)
from lamella.core.state import state

KINDS = {"reverse": {}, "forward": {"reverse": False, "forward": True},
         "transposing": {"transposing": True}, "other": {"reverse": False}}


def nested(*kinds: str) -> Level:
    """Levels inside of each other, the outermost first."""
    level = None
    for kind in kinds:
        level = Level(level, **KINDS[kind])
    assert level is not None
    return level


@pytest.mark.parametrize("kinds", [kinds for count in (1, 2, 3)
                                   for kinds in itertools.product(KINDS, repeat=count)],
                         ids="-".join)
def test_what_a_level_is_part_of(kinds):
    level = nested(*kinds)
    assert level.kind == kinds[-1]
    assert level.reverse is bool({"reverse", "transposing"} & {*kinds})
    assert level.forward is ("forward" in kinds) and level.transposing is ("transposing" in kinds)
    assert level.order() == sum(kind != "other" for kind in kinds)
    inner = [kind for kind in kinds]
    while inner and inner[-1] == "other":
        inner.pop()
    assert pushes(level) is (inner[-2:] == ["transposing", "reverse"])
    assert recording(level) is level.reverse and recording(None) is False
    before = current()
    with entered(level):
        assert current() is level and state.overlay is level.overlay
        assert in_forward_mode() is lifted() is bool({"forward", "transposing"} & {*kinds})
        around = bool({"reverse", "transposing"} & {*kinds[:-1]})
        assert derivatives_nest() is ("forward" in kinds or around)
        with pytest.raises(ZeroDivisionError), entered(None):
            assert current() is None and state.overlay is None
            raise ZeroDivisionError
        assert current() is level
    assert current() is before
    outer = level.outer
    if outer is not None:
        assert level.changed is outer.changed and level.views is outer.views
        assert level.marks is outer.marks


def test_outside_of_transformations():
    x = torch.ones(2)
    assert not (in_forward_mode() or lifted() or derivatives_nest() or batching() or pushes(None))
    assert not watched([x]) and watched([x, x.clone().requires_grad_()])
    with torch.no_grad():
        assert not watched([x.requires_grad_()])
    with entered(nested("forward")):
        assert watched([])
    assert not by_example(x) and bool(for_any_example(torch.tensor([True])))


def test_conditions_of_examples():
    def f(x, shared):
        found.append((batching(), by_example(x._raw), by_example(shared._raw), lifted(),
                      bool(for_any_example(x._raw > 2)), bool(for_any_example(x._raw > 3)),
                      bool(for_any_example(shared._raw > 2))))
        return x * shared

    found: list = []
    ms.vmap(f, (0, None))(Tensor([1.0, 3.0]), Tensor(5.0))
    assert found == [(True, True, False, True, True, False, True)]


@pytest.mark.parametrize("name, kwargs, changes", [
    ("__setitem__", {}, True), ("add_", {}, True), ("__iadd__", {}, True), ("__index__", {}, False),
    ("__invert__", {}, False), ("__int__", {}, False), ("add", {}, False), ("__add__", {}, False),
    ("add", {"out": 3}, True), ("add", {"out": None}, False), ("__getitem__", {}, False)])
def test_functions_that_change_their_first_argument(name, kwargs, changes):
    assert integers._changes(name, kwargs) is changes


def test_twins():
    raw, twin = torch.tensor([1, 2]), torch.tensor([1.0, 2.0], dtype=torch.float64)
    made = integers.with_twin(raw, twin)
    assert integers.twin_of(made) is twin and integers.twin_of(raw) is raw
    assert integers.plain(raw) is raw and type(integers.plain(made)) is torch.Tensor
    assert integers.plain(made).data_ptr() == raw.data_ptr() and torch.equal(made + 1, raw + 1)


SEVEN = Tensor([3, -1, 7], ms.int32)
REAL = Tensor([3.0, -1.0, 7.0], ms.float64)


@pytest.mark.parametrize("fn", [
    lambda x: (x * x).sum(), lambda x: (x * x * x)[1:].sum(),
    lambda x: x.reshape(3, 1)[[2, 0]].sum(), lambda x: (x[::2] * 3).sum() + x[1] * x[0],
    lambda x: ops.stack([x, x * 2])[1].sum(), lambda x: ops.where(x > 0, x * x, x * 5).sum(),
    lambda x: sum(part.sum() * (i + 1) for i, part in enumerate(ops.split(x * x, 1))),
    lambda x: ops.gather(x * x, Tensor([2, 2, 0]), 0).sum(),
    lambda x: ops.maximum(x, x * x).sum(), lambda x: (x - x * 2).prod(),
    lambda x: ops.concat([x, x * x]).cumsum(0)[-1], lambda x: ops.cumprod(x * x, 0)[1]],
    ids=range(12))
def test_gradients_by_integers_are_those_by_the_same_real_numbers(fn):
    gradient, want = ms.grad(fn)(SEVEN), ms.grad(fn)(REAL)
    assert gradient.asnumpy().tolist() == want.asnumpy().tolist()


def test_integers_that_are_written_to():
    def f(x):
        y = x * 2
        y[1] = x[0] * 3
        y += x
        y[0:1] *= 4
        return (y * y).sum()

    assert ms.grad(f)(SEVEN).asnumpy().tolist() == ms.grad(f)(REAL).asnumpy().tolist()


def test_results_of_a_type_that_is_asked_for():
    for fn in (lambda x: (x * x).sum(dtype=ms.int64), lambda x: ops.cumsum(x * x, 0, ms.int64)[-1],
               lambda x: (x.astype(ms.int64) * x).sum()):
        assert ms.grad(fn)(SEVEN).asnumpy().tolist() == [6, -2, 14]
