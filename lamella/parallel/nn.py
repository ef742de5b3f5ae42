"""Cells that cut a batch in parts, under the names they have for `AutoParallel`."""

from ..nn.wrap import GradAccumulationCell as GradAccumulation
from ..nn.wrap import MicroBatchInterleaved, PipelineGradReducer
from ..nn.wrap import PipelineCell as Pipeline

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline", "PipelineGradReducer"]
