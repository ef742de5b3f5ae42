"""Operations on arrays (H, W, C) or (H, W), by the library whose results are those of 2.10."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ...core.forking import Lock
from .enums import Border, Inter
from .image import cv, cv_border, cv_filter, pillow

# OpenCV has one switch for all threads; what rounds otherwise without optimization holds this
_OPTIMIZATION = Lock()


@contextmanager
def _unoptimized() -> Iterator[None]:
    """A block in which OpenCV's kernels aren't vectorised."""
    with _OPTIMIZATION:
        cv().setUseOptimized(False)
        try:
            yield
        finally:
            cv().setUseOptimized(True)


def like(image: np.ndarray, out: np.ndarray) -> np.ndarray:
    """`out` with a last dimension of 1, which OpenCV drops, where `image` has one."""
    return out[..., None] if image.ndim == 3 and out.ndim == 2 else out


def resized(image: np.ndarray, height: int, width: int, interpolation: Inter) -> np.ndarray:
    """Resize."""
    if image.shape[:2] == (height, width) and interpolation is not Inter.PILCUBIC:
        return image
    if height > image.shape[0] * 1000 or width > image.shape[1] * 1000:
        raise RuntimeError(f"Resize: the new size ({height}, {width}) must be at most 1000 times "
                           f"the old one, {image.shape[:2]}.")
    if image.dtype == bool:
        return resized(numbers_of(image), height, width, interpolation).astype(bool)
    if interpolation is Inter.PILCUBIC:
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise RuntimeError(f"Resize: with PILCUBIC the image must be uint8 <H,W,3>, but got "
                               f"{image.dtype} {list(image.shape)}.")
        filters = pillow().Resampling
        return np.asarray(pillow().fromarray(image).resize((width, height), filters.BICUBIC))
    if interpolation is Inter.CUBIC and image.dtype == np.uint8:
        # OpenCV's vectorised cubic rounds otherwise; 2.10's isn't vectorised
        with _unoptimized():
            out = cv().resize(image, (width, height), interpolation=cv().INTER_CUBIC)
        return like(image, out)
    with nullcontext() if image.dtype == np.uint8 else _OPTIMIZATION:
        out = cv().resize(np.ascontiguousarray(image), (width, height),
                          interpolation=cv_filter(interpolation))
    return like(image, out)


def cropped(image: np.ndarray, top: int, left: int, height: int, width: int) -> np.ndarray:
    """Crop."""
    return image[top:top + height, left:left + width]


def padded(image: np.ndarray, left: int, top: int, right: int, bottom: int,
           fill: tuple[int, ...], border: Border) -> np.ndarray:
    """Pad."""
    image = numbers_of(image)
    if border in (Border.REFLECT, Border.SYMMETRIC):
        kind = "reflect" if border is Border.REFLECT else "symmetric"
        room = [(top, bottom), (left, right)] + [(0, 0)] * (image.ndim - 2)
        return np.pad(image, room, kind)
    value: Any = fill if image.ndim == 3 else fill[0]
    return like(image, cv().copyMakeBorder(np.ascontiguousarray(image), top, bottom, left, right,
                                           cv_border(border), value=value))


def center_cropped(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Crop the centre, padded with zeros where the image is smaller."""
    down, across = max(0, height - image.shape[0]), max(0, width - image.shape[1])
    if down or across:
        top, left = -(-down // 2), -(-across // 2)
        image = padded(image, left, top, across - left, down - top, (0, 0, 0), Border.CONSTANT)
    return cropped(image, (image.shape[0] - height) // 2, (image.shape[1] - width) // 2,
                   height, width)


def flipped(image: np.ndarray, horizontally: bool) -> np.ndarray:
    """Flip."""
    if image.dtype in (np.uint8, np.float32) and image.ndim == 3 and image.shape[2] <= 4:
        return like(image, cv().flip(image, 1 if horizontally else 0))
    return np.ascontiguousarray(image[:, ::-1] if horizontally else image[::-1])


def _warped(image: np.ndarray, matrix: Any, size: tuple[int, int], interpolation: Inter,
            fill: tuple[int, int, int], inverse: bool = False) -> np.ndarray:
    flags = cv_filter(interpolation) | (cv().WARP_INVERSE_MAP if inverse else 0)
    out = cv().warpAffine(
        np.ascontiguousarray(numbers_of(image)), np.asarray(matrix, np.float64), size, flags=flags,
        borderMode=cv().BORDER_CONSTANT, borderValue=fill)
    return like(image, out.astype(bool) if image.dtype == bool else out)


def rotated(image: np.ndarray, degrees: float, interpolation: Inter, expand: bool,
            center: Any, fill: tuple[int, int, int]) -> np.ndarray:
    """Rotate counterclockwise."""
    height, width = image.shape[:2]
    middle = center if center is not None else ((width - 1) / 2, (height - 1) / 2)
    middle = (float(np.float32(middle[0])), float(np.float32(middle[1])))
    matrix = cv().getRotationMatrix2D(middle, degrees, 1.0)
    if not expand:
        return _warped(image, matrix, (width, height), interpolation, fill)
    image, box = numbers_of(image), _turned_size(width, height, degrees)
    matrix[0, 2] += box[0] / 2 - width / 2
    matrix[1, 2] += box[1] / 2 - height / 2
    size = (int(math.floor(box[0] + 0.5)), int(math.floor(box[1] + 0.5)))
    return _warped(image, matrix, size, interpolation, fill)


def _turned_size(width: int, height: int, degrees: float) -> tuple[float, float]:
    cos, sin = abs(math.cos(math.radians(degrees))), abs(math.sin(math.radians(degrees)))
    return height * sin + width * cos, height * cos + width * sin


def sheared(image: np.ndarray, degrees: float, translation: tuple[float, float], scale: float,
            shear: tuple[float, float], interpolation: Inter,
            fill: tuple[int, int, int]) -> np.ndarray:
    """Rotate and shear by degrees, translate by pixels and scale, about the centre."""
    height, width = image.shape[:2]
    turn, shear_x, shear_y = (math.radians(v) for v in (degrees, *shear))
    cx, cy = (width - 1) / 2, (height - 1) / 2
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -math.cos(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -math.sin(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turn)
    matrix = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    matrix[2] += matrix[0] * (-cx - translation[0]) + matrix[1] * (-cy - translation[1]) + cx
    matrix[5] += matrix[3] * (-cx - translation[0]) + matrix[4] * (-cy - translation[1]) + cy
    return _warped(image, np.reshape(matrix, (2, 3)), (width, height), interpolation, fill, True)


def in_perspective(image: np.ndarray, start: Any, end: Any, interpolation: Inter) -> np.ndarray:
    """The perspective transformation that maps four points to four others."""
    matrix = cv().getPerspectiveTransform(np.asarray(start, np.float32),
                                          np.asarray(end, np.float32))
    size = (image.shape[1], image.shape[0])
    return like(image, cv().warpPerspective(np.ascontiguousarray(numbers_of(image)), matrix, size,
                                            flags=cv_filter(interpolation)))


def blurred(image: np.ndarray, kernel: tuple[int, int], sigma: tuple[float, float]) -> np.ndarray:
    """Blur by a Gaussian kernel; its size and sigma are (x, y)."""
    image = numbers_of(image)
    with nullcontext() if image.dtype == np.uint8 else _OPTIMIZATION:
        out = cv().GaussianBlur(np.ascontiguousarray(image), kernel, sigmaX=sigma[0],
                                sigmaY=sigma[1])
    return like(image, out)


def numbers_of(image: np.ndarray) -> np.ndarray:
    """The image, for OpenCV: bool, which it doesn't take, as 0 and 1 of uint8."""
    return image.astype(np.uint8) if image.dtype == bool else image


def brightened(image: np.ndarray, factor: float) -> np.ndarray:
    """Multiply all values by a factor; whole numbers are rounded, and stay in their range."""
    if image.dtype == np.uint8:
        return like(image, cv().convertScaleAbs(image, alpha=factor))
    product = image.astype(np.result_type(image.dtype, np.float32)) * np.float32(factor)
    if image.dtype.kind in "iu":
        return saturated_to(np.rint(product), image.dtype)
    return (np.rint(product) if image.dtype == bool else product).astype(image.dtype)


def saturated_to(values: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    """Whole numbers in a type of integers, those outside of its range as its nearest."""
    limits = np.iinfo(kind)
    return np.clip(values, limits.min, limits.max).astype(kind)


def contrasted(image: np.ndarray, factor: float) -> np.ndarray:
    """Change the contrast: interpolate with the mean gray."""
    mean = cv().mean(cv().cvtColor(image, cv().COLOR_RGB2GRAY))[0]
    # OpenCV rounds the mean as it does all numbers, halves to the even one
    return _between(np.full_like(image, mean if image.dtype.kind == "f" else np.rint(mean)),
                    image, factor)


def _between(zero: np.ndarray, one: np.ndarray, factor: float) -> np.ndarray:
    factor = float(np.float32(factor))
    with _OPTIMIZATION:
        return cv().addWeighted(zero, 1 - factor, one, factor, 0)


def saturated(image: np.ndarray, factor: float) -> np.ndarray:
    """Change the saturation: interpolate with the gray image."""
    gray = cv().cvtColor(image, cv().COLOR_RGB2GRAY)
    return _between(cv().cvtColor(gray, cv().COLOR_GRAY2RGB), image, factor)


def hued(image: np.ndarray, factor: float) -> np.ndarray:
    """Rotate the hue by a fraction of the colour circle."""
    if image.dtype == np.float32:  # OpenCV measures the hue of these in degrees
        hsv = cv().cvtColor(image, cv().COLOR_RGB2HSV)
        hsv[..., 0] = (hsv[..., 0] + 360 * factor) % 360
        return cv().cvtColor(hsv, cv().COLOR_HSV2RGB)
    with _unoptimized():
        hsv = cv().cvtColor(image, cv().COLOR_RGB2HSV_FULL)
        turn = int(factor * 255)
        hsv[..., 0] = (hsv[..., 0].astype(np.int16) + turn) & 255
        return cv().cvtColor(hsv, cv().COLOR_HSV2RGB_FULL)


def sharpened(image: np.ndarray, factor: float) -> np.ndarray:
    """Change the sharpness: interpolate with the smoothed image, whose margin stays as it is."""
    image = numbers_of(image)
    plain = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
    weights = np.ones((3, 3), np.float32)
    weights[1, 1] = 5
    factor = float(np.float32(factor))
    with _OPTIMIZATION:
        smooth = plain.copy()
        inner = cv().filter2D(plain, -1, weights / 13)[1:-1, 1:-1]
        smooth[1:-1, 1:-1] = inner
        out = cv().addWeighted(plain, factor, smooth, float(1 - np.float32(factor)), 0)
    return like(image, out)


def auto_contrasted(image: np.ndarray, cutoff: float, ignore: Any) -> np.ndarray:
    """Stretch the values to the full range."""
    image = numbers_of(image)
    planes = image[..., None] if image.ndim == 2 else image
    out = [_stretched(planes[..., c], cutoff, ignore or []) for c in range(planes.shape[-1])]
    return np.stack(out, -1).reshape(image.shape)


def _stretched(plane: np.ndarray, cutoff: float, ignore: list[int]) -> np.ndarray:
    counts = np.bincount(plane.reshape(-1), minlength=256)
    counts[ignore] = 0
    cut = int(counts.sum() * cutoff // 100)
    for side in (counts, counts[::-1]):  # a view of the same counts
        left = cut
        for value in range(256):
            taken = min(left, side[value])
            side[value] -= taken
            left -= taken
            if left <= 0:
                break
    found = np.flatnonzero(counts)
    if not len(found) or found[-1] <= found[0]:
        return plane
    low, scale = int(found[0]), np.float32(255.0 / (found[-1] - found[0]))
    table = np.arange(256).astype(np.float32) * scale + np.float32(-low) * scale
    return np.clip(table.astype(np.int64), 0, 255).astype(np.uint8)[plane]


def equalized(image: np.ndarray) -> np.ndarray:
    """Equalize the histogram of each channel."""
    image = numbers_of(image)
    if image.ndim == 2:
        return cv().equalizeHist(image)
    return np.stack([cv().equalizeHist(np.ascontiguousarray(image[..., c]))
                     for c in range(image.shape[2])], -1)


def inverted(image: np.ndarray) -> np.ndarray:
    """255 minus each value, within the range of the type: 0 where uint16 has more than 255."""
    if image.dtype.kind in "iu" and image.dtype != np.uint8:
        return saturated_to(255 - image.astype(np.int64), image.dtype)
    return (255 - image).astype(image.dtype)


def solarized(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Invert the values inside a range; where its ends are one number, those from there on."""
    inside = image >= low
    if high != low:
        inside &= image <= high
    return np.where(inside, inverted(image), image).astype(image.dtype)


def posterized(image: np.ndarray, bits: int) -> np.ndarray:
    """Keep only the highest bits."""
    image = image.view(np.uint8) if image.dtype == np.int8 else image
    return image & np.uint8(256 - (1 << (8 - bits)))
