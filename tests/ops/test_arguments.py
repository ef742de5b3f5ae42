"""What forms of ints, shapes, axes and Tensors arguments may have, and which are refused."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.ops import arguments, operands

INTS = [3, np.int8(3), np.uint64(3), Tensor(3), Tensor([3]), Tensor([[3]], ms.int8)]
NO_INTS = [True, False, 3.0, "3", None, [3], (3,), Tensor(3.0), Tensor([3, 3]), np.float32(3)]


@pytest.mark.parametrize("value", INTS)
def test_ints(value):
    found = arguments.as_int(value, "f", "n")
    assert found == 3 and type(found) is int
    if getattr(value, "ndim", 0) < 2:
        assert arguments.as_ints(value, "f") == (3,)
    for form in (tuple, list):
        assert arguments.as_ints(form([2, value]), "f") == (2, 3)


@pytest.mark.parametrize("value", NO_INTS)
def test_no_ints(value):
    with pytest.raises(TypeError, match="For 'f', 'n' must be an int"):
        arguments.as_int(value, "f", "n")
    if not isinstance(value, (list, tuple, Tensor)) or isinstance(value, Tensor) and (
            value.is_floating_point()):
        with pytest.raises(TypeError, match="For 'f', 'shape' must be an int"):
            arguments.as_ints(value, "f")
    with pytest.raises(TypeError, match="For 'f', 'shape' must be an int"):
        arguments.as_ints((2, value), "f")


def test_shapes():
    assert arguments.as_shape(Tensor([2, 0]), "f") == (2, 0)
    assert arguments.as_ints(Tensor([-1, 4], ms.int32), "f") == (-1, 4)
    for shape in (-1, (2, -1), Tensor([-1])):
        with pytest.raises(ValueError, match="'shape' must be 0 or more"):
            arguments.as_shape(shape, "f")


def test_shapes_length_by_length_or_by_name():
    for values in ((2, 3), ((2, 3),), ([2, 3],), (Tensor([2, 3]),)):
        assert arguments.varargs(values, "f") == (2, 3)
    assert arguments.varargs((), "f", "size", [2, 3]) == (2, 3)
    assert arguments.varargs((5,), "f") == (5,)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        arguments.varargs((), "f", "size")
    with pytest.raises(TypeError, match="got multiple values for argument 'size'"):
        arguments.varargs((1,), "f", "size", (2,))


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_axes(rank):
    for axis in range(-rank, rank):
        assert arguments.axis_in(axis, rank, "f") == axis + rank * (axis < 0)
    for axis in (-rank - 1, rank):
        with pytest.raises(ValueError, match="'axis' must be in"):
            arguments.axis_in(axis, rank, "f")


def test_tensors_and_their_types():
    x = Tensor([[1, 2]], ms.int32)
    assert arguments.tensors([x, x], "f") == [x._raw, x._raw] and arguments.raw_of(
        x, "f") is x._raw
    for wrong, error in (((), ValueError), (x, TypeError), ((x, 1), TypeError), (None, TypeError)):
        with pytest.raises(error, match="For 'f', 'tensors' must"):
            arguments.tensors(wrong, "f")
    with pytest.raises(TypeError, match="'input' must be a Tensor"):
        arguments.raw_of(1, "f")
    kinds = (torch.int32, torch.int64)
    assert arguments.typed(x, "f", "x", kinds) is arguments.typed(x, "f", "x", kinds, 2) is x._raw
    for rank in (1, 3):
        with pytest.raises(ValueError, match=f"must have rank {rank}"):
            arguments.typed(x, "f", "x", arguments.FLOATS, rank)
    with pytest.raises(TypeError, match="of float16 or float32 or float64"):
        arguments.typed(x, "f", "x", arguments.FLOATS, 2)


@pytest.mark.parametrize("kind, whole", [
    (ms.int8, True), (ms.uint8, True), (ms.int16, True), (ms.int32, True), (ms.int64, True),
    (ms.bool_, False), (ms.float32, False), (ms.complex64, False)])
def test_indices(kind, whole):
    x = Tensor([0, 1], kind)
    if whole:
        found = arguments.indices_of(x, "f")
        assert found.dtype is torch.int64 and found.tolist() == [0, 1]
        assert (found is x._raw) == (kind is ms.int64)
    else:
        with pytest.raises(TypeError, match="'indices' must be integers"):
            arguments.indices_of(x, "f")
    assert arguments.indices_of([3, 4], "f").tolist() == [3, 4]


def test_axes_to_reduce():
    raw = torch.zeros(2, 3, 4)
    for given, want in ((1, (1,)), (-1, (-1,)), (None, (0, 1, 2)), ((), (0, 1, 2)),
                        ([0, 2], (0, 2)), (Tensor([1, 2]), (1, 2)), (Tensor(1), (1,)),
                        (np.int64(2), (2,))):
        assert operands.axes(given, raw) == want
    for wrong in ("0", 1.0):
        with pytest.raises(TypeError, match="an axis must be an int"):
            operands.axes(wrong, raw)
    assert operands.flag(True, "f", "a") is True and operands.flag(False, "f", "a") is False
    for wrong in (1, 0, None, Tensor(True)):
        with pytest.raises(TypeError, match="For 'f', 'a' must be a bool"):
            operands.flag(wrong, "f", "a")
