"""Pages of rows by category, columns that are chosen, and arguments at their limits."""

import json

import numpy as np
import pytest

from lamella import mindrecord as mr


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Rows in two files; five of the nine are of the kind "a"."""
    name = str(tmp_path_factory.mktemp("rows") / "r.mindrecord")
    writer = mr.FileWriter(name, 2)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"id": {"type": "int32"}, "kind": {"type": "string"},
                       "v": {"type": "int32", "shape": [-1]}})
    writer.add_index(["kind"])
    writer.write_raw_data([{"id": i, "kind": kind, "v": np.arange(i, dtype=np.int32)}
                           for i, kind in enumerate("abacabaca")])
    writer.commit()
    return f"{name}0"


@pytest.fixture
def pages(path):
    found = mr.MindPage(path)
    found.category_field = "kind"
    return found


def test_categories_are_counted_over_all_files(pages):
    assert json.loads(pages.read_category_info()) == {"key": "kind_0", "categories": [
        {"id": 0, "name": "a", "count": 5}, {"id": 1, "name": "b", "count": 2},
        {"id": 2, "name": "c", "count": 2}]}


@pytest.mark.parametrize("page, size, wanted", [
    (0, 2, [0, 2]), (1, 2, [4, 6]), (2, 2, [8]), (0, 5, [0, 2, 4, 6, 8]),
    (0, 9, [0, 2, 4, 6, 8]), (4, 1, [8])])
def test_pages_of_a_category(pages, page, size, wanted):
    for found in (pages.read_at_page_by_id(0, page, size),
                  pages.read_at_page_by_name("a", page, size)):
        assert [row["id"] for row in found] == wanted
        assert all(row["v"].tolist() == list(range(row["id"])) for row in found)


@pytest.mark.parametrize("page, size", [(3, 2), (1, 5), (5, 1), (1, 9)])
def test_pages_behind_the_last(pages, page, size):
    for call in (lambda: pages.read_at_page_by_id(0, page, size),
                 lambda: pages.read_at_page_by_name("a", page, size)):
        with pytest.raises(RuntimeError, match=f"page no: {page} or page size: {size} is invalid"):
            call()


@pytest.mark.parametrize("number", [-1, True, 1.0, "a", None])
def test_numbers_of_categories_and_pages_are_ints(pages, number):
    assert len(pages.read_at_page_by_id(2, 0, 1)) == 1
    for call, words in ((lambda: pages.read_at_page_by_id(number, 0, 1), "Category id should be"),
                        (lambda: pages.read_at_page_by_id(0, number, 1), "Page should be int"),
                        (lambda: pages.read_at_page_by_name("a", 0, number), "num_row should be")):
        with pytest.raises(mr.ParamValueError, match=words):
            call()


def test_what_is_not_there(pages, path):
    for call, error, words in (
            (lambda: pages.read_at_page_by_id(3, 0, 1), RuntimeError, r"range \[0, 3\]"),
            (lambda: pages.read_at_page_by_id(0, 0, 0), mr.ParamValueError, "greater than 0"),
            (lambda: pages.read_at_page_by_name("d", 0, 1), RuntimeError, "no category 'd'"),
            (lambda: pages.read_at_page_by_name(0, 0, 1), mr.ParamValueError, "should be str"),
            (lambda: mr.MindPage(path).read_category_info(), mr.MRMDefineCategoryError, "be set"),
            (lambda: setattr(pages, "category_field", "id"), mr.MRMDefineCategoryError, "'id'"),
            (lambda: mr.FileReader(path, columns=["id", "w"]), RuntimeError, "name: w can not"),
            (lambda: mr.FileReader(path, columns=("id",)), mr.ParamTypeError, "expect list")):
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("number", [0, -1, True, 1.0, "1", None])
def test_how_many_read_is_an_int_of_1_or_more(path, number):
    assert mr.FileReader(path, 1).len() == 9
    with pytest.raises(mr.ParamValueError, match=f"num_consumer: {number} should"):
        mr.FileReader(path, number)


@pytest.mark.parametrize("columns", [None, [], ["id"], ["v", "kind"], ["kind", "id", "v"]])
def test_columns_that_are_chosen(path, columns):
    found = list(mr.FileReader(path, columns=columns).get_next())
    assert [list(row) for row in found] == [columns or ["id", "kind", "v"]] * 9
    if "kind" in (columns or ()):
        assert "".join(row["kind"] for row in found) == "abacabaca"


def test_one_file_may_get_another_name(path, tmp_path):
    writer = mr.FileWriter(str(tmp_path / "a"))
    writer.add_schema({"n": {"type": "int64"}})
    writer.write_raw_data([{"n": 4}])
    writer.commit()
    for end in ("", ".db"):
        (tmp_path / f"a{end}").rename(tmp_path / f"b{end}")
    for columns in (None, ["n"]):
        reader = mr.FileReader(str(tmp_path / "b"), columns=columns)
        assert list(reader.get_next()) == [{"n": 4}]
