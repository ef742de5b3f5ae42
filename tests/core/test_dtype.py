"""Data types: names, forms, conversions to and from NumPy and Python."""

import copy
import pickle

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, dtype

NAMES = ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bfloat16 "
         "complex64 complex128").split()
PRINTED = ("Bool Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float16 Float32 Float64 "
           "BFloat16 Complex64 Complex128").split()


def _type(name):
    return getattr(dtype, name if name != "bool" else "bool_")


@pytest.mark.parametrize(("name", "printed"), list(zip(NAMES, PRINTED, strict=True)))
def test_each_type(name, printed):
    kind = _type(name)
    assert str(kind) == printed and repr(kind) == f"mindspore.{name}"
    assert pickle.loads(pickle.dumps(kind)) is kind and copy.deepcopy(kind) is kind
    assert dtype.to_raw(kind) is getattr(torch, name)
    assert dtype.to_raw(name) is getattr(torch, name)
    assert Tensor([1], kind).dtype is kind and Tensor([1], kind).itemsize == kind.itemsize
    if name != "bfloat16":
        assert ms.dtype_to_nptype(kind) is np.dtype(name).type
        assert ms.pytype_to_dtype(np.dtype(name).type) is kind
        assert dtype.to_raw(np.dtype(name)) is getattr(torch, name)
        assert Tensor(np.array([1], name)).dtype is kind
    else:
        assert ms.dtype_to_nptype(kind) is np.float32


def test_aliases():
    assert ms.half is ms.float16 and ms.single is ms.float32 and ms.double is ms.float64
    assert ms.byte is ms.int8 and ms.short is ms.int16 and ms.long is ms.int64


def test_python_types():
    assert ms.pytype_to_dtype(float) is ms.float64 and ms.pytype_to_dtype(int) is ms.int64
    assert dtype.dtype_to_pytype(ms.float16) is float and dtype.dtype_to_pytype(ms.uint8) is int
    assert ms.get_py_obj_dtype(Tensor([1.5])) is ms.float32
    assert ms.get_py_obj_dtype(3) is ms.int64 and ms.get_py_obj_dtype(True) is ms.bool_


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: dtype.to_raw("float31", "op"), TypeError, "For 'op', the data type must be one"),
    (lambda: dtype.to_raw(None), TypeError, "but got None of type NoneType"),
    (lambda: dtype.to_raw(ms.string), TypeError, "one that a tensor can hold"),
    (lambda: ms.dtype_to_nptype(3), TypeError, "'type_' must be a data type of tensors, but got 3"),
    (lambda: ms.pytype_to_dtype(object), NotImplementedError, "No data type stands for"),
    (lambda: ms.pytype_to_dtype(object()), TypeError, "must be a python type object"),
    (lambda: ms.string.itemsize, TypeError, "The type String has no elements"),
])
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_inexact_and_integer_types():
    inexact = {name for name in NAMES if dtype.is_inexact(_type(name).raw)}
    assert inexact == {"float16", "float32", "float64", "bfloat16", "complex64", "complex128"}
    integers = {name for name in NAMES if dtype.is_integer(_type(name).raw)}
    assert integers == set(NAMES) - inexact - {"bool"}


def test_bytes_of_a_number():
    assert [ms.common.dtype.type_size_in_bytes(t) for t in (
        ms.float32, ms.bool_, ms.bfloat16, ms.string)] == [4, 1, 2, 0]
    with pytest.raises(TypeError, match="must be a data type"):
        ms.common.dtype.type_size_in_bytes("int8")


def test_names_of_python_types():
    assert (ms.bool, ms.int, ms.float) == (ms.bool_, ms.int32, ms.float32)
    assert isinstance(ms.tensor_type, ms.TensorType)


def test_types_of_quantized_networks():
    assert [str(kind) for kind in dtype.QuantDtype][::15] == ["INT1", "INT16", "UINT15"]
    assert repr(dtype.QuantDtype.INT8) == "<QuantDtype.INT8: 7>"
    assert dtype.QuantDtype.INT8.value() == 7 and dtype.QuantDtype.UINT16.value() == 115
    assert (str(ms.qint4x2), repr(ms.qint4x2)) == ("Int4", "mindspore.int4")
    for kind in (ms.qint4x2, ms.QuantDtype.UINT4):
        assert pickle.loads(pickle.dumps(kind)) is kind
    with pytest.raises(TypeError, match="must be one that a tensor can hold"):
        ms.Tensor([1], ms.qint4x2)


@pytest.mark.parametrize("given, raw", [
    (float, torch.float32), (int, torch.int64), (bool, torch.bool), (complex, torch.complex64),
    (dtype.int_, torch.int64), (dtype.float_, torch.float32), (dtype.uint, torch.uint64),
    (dtype.complex_, torch.complex64), ("Float16", torch.float16), ("INT8", torch.int8),
    (np.int16, torch.int16), (np.dtype("uint32"), torch.uint32), ("int", torch.int64),
    (torch.float8_e5m2, torch.float8_e5m2), ("bfloat16", torch.bfloat16)])
def test_what_names_a_type(given, raw):
    assert dtype.to_raw(given) is raw


@pytest.mark.parametrize("given", [str, list, "string", dtype.number, dtype.list_, np.str_, 3, "",
                                   np.dtype("M8[s]"), object])
def test_what_names_no_type_of_tensors(given):
    with pytest.raises(TypeError, match="For 'f', the data type must be one that a tensor can"):
        dtype.to_raw(given, "f")


def test_types_of_python_objects():
    for kind, python in ((ms.bool_, bool), (ms.int8, int), (ms.uint64, int), (ms.float16, float),
                         (ms.bfloat16, float), (ms.complex64, complex), (ms.string, str),
                         (dtype.list_, list), (dtype.tuple_, tuple), (dtype.dict_, dict),
                         (dtype.type_none, type(None))):
        assert dtype.dtype_to_pytype(kind) is python
    with pytest.raises(TypeError, match="no Python type stands for"):
        dtype.dtype_to_pytype(dtype.function)
    for value, kind in ((1 + 2j, ms.complex128), (1.5, ms.float64), ("a", ms.string),
                        ([1], dtype.list_), (None, dtype.type_none), (np.int8(3), ms.int8)):
        assert ms.get_py_obj_dtype(value) is kind
    assert ms.pytype_to_dtype(ms.int8) is ms.int8 and ms.pytype_to_dtype(np.dtype("f2")) is (
        ms.float16)
    for given in (dtype.float8_e4m3fn, dtype.float8_e5m2, ms.bfloat16):
        assert ms.dtype_to_nptype(given) is np.float32
    assert [dtype.type_size_in_bytes(kind) for kind in (ms.complex128, ms.int64, dtype.list_)] == [
        16, 8, 0]


@pytest.mark.parametrize("a", NAMES)
def test_promotion_of_types_is_numpys_where_pytorch_has_none(a):
    for b in NAMES:
        one, other = getattr(torch, a), getattr(torch, b)
        found = dtype.promote_types(one, other)
        assert found is dtype.promote_types(other, one)
        try:
            want = torch.promote_types(one, other)
        except RuntimeError:
            if one.is_floating_point or other.is_floating_point:
                want = one if one.is_floating_point else other
            else:
                name = np.promote_types(a, b).name
                want = torch.float32 if name.startswith("float") else getattr(torch, name)
        assert found is want, (a, b)


def test_numbers_of_quantized_types():
    kinds = dtype.QuantDtype
    assert [kinds[name].value() for name in ("INT1", "INT16", "UINT1", "UINT16")] == [0, 15, 100,
                                                                                   115]
    assert len(kinds) == 32 and str(kinds.INT4) == "INT4"
