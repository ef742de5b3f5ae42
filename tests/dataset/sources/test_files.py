"""Sources of files: which are parts of a whole, and in which order they come."""

import pytest

import lamella.dataset as ds


@pytest.mark.parametrize("shards, is_part", [(None, False), (1, False), (2, True), (3, True)])
def test_more_than_one_part_is_a_part(shards, is_part, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{number}\n" for number in range(7)))
    found = []
    for shard in range(shards or 1):
        data = ds.TextFileDataset(str(path), shuffle=False, num_shards=shards,
                                  shard_id=None if shards is None else shard)
        assert data.is_sharded() is is_part and not data.is_shuffled()
        assert data.get_dataset_size() == -(-7 // (shards or 1))
        found += [str(row[0]) for row in data.create_tuple_iterator(num_epochs=1,
                                                                    output_numpy=True)]
    assert set(found) == set("0123456")
    assert ds.TextFileDataset(str(path), shuffle=True).is_shuffled()
