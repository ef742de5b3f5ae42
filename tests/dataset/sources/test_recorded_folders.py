"""More known data sets, on small files made here, against what MindSpore 2.10 reads from them."""

import json
import pathlib

import numpy as np
import pytest

import lamella.dataset as ds

from .made_folders import CASES, idx, name_of, record

RECORDED = json.loads(pathlib.Path(__file__).with_name("recorded_folders.json").read_text())
# sizes that MindSpore gives for a part: of all usages, or with the empty lines between sentences
OTHER_SIZES = ("SpeechCommands", "CoNLL2000", "UDPOS")
CLASSES = {"balanced": 47, "letters": 26}  # of what MindSpore knows no number of classes of


@pytest.fixture(autouse=True)
def one_worker():
    before = ds.config.get_num_parallel_workers()
    ds.config.set_num_parallel_workers(1)
    yield
    ds.config.set_num_parallel_workers(before)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_as_recorded(case, tmp_path):
    name = name_of(case)
    found, expected = record(ds, case, tmp_path), RECORDED[name]
    if "Mnist" in name:
        assert expected.pop("classes") is None
        assert found.pop("classes") == CLASSES.get(case[2].get("name"), 10)
    if name.startswith(OTHER_SIZES):
        assert found["part"].pop(0) == -(-found["size"] // 2)
        expected["part"].pop(0)
    if case[1].__name__ == "made" and case[2]["usage"] == "test":
        # MindSpore joins a field of the row before to the first row of a part of a table
        assert expected["part"].pop()[0][2][0] == "t" and found["part"].pop() == found["rows"][2]
    if name == "GTZAN all":  # MindSpore's order is that of a folder
        assert found.pop("part")[0] == expected.pop("part")[0]
        assert sorted(found.pop("rows"), key=str) == sorted(expected.pop("rows"), key=str)
    assert found == expected


@pytest.mark.parametrize("usage, first, count", [
    ("test", 0, 10003), ("test10k", 0, 10000), ("test50k", 10000, 3)])
def test_parts_of_the_test_images_of_qmnist(usage, first, count, tmp_path):
    idx(tmp_path / "qmnist-test-images-idx3-ubyte", np.arange(10003)[:, None, None] % 251)
    idx(tmp_path / "qmnist-test-labels-idx2-int", np.arange(80024).reshape(-1, 8), ">i4")
    data = ds.QMnistDataset(str(tmp_path), usage, shuffle=False)
    assert len(data) == count
    image, label = next(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert image.ravel() == first % 251 and label == 8 * first and label.dtype == np.uint32


@pytest.mark.parametrize("kind, labels, names, parts", [
    ("Cifar10", 1, ["data_batch_1", "data_batch_2", "test_batch"], {"train": 2, "test": -1}),
    ("Cifar100", 2, ["test", "train"], {"train": -1, "test": 1})])
def test_pictures_and_labels_of_cifar(kind, labels, names, parts, tmp_path):
    drawn = np.random.default_rng(0).integers(0, 256, (6, labels + 3072), np.uint8)
    for number, name in enumerate(names):
        drawn[2 * number:2 * number + 2].tofile(tmp_path / f"{name}.bin")
    rows = len(names) * 2
    at = {"all": slice(0, rows), **{usage: slice(0, 2 * n) if n > 0 else slice(rows + 2 * n, rows)
                                    for usage, n in parts.items()}}
    for usage, places in at.items():
        data = getattr(ds, f"{kind}Dataset")(str(tmp_path), usage, shuffle=False)
        found = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        np.testing.assert_array_equal(np.stack([np.array(row[1:]) for row in found]),
                                      drawn[places, :labels])
        np.testing.assert_array_equal(
            np.stack([row[0] for row in found]),
            drawn[places, labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        assert data.num_classes() == {1: 10, 2: 100}[labels]


def test_random_rows_have_the_columns_that_are_asked_for():
    data = ds.RandomDataset(4, columns_list=["a", "b"])
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert len(rows) == 4 and list(rows[0]) == ["a", "b"]
    assert all(v.ndim == 1 and 1 <= len(v) <= 4 for v in rows[0].values())
    sizes, before = set(), ds.config.get_seed()
    for seed in range(9):
        ds.config.set_seed(seed)
        sizes.add(len(ds.RandomDataset()))
    ds.config.set_seed(before)
    assert max(sizes) < 100 and min(sizes) >= 1 and len(sizes) > 1
    assert len(ds.RandomDataset(num_samples=150)) == 150
