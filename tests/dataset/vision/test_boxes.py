"""Boxes that are cut to a part of their image."""

import numpy as np
import pytest

from lamella.dataset import vision
from lamella.dataset.vision.boxes import _cut


@pytest.mark.parametrize("box, want", [
    ((2, 3, 4, 5), (1, 1, 4, 5)), ((0, 0, 3, 4), (0, 0, 2, 2)), ((8, 9, 9, 9), (7, 7, 3, 3)),
    # beside the part, but touching it
    ((0, 3, 1, 2), (0, 1, 0, 2)), ((3, 0, 2, 2), (2, 0, 2, 0)), ((11, 3, 4, 2), (10, 1, 0, 2)),
    ((3, 12, 2, 4), (2, 10, 2, 0)),
    ((0, 3, 0.5, 2), None), ((3, 0, 2, 1.5), None), ((11.5, 3, 4, 2), None),
    ((3, 12.5, 2, 4), None)])
def test_a_box_is_cut_to_a_part(box, want):
    """x, y, width and height, from the part's corner (1, 2) on."""
    boxes = np.array([box, (4, 5, 1, 1)], np.float32)
    found = _cut(boxes, 1, 2, 10, 10)
    assert found.tolist() == [*([] if want is None else [list(want)]), [3, 3, 1, 1]]
    assert boxes.tolist() == [list(box), [4, 5, 1, 1]]


IMAGE = np.random.default_rng(3).integers(0, 256, (20, 30, 3)).astype(np.uint8)
BOXES = np.array([[8, 5, 12, 4, 7], [0, 0, 30, 20, 1], [3.5, 2.25, 1, 17.75, 2]], np.float32)


def moved(*columns):
    return np.stack([*columns, BOXES[:, 4]], 1)


X, Y, W, H = BOXES.T[:4]


@pytest.mark.parametrize("operation, image, boxes", [
    (vision.RandomHorizontalFlipWithBBox(1.0), IMAGE[:, ::-1], moved(30 - X - W, Y, W, H)),
    (vision.RandomVerticalFlipWithBBox(1.0), IMAGE[::-1], moved(X, 20 - Y - H, W, H)),
    (vision.RandomHorizontalFlipWithBBox(0.0), IMAGE, BOXES),
    (vision.RandomVerticalFlipWithBBox(0.0), IMAGE, BOXES),
    (vision.ResizeWithBBox((10, 90)), None, moved(X * 3, Y / 2, W * 3, H / 2)),
    (vision.ResizeWithBBox(40), None, moved(X * 2, Y * 2, W * 2, H * 2)),
    (vision.RandomResizeWithBBox((40, 15)), None, moved(X / 2, Y * 2, W / 2, H * 2)),
    (vision.RandomCropWithBBox((20, 30)), IMAGE, BOXES),
    (vision.RandomCropWithBBox((27, 34), (3, 2, 1, 5)),
     np.pad(IMAGE, [(2, 5), (3, 1), (0, 0)]), moved(X + 3, Y + 2, W, H)),
    (vision.RandomResizedCropWithBBox((10, 60), (1, 1), (1.5, 1.5)), None,
     moved(X * 2, Y / 2, W * 2, H / 2))])
def test_where_boxes_are_afterwards(operation, image, boxes):
    """What comes after the first four numbers stays."""
    found, left = operation(IMAGE, BOXES)
    if image is not None:
        np.testing.assert_array_equal(found, image)
    np.testing.assert_allclose(left, boxes, rtol=1e-6)


@pytest.mark.parametrize("place, corner", [(0, (0, 0)), (1, (10, 12))])
def test_boxes_begin_in_a_part_of_the_image(place, corner):
    class Streams:
        def of(self, operation):
            return self

        def integer(self, low, high):
            return (low, high)[place]

    found, left = vision.RandomCropWithBBox((8, 20)).run((IMAGE, BOXES), Streams())
    x, y = corner
    np.testing.assert_array_equal(found, IMAGE[y:y + 8, x:x + 20])
    np.testing.assert_array_equal(left, _cut(BOXES, x, y, 20, 8))


@pytest.mark.parametrize("rest", [[], [7], [7, 8]])
def test_where_no_box_is_left_there_is_one_of_zeros(rest):
    class Streams:
        def of(self, operation):
            return self

        def integer(self, low, high):
            return low

    boxes = np.array([[25, 15, 2, 2, *rest], [3, 9, 4, 4, *rest]], np.float32)
    _, left = vision.RandomCropWithBBox((8, 20)).run((IMAGE, boxes), Streams())
    assert left.tolist() == [[0.0] * len(boxes[0])] and left.dtype == np.float32


@pytest.mark.parametrize("box, words", [
    ((0, 0, 30, 20), ""), ((29, 19, 1, 1), ""), ((30, 20, 0, 0), ""), ((-1, 0, 3, 3), "negative"),
    ((0, -1, 3, 3), "negative"), ((0, 0, -1, 3), "negative"), ((0, 0, 3, -1), "negative"),
    ((1, 0, 30, 20), "out of bounds"), ((0, 1, 30, 20), "out of bounds"),
    ((0, 0, 31, 20), "out of bounds"), ((0, 0, 30, 21), "out of bounds"),
    ((1, 2, 3), "at least 4 features"), ((1, 2, 3, 4, -5), "")])
def test_boxes_are_inside_of_their_image(box, words):
    boxes = np.array([(1, 2, 3, 4, 5)[:len(box)], box], np.float32)
    operation = vision.RandomHorizontalFlipWithBBox(0.0)
    if words:
        with pytest.raises(RuntimeError, match=f"BoundingBox: .*{words}"):
            operation(IMAGE, boxes)
    else:
        np.testing.assert_array_equal(operation(IMAGE, boxes)[1], boxes)
    for wrong in (boxes[0], boxes[None]):
        with pytest.raises(RuntimeError, match="at least 4 features"):
            operation(IMAGE, wrong)
    for values in ((IMAGE,), (IMAGE, boxes, boxes)):
        with pytest.raises(RuntimeError, match=f"but got: {len(values)}"):
            operation(*values)


@pytest.mark.parametrize("shares, ratio, chosen", [
    ((0.0, 0.5, 0.49), 0.5, [0, 2]), ((0.3, 0.29, 0.31), 0.3, [1]), ((0.9,) * 3, 0.3, []),
    ((0.0, 0.0, 0.0), 0.0, [])])
def test_the_inside_of_boxes_is_changed(shares, ratio, chosen):
    class Streams:
        def __init__(self):
            self.left = list(shares)

        def of(self, operation):
            return self

        def float32(self, low, high):
            assert (low, high) == (0, 1)
            return self.left.pop(0)

    boxes = np.array([(1, 2, 5, 3, 7), (8, 4, 6, 10, 8), (20, 15, 10, 5, 9)], np.float32)
    for change, inside in ((vision.Invert(), lambda part: 255 - part),
                           (vision.Resize((2, 2), vision.Inter.NEAREST), None)):
        operation = vision.BoundingBoxAugment(change, ratio)
        found, same = operation.run((IMAGE, boxes), Streams())
        wanted = IMAGE.copy()
        for x, y, w, h in boxes[chosen, :4].astype(int).tolist():
            part = IMAGE[y:y + h, x:x + w]
            wanted[y:y + h, x:x + w] = inside(part) if inside else vision.Resize((h, w))(
                change(part))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(same, boxes)


def test_what_is_applied_to_boxes_is_an_operation():
    for wrong, shown in (("", '""'), ("x", "x"), (3, "3"), (None, "None"), ([], r"\[\]")):
        with pytest.raises(TypeError, match=f"Argument transform with value {shown} is not"):
            vision.BoundingBoxAugment(wrong)
