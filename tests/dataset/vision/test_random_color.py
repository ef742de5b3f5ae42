"""Random changes of colours."""

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import vision
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
