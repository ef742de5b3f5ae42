"""Orders of rows that lie in pieces."""

from itertools import islice

import numpy as np
import pytest

from lamella.dataset.sources.piecewise import orders


@pytest.mark.parametrize("sizes", [[], [0], [1], [0, 1], [2, 0, 3], [4, 4], [7]])
@pytest.mark.parametrize("shards", [1, 2, 3, 4])
@pytest.mark.parametrize("shuffle", [False, True])
def test_parts_are_of_one_length_and_have_every_row(sizes, shards, shuffle):
    """They follow one another; where rows don't suffice, it goes on with the first."""
    total = sum(sizes)
    parts = [list(islice(orders(sizes, 5, shuffle, shards, shard), 3)) for shard in range(shards)]
    for epoch in zip(*parts, strict=True):
        assert {len(part) for part in epoch} == {-(-total // shards)}
        every = np.concatenate(epoch).tolist()
        assert set(every) == set(range(total))
        if not shuffle:
            assert every == [place % total for place in range(len(every))]
        if not total % shards:
            assert len(every) == total
    (first, *_), *_ = parts
    assert next(orders(sizes, 5, shuffle, shards, 0, 2)).tolist() == first[:2].tolist()
