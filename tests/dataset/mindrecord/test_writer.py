"""How many files are written, what they hold, and which rows are left out."""

import json
import os
import struct

import numpy as np
import pytest

from lamella import mindrecord as mr


def writer_of(path, schema, files=1):
    writer = mr.FileWriter(str(path), files)
    assert writer.set_header_size(1 << 14) == writer.set_page_size(1 << 15) == "SUCCESS"
    writer.add_schema(schema)
    return writer


@pytest.mark.parametrize("files", [0, 1001, -1, True, 1.0, "2", None])
def test_one_to_a_thousand_files(tmp_path, files):
    for count in (1, 1000):
        mr.FileWriter(str(tmp_path / "a"), count)
    with pytest.raises(mr.ParamValueError, match="Parameter shard_num's (type|value)"):
        mr.FileWriter(str(tmp_path / "a"), files)
    with pytest.raises(mr.ParamValueError, match="overwrite's type is not bool"):
        mr.FileWriter(str(tmp_path / "a"), 1, 1)


@pytest.mark.parametrize("files, names", [
    (1, ["a"]), (2, ["a0", "a1"]), (10, [f"a{i}" for i in range(10)]),
    (11, [f"a{i:02}" for i in range(11)])])
def test_names_are_of_one_length(tmp_path, files, names):
    """The rows are as evenly shared as can be, in their order."""
    writer = writer_of(tmp_path / "a", {"n": {"type": "int32"}}, files)
    writer.write_raw_data([{"n": i} for i in range(7)])
    writer.commit()
    assert sorted(name for name in os.listdir(tmp_path) if "." not in name) == names
    parts = [[row["n"] for row in mr.FileReader([str(tmp_path / name)]).get_next()]
             for name in names]
    assert sum(parts, []) == list(range(7))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def header(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]]), data


@pytest.mark.parametrize("given, wanted", [("rows", "rows"), ("", ""), (None, "")])
def test_what_a_file_is_about(tmp_path, given, wanted):
    writer = writer_of(tmp_path / "a", {"n": {"type": "int32"}})
    writer.add_schema({"v": {"type": "bytes"}, "m": {"type": "int64"}}, given)
    writer.write_raw_data([{"v": b"", "m": 1}])
    writer.commit()
    (about,) = header(tmp_path / "a")[0]["schema"]
    assert about == {"desc": wanted, "blob_fields": ["v"],
                     "schema": {"v": {"type": "bytes"}, "m": {"type": "int64"}}}


@pytest.mark.parametrize("size, pages", [(8176, [4, 4, 1]), (8177, [3, 3, 3]), (32760, [1] * 9)])
def test_pages_hold_as_many_rows_as_fit(tmp_path, size, pages):
    """A row takes its bytes and eight for their number; the pages of arrays come first."""
    schema = {"n": {"type": "int32"}, "v": {"type": "bytes"}}
    writer = writer_of(tmp_path / "a", schema)
    size = {8176: 8184, 8177: 8185, 32760: 32760}[size]
    writer.write_raw_data([{"n": i, "v": bytes([i]) * size} for i in range(9)])
    writer.commit()
    about, data = header(tmp_path / "a")
    ends = np.cumsum(pages).tolist()
    assert [(page["page_type"], page["page_id"], page["page_type_id"], page["start_row_id"],
             page["end_row_id"], page["page_size"]) for page in about["page"]] == [
        *[("BLOB_DATA", i, i, end - count, end, count * (size + 8))
          for i, (count, end) in enumerate(zip(pages, ends, strict=True))],
        ("RAW_DATA", len(pages), 0, 0, 0, 9 * (8 + 4))]
    assert [page["row_group_ids"] for page in about["page"]] == [
        [{"id": page["page_type_id"], "offset": 0}] for page in about["page"]]
    assert data[(1 << 14) + 8:][:size] == bytes(size)
    found = list(mr.FileReader(str(tmp_path / "a")).get_next())
    assert [row["n"] for row in found] == list(range(9))
    assert all(row["v"] == bytes([row["n"]]) * size for row in found)


def test_a_row_has_room_on_a_page(tmp_path):
    writer = writer_of(tmp_path / "a", {"v": {"type": "bytes"}})
    writer.write_raw_data([{"v": bytes((1 << 15) - 7)}])
    with pytest.raises(mr.MRMOpenError, match="row 0 has 32769 bytes, but a page 32768"):
        writer.commit()


@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("append", [False, True])
def test_files_that_are_there_stay_if_new_ones_can_not_be_written(tmp_path, files, append):
    schema, first = {"v": {"type": "bytes"}}, [{"v": b"a"}, {"v": b"b"}]
    writer = writer_of(tmp_path / "a", schema, files)
    writer.write_raw_data(first)
    writer.commit()
    path, there = str(tmp_path / ("a" if files == 1 else "a0")), sorted(os.listdir(tmp_path))
    if append:
        again = mr.FileWriter.open_for_append(path)
    else:
        again = mr.FileWriter(str(tmp_path / "a"), files, overwrite=True)
        again.set_page_size(1 << 15)
        again.add_schema(schema)
    again.write_raw_data([{"v": b"c"}, {"v": bytes(1 << 15)}])
    with pytest.raises(mr.MRMOpenError, match="has 32776 bytes, but a page 32768"):
        again.commit()
    assert sorted(os.listdir(tmp_path)) == there
    assert list(mr.FileReader(path).get_next()) == first


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("value, fits", [
    (2**63 - 1, True), (2**63, False), (-2**63, True), (-2**63 - 1, False),
    (np.uint64(2**63 - 1), True), (np.uint64(2**63), False)])
def test_integers_have_64_bits(tmp_path, kind, value, fits):
    """As in MindSpore, a scalar of int32 isn't checked any closer when it is written."""
    writer = writer_of(tmp_path / "a", {"n": {"type": kind}})
    writer.write_raw_data([{"n": 1}, {"n": value}])
    writer.commit()
    assert [row["n"] for row in mr.FileReader(str(tmp_path / "a")).get_next()] == [
        1, *[int(value)] * fits]


SCHEMA = {"i": {"type": "int32"}, "f": {"type": "float32"}, "s": {"type": "string"},
          "b": {"type": "bytes"}, "v": {"type": "float64", "shape": [-1, 2]}}
ROW = {"i": 1, "f": 0.5, "s": "x", "b": b"y", "v": np.zeros((3, 2))}


@pytest.mark.parametrize("change, fits", [
    ({}, True), ({"i": np.int16(3)}, True), ({"i": True}, False), ({"i": 1.0}, False),
    ({"i": "1"}, False), ({"f": 3}, True), ({"f": np.float64(0.5)}, True),
    ({"f": np.int8(1)}, True), ({"f": False}, False), ({"f": "0.5"}, False),
    ({"s": b"x"}, False), ({"s": 1}, False),
    ({"s": ""}, True), ({"b": "y"}, False), ({"b": bytearray(b"y")}, False), ({"b": b""}, True),
    ({"v": np.zeros((0, 2))}, True), ({"v": np.zeros(4)}, True), ({"v": np.zeros(3)}, False),
    ({"v": np.zeros((3, 2), np.float32)}, False), ({"v": [[1.0, 2.0]]}, False),
    ({"more": 3}, True)])
def test_rows_that_do_not_fit_are_left_out(tmp_path, change, fits):
    writer = writer_of(tmp_path / "a", SCHEMA)
    writer.write_raw_data([ROW, {**ROW, **change}])
    writer.commit()
    found = list(mr.FileReader(str(tmp_path / "a")).get_next())
    assert len(found) == 1 + fits
    wanted = {name: {**ROW, **change}[name] if fits else ROW[name] for name in SCHEMA}
    for name, value in wanted.items():
        value = value.reshape(-1, 2) if name == "v" else value
        np.testing.assert_array_equal(found[-1][name], value)


@pytest.mark.parametrize("name", list(SCHEMA))
def test_a_row_has_every_field(tmp_path, name):
    writer = writer_of(tmp_path / "a", SCHEMA)
    with pytest.raises(RuntimeError, match="^There is no valid data"):
        writer.write_raw_data([{n: v for n, v in ROW.items() if n != name}])
    with pytest.raises(RuntimeError, match="^Parallel write worker error.* There is no valid"):
        writer.write_raw_data([{}], True)
    writer.write_raw_data([])


@pytest.mark.parametrize("fields, error, words", [
    (["v"], mr.MRMDefineIndexError, "field v since"), (["b"], mr.MRMDefineIndexError, "field b"),
    (["i", "x"], RuntimeError, "x can not found"), ([3], mr.ParamTypeError, "It is 3"),
    (("i",), mr.ParamTypeError, "expect list type")])
def test_fields_that_are_no_index(tmp_path, fields, error, words):
    with pytest.raises(error, match=words):
        writer_of(tmp_path / "a", SCHEMA).add_index(fields)


@pytest.mark.parametrize("fields, wanted", [(None, ["f", "i", "s"]), (["s"], ["s"]), ([], [])])
def test_rows_are_found_by_fields(tmp_path, fields, wanted):
    writer = writer_of(tmp_path / "a", SCHEMA)
    if fields is not None:
        writer.add_index(fields)
    writer.write_raw_data([ROW])
    writer.commit()
    pages = mr.MindPage(str(tmp_path / "a"))
    assert sorted(pages.candidate_fields) == wanted
    for name in wanted:
        pages.category_field = name
        assert json.loads(pages.read_category_info())["categories"] == [
            {"count": 1, "id": 0, "name": str(ROW[name])}]
