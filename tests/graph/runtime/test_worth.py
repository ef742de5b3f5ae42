"""Which parts of a graph are worth compiling: by their kernels, writes and what runs again."""

import pytest
import torch

from lamella.graph.ir.stages import Part
from lamella.graph.runtime import worth
from lamella.graph.runtime.worth import has_many_patches, is_worth_compiling
from lamella.graph.tracing.recorder import Recomputation
from tests.graph.passes.checks import recorded

X = torch.rand(8, 8)


def part_of(fn):
    return Part.whole(recorded(fn, X))


@pytest.mark.parametrize("fn, pays", [
    (lambda x: x.sin().exp(), False), (lambda x: x.sin().exp().cos(), True),
    (lambda x: x.t()[1:].sin().exp().t()[0], False),  # views run no kernel
    (lambda x: x.max(0)[0].exp(), False), (lambda x: x.max(0)[0].exp().sin(), True),
    (lambda x: x.sin().add_(1), False), (lambda x: x.sin().add_(1).mul_(2), True),
    (lambda x: x, False), (lambda x: [x.sin(), x.cos(), x.exp(), x.tan()], True)])
def test_three_kernels_pay(fn, pays):
    assert is_worth_compiling(part_of(fn)) is pays


@pytest.mark.parametrize("most, pays", [(2 * X.nbytes, True), (2 * X.nbytes - 1, False)])
def test_what_is_computed_again_counts_by_its_bytes(monkeypatch, most, pays):
    monkeypatch.setattr(worth, "KEPT", most)
    part = part_of(lambda x: [x.sin(), x.exp().t(), x.cos() * 2])
    sine, exponential, turned, *_ = part.nodes
    for node in (sine, exponential, turned):  # the last is a view
        node.meta["again"] = Recomputation.__new__(Recomputation)
    assert is_worth_compiling(part) is pays
    del sine.meta["again"]
    assert is_worth_compiling(part)
    sine.meta["again"] = None
    assert is_worth_compiling(part)


def filled(count, tables=1, of=lambda table, i: table[i]):
    def fn(x):
        found = [torch.zeros_like(x) for _ in range(tables)]
        for i in range(count):
            for table in found:
                of(table, i).copy_(x[0, :1])
        return found
    return fn


def cleared(count):
    def fn(x):
        table = x * 2
        for i in range(count):
            table[i].fill_(1.5)
        return table
    return fn


@pytest.mark.parametrize("fn, many", [
    (filled(4), False), (filled(5), True), (filled(4, 2), False), (filled(5, 2), True),
    (filled(5, of=lambda table, i: table.t()[i, 2:]), True),
    (filled(4, of=lambda table, i: table.t()[i, 2:]), False),
    (lambda x: [x[i] * 2 for i in range(6)], False), (cleared(4), False), (cleared(5), True)])
def test_more_than_four_writes_into_parts_of_one_tensor(fn, many):
    assert has_many_patches(part_of(fn)) is many
