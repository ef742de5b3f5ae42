"""Primitive classes that choose among boxes, and look at parts of images."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...core import context
from ...core.require import one_of
from ...core.state import numbers, state
from ...tensors.tensor import Tensor, wrap
from ..arguments import FLOATS, as_int, require, typed
from ..boxes import chosen, combined_nms, overlap_of_corners
from ..composite import prim_attr_register
from ..image import extract_glimpse
from ..operands import flag
from ..primitive import Primitive
from .random import own_stream

__all__ = ["CombinedNonMaxSuppression", "ExtractGlimpse", "NonMaxSuppressionV3",
           "NonMaxSuppressionWithOverlaps", "SampleDistortedBoundingBoxV2"]

_INT32, _FLOAT32 = (torch.int32,), (torch.float32,)


def _count(value: Any, where: str, name: str, least: int) -> int:
    count = as_int(value if isinstance(value, int) else
                   wrap(typed(value, where, name, _INT32, 0)), where, name)
    require(count >= least, ValueError,
            f"For '{where}', '{name}' must be {least} or more, but got {count}.")
    return count


def _limit(value: Any, where: str, name: str) -> float:
    if isinstance(value, (int, float)):
        return float(value)
    return float(typed(value, where, name, FLOATS, 0))


def _scores(value: Any, where: str, count: int) -> torch.Tensor:
    raw = typed(value, where, "scores", FLOATS, 1)
    require(len(raw) == count, ValueError,
            f"For '{where}', 'scores' must have one element for each of the {count} boxes, "
            f"but got shape {tuple(raw.shape)}.")
    return raw


def _found(positions: torch.Tensor) -> Tensor:
    return wrap(positions[positions >= 0].to(torch.int32))


class NonMaxSuppressionWithOverlaps(Primitive):
    """The boxes that stay when each strikes out those of lower score that overlap it too much.

    Inputs:
        overlaps: how much the box of a row overlaps that of a column, shape (n, n).
        scores: shape (n,).
        max_output_size: how many boxes may stay, a Tensor of int32.
        overlap_threshold: overlaps above it are too much.
        score_threshold: boxes up to this score don't count.

    Outputs:
        The indices of the boxes by falling score, int32; of equal scores the first box goes first.

    Examples:
        >>> import lamella as ms
        >>> overlaps, scores = ms.Tensor([[1.0, 0.7], [0.7, 1.0]]), ms.Tensor([0.5, 0.9])
        >>> count = ms.Tensor(2, ms.int32)
        >>> print(ms.ops.NonMaxSuppressionWithOverlaps()(
        ...     overlaps, scores, count, ms.Tensor(0.5), ms.Tensor(0.1)))
        [1]
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, overlaps: Tensor, scores: Tensor, max_output_size: Any,
                 overlap_threshold: Any, score_threshold: Any) -> Tensor:
        name = self.name
        raw = typed(overlaps, name, "overlaps", FLOATS, 2)
        require(raw.shape[0] == raw.shape[1], ValueError,
                f"For '{name}', 'overlaps' must be a square, but got shape {tuple(raw.shape)}.")
        marks = _scores(scores, name, len(raw))
        return _found(chosen(marks, raw, _limit(overlap_threshold, name, "overlap_threshold"),
                             _limit(score_threshold, name, "score_threshold"),
                             _count(max_output_size, name, "max_output_size", 0)))


class NonMaxSuppressionV3(Primitive):
    """`NonMaxSuppressionWithOverlaps` of boxes, by the intersection over the union.

    Inputs:
        boxes: any two opposite corners, shape (n, 4).
        scores: shape (n,).
        max_output_size: how many boxes may stay; a negative number counts as 0.
        iou_threshold: in [0, 1]; intersections over unions above it are too much.
        score_threshold: boxes up to this score don't count.

    Outputs:
        The indices of the boxes by falling score, int32.

    Examples:
        >>> import lamella as ms
        >>> boxes = ms.Tensor([[1.0, 2, 3, 4], [1, 3, 3, 4], [1, 3, 4, 4], [1, 1, 4, 4],
        ...                    [1, 1, 3, 4]])
        >>> scores = ms.Tensor([0.4, 0.5, 0.72, 0.9, 0.45])
        >>> print(ms.ops.NonMaxSuppressionV3()(boxes, scores, 5, 0.5, 0.0))
        [3 2 0]
    """

    @prim_attr_register
    def __init__(self):
        pass

    def __call__(self, boxes: Tensor, scores: Tensor, max_output_size: Any, iou_threshold: Any,
                 score_threshold: Any) -> Tensor:
        name = self.name
        raw = _corners(boxes, name, 2)
        marks, limit = _scores(scores, name, len(raw)), _overlap(iou_threshold, name)
        count = max(as_int(max_output_size, name, "max_output_size"), 0)
        return _found(chosen(marks, overlap_of_corners(raw), limit,
                             _limit(score_threshold, name, "score_threshold"), count))


def _corners(boxes: Any, where: str, rank: int) -> torch.Tensor:
    raw = typed(boxes, where, "boxes", FLOATS, rank)
    require(raw.shape[-1] == 4, ValueError,
            f"For '{where}', the last dimension of 'boxes' must be 4, "
            f"but got shape {tuple(raw.shape)}.")
    return raw


def _overlap(value: Any, where: str) -> float:
    limit = _limit(value, where, "iou_threshold")
    require(0 <= limit <= 1, ValueError,
            f"For '{where}', 'iou_threshold' must be in [0, 1], but got {limit}.")
    return limit


class CombinedNonMaxSuppression(Primitive):
    """The best boxes of all classes, after each class has been suppressed for itself.

    Args:
        pad_per_class: whether to give no more rows than all classes can have.
        clip_boxes: whether to clip the boxes to [0, 1].

    Inputs:
        boxes: two opposite corners, float32, shape (N, boxes, 1 or classes, 4).
        scores: float32, shape (N, boxes, classes).
        max_output_size_per_class, max_total_size: how many boxes may stay, Tensors of int32.
        iou_threshold, score_threshold: overlaps above the first and scores up to the second go.

    Outputs:
        The boxes, (N, rows, 4), their scores and their classes, (N, rows), filled up with 0, and
        how many of them count, (N,).

    Examples:
        >>> import lamella as ms
        >>> boxes = ms.Tensor([[[[0.0, 0.0, 1.0, 1.0]], [[0.0, 0.0, 1.0, 0.9]]]])
        >>> scores, two = ms.Tensor([[[0.9], [0.8]]]), ms.Tensor(2, ms.int32)
        >>> found = ms.ops.CombinedNonMaxSuppression()(
        ...     boxes, scores, two, two, ms.Tensor(0.5), ms.Tensor(0.1))
        >>> print(found[1], found[3])
        [[0.9 0. ]] [1]
    """

    @prim_attr_register
    def __init__(self, pad_per_class: bool = False, clip_boxes: bool = True):
        for argument in ("pad_per_class", "clip_boxes"):
            flag(getattr(self, argument), self.name, argument)

    def __call__(self, boxes: Tensor, scores: Tensor, max_output_size_per_class: Tensor,
                 max_total_size: Tensor, iou_threshold: Tensor,
                 score_threshold: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        name = self.name
        raw, marks = _corners(boxes, name, 4), typed(scores, name, "scores", FLOATS, 3)
        n, count, classes = marks.shape
        require(raw.shape[:2] == (n, count) and raw.shape[2] in (1, classes), ValueError,
                f"For '{name}', 'boxes' must have the shape (N, boxes, 1 or classes, 4) for scores "
                f"(N, boxes, classes), but got {boxes.shape} and {scores.shape}.")
        for argument, value, kinds in (
                ("boxes", boxes, _FLOAT32), ("scores", scores, _FLOAT32),
                ("max_output_size_per_class", max_output_size_per_class, _INT32),
                ("max_total_size", max_total_size, _INT32),
                ("iou_threshold", iou_threshold, _FLOAT32),
                ("score_threshold", score_threshold, _FLOAT32)):
            typed(value, name, argument, kinds)
        return combined_nms(
            boxes, scores, _count(max_output_size_per_class, name, "max_output_size_per_class", 1),
            _count(max_total_size, name, "max_total_size", 1), _overlap(iou_threshold, name),
            _limit(score_threshold, name, "score_threshold"), self.pad_per_class, self.clip_boxes)


class ExtractGlimpse(Primitive):
    """A window of each image around a point, with noise where it lies outside.

    Args:
        centered: whether points are counted from the images' centres; then the image reaches from
            -1 to 1 if `normalized`, else from minus its length to its length.
        normalized: whether an image's length is 1.
        uniform_noise: True allows no other noise than the uniform one.
        noise: ``'uniform'`` within (-1, 1), ``'gaussian'`` with the images' mean and deviation, or
            ``'zero'``.

    Inputs:
        x: float32, shape (N, H, W, C).
        size: (height, width) of the windows, a Tensor of int32.
        offsets: (y, x) of their centres, float32, shape (N, 2).

    Outputs:
        Tensor of shape (N, height, width, C).

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[0.0], [1.0], [2.0]], [[3.0], [4.0], [5.0]], [[6.0], [7.0], [8.0]]]])
        >>> glimpse = ms.ops.ExtractGlimpse(False, False, False, "zero")
        >>> print(glimpse(x, ms.Tensor([2, 2], ms.int32), ms.Tensor([[1.0, 1.0]])).squeeze())
        [[0. 1.]
         [3. 4.]]
    """

    @prim_attr_register
    def __init__(self, centered: bool = True, normalized: bool = True, uniform_noise: bool = True,
                 noise: str = "uniform"):
        for argument in ("centered", "normalized", "uniform_noise"):
            flag(getattr(self, argument), self.name, argument)
        one_of(noise, ("uniform", "gaussian", "zero"), "noise", self.name)
        require(noise == "uniform" or not uniform_noise, ValueError,
                f"For '{self.name}', 'noise' must be 'uniform' if 'uniform_noise' is True, "
                f"but got {noise!r}.")

    def __call__(self, x: Tensor, size: Tensor, offsets: Tensor) -> Tensor:
        name = self.name
        raw, at = typed(x, name, "x", _FLOAT32), typed(offsets, name, "offsets", _FLOAT32, 2)
        require(raw.dim() == 4, RuntimeError,
                f"For '{name}', 'x' must have rank 4, but got shape {tuple(raw.shape)}.")
        require(at.shape == (len(raw), 2), ValueError,
                f"For '{name}', 'offsets' must have the shape {(len(raw), 2)}, "
                f"but got {tuple(at.shape)}.")
        return extract_glimpse(x, length_pair(size, name), offsets, self.centered,
                               self.normalized, self.noise)


def length_pair(size: Any, where: str) -> tuple[int, int]:
    """A height and a width from a Tensor of int32 with two positive elements."""
    given = numbers(typed(size, where, "size", _INT32, 1))
    require(len(given) == 2 and min(given) > 0, ValueError,
            f"For '{where}', 'size' must be two positive lengths, but got {given}.")
    return given[0], given[1]


class SampleDistortedBoundingBoxV2(Primitive):
    """A random part of an image that covers enough of one of its boxes.

    Args:
        seed, seed2: op-level seeds; 0 for both means the default generator.
        aspect_ratio_range: from which to which width over height.
        area_range: from which to which share of the image.
        max_attempts: after how many draws the whole image is taken.
        use_image_if_no_bounding_boxes: whether no boxes mean the whole image, or else an error.

    Inputs:
        image_size: (height, width, channels), integers.
        bounding_boxes: (y0, x0, y1, x1) in [0, 1], float32, shape (N, boxes, 4).
        min_object_covered: which share of a box has to be inside, a Tensor of one element.

    Outputs:
        (y, x, 0) of its first pixel and (height, width, -1), as `Slice` takes them, in the type of
        `image_size`, and the part itself as a box of shape (1, 1, 4).

    Examples:
        >>> import lamella as ms
        >>> draw = ms.ops.SampleDistortedBoundingBoxV2(seed=1, area_range=(0.5, 1.0))
        >>> begin, size, box = draw(ms.Tensor([64, 48, 3]), ms.Tensor([[[0.1, 0.1, 0.9, 0.9]]]),
        ...                         ms.Tensor([0.5]))
        >>> (size[0] * size[1] >= 64 * 48 // 2 - 64, box.shape)
        (Tensor(shape=[], dtype=Bool, value= True), (1, 1, 4))
    """

    @prim_attr_register
    def __init__(self, seed: int = 0, seed2: int = 0, aspect_ratio_range: Any = (0.75, 1.33),
                 area_range: Any = (0.05, 1.0), max_attempts: int = 100,
                 use_image_if_no_bounding_boxes: bool = False):
        name = self.name
        for argument, ends, most in (("aspect_ratio_range", aspect_ratio_range, math.inf),
                                     ("area_range", area_range, 1.0)):
            if not isinstance(ends, (tuple, list)) or not all(isinstance(e, float) for e in ends):
                raise TypeError(f"For '{name}', '{argument}' must be a tuple or list of floats, "
                                f"but got {ends!r}.")
            require(len(ends) == 2 and 0 < ends[0] < ends[1] <= most, ValueError,
                    f"For '{name}', '{argument}' must be two numbers in (0, {most}], the smaller "
                    f"one first, but got {ends}.")
        require(as_int(max_attempts, name, "max_attempts") > 0, ValueError,
                f"For '{name}', 'max_attempts' must be positive, but got {max_attempts}.")
        flag(use_image_if_no_bounding_boxes, name, "use_image_if_no_bounding_boxes")

    def __call__(self, image_size: Tensor, bounding_boxes: Tensor,
                 min_object_covered: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if state.trace is not None:
            state.trace.refuse("draws boxes until one fits")
        height, width, boxes, least = self._checked(image_size, bounding_boxes, min_object_covered)
        y, x, high, wide = self._drawn(height, width, boxes, least)
        whole = image_size._raw
        corners = (y / height, x / width, (y + high) / height, (x + wide) / width)
        return (wrap(whole.new_tensor([y, x, 0])),
                wrap(whole.new_tensor([high, wide, 255 if whole.dtype is torch.uint8 else -1])),
                wrap(torch.tensor(corners, device=whole.device).reshape(1, 1, 4)))

    def _checked(self, image_size: Tensor, bounding_boxes: Tensor,
                 min_object_covered: Tensor) -> tuple[int, int, list[list[float]], float]:
        name = self.name
        kinds = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
        sizes = numbers(typed(image_size, name, "image_size", kinds, 1))
        require(len(sizes) == 3, ValueError,
                f"For '{name}', 'image_size' must be three lengths, but got {sizes}.")
        require(min(sizes) > 0, RuntimeError,
                f"For '{name}', the lengths in 'image_size' must be positive, but got {sizes}.")
        raw = typed(bounding_boxes, name, "bounding_boxes", _FLOAT32, 3)
        require(raw.shape[2] == 4, ValueError,
                f"For '{name}', the last dimension of 'bounding_boxes' must be 4, "
                f"but got shape {tuple(raw.shape)}.")
        covered = typed(min_object_covered, name, "min_object_covered", _FLOAT32)
        require(covered.numel() == 1, ValueError,
                f"For '{name}', 'min_object_covered' must have one element, "
                f"but got shape {tuple(covered.shape)}.")
        least = float(covered.reshape(()))
        require(0 <= least <= 1, RuntimeError,
                f"For '{name}', 'min_object_covered' must be in [0, 1], but got {least}.")
        boxes = numbers(raw.reshape(-1, 4))
        require(bool(boxes) or self.use_image_if_no_bounding_boxes, ValueError,
                f"For '{name}', there must be a box, or 'use_image_if_no_bounding_boxes' be True.")
        for y0, x0, y1, x1 in boxes:
            require(0 <= y0 < y1 <= 1 and 0 <= x0 < x1 <= 1, RuntimeError,
                    f"For '{name}', each of 'bounding_boxes' must be (y0, x0, y1, x1) in [0, 1], "
                    f"the smaller ones first, but got {(y0, x0, y1, x1)}.")
        return sizes[0], sizes[1], boxes or [[0.0, 0.0, 1.0, 1.0]], least

    def _drawn(self, height: int, width: int, boxes: list[list[float]],
               least: float) -> tuple[int, int, int, int]:
        """(y, x, height, width) of the first part drawn that fits, else of the whole image."""
        own = own_stream(self, self.seed, self.seed2)
        for _ in range(self.max_attempts):
            ratio, share, up, left = torch.rand(4, generator=own, dtype=torch.float64,
                                                device=context.current_device()).tolist()
            low, high = self.aspect_ratio_range
            ratio = low + ratio * (high - low)
            low, high = (part * height * width for part in self.area_range)
            high = min(high, height * height * ratio, width * width / ratio)
            if low > high:
                continue
            tall = min(round(math.sqrt((low + share * (high - low)) / ratio)), height)
            wide = min(round(tall * ratio), width)
            y, x = int(up * (height - tall + 1)), int(left * (width - wide + 1))
            if tall and wide and any(_covers(box, (y / height, x / width, (y + tall) / height,
                                                   (x + wide) / width), least) for box in boxes):
                return y, x, tall, wide
        return 0, 0, height, width


def _covers(box: list[float], part: tuple[float, float, float, float], least: float) -> bool:
    """Whether at least the share `least` of a box is inside of a part, both (y0, x0, y1, x1)."""
    inside = 1.0
    for i in (0, 1):
        inside *= max(min(box[i + 2], part[i + 2]) - max(box[i], part[i]), 0.0)
    return inside >= least * (box[2] - box[0]) * (box[3] - box[1])
