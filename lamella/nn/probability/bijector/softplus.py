"""Softplus: a smooth ramp."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import ops
from ....tensors.tensor import Tensor
from .base import Bijector

_THRESHOLD = float(np.log(np.finfo(np.float32).eps) + 1)  # below it log(1 + x) is x in float32


class Softplus(Bijector):
    """log(1 + exp(sharpness * x)) / sharpness

    Args:
        sharpness: how quickly it bends.
        name: its name.

    Raises:
        TypeError: if `sharpness` isn't floating.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.bijector.Softplus(2.0).forward(ms.Tensor([0.0, 30.0])))
        [ 0.3465736 30.       ]
    """

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus"):
        super().__init__(name=name, param={"sharpness": sharpness, "name": name,
                                           "param_dict": {"sharpness": sharpness}})
        self._sharpness = self._add_parameter(sharpness, "sharpness")

    @property
    def sharpness(self) -> Tensor:
        """How quickly it bends."""
        return self._sharpness

    def extend_repr(self) -> str:
        return self._shown(sharpness=self.sharpness)

    @staticmethod
    def _inverse_softplus(y: Tensor) -> Tensor:
        large = y > -_THRESHOLD
        bent = ops.where(large, ops.ones_like(y), y)  # a branch not taken must have a slope too
        return ops.where(large, y, bent + ops.log(-ops.expm1(-bent)))

    def _forward(self, x: Tensor) -> Tensor:
        x, sharpness = self._with(x, self.sharpness)
        scaled = sharpness * x
        return -ops.logsigmoid(-scaled) / sharpness

    def _inverse(self, y: Tensor) -> Tensor:
        y, sharpness = self._with(y, self.sharpness)
        return self._inverse_softplus(sharpness * y) / sharpness

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        x, sharpness = self._with(x, self.sharpness)
        return ops.logsigmoid(sharpness * x)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        y, sharpness = self._with(y, self.sharpness)
        scaled = sharpness * y
        return scaled - self._inverse_softplus(scaled)
