"""Policies: which operations they draw, of which strengths, and what each does."""

import math

import cv2
import numpy as np
import pytest

from lamella.dataset import vision
from lamella.dataset.vision import kernels
from lamella.dataset.vision.augment import changed

IMAGE = np.random.RandomState(2).randint(0, 256, (6, 9, 3)).astype(np.uint8)
NAMES = ("AutoContrast", "Brightness", "Color", "Contrast", "Equalize", "Identity", "Posterize",
         "Rotate", "Sharpness", "ShearX", "ShearY", "Solarize", "TranslateX", "TranslateY",
         "AutoContrast")
PLAIN = ("Identity", "AutoContrast", "Equalize")


class Given:
    """A generator of numbers that are known."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def integer(self, low, high):
        number = self.numbers.pop(0)
        assert low <= number <= high
        return number


@pytest.mark.parametrize("bins, magnitude", [(31, 9), (11, 5), (10, 9), (5, 0)])
@pytest.mark.parametrize("place, name", list(enumerate(NAMES)))
def test_strengths_of_one_magnitude(place, name, bins, magnitude):
    ends = {"ShearX": 0.3, "ShearY": 0.3, "TranslateX": 150 / 331 * 9, "TranslateY": 150 / 331 * 6,
            "Rotate": 30, "Solarize": 0}
    wanted = np.linspace(255 if name == "Solarize" else 0, ends.get(name, 0.9), bins)[magnitude]
    if name == "Posterize":
        wanted = 8 - np.round(np.arange(bins) / ((bins - 1) / 4))[magnitude]
    signed = name not in ("Posterize", "Solarize", *PLAIN)
    operation = vision.RandAugment(3, magnitude, bins)
    first, second, third = operation.draw(IMAGE, Given(place, 0, place, 1, place, 2))
    assert third == first
    assert first[0] == second[0] == name
    if name not in PLAIN:
        assert first[1] == pytest.approx(wanted)
        assert second[1] == pytest.approx(-wanted if signed else wanted)


@pytest.mark.parametrize("bins, magnitude", [(31, 9), (11, 10), (5, 1)])
@pytest.mark.parametrize("place, name", list(enumerate(NAMES)))
def test_strengths_of_any_magnitude(place, name, bins, magnitude):
    ends = {"TranslateX": 32, "TranslateY": 32, "Rotate": 135, "Solarize": 0}
    wanted = np.linspace(255 if name == "Solarize" else 0, ends.get(name, 0.99), bins)[magnitude]
    if name == "Posterize":
        wanted = 8 - np.round(np.arange(bins) / ((bins - 1) / 6))[magnitude]
    for sign in (0, 1, 2):
        numbers = (place, sign) if name in PLAIN else (place, magnitude, sign)
        found = vision.TrivialAugmentWide(bins).draw(IMAGE, Given(*numbers))
        assert len(found) == 1 and found[0][0] == name
        if name not in PLAIN:
            signed = sign == 1 and name not in ("Posterize", "Solarize")
            assert found[0][1] == pytest.approx(-wanted if signed else wanted)


def test_the_number_after_the_last_magnitude_stands_for_the_first():
    ((_, strength),) = vision.TrivialAugmentWide(31).draw(IMAGE, Given(1, 31, 0))
    assert strength == 0


def moved(matrix):
    return cv2.warpAffine(IMAGE, np.float64(matrix), (9, 6), flags=cv2.INTER_NEAREST,
                          borderValue=(1, 2, 3))


@pytest.mark.parametrize("name, strength, wanted", [
    ("TranslateX", 2.9, lambda: moved([[1, 0, 2], [0, 1, 0]])),
    ("TranslateY", -3.9, lambda: moved([[1, 0, 0], [0, 1, -3]])),
    ("ShearX", 0.25, lambda: sheared(math.degrees(0.25), 0)),
    ("ShearY", -0.25, lambda: sheared(0, math.degrees(-0.25))),
    ("Rotate", 90, lambda: kernels.rotated(IMAGE, 90, vision.Inter.NEAREST, False, None,
                                           (1, 2, 3))),
    ("Brightness", 0.4, lambda: vision.AdjustBrightness(1.4)(IMAGE)),
    ("Color", -0.4, lambda: vision.AdjustSaturation(0.6)(IMAGE)),
    ("Contrast", 0.4, lambda: vision.AdjustContrast(1.4)(IMAGE)),
    ("Sharpness", -0.4, lambda: vision.AdjustSharpness(0.6)(IMAGE)),
    ("Posterize", 3.0, lambda: IMAGE >> 5 << 5),
    ("Solarize", 100.0, lambda: np.where(IMAGE >= 100, 255 - IMAGE, IMAGE)),
    ("AutoContrast", 0.0, lambda: vision.AutoContrast()(IMAGE)),
    ("Equalize", 0.0, lambda: vision.Equalize()(IMAGE)), ("Invert", 0.0, lambda: 255 - IMAGE),
    ("Identity", 0.9, lambda: IMAGE),
])
def test_what_each_operation_does(name, strength, wanted):
    found = changed(IMAGE, name, strength, vision.Inter.NEAREST, (1, 2, 3))
    np.testing.assert_array_equal(found, wanted())


def sheared(x, y):
    return vision.Affine(0, (0, 0), 1.0, (x, y), vision.Inter.NEAREST, (1, 2, 3))(IMAGE)
