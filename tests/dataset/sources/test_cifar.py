"""Data sets that are read into memory, and random ones: rows by the formats of their files."""

import numpy as np
import pytest
from scipy.io import savemat

import lamella.dataset as ds

RNG = np.random.default_rng(6)


def rows(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def test_stl_is_of_columns_of_pixels(tmp_path):
    """Channels, then columns, then rows; labels from 1, none for the third part."""
    sizes = {"train": 2, "test": 3, "unlabeled": 1}
    images = {part: RNG.integers(0, 256, (n, 96, 96, 3), np.uint8) for part, n in sizes.items()}
    labels = {"train": [10, 1], "test": [4, 9, 2]}
    for part, image in images.items():
        image.transpose(0, 3, 2, 1).tofile(tmp_path / f"{part}_X.bin")
        if part in labels:
            np.array(labels[part], np.uint8).tofile(tmp_path / f"{part}_y.bin")
    for usage, parts in (("train", ["train"]), ("test", ["test"]), ("unlabeled", ["unlabeled"]),
                         ("train+unlabeled", ["train", "unlabeled"]),
                         ("all", ["test", "train", "unlabeled"]),
                         (None, ["test", "train", "unlabeled"])):
        found = rows(ds.STL10Dataset(str(tmp_path), usage, shuffle=False))
        np.testing.assert_array_equal([row["image"] for row in found],
                                      np.concatenate([images[part] for part in parts]))
        wanted = [label - 1 for part in parts for label in labels.get(part, [0])]
        assert [row["label"] for row in found] == wanted
        assert all(row["label"].dtype == np.int32 for row in found)
    with pytest.raises(RuntimeError) as error:
        rows(ds.STL10Dataset(str(tmp_path), "all", shuffle=False, sampler=None).map(
            lambda label: 1 // (label + 1), "label"))
    assert "unlabeled_X.bin" in str(error.value) and "train_X.bin" not in str(
        error.value)


def test_svhn_is_of_matrices_whose_last_dimension_is_the_row(tmp_path):
    sizes = {"train": 2, "test": 3, "extra": 1}
    images, labels = {}, {"train": [10, 1], "test": [4, 9, 10], "extra": [2]}
    for part, count in sizes.items():
        images[part] = RNG.integers(0, 256, (count, 32, 32, 3), np.uint8)
        savemat(tmp_path / f"{part}_32x32.mat", {"X": images[part].transpose(1, 2, 3, 0),
                                                 "y": np.array(labels[part], np.uint8)[:, None]})
    for usage, parts in (("train", ["train"]), ("test", ["test"]), ("extra", ["extra"]),
                         ("all", ["train", "test", "extra"])):
        found = rows(ds.SVHNDataset(str(tmp_path), usage, shuffle=False))
        np.testing.assert_array_equal([row["image"] for row in found],
                                      np.concatenate([images[part] for part in parts]))
        assert [row["label"] for row in found] == [
            label % 10 for part in parts for label in labels[part]]
        assert found[0]["label"].dtype == np.uint32


def test_semeion_has_one_column_for_each_digit(tmp_path):
    images, labels = RNG.integers(0, 2, (3, 256)), np.array([9, 0, 4])
    np.savetxt(tmp_path / "semeion.data", np.hstack([images, np.eye(10)[labels]]), "%.4f")
    found = rows(ds.SemeionDataset(str(tmp_path), shuffle=False))
    np.testing.assert_array_equal([row["image"] for row in found], images.reshape(3, 16, 16))
    assert [int(row["label"]) for row in found] == [9, 0, 4]
    assert (found[0]["image"].dtype, found[0]["label"].dtype) == (np.uint8, np.uint32)


def test_usps_is_of_numbers_from_minus_1_to_1(tmp_path):
    pixels = RNG.uniform(-1, 1, (3, 256)).round(6)
    pixels[0, :3] = -1, 0, 1
    for name, part in (("usps", slice(0, 2)), ("usps.t", slice(2, 3))):
        (tmp_path / name).write_text("".join(
            f"{label} " + " ".join(f"{i}:{v:.6f}" for i, v in enumerate(line, 1)) + "\n"
            for label, line in zip([1, 10, 4][part], pixels[part], strict=True)))
    for usage, part in (("train", slice(0, 2)), ("test", slice(2, 3)), ("all", slice(0, 3))):
        found = rows(ds.USPSDataset(str(tmp_path), usage, shuffle=False))
        assert sorted(int(row["label"]) for row in found) == sorted([0, 9, 3][part])
        for row in found:
            line = pixels[[0, 9, 3].index(int(row["label"]))]
            wanted = np.floor((line + 1) * 127.5).reshape(16, 16, 1)
            assert np.abs(row["image"] - wanted).max() <= 1e-9 and row["image"].dtype == np.uint8


def test_random_rows_of_a_schema():
    schema = ds.Schema()
    for name, kind, shape in (("a", "int8", [2, 3]), ("b", "float32", [4]), ("c", "bool", [500]),
                              ("d", "string", [])):
        schema.add_column(name, kind, shape)
    found = rows(ds.RandomDataset(40, schema))
    assert len(found) == 40 and list(found[0]) == ["a", "b", "c", "d"]
    whole = {name: np.stack([row[name] for row in found]) for name in found[0]}
    assert whole["a"].shape == (40, 2, 3) and whole["a"].dtype == np.int8
    assert 0 <= whole["a"].min() < 20 and 100 < whole["a"].max() < 127
    assert whole["b"].shape == (40, 4) and whole["b"].dtype == np.float32
    assert 0 <= whole["b"].min() < 0.2 and 0.8 < whole["b"].max() < 1
    assert whole["c"].dtype == bool and 0.45 < whole["c"].mean() < 0.55
    assert [str(text) for text in whole["d"]] == [f"row {place}" for place in range(40)]
    assert list(rows(ds.RandomDataset(2, schema, ["c", "a"]))[0]) == ["a", "c"]


def test_random_rows_without_a_schema():
    kinds, lengths, counts = set(), set(), set()
    for seed in range(120):
        ds.config.set_seed(seed)
        data = ds.RandomDataset(columns_list=["x", "y"])
        counts.add(data.get_dataset_size())
        row = rows(data)[0]
        assert list(row) == ["x", "y"]
        kinds |= {str(value.dtype) for value in row.values()}
        lengths |= {value.shape for value in row.values()}
    assert kinds == {"int32", "float32", "uint8"} and lengths == {(1,), (2,), (3,), (4,)}
    for seed in range(120, 700):
        ds.config.set_seed(seed)
        counts.add(ds.RandomDataset().get_dataset_size())
    assert counts == set(range(1, 100))
    assert list(rows(ds.RandomDataset(1))[0]) == ["c0"]
    assert ds.RandomDataset(num_samples=500).get_dataset_size() == 500
    for wrong in (0, -1, True, 1.5):
        with pytest.raises((ValueError, TypeError), match="total_rows|within the required"):
            ds.RandomDataset(wrong)


def test_random_images():
    found = rows(ds.FakeImageDataset(60, (4, 5, 3), 3, 7, shuffle=False))
    again = rows(ds.FakeImageDataset(60, (4, 5, 3), 3, 7, shuffle=False))
    other = rows(ds.FakeImageDataset(60, (4, 5, 3), 3, 8, shuffle=False))
    images = np.stack([row["image"] for row in found])
    assert images.shape == (60, 4, 5, 3) and images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 255)
    assert {int(row["label"]) for row in found} == {0, 1, 2}
    assert len(np.unique(images, axis=0)) == 60
    assert found[0]["label"].dtype == np.uint32
    np.testing.assert_array_equal([row["image"] for row in again], images)
    assert [row["label"] for row in again] == [row["label"] for row in found]
    assert not np.array_equal([row["image"] for row in other], images)
    assert len(rows(ds.FakeImageDataset(1, (1, 1, 1), 1))) == 1
    for options in ({"num_images": 0}, {"num_classes": 0}, {"num_images": True}):
        with pytest.raises((ValueError, TypeError), match="num_|within the required"):
            ds.FakeImageDataset(**options)


@pytest.mark.parametrize("kind, many", [(ds.Cifar10Dataset, 10), (ds.Cifar100Dataset, 100)])
def test_how_many_classes_there_are(kind, many, tmp_path):
    labels = many // 90 + 1
    row = np.arange(3072 + labels).astype(np.uint8)
    row[:labels] = range(labels)
    name = "data_batch_1.bin" if many == 10 else "train.bin"
    row.tofile(tmp_path / name)
    data = kind(str(tmp_path), "train", shuffle=False)
    assert data.num_classes() == many
    np.testing.assert_array_equal(rows(data)[0]["image"],
                                  row[labels:].reshape(3, 32, 32).transpose(1, 2, 0))
    row[:-1].tofile(tmp_path / name)
    with pytest.raises(RuntimeError, match=f"damaged: it has {3071 + labels} bytes"):
        rows(kind(str(tmp_path), "train"))
