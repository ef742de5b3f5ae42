"""Colour operations with fixed factors: what an argument stands for, and which images are taken."""

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

from lamella.dataset import vision
from lamella.dataset.vision import kernels

IMAGE = np.random.default_rng(2).integers(20, 220, (7, 9, 3)).astype(np.uint8)


@pytest.mark.parametrize("given, size, sigma", [
    ((5,), (5, 5), (1.1, 1.1)), ((3, 2.0), (3, 3), (2.0, 2.0)), (((3, 7),), (3, 7), (0.8, 0.8)),
    (([7, 3], [0.5, 2.0]), (7, 3), (0.5, 2.0)), ((5, (0.7, 0)), (5, 5), (0.7, 0.7)),
    ((5, (0, 0.7)), (5, 5), (1.1, 0.7)), ((5, 0), (5, 5), (1.1, 1.1)),
    ((5, 0.0), (5, 5), (1.1, 1.1)), ((1,), (1, 1), (0.5, 0.5))])
def test_how_wide_a_blur_is(given, size, sigma):
    """Where it isn't said, by the width in pixels: 0.3 * ((width - 1) / 2 - 1) + 0.8."""
    found = vision.GaussianBlur(*given)(IMAGE)
    np.testing.assert_array_equal(found, kernels.blurred(IMAGE, size, sigma))


@pytest.mark.parametrize("given, error", [
    ((2,), ValueError), ((0,), ValueError), (((3, 4),), ValueError), ((-1,), ValueError),
    (((1, 3, 5),), (TypeError, ValueError)), ((3, -0.1), ValueError), ((3, (1, -1)), ValueError),
    ((3.0,), TypeError), ((3, "1"), TypeError)])
def test_blurs_that_are_none(given, error):
    with pytest.raises(error, match="GaussianBlur|kernel_size|sigma"):
        vision.GaussianBlur(*given)


@pytest.mark.parametrize("make, channels", [
    (lambda: vision.AdjustBrightness(1.5), (1, 3)), (lambda: vision.AdjustContrast(1.5), (3,)),
    (lambda: vision.AdjustSaturation(1.5), (3,)), (lambda: vision.AdjustHue(0.1), (3,)),
    (vision.AutoContrast, (1, 3)), (vision.Equalize, (1, 3)),
    (lambda: vision.Solarize(128), (1, 3)), (lambda: vision.RandomAutoContrast(prob=1.0), (1, 3)),
    (lambda: vision.RandomEqualize(1.0), (1, 3)), (lambda: vision.RandomSolarize(), (1, 3)),
    (lambda: vision.RandomColor((0.5, 0.5)), (3,)), (lambda: vision.RandomLighting(0.1), (3,))])
def test_how_many_channels_are_taken(make, channels):
    operation = make()
    for count in (1, 2, 3, 4):
        image = np.dstack([IMAGE, IMAGE])[..., :count]
        if count in channels:
            assert operation(image).shape == image.shape
        else:
            with pytest.raises(RuntimeError, match="channel|shape"):
                operation(image)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("gamma, gain", [(2.0, 1.0), (0.5, 1.7), (1.0, 0.3)])
def test_gamma_of_numbers_from_0_to_1(kind, gamma, gain):
    image = np.linspace(0, 1, 30).reshape(2, 5, 3).astype(kind)
    found = vision.AdjustGamma(gamma, gain)(image)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.clip((image * gain)**gamma, 0, 1), rtol=1e-5)


@pytest.mark.parametrize("gamma, gain", [(1.0, 0.5), (2.2, 1.0), (0.4, 2.0), (1.0, 0.0)])
def test_gamma_of_bytes(gamma, gain):
    """256 steps from 0 to 255; other numbers are taken as the nearest of these."""
    byte = np.arange(256).reshape(4, 64)
    wanted = np.clip(np.floor((byte / 255)**gamma * gain * 255.999), 0, 255)
    change = vision.AdjustGamma(gamma, gain)
    for kind in (np.uint8, np.int16, np.uint16, np.int32):
        found = change(byte.astype(kind))
        assert found.dtype == kind
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(change(byte.astype(np.uint8).view(np.int8)).view(np.uint8),
                                  wanted)
    assert change(np.array([[-3, 0, 1, 255, 300]], np.int16)).tolist() == [
        wanted.ravel()[[0, 0, 1, 255, 255]].tolist()]
    np.testing.assert_array_equal(change(Image.fromarray(byte.astype(np.uint8))), wanted)


@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 1.9])
def test_pictures_are_changed_by_pillow(factor):
    picture = Image.fromarray(IMAGE)
    for kind, name in ((vision.AdjustBrightness, "Brightness"), (vision.AdjustContrast, "Contrast"),
                       (vision.AdjustSaturation, "Color")):
        wanted = getattr(ImageEnhance, name)(picture).enhance(factor)
        np.testing.assert_array_equal(np.asarray(kind(factor)(picture)), np.asarray(wanted))


@pytest.mark.parametrize("cutoff, ignore", [(0.0, None), (7.0, None), (0.0, 21), (3.0, [30, 200])])
def test_contrast_of_pictures_and_arrays(cutoff, ignore):
    picture = Image.fromarray(IMAGE)
    listed = [ignore] if isinstance(ignore, int) else ignore
    wanted = ImageOps.autocontrast(picture, cutoff, listed)
    found = vision.AutoContrast(cutoff, ignore)(picture)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    array = vision.AutoContrast(cutoff, ignore)(IMAGE)
    np.testing.assert_array_equal(array, kernels.auto_contrasted(IMAGE, cutoff, listed))
    np.testing.assert_array_equal(vision.RandomAutoContrast(cutoff, ignore, 1.0)(IMAGE), array)


@pytest.mark.parametrize("turn", [-0.5, -0.2, 0.0, 0.25, 0.5])
def test_the_hue_of_pictures_is_a_byte(turn):
    picture = Image.fromarray(IMAGE)
    hue, *rest = picture.convert("HSV").split()
    turned = ((np.asarray(hue).astype(int) + int(turn * 255)) % 256).astype(np.uint8)
    wanted = Image.merge("HSV", (Image.fromarray(turned), *rest)).convert("RGB")
    np.testing.assert_array_equal(np.asarray(vision.AdjustHue(turn)(picture)), np.asarray(wanted))
    for mode in ("L", "1", "I", "F"):
        other = picture.convert("L").convert(mode)
        assert vision.AdjustHue(turn)(other) is other
    for beyond in (-0.51, 0.51):
        with pytest.raises(ValueError, match="hue_factor"):
            vision.AdjustHue(beyond)


@pytest.mark.parametrize("threshold, low, high", [
    (100, 100, None), (100.5, 100.5, None), ((60, 100), 60, 100), ((100, 100), 100, None)])
def test_what_is_solarized(threshold, low, high):
    inside = (low <= IMAGE) & (True if high is None else high >= IMAGE)
    np.testing.assert_array_equal(vision.Solarize(threshold)(IMAGE),
                                  np.where(inside, 255 - IMAGE, IMAGE))
