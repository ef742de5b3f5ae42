"""Invert: the inverse of a bijector."""

from __future__ import annotations

from typing import Any

from ....tensors.tensor import Tensor
from .base import Bijector


class Invert(Bijector):
    """The inverse function of a bijector.

    Args:
        bijector: the bijector.
        name: its name; default: ``"Invert"`` and that of the bijector.

    Raises:
        TypeError: if `bijector` is none.

    Examples:
        >>> import lamella as ms
        >>> from lamella.nn.probability import bijector
        >>> print(bijector.Invert(bijector.ScalarAffine(2.0, 1.0)).forward(ms.Tensor([3.0, 5.0])))
        [1. 2.]
    """

    def __init__(self, bijector: Bijector, name: str = ""):
        if not isinstance(bijector, Bijector):
            raise TypeError(f"For 'Invert', the type of 'bijector' must be Bijector, "
                            f"but got {type(bijector).__name__}.")
        full = name or f"Invert{bijector.name}"
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, full, bijector.dtype,
                         {"bijector": bijector, "name": full})
        self._bijector = bijector
        self._batch_shape = bijector.batch_shape
        self._is_scalar_batch = bijector.is_scalar_batch

    @property
    def bijector(self) -> Bijector:
        """What it is the inverse of."""
        return self._bijector

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The bijector's `inverse`."""
        return self.bijector.inverse(x, *args, **kwargs)

    def inverse(self, y: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The bijector's `forward`."""
        return self.bijector.forward(y, *args, **kwargs)

    def forward_log_jacobian(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The bijector's `inverse_log_jacobian`."""
        return self.bijector.inverse_log_jacobian(x, *args, **kwargs)

    def inverse_log_jacobian(self, y: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The bijector's `forward_log_jacobian`."""
        return self.bijector.forward_log_jacobian(y, *args, **kwargs)
