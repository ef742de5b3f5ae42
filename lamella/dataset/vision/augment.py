"""Augmentation policies: several operations chosen at random.

The policies are the papers': AutoAugment (Cubuk et al. 2019), RandAugment (Cubuk et al. 2020),
TrivialAugment (Mueller and Hutter 2021).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..checks import number, of_type
from ..transforms.operation import Streams, TensorOperation, Values
from . import kernels
from .enums import AutoAugmentPolicy, Inter
from .image import RandomImageOperation, fill_values, is_image

_IMAGENET = """
    Posterize .4 8 Rotate .6 9|Solarize .6 5 AutoContrast .6 -|Equalize .8 - Equalize .6 -|
    Posterize .6 7 Posterize .6 6|Equalize .4 - Solarize .2 4|Equalize .4 - Rotate .8 8|
    Solarize .6 3 Equalize .6 -|Posterize .8 5 Equalize 1 -|Rotate .2 3 Solarize .6 8|
    Equalize .6 - Posterize .4 6|Rotate .8 8 Color .4 0|Rotate .4 9 Equalize .6 -|
    Equalize 0 - Equalize .8 -|Invert .6 - Equalize 1 -|Color .6 4 Contrast 1 8|
    Rotate .8 8 Color 1 2|Color .8 8 Solarize .8 7|Sharpness .4 7 Invert .6 -|
    ShearX .6 5 Equalize 1 -|Color .4 0 Equalize .6 -|Equalize .4 - Solarize .2 4|
    Solarize .6 5 AutoContrast .6 -|Invert .6 - Equalize 1 -|Color .6 4 Contrast 1 8|
    Equalize .8 - Equalize .6 -"""
_CIFAR10 = """
    Invert .1 - Contrast .2 6|Rotate .7 2 TranslateX .3 9|Sharpness .8 1 Sharpness .9 3|
    ShearY .5 8 TranslateY .7 9|AutoContrast .5 - Equalize .9 -|ShearY .2 7 Posterize .3 7|
    Color .4 3 Brightness .6 7|Sharpness .3 9 Brightness .7 9|Equalize .6 - Equalize .5 -|
    Contrast .6 7 Sharpness .6 5|Color .7 7 TranslateX .5 8|Equalize .3 - AutoContrast .4 -|
    TranslateY .4 3 Sharpness .2 6|Brightness .9 6 Color .2 8|Solarize .5 2 Invert 0 -|
    Equalize .2 - AutoContrast .6 -|Equalize .2 - Equalize .6 -|Color .9 9 Equalize .6 -|
    AutoContrast .8 - Solarize .2 8|Brightness .1 3 Color .7 0|Solarize .4 5 AutoContrast .9 -|
    TranslateY .9 9 TranslateY .7 9|AutoContrast .9 - Solarize .8 3|Equalize .8 - Invert .1 -|
    TranslateY .7 9 AutoContrast .9 -"""
_SVHN = """
    ShearX .9 4 Invert .2 -|ShearY .9 8 Invert .7 -|Equalize .6 - Solarize .6 6|
    Invert .9 - Equalize .6 -|Equalize .6 - Rotate .9 3|ShearX .9 4 AutoContrast .8 -|
    ShearY .9 8 Invert .4 -|ShearY .9 5 Solarize .2 6|Invert .9 - AutoContrast .8 -|
    Equalize .6 - Rotate .9 3|ShearX .9 4 Solarize .3 3|ShearY .8 8 Invert .7 -|
    Equalize .9 - TranslateY .6 6|Invert .9 - Equalize .6 -|Contrast .3 3 Rotate .8 4|
    Invert .8 - TranslateY 0 2|ShearY .7 6 Solarize .4 8|Invert .6 - Rotate .8 4|
    ShearY .3 7 TranslateX .9 3|ShearX .1 6 Invert .6 -|Solarize .7 2 TranslateY .6 7|
    ShearY .8 4 Invert .8 -|ShearX .7 9 TranslateY .8 3|ShearY .8 5 AutoContrast .7 -|
    ShearX .7 2 Invert .1 -"""
_POLICIES = {AutoAugmentPolicy.IMAGENET: _IMAGENET, AutoAugmentPolicy.CIFAR10: _CIFAR10,
             AutoAugmentPolicy.SVHN: _SVHN}


def _read(policy: str) -> list[list[tuple[str, float, int | None]]]:
    pairs = []
    for line in policy.split("|"):
        words = line.split()
        pairs.append([(words[i], float(words[i + 1]),
                       None if words[i + 2] == "-" else int(words[i + 2])) for i in (0, 3)])
    return pairs


def changed(image: np.ndarray, name: str, strength: float, interpolation: Inter,
            fill: tuple[int, int, int]) -> np.ndarray:
    """The image after one operation of a magnitude."""
    if name in ("ShearX", "ShearY", "TranslateX", "TranslateY"):
        across = name.endswith("X")
        move = (strength, 0.0) if across else (0.0, strength)
        if name.startswith("Shear"):
            degrees = math.degrees(math.atan(strength))
            shear = (degrees, 0.0) if across else (0.0, degrees)
            return kernels.sheared(image, 0.0, (0.0, 0.0), 1.0, shear, interpolation, fill)
        return kernels.sheared(image, 0.0, (int(move[0]), int(move[1])), 1.0, (0.0, 0.0),
                               interpolation, fill)
    if name == "Rotate":
        return kernels.rotated(image, strength, interpolation, False, None, fill)
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        change = {"Brightness": kernels.brightened, "Color": kernels.saturated,
                  "Contrast": kernels.contrasted, "Sharpness": kernels.sharpened}[name]
        return change(image, 1 + strength)
    if name == "Posterize":
        return kernels.posterized(image, int(strength))
    if name == "Solarize":
        return kernels.solarized(image, strength, 255)
    if name == "AutoContrast":
        return kernels.auto_contrasted(image, 0, None)
    if name == "Equalize":
        return kernels.equalized(image)
    return kernels.inverted(image) if name == "Invert" else image


class _Policy(RandomImageOperation):
    """The base of augmentation policies."""

    interpolation: Inter
    _fill: tuple[int, int, int]

    def _set(self, interpolation: Inter, fill_value: Any) -> None:
        self.interpolation = interpolation
        self.fill_value, self._fill = fill_value, fill_values(type(self).__name__, fill_value)

    def apply(self, image: np.ndarray, drawn: Any) -> np.ndarray:
        """The image after the operations drawn."""
        is_image(type(self).__name__, image, [3])
        for name, strength in drawn:
            image = changed(image, name, strength, self.interpolation, self._fill)
        return image


class AutoAugment(_Policy):
    """Two operations, a random pair of those of a policy.

    Args:
        policy: an AutoAugmentPolicy.
        interpolation: an Inter.
        fill_value: the value of pixels outside of the image.
    """

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
                 interpolation: Inter = Inter.NEAREST, fill_value: Any = 0):
        self.policy = policy
        self._set(interpolation, fill_value)
        self._pairs = _read(_POLICIES[policy])

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The operations and their magnitudes."""
        (height, width), drawn = image.shape[:2], []
        strengths: dict[str, Any] = {
            "ShearX": np.linspace(0, 0.3, 10), "ShearY": np.linspace(0, 0.3, 10),
            "TranslateX": np.linspace(0, 150 / 331 * width, 10),
            "TranslateY": np.linspace(0, 150 / 331 * height, 10),
            "Rotate": np.linspace(0, 30, 10), "Brightness": np.linspace(0, 0.9, 10),
            "Color": np.linspace(0, 0.9, 10), "Contrast": np.linspace(0, 0.9, 10),
            "Sharpness": np.linspace(0, 0.9, 10),
            "Posterize": [8, 8, 7, 7, 6, 6, 5, 5, 4, 4], "Solarize": np.linspace(255, 0, 10)}
        pair = self._pairs[generator.integer(0, len(self._pairs) - 1)]
        shares = [generator.float32(0, 1) for _ in pair]
        signs = [generator.integer(0, 1) for _ in pair]
        for (name, chance, magnitude), share, sign in zip(pair, shares, signs, strict=True):
            if share > chance:
                continue
            strength = 0.0 if magnitude is None else float(strengths[name][magnitude])
            if name not in ("Posterize", "Solarize") and magnitude is not None and not sign:
                strength = -strength
            drawn.append((name, strength))
        return drawn


_ALL = ("Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness",
        "Color", "Contrast", "Sharpness", "Posterize", "Solarize", "AutoContrast", "Equalize")
_SIGNED = frozenset(_ALL[1:10])


class RandAugment(_Policy):
    """Some operations, chosen at random, of one magnitude.

    Args:
        num_ops: how many operations.
        magnitude: the index of the magnitude.
        num_magnitude_bins: the number of magnitudes.
        interpolation, fill_value: as for `AutoAugment`.
    """

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: Inter = Inter.NEAREST, fill_value: Any = 0):
        self.num_ops = num_ops
        self.num_magnitude_bins = num_magnitude_bins
        self.magnitude = magnitude
        self._set(interpolation, fill_value)

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The operations and their magnitudes."""
        (height, width), bins = image.shape[:2], self.num_magnitude_bins
        share, drawn = self.magnitude / (bins - 1), []
        for _ in range(self.num_ops):
            name = _ALL[generator.integer(0, len(_ALL) - 1)]
            strength = share * {"ShearX": 0.3, "ShearY": 0.3, "TranslateX": 150 / 331 * width,
                                "TranslateY": 150 / 331 * height, "Rotate": 30.0}.get(name, 0.9)
            if name == "Posterize":
                strength = 8 - round(self.magnitude / ((bins - 1) / 4))
            elif name == "Solarize":
                strength = 255 * (1 - share)
            elif name in _SIGNED and generator.integer(0, 1):
                strength = -strength
            drawn.append((name, strength))
        return drawn


class TrivialAugmentWide(_Policy):
    """One operation, chosen at random, of random magnitude.

    Args:
        num_magnitude_bins: the number of magnitudes.
        interpolation, fill_value: as for `AutoAugment`.
    """

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST,
                 fill_value: Any = 0):
        self.num_magnitude_bins = num_magnitude_bins
        self._set(interpolation, fill_value)

    def draw(self, image: np.ndarray, generator: Mt19937) -> Any:
        """The operation and its magnitude."""
        name = _ALL[generator.integer(0, len(_ALL) - 1)]
        share = generator.integer(0, self.num_magnitude_bins - 1) / (self.num_magnitude_bins - 1)
        strength = share * {"TranslateX": 32.0, "TranslateY": 32.0, "Rotate": 135.0}.get(name, 0.99)
        if name == "Posterize":
            strength = 8 - round(6 * share)
        elif name == "Solarize":
            strength = 255 * (1 - share)
        elif name in _SIGNED and generator.integer(0, 1):
            strength = -strength
        return [(name, strength)]


class RandomSelectSubpolicy(RandomImageOperation):
    """The operations of one of several lists, each with its probability.

    Args:
        policy: lists of (operation, chance).
    """

    def __init__(self, policy: list[list[tuple[TensorOperation, float]]]):
        if not policy:
            raise ValueError("policy can not be empty. For 'RandomSelectSubpolicy', it must be a "
                             "list of lists.")
        for place, part in enumerate(policy):
            if part == []:
                raise ValueError(f"policy[{place}] can not be empty. For 'RandomSelectSubpolicy', "
                                 "it must be a list of (operation, chance).")
            if not isinstance(part, list):
                raise TypeError(f"{of_type(f'policy[[{place}]]', part, list)} For "
                                "'RandomSelectSubpolicy', each of 'policy' must be a list of "
                                "(operation, chance).")
            for at, item in enumerate(part):
                if not isinstance(item, tuple) or len(item) != 2:
                    raise ValueError(f"Value policy[{place}][{at}] needs to be a 2-tuple. For "
                                     f"'RandomSelectSubpolicy', it is {item!r}.")
                if not callable(item[0]):
                    raise TypeError(f"For 'RandomSelectSubpolicy', each of 'policy' must be a list "
                                    f"of (operation, chance), but got {item!r}.")
                number("RandomSelectSubpolicy", "chance", item[1], 0, 1)
        self.policy = policy

    def inner(self) -> Iterator[Any]:
        """The operations that it runs."""
        return (operation for part in self.policy for operation, _ in part)

    def run(self, values: Values, streams: Streams) -> Values:
        """The new image."""
        generator = streams.of(self)
        for operation, chance in self.policy[generator.integer(0, len(self.policy) - 1)]:
            if generator.float64(0, 1) <= chance:
                values = operation.run(values, streams)
        return values
