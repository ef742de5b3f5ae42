"""Functions of `mint` that join Tensors."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, mint


@pytest.mark.parametrize("function", [mint.cat, mint.concat])
@pytest.mark.parametrize("kinds, wanted", [
    (("int32",), ms.int32), (("float16",), ms.float16), (("int32", "float16"), ms.float16),
    (("float16", "int32", "float32"), ms.float32), (("bool", "int8"), ms.int8),
    (("int64", "float64", "complex64"), ms.complex128)])
def test_types_are_promoted(function, kinds, wanted):
    parts = [np.ones((1 + i, 2), kind) for i, kind in enumerate(kinds)]
    found = function([Tensor(part) for part in parts])
    assert found.dtype is wanted
    np.testing.assert_array_equal(found.asnumpy(), np.concatenate(parts))


def test_one_tensor_is_copied():
    x = Tensor([[1, 2]])
    found = mint.cat((x,), 1)
    found[0, 0] = 5
    assert x.tolist() == [[1, 2]] and found.tolist() == [[5, 2]]


def test_nothing_is_not_joined():
    with pytest.raises((TypeError, ValueError), match="cat"):
        mint.cat([])
