"""Numbers that are assigned to elements, and don't fit their type."""

import numpy as np
import pytest

from lamella import Tensor


@pytest.mark.parametrize("value", [-129, -128, -1, 0, 127, 128, 255, 256, 2**31 - 1, 2**31,
                                   2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**64 + 5, -2**63,
                                   -2**63 - 1])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_integers_wrap_around(kind, value):
    x = Tensor(np.ones(3, kind))
    x[1] = value
    bits = np.dtype(kind).itemsize * 8
    wrapped = value % 2**bits
    if kind.startswith("int") and wrapped >= 2 ** (bits - 1):
        wrapped -= 2**bits
    assert x.tolist() == [1, wrapped, 1]


@pytest.mark.parametrize("value, held", [
    (65504.0, 65504.0), (65505.0, 65504.0), (65520.0, np.inf), (-65504.0, -65504.0),
    (-65520.0, -np.inf), (np.inf, np.inf), (70000, np.inf)])
def test_numbers_beyond_half_precision(value, held):
    x = Tensor(np.ones(2, np.float16))
    x[0] = value
    assert x.tolist() == [held, 1.0]
