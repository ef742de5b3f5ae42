"""Pictures with boxes, pixel by pixel, and which arrays fit together."""

import cv2
import numpy as np
import pytest

from lamella.dataset.browsing import imshow_det_bbox


def drawn(tmp_path, image, boxes, labels, *args, **given):
    return imshow_det_bbox(image, boxes, labels, *args, show=False,
                           out_file=str(tmp_path / "out.png"), **given)


@pytest.mark.parametrize("first", [True, False])
def test_boxes_are_rectangles_of_their_width_and_height(tmp_path, first):
    image = np.zeros((30, 50, 3), np.uint8)
    image[..., 0] = 200  # red, which stands last in what is drawn
    boxes = np.array([[4, 5, 20, 10], [30, 8, 6, 18]])
    found = drawn(tmp_path, image.transpose(2, 0, 1) if first else image, boxes,
                  np.array([[0], [3]]), class_names=["", "", "", ""], thickness=1,
                  bbox_color=(1, 2, 3))
    want = np.zeros((30, 50, 3), np.uint8)
    want[..., 2] = 200
    for x, y, width, height in boxes:
        for at in (y, y + height):
            want[at, x:x + width + 1] = 1, 2, 3
        for at in (x, x + width):
            want[y:y + height + 1, at] = 1, 2, 3
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "out.png")), want)
    assert (tmp_path / "out.png").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("names, number, score, text", [
    (None, 7, None, "class 7"), (["cat", "dog"], 1, None, "dog"), ({5: "owl"}, 5, None, "owl"),
    (("cat",), 1, None, "class 1"), ({5: "owl"}, 4, None, "class 4"),
    (["cat"], 0, 0.375, "cat|0.38")])
def test_labels(tmp_path, names, number, score, text):
    box = [[10, 20, 60, 30] + ([] if score is None else [score])]
    found = drawn(tmp_path, np.zeros((90, 200, 3), np.uint8), np.array(box), np.array([[number]]),
                  class_names=names, font_size=0.5, thickness=1, text_color=(9, 8, 7))
    want = np.zeros((90, 200, 3), np.uint8)
    cv2.rectangle(want, (10, 20), (70, 50), (0, 255, 0), 1)
    cv2.putText(want, text, (10, 50), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (9, 8, 7), 1)
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("threshold, kept", [(0, [0, 1, 2]), (0.3, [0, 1]), (0.5, [0, 1]),
                                             (0.51, [0]), (0.9, [0]), (1.0, [])])
def test_boxes_and_masks_of_enough_score(tmp_path, threshold, kept):
    """A mask is half its colour and half the picture."""
    boxes = np.array([[2, 2, 5, 5, 0.9], [12, 2, 5, 5, 0.5], [22, 2, 5, 5, 0.25]])
    masks = np.zeros((3, 20, 40), np.uint8)
    for number in range(3):
        masks[number, 15:17, 10 * number:10 * number + 4] = 1
    found = drawn(tmp_path, np.full((20, 40, 3), 100, np.uint8), boxes, np.zeros((3, 1), int),
                  masks, class_names=[""], score_threshold=threshold, thickness=1, font_size=0.01,
                  mask_color=(20, 40, 60))
    for number in range(3):
        inside = number in kept
        assert found[15, 10 * number + 1].tolist() == ([60, 70, 80] if inside else [100] * 3)
        assert (found[2, 10 * number + 4].tolist() == [0, 255, 0]) is inside


def test_masks_alone(tmp_path):
    masks = np.zeros((2, 4, 6), bool)
    masks[0, 1, 1] = masks[1, 2, 3] = True
    found = drawn(tmp_path, np.zeros((4, 6, 3), np.uint8), None, None, masks,
                  mask_color=(20, 40, 60))
    want = np.zeros((4, 6, 3))
    want[1, 1] = want[2, 3] = 10, 20, 30
    np.testing.assert_array_equal(found, want)


ROOM = np.zeros((8, 9, 3), np.uint8)
ONE, LABEL = np.zeros((1, 4)), np.zeros((1, 1), int)


@pytest.mark.parametrize("image, boxes, labels, masks, options, argument", [
    (ROOM[..., :2], ONE, LABEL, None, {}, "image"), (ROOM[0], ONE, LABEL, None, {}, "image"),
    (ROOM.tolist(), ONE, LABEL, None, {}, "image"), (ROOM, ONE[0], LABEL, None, {}, "bboxes"),
    (ROOM, np.zeros((1, 6)), LABEL, None, {}, "bboxes"),
    (ROOM, np.zeros((1, 3)), LABEL, None, {}, "bboxes"),
    (ROOM, ONE.tolist(), LABEL, None, {}, "bboxes"), (ROOM, ONE, None, None, {}, "labels"),
    (ROOM, ONE, LABEL[0], None, {}, "labels"), (ROOM, ONE, np.zeros((2, 1)), None, {}, "labels"),
    (ROOM, ONE, LABEL, np.zeros((1, 9, 8)), {}, "segm"),
    (ROOM, ONE, LABEL, np.zeros((8, 9)), {}, "segm"),
    (ROOM, ONE, LABEL, np.zeros((0, 8, 9)), {}, "segm"), (ROOM, ONE, LABEL, [[[1]]], {}, "segm"),
    (ROOM, ONE, LABEL, None, {"class_names": "cat"}, "class_names"),
    (ROOM, ONE, LABEL, None, {"text_color": [1, 2, 3]}, "text_color"),
    (ROOM, ONE, LABEL, None, {"mask_color": (1, 2)}, "mask_color"),
    (ROOM, ONE, LABEL, None, {"bbox_color": (1, 2, 3, 4)}, "bbox_color"),
    (ROOM, ONE, LABEL, None, {"score_threshold": 0.1}, "bboxes"),
    (ROOM, None, None, None, {"score_threshold": 0.1}, "bboxes")])
def test_what_does_not_fit(tmp_path, image, boxes, labels, masks, options, argument):
    with pytest.raises(AssertionError, match=f"For 'imshow_det_bbox', '{argument}' must be"):
        drawn(tmp_path, image, boxes, labels, masks, **options)


def test_it_is_shown_or_saved():
    with pytest.raises(AssertionError, match="'out_file' must be given where 'show' is False"):
        imshow_det_bbox(ROOM, ONE, LABEL, show=False)


@pytest.mark.parametrize("key, ends", [(27, True), (-1, False), (28, False)])
def test_escape_ends_the_program(monkeypatch, key, ends):
    seen = []
    monkeypatch.setattr(cv2, "imshow", lambda name, image: seen.append((name, image.shape)))
    monkeypatch.setattr(cv2, "waitKey", lambda wait: (seen.append(wait), key)[1])
    try:
        imshow_det_bbox(ROOM, ONE, LABEL, win_name="here", wait_time=5)
    except SystemExit:
        assert ends
    else:
        assert not ends
    assert seen == [("here", (8, 9, 3)), 5]
