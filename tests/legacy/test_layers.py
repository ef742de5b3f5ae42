"""ResizeBilinear, layer and Primitive."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.legacy.layers import ResizeBilinear
from lamella.legacy.operators import ResizeBilinear as Primitive

X = np.random.default_rng(1).standard_normal((2, 3, 5, 7)).astype(np.float32)


def by_coordinates(x, size):
    """Pixel i of the result lies at i * old / new, by NumPy."""
    for axis, length in zip((2, 3), size, strict=True):
        n = x.shape[axis]
        at = np.arange(length) * n / length
        low = np.floor(at).astype(int)
        share = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
        x = x.take(low, axis) * (1 - share) + x.take(np.minimum(low + 1, n - 1), axis) * share
    return x


@pytest.mark.parametrize("size", [(5, 5), (10, 14), (3, 4), (1, 1)])
def test_the_three_conventions(size):
    for name, layer in (("layer", ResizeBilinear()(ms.Tensor(X), size)),
                        ("primitive", Primitive(size)(ms.Tensor(X)))):
        np.testing.assert_allclose(layer.asnumpy(), by_coordinates(X, size), rtol=1e-4, atol=1e-5,
                                   err_msg=name)
    for corners in (True, False):
        expected = torch.nn.functional.interpolate(torch.tensor(X), size, mode="bilinear",
                                                   align_corners=corners)
        given = Primitive(size, corners, not corners)(ms.Tensor(X))
        np.testing.assert_allclose(given.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_numbers_of_the_original():
    x = ms.Tensor([[[[1, 2, 3, 4], [5, 6, 7, 8]]]], ms.float32)
    np.testing.assert_allclose(ResizeBilinear()(x, size=(5, 5)).asnumpy()[0, 0], [
        [1, 1.8, 2.6, 3.4, 4], [2.6, 3.4, 4.2, 5, 5.6], [4.2, 5, 5.8, 6.6, 7.2],
        [5, 5.8, 6.6, 7.4, 8], [5, 5.8, 6.6, 7.4, 8]], rtol=1e-5)


def test_eager_and_compiled_gradients_agree():
    layer = ResizeBilinear()

    def loss(x):
        return (layer(x, scale_factor=2) ** 2).sum()

    gradient = ms.grad(loss)
    eager, compiled = gradient(ms.Tensor(X)), ms.jit(gradient)(ms.Tensor(X))
    np.testing.assert_allclose(eager.asnumpy(), compiled.asnumpy(), rtol=1e-5)
    direction = np.random.default_rng(2).standard_normal(X.shape).astype(np.float32)
    h = 1e-2
    difference = (float(loss(ms.Tensor(X + h * direction)))
                  - float(loss(ms.Tensor(X - h * direction)))) / (2 * h)
    assert difference == pytest.approx(float((eager.asnumpy() * direction).sum()), rel=1e-2)


def test_wrong_arguments_are_named():
    x = ms.Tensor(X)
    with pytest.raises(ValueError, match="one of 'size' and 'scale_factor'"):
        ResizeBilinear()(x)
    with pytest.raises(ValueError, match="one of 'size' and 'scale_factor'"):
        ResizeBilinear()(x, (2, 2), 2)
    with pytest.raises(ValueError, match="scale_factor"):
        ResizeBilinear()(x, scale_factor=0)
    with pytest.raises(TypeError, match="tuple or list of ints"):
        Primitive(4)
    with pytest.raises(ValueError, match="two ints of 1 or more"):
        Primitive((4, 0))
    with pytest.raises(TypeError, match="half_pixel_centers"):
        ResizeBilinear(1)
    with pytest.raises(ValueError, match="can't both be"):
        Primitive((2, 2), True, True)(x)
