"""Limits of what chooses boxes: each number at its ends, each shape and type beside the right one.
"""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives.detection import _covers

BOXES = Tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 1.0, 2.0, 3.0], [4.0, 4.0, 5.0, 5.0]])
SCORES = Tensor([0.5, 0.75, 0.25])
INT32 = ms.int32


def suppress(boxes=BOXES, scores=SCORES, count=3, limit=0.5, least=0.0):
    return ops.NonMaxSuppressionV3()(boxes, scores, count, limit, least).tolist()


@pytest.mark.parametrize("options, found", [
    ({}, [1, 0, 2]), ({"count": 1}, [1]), ({"count": 0}, []), ({"count": -1}, []),
    ({"limit": 0.0}, [1, 2]), ({"limit": 1.0}, [1, 0, 2]), ({"limit": 1}, [1, 0, 2]),
    ({"limit": Tensor(0.0)}, [1, 2]), ({"limit": 1 / 3 - 1e-3}, [1, 2]),
    ({"limit": 1 / 3 + 1e-3}, [1, 0, 2]), ({"least": 0.25}, [1, 0]), ({"least": 0.75}, []),
    ({"least": Tensor(0.5)}, [1])])
def test_thresholds(options, found):
    assert suppress(**options) == found


@pytest.mark.parametrize("options", [
    {"limit": -0.1}, {"limit": 1.1}, {"scores": SCORES[:2]}, {"boxes": BOXES[:, :3]},
    {"boxes": BOXES[None]}, {"scores": SCORES[None]}])
def test_boxes_that_do_not_fit(options):
    with pytest.raises(ValueError, match="NonMaxSuppressionV3"):
        suppress(**options)


@pytest.mark.parametrize("count, found", [(0, []), (1, [1]), (2, [1, 0])])
def test_overlaps_at_the_threshold_stay(count, found):
    overlaps = Tensor([[1.0, 0.5], [0.5, 1.0]])

    def call(limit, many=count):
        return ops.NonMaxSuppressionWithOverlaps()(
            overlaps, SCORES[:2], Tensor(many, INT32), Tensor(limit), Tensor(0.0)).tolist()

    assert call(0.5) == found and call(0.49) == found[:1]
    with pytest.raises(ValueError, match="'max_output_size' must be 0 or more"):
        call(0.5, -1)


def combined(boxes, scores, each=2, total=3, limit=0.5, least=0.1, **options):
    return ops.CombinedNonMaxSuppression(**options)(
        Tensor(np.float32(boxes)), Tensor(np.float32(scores)), Tensor(each, INT32),
        Tensor(total, INT32), Tensor(limit), Tensor(least))


TALL = [[[[0.0, 0.0, 1.5, 1.0]], [[2.0, 2.0, 3.0, 3.0]], [[-1.0, 0.0, -0.5, 1.0]]]]
MARKS = [[[0.9, 0.2], [0.8, 0.05], [0.7, 0.3]]]


def test_boxes_of_all_classes():
    boxes, scores, classes, counts = combined(TALL, MARKS, 2, 4, clip_boxes=False)
    np.testing.assert_allclose(scores.asnumpy(), [[0.9, 0.8, 0.3, 0.2]], rtol=1e-6)
    assert classes.tolist() == [[0, 0, 1, 1]] and counts.tolist() == [4]
    assert boxes[0, 0].tolist() == [0.0, 0.0, 1.5, 1.0]
    clipped = combined(TALL, MARKS, 2, 4)[0]
    assert clipped[0, 0].tolist() == [0.0, 0.0, 1.0, 1.0]
    # with one for each class there are no more than the classes
    assert [combined(TALL, MARKS, 1, 4, pad_per_class=padded)[1].shape for padded in
            (False, True)] == [(1, 4), (1, 2)]
    found = combined(TALL, MARKS, 1, 1)
    assert found[3].tolist() == [1] and found[1].shape == (1, 1)


@pytest.mark.parametrize("change", [
    {"each": 0}, {"total": 0}, {"limit": 1.1}, {"limit": -0.1},
    {"boxes": [TALL[0][:2]]}, {"boxes": TALL * 2}, {"scores": [[[1.0] * 3] * 2]},
    {"boxes": np.ones((1, 3, 3, 4))}, {"boxes": np.ones((1, 3, 1, 3))}])
def test_numbers_of_boxes_that_do_not_fit(change):
    given = {"boxes": TALL, "scores": MARKS, **change}
    with pytest.raises(ValueError, match="CombinedNonMaxSuppression"):
        combined(**given)


def test_a_box_for_each_class():
    each = np.repeat(np.float32(TALL), 2, 2)
    for one, other in zip(combined(each, MARKS), combined(TALL, MARKS), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


IMAGES = ops.ones((2, 5, 6, 3))


@pytest.mark.parametrize("call, kind", [
    (lambda: ops.ExtractGlimpse(1), TypeError), (lambda: ops.ExtractGlimpse(True, 1), TypeError),
    (lambda: ops.ExtractGlimpse(True, True, 1), TypeError),
    (lambda: ops.ExtractGlimpse(noise="zero"), ValueError),
    (lambda: ops.ExtractGlimpse(True, True, False, "none"), ValueError),
    (lambda: ops.ExtractGlimpse()(IMAGES[0], Tensor([2, 2], INT32), ops.ones((2, 2))),
     RuntimeError),
    (lambda: ops.ExtractGlimpse()(IMAGES, Tensor([2, 2], INT32), ops.ones((1, 2))), ValueError),
    (lambda: ops.ExtractGlimpse()(IMAGES, Tensor([2, 2], INT32), ops.ones((2, 3))), ValueError),
    (lambda: ops.ExtractGlimpse()(IMAGES, Tensor([0, 2], INT32), ops.ones((2, 2))), ValueError),
    (lambda: ops.ExtractGlimpse()(IMAGES, Tensor([2, 0], INT32), ops.ones((2, 2))), ValueError),
    (lambda: ops.ExtractGlimpse()(IMAGES, Tensor([2], INT32), ops.ones((2, 2))), ValueError),
    (lambda: ops.ExtractGlimpse()(IMAGES, Tensor([2] * 3, INT32), ops.ones((2, 2))), ValueError)])
def test_glimpses_that_do_not_fit(call, kind):
    with pytest.raises(kind, match="ExtractGlimpse"):
        call()


def test_glimpses_of_one_pixel():
    found = ops.ExtractGlimpse(False, False, False, "zero")(
        Tensor(np.arange(30, dtype=np.float32).reshape(1, 5, 6, 1)), Tensor([1, 1], INT32),
        Tensor([[2.5, 3.5]]))
    assert found.shape == (1, 1, 1, 1) and found.item() == 15


SIZE, BOX, SHARE = Tensor([40, 60, 3]), Tensor([[[0.1, 0.2, 0.8, 0.9]]]), Tensor([0.5])
Draw = ops.SampleDistortedBoundingBoxV2


@pytest.mark.parametrize("call, kind", [
    (lambda: Draw(max_attempts=0), ValueError), (lambda: Draw(area_range=(0.0, 0.5)), ValueError),
    (lambda: Draw(area_range=(0.5, 0.5)), ValueError),
    (lambda: Draw(area_range=(0.1, 0.2, 0.3)), ValueError),
    (lambda: Draw(area_range=(0.5, 1.1)), ValueError),
    (lambda: Draw(area_range=(0.5, 1)), TypeError),
    (lambda: Draw(area_range={0.1, 0.2}), TypeError),
    (lambda: Draw(aspect_ratio_range=(0.0, 0.5)), ValueError),
    (lambda: Draw(aspect_ratio_range=(2.0, 1.0)), ValueError),
    (lambda: Draw(use_image_if_no_bounding_boxes=1), TypeError),
    (lambda: Draw()(Tensor([40, 60]), BOX, SHARE), ValueError),
    (lambda: Draw()(Tensor([40, 60, 3, 1]), BOX, SHARE), ValueError),
    (lambda: Draw()(Tensor([40, 0, 3]), BOX, SHARE), RuntimeError),
    (lambda: Draw()(SIZE, BOX, Tensor([-0.1])), RuntimeError),
    (lambda: Draw()(SIZE, BOX, Tensor([1.1])), RuntimeError),
    (lambda: Draw()(SIZE, BOX, Tensor([0.1, 0.2])), ValueError),
    *((lambda corners=corners: Draw()(SIZE, Tensor([[corners]]), SHARE), RuntimeError)
      for corners in ([-0.1, 0.0, 1.0, 1.0], [0.0, -0.1, 1.0, 1.0], [0.0, 0.0, 1.1, 1.0],
                      [0.0, 0.0, 1.0, 1.1], [0.5, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 0.5]))],
    ids=range(22))
def test_parts_that_can_not_be_drawn(call, kind):
    with pytest.raises(kind, match="SampleDistortedBoundingBoxV2"):
        call()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_ends_of_what_has_to_be_covered(share):
    """The whole image may be a box, and all of it may have to be inside of a part."""
    begin, size, part = Draw(1, max_attempts=1, area_range=(0.5, 1.0),
                             aspect_ratio_range=(0.5, 9.0))(
        SIZE, Tensor([[[0.0, 0.0, 1.0, 1.0]]]), Tensor([share]))
    if share:
        assert (begin.tolist(), size.tolist()) == ([0, 0, 0], [40, 60, -1])
        assert part.tolist() == [[[0, 0, 1, 1]]]
    assert (begin.dtype, size.dtype, part.shape) == (ms.int64, ms.int64, (1, 1, 4))


def test_the_rest_of_a_size_in_unsigned_numbers():
    found = Draw(1)(Tensor([40, 60, 3], ms.uint8), BOX, Tensor([0.0]))
    assert found[1].dtype is ms.uint8 and found[1][2] == 255
    assert Draw(1)(Tensor([40, 60, 3], INT32), BOX, Tensor([0.0]))[1][2] == -1


@pytest.mark.parametrize("part, least, covered", [
    ((0.0, 0.0, 1.0, 1.0), 1.0, True), ((0.25, 0.0, 1.0, 1.0), 1.0, True),
    ((0.5, 0.0, 1.0, 1.0), 0.5, True), ((0.5, 0.0, 1.0, 1.0), 0.51, False),
    ((0.0, 0.0, 0.5, 0.25), 0.25, True), ((0.0, 0.0, 0.5, 0.25), 0.26, False),
    ((0.8, 0.8, 1.0, 1.0), 0.1, False), ((0.8, 0.8, 1.0, 1.0), 0.0, True),
    ((0.0, 0.6, 0.1, 1.0), 0.01, False)])
def test_shares_of_a_box_that_a_part_covers(part, least, covered):
    assert _covers([0.25, 0.0, 0.75, 0.5], part, least) is covered


@pytest.mark.parametrize("high, wide, ratios, shares", [
    (1000, 800, (1.2, 1.5), (0.3, 0.4)), (300, 2000, (0.9, 1.1), (0.05, 0.1)),
    (2000, 300, (0.5, 0.6), (0.1, 0.2))])
def test_parts_are_drawn_from_their_ranges(high, wide, ratios, shares):
    draw = Draw(3, aspect_ratio_range=ratios, area_range=shares)
    drawn, corners = [], []
    for _ in range(80):
        begin, size, part = draw(Tensor([high, wide, 3]), Tensor([[[0.0, 0.0, 1.0, 1.0]]]),
                                 Tensor([0.0]))
        drawn.append([*begin.tolist()[:2], *size.tolist()[:2]])
        corners.append(part.tolist()[0][0])
    y, x, tall, across = np.array(drawn).T
    wanted = np.stack([y / high, x / wide, (y + tall) / high, (x + across) / wide], 1)
    np.testing.assert_allclose(corners, wanted, rtol=1e-5)
    most = min(shares[1], high * ratios[1] / wide, wide / ratios[0] / high)
    for found, (low, end) in ((across / tall, ratios), (tall * across / (high * wide),
                                                        (shares[0], most)),
                              (y / (high - tall + 1), (0, 1)), (x / (wide - across + 1), (0, 1))):
        near = 0.1 * (end - low) + 0.01
        assert low - 0.01 <= found.min() < low + near and end - near < found.max() <= end + 0.01


def test_parts_that_fit_in_no_image_leave_the_whole_one():
    for size, ratios in (([100, 1000, 3], (0.9, 1.1)), ([1000, 100, 3], (0.9, 1.1))):
        begin, found, _ = Draw(5, aspect_ratio_range=ratios, area_range=(0.5, 1.0))(
            Tensor(size), BOX, Tensor([0.0]))
        assert begin.tolist() == [0, 0, 0] and found.tolist() == [*size[:2], -1]


def test_one_box_of_several_has_to_be_covered():
    """The second box is too large for any part, the first one isn't."""
    boxes = Tensor([[[0.3, 0.3, 0.4, 0.4], [0.0, 0.0, 1.0, 1.0]]])
    draw = Draw(2, area_range=(0.1, 0.3))
    for _ in range(10):
        y0, x0, y1, x1 = draw(Tensor([500, 500, 3]), boxes, Tensor([1.0]))[2].tolist()[0][0]
        assert y0 <= 0.3 < 0.4 <= y1 + 1e-6 and x0 <= 0.3 < 0.4 <= x1 + 1e-6
        assert (y1 - y0) * (x1 - x0) < 0.31
