"""How Parameters are cut, against NumPy's arithmetic of arrangements."""

import itertools
import math
import random

import numpy as np
import pytest

from lamella.parallel.parameter_layout import ParameterLayout


@pytest.mark.parametrize("seed", range(20))
def test_cells_are_those_of_an_array_of_ranks(seed):
    choose = random.Random(seed)
    devices = tuple(choose.choice((1, 2, 3, 4)) for _ in range(choose.randint(1, 4)))
    free = list(range(len(devices)))
    choose.shuffle(free)
    axes = []
    for _ in range(choose.randint(1, 3)):
        count = choose.randint(0, min(2, len(free)))
        axes.append(tuple(free.pop() for _ in range(count)))
    layout = ParameterLayout(devices, tuple(axes))
    assert layout.size == math.prod(devices)
    for rank, place in enumerate(np.ndindex(devices)):  # the last axis is the fastest
        counts, index = layout.cell(rank)
        for axis, count, at in zip(axes, counts, index, strict=True):
            lengths = tuple(devices[-1 - each] for each in axis)
            assert count == math.prod(lengths)
            assert at == (np.ravel_multi_index([place[-1 - each] for each in axis], lengths)
                          if axis else 0)


@pytest.mark.parametrize("devices, axes, extra, parts", [
    ((8,), ((), ()), -1, 8), ((8,), ((), ()), 4, 4), ((8,), ((), ()), 2, 2),
    ((2, 4), ((0,), ()), -1, 2), ((2, 4), ((), (1,)), -1, 4), ((2, 4), ((), ()), 4, 4),
    ((2, 4), ((), ()), 8, 8), ((4, 2), ((), ()), 4, 4), ((2, 1, 4), ((2,), (1,)), -1, 4),
    ((2, 4), ((1, 0), ()), -1, 1), ((2, 4), ((), ()), 1, 1)])
def test_dimension_0_is_cut_once_more(devices, axes, extra, parts):
    plain, more = ParameterLayout(devices, axes), ParameterLayout(devices, axes, extra)
    cells = [more.cell(rank) for rank in range(more.size)]
    for rank, (counts, index) in enumerate(cells):
        before, where = plain.cell(rank)
        assert counts == (before[0] * parts, *before[1:])
        assert (index[0] // parts, *index[1:]) == where
    # each part is held equally often
    held = [sum(index == each for _, index in cells)
            for each in itertools.product(*map(range, cells[0][0]))]
    assert held == [more.size // math.prod(cells[0][0])] * len(held)


def test_neighbours_hold_neighbouring_parts():
    assert [ParameterLayout((4,), ((),), 2).cell(rank)[1] for rank in range(4)] == [
        (0,), (1,), (0,), (1,)]
    assert [ParameterLayout((2, 2), ((),), -1).cell(rank)[1] for rank in range(4)] == [
        (0,), (1,), (2,), (3,)]
    assert ParameterLayout((4,), (), 2).cell(3) == ((), ())  # nothing of rank 0 is cut


@pytest.mark.parametrize("devices, extra", [((2, 3), 4), ((4,), 3), ((2,), 4)])
def test_parts_that_an_arrangement_does_not_have(devices, extra):
    with pytest.raises(ValueError, match=rf"can't cut a Parameter .* in {extra} more parts"):
        ParameterLayout(devices, ((),), extra).cell(0)
