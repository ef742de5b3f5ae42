"""Gradient descent with momentum."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.utils._mode_utils import no_dispatch

from ...core import dtype as mstype
from ...core.state import state
from ...ops.primitives.optimizer import ApplyMomentum
from ...ops.primitives.update_rules import sgd
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..checks import non_negative_float, of_type
from .optimizer import Optimizer, opt_init_args_register


class HeldNumber:
    """The Python value of a scalar Parameter, read again only after the Parameter has changed.

    The fused kernels want a number; reading it from the tensor in every step would wait for the
    device. A run that is recorded as a graph gets a guard on the number.
    """

    __slots__ = ("_number", "_seen")  # nothing that a compiled step watches

    def __init__(self, parameter: Parameter):
        self._read(parameter._data)

    def of(self, parameter: Parameter) -> float:
        """The value of `parameter`."""
        trace = state.trace
        if trace is None:
            return self._now(parameter)
        before = trace.data_before(parameter)
        if before is None:  # the run has changed it
            return parameter.item()
        if self._is_old(before):
            self._read(before)
        trace.outside.depend_once(("number", id(self)), functools.partial(self._now, parameter),
                                  self._number)
        return self._number

    def _now(self, parameter: Parameter) -> float:
        raw = parameter._data
        if self._is_old(raw):
            self._read(raw)
        return self._number

    def _is_old(self, raw: torch.Tensor) -> bool:
        return raw is not self._seen[0] or raw._version != self._seen[1]

    def _read(self, raw: torch.Tensor) -> None:
        self._seen = raw, raw._version
        with no_dispatch():  # not in a graph
            self._number = raw.item()


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
        self._momentum = HeldNumber(self.momentum)
        self.params = self.parameters
        self.use_nesterov = use_nesterov
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.opt = ApplyMomentum(use_nesterov=use_nesterov)

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        return self.update_by(sgd, gradients, self.moments,
                              momentum=self._momentum.of(self.momentum), nesterov=self.use_nesterov)
