"""Image layers: measures of likeness, gradients, crops, pixel shuffles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import ops
from ..core import dtype as mstype
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .container import CellList
from .convolution import Conv2d
from .pooling import AvgPool2d
from .rectifier import ReLU

__all__ = [
    "ImageGradients", "SSIM", "MSSSIM", "PSNR", "CentralCrop", "PixelShuffle", "PixelUnshuffle",
]


class ImageGradients(Cell):
    """The differences from one pixel to the next, down and to the right; 0 at the last one.

    Inputs:
        - **images** - Tensor (N, C, H, W).

    Outputs:
        The differences along the height and along the width, each of the shape of `images`.

    Examples:
        >>> import lamella as ms
        >>> dy, dx = ms.nn.ImageGradients()(ms.Tensor([[[[1, 2], [3, 4]]]]))
        >>> print(dy.reshape(-1), dx.reshape(-1))
        [2 2 0 0] [1 0 1 0]
    """

    def __init__(self):
        super().__init__()

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        checks.rank(images.shape, (4,), type(self).__name__)
        dy = ops.pad(images[:, :, 1:, :] - images[:, :, :-1, :], (0, 0, 0, 1))
        dx = ops.pad(images[:, :, :, 1:] - images[:, :, :, :-1], (0, 1))
        return dy, dx


def _whole_range(image: Tensor) -> float:
    """The largest value of the image's type: 1 for floating ones."""
    numpy_type = np.dtype(mstype.dtype_to_nptype(image.dtype))
    return 1.0 if numpy_type.kind == "f" else float(np.iinfo(numpy_type).max)


def _to_unit(images: tuple[Tensor, Tensor], max_val: float, name: str,
             dtype: Any = mstype.float32) -> tuple:
    """Both images and the largest value, on the scale of floating images and of type `dtype`."""
    img1, img2 = images
    checks.rank(img1.shape, (4,), name)
    if img1.shape != img2.shape:
        raise ValueError(f"For '{name}', both images must have one shape, "
                         f"but got {img1.shape} and {img2.shape}.")
    if img1.dtype != img2.dtype:
        raise TypeError(f"For '{name}', both images must have one type, "
                        f"but got {img1.dtype} and {img2.dtype}.")
    scale = _whole_range(img1)

    def unit(image: Tensor) -> Tensor:
        wide = image.astype(dtype)
        return wide / scale if scale > 1 else wide

    return unit(img1), unit(img2), max_val / scale


def _window(size: int, sigma: float) -> Tensor:
    """The Gaussian weights of a window, (1, 1, size, size)."""
    position = np.arange(-size // 2 + 1, size // 2 + 1, dtype=np.float32) ** 2
    weights = np.exp(-(position[:, None] + position[None, :]) / (2 * sigma**2))
    return Tensor((weights / weights.sum())[None, None].astype(np.float32))


def _likeness(c1: float, c2: float, img1: Tensor, img2: Tensor,
              conv: Cell) -> tuple[Tensor, Tensor]:
    """Structural similarity of each channel (N, C), and its part without the luminance."""
    n, c, h, w = img1.shape

    def mean(image: Tensor) -> Tensor:
        out = conv(image.reshape(n * c, 1, h, w))
        return out.reshape(n, c, *out.shape[2:])

    mu1, mu2 = mean(img1), mean(img2)
    both, squares = mu1 * mu2, mu1 * mu1 + mu2 * mu2
    covariance = 2 * (mean(img1 * img2) - both) + c2
    variances = mean(img1 * img1) + mean(img2 * img2) - squares + c2
    cs = covariance / variances
    ssim = (2 * both + c1) / (squares + c1) * cs
    return ssim.mean((2, 3)), cs.mean((2, 3))


class _Similarity(Cell):
    """The arguments that `SSIM` and `MSSSIM` share."""

    def __init__(self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float):
        super().__init__()
        name = type(self).__name__
        checks.within(checks.of_type(max_val, (int, float), "max_val", name), 0, math.inf, "(]",
                      "max_val", name)
        self.max_val = max_val
        self.filter_size = checks.positive_int(filter_size, "filter_size", name)
        self.filter_sigma = checks.within(
            checks.of_type(filter_sigma, float, "filter_sigma", name), 0, math.inf, "()",
            "filter_sigma", name)
        self.k1 = checks.of_type(k1, float, "k1", name)
        self.k2 = checks.of_type(k2, float, "k2", name)

    def _make_conv(self) -> Conv2d:
        conv = Conv2d(1, 1, self.filter_size, pad_mode="valid",
                      weight_init=_window(self.filter_size, self.filter_sigma))
        conv.weight.requires_grad = False
        return conv

    def _check_size(self, image: Tensor) -> None:
        if min(image.shape[2:]) < self.filter_size:
            raise ValueError(f"For '{type(self).__name__}', images must not be smaller than "
                             f"'filter_size' {self.filter_size}, but got shape {image.shape}.")


class SSIM(_Similarity):
    """Structural similarity of two images (Wang et al., 2004).

    Args:
        max_val: the difference of the largest and the smallest possible value.
        filter_size: the size of the Gaussian window.
        filter_sigma: its width.
        k1, k2: the constants that keep the formula stable.

    Inputs:
        - **img1**, **img2** - Tensors (N, C, H, W) of one type.

    Outputs:
        Tensor (N,).

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 16, 16))
        >>> print(ms.nn.SSIM()(x, x))
        [1.]
    """

    def __init__(self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5,
                 k1: float = 0.01, k2: float = 0.03):
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        self.conv = self._make_conv()

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        img1, img2, top = _to_unit((img1, img2), self.max_val, type(self).__name__,
                                   self.conv.weight.dtype)
        self._check_size(img1)
        ssim, _ = _likeness((self.k1 * top) ** 2, (self.k2 * top) ** 2, img1, img2, self.conv)
        return ssim.mean(-1)


class MSSSIM(_Similarity):
    """Structural similarity of two images at several sizes (Wang et al., 2003).

    Args:
        max_val, filter_size, filter_sigma, k1, k2: those of `SSIM`.
        power_factors: the weight of each size, from the largest, which is halved each time.

    Inputs:
        - **img1**, **img2** - Tensors (N, C, H, W) of one type.

    Outputs:
        Tensor (N,).

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 16, 16))
        >>> print(ms.nn.MSSSIM(power_factors=(0.5, 0.5), filter_size=3)(x, x))
        [1.]
    """

    def __init__(self, max_val: float = 1.0,
                 power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
                 filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
                 k2: float = 0.03):
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        checks.of_type(power_factors, (tuple, list), "power_factors", type(self).__name__)
        self.power_factors = power_factors
        self.level = len(power_factors)
        self.multi_convs_list = CellList([self._make_conv() for _ in range(self.level)])
        self.avg_pool = AvgPool2d(kernel_size=2, stride=2, pad_mode="valid")
        self.relu = ReLU()

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        img1, img2, top = _to_unit((img1, img2), self.max_val, type(self).__name__,
                                   self.multi_convs_list[0].weight.dtype)
        c1, c2 = (self.k1 * top) ** 2, (self.k2 * top) ** 2
        product = None
        for level, (conv, power) in enumerate(
                zip(self.multi_convs_list, self.power_factors, strict=True)):
            self._check_size(img1)
            ssim, cs = _likeness(c1, c2, img1, img2, conv)
            factor = self.relu(ssim if level == self.level - 1 else cs) ** power
            product = factor if product is None else product * factor
            img1, img2 = self.avg_pool(img1), self.avg_pool(img2)
        return product.mean(-1)  # type: ignore[union-attr]


class PSNR(Cell):
    """The peak signal-to-noise ratio of two images, in decibels.

    Args:
        max_val: the difference of the largest and the smallest possible value.

    Inputs:
        - **img1**, **img2** - Tensors (N, C, H, W) of one type.

    Outputs:
        Tensor (N,).

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[[[0.1, 0.2]]]]), ms.Tensor([[[[0.2, 0.1]]]])
        >>> print(ms.nn.PSNR()(a, b))
        [20.]
    """

    def __init__(self, max_val: float = 1.0):
        super().__init__()
        name = type(self).__name__
        checks.within(checks.of_type(max_val, (int, float), "max_val", name), 0, math.inf, "(]",
                      "max_val", name)
        self.max_val = max_val

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        img1, img2, top = _to_unit((img1, img2), self.max_val, type(self).__name__)
        error = ops.square(img1 - img2).mean((-3, -2, -1))
        return ops.log(top**2 / error) * (10 / math.log(10))


class CentralCrop(Cell):
    """The middle part of images.

    Args:
        central_fraction: how much of the height and the width is kept, in (0, 1].

    Inputs:
        - **image** - Tensor (C, H, W) or (N, C, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.CentralCrop(central_fraction=0.5)(ms.ops.ones((4, 3, 6, 8))).shape
        (4, 3, 4, 4)
    """

    def __init__(self, central_fraction: float):
        super().__init__()
        name = type(self).__name__
        checks.within(checks.of_type(central_fraction, float, "central_fraction", name), 0, 1, "(]",
                      "central_fraction", name)
        self.central_fraction = central_fraction

    def construct(self, image: Tensor) -> Tensor:
        checks.rank(image.shape, (3, 4), type(self).__name__)
        top, left = (int((float(n) - float(n * self.central_fraction)) / 2)
                     for n in image.shape[-2:])
        height, width = image.shape[-2:]
        return image[..., top:height - top, left:width - left]


class PixelShuffle(Cell):
    """Lays r * r channels out as r times as many pixels in each direction (Shi et al., 2016).

    Args:
        upscale_factor: r.

    Inputs:
        - **input** - Tensor (..., C * r * r, H, W).

    Outputs:
        Tensor (..., C, H * r, W * r).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.PixelShuffle(3)(ms.ops.ones((2, 9, 4, 4))).shape
        (2, 1, 12, 12)
    """

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Tensor) -> Tensor:
        return ops.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """The reverse of `PixelShuffle`.

    Args:
        downscale_factor: r.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.PixelUnshuffle(3)(ms.ops.ones((1, 1, 12, 12))).shape
        (1, 9, 4, 4)
    """

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Tensor) -> Tensor:
        return ops.pixel_unshuffle(input, self.downscale_factor)
