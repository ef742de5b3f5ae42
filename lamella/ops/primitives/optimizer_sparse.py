"""Sparse updates whose rules MindSpore has as Primitives only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import update_rules as rules
from .optimizer import number, rate
from .optimizer_adaptive import centered
from .optimizer_rows import Rows

if TYPE_CHECKING:
    from ...tensors.parameter import Parameter
    from ...tensors.tensor import Tensor

__all__ = ["SparseApplyAdagradDA", "SparseApplyCenteredRMSProp", "SparseApplyMomentum",
           "SparseApplyProximalGradientDescent"]


class _LockingRows(Rows):
    """Rows, with `use_locking` as the only attribute; a step for each of equal indices."""

    _step_each = True

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=use_locking)


class SparseApplyAdagradDA(_LockingRows):
    """`ops.ApplyAdagradDA` of the rows at `indices`.

    Args:
        use_locking: accepted as MindSpore does.

    Inputs:
        var, grad_accum, grad_square_accum, grad, indices, lr, l1, l2, global_step.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w, a, s = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "a"), (0.0, "s")))
        >>> step = SparseApplyAdagradDA()
        >>> print(step(w, a, s, ms.Tensor([[2.0]]), ms.Tensor([1]), 0.1, 0.0, 0.0, 1))
        [[ 1. ]
         [-0.1]]
    """

    def __call__(self, var: Parameter, grad_accum: Parameter, grad_square_accum: Parameter,
                 grad: Tensor, indices: Tensor, lr: Any, l1: Any, l2: Any, global_step: Any
                 ) -> Tensor:
        return self._apply_rows(rules.adagrad_da, (var, grad_accum, grad_square_accum), grad,
                                indices, rate(lr), rate(l1), rate(l2), rate(global_step))[0]


class SparseApplyCenteredRMSProp(_LockingRows):
    """`ops.ApplyCenteredRMSProp` of the rows at `indices`.

    Args:
        use_locking: accepted as MindSpore does.

    Inputs:
        var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w, g, s, m = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...               for x, n in ((1.0, "w"), (0.0, "g"), (0.0, "s"), (0.0, "m")))
        >>> step = SparseApplyCenteredRMSProp()
        >>> print(step(w, g, s, m, 0.1, 0.5, 0.9, 1e-10, ms.Tensor([[2.0]]), ms.Tensor([1])))
        [[1. ]
         [0.8]]
    """

    def __call__(self, var: Parameter, mg: Parameter, ms: Parameter, mom: Parameter, lr: Any,
                 rho: Any, momentum: Any, epsilon: Any, grad: Tensor, indices: Tensor) -> Tensor:
        return self._apply_rows(centered, (var, ms, mom, mg), grad, indices, rate(lr),
                                number(rho), number(momentum), number(epsilon))[0]


class SparseApplyMomentum(Rows):
    """Momentum of the rows at `indices`: ``a = momentum * a + g``; ``p -= lr * a``.

    Args:
        use_locking: accepted as MindSpore does.
        use_nesterov: whether to look ahead: ``p -= lr * (g + momentum * a)``.

    Inputs:
        var, accum, lr, grad, indices, momentum.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...         for x, n in ((1.0, "w"), (1.0, "a")))
        >>> step = SparseApplyMomentum()
        >>> print(step(w, a, 0.1, ms.Tensor([[2.0]]), ms.Tensor([1]), 0.5))
        [[1.  ]
         [0.75]]
    """

    _step_each = True

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        super().__init__(use_locking=use_locking, use_nesterov=use_nesterov)

    def __call__(self, var: Parameter, accum: Parameter, lr: Any, grad: Tensor, indices: Tensor,
                 momentum: Any) -> Tensor:
        return self._apply_rows(rules.sgd, (var, accum), grad, indices, rate(lr),
                                number(momentum), nesterov=bool(self.use_nesterov))[0]


class SparseApplyProximalGradientDescent(_LockingRows):
    """`ops.ApplyProximalGradientDescent` of the rows at `indices`.

    Args:
        use_locking: accepted as MindSpore does.

    Inputs:
        var, alpha, l1, l2, grad, indices.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([[1.0], [1.0]]), name="w")
        >>> step = SparseApplyProximalGradientDescent()
        >>> print(step(w, 0.1, 0.0, 0.0, ms.Tensor([[2.0]]), ms.Tensor([1])))
        [[1. ]
         [0.8]]
    """

    def __call__(self, var: Parameter, alpha: Any, l1: Any, l2: Any, grad: Tensor,
                 indices: Tensor) -> Tensor:
        return self._apply_rows(rules.proximal_descent, (var,), grad, indices, rate(alpha),
                                rate(l1), rate(l2))[0]
