"""Callbacks that need Huawei's tools: their error says what to use instead."""

from __future__ import annotations

from typing import Any

from .base import Callback

__all__ = ["SummaryLandscape", "TrainFaultTolerance"]


class TrainFaultTolerance(Callback):
    """MindSpore's repair of clusters of Ascend devices by MindIO, which does not exist here.

    Raises:
        RuntimeError: always.
    """

    def __init__(self, ckpt_save_path: str | None = None, **kwargs: Any):
        raise RuntimeError("'TrainFaultTolerance' needs MindIO on Ascend devices, which Lamella "
                           "does not have. With 'train.RunCheckpoint(folder, steps)' a run that "
                           "was killed goes on bit for bit.")


class SummaryLandscape:
    """MindSpore's landscapes of losses for MindInsight, which does not exist here.

    Raises:
        RuntimeError: always.
    """

    def __init__(self, summary_dir: str):
        raise RuntimeError("'SummaryLandscape' writes for MindInsight, which Lamella does not do: "
                           "its summaries are TensorBoard's. Evaluate the network at points "
                           "between checkpoints, and record them with 'SummaryRecord'.")
