"""Bits of integers of every width, beside NumPy's."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

KINDS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def limits(kind):
    info = np.iinfo(kind)
    return np.array([info.min, info.max, 0, 1, info.max // 3, info.max - 6], kind)


@pytest.mark.parametrize("kind", KINDS)
def test_set_bits_are_counted(kind):
    values = limits(kind)
    width = 8 * values.itemsize
    found = ops.population_count(Tensor(values))
    assert found.dtype is ms.uint8
    assert found.tolist() == [(int(v) % 2**width).bit_count() for v in values]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_two_numbers(name, kind):
    a, b = limits(kind), limits(kind)[::-1].copy()
    for other in (b, 5):
        found = getattr(ops, name)(Tensor(a), Tensor(b) if other is b else 5)
        wanted = getattr(np, name)(a, b if other is b else kind(5))
        assert found.asnumpy().dtype == kind
        np.testing.assert_array_equal(found.asnumpy(), wanted)
    np.testing.assert_array_equal(ops.invert(Tensor(a)).asnumpy(), ~a)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor",
                                  "bitwise_left_shift", "bitwise_right_shift"])
@pytest.mark.parametrize("a, b", [
    (Tensor([1.0]), Tensor([1])), (Tensor([1]), Tensor([1.0])), (Tensor([1]), 1.0),
    (1.0, Tensor([1])), (Tensor([1.0]), 1), (Tensor([1j]), Tensor([1])),
    (Tensor([True]), 0.5)], ids=repr)
def test_fractions_have_no_bits(name, a, b):
    with pytest.raises(TypeError, match=f"For '{name}', the tensors must hold integers or bool"):
        getattr(ops, name)(a, b)


def test_booleans_and_mixed_types():
    a, b = Tensor([True, True, False]), Tensor([True, False, False])
    assert ops.bitwise_and(a, b).tolist() == [True, False, False]
    assert ops.bitwise_or(a, b).tolist() == [True, True, False]
    assert ops.bitwise_xor(a, b).tolist() == [False, True, False]
    mixed = ops.bitwise_or(Tensor([1, -128], ms.int8), Tensor([2, 4], ms.int32))
    assert mixed.dtype is ms.int32 and mixed.tolist() == [3, -124]
    assert (6 & Tensor([3, 12])).tolist() == [2, 4] and (6 | Tensor([9])).tolist() == [15]
    assert (6 ^ Tensor([3])).tolist() == [5] and (1 << Tensor([4])).tolist() == [16]
    assert (-16 >> Tensor([2])).tolist() == [-4]
