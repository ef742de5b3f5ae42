"""Augmentation policies: several operations chosen at random.

The policies are the papers': AutoAugment (Cubuk et al. 2019), RandAugment (Cubuk et al. 2020),
TrivialAugment (Mueller and Hutter 2021), UniformAugment (LingChen et al. 2020). What they draw, and
in which order, is MindSpore 2.10's.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from ..checks import number, of_type
from ..transforms.compound import CompoundOperation, of_pillow, run_operation
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
            degrees = math.degrees(strength)
            shear = (degrees, 0.0) if across else (0.0, degrees)
            return kernels.sheared(image, 0.0, (0.0, 0.0), 1.0, shear, interpolation, fill)
        return kernels.sheared(image, 0.0, (int(move[0]), int(move[1])), 1.0, (0.0, 0.0),
                               interpolation, fill)
    if name == "Rotate":
        return kernels.rotated(image, strength, interpolation, False, None, fill)
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        change = {"Brightness": kernels.brightened, "Color": kernels.saturated,
                  "Contrast": kernels.contrasted, "Sharpness": kernels.sharpened}[name]
        return change(image, float(np.float32(1 + strength)))
    if name == "Posterize":
        return kernels.posterized(image, int(strength))
    if name == "Solarize":
        return kernels.solarized(image, strength, 255)
    if name == "AutoContrast":
        return kernels.auto_contrasted(image, 0, None)
    if name == "Equalize":
        return kernels.equalized(image)
    return kernels.inverted(image) if name == "Invert" else image


_ALL = ("AutoContrast", "Brightness", "Color", "Contrast", "Equalize", "Identity", "Posterize",
        "Rotate", "Sharpness", "ShearX", "ShearY", "Solarize", "TranslateX", "TranslateY")
_PLAIN = frozenset({"AutoContrast", "Equalize", "Identity"})  # these have no magnitude
_SIGNED = frozenset(_ALL) - _PLAIN - {"Posterize", "Solarize"}


def _one_of_all(generator: Mt19937) -> str:
    """An operation; the first is drawn twice as often, since the last number drawn stands for it.
    """
    return _ALL[generator.integer(0, len(_ALL)) % len(_ALL)]


def _signed(name: str, strength: float, generator: Mt19937) -> float:
    """The magnitude of an operation, with a sign if it has one: minus in one case of three."""
    is_negative = generator.integer(0, 2) == 1  # drawn for those without a sign, too
    return -strength if is_negative and name in _SIGNED else strength


def _ends(shear: float, across: float, down: float, turn: float, change: float
          ) -> dict[str, tuple[float, float]]:
    """The first and the last magnitude of each operation that has even steps between them."""
    return {"ShearX": (0, shear), "ShearY": (0, shear), "TranslateX": (0, across),
            "TranslateY": (0, down), "Rotate": (0, turn), "Brightness": (0, change),
            "Color": (0, change), "Contrast": (0, change), "Sharpness": (0, change),
            "Solarize": (255, 0)}


def _ends_for(image: np.ndarray) -> dict[str, tuple[float, float]]:
    """The first and the last magnitudes of AutoAugment and RandAugment, for an image."""
    height, width = image.shape[:2]
    return _ends(0.3, 150 / 331 * width, 150 / 331 * height, 30, 0.9)


def _strength(name: str, place: int, bins: int, ends: dict[str, tuple[float, float]], bits: int
              ) -> float:
    """The magnitude of an operation.

    Args:
        name: the operation.
        place: the place of the magnitude among all.
        bins: how many magnitudes there are.
        ends: the first and the last one of each operation.
        bits: how many bits "Posterize" removes at most.
    """
    if name == "Posterize":
        return 8.0 - round(place / ((bins - 1) / bits))
    first, last = ends.get(name, (0, 0))
    step = np.float32(last - first) / np.float32(bins - 1)
    return float(np.float32(first) + np.float32(place) * step)


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
        ends, drawn = _ends_for(image) | {"Solarize": (256, 0)}, []
        pair = self._pairs[generator.integer(0, len(self._pairs) - 1)]
        shares = [generator.float32(0, 1) for _ in pair]
        signs = [generator.integer(0, 1) for _ in pair]
        for (name, chance, magnitude), share, sign in zip(pair, shares, signs, strict=True):
            if share > chance:
                continue
            strength = 0.0 if magnitude is None else _strength(name, magnitude, 10, ends, 4)
            drawn.append((name, -strength if name in _SIGNED and not sign else strength))
        return drawn


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
        ends, drawn = _ends_for(image), []
        for _ in range(self.num_ops):
            name = _one_of_all(generator)
            strength = _strength(name, self.magnitude, self.num_magnitude_bins, ends, 4)
            drawn.append((name, _signed(name, strength, generator)))
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
        name, bins = _one_of_all(generator), self.num_magnitude_bins
        place = 0 if name in _PLAIN else generator.integer(0, bins) % bins
        strength = _strength(name, place, bins, _ends(0.99, 32, 32, 135, 0.99), 6)
        return [(name, _signed(name, strength, generator))]


class UniformAugment(CompoundOperation):
    """Some of the operations, each applied with the chance 1/2.

    Images of Pillow's take the operations in random order, with random chances, drawn from
    `random` and NumPy.

    Args:
        transforms: a list of operations.
        num_ops: how many to choose.
    """

    draws = True

    def __init__(self, transforms: list[Any], num_ops: int = 2):
        if num_ops > len(transforms):
            raise ValueError("num_ops is greater than transforms list size. For 'UniformAugment', "
                             f"they are {num_ops} and {len(transforms)}.")
        if not isinstance(transforms, list) or not transforms:
            raise TypeError(f"For 'UniformAugment', 'transforms' must be a list of operations, but "
                            f"got {transforms!r}.")
        for operation in transforms:
            if not callable(operation):
                raise TypeError(f"For 'UniformAugment', each of 'transforms' must be an operation, "
                                f"but got {operation!r}.")
        self.transforms, self.num_ops = transforms, num_ops

    def run(self, values: Values, streams: Streams) -> Values:
        """The new image."""
        if of_pillow(values):
            for place in np.random.choice(len(self.transforms), self.num_ops, replace=False):
                chance = random.random()
                if random.random() < chance:
                    values = run_operation(self.transforms[place], values, streams)
            return values
        generator = streams.of(self)
        for place in generator.sample(len(self.transforms), self.num_ops):
            if not generator.integer(0, 1):
                values = run_operation(self.transforms[place], values, streams)
        return values


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
