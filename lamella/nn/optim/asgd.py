"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import torch

from ...core import dtype as mstype
from ...ops.primitives.update_rules import put
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor
from ..checks import of_type
from .optimizer import Optimizer, opt_init_args_register


class ASGD(Optimizer):
    """Averaged stochastic gradient descent (Polyak & Juditsky 1992).

    ``p -= eta * (lambd * p + g)``, with ``eta`` falling from the learning rate; the averages of the
    parameters are in `ax`.

    Args:
        params, learning_rate, weight_decay: as `Optimizer`.
        lambd: the decay of the parameters.
        alpha: the power by which ``eta`` falls.
        t0: the step at which averaging starts.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.ASGD([w], learning_rate=0.1, lambd=0.0)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.8]
    """

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = 0.1, lambd: float = 1e-4,
                 alpha: float = 0.75, t0: float = 1e6, weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            of_type(value, float, name, "ASGD")
        self.lambd = lambd
        self.alpha = alpha
        self._t0 = t0
        self.t0 = Tensor([t0], mstype.float32)
        self.mu = ParameterTuple(_scalar(1.0, f"mu_{p.name}") for p in self.parameters)
        self.eta = ParameterTuple(_scalar(0.0, f"eta_{p.name}") for p in self.parameters)
        self.ax = self.parameters.clone(prefix="ax_", init="zeros")

    def state_shapes(self, parameter: Parameter) -> Any:
        """Two numbers, and an average of the parameter."""
        return (), (), tuple(parameter._data.shape)

    def construct(self, gradients: Any) -> bool:
        """Update the parameters."""
        step = (self.global_step._data + 1).reshape(()).float()
        self.update_by(self._rule, gradients, self.mu, self.eta, self.ax, step=step)
        return True

    def _rule(self, params: list, grads: list, mus: list, etas: list, means: list, lr: Any,
              decay: float, step: torch.Tensor) -> None:
        for i, (p, g, mu, eta, mean) in enumerate(zip(
                params, grads, mus, etas, means, strict=True)):
            eta = torch.where(step == 1, lr, eta)
            g = g.float() + decay * p.float()
            new = p.float() * (1.0 - self.lambd * eta) - eta * g
            put(params, i, new)
            # with mu = 1 the average is the parameter itself
            average = mean.float() + (new - mean.float()) * mu
            put(means, i, torch.where(mu == 1, params[i].float(), average))
            put(etas, i, lr / (1.0 + self.lambd * lr * step) ** self.alpha)
            put(mus, i, 1.0 / (step - self._t0).clamp(min=1.0))


def _scalar(value: float, name: str) -> Parameter:
    return Parameter(Tensor(value, mstype.float32), name=name)
