"""Images and files: what is read is what was written, and what is refused."""

import cv2
import numpy as np
import PIL.Image
import pytest

import lamella as ms
from lamella.dataset import vision

IMAGE = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
GRAY = IMAGE[..., 0]


@pytest.mark.parametrize("image", [IMAGE, GRAY, GRAY[..., None], ms.Tensor(IMAGE)])
def test_a_png_is_read_as_it_was_written(tmp_path, image):
    path = str(tmp_path / "x.png")
    vision.write_png(path, image, 9)
    wanted = np.asarray(image.asnumpy() if isinstance(image, ms.Tensor) else image)
    wanted = wanted if wanted.ndim == 3 else wanted[..., None]
    np.testing.assert_array_equal(vision.read_image(path), wanted)
    np.testing.assert_array_equal(vision.encode_png(image, 9), vision.read_file(path))
    gray = vision.read_image(path, vision.ImageReadMode.GRAYSCALE)
    colors = vision.read_image(path, vision.ImageReadMode.COLOR)
    assert gray.shape == (5, 7, 1) and colors.shape == (5, 7, 3)
    np.testing.assert_array_equal(colors, np.broadcast_to(wanted, colors.shape))


@pytest.mark.parametrize("quality", [1, 75, 100])
def test_a_jpeg_of_higher_quality_is_larger_and_nearer(tmp_path, quality):
    smooth = np.add.outer(np.arange(32), np.arange(32))[..., None] * np.uint8([1, 2, 3])
    path = str(tmp_path / "x.jpg")
    vision.write_jpeg(path, smooth.astype(np.uint8), quality)
    found = np.asarray(PIL.Image.open(path)).astype(int)
    assert np.abs(found - smooth).mean() < {1: 40, 75: 4, 100: 1}[quality]
    lower = vision.encode_jpeg(smooth.astype(np.uint8), max(1, quality - 1))
    assert len(lower) <= len(vision.read_file(path))


def test_sizes_and_channels():
    of_pillow = PIL.Image.fromarray(IMAGE)
    assert vision.get_image_size(IMAGE) == vision.get_image_size(of_pillow) == [5, 7]
    assert vision.get_image_size(GRAY) == [5, 7]
    assert vision.get_image_size(np.zeros((2, 5, 7, 3))) == [5, 7]
    assert vision.get_image_num_channels(IMAGE) == vision.get_image_num_channels(of_pillow) == 3
    assert vision.get_image_num_channels(GRAY) == 1
    assert vision.get_image_num_channels(PIL.Image.fromarray(GRAY)) == 1


@pytest.mark.parametrize("given, wanted", [
    (3, (3, 3, 3, 3)), ((1, 2), (1, 2, 1, 2)), ([1, 2, 3, 4], (1, 2, 3, 4)), (0, (0, 0, 0, 0))])
def test_padding_of_one_two_or_four_numbers(given, wanted):
    assert vision.utils.parse_padding(given) == wanted


@pytest.mark.parametrize("call, error, words", [
    (lambda path: vision.read_file(3), TypeError, "Input filename is not of type"),
    (lambda path: vision.read_file(path + "x"), RuntimeError, "does not exist"),
    (lambda path: vision.read_file(path.rpartition("/")[0]), RuntimeError, "not a regular file"),
    (lambda path: vision.write_file(3, GRAY), TypeError, "Input filename is not of type"),
    (lambda path: vision.write_file(path, [1]), TypeError, "Input data is not of type"),
    (lambda path: vision.write_file(path, np.ones(3)), RuntimeError, "should be UINT8.*float64"),
    (lambda path: vision.write_file(path, GRAY), RuntimeError, "one dimension, but got 2"),
    (lambda path: vision.write_file(path + "/x", GRAY[0]), RuntimeError, "Failed to open the file"),
    (lambda path: vision.read_image(path, 1), TypeError, "Input mode is not of type"),
    (lambda path: vision.read_image(path), RuntimeError, "is no image, or it is damaged"),
    (lambda path: vision.read_image(path, vision.ImageReadMode.COLOR), RuntimeError, "Read image"),
    (lambda path: vision.encode_png([1]), TypeError, "Input image is not of type"),
    (lambda path: vision.encode_png(np.ones((2, 2))), RuntimeError, "should be UINT8.*float64"),
    (lambda path: vision.encode_png(GRAY[0]), RuntimeError, "two or three dimensions, but got 1"),
    (lambda path: vision.encode_jpeg(IMAGE[..., :2]), RuntimeError, "1 or 3 channels, but got 2"),
    (lambda path: vision.encode_jpeg(IMAGE, True), TypeError, "Input quality is not of type"),
    (lambda path: vision.encode_jpeg(IMAGE, 101), RuntimeError, r"101, should be in range of \[1"),
    (lambda path: vision.encode_png(IMAGE, 1.0), TypeError, "Input compression_level is not of"),
    (lambda path: vision.encode_png(IMAGE, -1), RuntimeError, r"-1, should be in range of \[0, 9"),
    (lambda path: vision.write_png(path, 1), TypeError, "The input image is not of type"),
    (lambda path: vision.get_image_size(3), TypeError, "Input image is not of type"),
    (lambda path: vision.get_image_size(GRAY[0]), RuntimeError, "at least two dimensions"),
    (lambda path: vision.get_image_num_channels(3), TypeError, "Input image is not of type"),
    (lambda path: vision.get_image_num_channels(GRAY[0]), RuntimeError, "at least two dimensions"),
    (lambda path: vision.utils.parse_padding((1, 2, 3)), ValueError, "an int or a list of 2 or 4"),
    (lambda path: vision.utils.parse_padding((1, -2)), ValueError, "'padding' must be an int of 0"),
    (lambda path: vision.utils.parse_padding(1.5), TypeError, "'padding' must be an int"),
])
def test_what_is_refused(tmp_path, call, error, words):
    (tmp_path / "x").write_bytes(b"no image")
    with pytest.raises(error, match=words):
        call(str(tmp_path / "x"))


@pytest.mark.parametrize("image", [IMAGE, GRAY, GRAY[..., None], IMAGE.transpose(1, 0, 2)])
def test_files_are_those_of_opencv(tmp_path, image):
    plain = np.ascontiguousarray(image[..., ::-1] if image.shape[2:] == (3,) else image)
    path = str(tmp_path / "x")
    for quality in (1, 75, 95, 100):
        wanted = cv2.imencode(".jpg", plain, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
        np.testing.assert_array_equal(vision.encode_jpeg(image, quality), wanted)
        vision.write_jpeg(path, image, quality)
        np.testing.assert_array_equal(vision.read_file(path), wanted)
    for level in (0, 6, 9):
        wanted = cv2.imencode(".png", plain, [cv2.IMWRITE_PNG_COMPRESSION, level])[1]
        np.testing.assert_array_equal(vision.encode_png(image, level), wanted)
        vision.write_png(path, image, level)
        np.testing.assert_array_equal(vision.read_file(path), wanted)
    np.testing.assert_array_equal(vision.encode_jpeg(image), vision.encode_jpeg(image, 75))
    np.testing.assert_array_equal(vision.encode_png(image), vision.encode_png(image, 6))


def test_how_many_channels_more_dimensions_have():
    assert vision.get_image_num_channels(np.zeros((2, 5, 7, 4))) == 4
    assert vision.get_image_size(np.zeros((9, 2, 5, 7, 4))) == [5, 7]
    for channels in (2, 4):
        for encode in (vision.encode_jpeg, vision.encode_png):
            with pytest.raises(RuntimeError, match=f"1 or 3 channels, but got {channels}"):
                encode(np.zeros((3, 5, channels), np.uint8))


@pytest.mark.parametrize("given", [-1, (1, -1), (1, 2, -1, 4), (1,), (1, 2, 3, 4, 5), ()])
def test_padding_that_is_none(given):
    with pytest.raises(ValueError, match="'padding' must be an int"):
        vision.utils.parse_padding(given)
