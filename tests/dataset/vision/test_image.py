"""Arguments and shapes that image operations share, at their limits."""

import numpy as np
import pytest
from PIL import Image

from lamella.dataset import audio, vision
from lamella.dataset.vision import image as shared

INTER = vision.Inter


@pytest.mark.parametrize("size, wanted", [
    (1, (1, 1)), (2**24, (2**24, 2**24)), ([3, 4], (3, 4)), ((1, 2**24), (1, 2**24))])
def test_sizes(size, wanted):
    assert shared.size_pair("Resize", size) == wanted


@pytest.mark.parametrize("size, error, words", [
    (0, ValueError, "required interval of .1, 16777216"), (2**24 + 1, ValueError, "16777216"),
    ([0, 1], ValueError, "at dim 0"), ([1, 0], ValueError, "must be in"),
    ([1, 2**24 + 1], ValueError, "must be in"), (True, TypeError, "must be an int or a list"),
    ([1, True], TypeError, "list of two ints"), ([1, 2.0], TypeError, "list of two ints"),
    ("12", TypeError, "list of two ints"), (1.5, TypeError, "list of two ints")])
def test_sizes_that_are_none(size, error, words):
    with pytest.raises(error, match=words):
        shared.size_pair("Resize", size)


@pytest.mark.parametrize("value, wanted", [
    (0, (0, 0, 0)), (255, (255, 255, 255)), ((0, 1, 255), (0, 1, 255)), ([3, 2, 1], (3, 2, 1))])
def test_fill_values(value, wanted):
    assert shared.fill_values("Pad", value) == wanted


@pytest.mark.parametrize("value, error, words", [
    (-1, ValueError, r"fill_value is not within .*\[0, 255\]"), (256, ValueError, "fill_value is"),
    ((0, 256, 0), ValueError, r"fill_value\[1\]"), ((0, 0, -1), ValueError, r"fill_value\[2\]"),
    (True, TypeError, "an int or three of them"), ((1, 2), TypeError, "an int or three"),
    ((1, 2, 3, 4), TypeError, "an int or three"), ((1, 2, 3.0), TypeError, "an int or three"),
    ((1, True, 3), TypeError, "an int or three"), ("123", TypeError, "an int or three")])
def test_fill_values_that_are_none(value, error, words):
    with pytest.raises(error, match=words):
        shared.fill_values("Pad", value)


@pytest.mark.parametrize("shape, channels, fits", [
    ((4, 6), None, True), ((4, 6, 9), None, True), ((4,), None, False), ((2, 4, 6, 3), None, False),
    ((4, 6), (1, 3), True), ((4, 6), (3,), False), ((4, 6, 1), (1, 3), True),
    ((1, 3, 2), (1, 3), False), ((4, 6, 3), (1, 3), True), ((4, 6, 4), (1, 3), False)])
def test_images_have_two_or_three_dimensions(shape, channels, fits):
    image = np.zeros(shape)
    if fits:
        assert shared.is_image("Pad", image, channels) is image
    else:
        with pytest.raises(RuntimeError, match="Pad: the (image must have|number of channels)"):
            shared.is_image("Pad", image, channels)


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 3), (2, 4, 6, 3), (5, 2, 4, 6, 3)])
def test_each_image_of_a_stack_is_changed(shape):
    stack = np.random.default_rng(0).random(shape)
    found = shared.frames(stack, lambda frame: frame[1:, ::2] + frame.ndim)
    part = stack[1:, ::2] if len(shape) < 4 else stack[..., 1:, ::2, :]
    np.testing.assert_array_equal(found, part + min(len(shape), 3))


@pytest.mark.parametrize("make", [lambda: vision.AdjustHue(0.1), lambda: vision.RandomColor()])
def test_each_image_is_looked_at_after_one_that_fits(make):
    operation, image = make(), np.ones((4, 6, 3), np.uint8)
    for other in (image[0], image.astype(np.float64), image[None]):
        assert operation(image).shape == image.shape
        with pytest.raises(RuntimeError, match="AdjustHue|RandomColor"):
            operation(other)
        assert operation(image[1:]).shape == (3, 6, 3)
        assert operation(image.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("given, wanted", [
    (3, (3, 3, 3, 3)), ((1, 2), (1, 2, 1, 2)), ([1, 2, 3, 4], (1, 2, 3, 4))])
def test_paddings(given, wanted):
    assert shared.paddings(given) == wanted


@pytest.mark.parametrize("resample, shape, words", [
    (INTER.PILCUBIC, (4, 6), "PILCUBIC is for"), (INTER.CUBIC, (4, 6, 5), "greater than 4, but go"),
    (INTER.CUBIC, (4, 6, 4), ""), (INTER.CUBIC, (5, 6), ""), (INTER.LINEAR, (4, 6, 5), ""),
    (INTER.CUBIC, (2, 4, 5, 3), "")])
def test_what_is_turned_by_cubic_interpolation(resample, shape, words):
    if words:
        with pytest.raises(RuntimeError, match=f"Rotate: .*{words}"):
            shared.check_resampling("Rotate", np.zeros(shape), resample)
    else:
        shared.check_resampling("Rotate", np.zeros(shape), resample)


def test_names_of_interpolations_and_borders():
    kinds = Image.Resampling
    assert [shared.pillow_filter(kind) for kind in (
        INTER.NEAREST, INTER.ANTIALIAS, INTER.LINEAR, INTER.CUBIC, INTER.AREA, INTER.PILCUBIC)] == [
        kinds.NEAREST, kinds.LANCZOS, kinds.BILINEAR, kinds.BICUBIC, kinds.BOX, kinds.BICUBIC]


@pytest.mark.parametrize("value, error, words", [
    ([[1]], TypeError, "NumPy or PIL image"), ("x", TypeError, "NumPy or PIL image"),
    (np.zeros((0, 3, 3)), RuntimeError, "Input Tensor has no data")])
def test_what_is_no_image(value, error, words):
    with pytest.raises(error, match=words):
        vision.HorizontalFlip()(value)


@pytest.mark.parametrize("target", ["CPU", "Ascend"])
def test_operations_say_where_they_run(target):
    operation = vision.Resize(3)
    assert operation.device(target) is operation
    with pytest.raises(ValueError, match="device_target|got 'cpu'"):
        operation.device("cpu")


@pytest.mark.parametrize("make, fine, wrong", [
    (lambda: vision.AdjustContrast(1.5), [(4, 6, 3), (5, 6, 3)], [(4, 6, 2), (4, 6)]),
    (lambda: vision.RandomSolarize((0, 9)), [(4, 6, 3), (4, 6, 1)], [(4, 6, 2), (4, 6, 3, 1)]),
    (lambda: audio.MelScale(4, n_stft=9), [(9, 4), (2, 9, 3)], [(9,), (4,)])])
def test_each_input_is_checked(make, fine, wrong):
    """Also behind one that fits, or one of the same shape but another type."""
    operation = make()
    for shape in wrong:
        for before in fine:
            value = np.ones(before, np.uint8)
            assert operation(value).ndim == len(before)
            with pytest.raises(RuntimeError, match=type(operation).__name__.removeprefix("Random")):
                operation(np.ones(shape, np.uint8))
            for other in ("U1", np.complex64):
                with pytest.raises((RuntimeError, TypeError)):
                    operation(value.astype(other))
