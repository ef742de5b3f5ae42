"""Losses that ask for a margin: between scores, embeddings, or their distances."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..tensors.tensor import Tensor
from . import checks
from .loss import LossBase

__all__ = [
    "SoftMarginLoss", "CosineEmbeddingLoss", "MarginRankingLoss", "HingeEmbeddingLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultilabelMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class SoftMarginLoss(LossBase):
    """log(1 + exp(-label * x)), for labels 1 and -1.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.SoftMarginLoss()(ms.Tensor([0.0, 0.0]), ms.Tensor([1.0, -1.0])))
        0.6931472
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.soft_margin_loss(logits, labels, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """1 - cos for pairs labelled 1, max(cos - margin, 0) for pairs labelled -1.

    Args:
        margin: a number in [-1, 1].
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits_x1**, **logits_x2** - Tensors (N, D) of one type.
        - **labels** - Tensor (N,) of 1 and -1.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 0.0]])
        >>> print(ms.nn.CosineEmbeddingLoss()(x, x, ms.Tensor([-1])))
        1.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        name = type(self).__name__
        checks.of_type(margin, float, "margin", name)
        self.margin = checks.within(margin, -1, 1, "[]", "margin", name)

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        self._check(logits_x1=logits_x1, logits_x2=logits_x2, labels=labels)
        if logits_x1.shape != logits_x2.shape:
            raise ValueError(f"For '{type(self).__name__}', both embeddings must have one shape, "
                             f"but got {logits_x1.shape} and {logits_x2.shape}.")
        lengths = ops.sqrt(ops.sum(ops.square(logits_x1), 1)) * ops.sqrt(
            ops.sum(ops.square(logits_x2), 1))
        cosine = ops.sum(logits_x1 * logits_x2, 1) / lengths
        zeros = ops.zeros_like(cosine)
        alike = ops.where(labels == 1, 1.0 - cosine, zeros)
        apart = ops.where(labels == -1, ops.maximum(cosine - self.margin, zeros), zeros)
        return self.get_loss(alike + apart)


class MarginRankingLoss(LossBase):
    """max(-target * (input1 - input2) + margin, 0), for targets 1 and -1.

    Args:
        margin: the margin.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([1.0]), ms.Tensor([3.0])
        >>> print(ms.nn.MarginRankingLoss()(a, b, ms.Tensor([1.0])))
        2.0
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.reduction = reduction
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """x where the label is 1, max(margin - x, 0) where it is -1.

    Args:
        margin: the margin.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([0.25, 0.25])
        >>> print(ms.nn.HingeEmbeddingLoss(reduction="none")(x, ms.Tensor([1.0, -1.0])))
        [0.25 0.75]
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = checks.of_type(margin, (float, int), "margin", type(self).__name__)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class MultiLabelSoftMarginLoss(LossBase):
    """The mean over classes of the cross entropy of two classes each, from scores.

    Args:
        weight: Tensor (C,), the weight of each class.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **x** - Tensor (N, C) of scores.
        - **target** - Tensor (N, C) of 0 and 1.

    Examples:
        >>> import lamella as ms
        >>> loss = ms.nn.MultiLabelSoftMarginLoss()
        >>> print(loss(ms.Tensor([[0.0, 0.0]]), ms.Tensor([[1.0, 0.0]])))
        0.6931472
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.weight = weight
        self.reduction = reduction

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_soft_margin_loss(x, target, self.weight, self.reduction)


class MultiMarginLoss(LossBase):
    """How far the score of the right class is less than `margin` above the others.

    Args:
        p: the power of each excess, 1 or 2.
        margin: the margin.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: Tensor (C,), the weight of each class.

    Inputs:
        - **x** - Tensor (N, C) of scores.
        - **target** - Tensor (N,) of classes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MultiMarginLoss()(ms.Tensor([[1.0, 1.0]]), ms.Tensor([1])))
        0.5
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean",
                 weight: Tensor | None = None):
        super().__init__(reduction)
        self.p = checks.within(checks.of_type(p, int, "p", "MultiMarginLoss"), 1, 2, "[]", "p",
                               "MultiMarginLoss")
        self.margin = checks.of_type(margin, (int, float), "margin", "MultiMarginLoss")
        self.reduction = reduction
        self.weight = weight

    def construct(self, x: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
        self._check(x=x, target=target)
        weight = weight if self.weight is None else self.weight
        return ops.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """`MultiMarginLoss` with several right classes.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **x** - Tensor (N, C) or (C,) of scores.
        - **target** - Tensor of the same shape: the right classes, then -1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MultilabelMarginLoss()(ms.Tensor([1.0, 1.0]), ms.Tensor([1, -1])))
        0.5
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)
        self.reduction = reduction

    def construct(self, x: Tensor, target: Tensor) -> Tensor:
        return ops.multilabel_margin_loss(x, target, self.reduction)


class TripletMarginLoss(LossBase):
    """max(d(x, positive) - d(x, negative) + margin, 0), where d is the p-norm of the difference.

    Args:
        p: the norm's order.
        swap: whether d(positive, negative) counts instead of d(x, negative) if it is less.
        eps: added to differences.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        margin: the margin; if it is 1, `construct`'s argument counts.

    Inputs:
        - **x**, **positive**, **negative** - Tensors (N, D).

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[0.0, 0.0]]), ms.Tensor([[3.0, 4.0]])
        >>> print(ms.nn.TripletMarginLoss()(a, b, b))
        1.0
    """

    def __init__(self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean",
                 margin: float = 1.0):
        super().__init__(reduction)
        self.p = p
        self.swap = swap
        self.eps = eps
        self.reduction = reduction
        self.margin = margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor,
                  margin: float = 1.0) -> Tensor:
        margin = self.margin if self.margin != 1.0 else margin
        return ops.triplet_margin_loss(x, positive, negative, margin, self.p, self.eps, self.swap,
                                       self.reduction)


def _distance(x: Tensor, y: Tensor) -> Tensor:
    return ops.norm(x - y, 2, 1)


class TripletMarginWithDistanceLoss(LossBase):
    """`TripletMarginLoss` with a distance of one's own.

    Args:
        distance_function: takes two Tensors; default: the Euclidean distance along axis 1.
        swap: whether the distance of positive and negative counts instead if it is less.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        margin: the margin.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[0.0, 0.0]]), ms.Tensor([[3.0, 4.0]])
        >>> print(ms.nn.TripletMarginWithDistanceLoss()(a, b, a + 3).round(decimals=4))
        1.7574
    """

    def __init__(self, distance_function: Any = None, swap: bool = False, reduction: str = "mean",
                 margin: float = 1.0):
        super().__init__(reduction)
        name = type(self).__name__
        self.margin = checks.of_type(margin, float, "margin", name)
        self.swap = checks.boolean(swap, "swap", name)
        self.distance_function = distance_function or _distance
        self.reduction = reduction

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        self._check(x=x, positive=positive, negative=negative)
        near = self.distance_function(x, positive)
        far = self.distance_function(x, negative)
        if self.swap:
            far = ops.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(ops.relu(near - far + self.margin))
