"""Files of other formats as mindrecord files: what is read from both is the same."""

import io
import os
import struct

import numpy as np
import pytest
from lamella.mindrecord import (
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    FileReader,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
)
from PIL import Image

from lamella.dataset.sources import tfrecord


def test_features_of_a_tfrecord_keep_their_types(tmp_path):
    def field(number: int, data: bytes) -> bytes:  # of a message of protobuf
        return bytes([number << 3 | 2, len(data)]) + data

    def feature(name: str, kind: int, data: bytes) -> bytes:
        return field(1, field(1, name.encode()) + field(2, field(kind, field(1, data))))

    example = field(1, feature("word", 1, b"four") + feature("raw", 1, b"\xff\x00")
                    + feature("one", 3, b"\x07") + feature("two", 3, b"\x05\x06")
                    + feature("several", 3, b"\x01\x02\x03"))
    length = struct.pack("<Q", len(example))
    source, target = tmp_path / "a.tfrecord", str(tmp_path / "a.mindrecord")
    source.write_bytes(b"".join(part + struct.pack("<I", tfrecord._masked(part))
                                for part in (length, example)))
    kinds = {"word": "string", "raw": "bytes", "one": "int64", "two": "int64",
             "several": "int64"}
    assert TFRecordToMR(str(source), target, kinds, ["raw"]).run() == "SUCCESS"
    row, = FileReader(target).get_next()
    assert (row["word"], row["raw"], row["one"]) == ("four", b"\xff\x00", 7)
    assert row["two"].tolist() == [5, 6]
    list_of = {"type": "int64", "shape": [-1]}
    assert FileReader(target).schema() == {
        "word": {"type": "string"}, "raw": {"type": "bytes"}, "one": {"type": "int64"},
        "two": list_of, "several": list_of}
    assert row["several"].tolist() == [1, 2, 3] and row["several"].dtype == np.int64


def rows(path, **known):
    reader = FileReader(str(path), **known)
    return list(reader.get_next())


def smooth(seed, shape, channels=()):
    """Images that JPEG keeps nearly as they are."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (shape[0], 2, 2, *channels), np.uint8)
    out = [np.asarray(Image.fromarray(one).resize(shape[:0:-1], Image.Resampling.BILINEAR))
           for one in small]
    return np.stack(out)


def check_jpeg(data, image):
    """It is `image`, as JPEG of quality 95: Pillow writes the same tables of quantization."""
    opened, other = Image.open(io.BytesIO(data)), io.BytesIO()
    assert opened.format == "JPEG"
    assert np.abs(np.asarray(opened).astype(int) - image).max() < 30
    Image.fromarray(image).save(other, "JPEG", quality=95)
    assert opened.quantization == Image.open(other).quantization


@pytest.mark.parametrize("parts", [1, 2])
def test_mnist(tmp_path, parts):
    images = {"train": smooth(1, (5, 28, 20)), "t10k": smooth(2, (3, 28, 20))}
    labels = {"train": [3, 0, 9, 1, 3], "t10k": [7, 2, 2]}
    for part, image in images.items():
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 2051, *image.shape) + image.tobytes())
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 2049, len(image)) + bytes(labels[part]))
    target = str(tmp_path / "made")
    assert MnistToMR(str(tmp_path), target, parts).run() == "SUCCESS"
    assert len(list(tmp_path.glob("made_*.mindrecord*"))) == 4 * parts  # with their indices
    for part, name in (("train", "train"), ("t10k", "test")):
        found = rows(f"{target}_{name}.mindrecord{'0' if parts > 1 else ''}")
        assert [row["label"] for row in found] == labels[part]
        for row, image in zip(found, images[part], strict=True):
            check_jpeg(row["data"], image)


@pytest.mark.parametrize("maker, names", [(Cifar10ToMR, ["label"]),
                                          (Cifar100ToMR, ["coarse_label", "fine_label"])])
def test_cifar(tmp_path, maker, names):
    files = {"train": ["data_batch_1.bin", "data_batch_2.bin"], "test": ["test_batch.bin"]} \
        if len(names) == 1 else {"train": ["train.bin"], "test": ["test.bin"]}
    wanted = {}
    for seed, (usage, parts) in enumerate(files.items()):
        wanted[usage] = []
        for part, file in enumerate(parts):
            images = smooth(10 * seed + part, (2, 32, 32), (3,))
            labels = np.random.default_rng(part).integers(0, 90, (2, len(names)), np.uint8)
            (tmp_path / file).write_bytes(np.hstack(
                [labels, images.transpose(0, 3, 1, 2).reshape(2, -1)]).tobytes())
            wanted[usage] += zip(labels.tolist(), images, strict=True)
    target = str(tmp_path / "made")
    assert maker(str(tmp_path), target).transform() == "SUCCESS"
    for usage, path in (("train", target), ("test", f"{target}_test")):
        found = rows(path)
        assert [row["id"] for row in found] == list(range(len(wanted[usage])))
        for row, (labels, image) in zip(found, wanted[usage], strict=True):
            assert [row[name] for name in names] == labels
            check_jpeg(row["data"], image)


@pytest.mark.parametrize("columns", [None, ["word", "count"]])
def test_columns_of_a_csv_file_have_the_narrowest_type(tmp_path, columns):
    source, target = tmp_path / "a.csv", str(tmp_path / "a.mindrecord")
    source.write_text('count,share,word,mixed\n1,0.5,x,3\n-7,2,"y,z",q\n', encoding="utf-8")
    assert CsvToMR(str(source), target, columns).run() == "SUCCESS"
    whole = [{"count": 1, "share": 0.5, "word": "x", "mixed": "3"},
             {"count": -7, "share": 2.0, "word": "y,z", "mixed": "q"}]
    assert rows(target) == [{name: row[name] for name in columns or row} for row in whole]
    kinds = {"count": "int64", "share": "float64", "word": "string", "mixed": "string"}
    assert FileReader(target).schema() == {n: {"type": kinds[n]} for n in columns or kinds}


def test_a_csv_file_of_one_row(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n", encoding="utf-8")
    assert CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "made")).run() == "SUCCESS"
    assert rows(tmp_path / "made") == [{"a": 1, "b": "x"}]


def test_folders_of_imagenet(tmp_path):
    files = {"n02": {"b.jpg": b"2", "a.jpg": b"1"}, "n01": {"c.jpg": b"3"}, "n03": {"d": b"4"}}
    for folder, its in files.items():
        (tmp_path / "images" / folder).mkdir(parents=True)
        for name, data in its.items():
            (tmp_path / "images" / folder / name).write_bytes(data)
    (tmp_path / "map.txt").write_text("n02 17 a dog\n\nn01 4\n")
    target = str(tmp_path / "made")
    made = ImageNetToMR(str(tmp_path / "map.txt"), str(tmp_path / "images"), target, 2)
    assert made.run() == "SUCCESS" and os.path.exists(f"{target}1")
    found = [(row["label"], row["file_name"], row["image"]) for row in rows(f"{target}0")]
    assert found == [(17, "a.jpg", b"1"), (17, "b.jpg", b"2"), (4, "c.jpg", b"3")]
