"""Sizes and places at their limits: one below, at, and one above."""

import numpy as np
import pytest
from PIL import Image

import lamella.dataset.vision as vision
from lamella.dataset.vision.geometry import perspective_coefficients

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


@pytest.mark.parametrize("size, corner", [  # half a pixel is rounded to the even number
    ((4, 6), (0, 0)), ((2, 2), (1, 2)), ((3, 3), (0, 2)), ((1, 5), (2, 0)), ((8, 9), (-2, -2)),
    ((5, 7), (0, 0)), ((7, 1), (-2, 2)), ((9, 3), (-2, 2))])
def test_the_centre_of_a_picture(size, corner):
    image = image_of(4, 6)
    found = np.asarray(vision.CenterCrop(size)(Image.fromarray(image)))
    (top, left), around = corner, np.pad(image, [(9, 9), (9, 9), (0, 0)])
    np.testing.assert_array_equal(found, around[9 + top:, 9 + left:][:size[0], :size[1]])


@pytest.mark.parametrize("border", vision.Border)
@pytest.mark.parametrize("padding, room", [
    (2, [(2, 2), (2, 2)]), ((1, 3), [(3, 3), (1, 1)]), ((1, 2, 3, 0), [(2, 0), (1, 3)])])
@pytest.mark.parametrize("fill", [7, (7, 8, 9)])
def test_padding_of_arrays_and_pictures(border, padding, room, fill):
    image = image_of(4, 6)
    if border is vision.Border.CONSTANT:
        wanted = np.empty((4 + sum(room[0]), 6 + sum(room[1]), 3), np.uint8)
        wanted[...] = fill
        wanted[room[0][0]:, room[1][0]:][:4, :6] = image
    else:
        wanted = np.pad(image, [*room, (0, 0)], border.value)
    pad = vision.Pad(padding, fill, border)
    np.testing.assert_array_equal(pad(image), wanted)
    if fill != 7 or border is not vision.Border.CONSTANT:
        np.testing.assert_array_equal(np.asarray(pad(Image.fromarray(image))), wanted)
    else:
        gray = Image.fromarray(image[..., 1])
        np.testing.assert_array_equal(np.asarray(pad(gray)), wanted[..., 1])


def five_of(image, height, width):
    top, left = (round((image.shape[0] - height) / 2), round((image.shape[1] - width) / 2))
    return [image[:height, :width], image[:height, -width:], image[-height:, :width],
            image[-height:, -width:], image[top:top + height, left:left + width]]


@pytest.mark.parametrize("size", [(2, 3), (4, 6), (3, 1), (1, 6), 3])
def test_corners_and_the_centre(size):
    image = image_of(4, 6)
    pair = (size, size) if isinstance(size, int) else size
    for operation, wanted in (
            (vision.FiveCrop(size), five_of(image, *pair)),
            (vision.TenCrop(size), five_of(image, *pair) + five_of(image[:, ::-1], *pair)),
            (vision.TenCrop(size, True), five_of(image, *pair) + five_of(image[::-1], *pair))):
        found = operation(Image.fromarray(image))
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)
    for large in ((5, 6), (4, 7)):
        for kind in (vision.FiveCrop, vision.TenCrop):
            with pytest.raises(ValueError, match="must not be larger than the image"):
                kind(large)(Image.fromarray(image))
    with pytest.raises(TypeError, match="should be PIL image"):
        vision.FiveCrop(2)(image)


@pytest.mark.parametrize("down, across", [(1, 1), (2, 3), (3, 4), (5, 7), (4, 1), (1, 5)])
@pytest.mark.parametrize("mode", vision.SliceMode)
@pytest.mark.parametrize("channels", [(), (1,), (3,)])
def test_patches_of_one_size(down, across, mode, channels):
    image = RNG.integers(1, 256, (5, 7, *channels)).astype(np.uint8)
    found = vision.SlicePatches(down, across, mode, 9)(image)
    found = found if isinstance(found, tuple) else (found,)
    pads = mode is vision.SliceMode.PAD
    high, wide = (-(-5 // down), -(-7 // across)) if pads else (5 // down, 7 // across)
    whole = np.full((high * down, wide * across, *channels), 9, np.uint8)
    whole[:5, :7] = image[:high * down, :wide * across]
    wanted = [whole[i * high:(i + 1) * high, j * wide:(j + 1) * wide]
              for i in range(down) for j in range(across)]
    assert len(found) == down * across
    for one, other in zip(found, wanted, strict=True):
        assert one.flags.c_contiguous
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("down, across", [(6, 1), (1, 8), (6, 8)])
def test_at_most_a_patch_for_each_pixel(down, across):
    with pytest.raises(RuntimeError, match="SlicePatches"):
        vision.SlicePatches(down, across)(image_of(5, 7))
    for wrong in ({"num_height": 0}, {"num_width": 0}, {"fill_value": 256}, {"fill_value": -1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            vision.SlicePatches(**wrong)
    assert len(vision.SlicePatches(5, 7, fill_value=255)(image_of(5, 7))) == 35


@pytest.mark.parametrize("turns", [0, 90, 180, 270, -90, 450])
def test_turns_are_counterclockwise_and_of_360_degrees(turns):
    image = image_of(5, 5)
    np.testing.assert_array_equal(vision.Rotate(turns)(image), np.rot90(image, turns // 90))
    stack = np.stack([image, image[::-1]])
    for one, other in zip(vision.Rotate(turns)(stack), stack, strict=True):
        np.testing.assert_array_equal(one, np.rot90(other, turns // 90))


@pytest.mark.parametrize("x, y", [(0.5, 0.0), (0.0, 0.25), (-0.5, 0.5), (0.25, -0.25)])
def test_translations_are_shares_of_the_width_and_of_the_height(x, y):
    image = image_of(8, 12)
    right, down = round(x * 12), round(y * 8)
    wanted = np.pad(image, [(8, 8), (12, 12), (0, 0)])[8 - down:16 - down, 12 - right:24 - right]
    found = vision.Affine(0, (x, y), 1.0, 0)(image)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(vision.Affine(0, (x, y), 1.0, (0, 0))(image), wanted)


@pytest.mark.parametrize("shear", [45, (45, 0)])
def test_a_shear_along_x_moves_rows(shear):
    """By a pixel more from row to row, and none in the middle."""
    image = image_of(5, 9)
    found = vision.Affine(0, (0, 0), 1.0, shear)(image)
    shifted = {}
    for row in range(5):
        for shift in range(-4, 5):
            part = np.pad(image[row], [(9, 9), (0, 0)])[9 - shift:18 - shift]
            if np.array_equal(part, found[row]):
                shifted[row] = shift
    steps = np.diff([shifted[row] for row in range(5)])
    assert shifted[2] == 0 and abs(steps[0]) == 1 and len(set(steps)) == 1


@pytest.mark.parametrize("points, words", [
    ([[0, 0]] * 3, "length 4"), ([[0, 0]] * 5, "length 4"), ("abcd", "list|four points"),
    ([[0, 0]] * 3 + [[0]], "four points|2"), ([[0, 0]] * 3 + [[0, 0, 0]], "four points|2"),
    ([[0, 0]] * 3 + [0], "list|four points"), ([[0, 0]] * 3 + [[0, 1.5]], "int")])
@pytest.mark.parametrize("which", [0, 1])
def test_perspectives_are_given_by_four_points(points, words, which):
    fine = [[0, 0], [3, 0], [3, 3], [0, 3]]
    vision.Perspective(fine, tuple(map(tuple, fine)))
    with pytest.raises((TypeError, ValueError), match=words):
        vision.Perspective(*((points, fine) if which == 0 else (fine, points)))


@pytest.mark.parametrize("start, end", [
    ([[0, 0], [9, 0], [9, 6], [0, 6]], [[1, 2], [8, 1], [9, 5], [2, 6]]),
    ([[2, 1], [7, 0], [8, 5], [1, 6]], [[0, 0], [9, 0], [9, 6], [0, 6]]),
    ([[0, 0], [0, 6], [9, 6], [9, 0]], [[9, 0], [9, 6], [0, 6], [0, 0]])])
def test_a_perspective_takes_points_to_points(start, end):
    a, b, c, d, e, f, g, h = perspective_coefficients(start, end)
    for (x, y), (u, v) in zip(end, start, strict=True):
        below = g * x + h * y + 1
        assert (a * x + b * y + c) / below == pytest.approx(u, abs=1e-9)
        assert (d * x + e * y + f) / below == pytest.approx(v, abs=1e-9)


def test_points_on_a_line_have_the_nearest_coefficients():
    start, end = [[0, 0], [2, 0], [4, 1], [0, 5]], [[0, 0], [2, 2], [4, 4], [0, 5]]
    rows, values = [], []
    for (x, y), (u, v) in zip(end, start, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    wanted = np.linalg.pinv(np.array(rows, float)) @ values
    assert np.linalg.matrix_rank(rows) < 8
    np.testing.assert_allclose(perspective_coefficients(start, end), wanted, atol=1e-9)
