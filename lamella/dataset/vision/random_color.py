"""Colour operations with random factors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..checks import number, pair
from ..inputs import check_input
from ..transforms.operation import PyTensorOperation
from . import kernels
from .color import AdjustBrightness, AdjustContrast, AdjustHue, AdjustSaturation
from .conversion import gray, need_pillow
from .image import RandomImageOperation, is_image, pillow


class _Sometimes(RandomImageOperation):
    """The base of operations without random factors that are applied with a probability."""

    prob: float
    _channels: tuple[int, ...] | None = (1, 3)

    def draw(self, image: np.ndarray, generator: Mt19937) -> bool:
        """Whether to apply it."""
        return generator.bernoulli(self.prob)

    def apply(self, image: np.ndarray, drawn: bool) -> np.ndarray:
        """The image, changed or as it was."""
        name = type(self).__name__
        return self._changed(is_image(name, image, self._channels)) if drawn else image

    def _changed(self, image: np.ndarray) -> np.ndarray:
        raise NotImplementedError


class RandomAdjustSharpness(_Sometimes):
    """Change the sharpness, with a probability.

    Args:
        degree: the factor: 0 is smoothed, 1 the image, 2 sharper.
        prob: the probability.
    """

    _channels = None  # any number of them

    def __init__(self, degree: float, prob: float = 0.5):
        self.degree = degree
        self.prob = prob

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return kernels.sharpened(image, self.degree)


class RandomAutoContrast(_Sometimes):
    """Stretch the values to the full range, with a probability.

    Args:
        cutoff, ignore: as for `AutoContrast`.
        prob: the probability.
    """

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5):
        self.cutoff = cutoff
        self.ignore = [ignore] if isinstance(ignore, int) else ignore
        self.prob = prob

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return kernels.auto_contrasted(image, self.cutoff, self.ignore)


class RandomEqualize(_Sometimes):
    """Equalize the histogram, with a probability.

    Args:
        prob: the probability.
    """

    def __init__(self, prob: float = 0.5):
        self.prob = prob

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return kernels.equalized(image)


class RandomInvert(_Sometimes):
    """Invert the values, with a probability.

    Args:
        prob: the probability.
    """

    def __init__(self, prob: float = 0.5):
        self.prob = prob

    def _changed(self, image: np.ndarray) -> np.ndarray:
        return kernels.inverted(image)


class RandomColorAdjust(RandomImageOperation):
    """Change brightness, contrast, saturation and hue by random factors, in random order.

    Args:
        brightness, contrast, saturation: the range of factors, or the most they differ from 1.
        hue: the range of fractions of the colour circle, or the most in both directions.
    """

    _STEPS = {kernels.brightened: AdjustBrightness(1.0), kernels.contrasted: AdjustContrast(1.0),
              kernels.saturated: AdjustSaturation(1.0), kernels.hued: AdjustHue(0.0)}

    def __init__(self, brightness: Any = (1, 1), contrast: Any = (1, 1),
                 saturation: Any = (1, 1), hue: Any = (0, 0)):
        self.brightness = self._range("brightness", brightness)
        self.contrast = self._range("contrast", contrast)
        self.saturation = self._range("saturation", saturation)
        listed = (-hue, hue) if isinstance(hue, (int, float)) else hue
        self.hue = pair("RandomColorAdjust", "hue", listed, -0.5, 0.5)

    @staticmethod
    def _range(argument: str, value: Any) -> tuple[float, float]:
        if isinstance(value, (int, float)):
            number("RandomColorAdjust", argument, value, 0)
            value = (max(0, 1 - value), 1 + value)
        return pair("RandomColorAdjust", argument, value, 0)

    def draw(self, image: np.ndarray, generator: Mt19937) -> list[tuple[Any, float]]:
        """The operations, in the order in which they are applied."""
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        changes = (kernels.brightened, kernels.contrasted, kernels.saturated, kernels.hued)
        order = [0, 1, 2, 3]
        generator.shuffle(order)
        drawn = []
        for which in order:
            low, high = ranges[which]
            neutral = 0 if which == 3 else 1
            if low != high or low != neutral:
                drawn.append((changes[which], generator.float32(low, high)))
        return drawn

    def apply(self, image: np.ndarray, drawn: list[tuple[Any, float]]) -> np.ndarray:
        """The new image."""
        is_image("RandomColorAdjust", image, [3])
        for change, factor in drawn:
            check_input(self._STEPS[change], image)  # each takes other types
            image = change(image, factor)
        return image

    def _pillow(self, image: Any) -> Any:
        enhance = pillow("ImageEnhance")
        changes = []
        for kind, (low, high) in (("Brightness", self.brightness), ("Contrast", self.contrast),
                                  ("Color", self.saturation)):
            factor = random.uniform(low, high)
            changes.append(lambda i, k=kind, f=factor: getattr(enhance, k)(i).enhance(f))
        turn = random.uniform(*self.hue)
        changes.append(lambda i: AdjustHue(turn)._pillow(i))
        random.shuffle(changes)
        for change in changes:
            image = change(image)
        return image


class RandomColor(RandomImageOperation):
    """Change the saturation by a random factor.

    Args:
        degrees: the range of factors; 0 is gray, 1 the image.
    """

    def __init__(self, degrees: Any = (0.1, 1.9)):
        self.degrees = pair("RandomColor", "degrees", degrees, 0)

    def draw(self, image: np.ndarray, generator: Mt19937) -> float:
        """The factor."""
        return generator.float32(*self.degrees)

    def apply(self, image: np.ndarray, drawn: float) -> np.ndarray:
        """The new image."""
        is_image("RandomColor", image, [3])
        return kernels.saturated(kernels.numbers_of(image), drawn)

    def _pillow(self, image: Any) -> Any:
        low, high = self.degrees
        factor = (high - low) * random.random() + low
        return pillow("ImageEnhance").Color(image).enhance(factor)


class RandomSharpness(RandomImageOperation):
    """Change the sharpness by a random factor.

    Args:
        degrees: the range of factors; 0 is smoothed, 1 the image.
    """

    def __init__(self, degrees: Any = (0.1, 1.9)):
        self.degrees = pair("RandomSharpness", "degrees", degrees, 0)

    def draw(self, image: np.ndarray, generator: Mt19937) -> float:
        """The factor."""
        return generator.float32(*self.degrees)

    def apply(self, image: np.ndarray, drawn: float) -> np.ndarray:
        """The new image."""
        return kernels.sharpened(is_image("RandomSharpness", image), drawn)

    def _pillow(self, image: Any) -> Any:
        low, high = self.degrees
        factor = (high - low) * random.random() + low
        return pillow("ImageEnhance").Sharpness(image).enhance(factor)


class RandomPosterize(RandomImageOperation):
    """Keep only the highest bits of each value, a random number of them.

    Args:
        bits: the range of the number of bits, or one number.
    """

    def __init__(self, bits: Any = (8, 8)):
        listed = (bits, bits) if isinstance(bits, int) else bits
        self.bits = pair("RandomPosterize", "bits", listed, 1, 8)

    def draw(self, image: np.ndarray, generator: Mt19937) -> int:
        """How many bits."""
        low, high = self.bits
        return low if low == high else generator.integer(low, high)

    def apply(self, image: np.ndarray, drawn: int) -> np.ndarray:
        """The new image."""
        return kernels.posterized(is_image("RandomPosterize", image), drawn)


class RandomSolarize(RandomImageOperation):
    """Invert the values inside a random range.

    Args:
        threshold: the (min, max) inside which the range lies.
    """

    def __init__(self, threshold: Any = (0, 255)):
        self.threshold = tuple(threshold)

    def draw(self, image: np.ndarray, generator: Mt19937) -> tuple[int, int]:
        """The range."""
        one, other = generator.integer(*self.threshold), generator.integer(*self.threshold)
        return min(one, other), max(one, other)

    def apply(self, image: np.ndarray, drawn: tuple[int, int]) -> np.ndarray:
        """The new image."""
        return kernels.solarized(is_image("RandomSolarize", image, [1, 3]), *drawn)


_LIGHT = np.array([[55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
                   [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
                   [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203]])


def _light(strength: Any) -> np.ndarray:
    """What to add to each channel; no product of BLAS's, whose rounding is the processor's."""
    return (_LIGHT * strength).sum(-1)


class RandomLighting(RandomImageOperation):
    """Add random noise along the principal components of ImageNet's colours (AlexNet).

    Args:
        alpha: the standard deviation of the strengths.
    """

    def __init__(self, alpha: float = 0.05):
        self.alpha = alpha

    def draw(self, image: np.ndarray, generator: Mt19937) -> np.ndarray:
        """The strength of each component."""
        return np.array([generator.normal(0, self.alpha) for _ in range(3)])

    def apply(self, image: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        """The new image."""
        is_image("RandomLighting", image, [3])
        if image.dtype == np.int8:  # MindSpore takes them for bytes of an image
            return self.apply(image.view(np.uint8), drawn).view(np.int8)
        out = image.astype(np.result_type(image, np.float32)) + _light(drawn).astype(np.float32)
        if image.dtype.kind == "f":
            return out.astype(image.dtype)
        light = np.rint(out)
        return light > 0 if image.dtype == bool else kernels.saturated_to(light, image.dtype)

    def _pillow(self, image: Any) -> Any:
        strength = [np.random.normal(loc=0.0, scale=self.alpha) for _ in range(3)]
        array = np.asarray(image.convert("RGB")).astype(np.float64) + _light(strength)
        return pillow().fromarray(np.clip(array, 0, 255).astype(np.uint8))


class RandomGrayscale(PyTensorOperation):
    """Convert an image of Pillow's to gray, with a probability.

    Args:
        prob: the probability.
    """

    def __init__(self, prob: float = 0.1):
        self.prob = prob

    def transform(self, value: Any) -> Any:
        """The image, or the gray image."""
        need_pillow("RandomGrayscale", value)
        channels = 1 if value.mode == "L" else 3
        return gray(value, channels) if self.prob > random.random() else value
