"""MindSpore's `boost`: further ways of training.

They are gradients added up over several steps, frozen layers, centralized gradients, adaptive sums,
quasi-Newton steps in few dimensions, and a loss scale for each group.
"""

from .adasum import AdaSum
from .base import OptimizerProcess, ParameterProcess
from .boost import AutoBoost
from .boost_cell_wrapper import BoostTrainOneStepCell, BoostTrainOneStepWithLossScaleCell
from .dim_reduce import DimReduce
from .grad_accumulation import (
    GradientAccumulation,
    gradient_accumulation_op,
    gradient_clear_op,
)
from .grad_freeze import FreezeOpt, GradientFreeze, freeze_cell
from .group_loss_scale_manager import GroupLossScaleManager
from .less_batch_normalization import LessBN

__all__ = ["AdaSum", "AutoBoost", "BoostTrainOneStepCell", "BoostTrainOneStepWithLossScaleCell",
           "DimReduce", "FreezeOpt", "GradientAccumulation", "GradientFreeze",
           "GroupLossScaleManager", "LessBN", "OptimizerProcess", "ParameterProcess",
           "freeze_cell", "gradient_accumulation_op", "gradient_clear_op"]
