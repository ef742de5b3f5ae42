"""Geometric operations: resizing, cropping, padding, rotation and other transformations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import boolean, choice, integer, number
from ..transforms.operation import PyTensorOperation, is_pillow
from . import kernels
from .enums import Border, Inter, SliceMode
from .image import (
    ImageOperation,
    check_resampling,
    fill_values,
    frames,
    is_image,
    paddings,
    pillow,
    pillow_fill,
    pillow_filter,
    size_pair,
)


class Resize(ImageOperation):
    """Resize the image.

    Args:
        size: (height, width), or one number for the smaller side.
        interpolation: an Inter.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.Resize((2, 6))(image).shape
        (2, 6, 3)
    """

    def __init__(self, size: Any, interpolation: Inter = Inter.LINEAR):
        size_pair("Resize", size)
        self.interpolation = interpolation
        self.size = size

    def _target(self, height: int, width: int) -> tuple[int, int]:
        if not isinstance(self.size, int):
            return self.size[0], self.size[1]
        if height < width:
            return self.size, int(self.size * width / height)
        return int(self.size * height / width), self.size

    def _array(self, image: np.ndarray) -> np.ndarray:
        def change(frame: np.ndarray) -> np.ndarray:
            is_image("Resize", frame)
            height, width = self._target(*frame.shape[:2])
            return kernels.resized(frame, height, width, self.interpolation)
        return frames(image, change)

    def _pillow(self, image: Any) -> Any:
        height, width = self._target(image.size[1], image.size[0])
        return image.resize((width, height), pillow_filter(self.interpolation))


class Crop(ImageOperation):
    """Crop the image.

    Args:
        coordinates: the (top, left) of the part.
        size: its (height, width), or one number for both.
    """

    def __init__(self, coordinates: Any, size: Any):
        self.coordinates, self.size = coordinates, size
        self._size = size_pair("Crop", size)

    def _array(self, image: np.ndarray) -> np.ndarray:
        def change(frame: np.ndarray) -> np.ndarray:
            is_image("Crop", frame)
            (top, left), (height, width) = self.coordinates, self._size
            if top + height > frame.shape[0] or left + width > frame.shape[1]:
                raise RuntimeError(outside("Crop: Crop {0} dimension: {1} exceeds image {0}: {2}",
                                           frame, top + height, left + width))
            return kernels.cropped(frame, top, left, height, width)
        return frames(image, change)


def outside(words: str, image: np.ndarray, bottom: int, right: int) -> str:
    """MindSpore's sentence about a part that ends behind an image: below it, or else beside it."""
    if bottom > image.shape[0]:
        return words.format("height", bottom, image.shape[0])
    return words.format("width", right, image.shape[1])


class CenterCrop(ImageOperation):
    """Crop the centre, padded with zeros where the image is smaller.

    Args:
        size: its (height, width), or one number for both.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.CenterCrop(2)(image).shape
        (2, 2, 3)
    """

    def __init__(self, size: Any):
        self.size, self._size = size, size_pair("CenterCrop", size)

    def _array(self, image: np.ndarray) -> np.ndarray:
        height, width = image.shape[:2] if image.ndim < 4 else image.shape[-3:-1]
        if self._size[0] - height > 3 * height or self._size[1] - width > 3 * width:
            raise RuntimeError(f"CenterCrop: Padding size cannot be more than 3 times of the "
                               f"original image size, got top padding: {self._size[0] - height}, "
                               f"left padding: {self._size[1] - width}, while the original image "
                               f"size: {height}, {width}")
        return frames(image, lambda frame: kernels.center_cropped(
            is_image("CenterCrop", frame), *self._size))

    def _pillow(self, image: Any) -> Any:
        height, width = self._size
        left, top = round((image.size[0] - width) / 2.0), round((image.size[1] - height) / 2.0)
        return image.crop((left, top, left + width, top + height))


class ResizedCrop(ImageOperation):
    """Crop the image, then resize the part.

    Args:
        top, left, height, width: the part.
        size: (height, width), or one number for both.
        interpolation: an Inter.
    """

    def __init__(self, top: int, left: int, height: int, width: int, size: Any,
                 interpolation: Inter = Inter.BILINEAR):
        self.top, self.left, self.height, self.width = top, left, height, width
        self.size, self._resize = size, Resize(size_pair("ResizedCrop", size), interpolation)
        self.interpolation = interpolation

    def _array(self, image: np.ndarray) -> np.ndarray:
        part = Crop((self.top, self.left), (self.height, self.width))
        return self._resize.transform(part.transform(image))


class HorizontalFlip(ImageOperation):
    """Flip horizontally."""

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, lambda f: kernels.flipped(is_image("HorizontalFlip", f), True))


class VerticalFlip(ImageOperation):
    """Flip vertically."""

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, lambda f: kernels.flipped(is_image("VerticalFlip", f), False))


class Pad(ImageOperation):
    """Pad the image.

    Args:
        padding: widths: one number, (left and right, top and bottom), or (left, top, right,
            bottom).
        fill_value: one number, or one for each channel.
        padding_mode: a Border.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.Pad(1)(image).shape
        (6, 6, 3)
    """

    def __init__(self, padding: Any, fill_value: Any = 0,
                 padding_mode: Border = Border.CONSTANT):
        self.padding, self._padding = padding, paddings(padding)
        self.fill_value, self._fill = fill_value, fill_values("Pad", fill_value)
        self.padding_mode = padding_mode

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, lambda frame: kernels.padded(
            is_image("Pad", frame), *self._padding, self._fill, self.padding_mode))

    def _pillow(self, image: Any) -> Any:
        return padded_pillow(image, self._padding, self._fill, self.padding_mode)


def padded_pillow(image: Any, padding: Any, fill: tuple[int, int, int], border: Border) -> Any:
    """Pad an image of Pillow's."""
    if border is Border.CONSTANT:
        return pillow("ImageOps").expand(image, border=tuple(padding),
                                         fill=pillow_fill(image, fill))
    array, (left, top, right, bottom) = np.asarray(image), padding
    kind: Any = {Border.EDGE: "edge", Border.REFLECT: "reflect",
                 Border.SYMMETRIC: "symmetric"}[border]
    room = [(top, bottom), (left, right)] + [(0, 0)] * (array.ndim - 2)
    return pillow().fromarray(np.pad(array, room, kind))


class PadToSize(ImageOperation):
    """Pad the image to a size.

    Args:
        size: (height, width), or one number for both.
        offset: the position of the image, (top, left) or one number; default: the centre.
        fill_value, padding_mode: as for `Pad`.
    """

    def __init__(self, size: Any, offset: Any = None, fill_value: Any = 0,
                 padding_mode: Border = Border.CONSTANT):
        self.size, self._size = size, size_pair("PadToSize", size)
        if offset is not None and offset != []:
            self._offset: Any = [offset, offset] if isinstance(offset, int) else list(offset)
        else:
            self._offset = None
        self.offset = offset
        self.fill_value, self._fill = fill_value, fill_values("PadToSize", fill_value)
        self.padding_mode = padding_mode

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, self._padded)

    def _padded(self, image: np.ndarray) -> np.ndarray:
        down, across = (s - i for s, i in zip(self._size, is_image(
            "PadToSize", image).shape[:2], strict=True))
        if down < 0 or across < 0:
            raise RuntimeError(f"PadToSize: the target size to pad should be no less than the "
                               f"original image size, but got target size {self._size} and "
                               f"original size {image.shape[:2]}.")
        top, left = self._offset or (down // 2, across // 2)
        if top > down or left > across:
            raise RuntimeError(f"PadToSize: the sum of offset and original image size should be no "
                               f"more than the target size to pad, but with the offset "
                               f"{self._offset} the image of shape {list(image.shape)} is not "
                               f"inside of {self._size}.")
        return kernels.padded(image, left, top, across - left, down - top, self._fill,
                              self.padding_mode)


class Rotate(ImageOperation):
    """Rotate counterclockwise.

    Args:
        degrees: the angle.
        resample: an Inter.
        expand: whether to enlarge the output to hold the whole image.
        center: the (x, y) to rotate about; default: the centre of the image.
        fill_value: the value of pixels outside of the image.
    """

    def __init__(self, degrees: float, resample: Inter = Inter.NEAREST, expand: bool = False,
                 center: Any = None, fill_value: Any = 0):
        self.degrees = degrees
        self.resample = resample
        self.expand, self.center = expand, center
        self.fill_value, self._fill = fill_value, fill_values("Rotate", fill_value)

    def _array(self, image: np.ndarray) -> np.ndarray:
        degrees = self.degrees % 360
        check_resampling("Rotate", image, self.resample)
        return frames(image, lambda frame: kernels.rotated(
            is_image("Rotate", frame), degrees, self.resample, self.expand, self.center,
            self._fill))


class Affine(ImageOperation):
    """An affine transformation: rotation, translation, scale and shear.

    Args:
        degrees: the angle of the rotation.
        translate: the translation, in fractions of (width, height).
        scale: the factor.
        shear: the shear in degrees along (x, y), or along x.
        resample: an Inter.
        fill_value: the value of pixels outside of the image.
    """

    def __init__(self, degrees: float, translate: Any, scale: float, shear: Any,
                 resample: Inter = Inter.NEAREST, fill_value: Any = 0):
        self.degrees = degrees
        self.translate = translate
        self.scale = scale
        self.shear = shear
        listed = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
        self._shear = (number("Affine", "shear", listed[0]), number("Affine", "shear", listed[1]))
        self.resample = resample
        self.fill_value, self._fill = fill_value, fill_values("Affine", fill_value)

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, self._changed)

    def _changed(self, image: np.ndarray) -> np.ndarray:
        is_image("Affine", image)
        moved = (self.translate[0] * image.shape[1], self.translate[1] * image.shape[0])
        return kernels.sheared(image, self.degrees, moved, self.scale, self._shear, self.resample,
                               self._fill)


class Perspective(ImageOperation):
    """A perspective transformation, given by four points and what they are mapped to.

    Args:
        start_points, end_points: lists of four (x, y), integers.
        interpolation: an Inter.

    Raises:
        TypeError: if the points aren't four pairs of integers.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> corners = [[0, 0], [5, 0], [5, 3], [0, 3]]
        >>> image = np.arange(24, dtype=np.uint8).reshape(4, 6, 1)
        >>> vision.Perspective(corners, [[5, 0], [0, 0], [0, 3], [5, 3]])(image)[0, :, 0]
        array([5, 4, 3, 2, 1, 0], dtype=uint8)
    """

    def __init__(self, start_points: Any, end_points: Any,
                 interpolation: Inter = Inter.BILINEAR):
        for name, points in (("start_points", start_points), ("end_points", end_points)):
            if not isinstance(points, (list, tuple)) or len(points) != 4 or any(
                    not isinstance(p, (list, tuple)) or len(p) != 2 for p in points):
                raise TypeError(f"For 'Perspective', '{name}' must be four points (x, y), but got "
                                f"{points!r}.")
            for value in (value for point in points for value in point):
                integer("Perspective", name, value)
        self.start_points, self.end_points = start_points, end_points
        self.interpolation = interpolation

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, lambda frame: kernels.in_perspective(
            is_image("Perspective", frame), self.start_points, self.end_points,
            self.interpolation))

    def _pillow(self, image: Any) -> Any:
        return perspective_pillow(image, self.start_points, self.end_points, self.interpolation)


def perspective_pillow(image: Any, start: Any, end: Any, interpolation: Inter) -> Any:
    """The perspective transformation of an image of Pillow's."""
    return image.transform(image.size, pillow().Transform.PERSPECTIVE,
                           perspective_coefficients(start, end), pillow_filter(interpolation))


def perspective_coefficients(start: Any, end: Any) -> list[float]:
    """The a to h of u = (a x + b y + c) / (g x + h y + 1), v = (d x + e y + f) / (g x + h y + 1)
    that take the four points (x, y) of `end`, integers, to the (u, v) of `start`.

    The equations are solved in integers and each result is rounded once, so that all processors
    give the same picture: a point that is taken exactly to the edge of the image is inside of it
    or not by the last bit (E. H. Bareiss, "Sylvester's identity and multistep integer-preserving
    Gaussian elimination", 1968).
    """
    equations: list[list[int]] = []
    for (x, y), (u, v) in zip(end, start, strict=True):
        equations.append([x, y, 1, 0, 0, 0, -u * x, -u * y, u])
        equations.append([0, 0, 0, x, y, 1, -v * x, -v * y, v])
    rows, last = list(equations), 1
    for column in range(8):
        pivot = next((r for r in range(column, 8) if rows[r][column]), None)
        if pivot is None:  # three points on a line: no such transformation, so the nearest
            known = np.array(equations, dtype=float)
            return np.linalg.lstsq(known[:, :8], known[:, 8], rcond=-1)[0].tolist()
        rows[column], rows[pivot] = rows[pivot], rows[column]
        chosen = rows[column]
        rows = [row if row is chosen else
                [(chosen[column] * a - row[column] * b) // last
                 for a, b in zip(row, chosen, strict=True)] for row in rows]
        last = chosen[column]
    return [row[8] / last for row in rows]


class SlicePatches(ImageOperation):
    """Split the image into patches, one for each column.

    Args:
        num_height, num_width: the number of patches vertically and horizontally.
        slice_mode: whether to pad or drop the rest, a SliceMode.
        fill_value: the value to pad with.
    """

    def __init__(self, num_height: int = 1, num_width: int = 1,
                 slice_mode: SliceMode = SliceMode.PAD, fill_value: int = 0):
        for name, value in (("num_height", num_height), ("num_width", num_width)):
            integer("SlicePatches", name, value)
            number("SlicePatches", name, value, 1)
        self.num_height, self.num_width = num_height, num_width
        self.slice_mode = choice("SlicePatches", "slice_mode", slice_mode, SliceMode)
        self.fill_value = number("SlicePatches", "fill_value", fill_value, 0, 255)

    def run(self, values: tuple[Any, ...], streams: Any) -> tuple[Any, ...]:
        """The patches, row by row."""
        image = is_image("SlicePatches", np.asarray(values[0]))
        (height, width), down, across = image.shape[:2], self.num_height, self.num_width
        if down > height or across > width:
            raise RuntimeError(f"SlicePatches: there can't be more parts, {down, across}, than "
                               f"the image of shape {list(image.shape)} has pixels.")
        if self.slice_mode is SliceMode.PAD:
            bottom, right = -height % down, -width % across
            image = kernels.padded(image, 0, 0, right, bottom, (self.fill_value,) * 4,
                                   Border.CONSTANT)
        high, wide = image.shape[0] // down, image.shape[1] // across
        return tuple([np.ascontiguousarray(kernels.cropped(image, i * high, j * wide, high, wide))
                      for i in range(down) for j in range(across)])


class FiveCrop(PyTensorOperation):
    """The four corner crops and the centre crop of an image of Pillow's.

    Args:
        size: their (height, width), or one number for both.
    """

    def __init__(self, size: Any):
        self.size, self._size = size, size_pair("FiveCrop", size)

    def run(self, values: tuple[Any, ...], streams: Any) -> tuple[Any, ...]:
        """The five crops."""
        return five(values[0], self._size)


def five(image: Any, size: Sequence[int]) -> tuple[Any, ...]:
    """The four corner crops and the centre crop of an image of Pillow's."""
    if not is_pillow(image):
        raise TypeError(f"img should be PIL image. Got {type(image)}. Use Decode() for encoded "
                        "data or ToPIL() for decoded data.")
    (width, height), (h, w) = image.size, size
    if w > width or h > height:
        raise ValueError(f"The parts, {(h, w)}, must not be larger than the image, "
                         f"{(height, width)}.")
    middle = CenterCrop([h, w])._pillow(image)
    return (image.crop((0, 0, w, h)), image.crop((width - w, 0, width, h)),
            image.crop((0, height - h, w, height)),
            image.crop((width - w, height - h, width, height)), middle)


class TenCrop(PyTensorOperation):
    """The four corner crops and the centre crop of an image of Pillow's, and those of it flipped.

    Args:
        size: their (height, width), or one number for both.
        use_vertical_flip: whether to flip vertically instead of horizontally.
    """

    def __init__(self, size: Any, use_vertical_flip: bool = False):
        self.size, self._size = size, size_pair("TenCrop", size)
        boolean("TenCrop", "use_vertical_flip", use_vertical_flip)
        self.use_vertical_flip = use_vertical_flip

    def run(self, values: tuple[Any, ...], streams: Any) -> tuple[Any, ...]:
        """The ten crops."""
        first = five(values[0], self._size)
        sides = pillow().Transpose
        side = sides.FLIP_TOP_BOTTOM if self.use_vertical_flip else sides.FLIP_LEFT_RIGHT
        return (*first, *five(values[0].transpose(side), self._size))
