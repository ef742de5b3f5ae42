"""Images of a detection dataset with their boxes drawn, to look at."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from .line_reader import LineReader as LineReader  # both stand in MindSpore's `dataset.utils`
from .vision.image import cv

__all__ = ["LineReader", "imshow_det_bbox"]


def _check(fits: bool, argument: str, wanted: str) -> None:
    if not fits:
        raise AssertionError(f"For 'imshow_det_bbox', '{argument}' must be {wanted}.")


def imshow_det_bbox(image: np.ndarray, bboxes: np.ndarray | None, labels: np.ndarray | None,
                    segm: np.ndarray | None = None, class_names: Any = None,
                    score_threshold: float = 0, bbox_color: tuple = (0, 255, 0),
                    text_color: tuple = (203, 192, 255), mask_color: tuple = (128, 0, 128),
                    thickness: int = 2, font_size: float = 0.8, show: bool = True,
                    win_name: str = "win", wait_time: int = 2000,
                    out_file: str | None = None) -> np.ndarray:
    """Draw boxes, their labels and masks into an image, and show or save it.

    Args:
        image: RGB, of shape (H, W, 3) or (3, H, W).
        bboxes: shape (N, 4), (x, y, width, height) each; or (N, 5) with a score behind.
        labels: shape (N, 1), the numbers of classes.
        segm: masks, of shape (M, H, W) with M at least N.
        class_names: the names of classes by number: a list, a tuple or a dict.
        score_threshold: boxes with lower scores are left out.
        bbox_color, text_color, mask_color: (blue, green, red).
        thickness: of lines.
        font_size: of labels.
        show: whether to show it in a window for `wait_time` milliseconds. Escape ends the program.
        win_name: the window's name.
        out_file: where to save it; its ending says how.

    Returns:
        The image drawn, as an array (H, W, 3) of (blue, green, red).

    Raises:
        ImportError: without the package ``opencv-python``.
        AssertionError: if an argument has another form.

    Examples:
        >>> import os, tempfile, numpy as np
        >>> from lamella.dataset.browsing import imshow_det_bbox
        >>> file = os.path.join(tempfile.mkdtemp(), "boxes.png")
        >>> drawn = imshow_det_bbox(np.zeros((40, 40, 3), np.uint8), np.array([[5, 5, 20, 20]]),
        ...                         np.array([[0]]), class_names=["cat"], show=False, out_file=file)
        >>> drawn.shape, drawn[5, 10].tolist(), os.path.exists(file)
        ((40, 40, 3), [0, 255, 0], True)
    """
    cv2 = cv()
    _check(isinstance(image, np.ndarray) and image.ndim == 3 and 3 in (
        image.shape[0], image.shape[2]), "image", "an array of shape (H, W, 3) or (3, H, W)")
    if image.shape[0] == 3:
        image = image.transpose(1, 2, 0)
    _check_drawn(image, bboxes, labels, segm)
    _check(class_names is None or isinstance(class_names, (tuple, list, dict)), "class_names",
           "a list, tuple or dict")
    for name, color in (("bbox_color", bbox_color), ("text_color", text_color),
                        ("mask_color", mask_color)):
        _check(isinstance(color, tuple) and len(color) == 3, name, "a tuple of three numbers")
    _check(not score_threshold > 0 or bboxes is not None and bboxes.shape[1] == 5, "bboxes",
           "of shape (N, 5) with a 'score_threshold'")
    _check(show or out_file is not None, "out_file", "given where 'show' is False")
    drawn = cv2.cvtColor(np.ascontiguousarray(image), cv2.COLOR_RGB2BGR)
    kept = [] if bboxes is None else [
        i for i, box in enumerate(bboxes) if len(box) == 4 or box[4] >= score_threshold]
    for i in kept:
        assert bboxes is not None and labels is not None
        _draw_box(cv2, drawn, bboxes[i], _label(class_names, labels[i][0]),
                  (bbox_color, text_color, thickness, font_size))
    if segm is not None:
        for mask in segm[kept] if bboxes is not None else segm:
            inside = mask.astype(bool)
            drawn[inside] = drawn[inside] * 0.5 + np.array(mask_color) * 0.5
    _give(cv2, drawn, show, win_name, wait_time, out_file)
    return drawn


def _check_drawn(image: np.ndarray, bboxes: Any, labels: Any, segm: Any) -> None:
    """Check the arrays of boxes, labels and masks against each other."""
    if bboxes is not None:
        _check(isinstance(bboxes, np.ndarray) and bboxes.ndim == 2 and bboxes.shape[1] in (4, 5),
               "bboxes", "an array of shape (N, 4) or (N, 5)")
        _check(isinstance(labels, np.ndarray) and labels.shape == (len(bboxes), 1), "labels",
               "an array of shape (N, 1) with the N of 'bboxes'")
    if segm is not None:
        _check(isinstance(segm, np.ndarray) and segm.ndim == 3
               and segm.shape[1:] == image.shape[:2], "segm", "an array of shape (M, H, W)")
        _check(bboxes is None or len(bboxes) <= len(segm), "segm", "as many masks as boxes")


def _label(names: Any, number: Any) -> str:
    try:
        return f"class {number}" if names is None else str(names[number])
    except (IndexError, KeyError):
        return f"class {number}"


def _draw_box(cv2: Any, drawn: np.ndarray, box: np.ndarray, label: str, style: tuple) -> None:
    box_color, text_color, thickness, size = style
    x, y, right, bottom = (int(v) for v in (*box[:2], box[0] + box[2], box[1] + box[3]))
    cv2.rectangle(drawn, (x, y), (right, bottom), box_color, thickness)
    text = f"{label}|{box[4]:.02f}" if len(box) > 4 else label
    cv2.putText(drawn, text, (x, bottom), cv2.FONT_HERSHEY_SIMPLEX, size, text_color, thickness)


def _give(cv2: Any, drawn: np.ndarray, show: bool, window: str, wait: int, file: str | None
          ) -> None:
    if show:
        cv2.imshow(window, drawn)
        if cv2.waitKey(wait) == 27:
            sys.exit()
    if file:
        cv2.imwrite(file, drawn)
        os.chmod(file, 0o600)
