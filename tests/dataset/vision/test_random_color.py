"""Random changes of colours."""

import math
import random

import numpy as np
import pytest
from PIL import Image, ImageEnhance

import lamella.dataset as ds
from lamella.dataset import vision
from lamella.dataset.vision import kernels
from lamella.dataset.vision.random_color import _LIGHT, _light

IMAGE = np.random.default_rng(0).integers(60, 190, (8, 9, 3)).astype(np.uint8)


def test_light_changes_along_the_principal_components_of_imagenet():
    directions = _LIGHT / [55.46, 4.794, 1.148]  # of Krizhevsky et al. 2012
    np.testing.assert_allclose(directions.T @ directions, np.eye(3), atol=3e-4)
    wanted = 55.46 * directions[:, 0] + 2.296 * directions[:, 2]
    np.testing.assert_allclose(_light([1, 0, 2]), wanted)


def test_light_is_one_number_for_each_channel():
    ds.config.set_seed(5)
    apart = vision.RandomLighting(0.5)(IMAGE).astype(int) - IMAGE
    assert (apart == apart[0, 0]).all() and apart.any()


@pytest.mark.parametrize("make", [
    lambda: vision.RandomSolarize((40, 200)), lambda: vision.RandomPosterize((1, 8)),
    lambda: vision.RandomColor((0.1, 1.9)), lambda: vision.RandomSharpness((0.1, 1.9)),
    lambda: vision.RandomColorAdjust(0.5, 0.5, 0.5, 0.3)])
def test_draws_differ_and_keep_the_form(make):
    ds.config.set_seed(1)
    data = ds.NumpySlicesDataset([IMAGE] * 6, ["x"], shuffle=False).map(make(), "x")
    found = [row[0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert all(each.shape == IMAGE.shape and each.dtype == np.uint8 for each in found)
    assert len({each.tobytes() for each in found}) > 3


def test_a_range_of_one_number_draws_that():
    ds.config.set_seed(2)
    np.testing.assert_array_equal(vision.RandomPosterize((3, 3))(IMAGE), IMAGE & 0b11100000)
    np.testing.assert_array_equal(vision.RandomColor((1.0, 1.0))(IMAGE), IMAGE)
    np.testing.assert_array_equal(vision.RandomSharpness((1.0, 1.0))(IMAGE), IMAGE)
    np.testing.assert_array_equal(vision.RandomInvert(1.0)(IMAGE), 255 - IMAGE)
    np.testing.assert_array_equal(vision.RandomInvert(0.0)(IMAGE), IMAGE)


def test_colour_of_booleans_is_that_of_bytes():
    booleans = IMAGE > 120
    for factor in (0.0, 1.0, 4.0):
        found = vision.RandomColor((factor, factor))(booleans)
        np.testing.assert_array_equal(
            found, vision.RandomColor((factor, factor))(booleans.astype(np.uint8)))
        assert found.dtype == np.uint8


def test_light_of_int8_is_that_of_bytes():
    for alpha in (0.0, 0.5, 10.0):
        found = []
        for image in (IMAGE, IMAGE.view(np.int8)):
            ds.config.set_seed(5)
            found.append(vision.RandomLighting(alpha)(image))
        assert found[1].dtype == np.int8
        np.testing.assert_array_equal(found[1].view(np.uint8), found[0])


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int16, np.uint16,
                                  np.int32])
def test_light_is_added_within_the_range_of_the_type(kind):
    highest = 9e4 if np.dtype(kind).kind == "f" else np.iinfo(kind).max
    image = np.array([[[0.25, 300, min(highest, 6e4)], [1, 2, highest]]])[:, :1 + (
        kind is not np.float16)].astype(kind)
    for strength in (np.zeros(3), np.array([0.5, -1, 2]), np.full(3, 90.0)):
        found = vision.RandomLighting(0.1).apply(image, strength)
        wanted = image + _light(strength)
        if np.dtype(kind).kind != "f":
            wanted = np.rint(wanted).clip(np.iinfo(kind).min, np.iinfo(kind).max)
        assert found.dtype == kind
        np.testing.assert_allclose(found, wanted, rtol=1e-3 if kind is np.float16 else 1e-5)


@pytest.mark.parametrize("make, kind, step", [
    (lambda: vision.RandomColorAdjust(contrast=(0.5, 0.5)), "int8", "AdjustContrast"),
    (lambda: vision.RandomColorAdjust(saturation=(0.5, 0.5)), "bool", "AdjustSaturation"),
    (lambda: vision.RandomColorAdjust(hue=(0.25, 0.25)), "uint16", "AdjustHue"),
    (lambda: vision.RandomColorAdjust((2.0, 2.0)), "int64", "AdjustBrightness")])
def test_each_step_of_a_colour_adjustment_checks_the_type(make, kind, step):
    with pytest.raises(RuntimeError, match=f"{step}: the data type.*But got type {kind}"):
        make()(IMAGE.astype(kind))


@pytest.mark.parametrize("most", [1, 255])
def test_a_third_of_the_circle_exchanges_the_channels_of_float32_images(most):
    image = (np.random.default_rng(0).random((5, 7, 3)) * most).astype(np.float32)
    for factor, turned in ((0.0, 0), (1 / 3, 1), (-1 / 3, -1)):
        found = vision.AdjustHue(factor)(image)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, np.roll(image, turned, -1), atol=1e-5 * most)


def test_what_images_of_pillows_are_changed_by():
    """Each by the number that `random` or NumPy's generator gives next."""
    picture = Image.fromarray(IMAGE)
    random.seed(4)
    share = random.random()
    random.seed(4)
    found = vision.RandomSharpness((0.25, 1.75))(picture)
    wanted = ImageEnhance.Sharpness(picture).enhance(0.25 + 1.5 * share)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    bright = Image.fromarray(np.clip(IMAGE * 2.0 - 120, 0, 255).astype(np.uint8))
    for alpha in (0.05, 1.5):
        np.random.seed(4)
        found = vision.RandomLighting(alpha)(bright)
        light = _light(np.random.RandomState(4).normal(0, alpha, 3))
        wanted = np.clip(np.floor(np.asarray(bright) + light), 0, 255)
        np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_picture_is_gray_if_less_than_the_probability_is_drawn(mode):
    picture = Image.fromarray(IMAGE).convert(mode)
    random.seed(6)
    share = random.random()
    gray = np.asarray(picture.convert("L"))
    for chance, is_gray in ((share, False), (np.nextafter(share, 1), True), (0.0, False),
                            (1.0, True)):
        random.seed(6)
        found = vision.RandomGrayscale(float(chance))(picture)
        assert found.mode == mode
        wanted = (gray if mode == "L" else np.dstack([gray] * 3)) if is_gray else picture
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("gamma, gain", [(0.5, 1.0), (2.2, 1.0), (1.0, 0.7), (0.8, 1.4), (0.0, 1)])
def test_gamma_of_bytes(gamma, gain):
    """All bytes: shares of 255 to the power, in steps that end below 256."""
    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    wanted = [min(255, math.floor(255.999 * gain * (v / 255) ** gamma)) for v in range(256)]
    wanted = np.reshape(wanted, (16, 16))
    change = vision.AdjustGamma(gamma, gain)
    np.testing.assert_array_equal(change(np.dstack([every] * 3))[..., 1], wanted)
    for mode in ("RGB", "L"):
        found = change(Image.fromarray(every).convert(mode))
        assert found.mode == mode
        np.testing.assert_array_equal(np.asarray(found.convert("RGB"))[..., 2], wanted)


class Given:
    """A generator of an order that is known, and of one end of each range."""

    def __init__(self, place=0, order=(0, 1, 2, 3)):
        self.place, self.order = place, order

    def shuffle(self, values):
        values[:] = self.order

    def float32(self, low, high):
        return (low, high)[self.place]

    def integer(self, low, high):
        return self.float32(low, high)

    def normal(self, mean, deviation):
        return mean + deviation


@pytest.mark.parametrize("given, factors, turns", [
    (0.4, (0.6, 1.4), None), (0, (1, 1), (0, 0)), (2, (0, 3), None), ((0.5, 1.5), (0.5, 1.5), None),
    ((0, 0), (0, 0), (0, 0)), (0.5, (0.5, 1.5), (-0.5, 0.5)), ([1, 1], (1, 1), None),
    ((-0.5, 0.25), None, (-0.5, 0.25)), ((0.1, 0.1), (0.1, 0.1), (0.1, 0.1))])
def test_ranges_of_factors(given, factors, turns):
    for place, name in enumerate(("brightness", "contrast", "saturation")):
        if factors:
            found = getattr(vision.RandomColorAdjust(**{name: given}), name)
            assert found == pytest.approx(factors)
            drawn = vision.RandomColorAdjust(**{name: given}).draw(IMAGE, Given(1))
            kernel = (kernels.brightened, kernels.contrasted, kernels.saturated)[place]
            assert drawn == ([(kernel, found[1])] if found != (1, 1) else [])
    if turns:
        operation = vision.RandomColorAdjust(hue=given)
        assert operation.hue == pytest.approx(turns)
        assert operation.draw(IMAGE, Given()) == (
            [(kernels.hued, operation.hue[0])] if turns != (0, 0) else [])


@pytest.mark.parametrize("name, given", [
    ("brightness", -0.1), ("contrast", (-0.1, 1)), ("saturation", (1.5, 0.5)), ("hue", 0.51),
    ("hue", (-0.51, 0)), ("hue", (0, 0.51)), ("hue", (0.2, 0.1)), ("brightness", (1,))])
def test_ranges_that_are_none(name, given):
    with pytest.raises((ValueError, TypeError), match=name):
        vision.RandomColorAdjust(**{name: given})


@pytest.mark.parametrize("order", [(3, 1, 0, 2), (0, 1, 2, 3), (2, 3, 1, 0)])
def test_steps_in_the_order_that_is_drawn(order):
    operation = vision.RandomColorAdjust((0.5, 2), (0.6, 1), (1, 1.5), (-0.1, 0.2))
    changes = (kernels.brightened, kernels.contrasted, kernels.saturated, kernels.hued)
    for place, factors in ((0, (0.5, 0.6, 1, -0.1)), (1, (2, 1, 1.5, 0.2))):
        drawn = operation.draw(IMAGE, Given(place, order))
        assert drawn == [(changes[which], factors[which]) for which in order]
        wanted = IMAGE
        for change, factor in drawn:
            wanted = change(wanted, factor)
        np.testing.assert_array_equal(operation.apply(IMAGE, drawn), wanted)


def test_steps_of_pictures(monkeypatch):
    picture = Image.fromarray(IMAGE)
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    monkeypatch.setattr(random, "shuffle", lambda values: values.reverse())
    wanted = vision.AdjustHue(0.3)(picture)
    for kind, factor in (("Color", 1.5), ("Contrast", 0.8), ("Brightness", 1.2)):
        wanted = getattr(ImageEnhance, kind)(wanted).enhance(factor)
    found = vision.RandomColorAdjust((0.1, 1.2), (0.1, 0.8), (0.1, 1.5), 0.3)(picture)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    monkeypatch.setattr(random, "random", lambda: 0.25)
    wanted = ImageEnhance.Color(picture).enhance(0.5 + 0.25 * 1.2)
    found = vision.RandomColor((0.5, 1.7))(picture)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


def test_what_is_drawn_of_bits_and_thresholds():
    for bits, wanted in (((2, 7), (2, 7)), (5, (5, 5)), ((1, 8), (1, 8))):
        for place in (0, 1):
            assert vision.RandomPosterize(bits).draw(IMAGE, Given(place)) == wanted[place]
    for wrong in (0, 9, (0, 3), (3, 9), (4, 3)):
        with pytest.raises(ValueError, match="bits"):
            vision.RandomPosterize(wrong)

    class Two(Given):
        def __init__(self, *numbers):
            self.numbers = list(numbers)

        def integer(self, low, high):
            assert (low, high) == (10, 200)
            return self.numbers.pop()

    for numbers in ((20, 150), (150, 20), (20, 20)):
        drawn = vision.RandomSolarize((10, 200)).draw(IMAGE, Two(*numbers))
        assert drawn == (min(numbers), max(numbers))


def test_light_is_drawn_three_times_rounded_and_clipped():
    operation = vision.RandomLighting(0.5)
    assert operation.draw(IMAGE, Given()).tolist() == [0.5] * 3
    for strength in ([0.5, -2.0, 1.0], [3.0, 0.0, 0.0], [-4.0, 1.0, 2.0]):
        wanted = np.clip(np.rint(IMAGE + _light(strength)), 0, 255)
        np.testing.assert_array_equal(operation.apply(IMAGE, np.array(strength)), wanted)
