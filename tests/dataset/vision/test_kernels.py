"""What the array operations do at sizes, types and channels that the recorded pictures lack."""

import colorsys

import numpy as np
import pytest
from PIL import Image

import lamella.dataset.vision as vision
from lamella.dataset.vision import kernels

RNG = np.random.default_rng(6)
INTER = vision.Inter


def image_of(*shape, kind=np.uint8):
    return RNG.integers(1, 120, shape).astype(kind)


@pytest.mark.parametrize("kind", [np.uint8, np.int64, bool, np.float32])
@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 3), (4, 6, 1), (4, 6, 600)])
@pytest.mark.parametrize("interpolation", [i for i in INTER if i is not INTER.PILCUBIC])
def test_an_image_of_that_size_stays_as_it_is(kind, shape, interpolation):
    """Also with types and channels that OpenCV doesn't resize."""
    image = image_of(*shape, kind=kind)
    assert kernels.resized(image, 4, 6, interpolation) is image


def test_what_pillow_resizes():
    image = image_of(4, 6, 3)
    for size in ((4, 6), (5, 3), (4, 5), (3, 6)):
        wanted = Image.fromarray(image).resize(size[::-1], Image.Resampling.BICUBIC)
        np.testing.assert_array_equal(kernels.resized(image, *size, INTER.PILCUBIC), wanted)
        for other in (image.astype(np.float32), image[..., 0], image[..., :1],
                      np.dstack([image, image])):
            with pytest.raises(RuntimeError, match="PILCUBIC the image must be uint8 <H,W,3>"):
                kernels.resized(other, *size, INTER.PILCUBIC)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (2, 3, 3)])
def test_each_pixel_twice(shape):
    for kind in (np.uint8, np.float32, np.int16, bool):
        image = image_of(*shape, kind=kind)
        found = kernels.resized(image, 4, 9, INTER.NEAREST)
        assert found.dtype == kind
        np.testing.assert_array_equal(found, image.repeat(2, 0).repeat(3, 1))


@pytest.mark.parametrize("height", [1, 2, 4, 5, 7, 8, 13])
@pytest.mark.parametrize("width", [1, 5, 9, 10, 13, 16])
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_where_the_centre_is(height, width, channels):
    """A part that is larger by an odd number has the rest at the beginning."""
    image = image_of(5, 9, *channels)
    found = kernels.center_cropped(image, height, width)
    assert found.shape == (height, width, *channels)
    top, left = (-(-(new - old) // 2) if new > old else -((old - new) // 2)
                 for old, new in ((5, height), (9, width)))
    for y, x in np.ndindex(height, width):
        inside = 0 <= y - top < 5 and 0 <= x - left < 9
        np.testing.assert_array_equal(found[y, x], image[y - top, x - left] if inside else 0)


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.int8, np.int64, np.float64, bool])
@pytest.mark.parametrize("channels", [(), (1,), (2,), (4,), (5,), (600,)])
def test_flips_of_all_types_and_numbers_of_channels(kind, channels):
    image = image_of(3, 5, *channels, kind=kind)
    for horizontally, wanted in ((True, image[:, ::-1]), (False, image[::-1])):
        found = kernels.flipped(image, horizontally)
        assert found.dtype == kind and found.flags.c_contiguous
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("degrees, quarters", [(0, 0), (90, 1), (180, 2), (270, 3)])
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_quarters_of_a_turn(degrees, quarters, channels):
    image = image_of(4, 6, *channels)
    wanted = np.rot90(image, quarters)
    found = kernels.rotated(image, degrees, INTER.NEAREST, True, None, (0, 0, 0))
    assert found.shape == wanted.shape
    if not quarters % 2:
        np.testing.assert_array_equal(
            kernels.rotated(image, degrees, INTER.NEAREST, False, None, (0, 0, 0)), wanted)


@pytest.mark.parametrize("degrees", [10, 30, 45, 100, 200, 333])
def test_a_turned_image_is_held_whole(degrees):
    turn = np.radians(degrees)
    image = np.full((40, 70, 1), 200, np.uint8)
    found = kernels.rotated(image, degrees, INTER.LINEAR, True, None, (7, 7, 7))
    corners = np.abs([[np.sin(turn), np.cos(turn)], [np.cos(turn), np.sin(turn)]])
    assert found.shape == (*np.floor(corners @ [70, 40] + 0.5), 1)
    assert (found > 103).sum() == pytest.approx(40 * 70, rel=0.03)  # none of it is outside
    rows, columns = np.nonzero(found[..., 0] > 103)  # and it is in the middle
    assert rows.mean() == pytest.approx((found.shape[0] - 1) / 2, abs=0.6)
    assert columns.mean() == pytest.approx((found.shape[1] - 1) / 2, abs=0.6)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint16, np.int32])
def test_brightness_of_integers_stays_in_their_range(kind):
    limits = np.iinfo(kind)
    low, high = limits.min, limits.max
    values = np.array([[low, low // 2, 0, 1, 3, 5, high // 3, high]], kind)
    for factor in (0.0, 0.5, 1.0, 1.5, 3.0, 2, 5):
        wanted = [min(max(round(int(v) * factor), low), high) for v in values[0]]
        found = kernels.brightened(values, factor)
        assert found.dtype == kind and found[0].tolist() == wanted
    # the factor is one of float32, a little more than 0.3
    assert kernels.brightened(np.array([[95]], kind), 0.3).tolist() == [[29]]


@pytest.mark.parametrize("factor", [0, 0.3, 0.5, 0.6, 1.7])
def test_brightness_of_booleans_is_rounded(factor):
    found = kernels.brightened(np.array([[True, False]]), factor)
    assert found.dtype == bool and found.tolist() == [[round(factor) > 0, False]]


@pytest.mark.parametrize("factor", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_brightness_of_floats(kind, factor):
    values = np.array([[-1.5, 0.0, 0.25, 300]], kind)
    found = kernels.brightened(values, factor)
    assert found.dtype == kind
    np.testing.assert_array_equal(found, values * kind(factor))


@pytest.mark.parametrize("factor", [-0.5, -0.2, 0.1, 0.25, 0.5])
def test_the_hue_of_bytes_is_a_byte(factor):
    """A turn is 255 steps, and what remains of one is left out."""
    red = np.zeros((1, 1, 3), np.uint8)
    red[..., 0] = 255
    wanted = np.multiply(colorsys.hsv_to_rgb(int(factor * 255) % 256 / 255, 1, 1), 255)
    np.testing.assert_allclose(kernels.hued(red, factor)[0, 0], wanted, atol=2)


def test_inverted_values_stay_in_their_range():
    every = np.arange(-128, 128).astype(np.int8)[None]
    assert kernels.inverted(every)[0].tolist() == [min(255 - v, 127) for v in range(-128, 128)]
    for kind in (np.uint8, np.int16, np.float32):
        found = kernels.inverted(every.astype(kind) if kind is not np.uint8 else every.view(kind))
        assert found.dtype == kind
    assert kernels.inverted(np.array([[0, 255, 256, 65535]], np.uint16))[0].tolist() == [
        255, 0, 0, 0]
    assert kernels.inverted(np.array([[-32768, 300]], np.int16))[0].tolist() == [32767, -45]
    assert kernels.inverted(np.array([[0, 1, 255]], np.uint8))[0].tolist() == [255, 254, 0]
    assert kernels.inverted(np.array([[-0.5, 300]]))[0].tolist() == [255.5, -45]


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_bits_of_int8_are_those_of_bytes(bits):
    every = np.arange(256).astype(np.uint8).reshape(16, 16)
    found = kernels.posterized(every.view(np.int8), bits)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, every >> (8 - bits) << (8 - bits))


@pytest.mark.parametrize("low, high", [(50, 100), (50, 50), (0, 255), (100.5, 180)])
def test_ends_of_a_range_are_inverted(low, high):
    every = np.arange(256).astype(np.uint8)[None]
    wanted = [255 - v if v >= low and (v <= high or low == high) else v for v in range(256)]
    assert kernels.solarized(every, low, high)[0].tolist() == wanted


def stretched(values, cutoff, ignore):
    """By counting: the share of pixels is taken off both ends, one pixel after the other."""
    left = sorted(v for v in values if v not in ignore)
    count = int(len(left) * cutoff // 100)
    left = left[count:len(left) - count]
    if not left or left[0] == left[-1]:
        return list(values)
    scale = np.float32(255 / (left[-1] - left[0]))
    line = [np.float32(v) * scale + np.float32(-left[0]) * scale for v in values]
    return [min(max(int(v), 0), 255) for v in line]


@pytest.mark.parametrize("cutoff, ignore", [
    (0, []), (5, []), (20, [60]), (49, []), (0, [30, 200]), (10, [255]), (33.4, [0])])
@pytest.mark.parametrize("values", [
    [30, 30, 60, 90, 120, 120, 121, 150, 199, 200], [0, 255, 7, 8, 9, 10, 11, 12, 13, 14, 0],
    [60] * 5, [254, 255] * 10, [0, 1, 1, 1, 1, 1, 1, 1, 1, 255]])
def test_contrast_is_stretched_between_the_ends_that_are_left(values, cutoff, ignore):
    plane = np.array([values], np.uint8)
    wanted = stretched(values, cutoff, ignore)
    assert kernels.auto_contrasted(plane, cutoff, ignore)[0].tolist() == wanted
    other = plane // 2 + 20
    both = kernels.auto_contrasted(np.dstack([plane, other, plane]), cutoff, ignore)
    assert both[0, :, 0].tolist() == both[0, :, 2].tolist() == wanted
    assert both[0, :, 1].tolist() == stretched(other[0].tolist(), cutoff, ignore)


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_the_smoothed_image_has_five_parts_of_the_middle(factor, channels):
    image = image_of(5, 7, *channels).astype(np.float32)
    smooth = image.copy()
    for y in range(1, 4):
        for x in range(1, 6):
            around = image[y - 1:y + 2, x - 1:x + 2].sum((0, 1))
            smooth[y, x] = (around + 4 * image[y, x]) / 13
    found = kernels.sharpened(image, factor)
    assert found.shape == image.shape
    np.testing.assert_allclose(found, factor * image + (1 - factor) * smooth, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("factor", [0.0, 0.3, 1.0, 1.8])
def test_contrast_and_saturation_by_gray(factor):
    image = RNG.random((5, 7, 3)).astype(np.float32)
    gray = image @ np.float32([0.299, 0.587, 0.114])
    np.testing.assert_allclose(kernels.contrasted(image, factor),
                               factor * image + (1 - factor) * gray.mean(), atol=1e-5)
    np.testing.assert_allclose(kernels.saturated(image, factor),
                               factor * image + (1 - factor) * gray[..., None], atol=1e-5)


@pytest.mark.parametrize("kernel, sigma", [((3, 5), (0.8, 2.0)), ((7, 1), (1.5, 0.5))])
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_a_gaussian_is_as_wide_as_is_said(kernel, sigma, channels):
    image = RNG.random((1, 1, *channels)).astype(np.float32) + 1
    padded = np.pad(image, [(6, 6), (8, 8)] + [(0, 0)] * len(channels))
    shapes = []
    for size, width, length, middle in ((kernel[0], sigma[0], 17, 8), (kernel[1], sigma[1], 13, 6)):
        away = np.arange(length) - middle
        bell = np.where(abs(away) <= size // 2, np.exp(-away**2 / (2 * width**2)), 0)
        shapes.append(bell / bell.sum())
    wanted = np.multiply.outer(np.multiply.outer(shapes[1], shapes[0]), image[0, 0])
    np.testing.assert_allclose(kernels.blurred(padded, kernel, sigma), wanted, atol=1e-6)


def test_padding_has_a_value_for_each_channel():
    for border in (vision.Border.CONSTANT, vision.Border.EDGE, vision.Border.REFLECT,
                   vision.Border.SYMMETRIC):
        for channels in ((), (1,), (3,)):
            image = image_of(5, 6, *channels)
            found = kernels.padded(image, 1, 2, 3, 4, (7, 8, 9), border)
            room = [(2, 4), (1, 3)] + [(0, 0)] * len(channels)
            if border is vision.Border.CONSTANT:
                wanted = np.empty((11, 10, *channels), np.uint8)
                wanted[...] = (7, 8, 9)[:channels[0]] if channels else 7
                wanted[2:-4, 1:-3] = image
            else:
                wanted = np.pad(image, room, border.value)
            np.testing.assert_array_equal(found, wanted)
