"""Random geometric operations: flips, crops, rotation and other transformations."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..checks import choice, integer, number, pair
from ..transforms.operation import PyTensorOperation, is_pillow
from . import kernels
from .conversion import decoded
from .enums import Border, Inter
from .geometry import Resize, padded_pillow, perspective_pillow
from .image import (
    RandomImageOperation,
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


class RandomHorizontalFlip(RandomImageOperation):
    """Flip horizontally, with a probability.

    Args:
        prob: the probability.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> np.array_equal(vision.RandomHorizontalFlip(1.0)(image), image[:, ::-1])
        True
    """

    several = True

    _horizontally, _side = True, "FLIP_LEFT_RIGHT"

    def __init__(self, prob: float = 0.5):
        self.prob = prob

    def draw(self, image: np.ndarray, generator: Mt19937) -> bool:
        """Whether to apply it."""
        return generator.bernoulli(self.prob)

    def apply(self, image: np.ndarray, drawn: bool) -> np.ndarray:
        """The image, flipped or as it was."""
        if not drawn:
            return image
        return frames(image, lambda frame: kernels.flipped(
            is_image(type(self).__name__, frame), self._horizontally))

    def _pillow(self, image: Any) -> Any:
        if self.prob > random.random():
            return image.transpose(getattr(pillow().Transpose, self._side))
        return image


class RandomVerticalFlip(RandomHorizontalFlip):
    """Flip vertically, with a probability.

    Args:
        prob: the probability.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> np.array_equal(vision.RandomVerticalFlip(1.0)(image), image[::-1])
        True
    """

    several = True

    _horizontally, _side = False, "FLIP_TOP_BOTTOM"


class RandomCrop(RandomImageOperation):
    """Crop at a random position.

    Args:
        size: its (height, width), or one number for both.
        padding: the padding before, as for `Pad`; default: none.
        pad_if_needed: whether to pad an image that is smaller than the crop.
        fill_value, padding_mode: as for `Pad`.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.RandomCrop((2, 3))(image).shape
        (2, 3, 3)
    """

    several = True

    def __init__(self, size: Any, padding: Any = None, pad_if_needed: bool = False,
                 fill_value: Any = 0, padding_mode: Border = Border.CONSTANT):
        name = type(self).__name__
        self.size, self._size = size, size_pair(name, size)
        self.padding = padding
        self._padding = (0, 0, 0, 0) if padding is None else paddings(padding)
        self.pad_if_needed = pad_if_needed
        self.fill_value, self._fill = fill_value, fill_values(name, fill_value)
        self.padding_mode = choice(name, "padding_mode", padding_mode, Border)

    def _room(self, height: int, width: int) -> tuple[int, int, int, int]:
        left, top, right, bottom = self._padding
        if max(top, bottom) > 3 * height or max(left, right) > 3 * width:
            raise RuntimeError(f"{type(self).__name__}: padding size is three times bigger than "
                               f"the image size: the padding {self._padding} of an image "
                               f"{(height, width)}.")
        down = self._size[0] - (height + top + bottom)
        across = self._size[1] - (width + left + right)
        if self.pad_if_needed:
            top, bottom = top + max(0, down), bottom + max(0, down)
            left, right = left + max(0, across), right + max(0, across)
        elif down > 0 or across > 0:
            raise RuntimeError(f"RandomCrop: invalid crop size, crop size is bigger than the image "
                               f"dimensions: the part, {self._size}, must not be larger than the "
                               f"image, {(height, width)}, with its padding.")
        return left, top, right, bottom

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The padding, and the position in each image of a stack."""
        stacked = image.ndim > 3
        height, width = image.shape[-3:-1] if stacked else is_image("RandomCrop", image).shape[:2]
        left, top, right, bottom = self._room(height, width)
        places = [(generator.integer(0, width + left + right - self._size[1]),
                   generator.integer(0, height + top + bottom - self._size[0]))
                  for _ in range(math.prod(image.shape[:-3]) if stacked else 1)]
        return (left, top, right, bottom), places

    def apply(self, image: np.ndarray, drawn: Any) -> np.ndarray:
        """The cropped image."""
        room, places = drawn
        place = iter(places)

        def change(frame: np.ndarray) -> np.ndarray:
            left, top, right, bottom = room
            frame = kernels.padded(frame, left, top, right, bottom, self._fill,
                                   self.padding_mode) if any(room) else kernels.numbers_of(frame)
            x, y = next(place)
            return kernels.cropped(frame, y, x, *self._size)
        return frames(image, change)

    def _pillow(self, image: Any) -> Any:
        height, width = self._size
        if self.padding is not None:
            image = padded_pillow(image, self._padding, self._fill, self.padding_mode)
        if self.pad_if_needed:
            across, down = width - image.size[0], height - image.size[1]
            if across > 0:
                image = padded_pillow(image, (across, 0, across, 0), self._fill,
                                      self.padding_mode)
            if down > 0:
                image = padded_pillow(image, (0, down, 0, down), self._fill,
                                      self.padding_mode)
        if height > image.size[1] or width > image.size[0]:
            raise ValueError(f"Crop size {self._size} is larger than input image size: for "
                             f"'RandomCrop', the part must not be larger than the "
                             f"image, {(image.size[1], image.size[0])}.")
        if (width, height) == image.size:
            return image
        top = random.randint(0, image.size[1] - height)
        left = random.randint(0, image.size[0] - width)
        return image.crop((left, top, left + width, top + height))


class RandomResizedCrop(RandomImageOperation):
    """Crop a part of random area and aspect ratio, then resize it.

    Args:
        size: (height, width), or one number for both.
        scale: the range of the part's area, as a fraction of the image's.
        ratio: the range of its width divided by its height.
        interpolation: an Inter.
        max_attempts: how often a part is drawn before the centre is taken.

    Examples:
        >>> import numpy as np
        >>> import lamella.dataset.vision as vision
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> vision.RandomResizedCrop(3)(image).shape
        (3, 3, 3)
    """

    several = True

    def __init__(self, size: Any, scale: Any = (0.08, 1.0), ratio: Any = (3.0 / 4.0, 4.0 / 3.0),
                 interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10):
        name = type(self).__name__
        self.size, self._size = size, size_pair(name, size)
        self.scale, self.ratio = pair(name, "scale", scale, 0), pair(name, "ratio", ratio, 0)
        self.interpolation = choice(name, "interpolation", interpolation, Inter)
        integer(name, "max_attempts", max_attempts)
        self.max_attempts = number(name, "max_attempts", max_attempts, 1)

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The part, as (x, y, width, height)."""
        height, width = image.shape[-3:-1] if image.ndim > 3 else is_image(
            type(self).__name__, image).shape[:2]
        low, high = (float(np.log(np.float32(r))) for r in self.ratio)
        for _ in range(self.max_attempts):
            scale = generator.float32(*self.scale)
            shape = math.exp(generator.float32(low, high))
            across = round_half_up(math.sqrt(height * width * scale * shape))
            down = round_half_up(across / shape)
            if across <= width and 0 < down <= height:
                x = generator.integer(0, width - across)
                return x, generator.integer(0, height - down), across, down
        across, down = width, height
        if width / height < self.ratio[0]:
            down = max(1, round_half_up(width / self.ratio[0]))
        elif width / height > self.ratio[1]:
            across = max(1, round_half_up(height * self.ratio[1]))
        return (round_half_up((width - across) / 2), round_half_up((height - down) / 2), across,
                down)

    def apply(self, image: np.ndarray, drawn: Any) -> np.ndarray:
        """The resized part."""
        x, y, width, height = drawn
        return frames(image, lambda frame: kernels.resized(
            kernels.cropped(frame, y, x, height, width), *self._size, self.interpolation))

    def _pillow(self, image: Any) -> Any:
        (width, height), area = image.size, image.size[0] * image.size[1]
        for _ in range(self.max_attempts):
            part = random.uniform(*self.scale) * area
            shape = math.exp(random.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            across = int(round(math.sqrt(part * shape)))
            down = int(round(across / shape))
            if across <= width and 0 < down <= height:
                top, left = random.randint(0, height - down), random.randint(0, width - across)
                break
        else:
            across, down = width, height
            if width / height < self.ratio[0]:
                down = int(round(width / self.ratio[0]))
            elif width / height > self.ratio[1]:
                across = int(round(height * self.ratio[1]))
            top, left = int(round((height - down) / 2.0)), int(round((width - across) / 2.0))
        image = image.crop((left, top, left + across, top + down))
        return image.resize(self._size[::-1], pillow_filter(self.interpolation))


class RandomCropDecodeResize(RandomResizedCrop):
    """As `RandomResizedCrop`, of an encoded image's bytes."""

    def accept(self, value: Any) -> Any:
        """The bytes as an array."""
        if isinstance(value, bytes):
            return np.frombuffer(value, np.uint8)
        if not isinstance(value, np.ndarray):
            raise TypeError(f"Input should be an encoded image in 1-D NumPy format, got "
                            f"{type(value)}.")
        if value.ndim != 1 or value.dtype.type not in (np.uint8, np.str_, np.bytes_):
            raise TypeError(f"Input should be an encoded image with uint8 type in 1-D NumPy "
                            f"format, got format:{type(value)}, dtype:{value.dtype.type}.")
        return value

    def run(self, values: tuple[Any, ...], streams: Any) -> tuple[Any, ...]:
        """The resized parts."""
        return super().run(tuple([decoded(value) for value in values]), streams)


class RandomResize(RandomImageOperation):
    """Resize with a random interpolation.

    Args:
        size: as for `Resize`.
    """

    several = True

    def __init__(self, size: Any):
        self.size, self._resize = size, Resize(size)

    def draw(self, image: np.ndarray, generator: Mt19937) -> Inter:
        """The interpolation."""
        kinds = (Inter.LINEAR, Inter.NEAREST, Inter.CUBIC, Inter.AREA)
        return kinds[generator.integer(0, 3)]

    def apply(self, image: np.ndarray, drawn: Inter) -> np.ndarray:
        """The resized image."""
        return Resize(self.size, drawn).transform(image)


class RandomRotation(RandomImageOperation):
    """Rotate counterclockwise by a random angle.

    Args:
        degrees: the range of angles, or the largest in both directions.
        resample, expand, center, fill_value: as for `Rotate`.
    """

    def __init__(self, degrees: Any, resample: Inter = Inter.NEAREST, expand: bool = False,
                 center: Any = None, fill_value: Any = 0):
        listed = (-degrees, degrees) if isinstance(degrees, (int, float)) else degrees
        self.degrees, self._degrees = degrees, tuple(listed)
        self.resample = resample
        self.expand, self.center = expand, center
        self.fill_value, self._fill = fill_value, fill_values("RandomRotation", fill_value)

    def draw(self, image: np.ndarray, generator: Mt19937) -> float:
        """The angle."""
        return generator.float32(*self._degrees)

    def apply(self, image: np.ndarray, drawn: float) -> np.ndarray:
        """The rotated image."""
        check_resampling("RandomRotation", image, self.resample)
        return frames(image, lambda frame: kernels.rotated(
            is_image("RandomRotation", frame), drawn, self.resample, self.expand, self.center,
            self._fill))

    def _pillow(self, image: Any) -> Any:
        angle = random.uniform(*self._degrees)
        if self.resample is Inter.PILCUBIC:
            raise TypeError("Current Interpolation is not supported with PIL input. For "
                            "'RandomRotation', 'resample' must be another one than PILCUBIC.")
        if self.resample is Inter.ANTIALIAS and (self.center is not None or angle % 90):
            raise ValueError("When using Inter.ANTIALIAS, center needs to be None and angle needs "
                             "to be an integer multiple of 90.")
        return image.rotate(angle, pillow_filter(self.resample), self.expand, self.center,
                            fillcolor=pillow_fill(image, self._fill))


class RandomAffine(RandomImageOperation):
    """A random affine transformation: rotation, translation, scale and shear.

    Args:
        degrees: the range of angles, or the largest in both directions.
        translate: the largest fractions of (width, height), or the range of each.
        scale: the range of factors.
        shear: the range of degrees along x, and y; or the largest along x.
        resample, fill_value: as for `Affine`.
    """

    def __init__(self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None,
                 resample: Inter = Inter.NEAREST, fill_value: Any = 0):
        name = "RandomAffine"
        listed = (-degrees, degrees) if isinstance(degrees, (int, float)) else degrees
        self.degrees, self._degrees = degrees, tuple(listed)
        moved = (0.0, 0.0, 0.0, 0.0) if translate is None else tuple(translate)
        self._moved = moved if len(moved) == 4 else (*moved, 0.0, 0.0)
        self._scale = (1.0, 1.0) if scale is None else pair(name, "scale", scale, 0)
        sheared = (0.0,) * 4 if shear is None else (
            (-shear, shear, 0.0, 0.0) if isinstance(shear, (int, float)) else
            (*shear, 0.0, 0.0) if len(shear) == 2 else tuple(shear))
        self._shear = (*pair(name, "shear", sheared[:2]), *pair(name, "shear", sheared[2:]))
        self.translate, self.scale, self.shear = translate, scale, shear
        self.resample = resample
        self.fill_value, self._fill = fill_value, fill_values(name, fill_value)

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The arguments of `kernels.sheared`."""
        height, width = image.shape[-3:-1] if image.ndim > 3 else image.shape[:2]
        low_x, high_x, low_y, high_y = self._moved
        degrees = generator.float32(*self._degrees)
        x = generator.float32(low_x * width, high_x * width)
        y = generator.float32(low_y * height, high_y * height)
        scale = generator.float32(*self._scale)
        shear = (generator.float32(*self._shear[:2]), generator.float32(*self._shear[2:]))
        return degrees, (x, y), scale, shear

    def apply(self, image: np.ndarray, drawn: Any) -> np.ndarray:
        """The new image."""
        degrees, moved, scale, shear = drawn
        return frames(image, lambda frame: kernels.sheared(
            is_image("RandomAffine", frame), degrees, moved, scale, shear, self.resample,
            self._fill))

    def _pillow(self, image: Any) -> Any:
        angle, (width, height) = math.radians(random.uniform(*self._degrees)), image.size
        # each is drawn in any case, so that later draws of the program are MindSpore's too
        x, y = (float(np.round(random.uniform(-share * size, share * size))) for share, size
                in zip(self._moved, image.size, strict=False))
        scale = 1.0 / random.uniform(*self._scale)
        across = math.radians(random.uniform(*self._shear[:2]))
        down = math.radians(random.uniform(*self._shear[2:]))
        cx, cy = width * 0.5 + 0.5, height * 0.5 + 0.5
        d = math.cos(angle + across) * math.cos(angle + down) + math.sin(
            angle + across) * math.sin(angle + down)
        matrix = [math.cos(angle + across), math.sin(angle + across), 0.0,
                  -math.sin(angle + down), math.cos(angle + down), 0.0]
        matrix = [scale / d * m for m in matrix]
        matrix[2] += matrix[0] * (-cx - x) + matrix[1] * (-cy - y) + cx
        matrix[5] += matrix[3] * (-cx - x) + matrix[4] * (-cy - y) + cy
        return image.transform(image.size, pillow().Transform.AFFINE, matrix,
                               pillow_filter(self.resample),
                               fillcolor=pillow_fill(image, self._fill))


class RandomPerspective(PyTensorOperation):
    """A random perspective transformation of an image of Pillow's, with a probability.

    Args:
        distortion_scale: how far the corners move at most, in [0, 1].
        prob: the probability.
        interpolation: an Inter.
    """

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5,
                 interpolation: Inter = Inter.BICUBIC):
        self.distortion_scale = distortion_scale
        self.prob = prob
        self.interpolation = choice("RandomPerspective", "interpolation", interpolation, Inter)

    def transform(self, value: Any) -> Any:
        """The image, changed or as it was."""
        if not is_pillow(value):
            raise ValueError("Input image should be a Pillow image. For 'RandomPerspective', it is "
                             f"of type {type(value)}.")
        if self.prob <= random.random():
            return value
        width, height = value.size
        across = int(width / 2 * self.distortion_scale)
        down = int(height / 2 * self.distortion_scale)
        ends = [(random.randint(0, across), random.randint(0, down)),
                (random.randint(width - across - 1, width - 1), random.randint(0, down)),
                (random.randint(width - across - 1, width - 1),
                 random.randint(height - down - 1, height - 1)),
                (random.randint(0, across), random.randint(height - down - 1, height - 1))]
        starts = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        return perspective_pillow(value, starts, ends, self.interpolation)


def round_half_up(value: float) -> int:
    """The nearest integer, as C rounds."""
    return int(math.floor(value + 0.5))
