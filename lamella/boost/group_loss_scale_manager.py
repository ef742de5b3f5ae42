"""Loss scaling with a separate scale for each part of a network."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..core import dtype as mstype
from ..core.require import of_type
from ..nn.cell import Cell
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.tensor import Tensor

__all__ = ["GroupLossScaleManager"]


class GroupLossScaleManager(Cell):
    """Scales the gradients of each group of layers by its own number, which follows overflows.

    A network calls it between its groups; `BoostTrainOneStepWithLossScaleCell` divides by the
    numbers and changes them, where `boost`'s option ``loss_scale_group`` is set.

    Args:
        init_loss_scale: the first scale of each group.
        loss_scale_groups: a list of lists of Parameters.

    Inputs:
        - **x** - what a layer gave.
        - **layer1** - the number of the group behind; 0 is the input.
        - **layer2** - the number of the group ahead, one more.

    Outputs:
        `x`, whose gradient is multiplied by the scale of `layer1` over that of `layer2`.

    Examples:
        >>> import lamella as ms
        >>> manager = ms.boost.GroupLossScaleManager(8.0, [])
        >>> manager.set_loss_scale_status(1, 8.0)
        >>> print(ms.grad(lambda x: manager(x, 1, 2))(ms.Tensor(3.0)))
        8.0
    """

    def __init__(self, init_loss_scale: float, loss_scale_groups: list[Any]):
        super().__init__()
        of_type(init_loss_scale, (int, float), "init_loss_scale", "GroupLossScaleManager")
        self._loss_scale = init_loss_scale
        self.loss_scale_groups = loss_scale_groups
        self.loss_scale_number = 0
        self.dynamic_loss_scale: Any = None

    def set_loss_scale_status(self, loss_scale_number: int, init_loss_scale: Any) -> None:
        """Make the scales.

        Args:
            loss_scale_number: how many groups there are.
            init_loss_scale: their first scale, or a list of one for each.
        """
        self.loss_scale_number = loss_scale_number
        first = init_loss_scale if isinstance(init_loss_scale, list) else \
            [init_loss_scale] * loss_scale_number
        values = [1.0, *[float(value) for value in first], 1.0]
        self.dynamic_loss_scale = ParameterTuple([
            Parameter(Tensor(value, mstype.float32), name=f"layer_loss_scale_{place}",
                      requires_grad=False) for place, value in enumerate(values)])

    def update_loss_scale_status(self, layer: int, update_ratio: float) -> Tensor:
        """Multiply the scale of a group, counted from 0; the new one."""
        scale = self.dynamic_loss_scale[layer + 1]
        ops.assign(scale, scale * update_ratio)
        return scale.value()

    def construct(self, x: Tensor, layer1: int, layer2: int) -> Tensor:
        """`x`."""
        if self.dynamic_loss_scale is None:
            raise RuntimeError("For 'GroupLossScaleManager', 'set_loss_scale_status' must have "
                               "been called, which 'BoostTrainOneStepWithLossScaleCell' does.")
        ratio = self.dynamic_loss_scale[layer1] / self.dynamic_loss_scale[layer2]
        return ops.InsertGradientOf(lambda gradient: gradient * ratio.astype(gradient.dtype))(x)

    def get_loss_scale(self) -> float:
        """The first scale."""
        return self._loss_scale

    def get_update_cell(self) -> Cell:
        """This object."""
        return self
