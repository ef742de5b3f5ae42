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


@pytest.mark.parametrize("values, words", [
    ([np.int32(1), np.float32(2.5)], "types int32 and float32"),
    ([np.zeros(1, np.int32), np.full(1, 2**40)], "types int32 and int64"),
    ([np.zeros((3, 3)), np.zeros((3, 4))], r"shapes \(3, 3\) and \(3, 4\)"),
    ([np.zeros((2, 3)), np.zeros(3)], r"shapes \(2, 3\) and \(3,\)"),
    ([np.zeros(2), np.zeros(())], r"shapes \(2,\) and \(\)"),
    (["a", 1], "types <U1 and int64"), (["a", b"b"], r"types <U1 and \|S1"),
    ([np.array(["a", "bc"])], "can not support multi-dimensional string"),
    ([np.array([b"a", b"bc"])], "can not support multi-dimensional string"),
    ([{"k": 1}], "a value that is a dict"),
    ([np.array([1, 2**63], np.uint64)], r"integers of 2\*\*63 or more")])
def test_values_that_a_file_can_not_hold_as_they_are(tmp_path, values, words):
    data = ds.GeneratorDataset([(value,) for value in values], ["x"], shuffle=False)
    with pytest.raises(RuntimeError, match=words):
        data.save(str(tmp_path / "a.mindrecord"))
    assert not list(tmp_path.iterdir())


def test_the_largest_unsigned_integers_that_a_file_can_hold(tmp_path):
    path, values = str(tmp_path / "a.mindrecord"), np.array([0, 2**63 - 1], np.uint64)
    ds.GeneratorDataset([(values,), (values[:0],)], ["x"], shuffle=False).save(path)
    assert [row["x"].tolist() for row in FileReader(path).get_next()] == [[0, 2**63 - 1], []]
