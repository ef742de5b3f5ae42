"""COOTensors: how they are made, what they are, and what is refused."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.sparse import COOTensor, SparseTensor

PLACES, VALUES = Tensor([[0, 1], [1, 2], [0, 1]], ms.int32), Tensor([1.0, 2.0, 4.0])
X = COOTensor(PLACES, VALUES, (2, 3))


def test_of_another():
    copied = COOTensor(coo_tensor=X)
    assert copied.shape == (2, 3) and copied.values is VALUES
    made = SparseTensor(PLACES, VALUES, (2, 3))
    assert isinstance(made, COOTensor) and made.to_tuple()[2] == (2, 3)
    np.testing.assert_array_equal(made.to_dense().asnumpy(), [[0, 5, 0], [0, 0, 2]])


@pytest.mark.parametrize("name, value", [
    ("indices", PLACES), ("values", VALUES), ("shape", (2, 3))])
def test_another_goes_alone(name, value):
    with pytest.raises(TypeError, match="must be None if 'coo_tensor' is given"):
        COOTensor(coo_tensor=X, **{name: value})


@pytest.mark.parametrize("indices, values, shape", [
    (PLACES, VALUES, (2, 3, 4)), (PLACES, VALUES[:2], (2, 3)), (PLACES, VALUES[:, None], (2, 3)),
    (PLACES[0], VALUES, (2, 3))])
def test_shapes_that_do_not_go_together(indices, values, shape):
    with pytest.raises(ValueError, match=r"'indices' must be of shape \(n, .*'values' of shape"):
        COOTensor(indices, values, shape)


def test_places_that_come_twice_are_one():
    one = X.coalesce()
    assert one.indices.asnumpy().tolist() == [[0, 1], [1, 2]]
    assert one.values.asnumpy().tolist() == [5.0, 2.0]
    np.testing.assert_array_equal(X.to_csr().to_dense().asnumpy(), X.to_dense().asnumpy())


@pytest.mark.parametrize("call, error, words", [
    (lambda: COOTensor(coo_tensor=VALUES), TypeError, "'coo_tensor' must be a COOTensor"),
    (lambda: COOTensor(Tensor([[0]]), Tensor([1.0]), (2,)).to_csr(), ValueError, "a matrix"),
    (lambda: X + 1, TypeError, r"'\+' takes a Tensor or a COOTensor, but got int"),
    (lambda: X - "a", TypeError, "'-' takes a Tensor or a COOTensor, but got str"),
    (lambda: X + Tensor(np.ones((3, 2), np.float32)), ValueError, "must have one shape"),
    (lambda: X * X, TypeError, r"'\*' takes a Tensor, but got COOTensor"),
    (lambda: X / 2, TypeError, "'/' takes a Tensor, but got int"),
    (lambda: X / Tensor([1.0]), ValueError, "both sides of '/' must have one shape"),
    (lambda: ms.ops.coo_concat([X]), ValueError, "two COOTensors or more"),
    (lambda: ms.ops.coo_concat([X, COOTensor(PLACES, VALUES, (2, 4))], 0), ValueError, "axis 0"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
