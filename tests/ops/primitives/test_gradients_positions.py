"""Gradients of poolings by positions, of convolutions by weights and of resizing, beside PyTorch's.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812  (its usual name)

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import gradients_layers as layers
from lamella.ops.primitives import gradients_positions as positions

RNG = np.random.default_rng(6)


def drawn(*shape):
    return RNG.normal(size=shape).astype(np.float32)


IMAGES, VOLUMES = drawn(2, 3, 5, 7), drawn(2, 3, 4, 5, 6)
t = torch.from_numpy


def pulled(forward, *inputs):
    """A gradient of the result, and those of the inputs for it."""
    given = [t(x).requires_grad_() for x in inputs]
    out = forward(*given)
    dout = drawn(*out.shape)
    return Tensor(dout), [g.numpy() for g in torch.autograd.grad(out, given, t(dout))]


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("x, pool, make, first", [
    (IMAGES, lambda x: F.max_pool2d(x, (2, 3), (1, 2), return_indices=True),
     lambda: positions.MaxPoolGradWithArgmaxV2((2, 3), (1, 2)), False),
    (VOLUMES, lambda x: F.max_pool3d(x, (2, 3, 1), (1, 2, 2), return_indices=True),
     lambda: positions.MaxPool3DGradWithArgmax((2, 3, 1), (1, 2, 2), 0), False),
    (IMAGES, lambda x: F.adaptive_max_pool2d(x, (2, 3), True),
     lambda: positions.AdaptiveMaxPool2DGrad(), True),
    (VOLUMES, lambda x: F.adaptive_max_pool3d(x, (2, 3, 4), True),
     lambda: positions.AdaptiveMaxPool3DGrad(), True)], ids=range(4))
def test_gradients_at_the_places_of_maxima(x, pool, make, first):
    dout, wanted = pulled(lambda v: pool(v)[0], x)
    at = Tensor(pool(t(x))[1])
    given = (dout, Tensor(x)) if first else (Tensor(x), dout)
    close(make()(*given, at), wanted[0])


def test_what_maxima_are_taken_from():
    at = F.max_pool2d(t(IMAGES), (2, 3), (1, 2), return_indices=True)[1]
    dout = drawn(*IMAGES.shape)
    wanted = np.take_along_axis(dout.reshape(2, 3, 35), at.flatten(2).numpy(), 2).reshape(at.shape)
    close(positions.MaxUnpool2DGrad((2, 3))(Tensor(IMAGES), Tensor(dout), Tensor(at)), wanted)
    whole = at + torch.arange(3).reshape(3, 1, 1) * 35  # these count all channels
    close(positions.MaxPoolGradGradWithArgmax()(Tensor(IMAGES), Tensor(dout), Tensor(whole)),
          wanted)
    at = F.max_pool3d(t(VOLUMES), 2, return_indices=True)[1]
    dout = drawn(*VOLUMES.shape)
    wanted = np.take_along_axis(dout.reshape(2, 3, 120), at.flatten(2).numpy(), 2)
    close(positions.MaxUnpool3DGrad(2)(Tensor(VOLUMES), Tensor(dout), Tensor(at)),
          wanted.reshape(at.shape))


@pytest.mark.parametrize("make, forward, x", [
    (positions.AdaptiveAvgPool2DGrad, lambda x: F.adaptive_avg_pool2d(x, (2, 3)), IMAGES),
    (positions.AdaptiveAvgPool3DGrad, lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), VOLUMES)])
def test_gradients_of_adaptive_means(make, forward, x):
    dout, wanted = pulled(forward, x)
    for shape in (x.shape, list(x.shape), Tensor(list(x.shape))):
        close(make()(dout, shape), wanted[0])


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 3, 2, 4, 5)])
def test_gradients_of_affine_grids(size, aligned):
    rank = len(size) - 2
    dout, wanted = pulled(lambda theta: F.affine_grid(theta, list(size), aligned),
                          drawn(2, rank, rank + 1))
    close(positions.AffineGridGrad(aligned)(dout, size), wanted[0])


@pytest.mark.parametrize("longer", [False, True])
def test_gradients_of_convolutions_by_weights(longer):
    kernels, cubes = drawn(4, 3, 2, 3), drawn(4, 3, 2, 3, 1)
    stride, gaps = (1, 2), (2, 1)
    dout, wanted = pulled(lambda x, w: F.conv2d(x, w, None, stride, (1, 2), gaps), IMAGES, kernels)
    filters = positions.Conv2DBackpropFilter(
        4, (2, 3), "pad", (1, 1, 2, 2), stride=(1, 1, *stride) if longer else stride,
        dilation=(1, 1, *gaps) if longer else gaps)
    close(filters(dout, Tensor(IMAGES), kernels.shape), wanted[1])
    stride, gaps = (1, 2, 3), (2, 1, 3)
    dout, wanted = pulled(lambda x, w: F.conv3d(x, w, None, stride, (1, 2, 0), gaps), VOLUMES,
                          cubes)
    options = {"pad_mode": "pad", "pad": (1, 1, 2, 2, 0, 0),
               "stride": (1, 1, *stride) if longer else stride,
               "dilation": (1, 1, *gaps) if longer else gaps}
    close(positions.Conv3DBackpropFilter(4, (2, 3, 1), **options)(
        Tensor(VOLUMES), dout, cubes.shape), wanted[1])
    close(positions.Conv3DBackpropInput(4, (2, 3, 1), **options)(
        Tensor(cubes), dout, VOLUMES.shape), wanted[0])


@pytest.mark.parametrize("kind, shape, size, scales", [
    ("Nearest1D", (2, 3, 5), (8,), [1.6]), ("Nearest2D", (2, 3, 5, 4), (8, 6), [1.6, 1.5]),
    ("Nearest3D", (2, 3, 2, 5, 4), (3, 8, 6), [1.5, 1.6, 1.5]),
    ("Trilinear3D", (2, 3, 2, 5, 4), (3, 8, 6), [1.5, 1.6, 1.5])])
def test_gradients_of_resizing(kind, shape, size, scales):
    mode = {"mode": "trilinear"} if kind == "Trilinear3D" else {}
    x = drawn(*shape)
    make = getattr(positions, f"Upsample{kind}Grad")
    for how in ((size, None), (None, scales)):
        dout, wanted = pulled(lambda v, how=how: F.interpolate(v, *how, **mode), x)
        close(make()(dout, shape, *how), wanted[0])
        forward = getattr(positions, f"Upsample{kind}", None)
        if forward and kind != "Nearest3D" and not mode:
            close(forward()(Tensor(x), *how), F.interpolate(t(x), *how))
    if mode:
        dout, wanted = pulled(lambda v: F.interpolate(v, size, align_corners=True, **mode), x)
        close(make(True)(dout, shape, size), wanted[0])


def test_gradients_of_whole_numbers():
    """Computed in floating numbers, given in their type."""
    found = positions.AdaptiveAvgPool2DGrad()(Tensor([[[[8]]]]), (1, 1, 2, 2))
    assert found.tolist() == [[[[2, 2], [2, 2]]]] and found.dtype is ms.int64


@pytest.mark.parametrize("name, channel", [("NCHW", 1), ("NHWC", 3)])
def test_gradients_of_biases(name, channel):
    wanted = IMAGES.sum(tuple(a for a in range(4) if a != channel))
    close(layers.BiasAddGrad(name)(Tensor(IMAGES)), wanted)
    close(layers.BiasAddGrad(name)(Tensor(IMAGES[0, 0])), IMAGES[0, 0].sum(0))
    with pytest.raises(ValueError, match="2 dimensions or more"):
        layers.BiasAddGrad(name)(Tensor(IMAGES[0, 0, 0]))


def test_gradients_of_parts():
    x, dy = drawn(4, 5), drawn(2, 3)
    found = layers.SliceGrad()(Tensor(dy), Tensor(x), (1, 2), (2, 3))
    close(found, np.pad(dy, ((1, 1), (2, 0))))
    index = np.array([[0, 2, 2], [1, 1, 0]])
    for axis in (0, 1):
        wanted = np.zeros_like(x)
        for i, j in np.ndindex(2, 3):
            place = (index[i, j], j) if axis == 0 else (i, index[i, j])
            wanted[place] += dy[i, j]
        close(layers.GatherDGradV2()(Tensor(x), axis, Tensor(index), Tensor(dy)), wanted)
    mask = np.array([True, False, True, True, False])
    grad = drawn(12)
    wanted = np.zeros((4, 5), np.float32)
    wanted[:, mask] = grad.reshape(4, 3)
    close(layers.MaskedSelectGrad()(Tensor(x), Tensor(mask), Tensor(grad)), wanted)
    row = layers.MaskedSelectGrad()(Tensor(x[0]), Tensor(np.tile(mask, (4, 1))), Tensor(grad))
    close(row, wanted.sum(0))
    close(layers.DropoutGrad(0.8)(Tensor(x), Tensor(x > 0)), x * (x > 0) / 0.8)
    assert layers.FlattenGrad()(Tensor(x), Tensor([2, 10])).shape == (2, 10)


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
@pytest.mark.parametrize("contiguous", [True, False])
def test_gradients_of_padding(mode, contiguous):
    x = drawn(2, 3, 4, 5)
    torch_mode = {"edge": "replicate"}.get(mode, mode)
    dout, wanted = pulled(lambda v: F.pad(v, (1, 2, 3, 0), torch_mode), x)
    paddings = (1, 2, 3, 0) if contiguous else (1, 3, 2, 0)
    for given in (paddings, Tensor(paddings)):
        close(layers.PadV3Grad(mode, contiguous)(dout, given), wanted[0])
    if mode == "reflect":
        pairs = Tensor([[0, 0], [0, 0], [3, 0], [1, 2]])
        dout, wanted = pulled(lambda v: F.pad(v, (1, 2, 3, 0), "reflect"), drawn(2, 3, 4, 5))
        close(layers.MirrorPadGrad("REFLECT")(dout, pairs), wanted[0])


@pytest.mark.parametrize("longer", [False, True])
def test_gradients_of_pooled_volumes(longer):
    kernel, stride = (2, 3, 1), (1, 2, 3)
    options = [(1, 1, *v) if longer else v for v in (kernel, stride)]
    dout, wanted = pulled(lambda x: F.max_pool3d(x, kernel, stride), VOLUMES)
    close(layers.MaxPool3DGrad(*options)(Tensor(VOLUMES), dout, dout), wanted[0])
    dout, wanted = pulled(lambda x: F.avg_pool3d(x, kernel, stride, (1, 1, 0), True, False, 7),
                          VOLUMES)
    close(layers.AvgPool3DGrad(*options, (1, 1, 1, 1, 0, 0), True, False, 7)(
        VOLUMES.shape, dout), wanted[0])
    at = F.max_pool3d(t(VOLUMES), kernel, stride, return_indices=True)[1]
    grad = drawn(*VOLUMES.shape)
    wanted = np.take_along_axis(grad.reshape(2, 3, 120), at.flatten(2).numpy(), 2)
    close(layers.MaxPool3DGradGrad(*options)(Tensor(VOLUMES), Tensor(at), Tensor(grad)),
          wanted.reshape(at.shape))
