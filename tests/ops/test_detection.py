"""Non-maximum suppression against a loop over boxes; random crops of images."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def _kept(overlap, scores, limit, least, count):
    """The boxes that are kept, one by one."""
    found: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if len(found) < count and scores[i] > least and all(overlap[i, j] <= limit for j in found):
            found.append(int(i))
    return found


def _whole(number):
    return Tensor(number, ms.int32)


@pytest.mark.parametrize("seed", range(5))
def test_overlapping_boxes_go(seed):
    rng = np.random.default_rng(seed)
    overlap = rng.random((40, 40), np.float32)
    scores = rng.integers(0, 20, 40).astype(np.float32) / 20  # some are equal
    got = ops.NonMaxSuppressionWithOverlaps()(
        Tensor(overlap), Tensor(scores), _whole(12), Tensor(0.8), Tensor(0.3))
    assert got.dtype is ms.int32
    assert got.tolist() == _kept(overlap, scores, 0.8, np.float32(0.3), 12)


def test_suppression_compiles_and_batches():
    rng = np.random.default_rng(0)
    corner = rng.random((3, 6, 2, 2))
    boxes = Tensor(np.concatenate((corner, corner + 0.3), -1).astype(np.float32))
    scores = Tensor(rng.random((3, 6, 2)).astype(np.float32))
    limits = (_whole(3), _whole(4), Tensor(0.3), Tensor(0.1))
    suppress = ops.CombinedNonMaxSuppression(False, False)
    batch = suppress(boxes, scores, *limits)
    compiled = ms.jit(lambda b, s: suppress(b, s, *limits))(boxes, scores)
    for i in range(3):
        alone = suppress(boxes[i:i + 1], scores[i:i + 1], *limits)
        for got, other, want in zip(batch, compiled, alone, strict=True):
            np.testing.assert_array_equal(got[i:i + 1].asnumpy(), want.asnumpy())
            np.testing.assert_array_equal(other[i:i + 1].asnumpy(), want.asnumpy())


def test_boxes_are_any_two_corners():
    boxes = Tensor([[0.0, 0.0, 4.0, 2.0], [4.0, 2.0, 0.0, 0.0], [9.0, 9.0, 8.0, 8.0]])
    scores = Tensor([0.5, 0.6, 0.1])
    assert ops.NonMaxSuppressionV3()(boxes, scores, 3, 0.5, 0.0).tolist() == [1, 2]
    assert ops.NonMaxSuppressionV3()(boxes, scores, -3, 0.5, 0.0).tolist() == []
    with pytest.raises(ValueError, match=r"'iou_threshold' must be in \[0, 1\], but got 2.0"):
        ops.NonMaxSuppressionV3()(boxes, scores, 3, 2.0, 0.0)


def test_drawn_parts_fulfil_their_conditions():
    height, width = 60, 80
    box = np.float32([0.2, 0.3, 0.6, 0.9])
    draw = ops.SampleDistortedBoundingBoxV2(3, 0, (0.5, 1.5), (0.2, 0.8))
    parts = set()
    for _ in range(50):
        begin, size, part = draw(Tensor([height, width, 3]), Tensor(box.reshape(1, 1, 4)),
                                 Tensor([0.4]))
        y, x, rest = begin.tolist()
        tall, wide, depth = size.tolist()
        assert (rest, depth) == (0, -1)
        np.testing.assert_allclose(
            part.asnumpy().ravel(),
            [y / height, x / width, (y + tall) / height, (x + wide) / width], rtol=1e-6)
        assert y + tall <= height and x + wide <= width
        assert 0.4 <= wide / tall <= 1.7  # rounding to pixels on both sides
        assert 0.18 <= tall * wide / (height * width) <= 0.82
        low, high = np.maximum(part.asnumpy().ravel()[:2], box[:2]), np.minimum(
            part.asnumpy().ravel()[2:], box[2:])
        assert np.prod(high - low) >= 0.4 * np.prod(box[2:] - box[:2]) - 1e-6
        parts.add((y, x, tall, wide))
    assert len(parts) > 30
    again = ops.SampleDistortedBoundingBoxV2(3, 0, (0.5, 1.5), (0.2, 0.8))
    first = again(Tensor([height, width, 3]), Tensor(box.reshape(1, 1, 4)), Tensor([0.4]))
    assert (*first[0].tolist()[:2], *first[1].tolist()[:2]) in parts


def test_without_boxes_the_whole_image_counts():
    empty = Tensor(np.zeros((1, 0, 4), np.float32))
    size, share = Tensor([5, 6, 3]), Tensor([1.0])
    begin, lengths, _ = ops.SampleDistortedBoundingBoxV2(
        use_image_if_no_bounding_boxes=True, area_range=(0.1, 0.2))(size, empty, share)
    assert (begin.tolist(), lengths.tolist()) == ([0, 0, 0], [5, 6, -1])
    with pytest.raises(ValueError, match="there must be a box"):
        ops.SampleDistortedBoundingBoxV2()(size, empty, share)
    with pytest.raises(RuntimeError, match=r"must be \(y0, x0, y1, x1\) in \[0, 1\]"):
        ops.SampleDistortedBoundingBoxV2()(size, Tensor([[[0.5, 0.1, 0.4, 0.9]]]), share)
    with pytest.raises(ValueError, match=r"'area_range' must be two numbers in \(0, 1.0\]"):
        ops.SampleDistortedBoundingBoxV2(area_range=(0.5, 1.5))


@pytest.mark.parametrize(("noise", "low", "high"), [("uniform", -1.0, 1.0),
                                                    ("gaussian", 2.0, 8.0)])
def test_noise_fills_the_region_outside_of_an_image(noise, low, high):
    image = Tensor(np.random.default_rng(0).normal(5.0, 0.5, (1, 20, 20, 1)).astype(np.float32))
    glimpse = ops.ExtractGlimpse(True, True, False, noise)
    out = glimpse(image, Tensor([60, 60], ms.int32), Tensor([[0.0, 0.0]])).asnumpy()[0, ..., 0]
    np.testing.assert_array_equal(out[20:40, 20:40], image.asnumpy()[0, ..., 0])
    filled = np.concatenate((out[:20].ravel(), out[40:].ravel()))
    assert low < filled.min() < filled.max() < high
    assert abs(filled.mean() - (low + high) / 2) < 0.1 and filled.std() > 0.3


def test_overlaps_are_a_square():
    overlaps, scores = ops.ones((2, 3)), ops.ones(2)
    with pytest.raises(ValueError, match="'overlaps' must be a square, but got shape \\(2, 3\\)"):
        ops.NonMaxSuppressionWithOverlaps()(overlaps, scores, _whole(1), Tensor(0.5), Tensor(0.1))
