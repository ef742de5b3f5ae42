"""Rows that a pipeline saves: which types their values have in the files."""

import numpy as np
import pytest
from lamella.mindrecord import FileReader

import lamella.dataset as ds

WIDTHS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32",
          "int32": "int32", "uint32": "int64", "int64": "int64", "uint64": "int64",
          "float16": "float32", "float32": "float32", "float64": "float64"}


@pytest.mark.parametrize("kind, wanted", WIDTHS.items())
def test_types_that_files_have(tmp_path, kind, wanted):
    path = str(tmp_path / "a.mindrecord")
    values = np.array([[[0, 1, 1]], [[1, 0, 1]]]).astype(kind)
    ds.NumpySlicesDataset({"n": values[:, 0, 0], "m": values}, shuffle=False).save(path)
    reader = FileReader(path)
    assert reader.schema() == {"n": {"type": wanted}, "m": {"type": wanted, "shape": [-1, 3]}}
    rows = list(reader.get_next())
    assert [row["n"] for row in rows] == [0, 1]
    for row, value in zip(rows, values, strict=True):
        assert row["m"].dtype == wanted and row["m"].tolist() == value.astype(wanted).tolist()


def test_texts_bytes_and_encoded_images(tmp_path):
    path = str(tmp_path / "a.mindrecord")
    rows = [(np.array("é"), np.array(b"\xff\x01"), np.frombuffer(b"JPEG", np.uint8),
             np.arange(3, dtype=np.int8))] * 2
    ds.GeneratorDataset(rows, ["t", "b", "i", "v"], shuffle=False).save(path, num_files=2)
    reader = FileReader(path + "0")
    assert reader.schema() == {"t": {"type": "string"}, "b": {"type": "bytes"},
                               "i": {"type": "bytes"}, "v": {"type": "int32", "shape": [-1]}}
    found = list(reader.get_next())
    assert len(found) == 2 and (tmp_path / "a.mindrecord1").exists()
    row = found[1]
    assert (row["t"], row["b"], row["i"], row["v"].tolist()) == (
        "é", b"\xff\x01", b"JPEG", [0, 1, 2])


def test_lengths_that_vary(tmp_path):
    path = str(tmp_path / "a.mindrecord")
    rows = [(np.ones((n, 2), np.float32) * n,) for n in (2, 1, 3)]
    ds.GeneratorDataset(rows, ["x"], shuffle=False).save(path)
    assert [row["x"].tolist() for row in FileReader(path).get_next()] == [
        [[n, n]] * n for n in (2, 1, 3)]


def test_what_can_not_be_saved(tmp_path):
    data, path = ds.NumpySlicesDataset([1, 2], shuffle=False), str(tmp_path / "a.mindrecord")
    with pytest.raises(ValueError, match="'file_type' must be 'mindrecord'"):
        data.save(path, file_type="csv")
    with pytest.raises(RuntimeError, match="the dataset has no rows"):
        data.skip(2).save(path)
