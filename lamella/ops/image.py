"""Sampling of images: at the points of a grid, in boxes, after affine transformations."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from ..autodiff.level import batching, by_example
from ..core.errors import op
from ..tensors.tensor import Tensor, wrap
from .windows import number_is_open

__all__ = ["grid_sample", "affine_grid", "crop_and_resize"]


@op
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """The values of images or volumes at given points.

    Args:
        input: shape (N, C, H, W) or (N, C, D, H, W), floating.
        grid: points (x, y) or (x, y, z), -1 to 1 from edge to edge, of shape (N, H_out, W_out, 2)
            or (N, D_out, H_out, W_out, 3).
        mode: ``'bilinear'``, ``'nearest'`` or, for images, ``'bicubic'``.
        padding_mode: beyond the edges: ``'zeros'``, ``'border'`` or ``'reflection'``.
        align_corners: let -1 and 1 be the corner pixels' centres.

    Returns:
        Tensor of shape (N, C, H_out, W_out) or (N, C, D_out, H_out, W_out).

    Raises:
        ValueError: if a mode is unknown, or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[0.0, 1.0], [2.0, 3.0]]]])
        >>> print(ms.ops.grid_sample(x, ms.Tensor([[[[0.0, 0.0]]]])))
        [[[[1.5]]]]
    """
    raw, points, is_open = input._raw, grid._raw, number_is_open()
    if is_open:  # PyTorch's rules ask for it if one of them is the same for all examples
        raw, points = _of_each(raw, points), _of_each(points, raw)
    elif by_example(raw) and by_example(points):  # they mix up sizes unless examples lie in front
        raw, points = raw.permute(*range(raw.ndim)), points.permute(*range(points.ndim))
    found = F.grid_sample(raw, points, mode, padding_mode, bool(align_corners))
    return wrap(found * torch.ones_like(found) if is_open else found)  # so is the gradient


def _of_each(raw: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The same values, as values of each example of a `vmap` if another Tensor has such."""
    if by_example(raw) or not by_example(other):
        return raw
    return raw + torch.zeros_like(other.detach().sum(), dtype=raw.dtype)


@op
def affine_grid(theta: Tensor, size: Any, align_corners: bool = False) -> Tensor:
    """The points that affine transformations move a regular grid to, for `grid_sample`.

    Args:
        theta: matrices, shape (N, 2, 3) or (N, 3, 4).
        size: of the wanted images, (N, C, H, W) or (N, C, D, H, W).
        align_corners: as `grid_sample`.

    Returns:
        Tensor of shape (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> theta = ms.Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> print(ms.ops.affine_grid(theta, (1, 1, 1, 2)))
        [[[[-0.5  0. ]
           [ 0.5  0. ]]]]
    """
    raw, lengths = theta._raw, list(size)
    if batching() and raw.ndim == 3 and len(lengths) == raw.shape[1] + 2 and (
            raw.shape[2] == raw.shape[1] + 1 and raw.shape[0] == lengths[0]):
        count = raw.shape[1]  # PyTorch has no rule for examples
        same = torch.eye(count, count + 1, dtype=raw.dtype, device=raw.device)
        points = F.affine_grid(same[None], [1, *lengths[1:]], align_corners).reshape(-1, count)
        points = torch.cat([points, torch.ones_like(points[:, :1])], 1)
        return wrap((points @ raw.mT).reshape(lengths[0], *lengths[2:], count))
    return wrap(F.affine_grid(raw, lengths, align_corners))


@op
def crop_and_resize(image: Tensor, boxes: Tensor, box_indices: Tensor, crop_size: Any,
                    method: str = "bilinear", extrapolation_value: float = 0.0) -> Tensor:
    """Boxes cut out of images and resized.

    Args:
        image: shape (N, H, W, C).
        boxes: (y1, x1, y2, x2), 0 to 1 from the first pixel to the last, shape (boxes, 4).
        box_indices: which image, shape (boxes,).
        crop_size: (height, width) of the crops.
        method: ``'bilinear'``, ``'nearest'``, or ``'bilinear_v2'``: the pixels of a box, from the
            one that holds its start to the one that holds its end, resized as by
            `interpolate` with ``align_corners=False``; a pixel outside the image is the nearest one
            inside.
        extrapolation_value: for points outside an image, except for ``'bilinear_v2'``.

    Returns:
        Tensor of float32, shape (boxes, height, width, C).

    Raises:
        ValueError: if `method` is unknown or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((2, 8, 8, 3))
        >>> box, which = ms.Tensor([[0.0, 0.0, 0.5, 0.5]]), ms.Tensor([1])
        >>> ms.ops.crop_and_resize(x, box, which, (4, 4)).shape
        (1, 4, 4, 3)
    """
    if method not in ("bilinear", "nearest", "bilinear_v2"):
        raise ValueError(f"For 'crop_and_resize', 'method' must be 'bilinear', 'nearest' or "
                         f"'bilinear_v2', but got {method!r}.")
    raw, corners = image._raw.float(), boxes._raw.float()
    if raw.dim() != 4 or corners.dim() != 2 or corners.shape[1] != 4:
        raise ValueError(f"For 'crop_and_resize', 'image' and 'boxes' must have the shapes "
                         f"(N, H, W, C) and (boxes, 4), but got {image.shape} and {boxes.shape}.")
    which = box_indices._raw.long().view(-1, 1, 1)
    if method == "bilinear_v2":
        return wrap(_between(raw, which, _pixels_of_box(
            corners[:, 0], corners[:, 2], crop_size[0], raw.shape[1]), _pixels_of_box(
            corners[:, 1], corners[:, 3], crop_size[1], raw.shape[2])))
    y, y_in = _positions(corners[:, 0], corners[:, 2], crop_size[0], raw.shape[1])
    x, x_in = _positions(corners[:, 1], corners[:, 3], crop_size[1], raw.shape[2])
    inside = (y_in.unsqueeze(2) & x_in.unsqueeze(1)).unsqueeze(3)
    if method == "nearest":
        found = raw[which, _nearest(y).unsqueeze(2), _nearest(x).unsqueeze(1)]
    else:
        found = _between(raw, which, *((at.floor().long(), at.ceil().long(), at - at.floor())
                                       for at in (y, x)))
    return wrap(torch.where(inside, found, extrapolation_value))


@op
def extract_glimpse(x: Tensor, size: tuple[int, int], offsets: Tensor, centered: bool,
                    normalized: bool, noise: str) -> Tensor:
    """A window of each image, with noise where it lies outside.

    Args:
        x: shape (N, H, W, C).
        size: (height, width) of the windows.
        offsets: (y, x) of their centres, shape (N, 2).
        centered: whether offsets are counted from the images' centres; then the image reaches from
            -1 to 1 if `normalized`, else from minus its length to its length.
        normalized: whether an image's length is 1.
        noise: ``'uniform'`` within (-1, 1), ``'gaussian'`` with the images' mean and deviation, or
            ``'zero'``.

    Returns:
        Tensor of shape (N, height, width, C).
    """
    raw = x._raw
    n, *lengths, _ = raw.shape
    whole = raw.new_tensor(lengths)
    centres = offsets._raw * whole if normalized else offsets._raw
    if centered:
        centres = (centres + whole) / 2
    starts = (centres - raw.new_tensor(size) / 2).trunc().long()
    y, x_ = (starts[:, i:i + 1] + torch.arange(size[i], device=raw.device) for i in (0, 1))
    inside = (((y >= 0) & (y < lengths[0])).unsqueeze(2)
              & ((x_ >= 0) & (x_ < lengths[1])).unsqueeze(1)).unsqueeze(3)
    rows = y.clamp(0, lengths[0] - 1).unsqueeze(2)
    columns = x_.clamp(0, lengths[1] - 1).unsqueeze(1)
    taken = raw[torch.arange(n, device=raw.device).view(-1, 1, 1), rows, columns]
    outside = torch.zeros_like(taken)
    if noise == "uniform":
        outside = torch.rand_like(taken) * 2 - 1
    elif noise == "gaussian":
        outside = torch.randn_like(taken) * raw.std(unbiased=False) + raw.mean()
    return wrap(torch.where(inside, taken, outside))


def _nearest(positions: torch.Tensor) -> torch.Tensor:
    return torch.floor(positions + 0.5).long()


def _positions(start: torch.Tensor, end: torch.Tensor, count: int,
               length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Where a box's points lie in one dimension of the image, and which lie inside."""
    steps = torch.arange(count, dtype=torch.float32, device=start.device)
    start, end = start.unsqueeze(1), end.unsqueeze(1)
    if count > 1:
        positions = start * (length - 1) + steps * ((end - start) * (length - 1) / (count - 1))
    else:
        positions = 0.5 * (start + end) * (length - 1)
    inside = (positions >= 0) & (positions <= length - 1)
    return positions.clamp(0, length - 1), inside


_Neighbours = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""The pixels before and after each point in one dimension, and the share of the second."""


def _pixels_of_box(start: torch.Tensor, end: torch.Tensor, count: int, length: int) -> _Neighbours:
    """Where the points of "bilinear_v2" lie in one dimension of the image."""
    first, last = (start * length).trunc().unsqueeze(1), (end * length).trunc().unsqueeze(1)
    size = last - first + 1
    centers = torch.arange(count, dtype=torch.float32, device=start.device) + 0.5
    at = (centers * (size / count) - 0.5).clamp_min(0)
    low = at.floor()
    high = torch.minimum(low + 1, size - 1)
    before, after = ((first + pixel).clamp(0, length - 1).long() for pixel in (low, high))
    return before, after, at - low


def _between(images: torch.Tensor, which: torch.Tensor, y: _Neighbours, x: _Neighbours
             ) -> torch.Tensor:
    """The values at points between four pixels."""
    top, bottom, dy = y[0].unsqueeze(2), y[1].unsqueeze(2), y[2][:, :, None, None]
    left, right, dx = x[0].unsqueeze(1), x[1].unsqueeze(1), x[2][:, None, :, None]
    upper = images[which, top, left] * (1 - dx) + images[which, top, right] * dx
    lower = images[which, bottom, left] * (1 - dx) + images[which, bottom, right] * dx
    return upper * (1 - dy) + lower * dy
