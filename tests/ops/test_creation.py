"""New tensors: shapes in all forms, default types, values cut to the type, and what is refused."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

SHAPES = [((2, 3), (2, 3)), ([2, 3], (2, 3)), (4, (4,)), ((), ()), (Tensor([2, 3]), (2, 3)),
          ((0, 2), (0, 2)), (Tensor(4), (4,)), ((np.int32(2), 3), (2, 3))]


@pytest.mark.parametrize("given, shape", SHAPES)
@pytest.mark.parametrize("call, value", [(ops.zeros, 0), (ops.ones, 1), (ops.empty, None)])
def test_shapes_and_types(call, value, given, shape):
    for dtype in (None, ms.int8, ms.complex64, ms.bool_):
        found = call(given, dtype=dtype)
        assert found.shape == shape and found.dtype is (dtype or ms.float32)
        assert value is None or (found == value).all()


@pytest.mark.parametrize("call", [ops.zeros, ops.ones, ops.empty])
@pytest.mark.parametrize("shape, error", [((2, -1), ValueError), (-1, ValueError),
                                          (1.5, TypeError), ("2", TypeError), (None, TypeError),
                                          ((2, 1.0), TypeError), (True, TypeError)])
def test_no_shapes(call, shape, error):
    with pytest.raises(error, match=f"For '{call.__name__}'"):
        call(shape)


def test_shapes_length_by_length():
    assert ops.empty(2, 3).shape == (2, 3) and ops.empty(2).shape == (2,)
    for size in ((2, 3), [2, 3]):
        assert Tensor([1], ms.int8).new_empty(size).dtype is ms.int8
        assert Tensor([1], ms.int8).new_empty(size, dtype=ms.float16).dtype is ms.float16


@pytest.mark.parametrize("dtype, value, want", [
    (None, 2.9, 2), (ms.float32, 2.5, 2.5), (ms.int32, -1.9, -1), (ms.bool_, 0.3, True),
    (ms.bool_, 0, False), (ms.complex64, 1 + 2j, 1 + 2j), (ms.float64, Tensor([0.5]), 0.5),
    (ms.int32, Tensor(3.7), 3), (ms.uint8, True, 1)])
def test_one_value(dtype, value, want):
    kind = dtype or ms.int64
    like = ops.zeros((2, 3), kind)
    for found in (ops.full((2, 3), value, dtype=dtype), ops.full([2, 3], value, dtype=dtype),
                  ops.fill(kind, (2, 3), value), ops.full_like(like, value),
                  ops.full_like(Tensor(np.zeros((2, 3))), value, dtype=kind),
                  like.fill(value), like.new_full((2, 3), value),
                  Tensor([1.0]).new_full((2, 3), value, dtype=kind), ops.fills(like, value)):
        assert found.dtype is kind and found.tolist() == [[want] * 3] * 2


@pytest.mark.parametrize("size, value, error", [
    (3, 1, TypeError), (Tensor([2]), 1, TypeError), ((2,), "1", TypeError),
    ((2,), None, TypeError), ((2,), [1], TypeError), ((-1,), 1, ValueError)])
def test_what_full_refuses(size, value, error):
    with pytest.raises(error):
        ops.full(size, value)


def test_like_another():
    x = Tensor([[5, 6, 7]], ms.int16)
    for call, value in ((ops.zeros_like, 0), (ops.ones_like, 1), (ops.empty_like, None)):
        for dtype in (None, ms.float64):
            found = call(x, dtype=dtype)
            assert found.shape == (1, 3) and found.dtype is (dtype or ms.int16)
            assert value is None or found.tolist() == [[value] * 3]
        with pytest.raises(TypeError, match="must be a Tensor"):
            call([1, 2])
    assert x.new_zeros((2, 1)).tolist() == [[0], [0]] and x.new_ones(2).tolist() == [1, 1]
    assert x.new_zeros(2).dtype is x.new_ones(2).dtype is ms.int16
    assert x.new_zeros(2, ms.float32).dtype is x.new_ones(2, ms.float32).dtype is ms.float32


@pytest.mark.parametrize("n, m", [(3, None), (2, 4), (4, 2), (0, 3), (3, 0)])
@pytest.mark.parametrize("dtype", [None, ms.int32, ms.bool_, ms.uint16, ms.uint64])
def test_ones_on_the_diagonal(n, m, dtype):
    found = ops.eye(n, m, dtype)
    assert found.dtype is (dtype or ms.float32)
    np.testing.assert_array_equal(found.asnumpy(), np.eye(n, m))


@pytest.mark.parametrize("arguments, error", [((-1,), ValueError), ((2, -1), ValueError),
                                              ((2.0,), TypeError), ((2, "3"), TypeError)])
def test_no_matrices(arguments, error):
    with pytest.raises(error, match="For 'eye'"):
        ops.eye(*arguments)


def test_numbers():
    assert [ops.scalar_cast(v, k) for v, k in (
        (2.7, ms.int64), (2, ms.float64), (0.0, ms.bool_), (3, ms.bool_))] == [2, 2.0, False, True]
    with pytest.raises(ValueError, match="must be int64, float64 or bool_"):
        ops.scalar_cast(1, ms.float32)
    assert ops.scalar_to_tensor(3).dtype is ms.float32
    assert ops.scalar_to_tensor(True, ms.int8).tolist() == 1
    for wrong in ("1", 1j, None):
        with pytest.raises(TypeError, match="must be a bool, int or float"):
            ops.scalar_to_tensor(wrong)
    assert ops.scalar_to_array(3).dtype is ms.int64 and ops.scalar_to_array(0.5).shape == ()
    for numbers, kind in (((1, 2.5), ms.int32), ((1.5, 2), ms.float32), (range(3), ms.int32)):
        found = ops.tuple_to_array(numbers)
        assert found.dtype is kind and found.tolist() == [kind is ms.int32 and int(n) or n
                                                          for n in numbers]
    for wrong in ((), 3, Tensor([1])):
        with pytest.raises(TypeError, match="must be a tuple of numbers"):
            ops.tuple_to_array(wrong)
    assert ops.cast(2.9, ms.int32).tolist() == 2 and ops.cast(Tensor([0, 2]), ms.bool_).dtype \
        is ms.bool_
