"""Metrics made of losses and likelihoods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core import checks as check
from .metric import Metric, no_samples, rearrange_inputs

__all__ = ["Loss", "Perplexity"]


class Loss(Metric):
    """The mean of the batches' losses.

    Examples:
        >>> import lamella as ms
        >>> metric = ms.train.Loss()
        >>> metric.update(ms.Tensor(1.0)); metric.update(ms.Tensor(2.0))
        >>> print(metric.eval())
        1.5
    """

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._sum_loss = 0.0
        self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch's loss, a scalar or a vector."""
        self._count(inputs, 1, "loss")
        loss = self._convert_data(inputs[0])
        if loss.ndim > 1:
            raise ValueError(f"For 'Loss.update', the loss must have 0 or 1 dimensions, "
                             f"but got shape {loss.shape}.")
        self._sum_loss += float(loss.mean())
        self._total_num += 1

    def eval(self) -> float:
        """The mean."""
        if self._total_num == 0:
            raise no_samples(self)
        return self._sum_loss / self._total_num


class Perplexity(Metric):
    """``exp`` of the mean negative logarithm of the probabilities of the true classes.

    Args:
        ignore_label: a class that doesn't count; None for none.

    Raises:
        TypeError: if `ignore_label` is no int.

    Examples:
        >>> import lamella as ms
        >>> probabilities = ms.Tensor([[0.5, 0.5], [0.5, 0.5]])
        >>> round(ms.train.Perplexity()(probabilities, ms.Tensor([0, 1])), 6)
        2.0
    """

    def __init__(self, ignore_label: int | None = None):
        super().__init__()
        self.ignore_label = ignore_label if ignore_label is None else check.check_value_type(
            "ignore_label", ignore_label, [int], "Perplexity")
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._sum_metric = 0.0
        self._num_inst = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of probabilities (..., C) and classes."""
        probabilities, labels = self._two(inputs)
        if probabilities.ndim == 0 or labels.size * probabilities.shape[-1] != probabilities.size:
            raise RuntimeError(f"For 'Perplexity.update', there must be a label for each row of "
                               f"probabilities, but got {probabilities.shape} and {labels.shape}.")
        labels = labels.reshape(-1).astype(int)
        rows = probabilities.reshape(len(labels), -1)
        counted = np.ones(len(labels), bool) if self.ignore_label is None \
            else labels != self.ignore_label
        labels = labels[counted]
        if labels.size and not (0 <= labels.min() and labels.max() < rows.shape[1]):
            raise ValueError(f"For 'Perplexity.update', the classes that count must be below the "
                             f"number of probabilities in a row, {rows.shape[1]}, and not below 0, "
                             f"but got {labels.min()} to {labels.max()}.")
        chosen = rows[counted, labels]
        self._sum_metric -= float(np.log(np.maximum(1e-10, chosen)).sum())
        self._num_inst += chosen.size

    def eval(self) -> float:
        """The perplexity."""
        if self._num_inst == 0:
            raise no_samples(self)
        return math.exp(self._sum_metric / self._num_inst)
