"""Losses of `mint.nn`; they take `input` and `target`, and give the mean by default."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from . import functional as F
from .function_layer import FunctionLoss

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss",
           "MSELoss", "NLLLoss", "SmoothL1Loss"]


class BCELoss(FunctionLoss):
    """As `functional.binary_cross_entropy`."""

    function = staticmethod(F.binary_cross_entropy)

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(FunctionLoss):
    """As `functional.binary_cross_entropy_with_logits`.

    >>> import lamella as ms
    >>> print(ms.mint.nn.BCEWithLogitsLoss()(ms.Tensor([0.0]), ms.Tensor([1.0])))
    0.6931472
    """

    function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean",
                 pos_weight: Tensor | None = None):
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight)


class CosineEmbeddingLoss(FunctionLoss):
    """As `functional.cosine_embedding_loss`."""

    function = staticmethod(F.cosine_embedding_loss)

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(margin=margin, reduction=reduction)

    def construct(self, input1: Tensor, input2: Tensor,  # type: ignore[override]
                  target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class CrossEntropyLoss(FunctionLoss):
    """As `functional.cross_entropy`.

    >>> import lamella as ms
    >>> loss = ms.mint.nn.CrossEntropyLoss(reduction="sum")
    >>> print(loss(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1])))
    0.6931472
    """

    function = staticmethod(F.cross_entropy)

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100,
                 reduction: str = "mean", label_smoothing: float = 0.0):
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction,
                         label_smoothing=label_smoothing)


class KLDivLoss(FunctionLoss):
    """As `functional.kl_div`."""

    function = staticmethod(F.kl_div)

    def __init__(self, reduction: str = "mean", log_target: bool = False):
        super().__init__(reduction=reduction, log_target=log_target)


class MSELoss(FunctionLoss):
    """As `functional.mse_loss`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.nn.MSELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0])))
        2.0
    """

    function = staticmethod(F.mse_loss)

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction=reduction)


class NLLLoss(FunctionLoss):
    """As `functional.nll_loss`."""

    function = staticmethod(F.nll_loss)

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100,
                 reduction: str = "mean"):
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction)


class SmoothL1Loss(FunctionLoss):
    """As `functional.smooth_l1_loss`."""

    function = staticmethod(F.smooth_l1_loss)

    def __init__(self, reduction: str = "mean", beta: float = 1.0):
        super().__init__(reduction=reduction, beta=beta)
