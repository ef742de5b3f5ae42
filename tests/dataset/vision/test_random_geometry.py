"""What the random geometric operations do at the limits of what they draw."""

import math
import random

import numpy as np
import pytest
from PIL import Image

import lamella.dataset.vision as vision
from lamella.dataset.vision import random_geometry

RNG = np.random.default_rng(3)
INTER = vision.Inter


class Limits:
    """Draws at a place of each range: 0 is the lowest number, 1 the highest."""

    def __init__(self, place):
        self.place, self.ranges = place, []

    def float32(self, low, high):
        self.ranges.append((low, high))
        return low + (high - low) * self.place

    def integer(self, low, high):
        return round(self.float32(low, high))


def image_of(*shape):
    return RNG.integers(1, 256, (*shape, 3)).astype(np.uint8)


@pytest.fixture
def extremes(monkeypatch):
    """Python's random numbers at one end of their ranges, as `extremes(0)` or `extremes(1)`."""
    def at(place):
        monkeypatch.setattr(random, "randint", lambda *ends: ends[place])
        monkeypatch.setattr(random, "uniform", lambda *ends: ends[place])
    return at


@pytest.mark.parametrize("stack", [(), (2,), (2, 3)])
def test_where_a_crop_may_lie(stack):
    image = np.zeros((*stack, 7, 9, 3), np.uint8)
    crop = vision.RandomCrop((4, 3), (1, 2, 3, 4))
    for place, corner in ((0, (0, 0)), (1, (9 + 1 + 3 - 3, 7 + 2 + 4 - 4))):
        assert crop.draw(image, Limits(place)) == ((1, 2, 3, 4), [corner] * math.prod(stack))


@pytest.mark.parametrize("padding, fits", [
    ((0, 6, 0, 0), True), ((0, 7, 0, 0), False), ((0, 0, 0, 6), True), ((0, 0, 0, 7), False),
    ((9, 0, 0, 0), True), ((10, 0, 0, 0), False), ((0, 0, 9, 0), True), ((0, 0, 10, 0), False)])
def test_padding_is_at_most_three_times_the_image(padding, fits):
    crop, image = vision.RandomCrop(1, padding), np.zeros((2, 3, 3), np.uint8)
    if fits:
        assert crop(image).shape == (1, 1, 3)
    else:
        with pytest.raises(RuntimeError, match=r"three times bigger .* image \(2, 3\)"):
            crop(image)


def test_a_crop_is_at_most_the_padded_image():
    image = image_of(4, 6)
    padded = np.full((11, 10, 3), [5, 6, 7], np.uint8)
    padded[2:-5, 1:-3] = image
    for change in (lambda value: value, vision.ToPIL()):
        crop = vision.RandomCrop((11, 10), (1, 2, 3, 5), fill_value=(5, 6, 7))
        np.testing.assert_array_equal(np.asarray(crop(change(image))), padded)
        for size in ((12, 10), (11, 11)):
            with pytest.raises((RuntimeError, ValueError), match="must not be larger"):
                vision.RandomCrop(size, (1, 2, 3, 5))(change(image))


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("height, width", [(6, 9), (9, 6), (7, 5), (8, 8)])
def test_a_small_image_is_padded_by_what_it_lacks_on_both_sides(height, width, place, extremes):
    extremes(place)
    image, (down, across) = image_of(height, width), (max(8 - height, 0), max(8 - width, 0))
    padded = np.pad(image, ((down, down), (across, across), (0, 0)))
    end = padded.shape[0] - 8, padded.shape[1] - 8
    wanted = padded[end[0]:, end[1]:] if place else padded[:8, :8]
    crop = vision.RandomCrop(8, pad_if_needed=True)
    np.testing.assert_array_equal(np.asarray(crop(Image.fromarray(image))), wanted)
    np.testing.assert_array_equal(crop.apply(image, crop.draw(image, Limits(place))), wanted)


@pytest.mark.parametrize("operation, turned", [
    (vision.RandomHorizontalFlip, np.s_[:, ::-1]), (vision.RandomVerticalFlip, np.s_[::-1])])
def test_flips_of_pillows_images(operation, turned, monkeypatch):
    image = image_of(3, 4)
    monkeypatch.setattr(random, "random", lambda: 0.25)
    for prob, wanted in ((0.25, image), (0.26, image[turned])):
        found = operation(prob)(Image.fromarray(image))
        np.testing.assert_array_equal(np.asarray(found), wanted)


@pytest.mark.parametrize("shape, scale, ratio, part", [
    ((10, 10), 0.01, 1.0, (1, 1)), ((10, 10), 1.0, 1.0, (10, 10)), ((10, 20), 1.0, 2.0, (20, 10)),
    ((10, 10), 0.002, 1.0, None),  # no pixel: the whole image after all draws
    ((10, 10), 0.01, 5.0, None),  # as little
    ((10, 20), 0.5, 4.0, (20, 5)), ((20, 10), 0.5, 0.25, (5, 20)), ((10, 20), 0.6, 4.0, None),
    ((20, 10), 0.8, 0.25, None)])
def test_which_parts_are_taken(shape, scale, ratio, part, extremes):
    crop = vision.RandomResizedCrop(4, (scale, scale), (ratio, ratio), INTER.NEAREST, 3)
    height, width = shape
    middle = ((width, width / ratio) if width / height < ratio else (height * ratio, height))
    across, down = part or middle
    for stack in ((), (2,), (2, 3)):
        image = np.zeros((*stack, *shape, 3), np.uint8)
        for place in (0, 1):
            drawn = Limits(place)
            x, y, *size = crop.draw(image, drawn)
            assert size == [across, down]
            room = (width - across, height - down)
            assert (x, y) == (tuple(place * each for each in room) if part else
                              tuple(math.ceil(each / 2) for each in room))
            assert len(drawn.ranges) == (4 if part else 6)
    image = image_of(*shape)
    for place in (0, 1):
        extremes(place)
        x, y = ((place * (width - across), place * (height - down)) if part else
                (round((width - across) / 2), round((height - down) / 2)))
        wanted = Image.fromarray(image).crop((x, y, x + across, y + down)).resize(
            (4, 4), Image.Resampling.NEAREST)
        found = crop(Image.fromarray(image))
        np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


@pytest.mark.parametrize("ratio", [(9.0, 10.0), (0.1, 0.2)])
def test_the_part_in_the_centre_has_a_pixel(ratio):
    image = image_of(1, 1)
    found = vision.RandomResizedCrop(4, (2.0, 3.0), ratio, max_attempts=1)(image)
    np.testing.assert_array_equal(found, image.repeat(4, 0).repeat(4, 1))


def test_draws_of_a_part_are_at_least_one():
    assert vision.RandomResizedCrop(4, max_attempts=1)(image_of(5, 6)).shape == (4, 4, 3)
    with pytest.raises(ValueError, match=r"'max_attempts' must be .*got 0"):
        vision.RandomResizedCrop(4, max_attempts=0)


@pytest.mark.parametrize("value, words", [
    ([1, 2], "got <class 'list'>"), (np.zeros((2, 2), np.uint8), "dtype:<class 'numpy.uint8'>"),
    (np.zeros(3, np.float32), "dtype:<class 'numpy.float32'>"),
    (np.zeros((), np.uint8), "dtype:<class 'numpy.uint8'>")], ids=["list", "2-D", "float", "0-D"])
def test_what_is_no_encoded_image(value, words):
    with pytest.raises(TypeError, match=f"Input should be an encoded image.*{words}"):
        vision.RandomCropDecodeResize(3)(value)


def test_rotations_of_pillows_images_with_antialias():
    image = image_of(5, 5)
    for turn in (90, -180, 270):
        found = vision.RandomRotation((turn, turn), INTER.ANTIALIAS)(Image.fromarray(image))
        np.testing.assert_array_equal(np.asarray(found), np.rot90(image, turn // 90))
    for degrees, center in ((90, (1, 2)), (91, None), (45, (1, 2))):
        with pytest.raises(ValueError, match="center needs to be None and angle"):
            vision.RandomRotation((degrees, degrees), INTER.ANTIALIAS, center=center)(
                Image.fromarray(image))


def test_what_fills_the_corners_of_a_rotated_image():
    rotate = vision.RandomRotation((45, 45), fill_value=(1, 2, 3))
    image = np.full((9, 9, 3), 200, np.uint8)
    assert np.asarray(rotate(Image.fromarray(image)))[0, 0].tolist() == [1, 2, 3]
    assert np.asarray(rotate(Image.fromarray(image[..., 0])))[0, 0] == 1
    assert np.asarray(rotate(image))[0, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize("shear, low, high", [
    (None, (0, 0), (0, 0)), (7, (-7, 0), (7, 0)), ((2, 5), (2, 0), (5, 0)),
    ((2, 5, -3, 8), (2, -3), (5, 8))])
@pytest.mark.parametrize("translate, least, most", [
    (None, (0, 0), (0, 0)), ((-0.5, 0.25), (-0.5, 0), (0.25, 0)),
    ((-0.5, 0.25, -0.125, 0.75), (-0.5, -0.125), (0.25, 0.75))])
def test_what_an_affine_transformation_draws(shear, low, high, translate, least, most):
    operation = vision.RandomAffine(30, translate, (0.5, 3.0), shear)
    for shape in ((8, 12, 3), (2, 3, 8, 12, 3), (2, 8, 12, 3), (8, 12)):
        for place, sheared, moved in ((0, low, least), (1, high, most)):
            assert operation.draw(np.zeros(shape, np.uint8), Limits(place)) == (
                (-30, 30)[place], (moved[0] * 12, moved[1] * 8), (0.5, 3.0)[place], sheared)


@pytest.mark.parametrize("place, ends", [
    (0, [(0, 0), (9, 0), (9, 4), (0, 4)]), (1, [(4, 2), (13, 2), (13, 6), (4, 6)])])
def test_where_the_corners_of_a_perspective_may_lie(place, ends, extremes, monkeypatch):
    extremes(place)
    monkeypatch.setattr(random_geometry, "perspective_pillow", lambda *arguments: arguments[1:])
    image = Image.fromarray(image_of(7, 14))
    starts = [(0, 0), (13, 0), (13, 6), (0, 6)]
    operation = vision.RandomPerspective(0.6, 0.25, INTER.BILINEAR)
    monkeypatch.setattr(random, "random", lambda: 0.24)
    assert operation(image) == (starts, ends, INTER.BILINEAR)
    monkeypatch.setattr(random, "random", lambda: 0.25)
    assert operation(image) is image
    with pytest.raises(ValueError, match="should be a Pillow image.*numpy.ndarray"):
        operation(np.asarray(image))
