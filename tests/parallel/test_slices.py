"""Slices of Parameters along several axes of a mesh, against NumPy's."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributed.tensor import Replicate, Shard

from lamella.parallel.slices import Slices


class Mesh:
    """The arrangement of processes that a slice asks, and the place of one of them."""

    def __init__(self, lengths, place):
        self.lengths, self.place = lengths, place

    def size(self, axis):
        return self.lengths[axis]

    def get_coordinate(self):
        return self.place


@pytest.mark.parametrize("lengths, placements, arrangement", [
    ((2, 3), (Shard(0), Shard(1)), ([2, 3], {0: [0], 1: [1]}, 0)),
    ((2, 3), (Shard(1), Replicate()), ([2, 3], {1: [0]}, 0)),
    ((2, 3), (Shard(1), Shard(1)), ([6], {1: [0]}, 0)),
    ((2, 2, 3), (Shard(0), Replicate(), Shard(0)), ([2, 2, 3], {0: [0, 2]}, 0)),
    ((2, 2, 2), (Replicate(), Replicate(), Shard(1)), ([4, 2], {1: [1]}, 0))])
def test_slices(lengths, placements, arrangement):
    whole = np.arange(12.0 * 12).reshape(12, 12)
    for place in np.ndindex(lengths):
        slices = Slices(Mesh(lengths, place), placements)
        want = whole
        for axis, placement in enumerate(placements):
            if isinstance(placement, Shard):
                want = np.split(want, lengths[axis], placement.dim)[place[axis]]
        found = slices.part(torch.from_numpy(whole))
        assert np.array_equal(found, want) and found.is_contiguous()
        assert np.array_equal(slices.scattered(torch.from_numpy(whole)), want)
        weight: Any = SimpleNamespace(_data=found)
        by_part = torch.ones(found.shape, dtype=found.dtype)
        assert np.array_equal(slices.reduced(
            [weight, weight], [by_part, torch.from_numpy(whole)], None)[1], want)
        assert slices.reduced([weight], [by_part], None)[0] is by_part
        assert slices.whole_shape(want.shape) == whole.shape
        assert slices.arrangement() == arrangement
