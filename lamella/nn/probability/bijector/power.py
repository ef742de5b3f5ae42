"""PowerTransform and Exp."""

from __future__ import annotations

from typing import Any

from .... import ops
from ....tensors.tensor import Tensor
from ..checks import require_not_negative
from .base import Bijector


class PowerTransform(Bijector):
    """(1 + x * power) ** (1 / power), which is exp(x) for power 0.

    Args:
        power: 0 or more.
        name: its name.

    Raises:
        TypeError: if `power` isn't floating.
        ValueError: if `power` is below 0.

    Examples:
        >>> import lamella as ms
        >>> square = ms.nn.probability.bijector.PowerTransform(0.5)
        >>> print(square.forward(ms.Tensor([2.0, 4.0])))
        [4. 9.]
    """

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform"):
        super().__init__(name=name, param={"power": power, "name": name,
                                           "param_dict": {"power": power}})
        self._power = self._add_parameter(power, "power")
        require_not_negative(self._power, "Power")

    @property
    def power(self) -> Tensor:
        """The power."""
        return self._power

    def extend_repr(self) -> str:
        return self._shown(power=self.power)

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A value, the power, where that is 0, and the power with 1 there."""
        x, power = self._with(x, self.power)
        zero = power == 0
        return x, power, zero, ops.where(zero, ops.ones_like(power), power)

    def _forward(self, x: Tensor) -> Tensor:
        x, power, zero, divisor = self._split(x)
        return ops.exp(ops.where(zero, x, ops.log1p(x * power) / divisor))

    def _inverse(self, y: Tensor) -> Tensor:
        y, power, zero, divisor = self._split(y)
        log = ops.log(y)
        return ops.where(zero, log, ops.expm1(log * power) / divisor)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        x, power, zero, divisor = self._split(x)
        return ops.where(zero, x, (1 / divisor - 1) * ops.log1p(x * power))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        y, power = self._with(y, self.power)
        return (power - 1) * ops.log(y)


class Exp(PowerTransform):
    """exp(x)

    Args:
        name: its name.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.probability.bijector.Exp().inverse(ms.Tensor([1.0, 2.0])))
        [0.        0.6931472]
    """

    def __init__(self, name: str = "Exp"):
        super().__init__(name=name)

    def extend_repr(self) -> str:
        return "exp" if self.is_scalar_batch else f"batch_shape = {self.batch_shape}"
