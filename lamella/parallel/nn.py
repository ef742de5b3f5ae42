"""Cells that split a batch into parts, under their names for `AutoParallel`."""

from ..nn.wrap import GradAccumulationCell as GradAccumulation
from ..nn.wrap import MicroBatchInterleaved, PipelineCell, PipelineGradReducer

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline", "PipelineCell",
           "PipelineGradReducer"]

Pipeline = PipelineCell
