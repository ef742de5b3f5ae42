"""Metrics of classification: how often the right class, or the right labels, were predicted."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...core import checks as check
from ...core.require import of_type
from .metric import Metric, class_indices, no_samples, rearrange_inputs

__all__ = ["F1", "Accuracy", "Fbeta", "Precision", "Recall", "Top1CategoricalAccuracy",
           "Top5CategoricalAccuracy", "TopKCategoricalAccuracy"]

_TINY = sys.float_info.min


class _ByClass(Metric):
    """The base: inputs are checked, and the number of classes stays."""

    def __init__(self, eval_type: str = "classification"):
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(f"For '{type(self).__name__}', 'eval_type' must be 'classification' or "
                            f"'multilabel', but got {eval_type!r}.")
        self._type = eval_type
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._class_num = 0

    def _checked(self, inputs: tuple) -> tuple[np.ndarray, np.ndarray]:
        where = f"For '{type(self).__name__}.update'"
        predicted, true = self._two(inputs)
        single = self._type == "classification"
        if single:
            true = class_indices(predicted, true)
        shape = (predicted.shape[:1] + predicted.shape[2:]) if single else predicted.shape
        if predicted.ndim < 2 or true.shape != shape:
            raise ValueError(f"{where}, the true value must have the predicted value's shape"
                             f"{' without axis 1' if single else ''}, but got {predicted.shape} "
                             f"and {true.shape}.")
        if not single and not (np.isin(predicted, (0, 1)).all() and np.isin(true, (0, 1)).all()):
            raise ValueError(f"{where}, with 'multilabel' all values must be 0 or 1.")
        count = predicted.shape[1]
        if self._class_num not in (0, count):
            raise ValueError(f"{where}, the batch before had {self._class_num} classes, but this "
                             f"one has {count}.")
        self._class_num = count
        return predicted, true

    def _one_hot(self, inputs: tuple) -> tuple[np.ndarray, np.ndarray]:
        """Predicted and true classes as one-hot rows; with 'multilabel', samples in columns."""
        predicted, true = self._checked(inputs)
        count = self._class_num
        if self._type == "multilabel":
            return (predicted.swapaxes(1, 0).reshape(count, -1),
                    true.swapaxes(1, 0).reshape(count, -1))
        if true.size and (true.max() >= count or true.min() < 0):
            raise ValueError(f"For '{type(self).__name__}.update', the true classes must be below "
                             f"the number of predicted classes, {count}, but got "
                             f"{true.min() if true.min() < 0 else true.max()}.")
        row = np.eye(count)
        return row[predicted.argmax(axis=1).reshape(-1)], row[true.reshape(-1).astype(int)]


class Accuracy(_ByClass):
    """The share of samples that were predicted rightly.

    Args:
        eval_type: ``"classification"`` for predictions (N, C, ...) and classes (N, ...), or one-hot
            vectors; ``"multilabel"`` for zeros and ones (N, C, ...) on both sides, all of which
            must agree.

    Raises:
        TypeError: for another `eval_type`.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.2, 0.8], [0.7, 0.3], [0.9, 0.1]])
        >>> print(ms.train.Accuracy()(scores, ms.Tensor([1, 0, 1])))
        0.6666666666666666
    """

    def clear(self) -> None:
        """Forget all batches."""
        super().clear()
        self._correct_num = 0
        self._total_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of predicted and true values."""
        predicted, true = self._checked(inputs)
        if self._type == "classification":
            right = (predicted.argmax(axis=1) == true).reshape(-1)
        else:
            right = np.moveaxis(predicted == true, 1, -1).reshape(-1, self._class_num).all(axis=1)
        self._correct_num += int(right.sum())
        self._total_num += right.size

    def eval(self) -> float:
        """The share."""
        if self._total_num == 0:
            raise no_samples(self)
        return self._correct_num / self._total_num


class _Share(_ByClass):
    """True positives over a count of positives, for each class."""

    _of_predicted: bool

    def clear(self) -> None:
        """Forget all batches."""
        super().clear()
        start: Any = np.empty(0) if self._type == "multilabel" else 0
        self._true_positives = self._positives = start

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of predicted and true values."""
        predicted, true = self._one_hot(inputs)
        positives = (predicted if self._of_predicted else true).sum(axis=0)
        hits = (predicted * true).sum(axis=0)
        if self._type == "multilabel":
            self._true_positives = np.concatenate((self._true_positives, hits))
            self._positives = np.concatenate((self._positives, positives))
        else:
            self._true_positives = self._true_positives + hits
            self._positives = self._positives + positives

    def eval(self, average: bool = False) -> Any:
        """The share for each class (for each sample with 'multilabel'), or the mean of them."""
        if self._class_num == 0:
            raise no_samples(self)
        check.check_value_type("average", average, [bool], type(self).__name__)
        share = self._true_positives / (self._positives + _TINY)
        return share.mean() if average else share


class Precision(_Share):
    """For each class, the share of its predictions that are right.

    Args:
        eval_type: as for `Accuracy`.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.2, 0.8], [0.7, 0.3], [0.9, 0.1]])
        >>> print(ms.train.Precision()(scores, ms.Tensor([1, 0, 1])))
        [0.5 1. ]
    """

    _of_predicted = True


class Recall(_Share):
    """For each class, the share of its examples that were predicted to be of it.

    Args:
        eval_type: as for `Accuracy`.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.2, 0.8], [0.7, 0.3], [0.9, 0.1]])
        >>> print(ms.train.Recall()(scores, ms.Tensor([1, 0, 1])))
        [1.  0.5]
    """

    _of_predicted = False


class Fbeta(_ByClass):
    """The weighted harmonic mean of precision and recall for each class.

    Args:
        beta: the weight of recall.

    Raises:
        ValueError: if `beta` is not above 0.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.2, 0.8], [0.7, 0.3], [0.9, 0.1]])
        >>> print(ms.train.Fbeta(1)(scores, ms.Tensor([1, 0, 1])))
        [0.66666667 0.66666667]
    """

    def __init__(self, beta: float):
        if not beta > 0:
            raise ValueError(f"For 'Fbeta', 'beta' must be above 0, but got {beta}.")
        self.beta = beta
        super().__init__()

    def clear(self) -> None:
        """Forget all batches."""
        super().clear()
        self._true_positives: Any = 0
        self._actual_positives: Any = 0
        self._positives: Any = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of predicted and true values."""
        predicted, true = self._one_hot(inputs)
        self._true_positives += (predicted * true).sum(axis=0)
        self._actual_positives += true.sum(axis=0)
        self._positives += predicted.sum(axis=0)

    def eval(self, average: bool = False) -> Any:
        """The value for each class, or the mean of them."""
        check.check_value_type("average", average, [bool], type(self).__name__)
        if self._class_num == 0:
            raise no_samples(self)
        square = self.beta ** 2
        value = (1 + square) * self._true_positives / (
            square * self._actual_positives + self._positives + _TINY)
        return value.mean() if average else value


class F1(Fbeta):
    """`Fbeta` with ``beta=1``.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.2, 0.8], [0.7, 0.3], [0.9, 0.1]])
        >>> print(ms.train.F1()(scores, ms.Tensor([1, 0, 0])))
        [1. 1.]
    """

    def __init__(self):
        super().__init__(1.0)


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose class is among the `k` with the highest scores.

    Args:
        k: how many.

    Raises:
        TypeError, ValueError: if `k` is no int above 0.

    Examples:
        >>> import lamella as ms
        >>> scores = ms.Tensor([[0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
        >>> print(ms.train.TopKCategoricalAccuracy(2)(scores, ms.Tensor([2, 0])))
        0.5
    """

    def __init__(self, k: int):
        super().__init__()
        of_type(k, int, "k", "TopKCategoricalAccuracy")
        if k < 1:
            raise ValueError(f"For 'TopKCategoricalAccuracy', 'k' must be 1 or more, "
                             f"but got {k}.")
        self.k = k
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._correct_num = 0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of scores (N, C) and classes (N,), or one-hot vectors."""
        scores, true = self._two(inputs)
        true = class_indices(scores, true).reshape(-1, 1)
        if scores.ndim != 2 or len(scores) != len(true):
            raise ValueError(f"For '{type(self).__name__}.update', there must be a class for each "
                             f"row of scores (N, C), but got scores of shape {scores.shape} and "
                             f"{len(true)} classes.")
        best = np.argsort(-scores, axis=1)[:, :self.k]
        self._correct_num += int((best == true).sum())
        self._samples_num += len(true)

    def eval(self) -> float:
        """The share."""
        if self._samples_num == 0:
            raise no_samples(self)
        return self._correct_num / self._samples_num


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """`TopKCategoricalAccuracy` with ``k=1``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.Top1CategoricalAccuracy()(ms.Tensor([[0.2, 0.8]]), ms.Tensor([1])))
        1.0
    """

    def __init__(self):
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """`TopKCategoricalAccuracy` with ``k=5``.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.Top5CategoricalAccuracy()(ms.Tensor([[0.2, 0.8]]), ms.Tensor([0])))
        1.0
    """

    def __init__(self):
        super().__init__(5)
