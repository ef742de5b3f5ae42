"""The orders of MindRecord files' rows: numbers recorded from MindSpore 2.10 with the seed 1234."""

import pytest

import lamella.dataset as ds
from lamella.dataset import Shuffle
from lamella.dataset.mindrecord import FileWriter

GLOBAL = [[7, 3, 0, 6, 10, 5, 11, 9, 8, 4, 1, 2], [3, 9, 6, 5, 8, 4, 1, 0, 10, 7, 11, 2]]
FILES = [[8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3]]
INFILE = [[2, 3, 1, 4, 0, 7, 5, 6, 9, 11, 8, 10], [1, 0, 4, 3, 2, 6, 7, 5, 11, 8, 10, 9]]
PARTIAL = [[3, 11, 8, 2, 6, 1, 7, 5, 4, 0, 9, 10], [9, 3, 11, 1, 4, 5, 6, 10, 0, 8, 2, 7]]
ROW_BY_ROW = {
    Shuffle.GLOBAL: [[3, 6, 5, 9, 4, 2], [7, 5, 9, 2, 0, 11]],
    Shuffle.FILES: [[9, 11, 1, 3, 5, 7]] * 2,
    Shuffle.INFILE: [[3, 4, 7, 6, 11, 10], [4, 1, 7, 6, 10, 8]],
    Shuffle.PARTIAL: [[5, 3, 9, 1, 11, 7], [11, 1, 3, 7, 5, 9]],
    False: [[1, 3, 5, 7, 9, 11]] * 2,
}
BLOCKS = {
    Shuffle.GLOBAL: [[11, 9, 8, 4, 1, 2], [10, 2, 4, 0, 6, 11]],
    Shuffle.FILES: [[2, 3, 4, 5, 6, 7]] * 2,
    Shuffle.INFILE: [[5, 6, 9, 11, 8, 10], [5, 6, 9, 10, 11, 8]],
    Shuffle.PARTIAL: [[6, 5, 2, 4, 3, 7], [3, 4, 5, 7, 6, 2]],
    False: [[6, 7, 8, 9, 10, 11]] * 2,
}


@pytest.fixture(autouse=True)
def seeded():
    before = ds.config.get_seed()
    ds.config.set_seed(1234)
    yield
    ds.config.set_seed(before)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, paths, first = tmp_path_factory.mktemp("records"), [], 0
    for number, count in enumerate((5, 3, 4)):
        paths.append(str(folder / f"part{number}"))
        writer = FileWriter(paths[-1], 1)
        writer.add_schema({"label": {"type": "int32"}})
        writer.write_raw_data([{"label": first + k} for k in range(count)])
        writer.commit()
        first += count
    return paths


def epochs(data):
    rows = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    return [[int(row[0]) for row in rows] for _ in range(2)]


@pytest.mark.parametrize("shuffle, wanted", [
    (None, GLOBAL), (True, GLOBAL), (Shuffle.GLOBAL, GLOBAL), (Shuffle.ADAPTIVE, GLOBAL),
    (Shuffle.FILES, FILES), (Shuffle.INFILE, INFILE), (Shuffle.PARTIAL, PARTIAL)])
def test_shuffled_orders(files, shuffle, wanted):
    assert epochs(ds.MindDataset(files, shuffle=shuffle)) == wanted
    if isinstance(shuffle, Shuffle):
        assert epochs(ds.MindDataset(files, sampler=ds.RandomSampler(shuffle=shuffle))) == wanted


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("shuffle", ROW_BY_ROW)
def test_shards(files, shuffle, blocks, monkeypatch):
    if blocks:
        monkeypatch.setenv("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", "true")
    data = ds.MindDataset(files, shuffle=shuffle, num_shards=2, shard_id=1)
    assert data.get_dataset_size() == 6
    assert epochs(data) == (BLOCKS if blocks else ROW_BY_ROW)[shuffle]
