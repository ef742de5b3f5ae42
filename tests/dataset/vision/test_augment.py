"""Policies: which operations they draw, of which strengths, and what each does."""

import math
import random

import cv2
import numpy as np
import pytest
from PIL import Image

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


class Shares(Given):
    """A generator of numbers that are known, ints and floats."""

    def float32(self, low, high):
        number = self.numbers.pop(0)
        assert low <= number <= high
        return number


def strength_of(name, magnitude):
    """One of ten magnitudes of AutoAugment, for `IMAGE`."""
    if magnitude is None:
        return 0.0
    if name == "Posterize":
        return 8 - np.round(np.arange(10) / (9 / 4))[magnitude]
    ends = {"ShearX": (0, 0.3), "ShearY": (0, 0.3), "TranslateX": (0, 150 / 331 * 9),
            "TranslateY": (0, 150 / 331 * 6), "Rotate": (0, 30), "Solarize": (256, 0)}
    return np.linspace(*ends.get(name, (0, 0.9)), 10)[magnitude]


@pytest.mark.parametrize("signs", [(0, 1), (1, 0)])
@pytest.mark.parametrize("policy, place, pair", [
    ("IMAGENET", 0, [("Posterize", 0.4, 8), ("Rotate", 0.6, 9)]),
    ("IMAGENET", 3, [("Posterize", 0.6, 7), ("Posterize", 0.6, 6)]),
    ("IMAGENET", 24, [("Equalize", 0.8, None), ("Equalize", 0.6, None)]),
    ("IMAGENET", 8, [("Rotate", 0.2, 3), ("Solarize", 0.6, 8)]),
    ("CIFAR10", 1, [("Rotate", 0.7, 2), ("TranslateX", 0.3, 9)]),
    ("CIFAR10", 3, [("ShearY", 0.5, 8), ("TranslateY", 0.7, 9)]),
    ("CIFAR10", 13, [("Brightness", 0.9, 6), ("Color", 0.2, 8)]),
    ("SVHN", 14, [("Contrast", 0.3, 3), ("Rotate", 0.8, 4)]),
    ("SVHN", 19, [("ShearX", 0.1, 6), ("Invert", 0.6, None)])])
def test_pairs_of_a_policy(policy, place, pair, signs):
    """Those drawn up to their chances are used; half of those with a sign are negative."""
    operation = vision.AutoAugment(vision.AutoAugmentPolicy[policy])
    wanted = []
    for (name, _, magnitude), sign in zip(pair, signs, strict=True):
        is_signed = name not in ("Posterize", "Solarize", "Invert", "Equalize")
        strength = strength_of(name, magnitude)
        wanted.append((name, pytest.approx(-strength if is_signed and not sign else strength)))
    at = [chance for _, chance, _ in pair]
    above = [np.nextafter(chance, 1) for chance in at]
    for shares, kept in ((at, wanted), ((above[0], at[1]), wanted[1:]),
                         ((at[0], above[1]), wanted[:1]), (above, [])):
        assert operation.draw(IMAGE, Shares(place, *shares, *signs)) == kept


def test_half_of_the_operations_are_left_out():
    class Sampled(Given):
        def sample(self, count, size):
            assert (count, size) == (3, 2)
            return [2, 0]

    class Streams:
        def of(self, operation):
            return Sampled(*self.numbers)

    operation = vision.UniformAugment([vision.Invert(), vision.Equalize(), vision.Rescale(2, 1)], 2)
    streams = Streams()
    wanted = {(0, 1): IMAGE.astype(np.float32) * 2 + 1, (1, 0): 255 - IMAGE, (1, 1): IMAGE}
    for streams.numbers, image in wanted.items():
        np.testing.assert_array_equal(operation.run((IMAGE,), streams)[0], image)
    vision.UniformAugment([vision.Invert()], 1)
    with pytest.raises(ValueError, match="they are 2 and 1"):
        vision.UniformAugment([vision.Invert()])


def test_a_subpolicy_runs_operations_up_to_their_chances():
    class Streams:
        def of(self, operation):
            return Uniform(*self.numbers)

    class Uniform(Given):
        def float64(self, low, high):
            assert (low, high) == (0, 1)
            return self.numbers.pop(0)

    double, more = vision.Rescale(2, 0), vision.Rescale(1, 3)
    operation = vision.RandomSelectSubpolicy([[(double, 0.25), (more, 0.5)], [(more, 0.0)],
                                              [(double, 1.0)]])
    streams, image = Streams(), IMAGE.astype(np.float32)
    for streams.numbers, wanted in (((0, 0.25, 0.5), image * 2 + 3), ((0, 0.26, 0.1), image + 3),
                                    ((0, 0.1, 0.51), image * 2), ((1, 0.0), image + 3),
                                    ((1, 0.1), image), ((2, 1.0), image * 2)):
        np.testing.assert_array_equal(operation.run((IMAGE,), streams)[0], wanted)


@pytest.mark.parametrize("make, error, words", [
    (lambda: vision.UniformAugment((vision.Invert(),), 1), TypeError, "transforms"),
    (lambda: vision.UniformAugment([vision.Invert(), 3], 1), TypeError, "operation|transforms"),
    (lambda: vision.RandomSelectSubpolicy([[[vision.Invert(), 0.5]]]), ValueError,
     r"policy\[0\]\[0\] needs to be a 2-tuple"),
    *[(lambda item=item: vision.RandomSelectSubpolicy([[(vision.Invert(), 1)], [item]]),
       ValueError, r"policy\[1\]\[0\] needs to be a 2-tuple")
      for item in ((vision.Invert(),), (vision.Invert(), 0.5, 1), (), 3)],
    (lambda: vision.RandomSelectSubpolicy([[(3, 0.5)]]), TypeError, "policy|operation"),
    *[(lambda chance=chance: vision.RandomSelectSubpolicy([[(vision.Invert(), chance)]]),
       ValueError, "chance|policy|probability") for chance in (-0.01, 1.01)],
    (lambda: vision.RandomSelectSubpolicy([[]]), ValueError, r"policy\[0\] can not be empty"),
    (lambda: vision.RandomSelectSubpolicy([]), ValueError, "policy can not be empty"),
    (lambda: vision.RandomSelectSubpolicy([((vision.Invert(), 1),)]), TypeError, "policy")])
def test_lists_of_operations_that_are_none(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_pictures_take_operations_by_chances_that_are_drawn():
    """Of numbers drawn in pairs, the second is below the first in one case of two."""
    operation = vision.UniformAugment([vision.Invert(), vision.Invert()], 1)
    picture, counts = Image.fromarray(IMAGE), [0, 0]
    np.random.seed(0)
    random.seed(0)
    for _ in range(200):
        found = np.asarray(operation(picture))
        is_changed = not np.array_equal(found, IMAGE)
        np.testing.assert_array_equal(found, 255 - IMAGE if is_changed else IMAGE)
        counts[is_changed] += 1
    assert min(counts) > 70


@pytest.mark.parametrize("name, across", [("ShearX", True), ("ShearY", False)])
def test_a_shear_of_a_large_image_is_along_one_axis(name, across):
    image = np.random.RandomState(3).randint(0, 256, (60, 90, 3)).astype(np.uint8)
    degrees = math.degrees(0.25)
    wanted = vision.Affine(0, (0, 0), 1.0, (degrees, 0) if across else (0, degrees),
                           vision.Inter.BILINEAR, (1, 2, 3))(image)
    found = changed(image, name, 0.25, vision.Inter.BILINEAR, (1, 2, 3))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name, move", [("TranslateX", (7, 0)), ("TranslateY", (0, 7))])
def test_a_move_of_a_large_image_is_by_whole_pixels(name, move):
    image = np.random.RandomState(3).randint(0, 256, (60, 90, 3)).astype(np.uint8)
    wanted = np.full_like(image, (1, 2, 3))
    wanted[move[1]:, move[0]:] = image[:60 - move[1], :90 - move[0]]
    found = changed(image, name, 7.9, vision.Inter.BILINEAR, (1, 2, 3))
    np.testing.assert_array_equal(found, wanted)
