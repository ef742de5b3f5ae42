"""Sizes and places at their limits: one below, at, and one above."""

import numpy as np
import pytest
from PIL import Image

import lamella.dataset.vision as vision

RNG = np.random.default_rng(4)


def image_of(*shape):
    return RNG.integers(1, 256, (*shape, 3)).astype(np.uint8)


@pytest.mark.parametrize("shape, size, wanted", [
    ((10, 24), 5, (5, 12)), ((24, 10), 5, (12, 5)), ((9, 9), 5, (5, 5)), ((7, 11), 5, (5, 7)),
    ((11, 7), 5, (7, 5)), ((9, 4), (3, 8), (3, 8))])
def test_one_size_is_that_of_the_shorter_side(shape, size, wanted):
    image = image_of(*shape)
    for form in (np.asarray, Image.fromarray):
        found = np.asarray(vision.Resize(size, vision.Inter.NEAREST)(form(image)))
        assert found.shape == (*wanted, 3)
    found = vision.Resize(size)(np.stack([image, image[::-1]]))
    assert found.shape == (2, *wanted, 3)


@pytest.mark.parametrize("place, size, words", [
    ((0, 0), (4, 6), ""), ((1, 2), (3, 4), ""), ((3, 5), (1, 1), ""),
    ((1, 0), (4, 6), "height dimension: 5 exceeds image height: 4"),
    ((0, 1), (4, 6), "width dimension: 7 exceeds image width: 6"),
    ((2, 3), (3, 3), "height dimension: 5 exceeds image height: 4"),
    ((2, 3), (2, 4), "width dimension: 7 exceeds image width: 6")])
def test_a_part_ends_with_the_image_at_the_latest(place, size, words):
    image, crop = image_of(4, 6), vision.Crop(place, size)
    (top, left), (height, width) = place, size
    if words:
        with pytest.raises(RuntimeError, match=f"Crop {words}"):
            crop(image)
    else:
        np.testing.assert_array_equal(crop(image), image[top:top + height, left:left + width])


@pytest.mark.parametrize("place, size, words", [
    ((1, 2), (3, 4), ""), ((1, 2), (4, 4), "height"), ((1, 3), (3, 4), "width")])
def test_a_part_that_is_resized_ends_with_the_image_at_the_latest(place, size, words):
    image = image_of(4, 6)
    crop = vision.ResizedCrop(*place, *size, (3, 4), vision.Inter.NEAREST)
    if words:
        with pytest.raises(RuntimeError, match=f"Crop {words} dimension: . exceeds"):
            crop(image)
    else:
        np.testing.assert_array_equal(crop(image), image[1:, 2:])


@pytest.mark.parametrize("size, fits", [
    ((8, 20), True), ((9, 1), False), ((1, 21), False), ((9, 21), False), ((8, 1), True)])
def test_the_centre_is_at_most_four_times_the_image(size, fits):
    for image in (image_of(2, 5), image_of(2, 2, 5)):
        if fits:
            found = vision.CenterCrop(size)(image)
            assert found.shape == (*image.shape[:-3], *size, 3)
            assert (found > 0).sum() == image[..., :min(2, size[0]), :min(5, size[1]), :].size
        else:
            with pytest.raises(RuntimeError, match=f"top padding: {size[0] - 2}, left padding: "
                                                   f"{size[1] - 5}, .* size: 2, 5"):
                vision.CenterCrop(size)(image)


@pytest.mark.parametrize("size, offset, place", [
    ((4, 6), None, (0, 0)), ((7, 11), None, (1, 2)), ((7, 11), [], (1, 2)),
    ((7, 11), [3, 5], (3, 5)), ((7, 11), 2, (2, 2)),
    ((7, 11), [0, 5], (0, 5)), ((7, 11), [4, 5], None), ((7, 11), [3, 6], None),
    ((7, 11), 4, None), ((3, 6), None, None), ((4, 5), None, None), ((9, 5), None, None)])
def test_where_an_image_lies_in_its_padding(size, offset, place):
    image, pad = image_of(4, 6), vision.PadToSize(size, offset, (9, 8, 7))
    if place is None:
        with pytest.raises(RuntimeError, match="PadToSize: the (target size|sum of offset)"):
            pad(image)
    else:
        wanted = np.full((*size, 3), (9, 8, 7), np.uint8)
        wanted[place[0]:place[0] + 4, place[1]:place[1] + 6] = image
        np.testing.assert_array_equal(pad(image), wanted)
