"""Resizing, sampling and rearranging images: values of each option, and the limits of arguments."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(7)
IMAGES = RNG.normal(size=(2, 3, 4, 6)).astype(np.float32)
VOLUMES = RNG.normal(size=(2, 3, 3, 4, 5)).astype(np.float32)
LAST = np.ascontiguousarray(np.moveaxis(IMAGES, 1, -1))
t = torch.from_numpy
INT32 = ms.int32


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), np.asarray(wanted), rtol=1e-4, atol=1e-5)


def of_size(*size, **options):
    return F.interpolate(t(IMAGES), size, **options)


@pytest.mark.parametrize("make, wanted", [
    (lambda: ops.ResizeBilinearV2(True)(Tensor(IMAGES), (7, 5)),
     lambda: of_size(7, 5, mode="bilinear", align_corners=True)),
    (lambda: ops.ResizeBilinearV2(False, True)(Tensor(IMAGES), (7, 5)),
     lambda: of_size(7, 5, mode="bilinear", align_corners=False)),
    (lambda: ops.ResizeNearestNeighborV2()(Tensor(IMAGES), (7, 5)),
     lambda: of_size(7, 5, mode="nearest")),
    (lambda: ops.ResizeNearestNeighborV2(False, True)(Tensor(IMAGES), (7, 5)),
     lambda: of_size(7, 5, mode="nearest-exact")),
    (lambda: ops.ResizeNearestNeighbor((7, 5))(Tensor(IMAGES)),
     lambda: of_size(7, 5, mode="nearest")),
    (lambda: ops.ResizeNearestNeighbor((7, 5), False, True)(Tensor(IMAGES)),
     lambda: of_size(7, 5, mode="nearest")),  # which isn't looked at
    (lambda: ops.ResizeLinear1D()(Tensor(IMAGES[0]), (9,)),
     lambda: F.interpolate(t(IMAGES[0]), (9,), mode="linear", align_corners=True)),
    (lambda: ops.ResizeLinear1D("half_pixel")(Tensor(IMAGES[0]), [9]),
     lambda: F.interpolate(t(IMAGES[0]), (9,), mode="linear", align_corners=False)),
    (lambda: ops.ResizeArea()(Tensor(LAST), Tensor([2, 3], INT32)),
     lambda: np.moveaxis(of_size(2, 3, mode="area").numpy(), 1, -1)),
    (lambda: ops.UpsampleNearest3D()(Tensor(VOLUMES), (5, 3, 7), None),
     lambda: F.interpolate(t(VOLUMES), (5, 3, 7))),
    (lambda: ops.UpsampleNearest3D()(Tensor(VOLUMES), None, Tensor([1.5, 2.0, 0.5])),
     lambda: F.interpolate(t(VOLUMES), None, (1.5, 2.0, 0.5))),
    (lambda: ops.UpsampleTrilinear3D(True)(Tensor(VOLUMES), Tensor([5, 3, 7])),
     lambda: F.interpolate(t(VOLUMES), (5, 3, 7), mode="trilinear", align_corners=True)),
    (lambda: ops.UpsampleTrilinear3D()(Tensor(VOLUMES), None, [1.5, 2, 0.5]),
     lambda: F.interpolate(t(VOLUMES), None, (1.5, 2.0, 0.5), mode="trilinear",
                           align_corners=False)),
    (lambda: ops.ChannelShuffle(2)(Tensor(IMAGES[:, [0, 1, 2, 0, 1, 1]])),
     lambda: IMAGES[:, [0, 0, 1, 1, 2, 1]]),
    (lambda: ops.Im2Col((2, 3), (1, 2), (2, 1), (1, 0))(Tensor(IMAGES)),
     lambda: F.unfold(t(IMAGES), (2, 3), (2, 1), (1, 0), (1, 2)).reshape(2, 3, 6, -1)),
    (lambda: ops.Col2Im([2, 3], [2, 1], [1, 0], [1, 2])(
        ops.Im2Col((2, 3), (1, 2), (2, 1), (1, 0))(Tensor(IMAGES)), Tensor([4, 6], INT32)),
     lambda: F.fold(F.unfold(t(IMAGES), (2, 3), (2, 1), (1, 0), (1, 2)), (4, 6), (2, 3), (2, 1),
                    (1, 0), (1, 2))),
], ids=range(16))
def test_values(make, wanted):
    close(make(), wanted())


@pytest.mark.parametrize("b", [2, 3])
def test_channels_turned_into_pixels_and_back(b):
    x = RNG.normal(size=(2, 2 * b * b, 3, 4)).astype(np.float32)
    wanted = np.zeros((2, 2, 3 * b, 4 * b), np.float32)
    for i in range(b):
        for j in range(b):
            wanted[:, :, i::b, j::b] = x[:, (i * b + j) * 2:(i * b + j) * 2 + 2]
    pixels = ops.DepthToSpace(b)(Tensor(x))
    np.testing.assert_array_equal(pixels.asnumpy(), wanted)
    np.testing.assert_array_equal(ops.SpaceToDepth(b)(pixels).asnumpy(), x)


def moved(image, size, scale, translation):
    """Linear between pixels whose centres are at halves; 0 at points from outside."""
    out = np.zeros((*size, image.shape[-1]))
    for place in np.ndindex(*size):
        at = [(p + 0.5 - by) / s for p, by, s in zip(place, translation, scale, strict=True)]
        if not all(0 <= a <= n for a, n in zip(at, image.shape, strict=False)):
            continue
        shares = [np.maximum(1 - abs(np.arange(n) + 0.5 - a), 0)
                  for a, n in zip(at, image.shape, strict=False)]
        out[place] = np.einsum("i,j,ijc->c", *(s / s.sum() for s in shares), image)
    return out


def test_images_scaled_and_moved():
    size, scale, by = (5, 8), (1.5, 1.25), (0.5, -0.75)
    for antialias in (True, False):
        found = ops.ScaleAndTranslate("triangle", antialias)(
            Tensor(LAST), Tensor(size, INT32), Tensor(scale), Tensor(by))
        close(found, np.stack([moved(image, size, scale, by) for image in LAST]))
    small = ops.ScaleAndTranslate("triangle", False)(
        Tensor(LAST), Tensor([2, 3], INT32), Tensor([0.5, 0.5]), Tensor([0.0, 0.0]))
    close(small, np.stack([moved(image, (2, 3), (0.5, 0.5), (0, 0)) for image in LAST]))


X = Tensor(IMAGES)


@pytest.mark.parametrize("call, kind", [
    (lambda: ops.ResizeBilinearV2(1), TypeError),
    (lambda: ops.ResizeBilinearV2(False, 1), TypeError),
    (lambda: ops.ResizeNearestNeighbor((1, 2, 3)), ValueError),
    (lambda: ops.ResizeArea(1), TypeError),
    (lambda: ops.ResizeArea()(X[0], Tensor([2, 2], INT32)), ValueError),
    (lambda: ops.ResizeArea()(X, Tensor([2, 0], INT32)), ValueError),
    (lambda: ops.ResizeArea()(X, Tensor([2, 2, 2], INT32)), ValueError),
    (lambda: ops.ResizeLinear1D("asymmetric"), ValueError),
    (lambda: ops.ResizeLinear1D()(X, (2,)), ValueError),
    (lambda: ops.ResizeLinear1D()(X[0], (2, 3)), ValueError),
    (lambda: ops.ResizeLinear1D()(X[0].long(), (2,)), TypeError),
    (lambda: ops.ScaleAndTranslate("linear"), ValueError),
    (lambda: ops.ScaleAndTranslate("box", 1), TypeError),
    *((lambda given=given: ops.ScaleAndTranslate()(X, Tensor([2, 2], INT32), *map(Tensor, given)),
       ValueError) for given in (([1.0] * 3, [0.0] * 2), ([1.0] * 2, [0.0]),
                                 ([1.0, 0.0], [0.0] * 2), ([-1.0, 1.0], [0.0] * 2))),
    (lambda: ops.DepthToSpace(1), ValueError), (lambda: ops.SpaceToDepth(2.0), TypeError),
    (lambda: ops.SpaceToDepth(3)(X), ValueError),
    (lambda: ops.SpaceToDepth(4)(X), ValueError),
    (lambda: ops.Im2Col((1, 2, 3)), ValueError),
    (lambda: ops.UpsampleNearest3D()(X, (2, 2, 2)), ValueError),
    (lambda: ops.UpsampleNearest3D()(Tensor(VOLUMES)), ValueError),
    (lambda: ops.UpsampleNearest3D()(Tensor(VOLUMES), (2, 2, 2), (1.0,) * 3), ValueError),
], ids=range(25))
def test_refused(call, kind):
    with pytest.raises(kind, match="^For "):
        call()
