"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...ops.primitives.optimizer import SGD as SGDPrimitive
from ...ops.primitives.update_rules import damped_sgd, kernels, sgd
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..checks import non_negative_float, of_type
from .held_numbers import HeldNumbers
from .optimizer import Optimizer, opt_init_args_register


class SGD(Optimizer):
    """Stochastic gradient descent, plain or with momentum.

    ``v = momentum * v + (1 - dampening) * g`` (the first time ``v = g``); ``p -= lr * v``, or
    ``p -= lr * (g + momentum * v)`` with `nesterov`.

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        momentum: a number of 0 or more.
        dampening: a number of 0 or more, the share of the gradient left out of the momentum.
        nesterov: whether to look ahead, which needs a momentum and no dampening.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.SGD([w], learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    _python_numbers = ("momentum",)

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 0.1, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: Any = 0.0, nesterov: bool = False,
                 loss_scale: float = 1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        momentum = float(momentum) if isinstance(momentum, int) else momentum
        dampening = float(dampening) if isinstance(dampening, int) else dampening
        non_negative_float(momentum, "momentum", "SGD")
        non_negative_float(dampening, "dampening", "SGD")
        of_type(nesterov, bool, "nesterov", "SGD")
        if nesterov and (momentum <= 0.0 or dampening != 0.0):
            raise ValueError(f"For 'SGD', 'nesterov' needs a 'momentum' above 0 and a 'dampening' "
                             f"of 0, but got momentum={momentum}, dampening={dampening}.")
        if self.dynamic_weight_decay:
            raise TypeError("For 'SGD', 'weight_decay' must be an int or a float, but got a Cell.")
        self.dampening = dampening
        self.nesterov = nesterov
        self.momentum = Parameter(Tensor(momentum, mstype.float32), name="momentum")
        self._momentum = HeldNumbers()
        self.accum = self.parameters.clone(prefix="accum", init="zeros")
        self.stat = self.parameters.clone(prefix="stat", init="ones")
        self.opt = (SGDPrimitive(dampening, 0.0, nesterov),) * self.param_length
        self._is_first_step = True

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        momentum, = self._momentum.of(self, "momentum")
        if momentum == 0.0:
            return self.update_by(_plain, gradients)
        if self.dampening:
            return self.update_by(damped_sgd, gradients, self.accum, self.stat, momentum=momentum,
                                  dampening=self.dampening)
        done = self.update_by(sgd, gradients, self.accum, momentum=momentum, nesterov=self.nesterov)
        if self._is_first_step and not self._is_function:
            # without dampening the first step is like any other, but its mark goes into checkpoints
            kernels._foreach_zero_([p._data for p in self.stat])
            self._is_first_step = False
        return done


def _plain(params: list, grads: list, lr: Any, decay: float) -> None:
    sgd(params, grads, [], lr, 0.0, decay=decay)
