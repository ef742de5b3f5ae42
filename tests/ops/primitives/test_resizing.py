"""Images of other sizes and contrasts, dropout by bits, and sizes that are refused."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives import dropout_mask, generator_state, resizing

RNG = np.random.default_rng(2)
X = RNG.normal(size=(2, 3, 1, 5)).astype(np.float32)
WIDE = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
HALF = "half_pixel"


@pytest.mark.parametrize("coordinates, mode, x, size", [
    (HALF, "nearest", X, (1, 7)), (HALF, "linear", X, (1, 7)), (HALF, "cubic", WIDE, (6, 3)),
    ("align_corners", "linear", X, (1, 8)), ("align_corners", "cubic", WIDE, (6, 8))])
def test_other_sizes_and_their_gradients(coordinates, mode, x, size):
    names = {"linear": "bilinear", "cubic": "bicubic"}
    aligned = None if mode == "nearest" else coordinates == "align_corners"
    raw = torch.from_numpy(x).requires_grad_()
    wanted = F.interpolate(raw, size, mode=names.get(mode, mode), align_corners=aligned)
    sizes, none = (2, 3, *size), Tensor(0.0)
    for given in (sizes, Tensor(sizes)):
        found = resizing.ResizeV2(coordinates, mode)(Tensor(x), none, none, given)
        np.testing.assert_allclose(found.asnumpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)
    dout = RNG.normal(size=sizes).astype(np.float32)
    wanted.backward(torch.from_numpy(dout))
    for given in (x.shape, Tensor(list(x.shape))):
        found = resizing.ResizeV2Grad(coordinates, mode)(Tensor(dout), none, none, given)
        np.testing.assert_allclose(found.asnumpy(), raw.grad.numpy(), rtol=1e-4, atol=1e-5)
    whole = Tensor(x * 9, ms.int32)
    assert resizing.ResizeV2(coordinates, mode)(whole, none, none, sizes).dtype is ms.int32


@pytest.mark.parametrize("coordinates, mode, x, sizes", [
    ("align_corners", "nearest", X, (2, 3, 1, 4)), (HALF, "area", X, (2, 3, 1, 4)),
    ("asymmetric", "linear", X, (2, 3, 1, 4)), (HALF, "linear", X, (2, 3, 2, 4)),
    (HALF, "nearest", X, (2, 3, 2, 4)), (HALF, "cubic", X, (1, 3, 1, 4)),
    (HALF, "cubic", X, (2, 2, 1, 4)), (HALF, "cubic", X, (2, 3, 4)), (HALF, "cubic", X[0],
                                                                      (2, 3, 1, 4))])
def test_sizes_that_do_not_fit(coordinates, mode, x, sizes):
    with pytest.raises(ValueError, match="^For 'ResizeV2'"):
        resizing.ResizeV2(coordinates, mode)(Tensor(x), Tensor(0.0), Tensor(0.0), sizes)


@pytest.mark.parametrize("shape", [(4, 5, 3), (2, 4, 5, 3), (2, 2, 4, 5, 3)])
@pytest.mark.parametrize("kind", [ms.float32, ms.float16])
def test_distances_from_means_of_channels(shape, kind):
    images = Tensor(RNG.normal(size=shape), kind)
    raw = images.asnumpy().astype(np.float64)
    mean = raw.mean((-3, -2), keepdims=True)
    found = resizing.AdjustContrastv2()(images, Tensor(2.5))
    assert found.dtype is kind
    np.testing.assert_allclose(found.asnumpy(), (raw - mean) * 2.5 + mean, rtol=1e-2, atol=1e-2)
    for wrong in (images[..., :2], images[(0,) * (len(shape) - 2)]):
        with pytest.raises(ValueError, match="AdjustContrastv2"):
            resizing.AdjustContrastv2()(wrong, Tensor(2.0))


def test_gradients_of_moved_images():
    """Linear in the images: what they change along one is what the gradient says."""
    x, scale, by = RNG.normal(size=(1, 4, 5, 2)), Tensor([1.5, 0.75]), Tensor([0.5, -1.0])
    dout = RNG.normal(size=(1, 5, 3, 2)).astype(np.float32)
    for kind, antialias in (("triangle", True), ("lanczos3", False), ("box", True)):
        found = resizing.ScaleAndTranslateGrad(kind, antialias)(
            Tensor(dout), Tensor(x, ms.float32), scale, by)
        moved = ops.ScaleAndTranslate(kind, antialias)(
            Tensor(x, ms.float32), Tensor([5, 3], ms.int32), scale, by)
        np.testing.assert_allclose((found.asnumpy() * x).sum(), (moved.asnumpy() * dout).sum(),
                                   rtol=1e-4)
    for given in ((Tensor(dout[0]), Tensor(x, ms.float32)), (Tensor(dout), Tensor(x[0],
                                                                                   ms.float32))):
        with pytest.raises(ValueError, match="ScaleAndTranslateGrad"):
            resizing.ScaleAndTranslateGrad()(*given, scale, by)


@pytest.mark.parametrize("shape, size", [((1,), 16), ((128,), 16), ((129,), 32), ((3, 50), 32),
                                         ((16, 16), 32), ((0,), 0)])
def test_masks_are_as_long_as_whole_blocks(shape, size):
    assert dropout_mask.DropoutGenMask()(shape, 0.5).shape == (size,)


def test_bits_from_the_lowest_on():
    mask = Tensor([0b00000101, 0b10000000], ms.uint8)
    x = ops.ones((2, 8))
    found = dropout_mask.DropoutDoMask()(x, mask, 0.5)
    assert found.tolist() == [[2, 0, 2, 0, 0, 0, 0, 0], [0] * 7 + [2]]
    assert dropout_mask.DropoutDoMask()(x, mask, Tensor(0.0)).tolist() == [
        [1, 0, 1, 0, 0, 0, 0, 0], [0] * 7 + [1]]
    assert dropout_mask.DropoutDoMask()(ops.ones(16), mask, 1.0).sum() == 3
    with pytest.raises(ValueError, match="a bit for each of the 17"):
        dropout_mask.DropoutDoMask()(ops.ones(17), mask, 0.5)
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            dropout_mask.DropoutDoMask()(x, mask, share)
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            dropout_mask.DropoutGenMask()((3,), share)
    assert set(dropout_mask.DropoutGenMask()((300,), 1.0).tolist()) == {255}
    assert set(dropout_mask.DropoutGenMask()((300,), 0.0).tolist()) == {0}


def state(seed, offset):
    return [ms.Parameter(Tensor([n]), name=name) for n, name in ((seed, "s"), (offset, "o"))]


def test_commands_of_a_generator():
    change = generator_state.Generator()

    def call(cmd, seed, offset, *more):
        held = state(seed, offset)
        one, two, both = change(cmd, [*held, *more])
        assert both.asnumpy().tobytes() == np.array([one.item(), two.item()]).tobytes()
        return (one.item(), two.item()), tuple(p.item() for p in held)

    assert call(0, 5, 8, Tensor([12])) == ((5, 8), (5, 20))  # as they were before
    assert call(2, 5, 8) == call(5, 5, 8) == ((5, 8), (5, 8))
    assert call(4, 5, 8, Tensor([9])) == ((9, 0), (9, 0))
    kept = Tensor(np.array([3, 4]).view(np.uint8))
    assert call(3, 5, 8, kept) == ((3, 4), (3, 4))
    (seed, offset), held = call(1, 5, 8)
    assert offset == 0 and held == (seed, 0) and 0 <= seed < 2**32
    for cmd, more in ((0, 0), (0, 2), (1, 1), (2, 1), (3, 0), (4, 0), (5, 1)):
        with pytest.raises(ValueError, match="'inputs' must be"):
            change(cmd, [*state(1, 1), *[Tensor([1])] * more])
    for cmd in (-1, 6):
        with pytest.raises(ValueError, match="'cmd'"):
            change(cmd, state(1, 1))
