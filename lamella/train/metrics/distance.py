"""Metrics of how far apart, or how alike, predicted and true values are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import checks as check
from .metric import Metric, no_samples, rearrange_inputs, widened

__all__ = ["MAE", "MSE", "CosineSimilarity", "Dice"]


class _Error(Metric):
    """A sum of errors over the number of samples."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._error_sum = 0.0
        self._samples_num = 0

    def _difference(self, inputs: tuple) -> np.ndarray:
        predicted, true = self._two(inputs)
        if true.size != predicted.size:
            raise ValueError(f"For '{type(self).__name__}.update', both values must have the same "
                             f"shape, but got {predicted.shape} and {true.shape}.")
        self._samples_num += true.shape[0] if true.ndim else 1
        return true.reshape(predicted.shape) - predicted

    def eval(self) -> float:
        """The sum over all elements, divided by the number of samples."""
        if self._samples_num == 0:
            raise no_samples(self)
        return self._error_sum / self._samples_num


class MAE(_Error):
    """The mean absolute error: the sum over all elements, divided by the number of samples.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.MAE()(ms.Tensor([1.0, 4.0]), ms.Tensor([2.0, 2.0])))
        1.5
    """

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of predicted and true values."""
        self._error_sum += float(np.abs(self._difference(inputs)).sum())


class MSE(_Error):
    """The mean squared error: the sum over all elements, divided by the number of samples.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.MSE()(ms.Tensor([1.0, 4.0]), ms.Tensor([2.0, 2.0])))
        2.5
    """

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of predicted and true values."""
        self._error_sum += float(np.square(self._difference(inputs)).sum())


class Dice(Metric):
    """The Dice coefficient ``2 |A B| / (|A|² + |B|²)``: the sum over batches, divided by samples.

    Args:
        smooth: added to the divisor.

    Raises:
        TypeError, ValueError: if `smooth` is no float above 0.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.Dice()(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 1.0]])))
        0.6666644414340226
    """

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        self.smooth = check.check_positive_float(smooth, "smooth", "Dice")
        self.clear()

    def clear(self) -> None:
        """Forget all batches."""
        self._dice_coeff_sum = 0.0
        self._samples_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Add a batch of predicted and true values of one shape."""
        predicted, true = self._two(inputs)
        if predicted.shape != true.shape or not true.ndim:
            raise ValueError(f"For 'Dice.update', both values must have the same shape, "
                             f"but got {predicted.shape} and {true.shape}.")
        a, b = predicted.reshape(-1), true.reshape(-1)
        self._dice_coeff_sum += 2 * float(a @ b) / float(a @ a + b @ b + self.smooth)
        self._samples_num += true.shape[0]

    def eval(self) -> float:
        """The coefficient."""
        if self._samples_num == 0:
            raise no_samples(self)
        return self._dice_coeff_sum / self._samples_num


class CosineSimilarity(Metric):
    """How alike the rows of the last batch are, each to each.

    Args:
        similarity: ``"cosine"`` or ``"dot"`` for products that are not normalised.
        reduction: ``"none"``, ``"sum"`` or ``"mean"`` of each row.
        zero_diagonal: whether a row counts as unlike itself.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.

    Examples:
        >>> import lamella as ms
        >>> print(ms.train.CosineSimilarity()(ms.Tensor([[1.0, 0.0], [1.0, 1.0]])))
        [[0.         0.70710677]
         [0.70710677 0.        ]]
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none",
                 zero_diagonal: bool = True):
        super().__init__()
        where = "CosineSimilarity"
        self.similarity = check.check_string(similarity, ["dot", "cosine"], "similarity", where)
        self.reduction = check.check_string(reduction, ["none", "sum", "mean"], "reduction", where)
        self.zero_diagonal = check.check_value_type("zero_diagonal", zero_diagonal, [bool], where)
        self.clear()

    def clear(self) -> None:
        """Forget the batch."""
        self.sqr_mtx_res: Any = None

    @rearrange_inputs
    def update(self, inputs: Any) -> None:
        """Take a batch of rows (N, D)."""
        rows = widened(self._convert_data(inputs))
        if rows.ndim != 2:
            raise ValueError(f"For 'CosineSimilarity.update', the input must have 2 dimensions, "
                             f"but got shape {rows.shape}.")
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self.sqr_mtx_res = rows @ rows.T

    def eval(self) -> np.ndarray:
        """The matrix, or what `reduction` makes of its rows."""
        if self.sqr_mtx_res is None:
            raise no_samples(self)
        matrix = self.sqr_mtx_res.copy()
        if self.zero_diagonal:
            np.fill_diagonal(matrix, 0)
        if self.reduction == "none":
            return matrix
        return matrix.mean(axis=-1) if self.reduction == "mean" else matrix.sum(axis=-1)
