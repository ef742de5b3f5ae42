"""Further gradients beside NumPy and PyTorch, and the axes of broadcasting."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import derivatives


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kept", [False, True])
def test_the_gradient_of_a_median_goes_to_its_element(axis, kept):
    rng = np.random.default_rng(axis + 5)
    x = torch.from_numpy(rng.normal(size=(3, 5, 7))).requires_grad_()
    y, at = torch.median(x, axis, kept)
    dy = torch.from_numpy(rng.normal(size=y.shape))
    y.backward(dy)
    found = derivatives.MedianGrad(False, axis, kept)(
        *(Tensor(part.detach().numpy()) for part in (dy, x, y, at)))
    assert found.dtype == ms.float64
    np.testing.assert_array_equal(found.asnumpy(), x.grad.numpy())


def test_equal_medians_of_all_share_the_gradient():
    x = Tensor([[2, 5, 2], [9, 1, 2]], ms.int32)
    found = derivatives.MedianGrad(True)(Tensor(6.0), x, Tensor(2, ms.int32), Tensor(0))
    assert found.dtype == ms.float32
    assert found.tolist() == [[2, 0, 2], [0, 0, 2]]
    by_default = derivatives.MedianGrad()(Tensor([6.0, 4]), Tensor([[1, 5], [2, 3], [3, 1]]),
                                          Tensor([2, 3]), Tensor([1, 1]))
    assert by_default.dtype == ms.float32 and by_default.tolist() == [[0, 0], [6, 4], [0, 0]]


def test_slices_are_stitched_at_their_indices_and_the_last_counts():
    rng = np.random.default_rng(2)
    data = [rng.normal(size=(2, 2, 3)).astype(np.float32), rng.normal(size=(3,)).astype(np.float32),
            rng.normal(size=(1, 3)).astype(np.float32)]
    indices = [[[0, 5], [2, 3]], 2, [5]]
    found = derivatives.DynamicStitch()([Tensor(i, ms.int32) for i in indices],
                                        [Tensor(part) for part in data]).asnumpy()
    wanted = np.zeros((6, 3), np.float32)
    wanted[0], wanted[3] = data[0][0, 0], data[0][1, 1]
    wanted[2], wanted[5] = data[1], data[2][0]
    np.testing.assert_array_equal(found, wanted)
    none = derivatives.DynamicStitch()([Tensor(np.zeros(0, np.int32))], [Tensor(np.zeros((0, 4)))])
    assert none.shape == (0, 4)


@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 1, 4), (3, 1)), ((1,), (1,)),
                                    ((5, 1), (1, 6)), ((), (2, 2)), ((3, 4), (3, 4))])
def test_axes_of_broadcasting_are_those_where_gradients_are_summed(shapes):
    parts = [torch.zeros(shape) for shape in shapes]
    whole = torch.broadcast_shapes(*shapes)
    for give in (tuple, lambda s: Tensor(np.array(s, np.int64))):
        found = derivatives.DynamicBroadcastGradientArgs()(*map(give, shapes))
        for part, axes in zip(parts, found, strict=True):
            assert axes.dtype == ms.int64
            grad = torch.rand(whole, dtype=torch.float64)
            summed = grad.sum(axes.tolist()) if len(axes.tolist()) else grad
            np.testing.assert_allclose(summed.reshape(part.shape).numpy(),
                                       grad.sum_to_size(part.shape).numpy())


def test_sizes_of_tiles():
    assert derivatives.TileSize()((1, 3, 1), (4, 3, 1), 4) == (4, 1, 1, 1)
    assert derivatives.TileSize()((2,), (7,), 1) == (7,)
    assert derivatives.TileSize()((5, 1), (5, 6), 2) == (1, 6)


def test_gradients_times_the_scale():
    found = derivatives.ScaleGrad()((Tensor([1.5, -2]), Tensor([[3.0]]), Tensor(4.0)))
    assert [part.tolist() for part in found] == [[6, -8], [[12]]]


@pytest.mark.parametrize("options, low, high, seed", [
    ((2.0, 5.0, 3), 2, 5, 3), ((2.0, 5.0, 3, 4), 2, 5, 3), ((2.0, 5.0, 0, 4), 2, 5, 4),
    ((), 0, 1, None)])
def test_uniform_numbers_lie_between_the_bounds(options, low, high, seed):
    x = Tensor(np.zeros((40, 50)), ms.float64)
    ms.set_seed(5)
    found = derivatives.Uniform(*options)(x).asnumpy()
    ms.set_seed(5)
    wanted = ms.ops.uniform((40, 50), Tensor(low, ms.float32), Tensor(high, ms.float32), seed)
    assert found.dtype == np.float64
    assert low <= found.min() < low + 0.05 and high - 0.05 < found.max() <= high
    np.testing.assert_array_equal(found, wanted.asnumpy())


@pytest.mark.parametrize("bounds, error, message", [
    ((0, 1.0), TypeError, "'minval' must be a float, but got 0"),
    ((0.5, 1), TypeError, "'maxval' must be a float, but got 1"),
    ((-0.5, 1.0), ValueError, "'minval' must be 0 or more, but got -0.5"),
    ((0.0, -1.0), ValueError, "'maxval' must be 0 or more, but got -1.0")])
def test_bounds_are_floats_that_are_not_negative(bounds, error, message):
    with pytest.raises(error, match=message):
        derivatives.Uniform(*bounds)
    assert derivatives.Uniform(0.0, 0.0).maxval == 0.0
