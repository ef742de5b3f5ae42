"""Largest and smallest elements beside NumPy's: axes, initial values, masks and gradients."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X = np.random.default_rng(9).permutation(24).reshape(2, 3, 4).astype(np.float32)
MASK = np.random.default_rng(10).random((2, 3, 4)) < 0.5
PAIRS = [(ops.max, np.max, np.argmax, 21.5), (ops.min, np.min, np.argmin, 2.5)]
OVER = [(ops.amax, np.max, 21.5), (ops.amin, np.min, 2.5)]


@pytest.mark.parametrize("call, over, place, bound", PAIRS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("keep", [False, True])
def test_values_and_places_along_an_axis(call, over, place, bound, axis, keep):
    values, places = call(Tensor(X), axis, keep)
    np.testing.assert_array_equal(values.asnumpy(), over(X, axis, keepdims=keep))
    np.testing.assert_array_equal(places.asnumpy(), place(X, axis, keepdims=keep))
    assert places.dtype is ms.int64
    for initial in (bound, Tensor(bound)):
        values, _ = call(Tensor(X), axis, keep, initial=initial)
        want = over(X, axis, keepdims=keep, initial=bound)
        np.testing.assert_array_equal(values.asnumpy(), want)
        values, _ = call(Tensor(X), axis, keep, initial=initial, where=Tensor(MASK))
        np.testing.assert_array_equal(values.asnumpy(), over(
            X, axis, keepdims=keep, initial=bound, where=MASK))
    assert call(Tensor(X.astype(np.int32)), axis, initial=5)[0].dtype is ms.int32


@pytest.mark.parametrize("call, over, place, bound", PAIRS)
def test_of_the_whole_tensor_other_arguments_do_not_count(call, over, place, bound):
    value, at = call(Tensor(X), None, True, initial=100.0)
    assert value.shape == at.shape == () and at == 0 and value == over(X)
    assert at.dtype is ms.int64


@pytest.mark.parametrize("call, over, bound", OVER)
@pytest.mark.parametrize("axis", [0, -1, (0, 2), (1,), None, (), [0, 1], Tensor([2, 0])])
@pytest.mark.parametrize("keep", [False, True])
def test_over_axes(call, over, bound, axis, keep):
    dims = tuple(axis.tolist()) if isinstance(axis, Tensor) else axis
    dims = tuple(dims) if isinstance(dims, list) else None if dims == () else dims
    found = call(Tensor(X), axis, keep).asnumpy()
    np.testing.assert_array_equal(found, over(X, dims, keepdims=keep))
    found = call(Tensor(X), axis, keep, initial=bound, where=Tensor(MASK)).asnumpy()
    want = over(X, dims, keepdims=keep, initial=bound, where=MASK)
    np.testing.assert_array_equal(found, want)
    simple = ops.reduce_max if call is ops.amax else ops.reduce_min
    np.testing.assert_array_equal(simple(Tensor(X), axis).asnumpy(), over(X, dims))
    difference = Tensor(X).ptp(axis, keep).asnumpy()
    np.testing.assert_array_equal(difference, np.ptp(X, dims, keepdims=keep))


@pytest.mark.parametrize("call", [ops.max, ops.min, ops.amax, ops.amin])
def test_a_mask_needs_an_initial_value(call):
    with pytest.raises(ValueError, match="'initial' must be given"):
        call(Tensor(X), 0, where=Tensor(MASK))
    call(Tensor(X), 0, where=True)
    masked = call(Tensor(X), 0, initial=7.0, where=Tensor(False))
    masked = masked[0] if isinstance(masked, tuple) else masked
    assert (masked == 7).all()


@pytest.mark.parametrize("call", [ops.max, ops.min])
def test_what_has_no_extremum(call):
    with pytest.raises(ValueError, match="must have elements"):
        call(ops.ones((0, 2)), 1)
    for axis in (True, 1.0, (0,)):
        with pytest.raises(TypeError, match="'axis' must be an int or None"):
            call(Tensor(X), axis)
    with pytest.raises(TypeError, match="'keepdims'"):
        call(Tensor(X), 0, 1)
    for axis in (3, -4):
        with pytest.raises((ValueError, IndexError)):
            call(Tensor(X), axis)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keep", [False, True])
def test_places(axis, keep):
    for call, place, word, kind in ((ops.argmax, np.argmax, "keepdim", ms.int64),
                                    (ops.argmin, np.argmin, "keepdims", ms.int32)):
        found = call(Tensor(X), axis, keep)
        want = place(X, axis, keepdims=keep and axis is not None)
        np.testing.assert_array_equal(found.asnumpy(), want)
        assert found.dtype is kind and found.shape == np.shape(want)
        for wrong in (True, 0.0, (0,)):
            with pytest.raises(TypeError, match="must be an int or None"):
                call(Tensor(X), wrong)
        with pytest.raises(TypeError, match=f"'{word}' must be a bool"):
            call(Tensor(X), 0, 1)
    assert ops.argmin(Tensor(3.0)).dtype is ms.int64
    assert ops.argmax(Tensor([False, True, True])) == 1
    assert ops.argmin(Tensor([True, False, False])) == 1


@pytest.mark.parametrize("axis", [0, -1, 1, None])
@pytest.mark.parametrize("keep", [False, True])
def test_both_ends(axis, keep):
    low, high = ops.aminmax(Tensor(X), axis=axis, keepdims=keep)
    np.testing.assert_array_equal(low.asnumpy(), X.min(axis, keepdims=keep))
    np.testing.assert_array_equal(high.asnumpy(), X.max(axis, keepdims=keep))
    np.testing.assert_array_equal(ops.aminmax(Tensor(X))[1].asnumpy(), X.max(0))


@pytest.mark.parametrize("call, reference", [
    (ops.maximum, np.maximum), (ops.minimum, np.minimum), (ops.fmax, np.fmax),
    (ops.fmin, np.fmin)])
def test_of_two(call, reference):
    a = np.array([[1.0, np.nan, -3.0, np.inf, np.nan]], np.float32)
    b = np.array([[2.0], [np.nan], [-np.inf]], np.float32)
    np.testing.assert_array_equal(call(Tensor(a), Tensor(b)).asnumpy(), reference(a, b))
    np.testing.assert_array_equal(call(Tensor(b), 1).asnumpy(), reference(b, np.float32(1)))
    np.testing.assert_array_equal(call(1.5, Tensor([1, 2])).asnumpy(),
                                  reference(np.float32(1.5), np.array([1, 2], np.float32)))
    whole = call(Tensor([3, 5], ms.int32), Tensor([4, 4], ms.int8))
    assert whole.dtype is ms.int32
    np.testing.assert_array_equal(whole.asnumpy(), reference([3, 5], [4, 4]))


@pytest.mark.parametrize("call, shares", [
    (ops.maximum, (0.5, 0.5)), (ops.minimum, (0.5, 0.5)), (ops.fmax, (1, 0)), (ops.fmin, (1, 0))])
def test_gradients_of_two_equal_elements(call, shares):
    found = ms.grad(lambda a, b: call(a, b).sum(), (0, 1))(Tensor([2.0]), Tensor([2.0]))
    assert tuple(f.item() for f in found) == shares


def test_gradients_of_equal_elements_along_an_axis_and_over_it():
    x = Tensor([[2.0, 5.0, 5.0], [1.0, 1.0, 0.0]])
    first = ms.grad(lambda x: ops.max(x, 1)[0].sum())(x)
    assert first.tolist() == [[0, 1, 0], [1, 0, 0]]
    shared = ms.grad(lambda x: ops.amax(x, 1).sum())(x)
    assert shared.tolist() == [[0, 0.5, 0.5], [0.5, 0.5, 0]]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("keep", [False, True])
def test_methods_with_values(axis, keep):
    for call, over, place in ((Tensor.argmax_with_value, np.max, np.argmax),
                              (Tensor.argmin_with_value, np.min, np.argmin)):
        values, places = call(Tensor(X), axis, keep)
        np.testing.assert_array_equal(values.asnumpy(), over(X, axis, keepdims=keep))
        np.testing.assert_array_equal(places.asnumpy(), place(X, axis, keepdims=keep))
        np.testing.assert_array_equal(call(Tensor(X))[0].asnumpy(), over(X, 0))
    np.testing.assert_array_equal(Tensor(X).argmax(axis=axis, keepdims=keep).asnumpy(),
                                  X.argmax(axis, keepdims=keep))
    np.testing.assert_array_equal(Tensor(X).argmin(dim=axis, keepdim=keep).asnumpy(),
                                  X.argmin(axis, keepdims=keep))
