"""Erasing parts of images, and mixing images of a batch (CutMix, MixUp)."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..transforms.operation import PyTensorOperation, Streams, Values
from .enums import ImageBatchFormat
from .image import ImageOperation, RandomImageOperation, is_image


class CutOut(RandomImageOperation):
    """Set square patches at random positions to zero (DeVries and Taylor 2017).

    Args:
        length: the side of the squares.
        num_patches: the number of squares.
        is_hwc: whether channels are last; else first.
    """

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True):
        self.length, self.num_patches, self.is_hwc = length, num_patches, is_hwc

    def draw(self, image: np.ndarray, generator: Mt19937) -> list[tuple[int, int]]:
        """The squares' centres, (y, x)."""
        is_image("CutOut", image)
        height, width = image.shape[:2] if self.is_hwc else image.shape[-2:]
        if self.length > height or self.length > width:
            raise RuntimeError(f"CutOut: box size is too large for image erase, got box length: "
                               f"{self.length} and the image shape: {list(image.shape)}.")
        drawn = []
        for _ in range(self.num_patches):
            top = generator.integer(0, height + self.length)
            drawn.append((top, generator.integer(0, width + self.length)))
        return drawn

    def apply(self, image: np.ndarray, drawn: list[tuple[int, int]]) -> np.ndarray:
        """The image with the squares erased."""
        out = image.copy()
        for top, left in drawn:
            rows = slice(max(0, top - self.length), max(0, top))
            columns = slice(max(0, left - self.length), max(0, left))
            if self.is_hwc:
                out[rows, columns] = 0
            else:
                out[..., rows, columns] = 0
        return out


class Erase(ImageOperation):
    """Erase a part of the image.

    Args:
        top, left, height, width: the part.
        value: the value there: a number, or one for each channel.
        inplace: without effect, as in MindSpore.
    """

    def __init__(self, top: int, left: int, height: int, width: int, value: Any = 0.0,
                 inplace: bool = False):
        listed = [value] if isinstance(value, (int, float)) else list(value)
        self.top, self.left, self.height, self.width = top, left, height, width
        self.value, self.inplace = value, inplace
        self._value = np.array(listed)

    def _array(self, image: np.ndarray) -> np.ndarray:
        is_image("Erase", image, [3])
        if self.top + self.height > image.shape[0] or self.left + self.width > image.shape[1]:
            raise RuntimeError("Erase: box size is too large for image erase, got box height: "
                               f"{self.height}box weight: {self.width}, and image height: "
                               f"{image.shape[0]}, image width: {image.shape[1]}")
        out = image.copy()
        out[self.top:self.top + self.height, self.left:self.left + self.width] = self._value
        return out


class RandomErasing(PyTensorOperation):
    """Erase a random part of an image (C, H, W), with a probability (Zhong et al. 2017).

    Args:
        prob: the probability.
        scale: the range of the part's area, as a fraction of the image's.
        ratio: the range of its width divided by its height.
        value: the value there: a number, one for each channel, or ``"random"``.
        inplace: whether to change the input in place.
        max_attempts: how often a part is drawn before the image stays as it is.
    """

    def __init__(self, prob: float = 0.5, scale: Any = (0.02, 0.33), ratio: Any = (0.3, 3.3),
                 value: Any = 0, inplace: bool = False, max_attempts: int = 10):
        self.prob = prob
        self.scale = tuple(scale)
        self.ratio = tuple(ratio)
        if isinstance(value, str) and value != "random":
            raise ValueError("The value for erasing should be either a single value, or a string "
                             "'random', or a sequence of 3 elements for RGB respectively. For "
                             f"'RandomErasing', it is {value!r}.")
        self.value, self.inplace = value, inplace
        self.max_attempts = max_attempts

    def transform(self, value: Any) -> np.ndarray:
        """The image, changed or as it was."""
        if not isinstance(value, np.ndarray):
            raise TypeError(f"img should be NumPy array. Got {type(value)}.")
        if value.ndim != 3:
            raise TypeError(f"For 'RandomErasing', the image must have the shape <C,H,W>, but got "
                            f"{list(value.shape)}.")
        if self.prob <= random.random():
            return value
        channels, height, width = value.shape
        for _ in range(self.max_attempts):
            area = random.uniform(*self.scale) * height * width
            shape = random.uniform(*self.ratio)
            across = int(round(math.sqrt(area * shape)))
            down = int(round(across / shape))
            if down < height and across < width:
                top, left = random.randint(0, height - down), random.randint(0, width - across)
                out = value if self.inplace else value.copy()
                out[:, top:top + down, left:left + across] = self._fill((channels, down, across))
                return out
        return value

    def _fill(self, shape: tuple[int, int, int]) -> Any:
        if isinstance(self.value, str):
            return np.random.normal(loc=0.0, scale=1.0, size=shape)
        if isinstance(self.value, (list, tuple)):
            return np.asarray(self.value)[:, None, None]
        return self.value


class CutMixBatch(RandomImageOperation):
    """Replace a part of each image of a batch by that of another; labels are mixed likewise.

    It takes a batch of images and one of labels, one-hot (Yun et al. 2019).

    Args:
        image_batch_format: an ImageBatchFormat.
        alpha: the parameter of the beta distribution of the part's fraction of the area.
        prob: the probability, for each image.
    """

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0,
                 prob: float = 1.0):
        self.image_batch_format = image_batch_format
        self.alpha = alpha
        self.prob = prob

    def run(self, values: Values, streams: Streams) -> Values:
        """The mixed batch."""
        images, labels = _batch("CutMixBatch", values)
        last = self.image_batch_format is ImageBatchFormat.NHWC
        if images.shape[3 if last else 1] not in (1, 3):
            raise RuntimeError(f"CutMixBatch: the images must have 1 or 3 channels, but the batch "
                               f"has the shape {list(images.shape)}.")
        height, width = images.shape[1:3] if last else images.shape[2:]
        generator = streams.of(self)
        order = list(range(len(images)))
        generator.shuffle(order)
        out, mixed = images.copy(), labels.astype(np.float32)
        spares: tuple[list[float], list[float]] = ([], [])
        for place, other in enumerate(order):
            share = beta(generator, self.alpha, spares)
            if generator.float64(0, 1) >= self.prob:
                continue
            across = int(width * math.sqrt(1 - share))
            down = int(height * math.sqrt(1 - share))
            x, y = generator.integer(0, width), generator.integer(0, height)
            x1, x2 = _side(x, across, width)
            y1, y2 = _side(y, down, height)
            part = (slice(y1, y2), slice(x1, x2)) if last else (
                slice(None), slice(y1, y2), slice(x1, x2))
            out[(place, *part)] = images[(other, *part)]
            kept = 1 - (x2 - x1) * (y2 - y1) / (width * height)
            mixed[place] = kept * labels[place] + (1 - kept) * labels[other]
        return out, mixed


def _side(centre: int, length: int, size: int) -> tuple[int, int]:
    """Where a part begins and ends: its last pixel is never the image's, but it has a pixel."""
    begin = min(max(centre - length // 2, 0), size - 1)
    end = min(max(centre + length // 2, 0), size - 1)
    return begin, max(end, begin + 1)


class MixUpBatch(RandomImageOperation):
    """Each image of a batch mixed with another, labels alike (Zhang et al. 2018).

    It takes a batch of images and one of labels, one-hot.

    Args:
        alpha: the parameter of the beta distribution of the weights.
    """

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def run(self, values: Values, streams: Streams) -> Values:
        """The mixed batch."""
        images, labels = _batch("MixUpBatch", values)
        generator = streams.of(self)
        share = np.float32(beta(generator, self.alpha))
        order = list(range(len(images)))
        generator.shuffle(order)
        other = images[order].astype(np.float32)
        out = share * images.astype(np.float32) + (1 - share) * other
        if images.dtype == np.uint8:
            out = np.rint(out)
        mixed = share * labels.astype(np.float32) + (1 - share) * labels[order].astype(np.float32)
        return out.astype(images.dtype), mixed


# what MindSpore says of a row without labels
_PAIRS = {
    "CutMixBatch": "CutMixBatch: invalid input size, input should have 2 columns (image and "
                   "label), but got: {}",
    "MixUpBatch": "MixUpBatch: size of input data should be 2 (including images or labels), but "
                  "got: {}, check 'input_columns' when call this operator."}


def _batch(name: str, values: Values) -> tuple[np.ndarray, np.ndarray]:
    if len(values) != 2:
        raise RuntimeError(_PAIRS[name].format(len(values)))
    images, labels = values
    if images.ndim != 4:
        raise RuntimeError(f"{name}: a batch of images is expected, but got the shape "
                           f"{list(images.shape)}; use it after 'batch'.")
    if len(labels) != len(images):
        raise RuntimeError(f"{name}: batch sizes of image and label must be the same, but got "
                           f"{len(images)} and {len(labels)}; labels must be one-hot, as many as "
                           f"images.")
    if labels.dtype.kind not in "biuf":
        raise RuntimeError(f"{name}: invalid label type, label must be in a numeric type, but got "
                           f"{labels.dtype}.")
    if labels.ndim not in (2, 3):
        raise RuntimeError(f"{name}: labels must be one-hot, as many as images, but got the shape "
                           f"{list(labels.shape)}.")
    return images, labels


def beta(generator: Mt19937, alpha: float,
         spares: tuple[list[float] | None, list[float] | None] = (None, None)) -> float:
    """A draw of the beta distribution, by two gamma distributions, which may keep spare numbers."""
    first, second = (generator.gamma(alpha, spare) for spare in spares)
    return first / (first + second) if first + second else 0.5


class MixUp(PyTensorOperation):
    """Each image of a batch mixed with another, labels alike (Zhang et al. 2018).

    A function of a batch of images and one of labels, one-hot.

    Args:
        batch_size: the number of images.
        alpha: the parameter of the beta distribution of the weights.
        is_single: whether to mix with images of this batch; else with those of the batch before.
    """

    def __init__(self, batch_size: int, alpha: float, is_single: bool = True):
        self.batch_size = batch_size
        self.alpha = alpha
        self.is_single = is_single
        self._before: Any = None

    def run(self, values: Values, streams: Streams) -> Values:
        """The mixed batch."""
        image, label = values
        share = np.random.beta(self.alpha, self.alpha, self.batch_size)
        if self.is_single:
            order = [*range(1, self.batch_size), 0]
            others = (image[order], label[order])
        elif self._before is None:
            share, others = np.ones(self.batch_size), (0, 0)
        else:
            others = self._before
        out = []
        for value, other, rank in zip((image, label), others, (4, 2), strict=True):
            # one image, without a dimension for the batch, is a whole batch of it
            part = share.reshape(-1, *[1] * (max(value.ndim, rank) - 1))
            out.append(part * value + (1 - part) * other)
        self._before = tuple(out)
        return out[0], out[1]
