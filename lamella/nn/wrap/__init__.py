"""Cells around a network: loss, training step, evaluation, loss scaling, micro-batches."""

from .cell_wrapper import (
    ForwardValueAndGrad,
    ParameterUpdate,
    TrainOneStepCell,
    VirtualDatasetCellTriple,
    WithEvalCell,
    WithGradCell,
    WithLossCell,
)
from .derivative import Jvp, Vjp, functional_call, stack_parameters
from .grad_reducer import DistributedGradReducer, PipelineGradReducer
from .loss_scale import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepWithLossScaleCell,
)
from .micro_batch import GradAccumulationCell, MicroBatchInterleaved, PipelineCell

__all__ = ["ForwardValueAndGrad", "TrainOneStepCell", "WithLossCell", "WithGradCell",
           "WithEvalCell", "TrainOneStepWithLossScaleCell", "DistributedGradReducer",
           "ParameterUpdate", "DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell",
           "VirtualDatasetCellTriple", "GradAccumulationCell", "MicroBatchInterleaved",
           "PipelineCell", "PipelineGradReducer", "Jvp", "Vjp", "functional_call",
           "stack_parameters"]
