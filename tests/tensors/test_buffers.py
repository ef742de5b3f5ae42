"""Tensors over memory of others, and two Tensors that exchange what they hold."""

import numpy as np
import pytest

import lamella as ms


def test_a_buffer_is_shared():
    memory = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = ms.frombuffer(memory, ms.int32, count=2, offset=4)
    memory[4] = 9
    assert x.asnumpy().tolist() == [9, 2] and x.dtype == ms.int32


def test_a_buffer_that_is_read_only_is_copied():
    assert ms.frombuffer(b"\x01\x02", ms.uint8).asnumpy().tolist() == [1, 2]


@pytest.mark.parametrize("arguments", [
    (bytearray(), ms.uint8), (bytearray(4), ms.uint8, 0), (bytearray(4), ms.uint8, -2),
    (bytearray(4), ms.uint8, -1, 4), (bytearray(4), ms.uint8, -1, -1), (bytearray(6), ms.int32),
    (bytearray(8), ms.int32, 3),
], ids=range(7))
def test_wrong_buffers(arguments):
    with pytest.raises(RuntimeError, match="frombuffer"):
        ms.frombuffer(*arguments)


def parameter(values):
    return ms.Parameter(ms.Tensor(values), name=f"p{len(values)}")


@pytest.mark.parametrize("make", [ms.Tensor, parameter])
def test_swap(make):
    a, b = make([1.0]), make([2.0, 3.0])
    a.mark = "a"
    ms.swap_tensors(a, b)
    assert a.asnumpy().tolist() == [2, 3] and (b + 0).asnumpy().tolist() == [1]
    assert b.mark == "a" and not hasattr(a, "mark")


def test_a_tensor_and_a_parameter_are_not_swapped():
    with pytest.raises(TypeError, match="must be Tensors or both Parameters"):
        ms.swap_tensors(ms.Tensor([1.0]), ms.Parameter(ms.Tensor([1.0])))


@pytest.mark.parametrize("count, offset, want", [
    (-1, 0, [1, 2, 3]), (-1, 4, [2, 3]), (-1, 8, [3]), (1, 0, [1]), (3, 0, [1, 2, 3]),
    (2, 4, [2, 3]), (1, 8, [3])])
def test_parts_of_a_buffer(count, offset, want):
    memory = np.array([1, 2, 3], np.int32)
    assert ms.frombuffer(memory, ms.int32, count, offset).tolist() == want
    with pytest.raises(RuntimeError, match="are not enough for"):
        ms.frombuffer(memory, ms.int32, 4 - offset // 4, offset)
    with pytest.raises(RuntimeError, match="whole elements of 4 bytes"):
        ms.frombuffer(memory, ms.int32, -1, offset + 1)
