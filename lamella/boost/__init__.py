"""Ways of training that MindSpore keeps apart: gradients added up over several steps."""

from .grad_accumulation import (
    GradientAccumulation,
    gradient_accumulation_op,
    gradient_clear_op,
)

__all__ = ["GradientAccumulation", "gradient_accumulation_op", "gradient_clear_op"]
