"""CSRTensors: how they are made, what they are, and what is refused."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.sparse import CSRTensor

STARTS, COLUMNS = Tensor([0, 1, 3], ms.int32), Tensor([1, 0, 2], ms.int32)
VALUES = Tensor([1.0, 2.0, 4.0])
X = CSRTensor(STARTS, COLUMNS, VALUES, (2, 3))
DENSE = np.array([[0, 1, 0], [2, 0, 4]], np.float32)


def test_of_another():
    assert CSRTensor(csr_tensor=X).to_tuple()[3] == (2, 3)
    np.testing.assert_array_equal(CSRTensor(csr_tensor=X).to_dense().asnumpy(), DENSE)
    np.testing.assert_array_equal(X.to_coo().to_dense().asnumpy(), DENSE)


@pytest.mark.parametrize("name, value", [
    ("indptr", STARTS), ("indices", COLUMNS), ("values", VALUES), ("shape", (2, 3))])
def test_another_goes_alone(name, value):
    with pytest.raises(TypeError, match="must be None if 'csr_tensor' is given"):
        CSRTensor(csr_tensor=X, **{name: value})


@pytest.mark.parametrize("starts, columns, values, shape", [
    (STARTS, COLUMNS, VALUES, (2,)), (STARTS, COLUMNS, VALUES, (3, 3)),
    (STARTS, COLUMNS[:2], VALUES, (2, 3)), (STARTS, COLUMNS, VALUES[:, None], (2, 3)),
    (STARTS, COLUMNS, ops.ones((3, 4)), (2, 3, 5))])
def test_shapes_that_do_not_go_together(starts, columns, values, shape):
    with pytest.raises(ValueError, match=r"'indptr' of shape \(rows \+ 1,\)"):
        CSRTensor(starts, columns, values, shape)


def test_values_may_be_rows():
    rows = CSRTensor(STARTS, COLUMNS, ops.ones((3, 2)) * VALUES[:, None], (2, 3, 2))
    np.testing.assert_array_equal(rows.to_dense().asnumpy(), np.stack([DENSE, DENSE], -1))
    with pytest.raises(ValueError, match="For 'CSRTensor.to_coo', the tensor must be a matrix"):
        rows.to_coo()


def test_sums_and_products():
    np.testing.assert_array_equal((X + X).to_dense().asnumpy(), 2 * DENSE)
    np.testing.assert_array_equal((X - X).to_dense().asnumpy(), 0 * DENSE)
    np.testing.assert_array_equal(
        X.add(X, Tensor(3.0), Tensor(-1.0)).to_dense().asnumpy(), 2 * DENSE)
    right = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(X.mm(Tensor(right)).asnumpy(), DENSE @ right)
    np.testing.assert_array_equal(
        X.mm(Tensor(right).to_csr()).to_dense().asnumpy(), DENSE @ right)
    np.testing.assert_array_equal(X.mv(Tensor(right[:, 1:])).asnumpy(), DENSE @ right[:, 1:])
    np.testing.assert_array_equal(X.sum(1).asnumpy(), DENSE.sum(1, keepdims=True))
    np.testing.assert_array_equal(X.sum(0).asnumpy(), DENSE.sum(0, keepdims=True))


@pytest.mark.parametrize("call, error, words", [
    (lambda: CSRTensor(csr_tensor=VALUES), TypeError, "'csr_tensor' must be a CSRTensor"),
    (lambda: X + 1, TypeError, r"'\+' takes a CSRTensor, but got int"),
    (lambda: X - VALUES, TypeError, "'-' takes a CSRTensor, but got Tensor"),
    (lambda: X + CSRTensor(STARTS, COLUMNS, VALUES, (2, 4)), ValueError, "must have one shape"),
    (lambda: X.mm(X), ValueError, "columns of 'a' must be as many as the rows of 'b'"),
])
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
