"""Parts of a `DistributedSampler` with an offset."""

import pytest

import lamella.dataset as ds

# rows, parts, offset, part: the rows of the part that MindSpore 2.10 gave
RECORDED = {
    (3, 2, 0, 0): [0, 2], (3, 2, 1, 1): [0, 2], (3, 3, -1, 2): [2], (3, 3, 0, 0): [0],
    (3, 3, 1, 1): [0], (3, 3, 2, 2): [0], (3, 3, 3, 0): [0], (3, 4, -1, 2): [2],
    (3, 4, 0, 0): [0], (3, 4, 0, 3): [0], (3, 4, 1, 1): [0], (3, 4, 2, 2): [0],
    (3, 4, 3, 0): [1], (3, 4, 3, 3): [0], (3, 4, 4, 1): [1], (5, 2, -1, 0): [0, 2, 4],
    (5, 2, 0, 1): [1, 3], (5, 2, 2, 0): [0, 2, 4], (5, 3, -1, 0): [0, 3], (5, 3, 0, 1): [1, 4],
    (5, 3, 1, 2): [1, 4], (5, 3, 2, 0): [1, 4], (5, 3, 3, 1): [1, 4], (5, 4, -1, 0): [0, 4],
    (5, 4, -1, 3): [3, 2], (5, 4, 0, 1): [1], (5, 4, 1, 2): [1], (5, 4, 2, 0): [2],
    (5, 4, 2, 3): [1], (5, 4, 3, 1): [2], (5, 4, 4, 2): [2], (7, 2, -1, 1): [1, 3, 5, 0],
    (7, 2, 1, 0): [1, 3, 5], (7, 2, 2, 1): [1, 3, 5], (7, 3, -1, 1): [1, 4, 0],
    (7, 3, 0, 2): [2, 5], (7, 3, 1, 0): [2, 5], (7, 3, 2, 1): [2, 5], (7, 3, 3, 2): [2, 5],
    (7, 4, -1, 1): [1, 5], (7, 4, 0, 2): [2, 6], (7, 4, 1, 0): [3], (7, 4, 1, 3): [2, 6],
    (7, 4, 2, 1): [3], (7, 4, 3, 2): [3], (7, 4, 4, 0): [0, 4], (7, 4, 4, 3): [3],
}


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_rows_of_a_part(case):
    rows, parts, offset, part = case
    sampler = ds.DistributedSampler(parts, part, shuffle=False, offset=offset)
    data = ds.NumpySlicesDataset(list(range(rows)), sampler=sampler)
    found = [int(row[0]) for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert found == RECORDED[case]
    assert data.get_dataset_size() == len(found)


def test_flat_map_gets_each_column():
    data = ds.NumpySlicesDataset(([1, 2], [3, 4]), shuffle=False)
    made = data.flat_map(lambda a, b: ds.NumpySlicesDataset([int(a * b)], shuffle=False))
    assert [int(row[0]) for row in made.create_tuple_iterator(num_epochs=1)] == [3, 8]
