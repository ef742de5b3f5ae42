"""Losses: how far a network's output is from what it should be."""

from __future__ import annotations

import math
from typing import Any

from .. import dtype as mstype
from .. import ops
from ..ops.primitives.loss import softmax_cross_entropy
from ..parameter import Parameter
from ..tensor import Tensor
from . import checks
from .cell import Cell

__all__ = [
    "LossBase", "L1Loss", "CTCLoss", "MSELoss", "SmoothL1Loss", "SoftMarginLoss",
    "SoftmaxCrossEntropyWithLogits", "BCELoss", "BCEWithLogitsLoss", "MultiMarginLoss",
    "CosineEmbeddingLoss", "TripletMarginWithDistanceLoss", "PoissonNLLLoss",
    "MultiLabelSoftMarginLoss", "MultilabelMarginLoss", "RMSELoss", "MAELoss", "HuberLoss",
    "CrossEntropyLoss", "NLLLoss", "KLDivLoss", "MarginRankingLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "TripletMarginLoss", "L1LossExt",
]


class LossBase(Cell):
    """The base of losses; a subclass computes in `construct` and reduces with `get_loss`.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: for another reduction.

    Examples:
        >>> import lamella as ms
        >>> class Net(ms.nn.LossBase):
        ...     def construct(self, logits, labels):
        ...         return self.get_loss(ms.ops.abs(logits - labels))
        >>> print(Net("sum")(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        3.0
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        checks.one_of(reduction, ("mean", "sum", "none"), "reduction", type(self).__name__)
        self.average = reduction != "sum"
        self.reduce = reduction != "none"

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of `x`."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: Any = 1.0) -> Tensor:
        """`x` times `weights`, reduced; half precision and whole numbers are computed in float32.

        Args:
            x: the loss of each element.
            weights: a number or a Tensor that broadcasts.

        Returns:
            Tensor of the type of `x`.
        """
        kind = x.dtype
        wide = x if kind in (mstype.float32, mstype.float64) else x.astype(mstype.float32)
        if isinstance(weights, Tensor):
            wide = wide * weights.astype(wide.dtype)
        elif weights != 1.0:
            wide = wide * weights
        if self.reduce:
            wide = ops.mean(wide) if self.average else ops.sum(wide)
        return wide if wide.dtype == kind else wide.astype(kind)

    def construct(self, logits: Any, labels: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no 'construct'.")

    def _check(self, **inputs: Any) -> None:
        for name, value in inputs.items():
            checks.tensor(value, name, type(self).__name__)


class L1Loss(LossBase):
    """The magnitudes of the differences.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits**, **labels** - Tensors whose shapes broadcast.

    Outputs:
        Tensor: a number, or with ``"none"`` one an element.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.L1Loss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.5
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__(reduction)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.l1_loss(logits, labels, self.reduction)


class L1LossExt(L1Loss):
    """`L1Loss` as `mint.nn` has it.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.L1LossExt()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.5
    """


class MSELoss(LossBase):
    """The squares of the differences.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits**, **labels** - Tensors whose shapes broadcast.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MSELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        2.5
    """

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels)
        return self.get_loss(ops.square(logits - labels))


class RMSELoss(LossBase):
    """The square root of the mean of the squares of the differences.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.RMSELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([4.0, 5.0])))
        3.0
    """

    def __init__(self):
        super().__init__()
        self.MSELoss = MSELoss()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        for value in (logits, label):
            if value.dtype in (mstype.uint8, mstype.uint16, mstype.uint32, mstype.uint64):
                raise TypeError(f"For 'RMSELoss', the inputs must not be unsigned, "
                                f"but got {value.dtype}.")
        return ops.sqrt(self.MSELoss(logits, label))


class MAELoss(LossBase):
    """The magnitudes of the differences.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.MAELoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.5
    """

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        self._check(logits=logits, label=label)
        return self.get_loss(ops.abs(logits - label))


class SmoothL1Loss(LossBase):
    """Squares of small differences, over 2 beta, and magnitudes of larger ones, less beta / 2.

    Args:
        beta: where the one passes into the other.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.SmoothL1Loss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        [0.5 1.5]
    """

    def __init__(self, beta: float = 1.0, reduction: str = "none"):
        super().__init__(reduction)
        self.beta = beta
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.smooth_l1_loss(logits, labels, self.beta, self.reduction)


class HuberLoss(LossBase):
    """Halved squares of small differences, and delta times (magnitude - delta / 2) of larger ones.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: where the one passes into the other.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.HuberLoss()(ms.Tensor([1.0, 2.0]), ms.Tensor([0.0, 4.0])))
        1.0
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction)
        self.reduction = reduction
        self.delta = delta

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.huber_loss(logits, labels, self.reduction, self.delta)


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


class SoftmaxCrossEntropyWithLogits(LossBase):
    """The cross entropy of scores with classes or probabilities.

    Args:
        sparse: whether labels are classes instead of probabilities.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Inputs:
        - **logits** - Tensor (N, C), the scores.
        - **labels** - Tensor (N,) of classes, or (N, C) of probabilities.

    Outputs:
        Tensor (N,), or a number.

    Examples:
        >>> import lamella as ms
        >>> loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True)
        >>> print(loss(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1])))
        [0.6931472]
    """

    def __init__(self, sparse: bool = False, reduction: str = "none"):
        super().__init__(reduction)
        self.sparse = checks.boolean(sparse, "sparse", type(self).__name__)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels)
        if self.sparse:
            # `ignore_index` out of the way: no class is special here
            return ops.cross_entropy(logits, labels, None, -(2**31), self.reduction)
        return self.get_loss(softmax_cross_entropy(logits, labels)[0])


class CrossEntropyLoss(LossBase):
    """The cross entropy of scores with classes or probabilities, for any number of dimensions.

    Args:
        weight: Tensor (C,), the weight of each class.
        ignore_index: a class that does not count.
        reduction: ``"mean"`` (weighted), ``"sum"`` or ``"none"``.
        label_smoothing: how much of the label is spread over all classes, in [0, 1].

    Inputs:
        - **logits** - Tensor (C,), (N, C) or (N, C, ...).
        - **labels** - Tensor (), (N,) or (N, ...) of classes, or of the shape of `logits` of
          probabilities.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or range, or shapes do not fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.CrossEntropyLoss()(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1], ms.int32)))
        0.6931472
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100,
                 reduction: str = "mean", label_smoothing: float = 0.0):
        super().__init__(reduction)
        name = type(self).__name__
        checks.of_type(ignore_index, int, "ignore_index", name)
        checks.of_type(label_smoothing, float, "label_smoothing", name)
        checks.within(label_smoothing, 0, 1, "[]", "label_smoothing", name)
        self.weight = _class_weight(weight, name)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels)
        shape, given, name = logits.shape, labels.shape, type(self).__name__
        wanted = shape if len(shape) == len(given) else (*shape[:1], *shape[2:])[:len(given)]
        if len(shape) == 1 and not given:
            wanted = ()
        if given != wanted or len(shape) - len(given) not in (0, 1):
            raise ValueError(f"For '{name}', 'labels' must have the shape of 'logits' {shape} for "
                             f"probabilities, or that without the classes' dimension, "
                             f"but got {given}.")
        if (len(shape) == len(given)) != labels._raw.is_floating_point():
            raise TypeError(f"For '{name}', 'labels' must be floating for probabilities and whole "
                            f"numbers for classes, but got {labels.dtype} with shapes {shape} "
                            f"and {given}.")
        return ops.cross_entropy(logits, labels, self.weight, self.ignore_index, self.reduction,
                                 self.label_smoothing)


def _class_weight(weight: Any, name: str) -> Tensor | None:
    if weight is not None and not checks.tensor(weight, "weight", name)._raw.is_floating_point():
        raise TypeError(f"For '{name}', 'weight' must be floating, but got {weight.dtype}.")
    return weight


class NLLLoss(LossBase):
    """The negative of the labels' log-probabilities.

    Args:
        weight: Tensor (C,), the weight of each class.
        ignore_index: a class that does not count.
        reduction: ``"mean"`` (weighted), ``"sum"`` or ``"none"``.

    Inputs:
        - **logits** - Tensor (N, C) or (N, C, ...) of log-probabilities.
        - **labels** - Tensor (N,) or (N, ...) of classes.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.NLLLoss()(ms.Tensor([[-1.0, -2.0]]), ms.Tensor([1], ms.int32)))
        2.0
    """

    def __init__(self, weight: Tensor | None = None, ignore_index: int = -100,
                 reduction: str = "mean"):
        super().__init__(reduction)
        name = type(self).__name__
        checks.of_type(ignore_index, int, "ignore_index", name)
        self.weight = _class_weight(weight, name)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.nll_loss(logits, labels, self.weight, self.ignore_index, self.reduction)


class BCELoss(LossBase):
    """The cross entropy of probabilities of two classes.

    Args:
        weight: Tensor that broadcasts, the weight of each element.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits**, **labels** - Tensors of one shape, of numbers in [0, 1].

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.BCELoss()(ms.Tensor([0.5]), ms.Tensor([1.0])))
        0.6931472
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean"):
        super().__init__(reduction)
        self.reduction = reduction
        self.weight = weight

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(LossBase):
    """The cross entropy of two classes, from scores.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        weight: Tensor that broadcasts, the weight of each element.
        pos_weight: Tensor that broadcasts, the weight of the class 1.

    Inputs:
        - **input**, **target** - Tensors of one shape.

    Raises:
        TypeError: if a weight is a Parameter.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.BCEWithLogitsLoss()(ms.Tensor([0.0]), ms.Tensor([1.0])))
        0.6931472
    """

    def __init__(self, reduction: str = "mean", weight: Tensor | None = None,
                 pos_weight: Tensor | None = None):
        super().__init__(reduction)
        for name, value in (("weight", weight), ("pos_weight", pos_weight)):
            if isinstance(value, Parameter):
                raise TypeError(f"For '{type(self).__name__}', '{name}' must not be a Parameter.")
        self.reduction = reduction
        self.weight = weight
        self.pos_weight = pos_weight

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        self._check(input=input, target=target)
        return ops.binary_cross_entropy_with_logits(input, target, self.weight, self.pos_weight,
                                                    self.reduction)


class KLDivLoss(LossBase):
    """The Kullback-Leibler divergence of log-probabilities from probabilities.

    Args:
        reduction: ``"mean"`` of the elements, ``"batchmean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits** - Tensor of log-probabilities.
        - **labels** - Tensor of probabilities.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.KLDivLoss("sum")(ms.Tensor([-1.0, -1.0]), ms.Tensor([0.0, 1.0])))
        1.0
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels)
        return ops.kl_div(logits, labels, self.reduction)


class PoissonNLLLoss(LossBase):
    """The negative log-likelihood of counts under Poisson distributions.

    Args:
        log_input: whether the input is the logarithm of the mean.
        full: whether Stirling's approximation of the constant term is added.
        eps: keeps the logarithm away from 0.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.PoissonNLLLoss()(ms.Tensor([0.0]), ms.Tensor([2.0])))
        1.0
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8,
                 reduction: str = "mean"):
        super().__init__(reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        self._check(input=input, target=target)
        target = target.astype(input.dtype)
        if self.log_input:
            loss = ops.exp(input) - target * input
        else:
            loss = input - target * ops.log(input + self.eps)
        if self.full:
            many = ops.maximum(target, 1.0)
            stirling = (many + 0.5) * ops.log(many) - many + 0.5 * math.log(2 * math.pi)
            loss = loss + ops.where(target > 1, stirling, ops.zeros_like(stirling))
        return self.get_loss(loss)


class GaussianNLLLoss(LossBase):
    """The negative log-likelihood under normal distributions.

    Args:
        full: whether the constant term is added.
        eps: the least variance.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits** - Tensor, the means.
        - **labels** - Tensor, the observations.
        - **var** - Tensor, the variances.

    Examples:
        >>> import lamella as ms
        >>> one = ms.Tensor([1.0])
        >>> print(ms.nn.GaussianNLLLoss()(one, one * 3, one))
        2.0
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction)
        name = type(self).__name__
        self.eps = checks.within(eps, 0, math.inf, "()", "eps", name)
        self.full = checks.boolean(full, "full", name)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels, var=var)
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


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
        self.p = p
        self.margin = margin
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
        >>> print(ms.nn.TripletMarginWithDistanceLoss()(a, b, a + 3))
        1.7573593
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


def _distance(x: Tensor, y: Tensor) -> Tensor:
    return ops.norm(x - y, 2, 1)


class CTCLoss(LossBase):
    """Connectionist temporal classification (Graves et al., 2006).

    Args:
        blank: the class of no label.
        reduction: ``"mean"`` (each loss over its target's length first), ``"sum"`` or ``"none"``.
        zero_infinity: whether impossible targets count 0.

    Inputs:
        - **log_probs** - Tensor (T, N, C) or (T, C) of log-probabilities.
        - **targets** - Tensor (N, S), or (1, S) or (S,) for one sequence.
        - **input_lengths**, **target_lengths** - Tensors (N,) or tuples.

    Examples:
        >>> import lamella as ms
        >>> x = ms.nn.LogSoftmax()(ms.ops.zeros((2, 1, 2)))
        >>> one, two = ms.Tensor([1], ms.int32), ms.Tensor([2], ms.int32)
        >>> print(ms.nn.CTCLoss()(x, ms.Tensor([[1]], ms.int32), two, one))
        0.2876821
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction)
        self.blank = blank
        self.reduction = reduction
        self.zero_infinity = zero_infinity

    def construct(self, log_probs: Tensor, targets: Tensor, input_lengths: Any,
                  target_lengths: Any) -> Tensor:
        self._check(log_probs=log_probs, targets=targets)
        single = log_probs.ndim == 2
        if single:
            if targets.ndim > 2 or (targets.ndim == 2 and targets.shape[0] != 1):
                raise ValueError(f"For '{type(self).__name__}', 'targets' must have shape (S,) or "
                                 f"(1, S) for one sequence, but got {targets.shape}.")
            targets = targets.reshape(1, -1)
            log_probs = log_probs.expand_dims(1)
        loss, _ = ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank,
                               self.reduction, self.zero_infinity)
        return loss.squeeze(0) if single and loss.ndim else loss
