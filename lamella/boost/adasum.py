"""Adaptive sums of the steps that servers take."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..nn.cell import Cell
from ..nn.optim.adasum import alike, summed_over

__all__ = ["AdaSum"]


class AdaSum(Cell):
    """Takes the adaptive sum of servers' changes from the weights.

    Args:
        rank: this process's number.
        device_number: how many processes a server has.
        group_number: how many servers there are, a power of 2.
        parameter_tuple: the Parameters.

    Inputs:
        - **delta_weights** - what a step took from each Parameter here.
        - **parameters** - the Parameters, which are changed.
        - **old_parameters** - what they were before.

    Outputs:
        The Parameters.

    Raises:
        ValueError: if `group_number` is no power of 2.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> _ = ms.boost.AdaSum(0, 1, 1, (w,))((ms.Tensor([0.5, 0.5]),), (w,), (w.value(),))
        >>> print(w.value())
        [0.5 1.5]
    """

    def __init__(self, rank: int, device_number: int, group_number: int, parameter_tuple: Any):
        super().__init__()
        if group_number < 1 or group_number & (group_number - 1):
            raise ValueError(f"For 'AdaSum', 'group_number' must be a power of 2, but got "
                             f"{group_number}.")
        self.parameter_tuple = parameter_tuple
        self._group = alike(rank, device_number, group_number)

    def construct(self, delta_weights: Any, parameters: Any, old_parameters: Any) -> Any:
        """Change the Parameters."""
        for change, parameter, old in zip(summed_over("AdaSum", self._group, delta_weights),
                                          parameters, old_parameters, strict=True):
            ops.assign(parameter, old - change)
        return parameters
