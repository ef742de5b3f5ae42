"""KITTI, on files made here; the same files read the same in MindSpore 2.10."""

import numpy as np
import pytest

import lamella.dataset as ds
from tests.dataset.sources.test_captioned import shades
from tests.dataset.sources.test_sources import image, rows

LINES = [
    "Car 0.00 0 -1.58 587.01 173.33 614.12 200.12 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59",
    "DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10",
]


@pytest.fixture
def root(tmp_path):
    for i in (1, 0):
        for part in ("training", "testing"):
            image(tmp_path / "data_object_image_2" / part / "image_2" / f"00000{i}.png",
                  10 * i + (part == "testing"))
    labels = tmp_path / "data_object_label_2" / "training" / "label_2"
    labels.mkdir(parents=True)
    (labels / "000000.txt").write_text("\n".join([*LINES, ""]))
    kinds = ["Pedestrian", "Cyclist", "Van", "Truck", "Tram", "Misc", "Person_sitting"]
    (labels / "000001.txt").write_text(
        "\n".join(f"{kind} 0.5 1 0.1 1 2 3 4 5 6 7 8 9 10 11" for kind in kinds))
    return tmp_path


def test_train(root):
    data = ds.KITTIDataset(str(root), shuffle=False, decode=True)
    first, second = rows(data)
    assert data.get_col_names() == ["image", "label", "truncated", "occluded", "alpha", "bbox",
                                    "dimensions", "location", "rotation_y"]
    assert shades([first, second]) == [0, 10]
    want = np.array([[float(word) for word in line.split()[1:]] for line in LINES], np.float32)
    for name, start, end in (("truncated", 0, 1), ("alpha", 2, 3), ("bbox", 3, 7),
                             ("dimensions", 7, 10), ("location", 10, 13), ("rotation_y", 13, 14)):
        assert first[name].dtype == np.float32
        np.testing.assert_array_equal(first[name], want[:, start:end])
    assert first["label"].tolist() == [[0], [2]] and first["label"].dtype == np.uint32
    assert first["occluded"].tolist() == [[0], [2**32 - 1]]
    assert first["occluded"].dtype == np.uint32
    assert second["label"].ravel().tolist() == [4, 1, 8, 7, 6, 3, 5]


def test_test(root):
    data = ds.KITTIDataset(str(root), "test", shuffle=False, decode=True)
    assert data.get_col_names() == ["image"] and shades(rows(data)) == [1, 11]


def test_errors(root):
    with pytest.raises(ValueError, match="usage"):
        ds.KITTIDataset(str(root), "valid")
    labels = root / "data_object_label_2" / "training" / "label_2" / "000000.txt"
    for wrong in ("Cat 0 0\n", "Car 0 0\n", LINES[0].replace("1.71", "x")):
        labels.write_text(wrong)
        with pytest.raises(RuntimeError, match="KITTIDataset"):
            rows(ds.KITTIDataset(str(root)))
    labels.unlink()
    with pytest.raises(RuntimeError, match=r"000000\.txt"):
        rows(ds.KITTIDataset(str(root)))
    with pytest.raises(RuntimeError, match="no folder"):
        rows(ds.KITTIDataset(str(labels.parent)))
