"""Dense copies of arrays: equal to NumPy's, and aligned where they are large."""

import numpy as np
import pytest

import lamella as ms
from lamella.machine.alignment import ALIGNED, dense_copy

NUMBERS = np.random.default_rng(3).normal(size=(480, 400))


@pytest.mark.parametrize("array", [
    NUMBERS, NUMBERS.T, NUMBERS[::-2, ::3], NUMBERS.astype(">f8"), NUMBERS[:, :0], NUMBERS[:2, :3],
    np.broadcast_to(NUMBERS[0], (200, 400)), NUMBERS > 0, np.array(3.5)])
@pytest.mark.parametrize("kind", ["float32", "float64", "complex64"])
def test_a_copy_has_the_values_and_memory_of_its_own(array, kind):
    copy = dense_copy(array, np.dtype(kind))
    np.testing.assert_array_equal(copy, array.astype(kind), strict=True)
    assert copy.flags.c_contiguous and copy.flags.writeable and copy.dtype.isnative
    assert not np.shares_memory(copy, array)


@pytest.mark.parametrize("elements, aligned", [(2**16 - 1, False), (2**16, True), (99999, True)])
def test_copies_from_256_kib_on_are_aligned(elements, aligned):
    starts = [dense_copy(np.ones(elements), np.dtype("float32")) for _ in range(64)]
    assert all(copy.ctypes.data % ALIGNED == 0 for copy in starts) is aligned


def test_a_large_tensor_of_an_array_is_aligned_and_does_not_follow_the_array():
    array = NUMBERS.T.copy()
    made = [ms.Tensor(array) for _ in range(8)]
    assert all(tensor.data_ptr() % ALIGNED == 0 for tensor in made)
    before = array.copy()
    array += 1
    np.testing.assert_array_equal(made[0].asnumpy(), before)
