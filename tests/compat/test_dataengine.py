"""Values of pipelines by MindSpore's private names: types, shapes, arrays."""

import numpy as np
import pytest

import lamella as ms
from lamella.compat import _c_dataengine as engine

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64"]


@pytest.mark.parametrize("name", NAMES)
def test_types_of_numbers(name):
    assert str(engine.nptype_to_detype(name)) == repr(engine.DataType(name)) == name
    assert engine.mstype_to_detype(getattr(ms, "bool_" if name == "bool" else name)) == (
        engine.DataType(name))
    assert str(engine.Tensor(np.zeros(2, name)).type()) == name


def test_types_of_texts_and_none():
    assert str(engine.Tensor(np.array(["a"])).type()) == "string"
    assert str(engine.Tensor(np.array([b"a"])).type()) == "bytes"
    assert engine.mstypelist_to_detypelist([None, ms.int8]) == [None, engine.DataType("int8")]
    assert engine.DataType("int8") != engine.DataType("uint8") != "uint8"
    assert len({engine.DataType("int8"), engine.DataType("int8"), engine.DataType("bool")}) == 2
    for wrong in ("complex64", "str", "float"):
        with pytest.raises(ValueError, match="must be one of bool, int8"):
            engine.DataType(wrong)


@pytest.mark.parametrize("sizes, is_known, text", [
    ([2, 3], True, "<2,3>"), ([0], True, "<0>"), ([], True, "<>"), ([-1, 3], False, "<*,3>"),
    ([2.0, -1], False, "<2,*>")])
def test_shapes(sizes, is_known, text):
    shape = engine.TensorShape(sizes)
    assert shape.is_known() is is_known and str(shape) == text
    assert shape.as_list() == sizes and shape.as_list() is not shape.as_list()


@pytest.mark.parametrize("array", [
    np.array([True]), np.arange(3), np.uint8([1]), np.float64([[1.5]]), np.array(["é"]),
    np.array([b"a"])])
def test_values(array):
    value = engine.Tensor(array)
    assert value.shape() == list(array.shape)
    np.testing.assert_array_equal(value.as_array(), array)
    np.testing.assert_array_equal(np.asarray(value), array)
    assert value.as_array() is value.as_array() is not array


@pytest.mark.parametrize("wrong", [[1, 2], 3, np.array([1j]), np.array([None])])
def test_what_is_no_value(wrong):
    with pytest.raises(RuntimeError, match="an array of numbers or strings"):
        engine.Tensor(wrong)


def test_conversions_of_values():
    value = engine.Tensor(np.array(["é".encode(), b"a"]))
    assert value.as_decoded_array().tolist() == ["é", "a"]
    numbers = engine.Tensor(np.arange(3))
    assert numbers.as_decoded_array() is numbers.as_array()
    assert numbers.__array__() is numbers.as_array()
    assert numbers.__array__(copy=True) is not numbers.as_array()
    assert numbers.__array__("float32").dtype == np.float32
