"""Types, layouts and colours: all shapes that are taken, and those next to them."""

import colorsys
import io

import cv2
import numpy as np
import pytest
from PIL import Image

import lamella as ms
from lamella.dataset import vision

RNG = np.random.default_rng(9)
IMAGE = RNG.integers(0, 256, (4, 6, 3)).astype(np.uint8)


def encoded(kind, image=IMAGE):
    data = io.BytesIO()
    Image.fromarray(image).save(data, kind)
    return data.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "BMP"])
def test_bytes_of_any_kind_are_decoded(kind):
    data = encoded(kind)
    array = np.frombuffer(data, np.uint8)
    for given in (data, array, array.view(np.int8), np.array(data)):
        np.testing.assert_array_equal(vision.Decode()(given), IMAGE)
    np.testing.assert_array_equal(np.asarray(vision.Decode(to_pil=True)(array)), IMAGE)
    gray = np.frombuffer(encoded(kind, IMAGE[..., 0]), np.uint8)
    for to_pil in (False, True):
        found = np.asarray(vision.Decode(to_pil)(gray))
        np.testing.assert_array_equal(found, np.dstack([IMAGE[..., 0]] * 3))


@pytest.mark.parametrize("more, fits", [(0, True), (4094, True), (4095, False), (9000, False)])
def test_the_end_of_a_jpeg_may_be_followed_by_other_bytes(more, fits):
    data = np.frombuffer(encoded("JPEG") + bytes(more), np.uint8)
    if fits:
        np.testing.assert_array_equal(
            vision.Decode()(data), np.asarray(Image.open(io.BytesIO(data.tobytes()))))
    else:
        with pytest.raises(RuntimeError, match="ends too early"):
            vision.Decode()(data)


@pytest.mark.parametrize("given, error, words", [
    ([1, 2], TypeError, "1-D NumPy array, got <class 'list'>"),
    (np.zeros((2, 2), np.uint8), TypeError, "should be 1, but got 2"),
    (np.zeros(5, np.int16), TypeError, "array of uint8, but got int16"),
    (np.zeros(5, np.float32), TypeError, "array of uint8, but got float32"),
    (np.zeros(0, np.uint8), RuntimeError, "the input is empty"),
    (np.zeros(5, np.uint8), RuntimeError, "no image, or the file is damaged")])
def test_what_is_not_decoded(given, error, words):
    with pytest.raises(error, match=words):
        vision.Decode()(given)


def test_bytes_that_pillow_does_not_decode():
    with pytest.raises(ValueError, match="Decode: the bytes are no image"):
        vision.Decode(to_pil=True)(np.zeros(5, np.uint8))


@pytest.mark.parametrize("kind, wanted", [
    (np.float32, np.float32), ("float16", np.float16), (ms.float64, np.float64)])
@pytest.mark.parametrize("channels", [(), (1,), (2,), (3,)])
def test_numbers_from_0_to_1_channels_first(kind, wanted, channels):
    image = RNG.integers(0, 256, (4, 6, *channels)).astype(np.uint8)
    found = vision.ToTensor(kind)(image)
    planes = image.reshape(4, 6, -1).transpose(2, 0, 1)
    assert found.dtype == wanted
    np.testing.assert_allclose(found, planes / 255, rtol=1e-3 if wanted is np.float16 else 1e-6)
    if channels in ((), (3,)):
        picture = vision.ToTensor(kind)(Image.fromarray(image))
        assert picture.dtype == wanted and picture.shape == planes.shape
        np.testing.assert_array_equal(picture, (planes / 255.0).astype(wanted))


@pytest.mark.parametrize("shape, mode", [((4, 6), "L"), ((4, 6, 1), "L"), ((4, 6, 2), "LA"),
                                         ((4, 6, 3), "RGB"), ((4, 6, 4), "RGBA")])
def test_pictures_of_one_to_four_channels(shape, mode):
    image = RNG.integers(0, 256, shape).astype(np.uint8)
    found = vision.ToPIL()(image)
    assert found.mode == mode and found.size == (6, 4)
    np.testing.assert_array_equal(np.asarray(found), image.squeeze())
    assert vision.ToPIL()(found) is found
    np.testing.assert_array_equal(vision.ToNumpy()(found), image.squeeze())


@pytest.mark.parametrize("shape, words", [
    ((4, 6, 5), "should not exceed 4. Got 5"), ((6,), "2 or 3. Got 1"), ((1, 4, 6, 3), "Got 4")])
def test_what_is_no_picture(shape, words):
    with pytest.raises(ValueError, match=words):
        vision.ToPIL()(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("shape, shown", [((4, 6), r"\[H, W\] or \[H, W, 1\]"),
                                          ((4, 6, 3), r"\[H, W, 2\], .* or \[H, W, 4\]")])
def test_types_that_no_picture_has(shape, shown):
    with pytest.raises(TypeError, match=f"type complex128 is not .* image shape is {shown}"):
        vision.ToPIL()(np.zeros(shape, complex))


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 3), (2, 4, 6, 3)])
def test_channels_move_before_rows_and_columns(shape):
    image = RNG.integers(0, 256, shape).astype(np.uint8)
    wanted = image if image.ndim == 2 else np.einsum("...ijk->...kij", image)
    change = vision.HWC2CHW() if image.ndim < 4 else vision.HWC2CHW().block  # of stacked rows
    np.testing.assert_array_equal(change(image), wanted)
    with pytest.raises(RuntimeError, match="HWC2CHW"):
        vision.HWC2CHW()(np.zeros(4, np.uint8))


@pytest.mark.parametrize("is_hwc, shape", [
    (True, (4, 6, 3)), (False, (3, 4, 6)), (True, (2, 4, 6, 3)), (False, (2, 3, 4, 6))])
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.float64])
def test_each_channel_is_normalized(is_hwc, shape, count, kind):
    image = (RNG.random(shape) * 200).astype(kind)
    mean, std = [100.0, 3.0, 50.0][:count], [2.0, 30.0, 0.5][:count]
    axis = -1 if is_hwc else -3
    planes = np.moveaxis(image, axis, -1)
    wanted = np.moveaxis((planes - np.array(mean)) / std, -1, axis)
    found = vision.Normalize(mean, std, is_hwc)(image)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    for name in ("float32", "float16"):
        change = vision.NormalizePad(mean, std, name, is_hwc)
        padded = change(image) if image.ndim < 4 else change.block(image)  # of stacked rows
        assert padded.dtype == name
        parts = np.moveaxis(padded, axis, 0)
        assert len(parts) == 4 and not parts[3].any()
        np.testing.assert_allclose(parts[:3], np.moveaxis(wanted, axis, 0), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("is_hwc", [True, False])
def test_a_gray_image_has_one_channel(is_hwc):
    gray = RNG.integers(0, 256, (4, 6)).astype(np.uint8)
    np.testing.assert_allclose(vision.Normalize([3.0], [2.0], is_hwc)(gray), (gray - 3.0) / 2,
                               rtol=1e-6)
    for count in (2, 3):
        with pytest.raises(RuntimeError, match=f"got channels: 1, size of mean: {count}"):
            vision.Normalize([3.0] * count, [2.0] * count, is_hwc)(gray)
    for count, shape in ((2, (3, 4, 5)), (4, (5, 4, 3))):
        with pytest.raises(RuntimeError, match="number of channels does not match"):
            vision.Normalize([3.0] * count, [2.0] * count, is_hwc)(np.ones(shape, np.uint8))


def test_blocks_of_fewer_dimensions_have_no_channels():
    for shape in ((6,), (4, 6), (1, 1)):
        with pytest.raises(RuntimeError, match="got channels: -1, size of mean: 1"):
            vision.Normalize([1.0], [2.0]).block(np.ones(shape))
    assert vision.Normalize([1.0], [2.0]).block(np.ones((2, 3, 0))).shape == (2, 3, 0)
    assert vision.NormalizePad([1.0], [2.0])(np.ones((2, 3, 1))).shape == (2, 3, 2)


NEEDED = {"COLOR_BGR2BGRA": 3, "COLOR_RGB2RGBA": 3, "COLOR_BGRA2BGR": 4, "COLOR_RGBA2RGB": 4,
          "COLOR_BGR2RGBA": 3, "COLOR_RGB2BGRA": 3, "COLOR_RGBA2BGR": 4, "COLOR_BGRA2RGB": 4,
          "COLOR_BGR2RGB": 3, "COLOR_RGB2BGR": 3, "COLOR_BGRA2RGBA": 4, "COLOR_RGBA2BGRA": 4,
          "COLOR_BGR2GRAY": 3, "COLOR_RGB2GRAY": 3, "COLOR_GRAY2BGR": 1, "COLOR_GRAY2RGB": 1,
          "COLOR_GRAY2BGRA": 1, "COLOR_GRAY2RGBA": 1, "COLOR_BGRA2GRAY": 4, "COLOR_RGBA2GRAY": 4}


@pytest.mark.parametrize("name", list(vision.ConvertMode.__members__))
def test_colours_are_converted_as_by_opencv(name):
    mode = vision.ConvertMode[name]
    for channels in (1, 2, 3, 4, 5):
        image = RNG.integers(0, 256, (4, 6, channels)).astype(np.uint8)
        if channels == NEEDED[name]:
            wanted = cv2.cvtColor(image, getattr(cv2, name))
            np.testing.assert_array_equal(vision.ConvertColor(mode)(image), wanted)
        else:
            with pytest.raises(RuntimeError, match="ConvertColor"):
                vision.ConvertColor(mode)(image)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_gray_pictures_of_one_channel_or_of_three(mode):
    picture = Image.fromarray(IMAGE).convert(mode)
    gray = np.asarray(picture.convert("L"))
    np.testing.assert_array_equal(np.asarray(vision.Grayscale()(picture)), gray)
    np.testing.assert_array_equal(np.asarray(vision.Grayscale(3)(picture)), np.dstack([gray] * 3))


@pytest.mark.parametrize("is_hwc, shape", [(True, (4, 6, 3)), (True, (2, 4, 6, 3)),
                                           (False, (3, 4, 6)), (False, (2, 3, 4, 6))])
@pytest.mark.parametrize("kind, change", [(vision.RgbToHsv, colorsys.rgb_to_hsv),
                                          (vision.HsvToRgb, colorsys.hsv_to_rgb)])
def test_hue_saturation_and_value_of_each_pixel(kind, change, is_hwc, shape):
    image = RNG.random(shape)
    found = kind(is_hwc)(image)
    axis = -1 if is_hwc else -3
    pixels = np.moveaxis(image, axis, -1).reshape(-1, 3)
    assert found.shape == shape
    np.testing.assert_allclose(np.moveaxis(found, axis, -1).reshape(-1, 3),
                               [change(*pixel) for pixel in pixels])


@pytest.mark.parametrize("kind", [vision.RgbToHsv, vision.HsvToRgb])
@pytest.mark.parametrize("shape, words", [
    ((4, 6, 2), "Got 2 channels"), ((4, 6, 4), "Got 4 channels"), ((3, 4, 6), "Got 6 channels"),
    ((4, 3), r"Got the shape \[4, 3\]"), ((1, 1, 2, 2, 3), "Got the shape")])
def test_images_of_other_channels_have_no_hue(kind, shape, words):
    with pytest.raises(TypeError, match=f"3 channels RGB img. {words}"):
        kind(True)(np.ones(shape))
    with pytest.raises(TypeError, match="should be NumPy image"):
        kind(True)(Image.fromarray(IMAGE))


def test_linear_transformations():
    image, mean = RNG.random((2, 1, 3)), RNG.random(6)
    matrix = RNG.random((6, 6))
    found = vision.LinearTransformation(matrix, mean)(image)
    np.testing.assert_allclose(found, ((image.ravel() - mean) @ matrix).reshape(2, 1, 3))
    for wrong, other, words in ((matrix[:5], mean, "should be a square"),
                                (matrix[:, :5], mean, "should be a square"),
                                (matrix, mean[:5], "mean_vector length 5")):
        with pytest.raises(ValueError, match=words):
            vision.LinearTransformation(wrong, other)
    for size in (5, 7):
        with pytest.raises(ValueError, match="not compatible with Numpy image shape"):
            vision.LinearTransformation(matrix, mean)(np.ones((1, size)))
    with pytest.raises(TypeError, match="should be NumPy array"):
        vision.LinearTransformation(matrix, mean)(Image.fromarray(IMAGE))


@pytest.mark.parametrize("kind", [np.uint8, np.float64, np.int16])
def test_rescaled_numbers_are_float32(kind):
    image = RNG.integers(0, 99, (2, 4, 6)).astype(kind)
    found = vision.Rescale(0.3, -1.5)(image)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, image * 0.3 - 1.5, rtol=1e-5, atol=1e-5)


def test_half_precision_is_rescaled_in_float32():
    image = np.array([[0.1, 60000, -3]], np.float16)
    np.testing.assert_allclose(vision.Rescale(3.0, 0.01)(image), image.astype(float) * 3 + 0.01,
                               rtol=1e-6)
