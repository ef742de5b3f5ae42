"""Cells that cut a batch in parts, under the names they have for `AutoParallel`."""

from ..nn.wrap import GradAccumulationCell as GradAccumulation
from ..nn.wrap import MicroBatchInterleaved, PipelineCell, PipelineGradReducer

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline", "PipelineCell",
           "PipelineGradReducer"]

Pipeline = PipelineCell
