"""Proximal Adagrad."""

from __future__ import annotations

from typing import Any

from ...core import dtype as mstype
from ...ops.primitives.optimizer_adaptive import ApplyProximalAdagrad
from ...ops.primitives.update_rules import proximal_adagrad
from ...tensors.tensor import Tensor
from ..checks import non_negative_float, of_type
from .optimizer import Optimizer, opt_init_args_register


class ProximalAdagrad(Optimizer):
    """Adagrad that then pulls each parameter towards zero (Duchi & Singer 2009).

    Args:
        params, learning_rate, weight_decay, loss_scale: as `Optimizer`.
        accum: where the sums of squares start, 0 or more.
        l1, l2: the strengths of the pull, 0 or more.
        use_locking: accepted as MindSpore does.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.ProximalAdagrad([w], accum=0.0, learning_rate=0.1)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.9]
    """

    _has_settable_target = True

    @opt_init_args_register
    def __init__(self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001, l1: float = 0.0,
                 l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0,
                 weight_decay: Any = 0.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, value in (("accum", accum), ("l1", l1), ("l2", l2)):
            non_negative_float(value, name, "ProximalAdagrad")
        of_type(use_locking, bool, "use_locking", "ProximalAdagrad")
        self.accum = self.parameters.clone(prefix="accum", init=accum)
        self.l1, self.l2 = Tensor(l1, mstype.float32), Tensor(l2, mstype.float32)
        self._pulls: dict[str, Any] = {"l1": l1, "l2": l2}
        self.use_locking = use_locking
        self.opt = ApplyProximalAdagrad(use_locking=use_locking)

    def construct(self, grads: Any) -> Any:
        """Update the parameters."""
        return self.update_by(proximal_adagrad, grads, self.accum, **self._pulls)
