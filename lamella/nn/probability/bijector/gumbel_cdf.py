"""GumbelCDF: the cumulative distribution function of Gumbel's distribution."""

from __future__ import annotations

from typing import Any

from .... import ops
from ....tensors.tensor import Tensor
from ..checks import require_positive
from .base import Bijector


class GumbelCDF(Bijector):
    """exp(-exp(-(x - loc) / scale))

    Args:
        loc: where it has its steepest slope.
        scale: how wide it is.
        name: its name.

    Raises:
        TypeError: if a parameter isn't floating, or the two have different types.
        ValueError: if `scale` isn't above 0.
    """

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF"):
        super().__init__(name=name, param={"loc": loc, "scale": scale, "name": name,
                                           "param_dict": {"loc": loc, "scale": scale}})
        self._loc = self._add_parameter(loc, "loc")
        self._scale = self._add_parameter(scale, "scale")
        require_positive(self._scale, "scale")

    @property
    def loc(self) -> Tensor:
        """Where it has its steepest slope."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """How wide it is."""
        return self._scale

    def extend_repr(self) -> str:
        return self._shown(loc=self.loc, scale=self.scale)

    def _forward(self, x: Tensor) -> Tensor:
        x, loc, scale = self._with(x, self.loc, self.scale)
        return ops.exp(-ops.exp(-(x - loc) / scale))

    def _inverse(self, y: Tensor) -> Tensor:
        y, loc, scale = self._with(y, self.loc, self.scale)
        return loc - scale * ops.log(-ops.log(y))

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        x, loc, scale = self._with(x, self.loc, self.scale)
        z = (x - loc) / scale
        return -z - ops.exp(-z) - ops.log(scale)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        y, scale = self._with(y, self.scale)
        depth = ops.log(y)
        return ops.log(scale) - depth - ops.log(-depth)
