"""Primitive classes of bounding boxes: overlap, coding, suppression, pooling of regions."""

from __future__ import annotations

from typing import Any

from .. import boxes
from .attributed import Attributed

__all__ = ["BoundingBoxDecode", "BoundingBoxEncode", "CheckValid", "IOU", "NMSWithMask", "ROIAlign"]


class IOU(Attributed):
    """`ops.iou` with the mode as an attribute.

    Examples:
        >>> import lamella as ms
        >>> box = ms.Tensor([[0.0, 0.0, 9.0, 9.0]])
        >>> print(ms.ops.IOU()(box, box))
        [[1.]]
    """

    def __init__(self, mode: str = "iou"):
        if mode not in ("iou", "iof"):
            raise KeyError(f"For 'IOU', 'mode' must be 'iou' or 'iof', but got {mode!r}.")
        super().__init__(mode=mode)

    def __call__(self, anchor_boxes: Any, gt_boxes: Any) -> Any:
        return boxes.iou(anchor_boxes, gt_boxes, self.mode)


class CheckValid(Attributed):
    """`ops.check_valid` as an object.

    Examples:
        >>> import lamella as ms
        >>> box = ms.Tensor([[0.0, 0.0, 9.0, 9.0]])
        >>> print(ms.ops.CheckValid()(box, ms.Tensor([8.0, 8.0, 1.0])))
        [False]
    """

    def __init__(self):
        super().__init__()

    def __call__(self, bboxes: Any, img_metas: Any) -> Any:
        return boxes.check_valid(bboxes, img_metas)


class NMSWithMask(Attributed):
    """Suppression of boxes that overlap one of higher score by more than a threshold.

    The input is (x0, y0, x1, y1, score), shape (n, 5); the result is the boxes by falling score,
    their indices in this order, and which of them stay.

    Examples:
        >>> import lamella as ms
        >>> box = ms.Tensor([[0.0, 0.0, 9.0, 9.0, 0.5], [0.0, 0.0, 9.0, 8.0, 0.75]])
        >>> _, indices, keep = ms.ops.NMSWithMask(0.5)(box)
        >>> print(indices, keep)
        [0 1] [ True False]
    """

    def __init__(self, iou_threshold: float = 0.5):
        super().__init__(iou_threshold=iou_threshold)

    def __call__(self, bboxes: Any) -> Any:
        return boxes.nms_with_mask(bboxes, self.iou_threshold)


class BoundingBoxEncode(Attributed):
    """`ops.bounding_box_encode` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> box = ms.Tensor([[0.0, 0.0, 9.0, 9.0]])
        >>> print(ms.ops.BoundingBoxEncode()(box, box))
        [[0. 0. 0. 0.]]
    """

    def __init__(self, means: Any = (0.0, 0.0, 0.0, 0.0), stds: Any = (1.0, 1.0, 1.0, 1.0)):
        super().__init__(means=means, stds=stds)

    def __call__(self, anchor_box: Any, groundtruth_box: Any) -> Any:
        return boxes.bounding_box_encode(anchor_box, groundtruth_box, self.means, self.stds)


class BoundingBoxDecode(Attributed):
    """`ops.bounding_box_decode` with its attributes.

    Examples:
        >>> import lamella as ms
        >>> box = ms.Tensor([[0.0, 0.0, 9.0, 9.0]])
        >>> print(ms.ops.BoundingBoxDecode((20, 20))(box, box * 0.0))
        [[0. 0. 9. 9.]]
    """

    def __init__(self, max_shape: Any, means: Any = (0.0, 0.0, 0.0, 0.0),
                 stds: Any = (1.0, 1.0, 1.0, 1.0), wh_ratio_clip: float = 0.016):
        super().__init__(max_shape=max_shape, means=means, stds=stds, wh_ratio_clip=wh_ratio_clip)

    def __call__(self, anchor_box: Any, deltas: Any) -> Any:
        return boxes.bounding_box_decode(anchor_box, deltas, self.max_shape, self.means, self.stds,
                                         self.wh_ratio_clip)


class ROIAlign(Attributed):
    """The mean of bilinear samples in each cell of regions (He et al., 2017, Mask R-CNN).

    Inputs are the features (N, C, H, W) and the regions (image, x0, y0, x1, y1), shape (n, 5).

    Examples:
        >>> import lamella as ms
        >>> rois = ms.Tensor([[0.0, 0.0, 0.0, 3.0, 3.0]])
        >>> print(ms.ops.ROIAlign(1, 1, 1.0)(ms.ops.ones((1, 1, 4, 4)), rois))
        [[[[1.]]]]
    """

    def __init__(self, pooled_height: int, pooled_width: int, spatial_scale: float,
                 sample_num: int = 2, roi_end_mode: int = 1):
        super().__init__(pooled_height=pooled_height, pooled_width=pooled_width,
                         spatial_scale=spatial_scale, sample_num=sample_num,
                         roi_end_mode=roi_end_mode)

    def __call__(self, features: Any, rois: Any) -> Any:
        return boxes.roi_align(features, rois, *self.attrs.values())
