"""Primitives that update Parameters by adaptive steps, such as Adam and Adagrad."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from . import update_rules as rules
from .optimizer import Locking, Update, number, rate

__all__ = [
    "Adam", "AdamNoUpdateParam", "AdamWeightDecay", "ApplyAdaMax", "ApplyAdadelta", "ApplyAdagrad",
    "ApplyAdagradDA", "ApplyAdagradV2", "ApplyAdamWithAmsgrad", "ApplyAdamWithAmsgradV2",
    "ApplyCenteredRMSProp", "ApplyFtrl", "ApplyProximalAdagrad", "ApplyRMSProp",
]


def corrected_rate(lr: Any, beta1_power: Any, beta2_power: Any) -> Any:
    """Adam's learning rate with its bias correction."""
    rest = 1.0 - rate(beta2_power)
    root = rest**0.5 if isinstance(rest, torch.Tensor) or rest >= 0 else math.nan
    return _over(rate(lr) * root, 1.0 - rate(beta1_power))


def _over(x: Any, y: Any) -> Any:
    """A quotient of numbers as that of Tensors: by 0 it is infinite, no error."""
    return x / y if isinstance(y, torch.Tensor) or y else x * math.inf


class Adam(Update):
    """Adam with the powers of its betas given: ``lr sqrt(1 - beta2_power) / (1 - beta1_power)``.

    Args:
        use_locking: accepted as MindSpore does.
        use_nesterov: whether to look ahead.

    Inputs:
        var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient. `m` and `v` may be
        of other floating types than `var`: the step is computed in the widest of them.

    Outputs:
        The new var, m and v.

    Examples:
        >>> import lamella as ms
        >>> w, m, v = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v")))
        >>> print(ms.ops.Adam()(w, m, v, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, ms.Tensor([2.0]))[0])
        [0.90000004]
    """

    _any_types = True

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        super().__init__(use_locking=use_locking, use_nesterov=use_nesterov)

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, beta1_power: Any,
                 beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
                 gradient: Tensor) -> tuple[Tensor, ...]:
        return self._step((var, m, v), gradient, corrected_rate(lr, beta1_power, beta2_power),
                          number(beta1), number(beta2), number(epsilon))

    def _step(self, parameters: tuple[Any, ...], gradient: Tensor,
              *numbers: Any) -> tuple[Tensor, ...]:
        rule = rules.nesterov_adam if self.use_nesterov else rules.adam
        return self._apply(rule, parameters, gradient, *numbers)


class AdamNoUpdateParam(Adam):
    """`Adam` that changes only the moments and gives what to add to the parameter.

    Inputs:
        m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient.

    Outputs:
        The change of the parameter.

    Examples:
        >>> import lamella as ms
        >>> m, v = (ms.Parameter(ms.Tensor([0.0]), name=n) for n in "mv")
        >>> print(ms.ops.AdamNoUpdateParam()(m, v, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8,
        ...                                  ms.Tensor([2.0])))
        [-0.09999998]
    """

    _any_types = False

    def __call__(self, m: Parameter, v: Parameter, beta1_power: Any,  # type: ignore[override]
                 beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
                 gradient: Tensor) -> Tensor:
        change = Parameter(wrap(torch.zeros_like(gradient._raw)))
        return self._step((change, m, v), gradient, corrected_rate(lr, beta1_power, beta2_power),
                          number(beta1), number(beta2), number(epsilon))[0]


class AdamWeightDecay(Locking):
    """Adam without bias correction and with decoupled weight decay.

    Args:
        use_locking: accepted as MindSpore does.

    Inputs:
        var, m, v, lr, beta1, beta2, epsilon, decay, gradient, of types as `Adam`'s.

    Outputs:
        The new var, m and v.

    Examples:
        >>> import lamella as ms
        >>> w, m, v = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v")))
        >>> step = ms.ops.AdamWeightDecay()
        >>> print(step(w, m, v, 0.1, 0.9, 0.999, 1e-8, 0.1, ms.Tensor([2.0]))[0])
        [0.6737723]
    """

    _any_types = True

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, lr: Any, beta1: Any, beta2: Any,
                 epsilon: Any, decay: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        return self._apply(rules.adam_weight_decay, (var, m, v), gradient, rate(lr),
                           number(beta1), number(beta2), number(epsilon), number(decay))


class ApplyAdamWithAmsgrad(Update):
    """Adam that divides by the largest second moment so far.

    Args:
        beta1, beta2, epsilon: as in Adam.
        use_locking: accepted as MindSpore does.

    Inputs:
        var, m, v, vhat, beta1_power, beta2_power, lr, grad.

    Outputs:
        The new var, m, v and vhat.

    Examples:
        >>> import lamella as ms
        >>> w, m, v, h = (ms.Parameter(ms.Tensor([x]), name=n)
        ...               for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v"), (0.0, "h")))
        >>> print(ms.ops.ApplyAdamWithAmsgrad()(w, m, v, h, 0.9, 0.999, 0.1, ms.Tensor([2.0]))[0])
        [0.90000004]
    """

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
                 use_locking: bool = False):
        super().__init__(beta1=beta1, beta2=beta2, epsilon=epsilon, use_locking=use_locking)

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, vhat: Parameter,
                 beta1_power: Any, beta2_power: Any, lr: Any, grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(_amsgrad, (var, m, v, vhat), grad,
                           corrected_rate(lr, beta1_power, beta2_power), self.beta1, self.beta2,
                           self.epsilon)


class ApplyAdamWithAmsgradV2(Locking):
    """`ApplyAdamWithAmsgrad` with the betas and epsilon as inputs before the gradient.

    Examples:
        >>> import lamella as ms
        >>> w, m, v, h = (ms.Parameter(ms.Tensor([x]), name=n)
        ...               for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v"), (0.0, "h")))
        >>> print(ms.ops.ApplyAdamWithAmsgradV2()(w, m, v, h, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8,
        ...                                       ms.Tensor([2.0]))[0])
        [0.90000004]
    """

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, vhat: Parameter,
                 beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
                 grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(_amsgrad, (var, m, v, vhat), grad,
                           corrected_rate(lr, beta1_power, beta2_power), number(beta1),
                           number(beta2), number(epsilon))


def _amsgrad(params: list, grads: list, m: list, v: list, vhat: list, lr: Any, beta1: float,
             beta2: float, eps: float) -> None:
    rules.adam(params, grads, m, v, lr, beta1, beta2, eps, vhat=vhat)


class ApplyAdaMax(Update):
    """Adam that divides by the largest recent gradient.

    Inputs:
        var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad.

    Outputs:
        The new var, m and v.

    Examples:
        >>> import lamella as ms
        >>> w, m, v = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v")))
        >>> print(ms.ops.ApplyAdaMax()(w, m, v, 0.9, 0.1, 0.9, 0.99, 1e-8, ms.Tensor([2.0]))[0])
        [0.9]
    """

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, beta1_power: Any, lr: Any,
                 beta1: Any, beta2: Any, epsilon: Any, grad: Tensor) -> tuple[Tensor, ...]:
        corrected = _over(rate(lr), 1.0 - rate(beta1_power))
        return self._apply(rules.adamax, (var, m, v), grad, corrected, number(beta1), number(beta2),
                           number(epsilon))


class ApplyAdadelta(Update):
    """Adadelta.

    Inputs:
        var, accum, accum_update, lr, rho, epsilon, grad.

    Outputs:
        The new var, accum and accum_update.

    Examples:
        >>> import lamella as ms
        >>> w, a, u = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "a"), (0.0, "u")))
        >>> print(ms.ops.ApplyAdadelta()(w, a, u, 1.0, 0.0, 1e-6, ms.Tensor([1.0]))[0])
        [0.999]
    """

    def __call__(self, var: Parameter, accum: Parameter, accum_update: Parameter, lr: Any, rho: Any,
                 epsilon: Any, grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(rules.adadelta, (var, accum, accum_update), grad, rate(lr),
                           number(rho), number(epsilon))


class ApplyAdagrad(Update):
    """Adagrad: ``a += g²``; ``p -= lr * g / sqrt(a)``.

    Args:
        update_slots: whether the sums grow.

    Inputs:
        var, accum, lr, grad.

    Outputs:
        The new var and accum.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "a")))
        >>> print(ms.ops.ApplyAdagrad()(w, a, 0.1, ms.Tensor([2.0]))[0])
        [0.9]
    """

    def __init__(self, update_slots: bool = True):
        super().__init__(update_slots=update_slots)

    def __call__(self, var: Parameter, accum: Parameter, lr: Any,
                 grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(rules.adagrad, (var, accum), grad, rate(lr),
                           update_slots=self.update_slots)


class ApplyAdagradV2(Update):
    """`ApplyAdagrad` with `epsilon` added to the root.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "a")))
        >>> print(ms.ops.ApplyAdagradV2(epsilon=2.0)(w, a, 0.1, ms.Tensor([2.0]))[0])
        [0.95]
    """

    def __init__(self, epsilon: float, update_slots: bool = True):
        super().__init__(epsilon=epsilon, update_slots=update_slots)

    def __call__(self, var: Parameter, accum: Parameter, lr: Any,
                 grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(rules.adagrad, (var, accum), grad, rate(lr), self.epsilon,
                           self.update_slots)


class ApplyAdagradDA(Locking):
    """Adagrad by dual averaging.

    Inputs:
        var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w, a, s = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "a"), (0.0, "s")))
        >>> print(ms.ops.ApplyAdagradDA()(w, a, s, ms.Tensor([2.0]), 0.1, 0.0, 0.0, 1))
        [-0.1]
    """

    def __call__(self, var: Parameter, gradient_accumulator: Parameter,
                 gradient_squared_accumulator: Parameter, grad: Tensor, lr: Any, l1: Any, l2: Any,
                 global_step: Any) -> Tensor:
        parameters = (var, gradient_accumulator, gradient_squared_accumulator)
        return self._apply(rules.adagrad_da, parameters, grad, rate(lr), rate(l1), rate(l2),
                           rate(global_step))[0]


class ApplyRMSProp(Locking):
    """RMSProp: ``s = decay s + (1 - decay) g²``; ``m = momentum m + lr g / sqrt(s + epsilon)``.

    Inputs:
        var, mean_square, moment, learning_rate, grad, decay, momentum, epsilon.

    Outputs:
        The new var, which is ``var - m``.

    Examples:
        >>> import lamella as ms
        >>> w, s, m = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "s"), (0.0, "m")))
        >>> print(ms.ops.ApplyRMSProp()(w, s, m, 0.1, ms.Tensor([2.0]), 0.0, 0.9, 1e-10))
        [0.9]
    """

    def __call__(self, var: Parameter, mean_square: Parameter, moment: Parameter,
                 learning_rate: Any, grad: Tensor, decay: Any, momentum: Any,
                 epsilon: Any) -> Tensor:
        return self._apply(rules.rmsprop, (var, mean_square, moment), grad, rate(learning_rate),
                           number(decay), number(momentum), number(epsilon))[0]


class ApplyCenteredRMSProp(Locking):
    """`ApplyRMSProp` that takes the square of the mean gradient from the mean square.

    Inputs:
        var, mean_gradient, mean_square, moment, grad, learning_rate, decay, momentum, epsilon.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w, g, s, m = (ms.Parameter(ms.Tensor([x]), name=n)
        ...               for x, n in ((1.0, "w"), (0.0, "g"), (0.0, "s"), (0.0, "m")))
        >>> print(ms.ops.ApplyCenteredRMSProp()(w, g, s, m, ms.Tensor([2.0]), 0.1, 0.5, 0.9, 1e-10))
        [0.8]
    """

    def __call__(self, var: Parameter, mean_gradient: Parameter, mean_square: Parameter,
                 moment: Parameter, grad: Tensor, learning_rate: Any, decay: Any, momentum: Any,
                 epsilon: Any) -> Tensor:
        return self._apply(centered, (var, mean_square, moment, mean_gradient), grad,
                           rate(learning_rate), number(decay), number(momentum),
                           number(epsilon))[0]


def centered(params: list, grads: list, squares: list, moments: list, means: list,
              *numbers: Any) -> None:
    rules.rmsprop(params, grads, squares, moments, *numbers, means=means)


class ApplyFtrl(Locking):
    """Follow the regularized leader.

    Inputs:
        var, accum, linear, grad, lr, l1, l2, lr_power.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w, a, l = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (1.0, "a"), (0.0, "l")))
        >>> print(ms.ops.ApplyFtrl()(w, a, l, ms.Tensor([0.0]), 0.1, 0.0, 0.0, -0.5))
        [0.]
    """

    def __call__(self, var: Parameter, accum: Parameter, linear: Parameter, grad: Tensor, lr: Any,
                 l1: Any, l2: Any, lr_power: Any) -> Tensor:
        return self._apply(rules.ftrl, (var, accum, linear), grad, rate(lr), number(l1),
                           number(l2), number(lr_power))[0]


class ApplyProximalAdagrad(Locking):
    """Adagrad that then pulls towards zero by l1 and l2.

    Inputs:
        var, accum, lr, l1, l2, grad.

    Outputs:
        The new var and accum.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "a")))
        >>> print(ms.ops.ApplyProximalAdagrad()(w, a, 0.1, 0.0, 0.0, ms.Tensor([2.0]))[0])
        [0.9]
    """

    def __call__(self, var: Parameter, accum: Parameter, lr: Any, l1: Any, l2: Any,
                 grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(rules.proximal_adagrad, (var, accum), grad, rate(lr), rate(l1),
                           rate(l2))
