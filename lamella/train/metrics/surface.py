"""Distances between the surfaces of two segmentations of an image or volume."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import checks as check
from .metric import Metric, no_samples, rearrange_inputs

__all__ = ["HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]

_KINDS = ["euclidean", "chessboard", "taxicab"]


class _Surfaces(Metric):
    """The base: keeps which pixels lie on the surface of each segmentation."""

    def __init__(self, distance_metric: str):
        super().__init__()
        self.distance_metric = check.check_string(distance_metric, _KINDS, "distance_metric",
                                                  type(self).__name__)
        self.clear()

    def clear(self) -> None:
        """Forget the segmentations."""
        self._y_pred_edges: Any = None
        self._y_edges: Any = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Take a predicted and a true segmentation, and the label that is meant."""
        where = f"For '{type(self).__name__}.update'"
        self._count(inputs, 3, "predicted value, true value, label index")
        predicted, true = self._convert_data(inputs[0]), self._convert_data(inputs[1])
        label = inputs[2]
        if not isinstance(label, (int, float)):
            raise ValueError(f"{where}, the label index must be an int or a float, "
                             f"but got {type(label).__name__}.")
        if predicted.size == 0 or predicted.shape != true.shape:
            raise ValueError(f"{where}, both values must have the same shape with elements, "
                             f"but got {predicted.shape} and {true.shape}.")
        if label not in predicted and label not in true:
            raise ValueError(f"{where}, the label index {label} is in neither value.")
        self._y_pred_edges = self._edges(predicted == label)
        self._y_edges = self._edges(true == label)

    @staticmethod
    def _edges(mask: np.ndarray) -> np.ndarray:
        return _scipy().binary_erosion(mask) ^ mask

    def _distances(self, of: np.ndarray, to: np.ndarray) -> np.ndarray:
        """The distance of each pixel of one surface from the other surface."""
        if not of.any():
            return np.array([])
        if not to.any():
            return np.full(int(of.sum()), np.inf)
        if self.distance_metric == "euclidean":
            away = _scipy().distance_transform_edt(~to)
        else:
            away = _scipy().distance_transform_cdt(~to, metric=self.distance_metric)
        return np.asarray(away)[of]

    def _both(self) -> tuple[np.ndarray, np.ndarray]:
        if self._y_edges is None:
            raise no_samples(self)
        return (self._distances(self._y_pred_edges, self._y_edges),
                self._distances(self._y_edges, self._y_pred_edges))


def _scipy() -> Any:
    try:
        from scipy import ndimage
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Distances between surfaces need the package 'scipy'; "
                                  "pip install scipy.", name="scipy") from error
    return ndimage


class HausdorffDistance(_Surfaces):
    """The largest distance from a pixel of one surface to the other surface.

    Args:
        distance_metric: ``"euclidean"``, ``"chessboard"`` or ``"taxicab"``.
        percentile: the percentile of distances to take, 0 to 100; None or 0 for the largest.
        directed: whether only distances from the predicted surface count.
        crop: accepted as MindSpore does; the result is the same.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[1, 0, 0, 0]]), ms.Tensor([[0, 0, 0, 1]])
        >>> print(ms.train.HausdorffDistance()(a, b, 1))
        3.0
    """

    def __init__(self, distance_metric: str = "euclidean", percentile: float | None = None,
                 directed: bool = False, crop: bool = True):
        super().__init__(distance_metric)
        where = "HausdorffDistance"
        self.percentile = percentile if percentile is None else check.check_value_type(
            "percentile", percentile, [float], where)
        if percentile is not None and not 0 <= percentile <= 100:
            raise ValueError(f"For '{where}', 'percentile' must be 0 to 100, but got {percentile}.")
        self.directed = check.check_value_type("directed", directed, [bool], where)
        self.crop = check.check_value_type("crop", crop, [bool], where)

    def eval(self) -> Any:
        """The distance; infinite if a surface is empty."""
        there, back = (self._largest(d) for d in self._both())
        return there if self.directed else max(there, back)

    def _largest(self, distances: np.ndarray) -> Any:
        if distances.size == 0:
            return np.inf
        if not self.percentile:
            return distances.max()
        return np.percentile(distances, self.percentile)


class _MeanOfDistances(_Surfaces):
    """The base of means of distances, in one direction or in both."""

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean"):
        super().__init__(distance_metric)
        self.symmetric = check.check_value_type("symmetric", symmetric, [bool],
                                                type(self).__name__)

    def _mean(self, power: int) -> Any:
        """The mean of the distances to a power; infinite if a surface is empty."""
        there, back = self._both()
        if there.size == 0 or self.symmetric and back.size == 0:
            return np.inf
        mean = (there ** power).mean()
        return np.mean((mean, (back ** power).mean())) if self.symmetric else mean


class MeanSurfaceDistance(_MeanOfDistances):
    """The mean distance from the pixels of the predicted surface to the true one.

    Args:
        symmetric: whether to take the mean of both directions.
        distance_metric: ``"euclidean"``, ``"chessboard"`` or ``"taxicab"``.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[1, 0, 0, 0]]), ms.Tensor([[0, 0, 0, 1]])
        >>> print(ms.train.MeanSurfaceDistance()(a, b, 1))
        3.0
    """

    def eval(self) -> Any:
        """The distance; infinite if a surface is empty."""
        return self._mean(1)


class RootMeanSquareDistance(_MeanOfDistances):
    """As `MeanSurfaceDistance`, of the squared distances.

    As in MindSpore 2.10, the root is taken with `symmetric` only.

    Args:
        symmetric: whether to take the mean of both directions, and its root.
        distance_metric: ``"euclidean"``, ``"chessboard"`` or ``"taxicab"``.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or unknown.

    Examples:
        >>> import lamella as ms
        >>> a, b = ms.Tensor([[1, 0, 0, 0]]), ms.Tensor([[0, 0, 0, 1]])
        >>> print(ms.train.RootMeanSquareDistance(symmetric=True)(a, b, 1))
        3.0
    """

    def eval(self) -> Any:
        """The distance; infinite if a surface is empty."""
        square = self._mean(2)
        return np.sqrt(square) if self.symmetric else square
