"""Elements and slices at indices, beside NumPy's, with negative ones and those out of range."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(15)
X = RNG.permutation(120).reshape(2, 3, 4, 5)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.int8])
@pytest.mark.parametrize("shape", [(), (6,), (2, 3)])
@pytest.mark.parametrize("axis", [0, 1, 3, -1, -4])
@pytest.mark.parametrize("negative", [False, True])
def test_slices(shape, axis, negative, kind):
    length = X.shape[axis]
    index = RNG.integers(-length if negative else 0, length, shape).astype(kind)
    want = np.take(X, index, axis)
    for at in (axis, Tensor(axis)):
        np.testing.assert_array_equal(ops.gather(Tensor(X), Tensor(index), at).asnumpy(), want)
    np.testing.assert_array_equal(Tensor(X).gather(Tensor(index), axis).asnumpy(), want)
    found = Tensor(X).gather(input_indices=Tensor(index), axis=axis)
    np.testing.assert_array_equal(found.asnumpy(), want)
    np.testing.assert_array_equal(Tensor(X).take(Tensor(index), axis).asnumpy(), want)
    if len(shape) < 2:
        found = ops.index_select(Tensor(X), axis, Tensor(index)).asnumpy()
        np.testing.assert_array_equal(found, np.take(X, index.reshape(-1), axis))


@pytest.mark.parametrize("lead, axis, shape", [
    (1, 1, (2, 4)), (1, 2, (2, 6)), (1, -1, (2,)), (2, 2, (2, 3, 2)), (2, 3, (2, 3, 2, 2)),
    (-1, 1, (2, 4)), (-1, 3, (2, 3, 4)), (-2, 1, (2, 3, 4)), (3, 3, (2, 3, 4))])
def test_slices_entry_by_entry(lead, axis, shape):
    index = RNG.integers(-X.shape[axis], X.shape[axis], shape)
    found = ops.gather(Tensor(X), Tensor(index), axis, lead)
    lead, axis = lead % len(shape) if lead < 0 else lead, axis % 4
    want = np.array([np.take(X[place], index[place], axis - lead)
                     for place in np.ndindex(X.shape[:lead])])
    want = want.reshape(*X.shape[:lead], *want.shape[1:])
    np.testing.assert_array_equal(found.asnumpy(), want)
    method = Tensor(X).gather(Tensor(index), axis, batch_dims=lead)
    np.testing.assert_array_equal(method.asnumpy(), want)
    for row in (-X.shape[axis] - 1, X.shape[axis]):
        index.flat[-1] = row
        with pytest.raises(RuntimeError, match=rf"along axis {axis}, but got \[{row}\]"):
            ops.gather(Tensor(X), Tensor(index), axis, lead)


@pytest.mark.parametrize("axis", range(4))
def test_indices_out_of_range(axis):
    length = X.shape[axis]
    for row in (-length - 1, length):
        named = rf"\[-{length}, {length}\) along axis {axis}, but got \[{row}\]"
        for name, call in (("'Gather', the 'input_indices' ",
                            lambda i: ops.gather(Tensor(X), i, axis)),
                           ("'index_select', the indices ",
                            lambda i: ops.index_select(Tensor(X), axis, i)),
                           ("'Tensor.take', the indices ",
                            lambda i: Tensor(X).take(i, axis, "raise"))):
            with pytest.raises(RuntimeError, match=f"For {name}.*{named}"):
                call(Tensor([0, row, -1]))
        index = np.zeros((1, 1, 1, 1), np.int64) + row
        for call in (ops.gather_elements, ops.gather_d):
            with pytest.raises(RuntimeError, match=named):
                call(Tensor(X), axis, Tensor(index))


@pytest.mark.parametrize("axis, lead, error", [
    (4, 0, "'axis'"), (-5, 0, "'axis'"), (0, 1, "'batch_dims'"), (3, 3, "'batch_dims'"),
    (3, -3, "'batch_dims'"), (1, 2, "'batch_dims'")])
def test_axes_and_shared_dimensions(axis, lead, error):
    with pytest.raises(ValueError, match=error):
        ops.gather(Tensor(X), Tensor([[0, 1, 0], [1, 0, 1]]), axis, lead)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("call", [ops.gather_elements, ops.gather_d])
def test_elements(call, axis):
    x = X[0]
    index = RNG.integers(-x.shape[axis], x.shape[axis], (2, 4, 3))
    want = np.empty(index.shape, x.dtype)
    for place in np.ndindex(index.shape):
        at = list(place)
        at[axis] = index[place]
        want[place] = x[tuple(at)]
    np.testing.assert_array_equal(call(Tensor(x), axis, Tensor(index)).asnumpy(), want)
    for method in (Tensor(x).gather(axis, Tensor(index)), Tensor(x).gather(
            dim=axis, index=Tensor(index)), Tensor(x).gather(axis, index=Tensor(index))):
        np.testing.assert_array_equal(method.asnumpy(), want)
    with pytest.raises(ValueError, match="'dim' must be in"):
        call(Tensor(5), 0, Tensor(0))


@pytest.mark.parametrize("arguments, named", [
    ((), {}), ((Tensor([0]),), {}), ((Tensor([0]), 0, 0, 0), {}), ((0,), {}),
    ((Tensor([0]),), {"dim": 0}), ((0, Tensor([0]), 1), {}), ((), {"index": Tensor([0])})])
def test_forms_that_the_method_does_not_have(arguments, named):
    with pytest.raises(TypeError):
        Tensor(X).gather(*arguments, **named)


@pytest.mark.parametrize("shape", [(1,), (4,), (3, 2), (2, 2, 3)])
def test_leading_indices(shape):
    index = np.stack([RNG.integers(-n, n, shape[:-1]) for n in X.shape[:shape[-1]]], -1)
    found = ops.gather_nd(Tensor(X), Tensor(index, ms.int32)).asnumpy()
    want = [X[tuple(index[place])] for place in np.ndindex(shape[:-1])]
    np.testing.assert_array_equal(found, np.array(want).reshape(
        (*shape[:-1], *X.shape[shape[-1]:])))


@pytest.mark.parametrize("lead", [(), (1,), (4,), (0,), (2, 3)])
def test_rows_without_numbers_name_the_whole(lead):
    x = Tensor(X)
    found = ops.gather_nd(x, Tensor(np.zeros((*lead, 0), np.int32)))
    np.testing.assert_array_equal(found.asnumpy(), np.broadcast_to(X, (*lead, *X.shape)))
    found.fill_(0)
    np.testing.assert_array_equal(x.asnumpy(), X)


def test_ranks_of_indices():
    for index in (Tensor(0), Tensor([[0, 0, 0, 0, 0]])):
        with pytest.raises(ValueError, match="must have at most 4 numbers"):
            ops.gather_nd(Tensor(X), index)
    with pytest.raises(ValueError, match="'index' must have rank 1"):
        ops.index_select(Tensor(X), 0, Tensor([[0]]))
    with pytest.raises(TypeError, match="must be integers"):
        ops.gather(Tensor(X), Tensor([0.0]), 0)


@pytest.mark.parametrize("mode", ["clip", "wrap", "raise"])
@pytest.mark.parametrize("axis", [None, 1, -1])
def test_elements_beyond_the_ends(mode, axis):
    length = X.size if axis is None else X.shape[axis]
    far = [-length - 2, -length, -1, 0, length - 1, length, 2 * length + 1]
    index = np.array(far if mode != "raise" else far[1:5])
    # as NumPy, where indices below 0 count from the end before they are moved to the nearest
    counted = np.where(index < 0, index + length, index) if mode == "clip" else index
    want = np.take(X, counted, axis, mode=mode)
    found = Tensor(X).take(Tensor(index), axis, mode)
    np.testing.assert_array_equal(found.asnumpy(), want)
    found = Tensor(X).take(indices=Tensor(index), axis=axis, mode=mode)
    np.testing.assert_array_equal(found.asnumpy(), want)
    with pytest.raises(ValueError, match="'mode' must be"):
        Tensor(X).take(Tensor(index), axis, "clamp")


def test_elements_of_the_flattened_tensor():
    index = RNG.integers(-120, 120, (3, 2))
    np.testing.assert_array_equal(ops.take(Tensor(X), Tensor(index)).asnumpy(), np.take(X, index))
    for axis in ({"axis": 2}, {"dim": 2}):
        found = Tensor(X).index_select(index=Tensor([3, 0]), **axis)
        np.testing.assert_array_equal(found.asnumpy(), X[:, :, [3, 0]])
