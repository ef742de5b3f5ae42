"""RowTensors: how they are made, and what is refused."""

import pytest

import lamella as ms
from lamella import Tensor
from lamella.sparse import RowTensor

X = RowTensor(Tensor([1], ms.int32), Tensor([[1.0, 2.0]]), (3, 2))


def test_of_another():
    other = RowTensor(row_tensor=X)
    assert other.dense_shape == (3, 2) and other.values is X.values and other.indices is X.indices
    assert isinstance(X.with_values(X.values * 2), RowTensor)
    assert X.with_values(X.values * 2).values.asnumpy().tolist() == [[2.0, 4.0]]


@pytest.mark.parametrize("name", ["indices", "values", "shape"])
def test_another_goes_alone(name):
    with pytest.raises(TypeError, match="must be None if 'row_tensor' is given"):
        RowTensor(row_tensor=X, **{name: getattr(X, name)})
    with pytest.raises(TypeError, match="'row_tensor' must be a RowTensor, but got Tensor"):
        RowTensor(row_tensor=X.values)


@pytest.mark.parametrize("indices, values", [
    ([[1]], [[1.0, 2.0]]), ([1, 2], [[1.0, 2.0]]), ([1], [[1.0]])])
def test_shapes_that_do_not_go_together(indices, values):
    with pytest.raises(ValueError, match=r"'indices' must be of shape \(n,\)"):
        RowTensor(Tensor(indices, ms.int32), Tensor(values), (3, 2))
