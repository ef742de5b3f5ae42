"""Colour operations with fixed factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import integer, number
from . import kernels
from .image import ImageOperation, frames, is_image, pillow


class _Enhanced(ImageOperation):
    """The base of operations with one factor."""

    _argument, _high = "", None
    _channels: tuple[int, ...] | None = (3,)
    _enhance = ""

    def _set(self, value: Any) -> None:
        setattr(self, self._argument, value)

    def _array(self, image: np.ndarray) -> np.ndarray:
        factor = getattr(self, self._argument)
        return frames(image, lambda f: self._changed(
            is_image(type(self).__name__, f, self._channels), factor))

    def _enhanced(self, image: Any) -> Any:
        enhancer = getattr(pillow("ImageEnhance"), self._enhance)(image)
        return enhancer.enhance(getattr(self, self._argument))

    _pillow: Any = _enhanced
    _changed: Any = None


class AdjustBrightness(_Enhanced):
    """Change the brightness.

    Args:
        brightness_factor: 0 is black, 1 the image.
    """

    _argument, _channels, _enhance = "brightness_factor", (1, 3), "Brightness"
    _changed = staticmethod(kernels.brightened)

    def __init__(self, brightness_factor: float):
        self._set(brightness_factor)


class AdjustContrast(_Enhanced):
    """Change the contrast.

    Args:
        contrast_factor: 0 is gray, 1 the image.
    """

    _argument, _enhance = "contrast_factor", "Contrast"
    _changed = staticmethod(kernels.contrasted)

    def __init__(self, contrast_factor: float):
        self._set(contrast_factor)


class AdjustSaturation(_Enhanced):
    """Change the saturation.

    Args:
        saturation_factor: 0 is gray, 1 the image.
    """

    _argument, _enhance = "saturation_factor", "Color"
    _changed = staticmethod(kernels.saturated)

    def __init__(self, saturation_factor: float):
        self._set(saturation_factor)


class AdjustSharpness(_Enhanced):
    """Change the sharpness.

    Args:
        sharpness_factor: 0 is smoothed, 1 the image.
    """

    _argument, _channels = "sharpness_factor", None  # any number of them
    _pillow: Any = None
    _changed = staticmethod(kernels.sharpened)

    def __init__(self, sharpness_factor: float):
        self._set(sharpness_factor)


class AdjustHue(ImageOperation):
    """Rotate the hue.

    Args:
        hue_factor: the fraction of the colour circle, in [-0.5, 0.5].
    """

    def __init__(self, hue_factor: float):
        self.hue_factor = hue_factor

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, lambda f: kernels.hued(is_image("AdjustHue", f, [3]),
                                                    self.hue_factor))

    def _pillow(self, image: Any) -> Any:
        if image.mode in ("L", "1", "I", "F"):
            return image
        hue, saturation, value = image.convert("HSV").split()
        turned = np.asarray(hue).astype(np.int16) + int(self.hue_factor * 255)
        hue = pillow().fromarray((turned & 255).astype(np.uint8))
        return pillow().merge("HSV", (hue, saturation, value)).convert(image.mode)


class AdjustGamma(ImageOperation):
    """Gamma correction: ``gain * value ** gamma`` of values in [0, 1].

    Of floating-point images it is ``(gain * value) ** gamma`` in float32, as in MindSpore. Integers
    are taken as numbers from 0 to 255, and keep their type.

    Args:
        gamma: the power.
        gain: a factor.
    """

    def __init__(self, gamma: float, gain: float = 1):
        self.gamma = gamma
        self.gain = number("AdjustGamma", "gain", gain)

    def _array(self, image: np.ndarray) -> np.ndarray:
        kind = image.dtype
        if kind.kind == "f":
            return np.clip((image.astype(np.float32) * self.gain) ** self.gamma, 0, 1).astype(
                np.float32)
        if kind.name in ("uint32", "int64", "uint64"):
            raise RuntimeError(f"AdjustGamma: the image must be of type bool, int8, uint8, int16, "
                               f"uint16, int32 or of a floating type, but got {kind.name}.")
        # a byte is one from 0 to 255, with or without a sign
        bytes_of = image.view(np.uint8) if kind.itemsize == 1 else np.clip(image, 0, 255)
        return self._table().astype(np.uint8)[bytes_of].astype(kind)

    def _table(self) -> np.ndarray:
        values = (256 - 1e-3) * self.gain * (np.arange(256) / 255) ** self.gamma
        return np.clip(np.floor(values), 0, 255)

    def _pillow(self, image: Any) -> Any:
        mode = image.mode
        table = [int(v) for v in np.clip((255 + 1 - 1e-3) * self.gain * np.power(
            np.arange(256) / 255.0, self.gamma), 0, 255)]
        image = image.convert("RGB")
        return image.point(table * 3).convert(mode)


class AutoContrast(ImageOperation):
    """Stretch the values to the full range.

    Args:
        cutoff: the percentage of the lightest and darkest pixels to ignore.
        ignore: values to ignore.
    """

    def __init__(self, cutoff: float = 0.0, ignore: Any = None):
        self.cutoff = cutoff
        self.ignore = [ignore] if isinstance(ignore, int) else ignore

    def _array(self, image: np.ndarray) -> np.ndarray:
        return kernels.auto_contrasted(is_image("AutoContrast", image, [1, 3]), self.cutoff,
                                       self.ignore)

    def _pillow(self, image: Any) -> Any:
        return pillow("ImageOps").autocontrast(image, self.cutoff, self.ignore)


class Equalize(ImageOperation):
    """Equalize the histogram."""

    def _array(self, image: np.ndarray) -> np.ndarray:
        return kernels.equalized(is_image("Equalize", image, [1, 3]))

    def _pillow(self, image: Any) -> Any:
        return pillow("ImageOps").equalize(image)


class Invert(ImageOperation):
    """Invert the values."""

    def _array(self, image: np.ndarray) -> np.ndarray:
        return kernels.inverted(is_image("Invert", image))

    def _pillow(self, image: Any) -> Any:
        return pillow("ImageOps").invert(image)


class Posterize(ImageOperation):
    """Keep only the highest bits of each value.

    Args:
        bits: how many bits to keep.
    """

    def __init__(self, bits: int):
        self.bits = bits

    def _array(self, image: np.ndarray) -> np.ndarray:
        return kernels.posterized(is_image("Posterize", image), self.bits)


class Solarize(ImageOperation):
    """Invert the values inside a range.

    Args:
        threshold: (min, max), or the least value that is inverted.
    """

    def __init__(self, threshold: Any):
        listed = (threshold, threshold) if isinstance(threshold, (int, float)) else threshold
        self.threshold = tuple(listed)

    def _array(self, image: np.ndarray) -> np.ndarray:
        return kernels.solarized(is_image("Solarize", image, [1, 3]), *self.threshold)


class GaussianBlur(ImageOperation):
    """Blur by a Gaussian kernel.

    Args:
        kernel_size: the size in pixels, odd: (width, height) or one number.
        sigma: the standard deviation: (x, y) or one number; default: by the width.
    """

    def __init__(self, kernel_size: Any, sigma: Any = None):
        sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
        for size in sizes:
            integer("GaussianBlur", "kernel_size", size)
        widths = list(sigma) if isinstance(sigma, (list, tuple)) else [sigma or 0.0] * 2
        for width in widths:
            number("GaussianBlur", "sigma", width, 0)
        self.kernel_size, self.sigma = kernel_size, sigma
        self._kernel = (sizes[0], sizes[1])
        across = widths[0] or sizes[0] * 0.15 + 0.35
        self._sigma = across, widths[1] or across

    def _array(self, image: np.ndarray) -> np.ndarray:
        return frames(image, lambda f: kernels.blurred(is_image("GaussianBlur", f), self._kernel,
                                                       self._sigma))
