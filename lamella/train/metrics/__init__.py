"""Metrics: numbers that say how good a network is, gathered over batches."""

from .bleu import BleuScore
from .classification import (
    F1,
    Accuracy,
    Fbeta,
    Precision,
    Recall,
    Top1CategoricalAccuracy,
    Top5CategoricalAccuracy,
    TopKCategoricalAccuracy,
)
from .confusion import ConfusionMatrix, ConfusionMatrixMetric
from .distance import MAE, MSE, CosineSimilarity, Dice
from .loss import Loss, Perplexity
from .metric import Metric, rearrange_inputs
from .occlusion import OcclusionSensitivity
from .registry import get_metric_fn, get_metrics, names
from .roc import ROC, auc
from .surface import HausdorffDistance, MeanSurfaceDistance, RootMeanSquareDistance

__all__ = ["names", "get_metric_fn", "Accuracy", "MAE", "MSE", "Metric", "rearrange_inputs",
           "Precision", "HausdorffDistance", "Recall", "Fbeta", "BleuScore", "CosineSimilarity",
           "OcclusionSensitivity", "F1", "Dice", "ROC", "auc", "TopKCategoricalAccuracy",
           "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "Loss", "MeanSurfaceDistance",
           "RootMeanSquareDistance", "Perplexity", "ConfusionMatrix", "ConfusionMatrixMetric"]
