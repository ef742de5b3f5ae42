"""Bounding boxes: overlap, coding, suppression, and pooling of the regions inside them."""

from __future__ import annotations

import math
from typing import Any

import torch

from ..core.docstrings import documented_like
from ..core.dtype import promote_types
from ..core.errors import op
from ..core.state import numbers
from ..tensors.tensor import Tensor, wrap

__all__ = ["iou", "check_valid", "bounding_box_encode", "bounding_box_decode"]

_Side = tuple[torch.Tensor, torch.Tensor]  # where regions start and end in one dimension


def _columns(name: str, boxes: Tensor) -> Any:
    raw = boxes._raw
    if raw.dim() != 2 or raw.shape[1] != 4:
        raise ValueError(f"For '{name}', boxes must have the shape (n, 4), but got {boxes.shape}.")
    return raw.unbind(1)


def overlaps(first: Any, second: Any,
             pixel: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Areas of the intersections, of the first and of the second boxes, with `pixel` wide edges.

    Those of 16-bit numbers are float32: the area of 300 x 300 pixels is beyond float16.
    """
    (x0, y0, x1, y1), (u0, v0, u1, v1) = (
        [side.float() if side.is_floating_point() and side.itemsize == 2 else side for side in box]
        for box in (first, second))
    wide = (torch.minimum(x1, u1) - torch.maximum(x0, u0) + pixel).clamp_min(0)
    high = (torch.minimum(y1, v1) - torch.maximum(y0, v0) + pixel).clamp_min(0)
    return (wide * high, (x1 - x0 + pixel) * (y1 - y0 + pixel),
            (u1 - u0 + pixel) * (v1 - v0 + pixel))


@op
def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """The intersection of boxes over their union, or over the second ones' areas.

    Args:
        anchor_boxes: (x0, y0, x1, y1), last pixels included, shape (n, 4).
        gt_boxes: shape (m, 4).
        mode: ``'iou'``, or ``'iof'`` for the second ones' areas.

    Returns:
        Tensor of shape (m, n).

    Raises:
        ValueError: if `mode` is unknown or a shape wrong.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[0.0, 0.0, 9.0, 9.0]]), ms.Tensor([[0.0, 0.0, 9.0, 4.0]])
        >>> print(ms.ops.iou(a, b))
        [[0.5]]
    """
    if mode not in ("iou", "iof"):
        raise ValueError(f"For 'iou', 'mode' must be 'iou' or 'iof', but got {mode!r}.")
    first = [c.unsqueeze(0) for c in _columns("iou", anchor_boxes)]
    second = [c.unsqueeze(1) for c in _columns("iou", gt_boxes)]
    shared, area, other = overlaps(first, second, 1.0)
    found = shared / (area + other - shared if mode == "iou" else other)
    kind = promote_types(anchor_boxes._raw.dtype, gt_boxes._raw.dtype)
    return wrap(found.to(kind) if kind.is_floating_point else found)


@op
def check_valid(bboxes: Tensor, img_metas: Tensor) -> Tensor:
    """Whether boxes lie inside an image.

    Args:
        bboxes: (x0, y0, x1, y1), shape (n, 4).
        img_metas: the image's height, width and the ratio both are multiplied by.

    Returns:
        Tensor of bool, shape (n,).

    Examples:
        >>> import lamella as ms
        >>> boxes = ms.Tensor([[0.0, 0.0, 7.0, 7.0], [0.0, 0.0, 8.0, 9.0]])
        >>> print(ms.ops.check_valid(boxes, ms.Tensor([8.0, 8.0, 1.0])))
        [ True False]
    """
    x0, y0, x1, y1 = _columns("check_valid", bboxes)
    height, width, ratio = img_metas._raw.unbind(0)
    return wrap((x0 >= 0) & (y0 >= 0) & (x1 <= width * ratio - 1) & (y1 <= height * ratio - 1))


def _centres(boxes: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    x0, y0, x1, y1 = boxes
    return (x0 + x1) * 0.5, (y0 + y1) * 0.5, x1 - x0 + 1.0, y1 - y0 + 1.0


@op
def bounding_box_encode(anchor_box: Tensor, groundtruth_box: Tensor,
                        means: Any = (0.0, 0.0, 0.0, 0.0),
                        stds: Any = (1.0, 1.0, 1.0, 1.0)) -> Tensor:
    """Boxes as moves and log scales of anchors (Girshick et al., 2014).

    Args:
        anchor_box, groundtruth_box: (x0, y0, x1, y1), shape (n, 4).
        means, stds: what the four numbers are normalized by.

    Returns:
        Tensor of shape (n, 4).

    Raises:
        ValueError: if a shape is wrong.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[0.0, 0.0, 9.0, 9.0]]), ms.Tensor([[5.0, 0.0, 14.0, 9.0]])
        >>> print(ms.ops.bounding_box_encode(a, b))
        [[0.5 0.  0.  0. ]]
    """
    ax, ay, aw, ah = _centres(_columns("bounding_box_encode", anchor_box))
    gx, gy, gw, gh = _centres(_columns("bounding_box_encode", groundtruth_box))
    codes = torch.stack(((gx - ax) / aw, (gy - ay) / ah, (gw / aw).log(), (gh / ah).log()), 1)
    return wrap((codes - codes.new_tensor(means)) / codes.new_tensor(stds))


@documented_like(bounding_box_encode)
@op
def bounding_box_decode(anchor_box: Tensor, deltas: Tensor, max_shape: Any,
                        means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0),
                        wh_ratio_clip: float = 0.016) -> Tensor:
    """Boxes from moves and log scales of anchors: the inverse of `bounding_box_encode`.

    Args:
        anchor_box: (x0, y0, x1, y1), shape (n, 4).
        deltas: shape (n, 4).
        max_shape: (height, width) of the image that boxes are cut to.
        means, stds: as in encoding.
        wh_ratio_clip: the log scales are kept within ± log of this.

    Examples:
        >>> import lamella as ms
        >>> a, d = ms.Tensor([[0.0, 0.0, 9.0, 9.0]]), ms.Tensor([[0.5, 0.0, 0.0, 0.0]])
        >>> print(ms.ops.bounding_box_decode(a, d, (20, 20)))
        [[ 5.  0. 14.  9.]]
    """
    ax, ay, aw, ah = _centres(_columns("bounding_box_decode", anchor_box))
    raw = deltas._raw
    dx, dy, dw, dh = (raw * raw.new_tensor(stds) + raw.new_tensor(means)).unbind(1)
    bound = abs(math.log(wh_ratio_clip))
    w, h = aw * dw.clamp(-bound, bound).exp(), ah * dh.clamp(-bound, bound).exp()
    x, y = ax + aw * dx, ay + ah * dy
    return wrap(torch.stack(((x - w * 0.5 + 0.5).clamp(0, max_shape[1]),
                             (y - h * 0.5 + 0.5).clamp(0, max_shape[0]),
                             (x + w * 0.5 - 0.5).clamp(0, max_shape[1]),
                             (y + h * 0.5 - 0.5).clamp(0, max_shape[0])), 1))


@op
def nms_with_mask(bboxes: Tensor, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes by falling score, their positions among these, and which are no duplicates."""
    raw = bboxes._raw
    if raw.dim() != 2 or raw.shape[1] != 5:
        raise ValueError(f"For 'NMSWithMask', 'bboxes' must have the shape (n, 5), "
                         f"but got {bboxes.shape}.")
    positions = raw[:, 4].argsort(descending=True, stable=True)
    ordered = raw[positions]
    first, second = ([c.unsqueeze(i) for c in ordered[:, :4].unbind(1)] for i in (1, 0))
    shared, area, other = overlaps(first, second, 0.0)
    hits = shared / (area + other - shared) > iou_threshold
    keep = torch.ones(len(raw), dtype=torch.bool, device=raw.device)
    later = torch.arange(len(raw), device=raw.device)
    for i in range(len(raw)):  # each box that stays strikes out those after it
        keep = keep & ~(hits[i] & keep[i] & (later > i))
    return wrap(ordered), wrap(later.to(torch.int32)), wrap(keep)


def chosen(scores: torch.Tensor, overlap: torch.Tensor, threshold: float, score_threshold: float,
           count: int) -> torch.Tensor:
    """The boxes that stay when each strikes out those of lower score that overlap it too much.

    Args:
        scores: shape (..., n); only boxes above `score_threshold` count, of equals the first.
        overlap: of two boxes each, shape (..., n, n); more than `threshold` is too much.
        count: how many boxes may stay.

    Returns:
        Their positions by falling score, shape (..., count), -1 behind the last.
    """
    left = scores.masked_fill(scores <= score_threshold, -math.inf)
    count = min(count, scores.shape[-1])
    positions = [left.new_empty((*left.shape[:-1], 0), dtype=torch.int64)]
    for _ in range(count):
        position = left.argmax(-1, keepdim=True)
        stays = left.gather(-1, position) > -math.inf
        positions.append(torch.where(stays, position, -1))
        column = position.unsqueeze(-1).expand(*overlap.shape[:-1], 1)
        struck = overlap.gather(-1, column).squeeze(-1) > threshold
        left = left.masked_fill(struck, -math.inf).scatter(-1, position, -math.inf)
    return torch.cat(positions, -1)


def overlap_of_corners(boxes: torch.Tensor) -> torch.Tensor:
    """Intersections over unions of all pairs of boxes, shape (..., n, n).

    A box (..., n, 4) is any two opposite corners; one without an area overlaps nothing.
    """
    ends = boxes.unflatten(-1, (2, 2))
    sides = (*ends.amin(-2).unbind(-1), *ends.amax(-2).unbind(-1))
    shared, area, other = overlaps([s.unsqueeze(-1) for s in sides],
                                   [s.unsqueeze(-2) for s in sides], 0.0)
    return torch.where(shared > 0, shared / (area + other - shared), 0.0)


@op
def combined_nms(boxes: Tensor, scores: Tensor, per_class: int, total: int, iou_threshold: float,
                 score_threshold: float, pad_per_class: bool,
                 clip_boxes: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best boxes of all classes, each class suppressed for itself.

    Args:
        boxes: two corners, shape (N, boxes, 1 or classes, 4).
        scores: shape (N, boxes, classes).
        per_class, total: how many boxes of a class, and of all, may stay.
        iou_threshold, score_threshold: overlaps above the first and scores up to the second go.
        pad_per_class: whether to give at most ``per_class * classes`` rows.
        clip_boxes: whether to clip the boxes to [0, 1].

    Returns:
        Boxes (N, rows, 4), scores and classes (N, rows), filled up with 0; how many count (N,).
    """
    raw, marks = boxes._raw.transpose(1, 2), scores._raw.transpose(1, 2)
    n, classes, _ = marks.shape
    raw = raw.expand(-1, classes, -1, -1)
    positions = chosen(marks, overlap_of_corners(raw), iou_threshold, score_threshold, per_class)
    at, stays = positions.clamp_min(0), (positions >= 0).flatten(1)
    kept = marks.gather(-1, at).flatten(1).masked_fill(~stays, -math.inf)
    order = kept.argsort(dim=-1, descending=True, stable=True)[:, :total]
    stays = stays.gather(1, order)
    corners = raw.gather(2, at.unsqueeze(-1).expand(-1, -1, -1, 4)).flatten(1, 2)
    corners = corners.gather(1, order.unsqueeze(-1).expand(-1, -1, 4))
    corners = corners.clamp(0, 1) if clip_boxes else corners
    kind = torch.arange(classes, device=raw.device).repeat_interleave(positions.shape[-1])
    rows = min(total, per_class * classes) if pad_per_class else total
    found = (corners * stays.unsqueeze(-1), kept.gather(1, order).masked_fill(~stays, 0.0),
             kind[order].to(raw.dtype) * stays)
    short = rows - order.shape[1]
    filled = (torch.cat((part, part.new_zeros((n, short, *part.shape[2:]))), 1) for part in found)
    of_boxes, of_scores, of_classes = map(wrap, filled)
    return of_boxes, of_scores, of_classes, wrap(stays.sum(1, dtype=torch.int32))


@op
def roi_align(features: Tensor, rois: Tensor, pooled_height: int, pooled_width: int,
              spatial_scale: float, sample_num: int, roi_end_mode: int) -> Tensor:
    """The mean of bilinear samples in each cell of regions (He et al., 2017, Mask R-CNN).

    Args:
        features: shape (N, C, H, W).
        rois: (image, x0, y0, x1, y1), shape (regions, 5).
        pooled_height, pooled_width: of the output.
        spatial_scale: from the boxes' coordinates to those of `features`.
        sample_num: samples a cell and dimension; 0: one a pixel.
        roi_end_mode: 1 counts a box's last pixel as inside; 0 takes boxes as a pixel wide at least.

    Returns:
        Tensor of shape (regions, C, pooled_height, pooled_width).
    """
    raw, boxes = features._raw, rois._raw
    if sample_num > 0:
        image, rows, columns = _regions(boxes, spatial_scale, roi_end_mode)
        samples = _bilinear(raw, image, _positions(rows, pooled_height, sample_num),
                            _positions(columns, pooled_width, sample_num))
        samples = samples.view(len(image), pooled_height, sample_num, pooled_width, sample_num,
                               raw.shape[1])
        return wrap(samples.mean((2, 4)).permute(0, 3, 1, 2))
    means = []
    for i in range(len(boxes)):
        image, *sides = _regions(boxes[i:i + 1], spatial_scale, roi_end_mode)
        down, across = (_weights(side, cells, length, raw) for side, cells, length in zip(
            sides, (pooled_height, pooled_width), raw.shape[2:], strict=True))
        means.append(torch.einsum("ph,chw,qw->cpq", down, raw[image].squeeze(0), across))
    none = (0, raw.shape[1], pooled_height, pooled_width)
    return wrap(torch.stack(means) if means else raw.new_zeros(none))


def _regions(boxes: torch.Tensor, scale: float,
             end_mode: int) -> tuple[torch.Tensor, _Side, _Side]:
    """The image of each region, where its rows start and end, and where its columns do."""
    image, x0, y0, x1, y1 = boxes.detach().double().unbind(1)
    rows, columns = ((start * scale, (end + end_mode) * scale)
                     for start, end in ((y0, y1), (x0, x1)))
    if not end_mode:
        rows, columns = ((start, torch.maximum(end, start + 1)) for start, end in (rows, columns))
    return image.long(), rows, columns


def _positions(side: _Side, cells: int, count: int) -> torch.Tensor:
    """The samples' positions in one dimension, shape (regions, cells * count)."""
    start, end = (edge.unsqueeze(1) for edge in side)
    step = (torch.arange(cells * count, dtype=start.dtype, device=start.device) + 0.5) / count
    return start + step * ((end - start) / cells)


def _bilinear(features: torch.Tensor, image: torch.Tensor, rows: torch.Tensor,
              columns: torch.Tensor) -> torch.Tensor:
    """Bilinear samples on the grid of each region, shape (regions, rows, columns, channels)."""
    n, channels, height, width = features.shape
    pixels = features.permute(0, 2, 3, 1).reshape(n * height * width, channels)
    across = _neighbours(columns, width)
    samples: Any = 0.0
    for row, by_row in _neighbours(rows, height):
        for column, by_column in across:
            place = ((image.view(-1, 1) * height + row) * width).unsqueeze(2) + column.unsqueeze(1)
            weight = by_row.unsqueeze(2) * by_column.unsqueeze(1)
            samples = samples + pixels[place] * weight.to(pixels.dtype).unsqueeze(3)
    return samples


def _neighbours(at: torch.Tensor, length: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The two pixels beside each position, and how much each of them counts."""
    inside = (at >= -1) & (at <= length)
    at = at.clamp(0, length - 1)
    low = at.floor()
    share, first = at - low, low.long()
    return [(first, (1 - share) * inside), ((first + 1).clamp_max(length - 1), share * inside)]


def _weights(side: _Side, cells: int, length: int, like: torch.Tensor) -> torch.Tensor:
    """How much each pixel counts in each cell of one region, with a sample for each pixel.

    So many samples are cheaper as products with this matrix, shape (cells, length).
    """
    start, end = side
    at = _positions(side, cells, math.ceil(numbers(end - start)[0] / cells))
    found = at.new_zeros((at.shape[1], length))
    for pixel, share in _neighbours(at, length):
        found = found.scatter_add(1, pixel.view(-1, 1), share.view(-1, 1))
    return found.view(cells, -1, length).mean(1).to(like.dtype)
