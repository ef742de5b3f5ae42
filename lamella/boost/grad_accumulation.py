"""Gradients of several steps, added up before the optimizer takes one."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core import dtype as mstype
from ..nn.cell import Cell
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor

__all__ = ["GradientAccumulation", "gradient_accumulation_op", "gradient_clear_op"]

gradient_accumulation_op = ops.MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = ops.MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Int64", "Tensor", "Tensor")
def cumulative_grad_process(accumulation_step: int, cumulative_grad: Any, grad: Tensor) -> Any:
    """Add a step's share of the mean gradient."""
    ops.assign_add(cumulative_grad, grad / accumulation_step)
    return cumulative_grad


@gradient_clear_op.register("Tensor")
def clear_grad(cumulative_grad: Any) -> Any:
    """Begin anew."""
    return ops.assign(cumulative_grad, ops.zeros_like(cumulative_grad))


class GradientAccumulation(Cell):
    """Hands an optimizer the mean of the gradients of several steps.

    Args:
        max_accumulation_step: how many steps.
        optimizer: the optimizer.

    Inputs:
        - **loss** - what is given back.
        - **grads** - a tuple of gradients, one for each of the optimizer's Parameters.

    Outputs:
        The loss.

    Raises:
        ValueError: if `max_accumulation_step` is no int above 0.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> step = ms.boost.GradientAccumulation(2, ms.nn.SGD([w], learning_rate=1.0))
        >>> for gradient in (0.25, 0.75):
        ...     _ = step(ms.Tensor(0.0), (ms.Tensor([gradient]),))
        ...     print(w.value())
        [1.]
        [0.5]
    """

    def __init__(self, max_accumulation_step: int, optimizer: Any):
        super().__init__()
        if (not isinstance(max_accumulation_step, int) or isinstance(max_accumulation_step, bool)
                or max_accumulation_step < 1):
            raise ValueError(f"For 'GradientAccumulation', 'max_accumulation_step' must be an int "
                             f"above 0, but got {max_accumulation_step!r}.")
        self._max_accumulation_step = max_accumulation_step
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self.hyper_map = ops.HyperMap()
        self._grad_accumulation = self.weights.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step = Parameter(Tensor(0, mstype.int32), name="accumulation_step")

    def construct(self, loss: Any, grads: Any) -> Any:
        """Add the gradients; after the last of the steps, let the optimizer take one."""
        add = ops.partial(gradient_accumulation_op, self._max_accumulation_step)
        self.hyper_map(add, self._grad_accumulation, grads)
        self._accumulation_step += 1
        if self._accumulation_step >= self._max_accumulation_step:
            self.optimizer(self._grad_accumulation)
            ops.assign(self._accumulation_step, 0)
            self.hyper_map(gradient_clear_op, self._grad_accumulation)
        return loss
