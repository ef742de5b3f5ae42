"""Operations on images with their bounding boxes: rows (x, y, width, height, ...) in pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..transforms.operation import Streams, TensorOperation, Values
from . import kernels
from .enums import Inter
from .geometry import Resize
from .image import RandomImageOperation, is_image
from .random_geometry import (
    RandomCrop,
    RandomHorizontalFlip,
    RandomResize,
    RandomResizedCrop,
    RandomVerticalFlip,
)

# how MindSpore's sentence about another type calls operations
_OPERATIONS = ", ".join(f"<class 'mindspore._c_dataengine.{name}'>"
                        for name in ("TensorOp", "TensorOperation"))


def _checked(name: str, values: Values) -> tuple[np.ndarray, np.ndarray]:
    if len(values) != 2:
        raise RuntimeError("BoundingBox: invalid input, size of input data should be 2 (including "
                           f"image and bounding box), but got: {len(values)}. For '{name}'.")
    image, boxes = is_image(name, np.asarray(values[0])), np.asarray(values[1])
    if boxes.ndim != 2 or boxes.shape[1] < 4:
        raise RuntimeError(f"BoundingBox: bounding boxes must have at least 4 features, but got "
                           f"the shape {list(boxes.shape)}, not <N,M> with M of 4 or more.")
    height, width = image.shape[:2]
    x, y, w, h = (boxes[:, i] for i in range(4))
    if (boxes[:, :4] < 0).any():
        raise RuntimeError("BoundingBox: the coordinates of the bounding boxes has negative value: "
                           "a box must be inside of the image.")
    if ((x + w > width) | (y + h > height)).any():
        raise RuntimeError(f"BoundingBox: bounding boxes is out of bounds of the image: a box is "
                           f"not inside of the image of shape {list(image.shape)}.")
    return image, boxes.astype(np.float32)


def _cut(boxes: np.ndarray, x: float, y: float, width: float, height: float) -> np.ndarray:
    """The boxes clipped to a part of the image, without those that don't even touch it."""
    left, top = np.maximum(boxes[:, 0], x), np.maximum(boxes[:, 1], y)
    right = np.minimum(boxes[:, 0] + boxes[:, 2], x + width)
    bottom = np.minimum(boxes[:, 1] + boxes[:, 3], y + height)
    out = boxes.copy()
    out[:, 0], out[:, 1], out[:, 2], out[:, 3] = left - x, top - y, right - left, bottom - top
    return out[(right >= left) & (bottom >= top)]


def _scaled(boxes: np.ndarray, across: float, down: float) -> np.ndarray:
    out = boxes.copy()
    out[:, [0, 2]] *= np.float32(across)
    out[:, [1, 3]] *= np.float32(down)
    return out


def _none_left(boxes: np.ndarray) -> np.ndarray:
    return boxes if len(boxes) else np.zeros((1, boxes.shape[1]), np.float32)


class RandomHorizontalFlipWithBBox(RandomHorizontalFlip):
    """As `RandomHorizontalFlip`, with bounding boxes.

    Args:
        prob: the probability.
    """

    def run(self, values: Values, streams: Streams) -> Values:
        """The image and its boxes, flipped or as they were."""
        image, boxes = _checked(type(self).__name__, values)
        if not self.draw(image, streams.of(self)):
            return image, boxes
        boxes = boxes.copy()
        if self._horizontally:
            boxes[:, 0] = image.shape[1] - boxes[:, 0] - boxes[:, 2]
        else:
            boxes[:, 1] = image.shape[0] - boxes[:, 1] - boxes[:, 3]
        return self.apply(image, True), boxes


class RandomVerticalFlipWithBBox(RandomHorizontalFlipWithBBox, RandomVerticalFlip):
    """As `RandomVerticalFlip`, with bounding boxes.

    Args:
        prob: the probability.
    """

    _horizontally = False


class RandomCropWithBBox(RandomCrop):
    """As `RandomCrop`, with bounding boxes."""

    def run(self, values: Values, streams: Streams) -> Values:
        """The cropped image and the boxes in it."""
        image, boxes = _checked("RandomCropWithBBox", values)
        drawn = (left, top, _, _), ((x, y),) = self.draw(image, streams.of(self))
        moved = boxes.copy()
        moved[:, 0] += left
        moved[:, 1] += top
        return self.apply(image, drawn), _none_left(_cut(moved, x, y, self._size[1], self._size[0]))


class RandomResizedCropWithBBox(RandomResizedCrop):
    """As `RandomResizedCrop`, with bounding boxes."""

    def run(self, values: Values, streams: Streams) -> Values:
        """The cropped image and the boxes in it."""
        image, boxes = _checked("RandomResizedCropWithBBox", values)
        drawn = x, y, width, height = self.draw(image, streams.of(self))
        cut = _cut(boxes, x, y, width, height)
        return self.apply(image, drawn), _none_left(
            _scaled(cut, self._size[1] / width, self._size[0] / height))


class ResizeWithBBox(Resize):
    """As `Resize`, with bounding boxes."""

    def run(self, values: Values, streams: Streams) -> Values:
        """The resized image and its boxes."""
        image, boxes = _checked("ResizeWithBBox", values)
        out = self._array(image)
        return out, _scaled(boxes, out.shape[1] / image.shape[1], out.shape[0] / image.shape[0])


class RandomResizeWithBBox(RandomResize):
    """As `RandomResize`, with bounding boxes."""

    def run(self, values: Values, streams: Streams) -> Values:
        """The resized image and its boxes."""
        image, boxes = _checked("RandomResizeWithBBox", values)
        out = self.apply(image, self.draw(image, streams.of(self)))
        return out, _scaled(boxes, out.shape[1] / image.shape[1], out.shape[0] / image.shape[0])


class BoundingBoxAugment(RandomImageOperation):
    """An operation applied to the inside of some boxes, chosen at random.

    Args:
        transform: the operation; it must keep the size.
        ratio: the probability of each box.
    """

    def __init__(self, transform: TensorOperation, ratio: float = 0.3):
        if not isinstance(transform, TensorOperation):
            shown = '""' if isinstance(transform, str) and not transform else transform
            raise TypeError(f"Argument transform with value {shown} is not of type "
                            f"[{_OPERATIONS}], but got {type(transform)}. For "
                            "'BoundingBoxAugment', it must be an operation.")
        self.ratio = ratio
        self.inside = transform

    def inner(self) -> Any:
        """The operations that it runs."""
        return iter((self.inside,))

    def run(self, values: Values, streams: Streams) -> Values:
        """The new image, and its boxes."""
        image, boxes = _checked("BoundingBoxAugment", values)
        generator: Mt19937 = streams.of(self)
        out = image.copy()
        for box in boxes[:, :4]:
            if generator.float32(0, 1) >= self.ratio:
                continue
            x, y, width, height = (int(v) for v in box)
            part = np.asarray(self.inside.run((out[y:y + height, x:x + width].copy(),),
                                              streams)[0])
            out[y:y + height, x:x + width] = kernels.resized(part, height, width, Inter.LINEAR)
        return out, boxes
