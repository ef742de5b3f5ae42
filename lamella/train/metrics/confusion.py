"""The confusion matrix, and the numbers that are made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import checks as check
from .metric import Metric, no_samples, rearrange_inputs

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


class ConfusionMatrix(Metric):
    """How often each class (row) was predicted to be each class (column).

    Args:
        num_classes: the number of classes.
        normalize: ``"no_norm"`` for counts; ``"target"``, ``"prediction"`` or ``"all"`` to divide
            by the sums of rows, of columns, or of all.
        threshold: for scores of one class: from which on they mean class 1.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.ConfusionMatrix(2)(ms.Tensor([0, 1, 0, 1]), ms.Tensor([0, 0, 1, 1])))
        [[1. 1.]
         [1. 1.]]
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5):
        super().__init__()
        where = "ConfusionMatrix"
        self.num_classes = check.check_value_type("num_classes", num_classes, [int], where)
        self.normalize = check.check_string(normalize, ["target", "prediction", "all", "no_norm"],
                                            "normalize", where)
        self.threshold = check.check_value_type("threshold", threshold, [float], where)
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch: classes or scores (N, ...), or scores (N, C, ...), and classes (N, ...)."""
        predicted, true = self._two(inputs)
        if predicted.ndim - true.ndim not in (0, 1):
            raise ValueError(f"For 'ConfusionMatrix.update', the predicted value must have as many "
                             f"dimensions as the true value or one more, but got {predicted.ndim} "
                             f"and {true.ndim}.")
        if predicted.ndim == true.ndim + 1:
            predicted = predicted.argmax(axis=1)
        elif predicted.dtype.kind == "f":
            predicted = predicted >= self.threshold
        if predicted.shape != true.shape:
            raise ValueError(f"For 'ConfusionMatrix.update', there must be a true value for each "
                             f"predicted one, but got shapes {predicted.shape} and {true.shape}.")
        count = self.num_classes
        for classes in (true, predicted):
            if classes.size and not (0 <= classes.min() and classes.max() < count):
                raise ValueError(f"For 'ConfusionMatrix.update', classes must be below "
                                 f"'num_classes', {count}, and not below 0, but got "
                                 f"{classes.min()} to {classes.max()}.")
        places = (true * count + predicted).astype(int).reshape(-1)
        self.confusion_matrix += np.bincount(places, minlength=count ** 2).reshape(count, count)
        self._is_update = True

    def eval(self) -> np.ndarray:
        """The matrix."""
        if not self._is_update:
            raise no_samples(self)
        matrix = self.confusion_matrix.copy()
        if self.normalize == "no_norm":
            return matrix
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        total = matrix.sum(axis=axis, keepdims=True)
        return np.divide(matrix, total, out=np.zeros_like(matrix), where=total != 0)


class ConfusionMatrixMetric(Metric):
    """A number made of true and false positives and negatives.

    Args:
        skip_channel: whether class 0 counts; if False it is left out.
        metric_name: which number, such as ``"sensitivity"``, ``"precision"``, ``"f1 score"``,
            ``"accuracy"``, ``"matthews_correlation_coefficient"``.
        calculation_method: whether to take it for each sample first; otherwise all are counted
            together.
        decrease: how samples and classes are put together then: ``"none"``, ``"mean"``,
            ``"sum"``, ``"mean_batch"``, ``"sum_batch"``, ``"mean_channel"``, ``"sum_channel"``.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.
        NotImplementedError: for an unknown `metric_name`.

    Examples:
        >>> import lamella as ms
        >>> predicted = ms.Tensor([[1, 0], [0, 1], [1, 0]])
        >>> true = ms.Tensor([[1, 0], [1, 0], [1, 0]])
        >>> print(ms.train.ConfusionMatrixMetric(metric_name="recall")(predicted, true))
        [0.66666667]
    """

    def __init__(self, skip_channel: bool = True, metric_name: str = "sensitivity",
                 calculation_method: bool = False, decrease: str = "mean"):
        super().__init__()
        where = "ConfusionMatrixMetric"
        self.skip_channel = check.check_value_type("skip_channel", skip_channel, [bool], where)
        self.calculation_method = check.check_value_type("calculation_method", calculation_method,
                                                         [bool], where)
        self.metric_name = check.check_value_type("metric_name", metric_name, [str], where)
        self._fraction = _fraction(metric_name)
        self.decrease = check.check_string(decrease, list(_TOGETHER), "decrease", where)
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._total_num = self._class_num = 0.0
        self._counts = np.zeros(4)
        self._by_sample = self.calculation_method

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of zeros and ones (N, C, ...), predicted and true."""
        predicted, true = self._two(inputs)
        if predicted.ndim < 2 or predicted.shape != true.shape:
            raise ValueError(f"For 'ConfusionMatrixMetric.update', both values must have the same "
                             f"shape of 2 dimensions or more, but got {predicted.shape} and "
                             f"{true.shape}.")
        if not np.isin(true, (0, 1)).all():
            raise ValueError("For 'ConfusionMatrixMetric.update', the true value must hold zeros "
                             "and ones.")
        if not self.skip_channel and true.shape[1] > 1:
            predicted, true = predicted[:, 1:], true[:, 1:]
        # by sample and class: nothing is left to average over where there is one element each
        alone = predicted.ndim == 2 or predicted.ndim == 3 and predicted.shape[-1] == 1
        counts = _counts(predicted, true)
        if not self._by_sample or alone and not self._class_num:  # the first batch decides
            self._by_sample = False
            self._counts += counts.sum(axis=(0, 1))
            return
        values = _divided(*self._fraction(*np.moveaxis(counts, -1, 0)))
        known = ~np.isnan(values)
        score, weight = _TOGETHER[self.decrease](np.where(known, values, 0.0), known.astype(float))
        self._total_num += float(np.sum(score * weight))
        self._class_num += float(np.sum(weight))

    def eval(self) -> Any:
        """The number."""
        if self._by_sample:
            if self._class_num == 0:
                raise no_samples(self)
            return self._total_num / self._class_num
        if not self._counts.any():
            raise no_samples(self)
        return _divided(*self._fraction(*self._counts[:, None]))


def _counts(predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """True positives, false positives, true negatives, false negatives (N, C, 4)."""
    shape = (*predicted.shape[:2], -1)
    predicted, true = predicted.reshape(shape) != 0, true.reshape(shape) != 0
    pairs = ((predicted, true), (predicted, ~true), (~predicted, ~true), (~predicted, true))
    return np.stack([(a & b).sum(axis=2) for a, b in pairs], axis=-1).astype(float)


def _divided(a: Any, b: Any) -> np.ndarray:
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    return np.divide(a, b, out=np.full(a.shape, np.nan), where=b != 0)


def _mean(values: np.ndarray, known: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    count = known.sum(axis=axis)
    return np.nan_to_num(_divided(values.sum(axis=axis), count)), (count > 0).astype(float)


def _sum(axis: Any) -> Callable[[np.ndarray, np.ndarray], tuple[Any, Any]]:
    return lambda values, known: (values.sum(axis=axis), known.sum(axis=axis))


# how the values of samples (axis 0) and classes (axis 1) are put together, and what they weigh
_TOGETHER: dict[str, Callable[[np.ndarray, np.ndarray], tuple[Any, Any]]] = {
    "none": lambda values, known: (values, known),
    "mean": lambda values, known: _weighed(*_mean(values, known, 1)),
    "sum": _sum((0, 1)),
    "mean_batch": lambda values, known: _mean(values, known, 0),
    "sum_batch": _sum(0),
    "mean_channel": lambda values, known: _mean(values, known, 1),
    "sum_channel": _sum(1),
}


def _weighed(values: np.ndarray, known: np.ndarray) -> tuple[Any, Any]:
    return np.nan_to_num(_divided((values * known).sum(), known.sum())), known.sum()


def _rates(tp: Any, fp: Any, tn: Any, fn: Any) -> tuple[Any, Any, Any, Any]:
    """Sensitivity, specificity, precision, negative predictive value."""
    return (_divided(tp, tp + fn), _divided(tn, fp + tn), _divided(tp, tp + fp),
            _divided(tn, tn + fn))


def _prevalence_threshold(tp: Any, fp: Any, tn: Any, fn: Any) -> tuple[Any, Any]:
    tpr, tnr, _, _ = _rates(tp, fp, tn, fn)
    return np.sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1


def _fowlkes_mallows(tp: Any, fp: Any, tn: Any, fn: Any) -> tuple[Any, Any]:
    tpr, _, ppv, _ = _rates(tp, fp, tn, fn)
    return np.sqrt(ppv * tpr), 1.0


# numerator and denominator of each number, under all its names
_FRACTIONS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "sensitivity recall hit_rate true_positive_rate tpr": lambda tp, fp, tn, fn: (tp, tp + fn),
    "specificity selectivity true_negative_rate tnr": lambda tp, fp, tn, fn: (tn, fp + tn),
    "precision positive_predictive_value ppv": lambda tp, fp, tn, fn: (tp, tp + fp),
    "negative_predictive_value npv": lambda tp, fp, tn, fn: (tn, tn + fn),
    "miss_rate false_negative_rate fnr": lambda tp, fp, tn, fn: (fn, tp + fn),
    "fall_out false_positive_rate fpr": lambda tp, fp, tn, fn: (fp, fp + tn),
    "false_discovery_rate fdr": lambda tp, fp, tn, fn: (fp, fp + tp),
    "false_omission_rate for": lambda tp, fp, tn, fn: (fn, fn + tn),
    "prevalence_threshold pt": _prevalence_threshold,
    "threat_score critical_success_index ts csi": lambda tp, fp, tn, fn: (tp, tp + fn + fp),
    "accuracy acc": lambda tp, fp, tn, fn: (tp + tn, tp + fp + tn + fn),
    "balanced_accuracy ba": lambda *c: (sum(_rates(*c)[:2]), 2.0),
    "f1_score f1": lambda tp, fp, tn, fn: (2 * tp, 2 * tp + fn + fp),
    "matthews_correlation_coefficient mcc": lambda tp, fp, tn, fn: (
        tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
    "fowlkes_mallows_index fm": _fowlkes_mallows,
    "informedness bookmaker_informedness bm": lambda *c: (sum(_rates(*c)[:2]) - 1, 1.0),
    "markedness deltap mk": lambda *c: (sum(_rates(*c)[2:]) - 1, 1.0),
}


def _fraction(name: str) -> Callable[..., tuple[Any, Any]]:
    wanted = name.replace(" ", "_").lower()
    for known, fraction in _FRACTIONS.items():
        if wanted in known.split():
            return fraction
    raise NotImplementedError(f"For 'ConfusionMatrixMetric', 'metric_name' must be one of "
                              f"{' '.join(_FRACTIONS).split()}, but got {name!r}.")
