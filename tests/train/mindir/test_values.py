"""What the messages of a MindIR file hold, as Python's values and Tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.train.mindir import messages as of
from lamella.train.mindir.values import MONAD, Weights, value
from lamella.train.wire_format import Message, parse, write


def attribute(**fields: Any) -> Any:
    """An attribute as it is read from a file."""
    return parse(write(Message(name="a", **fields), of.ATTRIBUTE), of.ATTRIBUTE)


def tensor(**fields: Any) -> Any:
    return parse(write(Message(**fields), of.TENSOR), of.TENSOR)


@pytest.mark.parametrize("fields, held", [
    ({"type": of.BOOL, "i": 1}, True), ({"type": of.BOOL, "i": 0}, False),
    ({"type": of.BOOL, "ints": [0]}, False), ({"type": of.BOOL, "ints": [1], "i": 0}, True),
    ({"type": of.INT64, "i": -3}, -3), ({"type": of.INT64, "ints": [4]}, 4),
    ({"type": of.INT64, "ints": [4, 5]}, (4, 5)), *[({"type": each, "i": 7}, 7)
                                                    for each in of.WHOLE],
    ({"type": of.FLOAT, "f": 0.5}, 0.5), ({"type": of.FLOAT, "floats": [0.25, 2.0]}, (0.25, 2.0)),
    ({"type": of.DOUBLE, "d": 0.1}, 0.1), ({"type": of.DOUBLE, "doubles": [0.1]}, 0.1),
    ({"type": of.STRING, "s": "né".encode()}, "né"), ({"type": of.STRING, "strings": [b"x"]}, "x"),
    ({"type": of.NONE}, None), ({"type": of.TUPLE}, ()), ({"type": of.LIST}, []),
    ({"type": of.UMONAD}, MONAD), ({"type": of.IOMONAD}, MONAD)], ids=range(26))
def test_what_an_attribute_holds(fields, held):
    found = value(attribute(**fields), Weights("."))
    assert found == held and type(found) is type(held)


def test_what_attributes_hold_together():
    inner = [Message(type=of.INT64, ints=[2]), Message(type=of.LIST, values=[
        Message(type=of.STRING, s=b"x")])]
    assert value(attribute(type=of.TUPLE, values=inner), Weights(".")) == (2, ["x"])
    one, two = (Message(dims=[2], data_type=1, float_data=[n, 2.0]) for n in (1.0, 3.0))
    for fields, wanted in (({"type": of.TENSOR_VALUE, "t": one}, [1, 2]),
                           ({"type": of.SOME_TENSORS, "tensors": [two]}, [3, 2]),
                           ({"type": of.TENSOR_VALUE, "t": one, "tensors": [two]}, [3, 2])):
        found = value(attribute(**fields), Weights("."))
        assert isinstance(found, ms.Tensor) and found.asnumpy().tolist() == wanted
    found = value(attribute(type=of.SOME_TENSORS, tensors=[one, two]), Weights("."))
    assert [each.asnumpy().tolist() for each in found] == [[1, 2], [3, 2]]
    for kind in (of.SCALAR, 10, 18, 22):
        with pytest.raises(ValueError, match=f"its attribute 'a' is of type {kind}, which is not"):
            value(attribute(type=kind), Weights("."))


@pytest.mark.parametrize("number", of.TENSORS)
def test_tensors_of_every_type(number):
    kind = getattr(torch, of.TENSORS[number])
    raw = torch.tensor([[1, 0, 1]]).to(kind)
    data = bytes(raw.view(torch.uint8).numpy().data)
    found = Weights(".").tensor(tensor(dims=[1, 3], data_type=number, raw_data=data))
    assert found.dtype is kind and torch.equal(found, raw)
    with pytest.raises(ValueError, match=rf"shape \(1, 3\) has {len(data) - 1} bytes"):
        Weights(".").tensor(tensor(dims=[1, 3], data_type=number, raw_data=data[1:]))


@pytest.mark.parametrize("field", ["float_data", "int32_data", "int64_data", "double_data",
                                   "uint64_data"])
def test_numbers_one_by_one(field):
    numbers = [1.0, 2.0] if field in ("float_data", "double_data") else [1, 2]
    found = Weights(".").tensor(tensor(dims=[2, 1], data_type=11, **{field: numbers}))
    assert found.dtype is torch.float64 and found.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match=r"shape \(3,\) has 2 elements"):
        Weights(".").tensor(tensor(dims=[3], data_type=1, **{field: numbers}))


def test_a_tensor_of_one_element_has_no_dimensions():
    found = Weights(".").tensor(tensor(dims=[], data_type=6, raw_data=b"\7\0\0\0"))
    assert found.shape == () and int(found) == 7
    empty = Weights(".").tensor(tensor(dims=[0, 3], data_type=1))
    assert empty.shape == (0, 3)


@pytest.mark.parametrize("fields, words", [
    ({"dims": [-1], "data_type": 1}, r"has the shape \(-1,\)"),
    ({"dims": [1] * 33, "data_type": 1, "float_data": [1.0]}, "has the shape"),
    ({"dims": [1], "data_type": 1, "compression_type": 1, "float_data": [1.0]}, "compressed"),
    ({"dims": [1], "data_type": 0, "float_data": [1.0]}, "of type 0, which is not known"),
    ({"dims": [1], "data_type": 8, "float_data": [1.0]}, "of type 8, which is not known")])
def test_tensors_that_can_not_be_read(fields, words):
    with pytest.raises(ValueError, match=words):
        Weights(".").tensor(tensor(**fields))
    most = tensor(dims=[1] * 32, data_type=1, float_data=[1.0])
    assert Weights(".").tensor(most).dim() == 32


@pytest.mark.parametrize("offset, length, fits", [
    (0, 8, True), (8, 8, True), (4, 8, True), (9, 8, False), (16, 8, False), (-1, 8, False),
    (0, -1, False), (0, 17, False), (-8, 16, False)])
def test_weights_beside_the_file(tmp_path, offset, length, fits):
    numbers = np.arange(1, 5, dtype="<f4")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "data").write_bytes(numbers.tobytes())
    place = Message(location="inner/data", offset=offset, length=length)
    given = tensor(dims=[2], data_type=1, external_data=place)
    if fits:
        assert Weights(str(tmp_path)).tensor(given).tolist() == numbers[offset // 4:][:2].tolist()
    else:
        with pytest.raises(ValueError, match="the file 'inner/data' with its weights is cut off"):
            Weights(str(tmp_path)).tensor(given)
    nothing = tensor(dims=[0], data_type=1, external_data=Message(
        location="inner/data", offset=16, length=0))
    assert Weights(str(tmp_path)).tensor(nothing).shape == (0,)
    for folder in (tmp_path / "inner", tmp_path / "none"):
        with pytest.raises(ValueError, match="should lie in the file 'inner/data' beside it"):
            Weights(str(folder)).tensor(given)


def test_weights_that_lie_elsewhere_are_not_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "data").write_bytes(bytes(8))
    (tmp_path / "in2").write_bytes(bytes(8))
    (tmp_path / "in" / "link").symlink_to(tmp_path / "data")
    for place in ("../data", "../in2", str(tmp_path / "data"), "link", "", "."):
        given = tensor(dims=[2], data_type=1, external_data=Message(location=place, length=8))
        with pytest.raises(ValueError, match="beside it"):
            Weights(str(tmp_path / "in")).tensor(given)
