"""Losses that are negative log-likelihoods: cross entropies, divergences, counts, sequences."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..ops.primitives.loss import softmax_cross_entropy
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from . import checks
from .loss import LossBase

__all__ = [
    "SoftmaxCrossEntropyWithLogits", "CrossEntropyLoss", "NLLLoss", "BCELoss", "BCEWithLogitsLoss",
    "KLDivLoss", "PoissonNLLLoss", "GaussianNLLLoss", "CTCLoss",
]


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
            # no class is ignored
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
        of_classes = (*shape[:min(1, len(shape) - 1)], *shape[2:])
        if given not in (shape, of_classes):
            raise ValueError(f"For '{name}', 'labels' must have the shape of 'logits' {shape} for "
                             f"probabilities, or that without the classes' dimension, "
                             f"but got {given}.")
        if (len(shape) == len(given)) != labels._raw.is_floating_point():
            raise TypeError(f"For '{name}', 'labels' must be floating for probabilities and "
                            f"integers for classes, but got {labels.dtype} with shapes {shape} "
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
