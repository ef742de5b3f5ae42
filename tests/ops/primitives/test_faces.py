"""Primitives that are another face of an operator, against NumPy and PyTorch."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import faces

RNG = np.random.default_rng(3)
X = RNG.standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize("limit", [0.5, 100.0])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_clip_by_norm(axis, limit):
    norm = np.sqrt((X * X).sum(axis, keepdims=True))
    wanted = X * limit / np.maximum(norm, limit)
    for given in (limit, Tensor(limit)):
        found = faces.ClipByNorm(axis)(Tensor(X), given).asnumpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_where_parts_of_a_concatenation_begin(axis, count):
    sizes = [5, 2, 4][:count]
    parts = [Tensor(np.ones((n, 3) if axis in (0, -2) else (3, n))) for n in sizes]
    found = faces.ConcatOffset(count, axis)(parts).asnumpy()
    wanted = np.zeros((count, 2), int)
    wanted[:, axis] = np.cumsum([0, *sizes])[:-1]
    np.testing.assert_array_equal(found, wanted)
    shapes = tuple(Tensor(part.shape, ms.int32) for part in parts)
    again = faces.ConcatOffsetV1()(Tensor(axis, ms.int32), shapes)
    np.testing.assert_array_equal([each.asnumpy() for each in again], wanted)


@pytest.mark.parametrize("axis, shapes, error, words", [
    (2, [(2, 3), (2, 3)], ValueError, r"'axis' must be in \[-2, 2\), but got 2"),
    (-3, [(2, 3), (2, 3)], ValueError, r"'axis' must be in \[-2, 2\), but got -3"),
    (0, [(2, 3), (2, 4)], ValueError, "must be the same except along the axis 0"),
    (0, [(2, 3), (2,)], ValueError, "must be the same except along the axis 0"),
    (0.0, [(2, 3), (2, 3)], TypeError, "must be of int32, but got Float32, Int32, Int32")])
def test_shapes_that_are_not_concatenated(axis, shapes, error, words):
    with pytest.raises(error, match=words):
        faces.ConcatOffsetV1()(Tensor(axis, ms.int32 if isinstance(axis, int) else ms.float32),
                               tuple(Tensor(shape, ms.int32) for shape in shapes))


def test_extremes_along_a_dimension():
    for name, kernel in (("MaxDim", torch.max), ("MinDim", torch.min)):
        for keep in (True, False):
            found = getattr(faces, name)()(Tensor(X), 1, keep)
            for mine, its in zip(found, kernel(torch.from_numpy(X), 1, keep), strict=True):
                np.testing.assert_array_equal(mine.asnumpy(), its.numpy())


def test_ranges_up_to_a_length():
    made = faces.RangeV2(3)
    assert made(Tensor(1), Tensor(7), Tensor(2)).asnumpy().tolist() == [1, 3, 5]
    assert faces.RangeV2().maxlen == 1000000
    with pytest.raises(ValueError, match="at most 'maxlen' = 3 numbers, but there are 4"):
        made(Tensor(1), Tensor(8), Tensor(2))


def test_slices_are_copied_into():
    x = Tensor(np.zeros((3, 4), np.float32))
    found = faces.TensorCopySlices()(x, Tensor([1.0, 2.0]), (1, 0), (2, 4), (1, 2))
    np.testing.assert_array_equal(found.asnumpy(), [[0] * 4, [1, 0, 2, 0], [0] * 4])
    assert not x.asnumpy().any()
    with pytest.raises(ValueError, match="'strides' must be above 0"):
        faces.TensorCopySlices()(x, Tensor(1.0), (0,), (2,), (0,))


def test_losses_of_classes_and_their_gradients():
    labels = np.array([3, 0, 1])
    losses, slopes = faces.SparseSoftmaxCrossEntropyWithLogitsV2()(Tensor(X), Tensor(labels))
    raw = torch.from_numpy(X).requires_grad_()
    wanted = torch.nn.functional.cross_entropy(raw, torch.from_numpy(labels), reduction="none")
    wanted.sum().backward()
    np.testing.assert_allclose(losses.asnumpy(), wanted.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(slopes.asnumpy(), raw.grad.numpy(), atol=1e-6)


@pytest.mark.parametrize("offset, dim1, dim2", [(0, 0, 1), (1, 1, 0), (-1, -1, -2)])
def test_diagonals(offset, dim1, dim2):
    found = faces.Diagonal(offset, dim1, dim2)(Tensor(X)).asnumpy()
    np.testing.assert_array_equal(found, np.diagonal(X, offset, dim1, dim2))
