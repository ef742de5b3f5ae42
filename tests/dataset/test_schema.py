"""Schemas: columns added one by one, from dicts and lists, and from files."""

import json

import pytest

import lamella as ms
import lamella.dataset as ds

TYPES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
         "string").split()


@pytest.mark.parametrize("name", TYPES)
def test_types(name):
    schema = ds.Schema()
    schema.add_column("a", name)
    if name != "string":
        schema.add_column("b", getattr(ms, "bool_" if name == "bool" else name), [2, -1])
        assert schema.columns[1] == {"name": "b", "type": name, "shape": [2, -1], "rank": 2}
    assert schema.columns[0] == {"name": "a", "type": name}


@pytest.mark.parametrize("shape, about", [
    (None, {}), ([], {"shape": [], "rank": 0}), ([3], {"shape": [3], "rank": 1}),
    ((2, 3, -1), {"shape": [2, 3, -1], "rank": 3})])
def test_shapes(shape, about):
    schema = ds.Schema()
    schema.add_column("a", "int8", shape if shape is None else list(shape))
    assert schema.columns == [{"name": "a", "type": "int8", **about}]


@pytest.mark.parametrize("name, kind, words", [
    ("", "int8", "Expected non-empty string for column name"),
    ("", "", "Expected non-empty string for column name"),
    ("a", "", "Expected non-empty string for de_type"),
    ("a", None, "Expected non-empty string for de_type"), ("a", "complex64", "Unknown column type"),
    ("a", ms.complex64, "Unknown column type"), ("a", "Int8", "Unknown column type")])
def test_columns_that_can_not_be(name, kind, words):
    with pytest.raises(TypeError, match=words):
        ds.Schema().add_column(name, kind)


@pytest.mark.parametrize("columns, wanted", [
    ({"b": {"type": "int8", "rank": 2}, "a": {"type": "string"}},
     [{"name": "a", "type": "string"},
      {"name": "b", "type": "int8", "shape": [-1, -1], "rank": 2}]),
    ([{"name": "b", "type": "int8", "shape": [3], "rank": 9}, {"name": "a", "type": "bool"}],
     [{"name": "b", "type": "int8", "shape": [3], "rank": 1}, {"name": "a", "type": "bool"}]),
    ([{"name": "a", "type": "int8", "rank": 0}],
     [{"name": "a", "type": "int8", "shape": [], "rank": 0}]), ([], []), ({}, [])])
def test_columns_from_dicts_and_lists(columns, wanted, tmp_path):
    schema = ds.Schema()
    schema.parse_columns(columns)
    assert schema.columns == wanted
    path = tmp_path / "schema.json"
    path.write_text(json.dumps({"columns": columns, "numRows": 7, "datasetType": "TF"}))
    read = ds.Schema(str(path))
    assert (read.columns, read.get_num_rows(), read.dataset_type) == (wanted, 7, "TF")
    again = ds.Schema()
    again.from_json(json.loads(read.to_json()))
    assert str(again) == str(read) == read.to_json() and again.get_num_rows() == 7
    again.from_json({"columns": []})
    assert (again.get_num_rows(), again.dataset_type) == (0, "")


@pytest.mark.parametrize("columns, error, words", [
    ([{"type": "int8"}], RuntimeError, "must have a name and a type"),
    ([{"name": "a"}], RuntimeError, "must have a name and a type"),
    ("a", TypeError, "must be a dict or a list"),

    (None, TypeError, "must be a dict or a list")])
def test_what_is_no_columns(columns, error, words):
    with pytest.raises(error, match=words):
        ds.Schema().parse_columns(columns)
    with pytest.raises(RuntimeError, match="there must be 'columns'"):
        ds.Schema().from_json({"numRows": 3})
