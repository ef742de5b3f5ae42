"""Boxes beside their definitions: overlaps, codes, those inside an image, and suppression by class.
"""

import math

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops import boxes

RNG = np.random.default_rng(13)


def corners(count, size=20):
    start = RNG.integers(0, size, (count, 2))
    return np.concatenate([start, start + RNG.integers(0, size, (count, 2))], 1).astype(np.float64)


def pixels(box, size=45):
    """The pixels of a box whose last ones are included."""
    x0, y0, x1, y1 = map(int, box)
    found = np.zeros((size, size), bool)
    found[y0:y1 + 1, x0:x1 + 1] = True
    return found


@pytest.mark.parametrize("mode", ["iou", "iof"])
def test_overlaps_are_counted_pixels(mode):
    first, second = corners(7), corners(5)
    found = ops.iou(Tensor(first), Tensor(second), mode).asnumpy()
    for j, i in np.ndindex(5, 7):
        a, b = pixels(first[i]), pixels(second[j])
        want = (a & b).sum() / ((a | b).sum() if mode == "iou" else b.sum())
        assert math.isclose(found[j, i], want)
    with pytest.raises(ValueError, match="'mode' must be"):
        ops.iou(Tensor(first), Tensor(second), "giou")


def test_areas_beyond_float16():
    kind = ms.float16
    a, b = Tensor([[0, 0, 400, 399]], kind), Tensor([[0, 0, 400, 199]], kind)
    for mode, want in (("iou", 0.5), ("iof", 1.0)):
        found = ops.iou(a, b, mode)
        assert found.dtype is kind and math.isclose(found.item(), want, rel_tol=1e-2)
    boxes = Tensor([[0, 0, 400, 400, 0.9], [0, 0, 400, 300, 0.8]], kind)
    assert ops.NMSWithMask(0.5)(boxes)[2].tolist() == [True, False]


@pytest.mark.parametrize("call", [
    lambda b: ops.iou(b, ops.ones((1, 4))), lambda b: ops.iou(ops.ones((1, 4)), b),
    lambda b: ops.check_valid(b, ops.ones(3)),
    lambda b: ops.bounding_box_encode(b, ops.ones((2, 4))),
    lambda b: ops.bounding_box_encode(ops.ones((2, 4)), b),
    lambda b: ops.bounding_box_decode(b, ops.ones((2, 4)), (9, 9))])
def test_boxes_are_rows_of_four(call):
    call(ops.ones((2, 4)))
    for shape in ((2, 3), (2, 5), (4,), (1, 2, 4)):
        with pytest.raises(ValueError, match=r"must have the shape \(n, 4\)"):
            call(ops.ones(shape))


@pytest.mark.parametrize("box, inside", [
    ([0, 0, 15, 9], True), ([-0.5, 0, 15, 9], False), ([0, -0.5, 15, 9], False),
    ([0, 0, 15.5, 9], False), ([0, 0, 15, 9.5], False), ([3, 4, 5, 6], True)])
def test_boxes_inside_of_an_image(box, inside):
    found = ops.check_valid(Tensor([box], ms.float32), Tensor([5.0, 8.0, 2.0]))  # 10 rows of 16
    assert found.tolist() == [inside]


@pytest.mark.parametrize("options", [{}, {"means": (0.1, -0.2, 0.3, 0.05),
                                          "stds": (0.5, 2.0, 0.25, 1.5)}])
def test_codes_and_back(options):
    anchors, wanted = corners(6), corners(6)
    codes = ops.bounding_box_encode(Tensor(anchors), Tensor(wanted), **options).asnumpy()
    for code, a, b in zip(codes, anchors, wanted, strict=True):
        wide, high = a[2] - a[0] + 1, a[3] - a[1] + 1
        want = [(b[0] + b[2] - a[0] - a[2]) / 2 / wide, (b[1] + b[3] - a[1] - a[3]) / 2 / high,
                math.log((b[2] - b[0] + 1) / wide), math.log((b[3] - b[1] + 1) / high)]
        want = (np.array(want) - options.get("means", 0)) / options.get("stds", 1)
        np.testing.assert_allclose(code, want, atol=1e-6)
    back = ops.bounding_box_decode(Tensor(anchors), Tensor(codes), (100, 100), **options)
    np.testing.assert_allclose(back.asnumpy(), wanted, atol=1e-5)


def test_decoded_boxes_are_cut():
    anchor = Tensor([[10.0, 20.0, 19.0, 39.0]])  # 10 wide, 20 high
    cut = ops.bounding_box_decode(anchor, Tensor([[0.0, 0.0, 2.0, 2.0]]), (33, 24))
    assert cut.tolist() == [[0, 0, 24, 33]]
    small = ops.bounding_box_decode(anchor, Tensor([[5.0, 5.0, 0.0, 0.0]]), (33, 24))
    assert small.tolist() == [[24, 33, 24, 33]]
    low = ops.bounding_box_decode(anchor, Tensor([[-5.0, -5.0, 0.0, 0.0]]), (33, 24))
    assert low.tolist() == [[0, 0, 0, 0]]
    for scale, factor in ((9.0, 4.0), (-9.0, 0.25), (math.log(3), 3.0)):
        found = ops.bounding_box_decode(anchor, Tensor([[0.0, 0.0, scale, scale]]), (999, 999),
                                        wh_ratio_clip=0.25).asnumpy()[0]
        want = np.array([14.5 - 5 * factor + 0.5, 29.5 - 10 * factor + 0.5,
                         14.5 + 5 * factor - 0.5, 29.5 + 10 * factor - 0.5])
        np.testing.assert_allclose(found, want.clip(0), rtol=1e-5)
    usual = ops.bounding_box_decode(anchor, Tensor([[0.0, 0.0, -9.0, -9.0]]), (99, 99)).asnumpy()
    np.testing.assert_allclose(usual[0, 2:] - usual[0, :2] + 1, [0.16, 0.32], rtol=1e-4)


def area_over(a, b):
    """The intersection over the union of two boxes without wide edges."""
    wide = max(min(a[2], b[2]) - max(a[0], b[0]), 0)
    shared = wide * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared / union if shared else 0.0


def greedy(rows, scores, limit, least, count):
    found = []
    for i in np.argsort(-scores, kind="stable"):
        if len(found) < count and scores[i] > least and all(
                area_over(rows[i], rows[j]) <= limit for j in found):
            found.append(int(i))
    return found


@pytest.mark.parametrize("limit", [0.0, 0.2, 0.5])
def test_boxes_by_falling_score_and_which_stay(limit):
    rows = corners(12) + [0, 0, 1, 1]
    scores = RNG.permutation(12) / 12
    ordered, places, keep = boxes.nms_with_mask(Tensor(np.column_stack([rows, scores])), limit)
    order = np.argsort(-scores)
    np.testing.assert_array_equal(ordered.asnumpy()[:, :4], rows[order])
    assert places.tolist() == list(range(12)) and places.dtype is ms.int32
    want = greedy(rows, scores, limit, -1, 12)
    assert order[keep.asnumpy()].tolist() == want and 1 < len(want) < 12
    for shape in ((3, 4), (3, 6), (5,), (1, 3, 5)):
        with pytest.raises(ValueError, match=r"must have the shape \(n, 5\)"):
            boxes.nms_with_mask(ops.ones(shape), limit)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("per_class, total, pad, clip", [
    (2, 5, False, False), (2, 8, True, False), (3, 4, True, True), (9, 30, False, True),
    (1, 2, True, False)])
def test_the_best_boxes_of_all_classes(shared, per_class, total, pad, clip):
    count, classes = 8, 3
    made = np.array([[corners(count, 10) / 8 + [0, 0, 0.1, 0.1] for _ in range(
        1 if shared else classes)] for _ in range(2)])
    scores = RNG.permutation(2 * count * classes).reshape(2, count, classes) / 48
    found = boxes.combined_nms(Tensor(made.transpose(0, 2, 1, 3)), Tensor(scores), per_class,
                               total, 0.3, 0.2, pad, clip)
    rows = min(total, per_class * classes) if pad else total
    for n in range(2):
        best = []
        for kind in range(classes):
            of = made[n, 0 if shared else kind]
            best += [(scores[n, i, kind], kind, of[i]) for i in greedy(
                of, scores[n, :, kind], 0.3, 0.2, per_class)]
        best = sorted(best, key=lambda entry: -entry[0])[:total]
        assert found[3][n] == len(best)
        blank = rows - len(best)
        np.testing.assert_allclose(found[1][n].asnumpy(), [b[0] for b in best] + [0] * blank)
        assert found[2][n].tolist() == [b[1] for b in best] + [0] * blank
        want = np.array([b[2] for b in best] + [np.zeros(4)] * blank)
        np.testing.assert_allclose(found[0][n].asnumpy(), want.clip(0, 1) if clip else want)


def test_boxes_given_by_any_two_corners_overlap():
    rows = np.array([[0.0, 0, 4, 2], [4, 2, 0, 0], [0, 2, 2, 0], [3, 1, 6, 4], [1, 1, 1, 1]])
    ends = np.concatenate([np.minimum(rows[:, :2], rows[:, 2:]),
                           np.maximum(rows[:, :2], rows[:, 2:])], 1)
    found = boxes.overlap_of_corners(Tensor(rows)._raw)
    np.testing.assert_allclose(found, [[area_over(a, b) for b in ends] for a in ends])


@pytest.mark.parametrize("second, limit, stays", [
    ([1.0, 0, 3, 2], 0.4, True), ([1.0, 0, 3, 2], 0.3, False),  # a third of both together
    ([0.0, 0, 1, 2], 0.5, True), ([0.0, 0, 1, 2], 0.49, False)])  # a half
def test_overlaps_at_the_limit(second, limit, stays):
    rows = np.array([[0.0, 0, 2, 2], second])
    keep = boxes.nms_with_mask(Tensor(np.column_stack([rows, [0.9, 0.8]])), limit)[2]
    assert keep.tolist() == [True, stays]
    overlap = boxes.overlap_of_corners(Tensor(rows)._raw)
    found = boxes.chosen(Tensor([0.9, 0.8])._raw, overlap, limit, 0.0, 2)
    assert found.tolist() == ([0, 1] if stays else [0, -1])


@pytest.mark.parametrize("least, count, want", [
    (0.0, 5, [2, 0, 1]), (0.5, 5, [2, -1, -1]), (0.49, 3, [2, 0, 1]), (0.0, 2, [2, 0]),
    (0.9, 5, [-1, -1, -1]), (0.0, 0, [])])
def test_scores_at_the_limit_and_how_many_stay(least, count, want):
    scores = Tensor([0.5, 0.5, 0.9], ms.float64)._raw
    assert boxes.chosen(scores, Tensor(np.eye(3))._raw, 0.5, least, count).tolist() == want
