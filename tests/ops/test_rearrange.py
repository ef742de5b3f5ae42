"""Elements in another order, beside NumPy, with negative axes and numbers at their limits."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.arange(2 * 3 * 4).reshape(2, 3, 4)
T = Tensor(X)


def same(found, wanted):
    np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("order", [(2, 0, 1), (-1, 0, 1), (0, -2, 2), [1, -1, -3]], ids=str)
def test_orders_of_dimensions(order):
    wanted = X.transpose(order)
    for found in (ops.transpose(T, tuple(order)), ops.permute(T, tuple(order)), T.permute(*order),
                  T.permute(tuple(order)), T.transpose(*order), T.transpose(tuple(order)),
                  T.transpose(list(order)), T.permute(axis=tuple(order))):
        same(found, wanted)


@pytest.mark.parametrize("one", [-3, -1, 0, 2])
@pytest.mark.parametrize("two", [-3, -1, 0, 2])
def test_two_dimensions_exchanged(one, two):
    for found in (ops.swapaxes(T, one, two), ops.swapdims(T, one, two), T.transpose(one, two),
                  T.swapaxes(one, two)):
        same(found, X.swapaxes(one, two))
    same(ops.movedim(T, one, two), np.moveaxis(X, one, two))


def test_dimensions_reversed():
    same(T.transpose(), X.T)
    same(ops.t(T[0]), X[0].T)
    same(ops.t(T), X)
    same(ops.t(T[0, 0]), X[0, 0])
    same(ops.movedim(T, (0, -1), (-1, 1)), np.moveaxis(X, (0, -1), (-1, 1)))


@pytest.mark.parametrize("axes", [0, -1, (0, 2), (-2,), [1, -1]], ids=str)
def test_flipped(axes):
    wanted = np.flip(X, axes if isinstance(axes, int) else tuple(axes))
    same(ops.flip(T, axes), wanted)
    same(ops.reverse(T, axes), wanted)
    same(T.flip(axes), wanted)
    same(ops.fliplr(T), X[:, ::-1])
    same(ops.flipud(T), X[::-1])


@pytest.mark.parametrize("along, batch", [(0, 1), (1, 0), (2, 0), (0, 2), (-1, 1), (1, -1)])
def test_beginnings_reversed(along, batch):
    lengths = np.arange(X.shape[batch]) % (X.shape[along] + 1)
    wanted = X.copy()
    for i, n in enumerate(lengths):
        part = np.moveaxis(np.take(X, i, batch % 3), along % 3 - (along % 3 > batch % 3), 0)
        target = np.moveaxis(np.moveaxis(wanted, batch, 0)[i],
                             along % 3 - (along % 3 > batch % 3), 0)
        target[:n] = part[:n][::-1]
    same(ops.reverse_sequence(T, Tensor(lengths), along, batch), wanted)
    whole = Tensor(np.full(X.shape[batch], X.shape[along]))
    same(ops.reverse_sequence(T, whole, along, batch), np.flip(X, along))


@pytest.mark.parametrize("shifts, axes", [
    (1, 0), (-2, -1), ((1, 2), (0, 1)), ((1, -2), (-1, 0)), (5, None), ((3,), (2,))])
def test_rolled(shifts, axes):
    same(ops.roll(T, shifts, axes), np.roll(X, shifts, axes))


@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 5])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (0, -1), [-2, 2]], ids=str)
def test_quarter_turns(k, axes):
    same(ops.rot90(T, k, axes), np.rot90(X, k, axes))


@pytest.mark.parametrize("times", [(2,), (1, 2, 3), (2, 1, 1, 3), (0, 1, 1), 2], ids=str)
def test_laid_out_again_and_again(times):
    same(ops.tile(T, times), np.tile(X, times))
    same(T.tile(times), np.tile(X, times))
    if isinstance(times, tuple) and len(times) >= 3:
        for found in (T.repeat(*times), T.repeat(times), T.repeat(repeats=times), T.tile(*times)):
            same(found, np.tile(X, times))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_elements_in_a_row(axis):
    counts = np.arange(X.size if axis is None else X.shape[axis]) % 3
    for repeats in (2, counts, counts.tolist()):
        wanted = np.repeat(X, repeats, axis)
        given = Tensor(repeats) if isinstance(repeats, np.ndarray) else repeats
        same(ops.repeat_interleave(T, given, axis), wanted)
        same(T.repeat_interleave(given, axis), wanted)
        same(T.repeat_interleave(given, dim=axis), wanted)
    if axis is not None:
        same(ops.repeat_elements(T, 3, axis), np.repeat(X, 3, axis))


@pytest.mark.parametrize("call, kind", [
    (lambda: ops.transpose(T, (0, 1)), ValueError), (lambda: ops.transpose(T, (0, 1, 3)),
                                                     ValueError),
    (lambda: ops.transpose(T, (0, 1, -1)), None), (lambda: ops.transpose(T, (0, 1, 1)), ValueError),
    (lambda: ops.swapaxes(T, 3, 0), ValueError), (lambda: ops.swapaxes(T, 0, -4), ValueError),
    (lambda: ops.movedim(T, 3, 0), ValueError), (lambda: ops.movedim(T, 0, -4), ValueError),
    (lambda: ops.movedim(T, (0, -3), (0, 1)), ValueError),
    (lambda: ops.flip(T, (0, -3)), ValueError), (lambda: ops.flip(T, 3), ValueError),
    (lambda: ops.reverse_sequence(T, Tensor([1, 1]), 0, -3), ValueError),
    (lambda: ops.reverse_sequence(T, Tensor([1, 1]), 3, 0), ValueError),
    (lambda: ops.reverse_sequence(T, Tensor([1, 1]), 0, 3), ValueError),
    (lambda: ops.roll(T, 1, 3), ValueError), (lambda: ops.roll(T, (1,), (0, 1)), ValueError),
    (lambda: ops.rot90(T, 1, (0, 3)), ValueError), (lambda: ops.rot90(T, 1, (1, -2)), RuntimeError),
    (lambda: ops.rot90(T, 1, (0, 1, 2)), RuntimeError), (lambda: ops.rot90(T, 1, (0,)),
                                                         RuntimeError),
    (lambda: ops.tile(T, (1, -1)), ValueError), (lambda: T.repeat(1, 2), RuntimeError),
    (lambda: T.repeat(times=2), TypeError), (lambda: ops.repeat_elements(T, 2, 3), ValueError),
    (lambda: ops.repeat_elements(ops.ones((1,) * 8), 2, 0), ValueError),
    (lambda: ops.repeat_elements(ops.ones((1,) * 7), 2, 0), None),
    (lambda: ops.repeat_interleave(T, 2, 3), ValueError),
    (lambda: ops.repeat_interleave(Tensor([1]), Tensor([2**62])), ValueError)], ids=range(28))
def test_what_fits_and_what_does_not(call, kind):
    if kind is None:
        assert call().size
    else:
        with pytest.raises(kind):
            call()


def test_types_stay():
    for kind in (ms.bool_, ms.float16, ms.complex64, ms.int8):
        x = T.astype(kind)
        for found in (ops.flip(x, 0), ops.roll(x, 1), ops.tile(x, 2), ops.repeat_elements(x, 2),
                      ops.reverse_sequence(x, Tensor([2, 1]), 1)):
            assert found.dtype is kind
