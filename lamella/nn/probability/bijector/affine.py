"""ScalarAffine: a multiple plus a shift."""

from __future__ import annotations

from typing import Any

from .... import ops
from ....tensors.tensor import Tensor
from .base import Bijector


class ScalarAffine(Bijector):
    """scale * x + shift

    Args:
        scale: the factor.
        shift: what is added.
        name: its name.

    Raises:
        TypeError: if a parameter isn't floating, or the two have different types.

    Examples:
        >>> import lamella as ms
        >>> affine = ms.nn.probability.bijector.ScalarAffine(2.0, 1.0)
        >>> print(affine.forward(ms.Tensor([1.0, 2.0])))
        [3. 5.]
    """

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine"):
        super().__init__(True, True, name, param={
            "scale": scale, "shift": shift, "name": name,
            "param_dict": {"scale": scale, "shift": shift}})
        self._scale = self._add_parameter(scale, "scale")
        self._shift = self._add_parameter(shift, "shift")

    @property
    def scale(self) -> Tensor:
        """The factor."""
        return self._scale

    @property
    def shift(self) -> Tensor:
        """What is added."""
        return self._shift

    def extend_repr(self) -> str:
        return self._shown(scale=self.scale, shift=self.shift)

    def _forward(self, x: Tensor) -> Tensor:
        x, scale, shift = self._with(x, self.scale, self.shift)
        return scale * x + shift

    def _inverse(self, y: Tensor) -> Tensor:
        y, scale, shift = self._with(y, self.scale, self.shift)
        return (y - shift) / scale

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return ops.log(ops.abs(self._with(x, self.scale)[1]))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -self._forward_log_jacobian(y)
