"""Reading and writing image files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ...tensors.tensor import Tensor
from ..checks import integer
from ..transforms.operation import is_pillow
from .conversion import decoded, decoded_as
from .enums import (  # noqa: F401  (programs look for them here)
    AutoAugmentPolicy,
    Border,
    ConvertMode,
    ImageBatchFormat,
    ImageReadMode,
    Inter,
    SliceMode,
)
from .image import cv, paddings, pillow


def _existing(filename: Any, name: str) -> str:
    if not isinstance(filename, str):
        raise TypeError(f"Input filename is not of type {str}, but got: {type(filename)}. For "
                        f"'{name}', a path is expected.")
    if not os.path.exists(filename):
        raise RuntimeError(f"Invalid file path, {filename} does not exist.")
    if not os.path.isfile(filename):
        raise RuntimeError(f"Invalid file path, {filename} is not a regular file.")
    return filename


def read_file(filename: str) -> np.ndarray:
    """The bytes of a file, as an array of uint8."""
    return np.fromfile(_existing(filename, "read_file"), np.uint8)


def _bytes_of(function: str, argument: str, value: Any) -> np.ndarray:
    """An argument of `function` as an array, which must hold uint8."""
    array = value.asnumpy() if isinstance(value, Tensor) else value
    if not isinstance(array, np.ndarray):
        raise TypeError(f"Input {argument} is not of type {np.ndarray} or {Tensor}, but got: "
                        f"{type(value)}.")
    if array.dtype != np.uint8:
        raise RuntimeError(f"The type of the elements of {argument} should be UINT8, but got "
                           f"{array.dtype}. For '{function}', bytes are expected.")
    return array


def write_file(filename: str, data: Any) -> None:
    """Write an array of uint8 of one dimension to a file."""
    if not isinstance(filename, str):
        raise TypeError(f"Input filename is not of type {str}, but got: {type(filename)}.")
    array = _bytes_of("write_file", "data", data)
    if array.ndim != 1:
        raise RuntimeError(f"The data has invalid dimensions. It should have only one dimension, "
                           f"but got {array.ndim} dimensions.")
    if os.path.exists(filename) and not os.path.isfile(filename):
        raise RuntimeError(f"Invalid file path, {filename} is not a regular file.")
    try:
        array.tofile(filename)
    except OSError as error:
        raise RuntimeError(f"Failed to open the file: {filename}: {error}") from error


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """The image of a file, (H, W, C) in RGB."""
    if not isinstance(mode, ImageReadMode):
        raise TypeError(f"Input mode is not of type {ImageReadMode}, but got: {type(mode)}.")
    data = np.fromfile(_existing(filename, "read_image"), np.uint8)
    flag = cv().IMREAD_GRAYSCALE if mode is ImageReadMode.GRAYSCALE else cv().IMREAD_UNCHANGED
    try:
        if mode is ImageReadMode.COLOR:
            return decoded(data)
        image = decoded_as(data, flag) if data.size else None
    except RuntimeError as error:
        raise RuntimeError(f"Read image: {filename}: {error}") from error
    if image is None:
        raise RuntimeError(f"Read image: {filename} is no image, or it is damaged.")
    if image.ndim == 2:
        return image[..., None]
    return np.ascontiguousarray(image[..., 2::-1])  # RGB, without transparency, as MindSpore


def _encoded(name: str, image: Any, kind: str, settings: list[int]) -> np.ndarray:
    array = _bytes_of(name, "image", image)
    if array.ndim not in (2, 3):
        raise RuntimeError(f"The image has invalid dimensions. It should have two or three "
                           f"dimensions, but got {array.ndim} dimensions.")
    if array.ndim == 3 and array.shape[2] not in (1, 3):
        raise RuntimeError(f"The image has invalid channels. It should have 1 or 3 channels, but "
                           f"got {array.shape[2]} channels.")
    if array.ndim == 3 and array.shape[2] == 3:
        array = cv().cvtColor(np.ascontiguousarray(array), cv().COLOR_RGB2BGR)
    done, data = cv().imencode(kind, np.ascontiguousarray(array), settings)
    if not done:
        raise RuntimeError(f"{name}: the image of shape {list(array.shape)} can't be encoded.")
    return data.reshape(-1)


def encode_jpeg(image: Any, quality: int = 75) -> np.ndarray:
    """The bytes of an image as JPEG.

    Args:
        image: (H, W, C) of uint8.
        quality: in [1, 100].
    """
    if isinstance(quality, bool) or not isinstance(quality, int):
        raise TypeError(f"Input quality is not of type {int}, but got: {type(quality)}.")
    if not 1 <= quality <= 100:
        raise RuntimeError(f"Invalid quality {quality}, should be in range of [1, 100].")
    return _encoded("encode_jpeg", image, ".jpg", [cv().IMWRITE_JPEG_QUALITY, quality])


def encode_png(image: Any, compression_level: int = 6) -> np.ndarray:
    """The bytes of an image as PNG.

    Args:
        image: (H, W, C) of uint8.
        compression_level: in [0, 9].
    """
    if isinstance(compression_level, bool) or not isinstance(compression_level, int):
        raise TypeError(f"Input compression_level is not of type {int}, but got: "
                        f"{type(compression_level)}.")
    if not 0 <= compression_level <= 9:
        raise RuntimeError(f"Invalid compression_level {compression_level}, should be in range of "
                           f"[0, 9].")
    return _encoded("encode_png", image, ".png",
                    [cv().IMWRITE_PNG_COMPRESSION, compression_level])


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write an image to a JPEG file."""
    write_file(filename, encode_jpeg(image, quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write an image to a PNG file."""
    if not isinstance(image, (np.ndarray, Tensor)):
        raise TypeError(f"The input image is not of type {np.ndarray} or {Tensor}, but got: "
                        f"{type(image)}.")
    write_file(filename, encode_png(image, compression_level))


def get_image_num_channels(image: Any) -> int:
    """How many channels an image has."""
    if is_pillow(image):
        return len(image.getbands())
    if not isinstance(image, np.ndarray):
        raise TypeError(f"Input image is not of type {np.ndarray} or {pillow().Image}, but got: "
                        f"{type(image)}.")
    if image.ndim < 2:
        raise RuntimeError(f"GetImageNumChannels: invalid parameter, image should have at least "
                           f"two dimensions, but got: {image.ndim}.")
    return 1 if image.ndim == 2 else image.shape[-1]


def get_image_size(image: Any) -> list[int]:
    """The size of an image, [height, width]."""
    if is_pillow(image):
        return [image.size[1], image.size[0]]
    if not isinstance(image, np.ndarray):
        raise TypeError(f"Input image is not of type {np.ndarray} or {pillow().Image}, but got: "
                        f"{type(image)}.")
    if image.ndim < 2:
        raise RuntimeError(f"GetImageSize: invalid parameter, image should have at least two "
                           f"dimensions, but got: {image.ndim}.")
    return list(image.shape if image.ndim == 2 else image.shape[-3:-1])


def parse_padding(padding: Any) -> tuple[int, int, int, int]:
    """Padding as (left, top, right, bottom), given as one, two or four numbers.

    Raises:
        TypeError, ValueError: if it is none.
    """
    listed = padding if isinstance(padding, (list, tuple)) else [padding] * 4
    for one in listed:
        integer("parse_padding", "padding", one, 0)
    if len(listed) not in (2, 4):
        raise ValueError(f"For 'parse_padding', 'padding' must be an int or a list of 2 or 4, but "
                         f"got {padding!r}.")
    return paddings(listed)
