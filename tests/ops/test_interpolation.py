"""Which ranks each way to interpolate takes, and resized images beside the formulas of each filter
and each convention on the places of pixels."""

import math

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.interpolation import resize_area, resized, scale_and_translate

RANKS = {"nearest": {3, 4, 5}, "linear": {3}, "bilinear": {4}, "bicubic": {4}, "trilinear": {5},
         "area": {3, 4, 5}, "nearest-exact": {3, 4}}


@pytest.mark.parametrize("mode", RANKS)
@pytest.mark.parametrize("rank", [2, 3, 4, 5, 6])
def test_ranks(mode, rank):
    raw = torch.arange(float(2 * 3 ** (rank - 1))).reshape(2, *[3] * (rank - 1))
    size = (5,) * (rank - 2)
    if rank not in RANKS[mode]:
        with pytest.raises((ValueError, TypeError)):
            ops.interpolate(Tensor(raw.numpy()), size, mode=mode)
        return
    found = ops.interpolate(Tensor(raw.numpy()), size, mode=mode)
    assert found.shape == (2, 3, *size)
    if mode == "bicubic":  # whose coefficients are others in MindSpore
        return
    wanted = torch.nn.functional.interpolate(raw, size, mode=mode)
    torch.testing.assert_close(torch.from_numpy(found.asnumpy()), wanted)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "bool_"])
def test_nearest_pixels_of_any_type(kind):
    """Labels and masks are resized, too, to the same pixels as numbers of a floating type."""
    raw = torch.arange(24.0).reshape(1, 2, 3, 4) % 7
    image = Tensor(raw.numpy()).astype(getattr(ms, kind))
    for size in [(6, 8), (2, 3), (5, 1), (7, 9)]:
        wanted = ops.ResizeNearestNeighbor(size)(image.astype(ms.float32))
        for found in (ops.ResizeNearestNeighbor(size)(image),
                      ops.ResizeNearestNeighborV2()(image, size)):
            assert found.dtype == image.dtype
            assert (found.astype(ms.float32) == wanted).all()


RNG = np.random.default_rng(23)


def lanczos(radius):
    return lambda x: float(np.sinc(x) * np.sinc(x / radius)) if x <= radius else 0.0


def cubic(near, far):
    """From the coefficients of both parts, the highest power first."""
    return lambda x: float(np.polyval(near if x < 1 else far, x)) if x < 2 else 0.0


FILTERS = {
    "lanczos1": lanczos(1), "lanczos3": lanczos(3), "lanczos5": lanczos(5),
    "gaussian": lambda x: math.exp(-2 * x * x) if x < 1.5 else 0.0,
    "box": lambda x: 1.0 if x < 0.5 else 0.5 if x == 0.5 else 0.0,
    "triangle": lambda x: max(1 - x, 0.0),
    "keyscubic": cubic([1.5, -2.5, 0, 1], [-0.5, 2.5, -4, 2]),
    "mitchellcubic": cubic([7 / 6, -2, 0, 8 / 9], [-7 / 18, 2, -10 / 3, 16 / 9])}


def weights(n, length, scale, move, kernel, antialias):
    out = np.zeros((length, n))
    wide = max(1 / scale, 1) if antialias else 1
    for i in range(length):
        place = (i + 0.5 - move) / scale
        if 0 <= place <= n:
            row = [FILTERS[kernel](abs(pixel + 0.5 - place) / wide) for pixel in range(n)]
            out[i] = np.array(row) / sum(row) if sum(row) else 0
    return out


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("scale, move", [((1.5, 0.5), (0.25, -0.5)), ((0.3, 2.2), (1.0, -3.0)),
                                         ((1.0, 1.0), (0.0, 0.5))])
@pytest.mark.parametrize("kernel", FILTERS)
def test_images_are_scaled_and_moved(kernel, scale, move, antialias):
    images = RNG.normal(size=(2, 7, 11, 2))
    found = scale_and_translate(Tensor(images), (5, 9), Tensor(scale, ms.float32),
                                Tensor(move, ms.float32), kernel, antialias)
    assert found.dtype == ms.float32
    down, across = (weights(n, length, s, m, kernel, antialias)
                    for n, length, s, m in zip((7, 11), (5, 9), scale, move, strict=True))
    wanted = np.einsum("ph,nhwc,qw->npqc", down, images, across)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-3, atol=2e-4)


def test_the_default_filter_is_widened():
    images, scale, move = Tensor(RNG.normal(size=(1, 8, 9, 1))), Tensor([0.4, 0.5]), Tensor([0., 0])
    np.testing.assert_array_equal(
        scale_and_translate(images, (3, 4), scale, move).asnumpy(),
        scale_and_translate(images, (3, 4), scale, move, "lanczos3", True).asnumpy())


def area(n, length, corners):
    """Means of an image that goes on as its last pixel, by fine steps of 1 / 840 pixel."""
    step = (n - 1) / (length - 1) if corners and length > 1 else n / length
    inside = (np.arange(length)[:, None] + (np.arange(840) + 0.5) / 840) * step
    return (np.minimum(inside.astype(int), n - 1)[..., None] == np.arange(n)).mean(1)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("size", [(3, 4), (1, 7), (8, 12), (2, 1)])
def test_means_over_cells(size, corners):
    images = RNG.normal(size=(2, 5, 7, 3))
    found = resize_area(Tensor(images), size, corners)
    wanted = np.einsum("ph,nhwc,qw->npqc", area(5, size[0], corners), images,
                       area(7, size[1], corners))
    assert found.dtype == ms.float32
    np.testing.assert_allclose(found.asnumpy(), wanted, atol=0.01)


def places(n, length, corners, halves):
    steps = np.arange(length)
    if corners and length > 1:
        return steps * (n - 1) / (length - 1)
    return (steps + 0.5) * n / length - 0.5 if halves else steps * n / length


def cubic_rows(n, length, corners, halves):
    """Keys' weights: with half pixels those of a = -1/2, and none outside of the image."""
    a, out = -0.5 if halves else -0.75, np.zeros((length, n))
    kernel = cubic([a + 2, -a - 3, 0, 1], [a, -5 * a, 8 * a, -4 * a])
    for i, place in enumerate(places(n, length, corners, halves)):
        for at in range(math.floor(place) - 1, math.floor(place) + 3):
            if 0 <= at < n or not halves:
                out[i, min(max(at, 0), n - 1)] += kernel(abs(place - at))
    return out / out.sum(1, keepdims=True) if halves else out


def linear_rows(n, length, corners, halves):
    at = np.clip(places(n, length, corners, halves), 0, n - 1)
    return np.maximum(1 - abs(at[:, None] - np.arange(n)), 0)


def nearest_rows(n, length, corners, halves):
    at = places(n, length, corners, halves)
    at = np.floor(at + 0.5 + 1e-6 if corners or halves else at + 1e-6)
    return (np.clip(at, 0, n - 1)[:, None] == np.arange(n)).astype(float)


@pytest.mark.parametrize("corners, halves", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("mode, rows", [("bicubic", cubic_rows), ("bilinear", linear_rows),
                                        ("nearest", nearest_rows)])
@pytest.mark.parametrize("size", [(4, 3), (9, 13), (1, 5), (5, 7)])
def test_conventions_on_where_pixels_lie(mode, rows, size, corners, halves):
    images = RNG.normal(size=(2, 3, 5, 7)).astype(np.float32)
    wanted = np.einsum("ph,nchw,qw->ncpq", rows(5, size[0], corners, halves), images,
                       rows(7, size[1], corners, halves))
    for given in (size, Tensor(size, ms.int64)):
        found = resized("Resize", Tensor(images), given, mode, corners, halves)
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-2, atol=1e-2)


def test_conventions_that_do_not_go_together():
    image = ops.ones((1, 1, 2, 2))
    with pytest.raises(ValueError, match="'align_corners' and 'half_pixel_centers' can't both"):
        resized("Resize", image, (3, 3), "bilinear", True, True)
    with pytest.raises(ValueError, match=r"must have rank 4, but got shape \(1, 2, 2\)"):
        resized("Resize", image[0], (3, 3), "bilinear", False, False)
    whole = ops.ones((1, 1, 2, 2), ms.int32)
    assert resized("Resize", whole, (3, 3), "bilinear", False, False).dtype == ms.float32
    assert resized("Resize", whole, (3, 3), "nearest", False, False).dtype == ms.int32


@pytest.mark.parametrize("factors", [[1.5], [2, 0.5, 1], [1.5, 0], [0.5, -1], 0, -0.5])
def test_factors_are_positive_and_one_for_each_side(factors):
    with pytest.raises(ValueError, match=r"a positive number or 2 of them, but got"):
        ops.interpolate(ops.ones((1, 1, 4, 6)), None, factors, "area")


@pytest.mark.parametrize("factors, lengths", [([1.5, 0.5], (7, 3)), (0.4, (2, 2)), (1, (5, 7)),
                                              ([2, 0.99], (10, 6))])
@pytest.mark.parametrize("mode", ["area", "bilinear", "nearest"])
def test_factors_are_made_to_lengths(factors, lengths, mode):
    images = RNG.normal(size=(2, 3, 5, 7))
    found = ops.interpolate(Tensor(images), None, factors, mode,
                            recompute_scale_factor=None if mode == "area" else True)
    wanted = torch.nn.functional.interpolate(torch.from_numpy(images), lengths, mode=mode)
    np.testing.assert_allclose(found.asnumpy(), wanted.numpy(), rtol=1e-9, atol=1e-12)
    if mode != "area":
        with pytest.raises(ValueError, match=f"'recompute_scale_factor=True' in mode {mode!r} for "
                                             "an input of rank 4"):
            ops.interpolate(Tensor(images), None, factors, mode)


@pytest.mark.parametrize("mode", ["nearest", "trilinear"])
def test_volumes_take_factors_as_they_are(mode):
    volume = RNG.normal(size=(1, 2, 3, 4, 5))
    found = ops.interpolate(Tensor(volume), None, [1.7, 0.6, 1.3], mode)
    wanted = torch.nn.functional.interpolate(torch.from_numpy(volume), None, [1.7, 0.6, 1.3], mode)
    np.testing.assert_allclose(found.asnumpy(), wanted.numpy(), rtol=1e-9, atol=1e-12)


def test_sizes_or_factors_and_corners_by_mode():
    image = ops.ones((1, 1, 4, 6))
    for size, factor in ((None, None), ((2, 3), 2.0)):
        with pytest.raises(ValueError, match="exactly one of 'size' and 'scale_factor'"):
            ops.interpolate(image, size, factor, "area")
    for mode in ("nearest", "area", "nearest-exact"):
        with pytest.raises(ValueError, match=f"'align_corners' goes with .* got mode '{mode}'"):
            ops.interpolate(image, (2, 3), None, mode, False)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_channels_are_dealt_out_in_turn(groups):
    x = Tensor(np.arange(24).reshape(2, 6, 2, 1))
    order = np.arange(6).reshape(groups, -1).T.reshape(-1)
    np.testing.assert_array_equal(ops.channel_shuffle(x, groups).asnumpy(), x.asnumpy()[:, order])
    for bad in (0, -1, 4, 12):
        with pytest.raises(ValueError, match=f"must divide the 6 channels, but got {bad}"):
            ops.channel_shuffle(x, bad)


WINDOWS = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}


def windows(images, kernel_size, dilation, padding, stride):
    """Columns of windows, one window and one place in it after the other."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel_size, dilation, padding, stride
    x = np.pad(images, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    rows = range(0, x.shape[2] - dh * (kh - 1), sh)
    columns = range(0, x.shape[3] - dw * (kw - 1), sw)
    parts = [[x[:, :, i:i + dh * (kh - 1) + 1:dh, j:j + dw * (kw - 1) + 1:dw]
              for j in columns] for i in rows]
    parts = np.stack([part for row in parts for part in row], -1)
    return parts.reshape(len(x), -1, parts.shape[-1])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.uint8])
def test_windows_as_columns(kind):
    images = (np.arange(2 * 3 * 5 * 7) % 100).reshape(2, 3, 5, 7).astype(kind)
    found = ops.unfold(Tensor(images), *WINDOWS.values())
    assert found.dtype == Tensor(images).dtype
    np.testing.assert_array_equal(found.asnumpy(), windows(images, **WINDOWS))
    plain = ops.unfold(Tensor(images), 2)
    ones = {"kernel_size": (2, 2), "dilation": (1, 1), "padding": (0, 0), "stride": (1, 1)}
    np.testing.assert_array_equal(plain.asnumpy(), windows(images, **ones))


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("size", [(5, 7), Tensor([5, 7])], ids=["tuple", "Tensor"])
def test_columns_are_summed_where_they_came_from(rank, size):
    """`fold` is the transpose of `unfold`."""
    images = RNG.normal(size=(2, 3, 5, 7))
    columns = RNG.normal(size=windows(images, **WINDOWS).shape)
    given = columns.reshape(2, 3, 6, -1) if rank == 4 else columns
    found = ops.fold(Tensor(given), size, *WINDOWS.values()).asnumpy()
    assert found.shape == images.shape
    np.testing.assert_allclose((found * images).sum((1, 2, 3)),
                               (columns * windows(images, **WINDOWS)).sum((1, 2)))
    if rank == 4:
        again = ops.col2im(Tensor(given), size, *WINDOWS.values())
        np.testing.assert_array_equal(again.asnumpy(), found)


@pytest.mark.parametrize("padding", [2**31, (0, 2**31), [2**31 + 1, 0]])
def test_padding_beyond_the_kernels_integers(padding):
    with pytest.raises(ValueError, match=r"'padding' must be below 2 \*\* 31"):
        ops.fold(ops.ones((1, 2, 2)), (1, 3), (1, 2), 1, padding)


def test_pixels_of_nothing_have_gradients_of_their_shape():
    x = ops.zeros((0, 12, 2, 3))
    assert ops.pixel_shuffle(x, 2).shape == (0, 3, 4, 6)
    assert ms.grad(lambda x: ops.pixel_shuffle(x, 2).sum())(x).shape == x.shape
    full = Tensor(np.arange(144.0).reshape(1, 2, 12, 2, 3))
    shuffled = ops.pixel_shuffle(full, 2)
    wanted = full.asnumpy().reshape(1, 2, 3, 2, 2, 2, 3).transpose(0, 1, 2, 5, 3, 6, 4)
    np.testing.assert_array_equal(shuffled.asnumpy(), wanted.reshape(1, 2, 3, 4, 6))
    np.testing.assert_array_equal(ops.pixel_unshuffle(shuffled, 2).asnumpy(), full.asnumpy())
