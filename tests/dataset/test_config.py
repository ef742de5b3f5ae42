"""Settings of data pipelines."""

from __future__ import annotations

import json

import pytest

import lamella as ms
from lamella import dataset


def order() -> list[int]:
    rows = dataset.NumpySlicesDataset({"x": list(range(10))}, shuffle=True)
    return [int(row["x"]) for row in rows.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_of_two_seeds_the_one_set_last_counts() -> None:
    """Orders recorded from MindSpore 2.10."""
    three, five = [3, 1, 8, 5, 2, 6, 9, 7, 0, 4], [3, 8, 5, 2, 4, 6, 7, 1, 9, 0]
    dataset.config.set_seed(3)
    assert (dataset.config.get_seed(), order()) == (3, three)
    ms.set_seed(5)
    assert (dataset.config.get_seed(), order()) == (5, five)
    dataset.config.set_seed(3)
    assert (dataset.config.get_seed(), order()) == (3, three)
    assert ms.get_seed() == 5


def test_the_largest_seed():
    before = dataset.config.get_seed()
    dataset.config.set_seed(2**32 - 1)
    assert dataset.config.get_seed() == 2**32 - 1
    for seed in (2**32, -1):
        with pytest.raises(ValueError, match="'seed' must be"):
            dataset.config.set_seed(seed)
    dataset.config.set_seed(before)


def test_debug_mode_sets_a_seed_where_there_is_none():
    seed = dataset.config.get_seed()
    dataset.config.set_seed(5489)  # as if none was set
    dataset.config.set_debug_mode(True)
    try:
        data = dataset.NumpySlicesDataset(list(range(9)))
        first, second = ([int(row[0]) for row in data] for _ in range(2))
        assert first == second and dataset.config.get_seed() == 1
    finally:
        dataset.config.set_debug_mode(False)
        dataset.config.set_seed(seed)


def test_a_seed_is_of_32_bits():
    seed = dataset.config.get_seed()
    dataset.config.set_seed(2**32 - 1)
    assert dataset.config.get_seed() == 2**32 - 1
    dataset.config.set_seed(seed)
    with pytest.raises(ValueError, match="4294967296"):
        dataset.config.set_seed(2**32)


def test_numbers_that_int32_does_not_hold_are_refused():
    before = dataset.config.get_prefetch_size()
    dataset.config.set_prefetch_size(2**31 - 1)
    dataset.config.set_prefetch_size(before)
    with pytest.raises(ValueError, match="size"):
        dataset.config.set_prefetch_size(2**31)


def test_settings_of_a_file(tmp_path):
    path = tmp_path / "settings.json"
    before = dataset.config.get_seed(), dataset.config.get_prefetch_size()
    try:
        for given in ({"seed": 0, "opConnectorSize": 9}, {"seed": 5, "rowsPerBuffer": 7}):
            path.write_text(json.dumps(given))
            dataset.config.load(str(path))
            assert dataset.config.get_seed() == given["seed"]
            assert dataset.config.get_prefetch_size() == 9
        for name, value in (("seed", -1), ("seed", 1.5), ("seed", True), ("numaEnable", 1),
                            ("opConnectorSize", "8")):
            path.write_text(json.dumps({name: value}))
            with pytest.raises((RuntimeError, ValueError), match=f"can't be {value!r}"):
                dataset.config.load(str(path))
            assert (dataset.config.get_seed(), dataset.config.get_prefetch_size()) == (5, 9)
    finally:
        dataset.config.set_seed(before[0])
        dataset.config.set_prefetch_size(before[1])
