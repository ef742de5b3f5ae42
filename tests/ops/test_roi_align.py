"""ROIAlign against its definition, cell by cell and sample by sample."""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(2, 3, 8, 10)).astype(np.float32)
ROIS = np.array([[1, 2, 3, 17, 11], [0, 0, 0, 5, 15], [1, -9, 4, 30, 9.5], [0, 3, 3, 3, 3]],
                np.float32)


def bilinear(image, y, x):
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return np.zeros(len(image))
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    total = 0.0
    for row in range(height):
        for column in range(width):
            total = total + (image[:, row, column] * max(0, 1 - abs(y - row))
                             * max(0, 1 - abs(x - column)))
    return total


def by_definition(features, rois, height, width, scale, samples, end_mode):
    out = np.zeros((len(rois), features.shape[1], height, width))
    for i, (image, *box) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = box[0] * scale, box[1] * scale, *((c + end_mode) * scale for c in box[2:])
        tall, wide = y1 - y0, x1 - x0
        if not end_mode:
            tall, wide = max(tall, 1.0), max(wide, 1.0)
        down, across = (samples or math.ceil(length / cells)
                        for length, cells in ((tall, height), (wide, width)))
        for p, q in np.ndindex(height, width):
            out[i, :, p, q] = np.mean([
                bilinear(features[int(image)], y0 + (p + (a + 0.5) / down) * tall / height,
                         x0 + (q + (b + 0.5) / across) * wide / width)
                for a in range(down) for b in range(across)], axis=0)
    return out


@pytest.mark.parametrize("end_mode", [0, 1])
@pytest.mark.parametrize("samples", [0, 1, 2, 3])
def test_means_of_samples(samples, end_mode):
    given = (3, 2, 0.5, samples, end_mode)
    out = ops.ROIAlign(*given)(Tensor(FEATURES), Tensor(ROIS))
    np.testing.assert_allclose(out.asnumpy(), by_definition(FEATURES, ROIS, *given),
                               rtol=1e-5, atol=1e-6)


def test_one_graph_serves_other_regions():
    roi = ops.ROIAlign(2, 2, 0.5)
    step = ms.jit(ms.grad(lambda features, rois: (roi(features, rois) ** 2).sum()))
    for factor in (1.0, 0.5, 0.8):  # a warning that it runs eagerly would be an error
        rois = Tensor(ROIS * np.array([1, *[factor] * 4], np.float32))
        features = Tensor(FEATURES)
        want = ms.grad(lambda f, r=rois: (roi(f, r) ** 2).sum())(features)
        np.testing.assert_allclose(step(features, rois).asnumpy(), want.asnumpy(), rtol=1e-5,
                                   atol=1e-6)


@pytest.mark.parametrize("samples", [0, 2])
def test_no_regions(samples):
    out = ops.ROIAlign(3, 2, 0.5, samples)(Tensor(FEATURES), Tensor(ROIS[:0]))
    assert out.shape == (0, 3, 3, 2)
