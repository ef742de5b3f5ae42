"""Losses for few, rare or very many classes: Dice, focal, sampled softmax."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core import dtype as mstype
from ..core.require import one_of
from ..tensors.random import generator
from ..tensors.tensor import Tensor, wrap
from . import checks
from .activation import LogSoftmax, get_activation
from .cell import Cell
from .loss import LossBase

__all__ = ["FocalLoss", "SampledSoftmaxLoss", "DiceLoss", "MultiClassDiceLoss"]


class DiceLoss(LossBase):
    """1 - 2 <x, y> / (<x, x> + <y, y> + smooth), for x and y as flat vectors.

    Args:
        smooth: keeps the quotient stable, above 0.

    Inputs:
        - **logits**, **label** - Tensors of one shape.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 0.0]])
        >>> print(ms.nn.DiceLoss(smooth=2.0)(x, x))
        0.5
    """

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        name = type(self).__name__
        checks.of_type(smooth, float, "smooth", name)
        self.smooth = checks.within(smooth, 0, float("inf"), "()", "smooth", name)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        self._check(logits=logits, label=label)
        if logits.shape != label.shape:
            raise ValueError(f"For '{type(self).__name__}', both inputs must have one shape, "
                             f"but got {logits.shape} and {label.shape}.")
        if mstype.uint8 in (logits.dtype, label.dtype):
            raise TypeError(f"For '{type(self).__name__}', the inputs must not be uint8.")
        union = ops.sum(ops.square(logits)) + ops.sum(ops.square(label))
        return 1 - 2 * ops.sum(logits * label) / (union + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean of `DiceLoss` over classes, which lie along axis 1.

    Args:
        weights: Tensor (C, D), the weight of each class.
        ignore_indiex: a class that does not count.
        activation: the name of an activation of the scores, a Cell, or None.

    Inputs:
        - **logits**, **label** - Tensors (N, C, ...) of one shape.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 0.0]])
        >>> ms.nn.MultiClassDiceLoss(activation=None)(x, x).shape
        ()
    """

    def __init__(self, weights: Tensor | None = None, ignore_indiex: int | None = None,
                 activation: Any = "softmax"):
        super().__init__()
        name = type(self).__name__
        self.binarydiceloss = DiceLoss(smooth=1e-5)
        if weights is not None and checks.tensor(weights, "weights", name).ndim != 2:
            raise ValueError(f"For '{name}', 'weights' must have 2 dimensions, "
                             f"but got shape {weights.shape}.")
        if ignore_indiex is not None:
            checks.of_type(ignore_indiex, int, "ignore_indiex", name)
        if isinstance(activation, str):
            one_of(activation, ("softmax", "logsoftmax", "relu", "relu6", "tanh", "sigmoid"),
                   "activation", name)
            activation = get_activation(activation)
        elif activation is not None:
            checks.of_type(activation, Cell, "activation", name)
        self.weights = weights
        self.ignore_indiex = ignore_indiex
        self.activation = activation

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        self._check(logits=logits, label=label)
        name, shape = type(self).__name__, logits.shape
        if shape != label.shape or len(shape) < 2:
            raise ValueError(f"For '{name}', both inputs must have one shape of 2 dimensions or "
                             f"more, but got {shape} and {label.shape}.")
        if self.weights is not None and self.weights.shape[0] != shape[1]:
            raise ValueError(f"For '{name}', 'weights' must have a row for each of the {shape[1]} "
                             f"classes, but got shape {self.weights.shape}.")
        if self.activation is not None:
            logits = self.activation(logits)
        total: Any = 0
        for i in range(shape[1]):
            if i != self.ignore_indiex:
                loss = self.binarydiceloss(logits[:, i], label[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / shape[1]


class FocalLoss(LossBase):
    """Cross entropy in which easy elements count less: -(1 - p)^gamma log p (Lin et al., 2017).

    Args:
        weight: Tensor (C,), the weight of each class.
        gamma: how much less.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs:
        - **logits** - Tensor (N, C), (N, C, L) or (N, C, H, W), C above 1.
        - **labels** - Tensor of the same shape, or with C = 1 for classes.

    Outputs:
        Tensor: a number, or with ``"none"`` one a sample and, but for classes, one a class.

    Examples:
        >>> import lamella as ms
        >>> x, y = ms.Tensor([[0.0, 0.0]]), ms.Tensor([[1]], ms.int32)
        >>> print(ms.nn.FocalLoss(gamma=1.0)(x, y))
        0.3465736
    """

    def __init__(self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean"):
        super().__init__(reduction)
        name = type(self).__name__
        self.gamma = checks.of_type(gamma, float, "gamma", name)
        if weight is not None and checks.tensor(weight, "weight", name).ndim != 1:
            raise ValueError(f"For '{name}', 'weight' must have 1 dimension, "
                             f"but got shape {weight.shape}.")
        self.weight = weight
        self.logsoftmax = LogSoftmax(1)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        self._check(logits=logits, labels=labels)
        name, shape = type(self).__name__, logits.shape
        if len(shape) not in (2, 3, 4) or labels.ndim != len(shape):
            raise ValueError(f"For '{name}', both inputs must have 2, 3 or 4 dimensions, as many "
                             f"as each other, but got shapes {shape} and {labels.shape}.")
        if shape[1] == 1 or labels.shape[1] not in (1, shape[1]):
            raise ValueError(f"For '{name}', 'logits' must have several classes in dimension 1, "
                             f"and 'labels' as many or 1, but got {shape} and {labels.shape}.")
        scores = logits.reshape(shape[0], shape[1], -1)
        targets = labels.reshape(labels.shape[0], labels.shape[1], -1)
        log_p = self.logsoftmax(scores)
        weight = None
        if self.weight is not None:
            weight = self.weight.reshape(1, -1, 1).broadcast_to(log_p.shape)
        if labels.shape[1] == 1:
            positions = targets.astype(mstype.int32)
            log_p = ops.gather_elements(log_p, 1, positions).squeeze(1)
            if weight is not None:
                weight = ops.gather_elements(weight, 1, positions).squeeze(1)
            loss = self._focal(log_p, weight)
            return self.get_loss(loss.mean(1))
        return self.get_loss((self._focal(log_p, weight) * targets).mean(-1))

    def _focal(self, log_p: Tensor, weight: Tensor | None) -> Tensor:
        out = -((1 - ops.exp(log_p)) ** self.gamma) * log_p
        return out if weight is None else out * weight


class SampledSoftmaxLoss(LossBase):
    """Cross entropy over the true class and a random sample of others (Jean et al., 2015).

    Args:
        num_sampled: how many classes are sampled for each batch.
        num_classes: how many there are.
        num_true: how many true classes a sample has.
        sampled_values: the sampled classes, and the expected counts of the true and the sampled
            ones; default: drawn evenly without repetition.
        remove_accidental_hits: whether the batch's true classes are left out of the sample.
        seed: of the draw; 0 for the global state.
        reduction: accepted for MindSpore's sake; the loss of each sample is given.

    Inputs:
        - **weights** - Tensor (C, D).
        - **biases** - Tensor (C,).
        - **labels** - Tensor (N, num_true) or (N,) of classes.
        - **logits** - Tensor (N, D).

    Outputs:
        Tensor (N,).

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.SampledSoftmaxLoss(num_sampled=4, num_classes=7)
        >>> w, b, x = ms.ops.ones((7, 10)), ms.ops.ones(7), ms.ops.ones((3, 10))
        >>> net(w, b, ms.Tensor([0, 1, 2]), x).shape
        (3,)
    """

    def __init__(self, num_sampled: int, num_classes: int, num_true: int = 1,
                 sampled_values: Any = None, remove_accidental_hits: bool = True, seed: int = 0,
                 reduction: str = "none"):
        super().__init__(reduction)
        name = type(self).__name__
        checks.positive_int(num_sampled, "num_sampled", name)
        checks.positive_int(num_true, "num_true", name)
        checks.int_at_least_0(seed, "seed", name)
        if max(num_sampled, num_true) > num_classes:
            raise ValueError(f"For '{name}', 'num_sampled' and 'num_true' must not be above "
                             f"'num_classes' {num_classes}, but got {num_sampled} and {num_true}.")
        if sampled_values is not None:
            checks.of_type(sampled_values, (list, tuple), "sampled_values", name)
            if len(sampled_values) != 3:
                raise ValueError(f"For '{name}', 'sampled_values' must have 3 Tensors, "
                                 f"but got {len(sampled_values)}.")
        self.num_sampled = num_sampled
        self.num_classes = num_classes
        self.num_true = num_true
        self.sampled_values = sampled_values
        self.remove_accidental_hits = remove_accidental_hits
        self.seed = seed

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor,  # type: ignore[override]
                  logits: Tensor) -> Tensor:
        self._check(weights=weights, biases=biases, labels=labels, logits=logits)
        if labels.dtype not in (mstype.int32, mstype.int64):
            raise TypeError(f"For '{type(self).__name__}', 'labels' must be int32 or int64, "
                            f"but got {labels.dtype}.")
        labels = labels.reshape(-1, self.num_true)
        sampled, true_counts, sampled_counts = self.sampled_values or self._sample(labels, logits)
        rows = weights[labels.reshape(-1)].reshape(-1, self.num_true, weights.shape[1])
        right = ops.sum(logits.expand_dims(1) * rows, 2) + biases[labels] - ops.log(true_counts)
        other = ops.matmul(logits, weights[sampled].swapaxes(0, 1)) + biases[sampled] - ops.log(
            sampled_counts)
        log_p = ops.log_softmax(ops.cat((right, other), 1), 1)
        return -ops.mean(log_p[:, :self.num_true], 1)

    def _sample(self, labels: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Classes drawn evenly among those that no sample has, and their expected counts."""
        source = generator(self.seed or None)
        free = torch.ones(self.num_classes, dtype=torch.bool, device=source.device)
        if self.remove_accidental_hits:
            free[labels._raw.to(source.device).flatten().long()] = False
        order = torch.randperm(self.num_classes, generator=source, device=source.device)
        sampled = order[free[order]][: self.num_sampled].to(labels._raw.device)
        count = self.num_sampled / self.num_classes
        return (wrap(sampled), ops.full_like(labels, count, dtype=logits.dtype),
                wrap(torch.full_like(sampled, count, dtype=logits._raw.dtype)))
