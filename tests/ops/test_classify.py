"""What elements and types are: NaN, infinite, real, complex, signed."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

VALUES = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -6e4])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal"])
def test_elements(name, kind):
    values = VALUES.astype(kind)
    for found in (getattr(ops, name)(Tensor(values)), getattr(Tensor(values), name)()):
        assert found.dtype is ms.bool_
        np.testing.assert_array_equal(found.asnumpy(), getattr(np, name)(values))
    whole = Tensor([3, 0, -1])
    assert getattr(ops, name)(whole).tolist() == [name in ("isfinite", "isreal")] * 3


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isreal"])
def test_complex_elements(name):
    values = np.array([1 + 1j, 2, complex(np.nan, 0), complex(0, np.nan), complex(0, np.inf), 0])
    np.testing.assert_array_equal(getattr(ops, name)(Tensor(values)).asnumpy(),
                                  getattr(np, name)(values))


@pytest.mark.parametrize("kind, floating, is_complex, signed", [
    ("float16", 1, 0, 1), ("bfloat16", 1, 0, 1), ("float32", 1, 0, 1), ("float64", 1, 0, 1),
    ("complex64", 0, 1, 1), ("complex128", 0, 1, 1), ("bool_", 0, 0, 0), ("int8", 0, 0, 1),
    ("int64", 0, 0, 1), ("uint8", 0, 0, 0), ("uint16", 0, 0, 0), ("uint64", 0, 0, 0)])
def test_types(kind, floating, is_complex, signed):
    x = ops.zeros(2, getattr(ms, kind))
    assert ops.is_floating_point(x) is x.is_floating_point() is bool(floating)
    assert ops.is_complex(x) is x.is_complex() is bool(is_complex)
    assert x.is_signed() is bool(signed)
