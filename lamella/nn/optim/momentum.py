"""Gradient descent with momentum."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...ops.primitives.optimizer import ApplyMomentum
from ...ops.primitives.update_rules import sgd
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..checks import non_negative_float, of_type
from .held_numbers import HeldNumbers
from .optimizer import Optimizer, opt_init_args_register


class Momentum(Optimizer):
    """Gradient descent with momentum (Polyak 1964; Sutskever et al. 2013).

    ``v = momentum * v + g``; ``p -= lr * v``, or ``p -= lr * (g + momentum * v)`` with
    `use_nesterov`.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        momentum: a float of 0 or more.
        use_nesterov: whether to look ahead.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> step = ms.nn.Momentum([w], learning_rate=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     _ = step((ms.Tensor([1.0]),))
        >>> print(w.value())
        [0.71]
    """

    _python_numbers = ("momentum",)

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any, momentum: float, weight_decay: Any = 0.0,
                 loss_scale: float = 1.0, use_nesterov: bool = False):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        non_negative_float(momentum, "momentum", "Momentum")
        of_type(use_nesterov, bool, "use_nesterov", "Momentum")
        self.momentum = Parameter(Tensor(momentum, mstype.float32), name="momentum")
        self._momentum = HeldNumbers()
        self.params = self.parameters
        self.use_nesterov = use_nesterov
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.opt = ApplyMomentum(use_nesterov=use_nesterov)

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        momentum, = self._momentum.of(self, "momentum")
        return self.update_by(sgd, gradients, self.moments, momentum=momentum,
                              nesterov=self.use_nesterov)
