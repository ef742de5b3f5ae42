"""Normalizations with what they save, and regions of interest cell by cell."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import gradients_norms as norms

RNG = np.random.default_rng(29)


@pytest.mark.parametrize("kind", ["InstanceNormV2", "InstanceNormV2Grad"])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3, 1, 1), (2, 3, 1, 1, 4), (2, 3, 2, 2, 4, 2)])
def test_images_have_more_than_one_pixel(kind, shape):
    x = Tensor(np.ones(shape, np.float32))
    one = Tensor(np.ones((2, 3, 1, 1), np.float32))
    given = (x, one, one, one, one) if kind == "InstanceNormV2" else (x, x, *[one] * 5)
    with pytest.raises(ValueError, match=rf"For '{kind}', 'x' must .* than one pixel, but got "
                                         rf"\({', '.join(map(str, shape))}\)"):
        getattr(norms, kind)()(*given)


@pytest.mark.parametrize("shape", [(2, 3, 2, 1), (2, 3, 1, 2), (2, 3, 4, 2, 5)])
@pytest.mark.parametrize("options", [{}, {"is_training": False}, {"epsilon": 0.3}])
def test_normalization_of_each_channel_of_each_image(shape, options):
    x = RNG.normal(size=shape).astype(np.float32)
    few = (*shape[:2], 1, 1, *shape[4:])
    gamma, beta, mean, var = (RNG.uniform(0.5, 2, few).astype(np.float32) for _ in range(4))
    out, *saved = norms.InstanceNormV2(**options)(*map(Tensor, (x, gamma, beta, mean, var)))
    eps = options.get("epsilon", 1e-5)
    if options.get("is_training", True):
        mean, var = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
        kept = [mean, 1 / np.sqrt(var + eps)]
    else:
        kept = [np.zeros(few)] * 2
    np.testing.assert_allclose(out.asnumpy(), (x - mean) / np.sqrt(var + eps) * gamma + beta,
                               rtol=1e-3, atol=1e-4)
    for one, other in zip(saved, kept, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match=r"'gamma' must have the shape \(2, 3, 1, 1"):
        norms.InstanceNormV2(**options)(Tensor(x), Tensor(gamma[:, :1]), *[Tensor(beta)] * 3)


@pytest.mark.parametrize("shape", [(1, 1, 5), (1, 4, 3, 2), (3, 4)])
def test_groups_of_channels_with_their_statistics(shape):
    x, groups = RNG.normal(size=shape), 2 if shape[1] > 1 else 1
    out, mean, rstd = norms.GroupNorm()(Tensor(x), groups, None, None, 0.1)
    rows = x.reshape(shape[0], groups, -1)
    center, inverse = rows.mean(2), 1 / np.sqrt(rows.var(2) + 0.1)
    np.testing.assert_allclose(mean.asnumpy(), center, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(rstd.asnumpy(), inverse, rtol=1e-6)
    np.testing.assert_allclose(out.asnumpy(), ((rows - center[..., None]) * inverse[..., None])
                               .reshape(shape), rtol=1e-6, atol=1e-9)


def test_layers_are_normalized_from_the_second_axis_on_by_default():
    x, dy, gamma = (RNG.normal(size=s) for s in ((4, 3, 2), (4, 3, 2), (3, 2)))
    mean, var = x.mean((1, 2)), x.var((1, 2))
    one, other = (norms.LayerNormGrad(*begin)(*map(Tensor, (x, dy, var, mean, gamma)))
                  for begin in ((), (1, 1)))
    pulled = [RNG.normal(size=s) for s in ((4, 3, 2), (3, 2), (3, 2))]
    twice = [norms.LayerNormGradGrad(*begin)(*map(Tensor, (x, dy, var, mean, gamma, *pulled)))
             for begin in ((), (1, 1))]
    for a, b in (*zip(one, other, strict=True), *zip(*twice, strict=True)):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    # where all is alike the variance is 0, and what is added to it keeps the quotient finite
    flat = norms.LayerNormGrad()(*map(Tensor, (x * 0, dy, var * 0, mean * 0, gamma)))
    np.testing.assert_allclose(flat[0].asnumpy() * 1e-6, dy * gamma - (dy * gamma).mean(
        (1, 2), keepdims=True), rtol=1e-6, atol=1e-9)
    again = norms.LayerNormGradGrad()(*map(Tensor, (x * 0, dy, var * 0, mean * 0, gamma, *pulled)))
    wanted = gamma * (pulled[0] - pulled[0].mean((1, 2), keepdims=True)) + 1e-6 * pulled[2]
    np.testing.assert_allclose(again[1].asnumpy() * 1e-6, wanted, rtol=1e-5, atol=1e-8)


FEATURES = RNG.normal(size=(2, 18, 6, 9)).astype(np.float32)  # 2 channels of 3 x 3 cells
ROIS = np.array([[[0, 1, 2, 9, 11], [1, 3, 5, 3, 7.6], [1, -4, -6, 5, 2], [0, 0.9, 30, 5, 40]],
                 [[1, 0, 0, 17, 11], [0, -9, -9, -5, -5], [0, 12, 8, 30, 30], [1, 5, 3, 6, 4]]],
                np.float32)  # (batch, regions, 5)


def rounded(value):
    return math.copysign(math.floor(abs(value) + 0.5), value)


def pooled(features, rois, scale, groups, channels):
    out = np.zeros((len(rois), channels, groups, groups))
    height, width = features.shape[2:]
    for r, (image, *corners) in enumerate(rois):
        x0, y0, x1, y1 = (rounded(one * scale) for one in corners)
        tall, broad = max(y1 - y0, 1) / groups, max(x1 - x0, 1) / groups
        for p, q in np.ndindex(groups, groups):
            top, bottom, left, right = (min(max(v, 0), m) for v, m in (
                (math.floor(p * tall + y0), height), (math.ceil((p + 1) * tall + y0), height),
                (math.floor(q * broad + x0), width), (math.ceil((q + 1) * broad + x0), width)))
            for c in range(channels):
                cell = features[int(image), (c * groups + p) * groups + q, top:bottom, left:right]
                out[r, c, p, q] = cell.mean() if cell.size else 0
    return out


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_cells_of_regions_are_means_over_channels_of_their_own(scale):
    rois = Tensor(ROIS.transpose(0, 2, 1).copy())
    found = norms.PSROIPooling(scale, 3, 2)(Tensor(FEATURES), rois)
    wanted = pooled(FEATURES, ROIS.reshape(-1, 5), scale, 3, 2)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    # the gradient is the transpose of what is linear in the features
    dy = RNG.normal(size=wanted.shape).astype(np.float32)
    gradient = norms.PSROIPoolingGrad((6, 9), scale, 3, 2)(Tensor(dy), rois)
    assert gradient.shape == FEATURES.shape
    np.testing.assert_allclose((gradient.asnumpy() * FEATURES).sum(), (dy * wanted).sum(),
                               rtol=1e-3)
    square = norms.PSROIPoolingGrad(6, scale, 3, 2)(Tensor(dy), rois)
    assert square.shape == (2, 18, 6, 6)


@pytest.mark.parametrize("features, rois, error, message", [
    ((2, 17, 6, 9), (2, 5, 4), RuntimeError, r"'features' must .* but got \(2, 17, 6, 9\)"),
    ((18, 6, 9), (2, 5, 4), RuntimeError, r"'features' must .* but got \(18, 6, 9\)"),
    ((2, 18, 6, 9), (2, 4, 5), ValueError, r"shape \(N, 5, regions\), but got \(2, 4, 5\)"),
    ((2, 18, 6, 9), (2, 5), ValueError, r"shape \(N, 5, regions\), but got \(2, 5\)")])
def test_shapes_of_features_and_regions(features, rois, error, message):
    with pytest.raises(error, match=message):
        norms.PSROIPooling(1.0, 3, 2)(*(ms.ops.ones(s, ms.float32) for s in (features, rois)))


def test_the_gradient_of_cells_has_their_shape():
    with pytest.raises(RuntimeError, match=r"must have the shape \(8, 2, 3, 3\), but got \(4, 2, "):
        norms.PSROIPoolingGrad(6, 1.0, 3, 2)(ms.ops.ones((4, 2, 3, 3)), ms.ops.ones((2, 5, 4)))
    with pytest.raises(TypeError, match=r"must be an int or a tuple, but got \[6, 6\]"):
        norms.PSROIPoolingGrad([6, 6], 1.0, 3, 2)
