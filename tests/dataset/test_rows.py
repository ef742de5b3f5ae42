"""Values of rows: what sources and functions may give, what is stacked, and what Tensors get."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.dataset import rows


@pytest.mark.parametrize("value, wanted", [
    (3, np.array(3)), (2.5, np.array(2.5)), (True, np.array(True)), ("ab", np.array("ab")),
    (b"ab", np.array(b"ab")), ([1, 2], np.array([1, 2])), ((1.0, 2), np.array([1.0, 2.0])),
    (np.float32(1.5), np.array(1.5, np.float32)),
    (Tensor([1, 2], ms.int16), np.array([1, 2], "i2")),
    (np.zeros((0, 3)), np.zeros((0, 3))), (1 + 2j, np.array(1 + 2j)), ([], np.zeros(0))])
def test_values_that_a_function_may_give(value, wanted):
    for found in (rows.as_value(value), rows.as_array(value)):
        assert isinstance(found, np.ndarray) and found.dtype == wanted.dtype
        assert found.shape == wanted.shape and np.array_equal(found, wanted)


@pytest.mark.parametrize("value", [None, object(), [None], {1, 2}, np.array([None]), [{}]])
def test_values_that_are_none(value):
    for make in (rows.as_value, rows.as_array):
        with pytest.raises(TypeError, match="expected to be int or float or str, but got object"):
            make(value)
    with pytest.raises((TypeError, ValueError)):
        rows.as_value([[1], [1, 2]])


def test_what_is_a_row():
    about = {"a": 1}
    assert rows.as_value(about) is about
    assert [len(rows.as_row(raw)) for raw in ((1, 2), [1, 2], 3, about, ())] == [2, 1, 1, 1, 0]
    lengths = {2: [(1, 2), [1, 2], range(2), iter("ab"), {1, 2}],
               1: [np.array([1, 2]), np.float32(1), 3, True, "ab", b"ab", Tensor([1, 2]), about]}
    for length, given in lengths.items():
        assert [len(rows.source_row(raw)) for raw in given] == [length] * len(given)

    class Array:  # which can be iterated over, too
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

        def __iter__(self):
            return iter([1, 2])

    assert rows.source_row(Array())[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("values, wanted", [
    ([np.array([1, 2]), np.array([3, 4])], np.array([[1, 2], [3, 4]])),
    ([np.array("a"), np.array("bcd")], np.array(["a", "bcd"])),
    ([np.array(b"a"), np.array(b"bcd")], np.array([b"a", b"bcd"])),
    ([np.zeros((0, 2), "f4")] * 3, np.zeros((3, 0, 2), "f4"))])
def test_values_that_are_stacked(values, wanted):
    found = rows.stacked("c", values)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("values, words", [
    ([np.zeros((2, 3)), np.zeros((2, 1))], "had shape <2,3> and this element had shape <2,1>"),
    ([np.zeros(2), np.zeros((2, 1))], "had shape <2> and this element had shape <2,1>"),
    ([np.zeros(()), np.zeros(1)], "had shape <> and this element had shape <1>"),
    ([np.zeros(2, "f4"), np.zeros(2)], "had type float32 and this element had type float64"),
    ([np.array("a"), np.array(b"a")], "had type <U1 and this element had type .S1"),
    ([np.array("1"), np.array(1)], "had type <U1 and this element had type int64"),
    ([np.zeros(2), {}], "some of its values are dicts"),
    ([{}, np.zeros(2)], "some of its values are dicts"),
    ([{"a": 1}, {"a": 1, "b": 2}], "do not match. First row: 1, current row: 2"),
    ([{"a": 1}, {"b": 1}], "b was not found in previous rows"),
    ([{"a": [1]}, {"a": [1, 2]}], "column c, key: 'a'"), ([{"a": None}], "column c, key: 'a'")])
def test_values_that_can_not_be_stacked(values, words):
    with pytest.raises(RuntimeError, match=words):
        rows.stacked("c", values)


def test_dicts_are_stacked_key_by_key():
    found = rows.stacked("c", [{"a": 1, "b": Tensor([1.0, 2.0])}, {"b": np.ones(2), "a": 3}])
    assert list(found) == ["a", "b"] and found["a"].tolist() == [1, 3]
    assert found["b"].tolist() == [[1, 2], [1, 1]]
    assert rows.merged("c", [{"a": 1}, {"a": [2]}]) == {"a": [1, [2]]}


@pytest.mark.parametrize("value, shape, dtype", [
    (np.zeros((2, 3), "i2"), [2, 3], np.dtype("i2")), ({"a": 1}, [0], np.dtype(object)),
    (np.array("abc"), [], np.dtype("U")), (np.array([b"abc"]), [1], np.dtype("S"))])
def test_shapes_and_types(value, shape, dtype):
    assert rows.shape_of(value) == shape and rows.dtype_of(value) == dtype


def test_what_a_dict_holds_is_given_as_tensors_or_arrays():
    thing = object()
    given = {"a": {"b": [1, (np.ones(2), "w")]}, "c": thing, "d": Tensor([1]), "e": None,
             "f": np.array([None])}
    tensors, arrays = rows.as_given(given, False), rows.as_given(given, True)
    assert isinstance(tensors["a"]["b"][0], Tensor) and isinstance(tensors["d"], Tensor)
    first, (second, word) = tensors["a"]["b"][0], tensors["a"]["b"][1]
    assert int(first) == 1 and second.asnumpy().tolist() == [1, 1] and word == "w"
    assert isinstance(tensors["a"]["b"][1], tuple) and isinstance(tensors["a"]["b"], list)
    assert isinstance(arrays["d"], np.ndarray) and isinstance(arrays["a"]["b"][0], np.ndarray)
    for found in (tensors, arrays):
        assert found["c"] is thing and found["e"] is None and found["f"] is given["f"]
    assert rows.as_given(3, True).tolist() == 3


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("make, shares", [
    (lambda: np.arange(6.0), True), (lambda: np.arange(6.0).reshape(2, 3).T, False),
    (lambda: np.arange(6.0)[::2], False), (lambda: np.frombuffer(bytes(16), "f8"), False)])
def test_memory_that_nothing_else_holds_is_the_tensors(make, shares, fresh):
    array = make()
    found = rows.as_tensor(array, fresh)
    assert np.array_equal(found.asnumpy(), array) and str(found.dtype) == "Float64"
    assert np.shares_memory(found.asnumpy(), array) is (shares and fresh)


@pytest.mark.parametrize("kind", "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())
def test_types_of_tensors(kind):
    array = np.array([0, 1], kind)
    found = rows.as_tensor(array)
    assert found.asnumpy().dtype == array.dtype and np.array_equal(found.asnumpy(), array)
    for words in (np.array(["a", "bc"]), np.array([b"a"])):
        assert rows.as_tensor(words) is words
    assert isinstance(rows.as_tensor({"a": 1})["a"], Tensor)
