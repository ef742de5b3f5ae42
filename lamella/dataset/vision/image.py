"""The base classes of image operations, and the checks that they share."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..checks import LARGEST, in_interval, of_type
from ..errors import needs
from ..inputs import check_input
from ..transforms.operation import Streams, TensorOperation, Values, is_pillow
from .enums import Border, Inter


@functools.cache
def cv() -> Any:
    """OpenCV. Its own threads are off: workers are the parallelism here."""
    module = needs("vision", "cv2", "opencv-python-headless")
    module.setNumThreads(0)
    return module


def pillow(module: str = "Image") -> Any:
    """A module of Pillow's."""
    return needs("vision", f"PIL.{module}", "pillow")


class ImageOperation(TensorOperation):
    """The base of image operations: `_array` for arrays, `_pillow` for Pillow's images.

    An operation without `_pillow` treats Pillow's images as the arrays they hold.
    """

    _pillow: Any = None

    def accept(self, value: Any) -> Any:
        """The input, an array or an image of Pillow's.

        Raises:
            TypeError: if it is neither.
            RuntimeError: if it is empty.
        """
        if is_pillow(value):
            return value
        if not isinstance(value, np.ndarray):
            raise TypeError(f"Input should be NumPy or PIL image, got {type(value)}. For "
                            f"'{type(self).__name__}', an image is expected.")
        if not value.size:
            raise RuntimeError(f"Input Tensor has no data. For '{type(self).__name__}', the image "
                               f"has the shape {list(value.shape)}.")
        return value

    def device(self, device_target: str = "CPU") -> Any:
        """Say where it runs, ``"CPU"`` or ``"Ascend"``; it is the CPU in either case.

        Raises:
            ValueError: if it is something else.
        """
        if device_target not in ("CPU", "Ascend"):
            raise ValueError(f"For '{type(self).__name__}', 'device_target' must be 'CPU' or "
                             f"'Ascend', but got {device_target!r}.")
        return self

    def transform(self, value: Any) -> Any:
        """The new image."""
        if is_pillow(value):
            if self._pillow is not None:
                return self._pillow(value)
            value = np.asarray(value)
        fits = self._fits
        if value.dtype is not fits[0] or value.shape != fits[1]:
            check_input(self, value)
        return self._array(value)

    def _array(self, image: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"'{type(self).__name__}' must define '_array'.")


class RandomImageOperation(ImageOperation):
    """The base of random operations on images: `draw` gives the arguments of `apply`.

    All columns of a row are changed with the same arguments. For Pillow's images they are drawn
    from `random`.
    """

    draws = True
    several = False  # whether a call may have several images

    def _takes_several(self) -> bool:
        return self.several or type(self).run is not RandomImageOperation.run

    def run(self, values: Values, streams: Streams) -> Values:
        """The images, all changed with the same arguments."""
        if is_pillow(values[0]) and self._pillow is not None:
            return tuple([self._pillow(value) for value in values])
        images = [np.asarray(value) for value in values]
        for image in images:
            fits = self._fits
            if image.dtype is not fits[0] or image.shape != fits[1]:
                check_input(self, image)
        drawn = self.draw(images[0], streams.of(self))
        return tuple([self.apply(image, drawn) for image in images])

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The random parameters for an image."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'draw'.")

    def apply(self, image: np.ndarray, drawn: Any) -> np.ndarray:
        """The new image."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'apply'.")


def is_image(name: str, image: np.ndarray, channels: Sequence[int] | None = None) -> np.ndarray:
    """An image of shape (H, W) or (H, W, C).

    Raises:
        RuntimeError: if it has another shape.
    """
    if image.ndim not in (2, 3):
        raise RuntimeError(f"{name}: the image must have the shape <H,W> or <H,W,C>, but got "
                           f"{image.ndim} dimensions.")
    if channels is not None and (image.shape[2] if image.ndim == 3 else 1) not in channels:
        raise RuntimeError(f"{name}: the number of channels must be one of {list(channels)}, but "
                           f"the image has the shape {list(image.shape)}.")
    return image


def frames(image: np.ndarray, change: Any) -> np.ndarray:
    """`change` of an image, or of each of the images in a stack (..., H, W, C)."""
    if image.ndim <= 3:
        return change(image)
    flat = image.reshape(-1, *image.shape[-3:])
    out = np.stack([change(frame) for frame in flat])
    return out.reshape(*image.shape[:-3], *out.shape[1:])


def size_pair(name: str, size: Any, argument: str = "size") -> tuple[int, int]:
    """A size as (height, width): one number stands for both.

    Raises:
        TypeError, ValueError: if it is none.
    """
    listed = [size, size] if isinstance(size, int) and not isinstance(size, bool) else size
    if not isinstance(listed, (list, tuple)) or any(
            isinstance(s, bool) or not isinstance(s, int) for s in listed):
        raise TypeError(f"{of_type(argument, size, int, list, tuple)} Size should be a single "
                        f"integer or a list/tuple (h, w) of length 2. For '{name}', '{argument}' "
                        f"must be an int or a list of two ints, but got {size!r}.")
    if any(not 1 <= s <= 2**24 for s in listed):
        at = "Input is" if isinstance(size, int) else "Input size at dim 0 is"
        raise ValueError(f"{at} not within the required interval of [1, "
                         f"{2**24 if isinstance(size, int) else LARGEST}]. For '{name}', "
                         f"'{argument}' must be in [1, 16777216], but got {size!r}.")
    return listed[0], listed[1]


def fill_values(name: str, value: Any) -> tuple[int, int, int]:
    """The fill values of three channels.

    Raises:
        TypeError, ValueError: if it is none.
    """
    listed = (value,) * 3 if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(listed, (list, tuple)) or len(listed) != 3 or any(
            isinstance(v, bool) or not isinstance(v, int) for v in listed):
        raise TypeError(f"fill_value should be a single integer or a 3-tuple. For '{name}', "
                        f"'fill_value' must be an int or three of them, but got {value!r}.")
    if any(not 0 <= v <= 255 for v in listed):
        at = "" if isinstance(value, int) else f"[{[0 <= v <= 255 for v in listed].index(False)}]"
        raise ValueError(f"{in_interval(f'fill_value{at}', 0, 255)} "
                         f"For '{name}', 'fill_value' must be in [0, 255], but got {value!r}.")
    return listed[0], listed[1], listed[2]


def pillow_fill(image: Any, values: tuple[int, int, int]) -> Any:
    """The fill values as Pillow takes them for an image: one number unless it has colours."""
    return values if len(image.getbands()) >= 3 or image.mode == "P" else values[0]


def paddings(padding: Any) -> tuple[int, int, int, int]:
    """Padding of one, two or four numbers as (left, top, right, bottom)."""
    if isinstance(padding, int):
        return padding, padding, padding, padding
    left, top, right, bottom = padding if len(padding) == 4 else (*padding, *padding)
    return left, top, right, bottom


def pillow_filter(interpolation: Inter) -> Any:
    """Pillow's name of an interpolation."""
    filters = pillow().Resampling
    return {Inter.NEAREST: filters.NEAREST, Inter.ANTIALIAS: filters.LANCZOS,
            Inter.LINEAR: filters.BILINEAR, Inter.CUBIC: filters.BICUBIC,
            Inter.AREA: filters.BOX, Inter.PILCUBIC: filters.BICUBIC}[interpolation]


def cv_filter(interpolation: Inter) -> int:
    """OpenCV's name of an interpolation."""
    return {Inter.NEAREST: cv().INTER_NEAREST, Inter.LINEAR: cv().INTER_LINEAR,
            Inter.CUBIC: cv().INTER_CUBIC, Inter.AREA: cv().INTER_AREA,
            Inter.ANTIALIAS: cv().INTER_LANCZOS4, Inter.PILCUBIC: cv().INTER_CUBIC}[interpolation]


def check_resampling(name: str, image: np.ndarray, resample: Inter) -> None:
    """Check that an array can be rotated with an interpolation.

    Raises:
        RuntimeError: if not.
    """
    if resample is Inter.PILCUBIC:
        raise RuntimeError(f"{name}: Invalid InterpolationMode, PILCUBIC is for images of Pillow's "
                           f"that are resized.")
    if resample is Inter.CUBIC and image.ndim == 3 and image.shape[2] > 4:
        raise RuntimeError(f"{name}: interpolation can not be CUBIC when image channel is greater "
                           f"than 4, but got {image.shape[2]}.")


def cv_border(border: Border) -> int:
    """OpenCV's name of a border."""
    return {Border.CONSTANT: cv().BORDER_CONSTANT, Border.EDGE: cv().BORDER_REPLICATE,
            Border.REFLECT: cv().BORDER_REFLECT_101,
            Border.SYMMETRIC: cv().BORDER_REFLECT}[border]
