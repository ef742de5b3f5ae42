"""Parts cut out of images, beside loops over their points."""

import math

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.image import extract_glimpse

RNG = np.random.default_rng(14)
IMAGES = RNG.standard_normal((2, 5, 7, 3)).astype(np.float32)
BOXES = np.array([[0.0, 0.0, 1.0, 1.0], [0.25, 0.1, 0.7, 0.9], [-0.2, 0.3, 0.6, 1.3],
                  [0.91, 0.83, 0.22, 0.13]], np.float32)  # the last one is turned over
WHICH = np.array([1, 0, 1, 0])


def places(start, end, count, length):
    if count == 1:
        return [(start + end) / 2 * (length - 1)]
    return [(start + i * (end - start) / (count - 1)) * (length - 1) for i in range(count)]


def point(image, y, x, method):
    height, width, _ = image.shape
    if method == "nearest":
        return image[math.floor(y + 0.5), math.floor(x + 0.5)]
    top, left = int(y), int(x)
    low, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    return ((1 - dy) * ((1 - dx) * image[top, left] + dx * image[top, right])
            + dy * ((1 - dx) * image[low, left] + dx * image[low, right]))


@pytest.mark.parametrize("size", [(4, 6), (1, 3), (3, 1), (9, 2)])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("outside", [0.0, -3.5])
def test_crops(size, method, outside):
    found = ops.crop_and_resize(Tensor(IMAGES), Tensor(BOXES), Tensor(WHICH, ms.int32), size,
                                method, outside).asnumpy()
    want = np.full((4, *size, 3), outside)
    for box, (y0, x0, y1, x1) in enumerate(BOXES.astype(float)):
        for i, y in enumerate(places(y0, y1, size[0], 5)):
            for j, x in enumerate(places(x0, x1, size[1], 7)):
                if -1e-6 <= y <= 4 + 1e-6 and -1e-6 <= x <= 6 + 1e-6:
                    want[box, i, j] = point(IMAGES[WHICH[box]], min(max(y, 0), 4),
                                            min(max(x, 0), 6), method)
    np.testing.assert_allclose(found, want, atol=1e-4)


@pytest.mark.parametrize("size", [(4, 6), (1, 3), (9, 2)])
def test_crops_of_whole_pixels_are_interpolated(size):
    boxes = np.array([[0.1, 0.2, 0.7, 0.8], [0.3, 0.0, 0.3, 0.99], [-0.5, 0.5, 1.2, 1.4]])
    found = ops.crop_and_resize(Tensor(IMAGES), Tensor(boxes, ms.float32), Tensor([1, 0, 1]), size,
                                "bilinear_v2")
    for box, (y0, x0, y1, x1) in enumerate(boxes):
        rows = np.arange(math.trunc(y0 * 5), math.trunc(y1 * 5) + 1).clip(0, 4)
        columns = np.arange(math.trunc(x0 * 7), math.trunc(x1 * 7) + 1).clip(0, 6)
        part = IMAGES[[1, 0, 1][box]][rows][:, columns].transpose(2, 0, 1)[None]
        want = torch.nn.functional.interpolate(torch.from_numpy(part), size, mode="bilinear")[0]
        np.testing.assert_allclose(found[box].asnumpy(), want.permute(1, 2, 0), atol=1e-5)


def test_words_and_shapes_of_crops():
    with pytest.raises(ValueError, match="'method' must be"):
        ops.crop_and_resize(Tensor(IMAGES), Tensor(BOXES), Tensor(WHICH), (2, 2), "area")
    for image, box in (((5, 7, 3), (4, 4)), ((2, 5, 7, 3), (4, 3)), ((2, 5, 7, 3), (4, 5)),
                       ((2, 5, 7, 3), (4,)), ((2, 5, 7, 3, 1), (4, 4))):
        with pytest.raises(ValueError, match="must have the shapes"):
            ops.crop_and_resize(ops.ones(image), ops.ones(box), Tensor(WHICH), (2, 2))
    whole = ops.crop_and_resize(ops.ones((2, 3, 3, 1), ms.int32), Tensor(BOXES), Tensor(WHICH),
                                (2, 2))
    assert whole.dtype is ms.float32


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_windows_of_images(centered, normalized):
    offsets = np.array([[-0.15, 0.2], [0.87, 0.61]], np.float32) * (1 if normalized else [5, 7])
    found = extract_glimpse(Tensor(IMAGES), (3, 4), Tensor(offsets, ms.float32), centered,
                            normalized, "zero").asnumpy()
    want, outside = np.zeros((2, 3, 4, 3)), 0
    for n, offset in enumerate(offsets):
        centre = offset * [5, 7] if normalized else offset
        if centered:
            centre = (centre + [5, 7]) / 2
        top, left = (math.trunc(c - s / 2) for c, s in zip(centre, (3, 4), strict=True))
        for i, j in np.ndindex(3, 4):
            if 0 <= top + i < 5 and 0 <= left + j < 7:
                want[n, i, j] = IMAGES[n, top + i, left + j]
            else:
                outside += 1
    assert 0 < outside < 24
    np.testing.assert_array_equal(found, want.astype(np.float32))


def test_noise_has_the_mean_and_the_deviation_of_the_images():
    ms.set_seed(3)
    images = Tensor((RNG.standard_normal((2, 30, 30, 2)) * 5 + 40).astype(np.float32))
    far = Tensor([[500.0, 500.0], [-500.0, 500.0]])
    found = extract_glimpse(images, (30, 30), far, False, False, "gaussian").asnumpy()
    assert abs(found.mean() - 40) < 1 and abs(found.std() - 5) < 0.5


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("size", [(3, 2, 4, 5), (3, 2, 4, 5, 6)])
def test_grids_of_examples(size, corners):
    rank = len(size) - 2
    theta = RNG.standard_normal((2, 3, rank, rank + 1)).astype(np.float32)
    found = ops.vmap(lambda t: ops.affine_grid(t, size, corners))(Tensor(theta))
    for i in range(2):
        want = torch.nn.functional.affine_grid(torch.from_numpy(theta[i]), list(size), corners)
        np.testing.assert_allclose(found[i].asnumpy(), want, atol=1e-5)
        alone = ops.affine_grid(Tensor(theta[i]), size, corners)
        np.testing.assert_allclose(alone.asnumpy(), want, atol=1e-6)


@pytest.mark.parametrize("axes", [(1, 0), (0, -1), (-1, 1), (None, 2), (3, None)])
def test_values_at_points_of_examples(axes):
    """PyTorch's rule mixes sizes up where the examples lie along different axes."""
    images = RNG.standard_normal((3, 2, 2, 4, 5)).astype(np.float32)
    grids = RNG.uniform(-1, 1, (3, 2, 4, 3, 2)).astype(np.float32)
    given = [array[0] if axis is None else np.moveaxis(array, 0, axis)
             for array, axis in zip((images, grids), axes, strict=True)]
    found = ops.vmap(ops.grid_sample, in_axes=axes)(*map(Tensor, given))
    for i in range(3):
        one = [array[0 if axis is None else i]
               for array, axis in zip((images, grids), axes, strict=True)]
        np.testing.assert_allclose(found[i].asnumpy(), ops.grid_sample(*map(Tensor, one)).asnumpy(),
                                   atol=1e-6)


@pytest.mark.parametrize("corners", [None, False, True])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_values_at_points(corners, mode, padding):
    grid = (RNG.random((2, 4, 3, 2)) * 3 - 1.5).astype(np.float32)
    images = IMAGES.transpose(0, 3, 1, 2)
    found = ops.grid_sample(Tensor(images), Tensor(grid), mode, padding, corners)
    want = torch.nn.functional.grid_sample(torch.from_numpy(images), torch.from_numpy(grid), mode,
                                           padding, bool(corners))
    np.testing.assert_allclose(found.asnumpy(), want, atol=1e-6)


def test_noise_of_each_kind_around_a_small_image():
    """Two pixels, 2 and 4: their deviation is 1, the square root of the mean square."""
    ms.set_seed(4)
    image, far = Tensor([[[[2.0], [4.0]]]]), Tensor([[1000.0, 1000.0]])
    even = extract_glimpse(image, (60, 60), far, False, False, "uniform").asnumpy()
    assert -1 <= even.min() < -0.99 and 0.99 < even.max() <= 1 and abs(even.mean()) < 0.05
    bell = extract_glimpse(image, (60, 60), far, False, False, "gaussian").asnumpy()
    assert abs(bell.mean() - 3) < 0.1 and abs(bell.std() - 1) < 0.08
