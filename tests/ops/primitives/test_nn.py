"""Convolutions, dropout, padding and look-ups as Primitives: formats, options and their limits."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(4)


def drawn(*shape):
    return RNG.normal(size=shape).astype(np.float32)


IMAGES, VOLUMES = drawn(2, 4, 5, 7), drawn(2, 4, 3, 5, 6)
KERNELS, CUBES = drawn(6, 2, 2, 3), drawn(6, 2, 2, 3, 1)
t = torch.from_numpy


def last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), np.asarray(wanted), rtol=1e-4, atol=1e-5)


def test_convolutions_with_all_their_attributes():
    options = {"pad_mode": "pad", "stride": (1, 2), "dilation": (2, 1), "group": 2}
    wanted = F.conv2d(t(IMAGES), t(KERNELS), None, (1, 2), (1, 2), (2, 1), 2).numpy()
    conv = ops.Conv2D(6, (2, 3), pad=(1, 1, 2, 2), **options)
    close(conv(Tensor(IMAGES), Tensor(KERNELS)), wanted)
    conv = ops.Conv2D(6, (2, 3), pad=(1, 1, 2, 2), data_format="NHWC", **options)
    close(conv(Tensor(last(IMAGES)), Tensor(last(KERNELS))), last(wanted))
    options |= {"stride": (1, 2, 1), "dilation": (2, 1, 3)}
    wanted = F.conv3d(t(VOLUMES), t(CUBES), None, (1, 2, 1), (1, 2, 0), (2, 1, 3), 2).numpy()
    conv = ops.Conv3D(6, (2, 3, 1), pad=(1, 1, 2, 2, 0, 0), **options)
    close(conv(Tensor(VOLUMES), Tensor(CUBES)), wanted)


@pytest.mark.parametrize("made", [
    lambda: ops.Conv2D(1, (2, 2, 2)), lambda: ops.Conv3D(1, (2, 2)),
    lambda: ops.Conv2D(1, 2, stride=(1, 1, 1)), lambda: ops.Conv3D(1, 2, stride=(1, 1)),
    lambda: ops.Conv2D(1, 2, dilation=(1, 1, 1)), lambda: ops.Conv2D(1, 0),
    lambda: ops.Conv2D(1, 1, stride=0), lambda: ops.Conv2D(1, 1, pad_mode="full"),
    lambda: ops.DepthwiseConv2dNative((1, 1), 1), lambda: ops.DepthwiseConv2dNative(0, 1),
    lambda: ops.DepthwiseConv2dNative(1, (1, 1, 1)), lambda: ops.DepthwiseConv2dNative(1, 1, 2),
    lambda: ops.DepthwiseConv2dNative(1, 1, 4), lambda: ops.DepthwiseConv2dNative(1, 1, group=2),
    lambda: ops.DepthwiseConv2dNative(1, 1, 1, group=1),
    lambda: ops.DepthwiseConv2dNative(1, 1, pad_mode="full")])
def test_attributes_that_do_not_fit(made):
    with pytest.raises(ValueError, match="^For '"):
        made()


@pytest.mark.parametrize("given", ["valid", "same", "pad"])
def test_transposed_convolutions_of_a_size(given):
    """What the convolution of an image of that size would give goes back to its places."""
    kernels = drawn(6, 4, 2, 3)
    image = t(IMAGES).clone().requires_grad_()
    padded = {"valid": (0, 0, 0, 0), "same": (1, 1, 0, 1), "pad": (1, 2, 1, 0)}[given]
    out = F.conv2d(F.pad(image, padded), t(kernels), None, (1, 1))
    step = torch.randn(out.shape, generator=torch.Generator().manual_seed(0))
    out.backward(step)
    left, right, top, bottom = padded
    size = Tensor([2, 4, 5, 7])
    for options in ({"pad_list": (top, bottom, left, right)}, {"pad": (top, bottom, left, right)}):
        if given != "pad":
            options = {"pad_list": (9, 9, 9, 9)}  # which counts with "pad" only
        for each in (size, (2, 4, 5, 7)):
            found = ops.Conv2DTranspose(6, (2, 3), given, **options)(
                Tensor(step), Tensor(kernels), each)
            close(found, image.grad)


def test_depthwise_filters_stand_side_by_side():
    kernels = drawn(3, 4, 2, 3)
    found = ops.DepthwiseConv2dNative(3, (2, 3), 3, "pad", (1, 1, 2, 2), (2, 2))(
        Tensor(IMAGES), Tensor(kernels))
    filters = np.stack([kernels[m, c] for c in range(4) for m in range(3)])[:, None]
    close(found, F.conv2d(t(IMAGES), t(filters), None, 2, (1, 2), 1, 4))
    for x, weight in ((IMAGES, kernels[:2]), (IMAGES, kernels[:, :3]), (IMAGES[0], kernels),
                      (IMAGES, kernels[..., :2]), (IMAGES[:, :3], kernels)):
        with pytest.raises(ValueError, match="'x' must have the shape"):
            ops.DepthwiseConv2dNative(3, (2, 3))(Tensor(x), Tensor(weight))


def test_biases_of_channels():
    bias = drawn(4)
    close(ops.BiasAdd("NHWC")(Tensor(last(IMAGES)), Tensor(bias)), last(IMAGES) + bias)
    close(ops.BiasAdd()(Tensor(IMAGES), Tensor(bias)), IMAGES + bias[:, None, None])
    close(ops.BiasAdd("NCDHW")(Tensor(VOLUMES), Tensor(bias)), VOLUMES + bias[:, None, None, None])


@pytest.mark.parametrize("make", [ops.Dropout, ops.Dropout2D, ops.Dropout3D])
def test_the_share_that_is_kept(make):
    make(1), make(1e-9)
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"must be in \[0, 1\]"):
            make(share)
    for share in (True, "0.5", None):
        with pytest.raises(TypeError, match="must be a number"):
            make(share)


@pytest.mark.parametrize("make, shape, alike", [
    (ops.Dropout, (40, 50), ()), (ops.Dropout2D, (40, 50, 2, 3), (2, 3)),
    (ops.Dropout3D, (40, 50, 2, 1, 3), (2, 3, 4))])
def test_what_is_dropped(make, shape, alike):
    ms.set_seed(3)
    x = drawn(*shape)
    out, mask = make(0.8)(Tensor(x))
    kept = mask.asnumpy()
    assert kept.shape == x.shape and mask.dtype is (ms.bool_ if alike else ms.float32)
    assert (kept.min(alike) == kept.max(alike)).all()  # of a channel all or nothing
    np.testing.assert_allclose(out.asnumpy(), x * kept / 0.8, rtol=1e-5)
    assert abs(kept.mean() - 0.8) < 0.04


def test_nothing_kept_of_channels():
    for make, shape in ((ops.Dropout2D, (2, 3, 1, 1)), (ops.Dropout3D, (2, 3, 1, 1, 1))):
        out, mask = make(0.0)(ops.ones(shape))
        assert not out.asnumpy().any() and not mask.asnumpy().any()
    with pytest.raises(ValueError, match="must be above 0"):
        ops.Dropout(0.0)


def test_padding():
    x = drawn(2, 3)
    close(ops.Pad(((1, 0), (2, 3)))(Tensor(x)), np.pad(x, ((1, 0), (2, 3))))
    for pads in (((1, 0),), ((1, 0), (2, 3), (0, 0))):
        with pytest.raises(ValueError, match="'paddings' must have 2 pairs"):
            ops.Pad(pads)(Tensor(x))
    for paddings in ((2, 3, 1, 0), Tensor([2, 3, 1, 0])):
        close(ops.PadV3()(Tensor(x), paddings, 7.0), np.pad(x, ((1, 0), (2, 3)),
                                                            constant_values=7))
    close(ops.PadV3("edge", False)(Tensor(x[None]), (2, 0, 3, 1)),
          np.pad(x[None], ((0, 0), (0, 1), (2, 3)), "edge"))
    for mode in ("reflect", "edge", "circular"):
        close(ops.PadV3(mode)(Tensor(x[None]), (2, 1)), np.pad(
            x[None], ((0, 0), (0, 0), (2, 1)), "wrap" if mode == "circular" else mode))
    close(ops.MirrorPad("SYMMETRIC")(Tensor(x), Tensor([[1, 0], [2, 3]])),
          np.pad(x, ((1, 0), (2, 3)), "symmetric"))


@pytest.mark.parametrize("offset", [0, 2, -1])
def test_rows_of_a_slice_of_a_table(offset):
    table = drawn(3, 2, 4)
    places = np.array([[0, 1, 2], [3, 4, -1], [5, -2, 2]])
    found = ops.EmbeddingLookup()(Tensor(table), Tensor(places, ms.int32), offset)
    rows = places - offset
    wanted = np.where(((rows >= 0) & (rows < 3))[..., None, None], table[rows.clip(0, 2)], 0)
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    found = ops.EmbeddingLookup()(Tensor([[5.0]]), Tensor([offset, offset + 1]), offset)
    assert found.tolist() == [[5], [0]]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_among_zeros(axis):
    on, off = Tensor(3.0), Tensor(-1.0)
    found = ops.OneHot(axis)(Tensor([0, 2, 1, 5]), 3, on, off).asnumpy()
    wanted = np.where(np.array([0, 2, 1, 5])[:, None] == np.arange(3), 3.0, -1.0)
    np.testing.assert_array_equal(found, wanted.T if axis == 0 else wanted)


def test_neighbouring_channels_by_position():
    x = IMAGES[:1]
    around = np.stack([(x[:, max(c - 1, 0):c + 2] ** 2).sum(1) for c in range(4)], 1)
    close(ops.LRN(1, 0.5, 0.3, 0.7)(Tensor(x)), x / (0.5 + 0.3 * around) ** 0.7)
