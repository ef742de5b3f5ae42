"""The same elements in another shape, for every rank and both ends of axes."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.arange(2 * 3 * 4).reshape(2, 3, 4)
T = Tensor(X)


def same(found, wanted):
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("first, last, shape", [
    (0, -1, (24,)), (1, -1, (2, 12)), (0, 1, (6, 4)), (-3, -2, (6, 4)), (1, 1, (2, 3, 4)),
    (2, 2, (2, 3, 4)), (-1, -1, (2, 3, 4)), (-2, 2, (2, 12))])
def test_dimensions_as_one(first, last, shape):
    wanted = X.reshape(shape)
    for found in (ops.flatten(T, start_dim=first, end_dim=last), T.flatten(first, last),
                  T.flatten(start_dim=first, end_dim=last)):
        same(found, wanted)
    if last == -1:
        same(T.flatten(first), wanted)


def test_dimensions_reversed_and_as_one():
    same(ops.flatten(T, "F"), X.T.reshape(4, 6))
    same(T.flatten("F"), X.flatten("F"))
    same(ops.flatten(T), X.reshape(2, 12))
    for x in (Tensor(3.0), Tensor([3.0])):
        for order in "CF":
            assert ops.flatten(x, order).shape == (1,)


@pytest.mark.parametrize("call, kind", [
    (lambda: ops.flatten(T, 1), TypeError), (lambda: ops.flatten(T, "A"), ValueError),
    (lambda: ops.flatten(T, start_dim=2, end_dim=1), ValueError),
    (lambda: ops.flatten(T, start_dim=3), ValueError), (lambda: ops.flatten(T, end_dim=3),
                                                        ValueError),
    (lambda: ops.flatten(T, start_dim=-4), ValueError), (lambda: ops.squeeze(T, 3), ValueError),
    (lambda: ops.squeeze(T, (0, -4)), ValueError), (lambda: ops.squeeze(Tensor(1.0), 1),
                                                    ValueError),
    (lambda: ops.unsqueeze(T, 4), ValueError), (lambda: ops.unsqueeze(T, -5), ValueError),
    (lambda: ops.expand_dims(T, 4), ValueError), (lambda: ops.expand_dims(T, -5), ValueError),
    (lambda: ops.is_nonzero(T), ValueError), (lambda: ops.is_nonzero(ops.zeros(0)), ValueError),
    (lambda: T.resize(2, -1), ValueError), (lambda: T.unflatten(3, (2, 2)), ValueError)])
def test_what_does_not_fit(call, kind):
    with pytest.raises(kind, match="^For '"):
        call()


@pytest.mark.parametrize("axis, shape", [
    (None, (2, 3)), ((), (2, 3)), (0, (2, 1, 3)), (-1, (1, 2, 1, 3)), ((0, 2), (2, 3, 1)),
    ((-2, 0), (1, 2, 3, 1)), (1, (1, 2, 1, 3, 1)), ([2, 4], (1, 2, 3))], ids=str)
def test_without_dimensions_of_length_1(axis, shape):
    x = ops.ones((1, 2, 1, 3, 1))
    wanted = np.ones((1, 2, 1, 3, 1)).squeeze(
        None if axis in (None, ()) else tuple(a for a in np.atleast_1d(axis) if a not in (1, -2)))
    assert ops.squeeze(x, axis).shape == wanted.shape
    assert x.squeeze(axis).shape == wanted.shape
    number = Tensor(1.0)
    assert ops.squeeze(number, 0).shape == ops.squeeze(number, -1).shape == number.squeeze().shape
    assert x.squeeze().shape == (2, 3)


@pytest.mark.parametrize("axis", range(-4, 4))
def test_one_more_dimension(axis):
    wanted = np.expand_dims(X, axis)
    for found in (ops.unsqueeze(T, axis), ops.expand_dims(T, axis), T.unsqueeze(axis),
                  T.unsqueeze(dim=axis), T.expand_dims(axis)):
        same(found, wanted)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (4, 6), (3, 10), (), (0,), (2, 0, 3)], ids=str)
def test_more_or_fewer_elements(shape):
    count = int(np.prod(shape))
    wanted = np.concatenate([X.ravel(), np.zeros(100)])[:count].reshape(shape)
    same(T.resize(shape), wanted)
    if shape:
        same(T.resize(*shape), wanted)
    same(T.resize(), X)


def test_bytes_as_another_type_and_other_shapes():
    same(Tensor(X.astype("f4")).view(ms.int32), X.astype("f4").view("i4"))
    same(Tensor(X.astype("f4")).view(dtype=ms.int32), X.astype("f4").view("i4"))
    for found in (T.view(6, 4), T.view((6, 4)), T.reshape(6, -1), T.reshape((-1, 4)),
                  ops.reshape(T, Tensor([6, 4])), ops.view_as(T, ops.ones((6, 4)))):
        same(found, X.reshape(6, 4))
    for axis in (1, -2):
        same(T.unflatten(axis, (3, 1)), X.reshape(2, 3, 1, 4))
    same(T.unflatten(-1, (2, -1)), X.reshape(2, 3, 2, 2))


def test_repeated_without_copying():
    one = Tensor(X[:, :1])
    wanted = np.broadcast_to(X[:, :1], (5, 2, 3, 4))
    for found in (ops.broadcast_to(one, (5, -1, 3, -1)), ops.expand(one, (5, 2, 3, 4)),
                  ops.expand_as(one, ops.ones((5, 2, 3, 4))), one.expand(5, -1, 3, -1),
                  one.broadcast_to((5, 2, 3, 4)), one.expand_as(ops.ones((5, 2, 3, 4)))):
        same(found, wanted)


@pytest.mark.parametrize("value, wanted", [(0.0, False), (-0.5, True), (0, False), (3, True),
                                           (True, True), (False, False), (1j, True)])
def test_whether_a_number_is_not_0(value, wanted):
    for x in (Tensor(value), Tensor([[value]])):
        assert ops.is_nonzero(x) is wanted


def test_what_a_tensor_is():
    assert (ops.shape(T), ops.rank(T), ops.size(T), ops.numel(T)) == ((2, 3, 4), 3, 24, 24)
    assert ops.dyn_shape(T).tolist() == [2, 3, 4] and ops.dyn_shape(T).dtype is ms.int64
    assert ops.dtype(T) is ms.int64 and ops.type_as(T, Tensor(1.0)).dtype is ms.float32
    copied = ops.deepcopy(T)
    copied[0] = 9
    same(T, X)
