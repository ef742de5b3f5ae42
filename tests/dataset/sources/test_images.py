"""Folders of images: what a function decrypts, classes by number, and endings."""

import numpy as np
import pytest
from PIL import Image

import lamella.dataset as ds
from tests.dataset.sources.test_sources import image, rows


@pytest.fixture
def hidden(tmp_path):
    """Images by class, each byte with its highest bit turned over."""
    for number, name in enumerate(("b/0.png", "a/1.png", "a/2.png")):
        image(tmp_path / name, 30 * number + 10)
        path = tmp_path / name
        path.write_bytes(bytes(byte ^ 128 for byte in path.read_bytes()))
    return tmp_path


def shown(path):
    with open(path, "rb") as file:
        return bytes(byte ^ 128 for byte in file.read())


def test_images_that_a_function_decrypts(hidden):
    given = {"decrypt": shown, "shuffle": False}
    found = rows(ds.ImageFolderDataset(str(hidden), decode=True, **given))
    assert [row["image"].shape for row in found] == [(8, 6, 3)] * 3
    assert [(int(row["image"][7, 5, 2]), int(row["label"])) for row in found] == [
        (40, 0), (70, 0), (10, 1)]
    (first, *_) = rows(ds.ImageFolderDataset(str(hidden), **given))
    assert first["image"].tobytes() == shown(hidden / "a" / "1.png")
    assert first["label"].dtype == np.int32
    with pytest.raises(TypeError, match="'decrypt' must be a function"):
        ds.ImageFolderDataset(str(hidden), decrypt=3)


@pytest.mark.parametrize("classes, wanted", [
    (None, [(40, 0), (70, 0), (10, 1)]), ({"b": 7, "a": 5}, [(40, 5), (70, 5), (10, 7)]),
    ({"b": 2}, [(10, 2)])])
def test_classes_by_number(hidden, classes, wanted):
    data = ds.ImageFolderDataset(str(hidden), decrypt=shown, decode=True, shuffle=False,
                                 class_indexing=classes)
    assert [(int(row["image"][0, 0, 0]), int(row["label"])) for row in rows(data)] == wanted
    assert data.get_class_indexing() == (classes or {"a": 0, "b": 1})


@pytest.mark.parametrize("endings, count", [([".png"], 2), ([".jpg"], 1), ([".jpg", ".png"], 3),
                                            (None, 3)])
def test_endings_of_files(endings, count, tmp_path):
    for name in ("0.png", "1.png", "2.jpg"):
        image(tmp_path / "a" / name)
    (tmp_path / "a" / "note.txt").write_text("no image")
    data = ds.ImageFolderDataset(str(tmp_path), extensions=endings)
    assert len(data) == count


@pytest.mark.parametrize("usage, wanted", [
    ("train", ["pie", "soup"]), ("test", ["pie"]), ("all", ["pie", "soup", "pie"]),
    (None, ["pie", "soup", "pie"])])
def test_parts_of_food101(usage, wanted, tmp_path):
    for dish in ("pie/1", "soup/2", "pie/3"):
        (tmp_path / "images" / dish).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / "images" / f"{dish}.jpg")
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "train.txt").write_text("pie/1\n\n soup/2 \n")
    (tmp_path / "meta" / "test.txt").write_text("pie/3\n")
    data = ds.Food101Dataset(str(tmp_path), usage, shuffle=False)
    assert [str(row["label"]) for row in rows(data)] == wanted
