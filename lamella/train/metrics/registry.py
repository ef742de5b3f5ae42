"""Metrics by name."""

from __future__ import annotations

from typing import Any

from .bleu import BleuScore
from .classification import (
    F1,
    Accuracy,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from .confusion import ConfusionMatrix, ConfusionMatrixMetric
from .distance import MAE, MSE, CosineSimilarity, Dice
from .loss import Loss, Perplexity
from .metric import Metric
from .occlusion import OcclusionSensitivity
from .roc import ROC, auc
from .surface import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance

__all__ = ["get_metric_fn", "get_metrics", "names"]

_METRICS: dict[str, Any] = {
    "accuracy": Accuracy, "acc": Accuracy, "precision": Precision, "recall": Recall, "F1": F1,
    "dice": Dice, "roc": ROC, "auc": auc, "bleu_score": BleuScore,
    "cosine_similarity": CosineSimilarity, "occlusion_sensitivity": OcclusionSensitivity,
    "topk": TopKCategoricalAccuracy, "hausdorff_distance": HausdorffDistance,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy,
    "mae": MAE, "mse": MSE, "loss": Loss, "mean_surface_distance": MeanSurfaceDistance,
    "root_mean_square_distance": RootMeanSquareDistance, "perplexity": Perplexity,
    "confusion_matrix": ConfusionMatrix, "confusion_matrix_metric": ConfusionMatrixMetric,
}


def names() -> list[str]:
    """The names that `get_metric_fn` knows.

    Examples:
        >>> import lamella as ms
        >>> ms.train.names()[:3]
        ['F1', 'acc', 'accuracy']
    """
    return sorted(_METRICS)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """A new metric.

    Args:
        name: one of `names`.
        *args, **kwargs: what its class takes.

    Raises:
        KeyError: for an unknown name.

    Examples:
        >>> import lamella as ms
        >>> ms.train.get_metric_fn("topk", 3).k
        3
    """
    if not isinstance(name, str) or name not in _METRICS:
        raise KeyError(f"For 'get_metric_fn', 'name' must be one of {names()}, but got {name!r}.")
    return _METRICS[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric]:
    """The metrics by name of what `Model` was given: None, a dict, or a set of names.

    Raises:
        TypeError: for anything else.
    """
    if metrics is None:
        return {}
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in metrics}
    if not isinstance(metrics, dict):
        raise TypeError(f"For 'Model', 'metrics' must be None, a dict or a set, "
                        f"but got {type(metrics).__name__}.")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not isinstance(metric, Metric):
            raise TypeError(f"For 'Model', a dict of 'metrics' must hold Metrics by name, but got "
                            f"{name!r}: {type(metric).__name__}.")
    return metrics
