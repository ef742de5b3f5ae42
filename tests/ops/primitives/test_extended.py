"""Primitives of the second generation: their options, and slices and their gradients."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives import extended

X = np.random.default_rng(3).normal(size=(3, 4, 5)).astype(np.float32)
T = Tensor(X)


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("alpha", [1, 2, 0.5, -3])
def test_sums_with_a_factor(alpha):
    close(extended.AddExt()(T, T[0], alpha), X + alpha * X[0])
    close(extended.SubExt()(T, T[0], alpha), X - alpha * X[0])
    assert extended.AddExt()(Tensor([1]), Tensor([2]), 3).tolist() == [7]
    assert extended.SubExt()(Tensor([1]), 2, 3).tolist() == [-5]


@pytest.mark.parametrize("axis, start, stop, step", [
    (0, 0, 3, 1), (1, 1, 4, 2), (-1, -3, -1, 1), (2, 0, 99, 3), (-3, 2, 1, 1)])
def test_slices_along_a_dimension(axis, start, stop, step):
    place = [slice(None)] * 3
    place[axis] = slice(start, stop, step)
    close(extended.SliceExt()(T, axis, start, stop, step), X[tuple(place)])


@pytest.mark.parametrize("axis, step, text", [(3, 1, "'dim'"), (-4, 1, "'dim'"), (0, 0, "'step'"),
                                              (0, -1, "'step'")])
def test_slices_that_do_not_fit(axis, step, text):
    with pytest.raises(ValueError, match=text):
        extended.SliceExt()(T, axis, 0, 1, step)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_order(axis, descending):
    x = (X * 2).round()
    values, places = extended.SortExt()(Tensor(x), axis, descending)
    order = np.argsort(-x if descending else x, axis, kind="stable")
    np.testing.assert_array_equal(places.asnumpy(), order)
    close(values, np.take_along_axis(x, order, axis))
    assert places.dtype is ms.int64
    values, places = extended.TopkExt()(T, 2, axis, not descending)
    wanted = torch.from_numpy(X).topk(2, axis, not descending)
    np.testing.assert_array_equal(places.asnumpy(), wanted[1].numpy())
    assert places.dtype is ms.int64


@pytest.mark.parametrize("kept", [False, True])
def test_reductions_with_types(kept):
    whole = Tensor(np.arange(12).reshape(3, 4))
    found = extended.MeanExt()(whole, 1, kept, ms.float64)
    close(found, np.arange(12).reshape(3, 4).mean(1, keepdims=kept))
    assert found.dtype is ms.float64
    close(extended.MeanExt()(T, (0, -1), kept), X.mean((0, -1), keepdims=kept))
    close(extended.SumExt()(T, (0, -1), kept), X.sum((0, -1), keepdims=kept))
    assert extended.SumExt()(whole, dtype=ms.float16).dtype is ms.float16
    assert extended.CumsumExt()(whole, 1, ms.float32).dtype is ms.float32
    close(extended.CumsumExt()(T, -2), X.cumsum(-2))
    zeros = extended.ZerosLikeExt()(whole, ms.float16)
    assert zeros.shape == (3, 4) and zeros.dtype is ms.float16 and not zeros.asnumpy().any()


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_dropout_by_a_seed(share):
    x = Tensor(np.random.default_rng(0).normal(size=(50, 80)).astype(np.float32))
    out, kept = extended.DropoutExt()(x, share, 3, 4)
    again, other = extended.DropoutExt()(x, share, 3, 4), extended.DropoutExt()(x, share, 3, 5)
    mask = kept.asnumpy()
    scale = 1 / (1 - share) if share < 1 else 0
    close(out, x.asnumpy() * mask * scale)
    assert abs(mask.mean() - (1 - share)) < 0.03
    np.testing.assert_array_equal(again[1].asnumpy(), mask)
    assert (other[1].asnumpy() == mask).all() == (share in (0, 1))


@pytest.mark.parametrize("place, shape", [
    ((slice(1, 3), slice(0, 4, 2), slice(None)), (2, 2, 5)),
    ((slice(0, 3, 2), slice(3, 0, -1), slice(4, 5)), (2, 3, 1))])
def test_gradients_of_strided_slices(place, shape):
    dy = np.random.default_rng(1).normal(size=shape)
    bounds = [part.indices(n) for part, n in zip(place, X.shape, strict=True)]
    begin, end, stride = zip(*bounds, strict=True)
    wanted = np.zeros(X.shape)
    wanted[place] = dy
    for size in (X.shape, Tensor(list(X.shape))):
        close(extended.StridedSliceGrad()(Tensor(dy), size, begin, end, stride), wanted)
    close(extended.StridedSliceGrad()(Tensor(dy[None]), X.shape, begin, end, stride), wanted)
    with pytest.raises(ValueError, match="must have the slice's shape"):
        extended.StridedSliceGrad()(Tensor(np.ones((7, *shape[1:]))), X.shape, begin, end, stride)


def test_masks_of_gradients_of_slices():
    def of(**masks):
        return extended.StridedSliceGrad(**{f"{name}_mask": mask for name, mask in masks.items()})

    dy = np.random.default_rng(1).normal(size=(3, 4))
    wanted = np.zeros(X.shape)
    wanted[:, :, 2] = dy
    found = of(begin=3, end=3, shrink_axis=4)(Tensor(dy), X.shape, (1, 1, 2), (2, 2, 3), (1, 1, 1))
    close(found, wanted)
    found = of(ellipsis=1, shrink_axis=2)(Tensor(dy), X.shape, (0, 2), (0, 3), (1, 1))
    close(found, wanted)
    wanted = np.zeros(X.shape)
    wanted[1:2] = 5
    found = of(new_axis=1)(ops.full((1, 1, 4, 5), 5.0), X.shape, (0, 1), (0, 2), (1, 1))
    close(found, wanted)


@pytest.mark.parametrize("to", ["CPU", "cpu", "Cpu"])
def test_moved_to_where_it_is(to):
    assert extended.MoveTo()(T, to) is not None
    close(extended.move_to(T, to), X)
    for wrong in ("TPU", 1, None):
        with pytest.raises(ValueError, match="'to' must be"):
            extended.move_to(T, wrong)


def test_attributes_of_axes():
    close(extended.StackExt(1)([T, T * 2]), np.stack([X, X * 2], 1))
    one, none = Tensor(2.0), Tensor(-1.0)
    found = extended.OneHotExt(0)(Tensor([1, 0]), 3, one, none)
    assert found.tolist() == [[-1, 2], [2, -1], [-1, -1]]
    changed = Tensor(np.zeros((2, 3), np.float32))
    extended.InplaceCopy()(changed, Tensor([1, 2, 3]))
    assert changed.tolist() == [[1, 2, 3]] * 2
