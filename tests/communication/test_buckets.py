"""Gradients in buckets: how they are cut, and their sums in a group of one process."""

import random

import pytest
import torch

from lamella import communication
from lamella.communication import exchange
from lamella.communication.buckets import Reduction, cut
from lamella.communication.groups import group_of
from lamella.communication.simulate import simulate


def raw(nbytes, kind=torch.float32):
    return torch.empty(nbytes // kind.itemsize, dtype=kind, device="meta")


MB = 1 << 20


@pytest.mark.parametrize("raws, largest, want", [
    ([], None, []), ([None, None], None, []), ([raw(4), None, raw(8)], None, [[2, 0]]),
    # the first bucket is full at one MB, so that sending begins early; the others at 25
    ([raw(MB // 2)] * 4, None, [[3, 2], [1, 0]]), ([raw(MB - 4), raw(4), raw(4)], None,
                                                    [[2, 1, 0]]),
    ([raw(10 * MB)] * 8, None, [[7], [6, 5, 4], [3, 2, 1], [0]]),
    ([raw(4), raw(25 * MB), raw(MB)], None, [[2], [1], [0]]),
    ([raw(4), raw(25 * MB - 4), raw(MB)], None, [[2], [1, 0]]),
    ([raw(8)] * 5, 16, [[4, 3], [2, 1], [0]]), ([raw(8)] * 3, 4, [[2], [1], [0]]),
    # types aren't mixed
    ([raw(4), raw(4, torch.float16), raw(4, torch.float16), raw(4)], None, [[3], [2, 1], [0]])],
    ids=range(11))
def test_cut(raws, largest, want):
    assert cut(raws, largest) == want


@pytest.mark.parametrize("size, divisor", [(2, 1), (4, 2)])
def test_buckets_are_sent_in_their_order(size, divisor):
    """In whatever order gradients are ready; one that isn't computed counts at the end."""
    kinds = [torch.float32, torch.float32, torch.float64, torch.float32, torch.float32]
    raws = [torch.full((2, i + 1), float(i + 1), dtype=kind) for i, kind in enumerate(kinds)]
    found = []

    def program():
        communication.init()
        given = [*raws[:3], None, raws[4]]
        reduction = Reduction("test", given, group_of(None, "test"), divisor, largest=20)
        assert reduction.buckets == [[4], [2], [1, 0]]
        order = [0, 1, 2]
        random.Random(len(found)).shuffle(order)
        for place in order:
            part = reduction.ready(place, raws[place])
            assert part is not None and part.shape == raws[place].shape
            assert torch.equal(part, raws[place] / divisor)  # its sum will be in this memory
        assert reduction.ready(3, raws[3]) is None and len(reduction.sums) == 0
        reduction.ready(4, raws[4])
        assert len(reduction.sums) == 3
        sums = reduction.finish([*raws[:3], raws[3], raws[4]])
        assert sums[3] is raws[3]
        assert [each.dtype for each in sums] == kinds
        late = Reduction("test", given, group_of(None, "test"), divisor)
        late.ready(2, raws[2])
        assert len(late.sums) == 0  # the one before it isn't full
        found.append((sums, late.finish(raws)))

    simulation = simulate(program, size)
    for sums in (each for both in found for each in both):
        for i in (0, 1, 2, 4):
            assert sums[i].shape == raws[i].shape  # one process's data: no sum comes
            assert torch.equal(sums[i], raws[i] / divisor)
    made = [(each.kind, each.nbytes) for each in simulation.exchanges[0]]
    assert made == [("all_reduce", 40), ("all_reduce", 48), ("all_reduce", 24)] + [
        ("all_reduce", 40), ("all_reduce", 48), ("all_reduce", 24)]


def test_that_buckets_are_alike_is_checked_once_before_the_first_is_sent(monkeypatch):
    called = []

    def watch(name):
        real = getattr(exchange, name)
        monkeypatch.setattr(exchange, name, lambda *args: called.append(name) or real(*args))

    for name in ("begin_comparison", "end_comparison", "begin_sum", "end_sum"):
        watch(name)

    def program():
        communication.init()
        raws = [torch.ones(2), torch.ones(3), torch.ones(4)]
        reduction = Reduction("test", raws, group_of(None, "test"), 1, largest=4)
        for place in (1, 2):
            reduction.ready(place, raws[place])
        reduction.finish(raws)
        Reduction("test", [None], group_of(None, "test")).finish([raws[0]])  # nothing to compare

    simulate(program, 2)
    assert called == ["begin_comparison", "end_comparison", *["begin_sum"] * 3,
                      *["end_sum"] * 3] * 2
