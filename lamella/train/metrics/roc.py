"""The receiver operating characteristic, and the area below a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import checks as check
from .metric import Metric, no_samples, rearrange_inputs, widened

__all__ = ["ROC", "auc"]


class ROC(Metric):
    """The rates of false and of true positives at each threshold, for the last batch.

    Args:
        class_num: the number of classes, for scores (N, C); None or 1 for scores of one class.
        pos_label: which label counts as positive, for scores of one class; default 1.

    Raises:
        TypeError: if an argument is no int.

    Examples:
        >>> import lamella as ms
        >>> fpr, tpr, thresholds = ms.train.ROC(pos_label=2)(ms.Tensor([3, 1, 4, 2]),
        ...                                                  ms.Tensor([2, 1, 2, 3]))
        >>> print(fpr, tpr, thresholds)
        [0.  0.  0.  0.5 1. ] [0.  0.5 1.  1.  1. ] [5 4 3 2 1]
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None):
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None:
                check.check_value_type(name, value, [int], "ROC")
        self._given = class_num, pos_label
        self.clear()

    def clear(self) -> None:
        """Forget the batch."""
        self.class_num, self.pos_label = self._given
        self.y_pred: Any = None
        self.y: Any = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take a batch of scores (N,) or (N, C), and labels (N,)."""
        scores, true = self._two(inputs)
        if scores.ndim == true.ndim:
            if self.class_num not in (None, 1):
                raise ValueError(f"For 'ROC', where both values have the same shape, 'class_num' "
                                 f"must be 1, but got {self.class_num}.")
            self.class_num = 1
            self.pos_label = 1 if self.pos_label is None else self.pos_label
            scores = scores.reshape(-1)
        elif scores.ndim == true.ndim + 1:
            if self.pos_label is not None:
                raise ValueError(f"For 'ROC', with scores of several classes 'pos_label' must be "
                                 f"None, but got {self.pos_label}.")
            if self.class_num != scores.shape[1]:
                raise ValueError(f"For 'ROC', 'class_num' must be the number of classes, "
                                 f"{scores.shape[1]}, but got {self.class_num}.")
            scores = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
        else:
            raise ValueError(f"For 'ROC', the predicted value must have as many dimensions as the "
                             f"true value or one more, but got {scores.ndim} and {true.ndim}.")
        self.y_pred, self.y = scores.copy(), true.reshape(-1).copy()  # a caller may fill them anew

    def eval(self) -> tuple[Any, Any, Any]:
        """False and true positive rates and thresholds; a list of each for several classes."""
        if self.y_pred is None:
            raise no_samples(self)
        if self.class_num == 1:
            return _curve(self.y_pred.reshape(-1), self.y == self.pos_label)
        curves = [_curve(self.y_pred[:, c], self.y == c) for c in range(self.y_pred.shape[1])]
        return tuple(list(parts) for parts in zip(*curves, strict=True))  # type: ignore


def _curve(scores: np.ndarray, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(-scores)
    scores, positive = scores[order], positive[order].astype(np.int64)
    last = np.append(np.nonzero(np.diff(scores))[0], len(scores) - 1)  # of equal scores
    true = np.append(0, np.cumsum(positive)[last])
    false = np.append(0, 1 + last - true[1:])
    for count, what in ((false[-1], "negative"), (true[-1], "positive")):
        if count <= 0:
            raise ValueError(f"For 'ROC.eval', there are no {what} samples, so there is no rate "
                             f"of them.")
    thresholds = scores[last]
    return false / false[-1], true / true[-1], np.append(thresholds[0] + 1, thresholds)


def auc(x: np.ndarray, y: np.ndarray, reorder: bool = False) -> Any:
    """The area below a curve, by the trapezoidal rule.

    Args:
        x, y: the points.
        reorder: whether to sort them by `x`; otherwise `x` must rise or fall.

    Raises:
        TypeError: if `x` or `y` is no array.
        ValueError: if their lengths differ, there are fewer than two points, or `x` is not sorted.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> print(ms.train.auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0])))
        0.75
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"For 'auc', 'x' and 'y' must be arrays, but got {type(x).__name__} and "
                        f"{type(y).__name__}.")
    for name, values in (("x", x), ("y", y)):
        if values.ndim != 1 and (values.ndim != 2 or values.shape[1] != 1):
            raise ValueError(f"For 'auc', '{name}' must have shape (N,) or (N, 1), "
                             f"but got {values.shape}.")
    x, y = widened(x.reshape(-1)), widened(y.reshape(-1))
    if len(x) != len(y) or len(x) < 2:
        raise ValueError(f"For 'auc', 'x' and 'y' must have the same length of 2 or more, "
                         f"but got {len(x)} and {len(y)}.")
    direction = 1
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    else:
        steps = np.diff(x)
        if (steps < 0).any():
            if (steps > 0).any():
                raise ValueError(f"For 'auc', 'x' must rise or fall unless 'reorder' is True, "
                                 f"but got {x}.")
            direction = -1
    trapezoid = getattr(np, "trapezoid", None) or np.trapz  # type: ignore[attr-defined]
    return direction * trapezoid(y, x)
