"""MindRecord files: those of MindSpore are read, round trips, damaged files."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import zipfile

import numpy as np
import pytest

import lamella.dataset as ds
from lamella import mindrecord as mr
from lamella.dataset.mindrecord.format import File
from tests.threads import at_once

ARCHIVE = pathlib.Path(__file__).parents[2] / "data/mindrecord.zip"


@pytest.fixture(scope="module")
def written_by_mindspore(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mindspore")
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
    return folder


def expected(i):
    return {"d": i / 7, "id": i, "name": f"n{i}", "score": i / 3, "data": bytes(range(i + 1)),
            "fl": np.array([1.5, i], np.float32),
            "vec": np.array([1, -2, 300, 70000 * i, -70000], np.int32)[:i + 1],
            "wide": np.array([[i, -i], [1 << 40, 5]], np.int64)}


def check(row, wanted):
    assert sorted(row) == sorted(wanted)
    for name, value in wanted.items():
        if isinstance(value, np.ndarray):
            assert row[name].dtype == value.dtype
        np.testing.assert_array_equal(row[name], value)


def test_files_of_mindspore_are_read(written_by_mindspore):
    path = str(written_by_mindspore / "fx.mindrecord")
    reader = mr.FileReader(path)
    rows = list(reader.get_next())
    assert reader.len() == len(rows) == 6 and reader.schema()["vec"]["type"] == "int32"
    for i, row in enumerate(rows):
        check(row, expected(i))
    data = ds.MindDataset(path, shuffle=False)
    assert data.get_col_names() == ["d", "data", "fl", "id", "name", "score", "vec", "wide"]
    row = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))[2]
    kinds = {name: (str(value.dtype), value.shape) for name, value in row.items()}
    assert kinds == {"d": ("float64", ()), "data": ("|S3", (1,)), "fl": ("float32", (2,)),
                     "id": ("int64", ()), "name": ("<U2", ()), "score": ("float32", ()),
                     "vec": ("int32", (3,)), "wide": ("int64", (2, 2))}
    page = mr.MindPage(path)
    assert page.candidate_fields == ["id", "name"]
    page.category_field = "name"
    found = json.loads(page.read_category_info())
    assert found["key"] == "name_0" and found["categories"][1] == {"count": 1, "id": 1,
                                                                   "name": "n1"}
    check(page.read_at_page_by_id(0, 0, 1)[0], expected(0))
    check(page.read_at_page_by_name("n1", 0, 1)[0], expected(1))


def labels(dataset):
    return [int(row["label"]) for row in dataset.create_dict_iterator(
        num_epochs=1, output_numpy=True)]


def test_files_in_parts(written_by_mindspore):
    path = str(written_by_mindspore / "fs.mindrecord0")
    assert labels(ds.MindDataset(path, shuffle=False)) == list(range(10))
    assert labels(ds.MindDataset(path, shuffle=False, num_shards=3, shard_id=1)) == [1, 4, 7, 0]
    assert labels(ds.MindDataset([path], shuffle=False)) == [0, 1, 2, 3]
    padded = ds.MindDataset([path], shuffle=False, padded_sample={"label": -1}, num_padded=2)
    assert labels(padded) == [0, 1, 2, 3, -1, -1] and len(padded) == 6
    assert sorted(labels(ds.MindDataset(path))) == list(range(10))
    some = ds.MindDataset(path, sampler=ds.PKSampler(1))
    assert labels(some) == list(range(10))


def write(path, rows, shards=1, **kwargs):
    writer = mr.FileWriter(path, shards, **kwargs)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"n": {"type": "int64"}, "x": {"type": "float32", "shape": [-1]},
                       "t": {"type": "string"}}, "test")
    writer.write_raw_data(rows)
    assert writer.commit() is None


def some_rows(count):
    return [{"n": i, "x": np.full(300, i, np.float32), "t": f"é{i}"} for i in range(count)]


def test_what_is_written_is_read_page_after_page(tmp_path):
    path = str(tmp_path / "ours.mindrecord")
    write(path, some_rows(100), 3)
    rows = list(mr.FileReader(path + "0").get_next())
    assert [r["n"] for r in rows] == list(range(100)) and rows[7]["t"] == "é7"
    assert all((r["x"] == r["n"]).all() for r in rows)
    with pytest.raises(RuntimeError, match="already exist"):
        write(path, some_rows(2), 3)
    write(path, some_rows(4), 3, overwrite=True)
    more = mr.FileWriter.open_for_append(path + "0")
    more.write_raw_data([{"n": 4, "x": np.ones(2, np.float32), "t": ""}])
    more.commit()
    assert [r["n"] for r in mr.FileReader(path + "0").get_next()] == [0, 1, 2, 3, 4]
    batches = ds.MindDataset(path + "0", columns_list=["n"], num_parallel_workers=2).batch(5)
    assert sorted(next(batches.create_tuple_iterator(output_numpy=True))[0]) == [0, 1, 2, 3, 4]


def test_a_pipeline_is_saved(tmp_path):
    path = str(tmp_path / "saved.mindrecord")
    data = ds.NumpySlicesDataset({"x": np.arange(6, dtype=np.float32).reshape(3, 2),
                                  "y": ["a", "bc", "d"]}, shuffle=False)
    data.save(path)
    again = [[r["x"].tolist(), str(r["y"])] for r in ds.MindDataset(
        path, shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert again == [[[0, 1], "a"], [[2, 3], "bc"], [[4, 5], "d"]]


def test_arrays_of_every_rank_are_saved(tmp_path):
    path, columns = str(tmp_path / "saved.mindrecord"), {
        name: np.arange(3 * int(np.prod(shape))).reshape(3, *shape).astype(kind)
        for name, shape, kind in (("a", (), "int16"), ("b", (2,), "float64"),
                                  ("c", (2, 3), "int64"), ("d", (2, 3, 4), "float32"),
                                  ("e", (1, 1, 2, 2), "int32"))}
    ds.NumpySlicesDataset(columns, shuffle=False).save(path)
    rows = list(ds.MindDataset(path, shuffle=False).create_dict_iterator(1, output_numpy=True))
    for name, values in columns.items():
        np.testing.assert_array_equal(np.stack([row[name] for row in rows]), values)


def test_damage_is_found(tmp_path):
    path = tmp_path / "bad.mindrecord"
    write(str(path), some_rows(3))
    data = bytearray(path.read_bytes())
    data[1 << 14] ^= 255  # the length of the first row
    path.write_bytes(data)
    with pytest.raises(mr.MRMOpenError, match="row 0 of .* is damaged"):
        list(mr.FileReader(str(path)).get_next())
    with pytest.raises(RuntimeError, match="is damaged"):
        list(ds.MindDataset(str(path), shuffle=False))
    path.write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="7 is smaller than the lower limit"):
        mr.FileReader(str(path))
    path.write_bytes(b"nothing here")
    with pytest.raises(mr.MRMOpenError, match="can't be read as a mindrecord file"):
        mr.FileReader(str(path))
    write(str(tmp_path / "gone.mindrecord"), some_rows(3))
    rows = ds.MindDataset(str(tmp_path / "gone.mindrecord"), shuffle=False)
    (tmp_path / "gone.mindrecord").unlink()
    with pytest.raises(RuntimeError, match="No such file"):
        list(rows)


@pytest.mark.parametrize("call, error, message", [
    (lambda w: w.add_schema({"a": {"type": "int8"}}), mr.MRMInvalidSchemaError, "'int8'"),
    (lambda w: w.add_schema({}), mr.MRMInvalidSchemaError, "Schema content is empty"),
    (lambda w: w.add_schema([1]), mr.MRMInvalidSchemaError, "Schema content should be dict"),
    (lambda w: w.add_schema({"a": 1}), mr.MRMInvalidSchemaError, "'a' should be dict"),
    (lambda w: w.add_schema({"a b": {"type": "int32"}}), mr.MRMInvalidSchemaError, "composed of"),
    (lambda w: w.add_schema({"a": {"type": "string", "shape": [1]}}), mr.MRMInvalidSchemaError,
     "illegal attribute 'string'"),
    (lambda w: w.add_index(["zz"]), RuntimeError, "'index_fields': zz can not found in schema"),
    (lambda w: w.add_index("a"), mr.ParamTypeError, "'index_fields' expect list type"),
    (lambda w: w.write_raw_data(1), mr.ParamTypeError, "'raw_data' expect list type"),
    (lambda w: w.write_raw_data([1]), mr.ParamTypeError, "'raw_data item' expect dict type"),
    (lambda w: mr.FileWriter("x").commit(), RuntimeError, "schema is not found in header"),
    (lambda w: mr.FileWriter(""), mr.ParamValueError, "not allowed None or empty"),
    (lambda w: mr.FileWriter(None), mr.ParamValueError, "not allowed None or empty"),
    (lambda w: mr.FileWriter(1), mr.ParamValueError, "File path: 1 is not string"),
    (lambda w: mr.FileReader("x", -1), mr.ParamValueError, "num_consumer: -1 should between 1 an"),
    (lambda w: mr.FileReader("x", 1, 1), mr.ParamTypeError, "'columns' expect list type"),
    (lambda w: w.write_raw_data([{"b": 1}]), RuntimeError, "no valid data"),
    (lambda w: w.write_raw_data([{"a": "x"}]), RuntimeError, "no valid data"),
    (lambda w: w.set_page_size(0), RuntimeError, r"page size: 0 should be in range \[32768 bytes"),
    (lambda w: w.set_page_size(-1), TypeError, "must be an int of 0 or more, but got -1"),
    (lambda w: w.set_header_size(True), TypeError, "must be an int of 0 or more, but got True"),
    (lambda w: w.set_page_size(3), RuntimeError, r"page size: 3 should be in range \[32768 bytes"),
    (lambda w: w.set_header_size(40000), RuntimeError, "power of two"),
    (lambda w: w.set_header_size(-1), TypeError, "an int of 0 or more"),
    (lambda w: mr.FileReader("none"), RuntimeError, "none is not exists"),
    (lambda w: ds.MindDataset("none"), ValueError, "does not exist"),
])
def test_errors(tmp_path, call, error, message):
    writer = mr.FileWriter(str(tmp_path / "e.mindrecord"))
    writer.add_schema({"a": {"type": "int32"}})
    with pytest.raises(error, match=message):
        call(writer)


@pytest.mark.parametrize("name, low, high", [("header", 14, 27), ("page", 15, 28)])
def test_sizes_are_powers_of_two_within_limits(tmp_path, name, low, high):
    change = getattr(mr.FileWriter(str(tmp_path / "e.mindrecord")), f"set_{name}_size")
    for size in (1 << low, 1 << (low + 1), 1 << high):
        change(size)
    for size, words in (((1 << low) - 1, "in range"), ((1 << high) + 1, "in range"),
                        (1 << (high + 1), "in range"), (1 << (low - 1), "in range"),
                        ((1 << low) + 1, "power of two"), ((1 << high) - 1, "power of two"),
                        (3 << low, "power of two")):
        with pytest.raises(RuntimeError, match=f"{name} size: {size} should be .*{words}"):
            change(size)
    for size in (True, -1, 1.5):
        with pytest.raises(TypeError, match="an int of 0 or more"):
            change(size)


def numbered(path, files=1, rows=3):
    writer = mr.FileWriter(str(path), files)
    writer.add_schema({"id": {"type": "int32"}, "v": {"type": "int32", "shape": [-1]}})
    writer.add_index(["id"])
    writer.write_raw_data([{"id": i, "v": np.arange(i, dtype=np.int32)} for i in range(rows)])
    writer.commit()
    return str(path)


@pytest.mark.parametrize("name", ["a#b", "a?mode=rwc", "a%41", "a b", "ä", "a&b='\""])
def test_any_name_of_a_file_can_be_read(name, tmp_path):
    path = numbered(tmp_path / f"{name}.mindrecord")
    assert [row["id"] for row in mr.FileReader(path).get_next()] == [0, 1, 2]
    pages = mr.MindPage(path)
    pages.category_field = "id"
    assert len(pages.read_at_page_by_name("1", 0, 5)) == 1


@pytest.mark.parametrize("how", [
    "CREATE VIEW INDEXES AS WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM n) SELECT "
    "x ROW_ID, x PAGE_ID_RAW, x PAGE_OFFSET_RAW, x PAGE_OFFSET_RAW_END, x PAGE_ID_BLOB, "
    "x PAGE_OFFSET_BLOB, x PAGE_OFFSET_BLOB_END FROM n",
    "CREATE TABLE INDEXES(ROW_ID INT, PAGE_ID_RAW INT, PAGE_OFFSET_RAW INT, PAGE_OFFSET_RAW_END "
    "INT, PAGE_ID_BLOB AS (zeroblob(900000000)), PAGE_OFFSET_BLOB INT, PAGE_OFFSET_BLOB_END INT)",
    "CREATE VIRTUAL TABLE INDEXES USING fts4(ROW_ID, PAGE_ID_RAW)",
    "CREATE TABLE INDEXES(x INT)"])
def test_an_index_that_computes_is_refused(how, tmp_path):
    path = numbered(tmp_path / "a.mindrecord")
    with contextlib.closing(sqlite3.connect(path + ".db")) as base, base:
        base.execute("DROP TABLE INDEXES")
        base.execute(how)
    with pytest.raises(mr.MRMOpenError, match="the index of .*a.mindrecord is damaged"):
        mr.FileReader(path)


def test_the_header_can_not_extend_the_query(tmp_path):
    """An index field is the name of a column, whatever it is made of."""
    path = numbered(tmp_path / "a.mindrecord")
    endless = "1 UNION ALL SELECT * FROM (WITH RECURSIVE n(x) AS (SELECT 0 UNION ALL SELECT x FROM "
    header = json.loads(pathlib.Path(path).read_bytes()[8:20000].split(b"\0")[0])
    header["index_fields"] = [{"index_field": endless + 'n) SELECT x AS "', "schema_id": 0}]
    text = json.dumps(header).encode()
    with open(path, "r+b") as file:
        file.write(len(text).to_bytes(8, "little") + text)
    pages = mr.MindPage(path)
    pages.category_field = pages.candidate_fields[0]
    with pytest.raises(mr.MRMOpenError, match="damaged"):
        pages.read_category_info()


@pytest.mark.parametrize("values", ["0, 0, 0, 1 << 62, 0, 0, 9", "0, 0, 0, 'x', 0, 0, 9",
                                    "-5, 0, 0, 20, 0, 0, 9", "0, NULL, 0, 20, 0, 0, 9",
                                    "0, 1 << 62, 0, 20, 0, 0, 9"])
def test_places_beyond_the_file_are_errors(values, tmp_path):
    path = numbered(tmp_path / "a.mindrecord")
    with contextlib.closing(sqlite3.connect(path + ".db")) as base, base:
        base.execute("DROP TABLE INDEXES")
        base.execute("CREATE TABLE INDEXES(ROW_ID INT, PAGE_ID_RAW INT, PAGE_OFFSET_RAW INT, "
                     "PAGE_OFFSET_RAW_END INT, PAGE_ID_BLOB INT, PAGE_OFFSET_BLOB INT, "
                     "PAGE_OFFSET_BLOB_END INT)")
        base.execute(f"INSERT INTO INDEXES VALUES ({values})")
    with pytest.raises(mr.MRMOpenError, match="damaged"):
        next(mr.FileReader(path).get_next())


def test_shuffled_files_keep_the_order_of_their_rows(tmp_path):
    """As in MindSpore 2.10, which shuffles the files or the rows of each."""
    numbered(tmp_path / "a.mindrecord", 3, 12)
    files = [str(tmp_path / f"a.mindrecord{i}") for i in range(3)]

    def epochs(**arguments):
        data = ds.MindDataset(files, ["id"], **arguments)
        found = data.create_tuple_iterator(num_epochs=8, output_numpy=True)
        return [[int(row[0]) for row in found] for _ in range(8)]

    parts = {tuple(range(k, k + 4)) for k in (0, 4, 8)}
    for order in epochs(shuffle=ds.Shuffle.FILES):
        assert {tuple(order[k:k + 4]) for k in (0, 4, 8)} == parts
    assert len({tuple(order) for order in epochs(shuffle=ds.Shuffle.FILES)}) > 1
    for order in epochs(shuffle=ds.Shuffle.INFILE):
        assert [sorted(order[k:k + 4]) for k in (0, 4, 8)] == sorted(map(list, parts))
        assert order != sorted(order)
    shards = [epochs(shuffle=ds.Shuffle.FILES, num_shards=2, shard_id=k)[0] for k in (0, 1)]
    whole = [n for pair in zip(*shards, strict=True) for n in pair]
    assert {tuple(whole[k:k + 4]) for k in (0, 4, 8)} == parts
    with pytest.raises(ValueError, match="'num_samples' cannot be specified at the same time"):
        ds.MindDataset(files, shuffle=ds.Shuffle.FILES, num_samples=3)


def test_threads_open_a_file_once(written_by_mindspore, tmp_path):
    for end in ("", ".db"):  # of its own: nothing else has it open
        shutil.copy(written_by_mindspore / f"fx.mindrecord{end}", tmp_path)
    path = str(tmp_path / "fx.mindrecord")
    opened = pathlib.Path("/proc/self/fd")
    for _ in range(20):
        file = File(path)
        at_once(lambda _, file=file: file.row(0))
        assert [os.path.realpath(one) for one in opened.iterdir()].count(path) == 1
        file.close()


def test_rows_after_the_files_are_written(tmp_path):
    path = str(tmp_path / "a.mindrecord")
    writer = mr.FileWriter(path)
    writer.add_schema({"n": {"type": "int32"}}, "numbers")
    writer.write_raw_data([{"n": 1}])
    writer.commit()
    with pytest.raises(RuntimeError, match="Not allowed to call `write_raw_data` on flushed"):
        writer.write_raw_data([{"n": 2}])
    more = mr.FileWriter.open_for_append(path)
    more.write_raw_data([{"n": 3}])
    more.commit()
    with pytest.raises(RuntimeError, match="flushed"):
        more.write_raw_data([{"n": 4}])


def test_padding_that_does_not_fit(tmp_path):
    numbered(tmp_path / "p.mindrecord")
    path, columns = str(tmp_path / "p.mindrecord"), ["id"]
    padded = ds.MindDataset(path, columns, num_shards=2, shard_id=1, shuffle=False, num_padded=1,
                            padded_sample={"id": np.array([1, 2])})
    with pytest.raises(RuntimeError, match="column: id should be string or number but got"):
        list(padded)
    for options, error, words in (
            ({"num_padded": 1}, RuntimeError, "num_padded is specified but padded_sample is not"),
            ({"padded_sample": {"id": 1}}, RuntimeError, "requires num_padded as well"),
            ({"padded_sample": {"id": 1}, "num_padded": -1}, ValueError, "num_padded is invalid"),
            ({"padded_sample": {"v": 1}, "num_padded": 1}, ValueError, "not match columns_list")):
        with pytest.raises(error, match=words):
            ds.MindDataset(path, columns, **options)
    sampler = ds.SequentialSampler()
    sampler.add_child(ds.RandomSampler())
    with pytest.raises(RuntimeError, match="use sampler chain"):
        list(ds.MindDataset(path, columns, sampler=sampler, num_padded=1,
                            padded_sample={"id": 1}))
