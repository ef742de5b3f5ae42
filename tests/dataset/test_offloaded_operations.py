"""Operations on batches, against the same in NumPy, SciPy and the standard library."""

import colorsys

import numpy as np
import pytest
import scipy.ndimage

import lamella as ms
import lamella.dataset as ds
from lamella.dataset import transforms, vision

IMAGES = np.random.RandomState(0).randint(0, 256, (3, 5, 7, 3)).astype(np.uint8)
GRAY = [0.2989, 0.587, 0.114]


def offloaded(operation, images=IMAGES, count=3):
    data = ds.NumpySlicesDataset({"image": images}, shuffle=False)
    data = data.map([operation], "image", offload=True).batch(count)
    return next(data.create_tuple_iterator(num_epochs=1, output_numpy=True))[0]


def brighter(x, by):
    return np.clip(x * by, 0, 255)


def contrasted(x, by):
    return np.clip(x * by + ((x @ GRAY).mean((1, 2))[:, None, None, None] + 0.5) * (1 - by), 0, 255)


def coloured(x, by):
    return np.clip(x * by + (x @ GRAY)[..., None] * (1 - by), 0, 255)


def turned(x, by):
    flat = [colorsys.rgb_to_hsv(*pixel) for pixel in x.reshape(-1, 3)]
    return np.array([colorsys.hsv_to_rgb((h + by) % 1, s, v) for h, s, v in flat]).reshape(x.shape)


def sharpened(x, by):
    kernel = np.ones((1, 3, 3, 1))
    kernel[0, 1, 1, 0] = 5
    smooth = x.copy()
    smooth[:, 1:-1, 1:-1] = scipy.ndimage.correlate(x, kernel / 13)[:, 1:-1, 1:-1]
    return x * by + smooth * (1 - by)


@pytest.mark.parametrize("operation, reference", [
    *((vision.RandomColorAdjust(**{name: (by, by)}), lambda x, f=f, by=by: f(x, by))
      for name, f, values in (("brightness", brighter, (0.4, 1.7)),
                              ("contrast", contrasted, (0.4, 1.7)),
                              ("saturation", coloured, (0.4, 1.7)), ("hue", turned, (0.3, -0.2)))
      for by in values),
    (vision.RandomColorAdjust((1.3, 1.3), (0.6, 0.6), (1.4, 1.4), (0.1, 0.1)),
     lambda x: turned(adjusted(x), 0.1)),
    *((vision.RandomSharpness((by, by)), lambda x, by=by: sharpened(x, by)) for by in (0.3, 1.8)),
    (vision.RandomHorizontalFlip(1.0), lambda x: x[:, :, ::-1]),
    (vision.RandomVerticalFlip(1.0), lambda x: x[:, ::-1]),
    (vision.RandomHorizontalFlip(0.0), lambda x: x), (vision.HWC2CHW(), lambda x: np.moveaxis(
        x, 3, 1)),
    (vision.Rescale(0.5, 3.0), lambda x: x * 0.5 + 3),
    (vision.Normalize([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]), lambda x: (x - [1, 2, 3]) / [4, 5, 6]),
    (transforms.TypeCast(ms.float16), lambda x: x), (vision.ToType(np.int32), lambda x: x),
], ids=lambda value: type(value).__name__)
def test_as_in_numpy(operation, reference):
    found = offloaded(operation)
    np.testing.assert_allclose(found, reference(IMAGES.astype(np.float64)), rtol=1e-4, atol=2e-3)


def adjusted(x):
    """Each step has the grays of the image as it was given."""
    gray = (x @ GRAY)[..., None]
    x = np.clip(x * 1.3, 0, 255)
    x = np.clip(x * 0.6 + (gray.mean((1, 2), keepdims=True) + 0.5) * 0.4, 0, 255)
    return np.clip(x * 1.4 + gray * -0.4, 0, 255)


def test_each_image_of_a_batch_is_drawn_for_itself():
    images = np.full((40, 2, 3, 3), 100, np.uint8)
    images[:, :, 0] = 7
    flipped = offloaded(vision.RandomHorizontalFlip(0.5), images, 40)[:, 0, 0, 0] == 100
    assert 5 < flipped.sum() < 35
    light = offloaded(vision.RandomColorAdjust((0.5, 1.5)), images, 40)[:, 0, 1, 0]
    assert len(np.unique(light)) == 40 and 50 <= light.min() < 70 < 130 < light.max() <= 150
