"""Primitives that update Parameters, as user-written optimizers call them.

The Parameters they are given change in place. Numbers may be Python's or Tensors of one element.
The formulas are those of `update_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ...parameter import Parameter
from ...tensor import Tensor, wrap
from ..primitive import Primitive
from . import update_rules as rules

__all__ = [
    "Adam", "AdamNoUpdateParam", "AdamWeightDecay", "ApplyAdaMax", "ApplyAdadelta",
    "ApplyAdagrad", "ApplyAdagradDA", "ApplyAdagradV2", "ApplyAdamWithAmsgrad",
    "ApplyAdamWithAmsgradV2", "ApplyAddSign", "ApplyCenteredRMSProp", "ApplyFtrl",
    "ApplyGradientDescent", "ApplyKerasMomentum", "ApplyMomentum", "ApplyPowerSign",
    "ApplyProximalAdagrad", "ApplyProximalGradientDescent", "ApplyRMSProp", "LARSUpdate", "SGD",
]


def number(value: Any) -> float:
    """A Python number; kernels take most hyperparameters so."""
    return value._raw.item() if isinstance(value, Tensor) else float(value)


def rate(value: Any) -> Any:
    """A learning rate: a raw tensor of rank 0, or a number."""
    return value._raw.detach().reshape(()) if isinstance(value, Tensor) else float(value)


class Update(Primitive):
    """What these primitives share."""

    if TYPE_CHECKING:  # the attributes given by keyword
        def __getattr__(self, name: str) -> Any: ...

    def __init__(self, **attributes: Any):
        super().__init__(type(self).__name__)
        for name, value in attributes.items():
            wanted = bool if isinstance(value, bool) else (int, float)
            if isinstance(value, str) or not isinstance(value, wanted):
                raise TypeError(f"For '{self.name}', '{name}' must be a number or a bool, "
                                f"but got {value!r}.")
            self.add_prim_attr(name, value)
        self.add_prim_attr("side_effect_mem", True)

    def _apply(self, rule: Callable[..., None], parameters: tuple[Any, ...], gradient: Tensor,
               *args: Any, **options: Any) -> tuple[Tensor, ...]:
        """Run `rule` on the raws of `parameters`, the gradient after the first, each in a list."""
        for place, parameter in enumerate(parameters):
            if not isinstance(parameter, Tensor):
                raise TypeError(f"For '{self.name}', argument {place} must be a Parameter, "
                                f"but got {type(parameter).__name__}.")
        if not isinstance(gradient, Tensor):
            raise TypeError(f"For '{self.name}', the gradient must be a Tensor, "
                            f"but got {type(gradient).__name__}.")
        with torch.no_grad(), rules.off_tape(parameters):
            first, *others = ([rules.held(p)] for p in parameters)
            own = rules.like_parameters(parameters[:1], [gradient._raw])
            rule(first, own, *others, *args, **options)
        return tuple(wrap(rules.held(p)) for p in parameters)


class _Locking(Update):
    """A primitive whose only attribute is `use_locking`, which has no effect."""

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=use_locking)


class ApplyMomentum(Update):
    """Momentum: ``a = momentum * a + g``; ``p -= lr * a``, or its Nesterov form.

    Args:
        use_nesterov: whether to look ahead.
        use_locking: accepted as MindSpore does.
        gradient_scale: what to multiply the gradient by.

    Inputs:
        variable, accumulation, learning_rate, gradient, momentum.

    Outputs:
        The new variable.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "a")))
        >>> print(ms.ops.ApplyMomentum()(w, a, 0.1, ms.Tensor([2.0]), 0.9), a.value())
        [0.8] [2.]
    """

    def __init__(self, use_nesterov: bool = False, use_locking: bool = False,
                 gradient_scale: float = 1.0):
        super().__init__(use_nesterov=use_nesterov, use_locking=use_locking,
                         gradient_scale=gradient_scale)

    def __call__(self, variable: Parameter, accumulation: Parameter, learning_rate: Any,
                 gradient: Tensor, momentum: Any) -> Tensor:
        if self.gradient_scale != 1.0:
            gradient = gradient * self.gradient_scale
        return self._apply(rules.sgd, (variable, accumulation), gradient, rate(learning_rate),
                           number(momentum), self.use_nesterov)[0]


class ApplyKerasMomentum(Update):
    """Keras's momentum: ``a = momentum * a - lr * g``; ``p += a``, or its Nesterov form.

    Args:
        use_locking: accepted as MindSpore does.
        use_nesterov: whether to look ahead: ``p += momentum * a - lr * g``.

    Inputs:
        var, accum, lr, grad, momentum.

    Outputs:
        The new var and accum.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "a")))
        >>> print(ms.ops.ApplyKerasMomentum()(w, a, 0.1, ms.Tensor([2.0]), 0.9)[0])
        [0.8]
    """

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        super().__init__(use_locking=use_locking, use_nesterov=use_nesterov)

    def __call__(self, var: Parameter, accum: Parameter, lr: Any, grad: Tensor,
                 momentum: Any) -> tuple[Tensor, ...]:
        return self._apply(_keras, (var, accum), grad, rate(lr), number(momentum),
                           self.use_nesterov)


def _keras(params: list, grads: list, accums: list, lr: Any, momentum: float,
           nesterov: bool) -> None:
    for p, g, a in zip(params, grads, accums, strict=True):
        a.mul_(momentum).sub_(g * lr)
        p.add_(a * momentum - g * lr if nesterov else a)


class SGD(Update):
    """Gradient descent with momentum and dampening.

    Args:
        dampening: the share of each gradient but the first left out of the momentum.
        weight_decay: what of the parameter to add to its gradient.
        nesterov: whether to look ahead, which needs no dampening.

    Inputs:
        parameters, gradient, learning_rate, accum, momentum, stat (ones before the first step).

    Outputs:
        The new parameters.

    Examples:
        >>> import lamella as ms
        >>> w, a, s = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "a"), (1.0, "s")))
        >>> print(ms.ops.SGD()(w, ms.Tensor([2.0]), 0.1, a, 0.9, s))
        [0.8]
    """

    def __init__(self, dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False):
        super().__init__(dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)
        if nesterov and dampening != 0:
            raise ValueError(f"For 'SGD', 'nesterov' needs a 'dampening' of 0, "
                             f"but got {dampening}.")

    def __call__(self, parameters: Parameter, gradient: Tensor, learning_rate: Any,
                 accum: Parameter, momentum: Any, stat: Parameter) -> Tensor:
        lr, factor, decay = rate(learning_rate), number(momentum), float(self.weight_decay)
        if factor == 0.0:
            return self._apply(_descend, (parameters,), gradient, lr, decay)[0]
        if self.nesterov:
            out = self._apply(rules.sgd, (parameters, accum), gradient, lr, factor, True, decay)
            rules.held(stat).zero_()
            return out[0]
        return self._apply(rules.damped_sgd, (parameters, accum, stat), gradient, lr, factor,
                           float(self.dampening), decay)[0]


def _descend(params: list, grads: list, lr: Any, decay: float = 0.0) -> None:
    rules.sgd(params, grads, [], lr, 0.0, decay=decay)


def corrected_rate(lr: Any, beta1_power: Any, beta2_power: Any) -> Any:
    """Adam's learning rate with its bias correction."""
    one, two = rate(beta1_power), rate(beta2_power)
    return rate(lr) * (1.0 - two) ** 0.5 / (1.0 - one)


class Adam(Update):
    """Adam with the powers of its betas given: ``lr sqrt(1 - beta2_power) / (1 - beta1_power)``.

    Args:
        use_locking: accepted as MindSpore does.
        use_nesterov: whether to look ahead.

    Inputs:
        var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient.

    Outputs:
        The new var, m and v.

    Examples:
        >>> import lamella as ms
        >>> w, m, v = (ms.Parameter(ms.Tensor([x]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v")))
        >>> print(ms.ops.Adam()(w, m, v, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, ms.Tensor([2.0]))[0])
        [0.90000004]
    """

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        super().__init__(use_locking=use_locking, use_nesterov=use_nesterov)

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, beta1_power: Any,
                 beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
                 gradient: Tensor) -> tuple[Tensor, ...]:
        rule = rules.nesterov_adam if self.use_nesterov else rules.adam
        corrected = corrected_rate(lr, beta1_power, beta2_power)
        return self._apply(rule, (var, m, v), gradient, corrected,
                           number(beta1), number(beta2), number(epsilon))


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

    def __call__(self, m: Parameter, v: Parameter, beta1_power: Any,  # type: ignore[override]
                 beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
                 gradient: Tensor) -> Tensor:
        change = Parameter(wrap(torch.zeros_like(gradient._raw)))
        return super().__call__(change, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon,
                                gradient)[0]


class AdamWeightDecay(_Locking):
    """Adam without bias correction and with decoupled weight decay.

    Args:
        use_locking: accepted as MindSpore does.

    Inputs:
        var, m, v, lr, beta1, beta2, epsilon, decay, gradient.

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


class ApplyAdamWithAmsgradV2(_Locking):
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
        corrected = rate(lr) / (1.0 - rate(beta1_power))
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


class ApplyAdagradDA(_Locking):
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


class ApplyRMSProp(_Locking):
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


class ApplyCenteredRMSProp(_Locking):
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
        return self._apply(_centered, (var, mean_square, moment, mean_gradient), grad,
                           rate(learning_rate), number(decay), number(momentum),
                           number(epsilon))[0]


def _centered(params: list, grads: list, squares: list, moments: list, means: list,
              *numbers: Any) -> None:
    rules.rmsprop(params, grads, squares, moments, *numbers, means=means)


class ApplyFtrl(_Locking):
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


class ApplyProximalAdagrad(_Locking):
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


class ApplyGradientDescent(Update):
    """Plain descent: ``var -= alpha * delta``.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> print(ms.ops.ApplyGradientDescent()(w, 0.1, ms.Tensor([2.0])))
        [0.8]
    """

    def __call__(self, var: Parameter, alpha: Any, delta: Tensor) -> Tensor:
        return self._apply(_descend, (var,), delta, rate(alpha))[0]


class ApplyProximalGradientDescent(Update):
    """Plain descent that then pulls towards zero by l1 and l2.

    Inputs:
        var, alpha, l1, l2, delta.

    Outputs:
        The new var.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> print(ms.ops.ApplyProximalGradientDescent()(w, 0.1, 0.0, 0.0, ms.Tensor([2.0])))
        [0.8]
    """

    def __call__(self, var: Parameter, alpha: Any, l1: Any, l2: Any, delta: Tensor) -> Tensor:
        return self._apply(rules.proximal_descent, (var,), delta, rate(alpha), rate(l1),
                           rate(l2))[0]


class ApplyAddSign(Update):
    """Descent along gradients that are larger where they agree with their mean (Bello et al. 2017).

    ``m = beta m + (1 - beta) g``; ``p -= lr * (alpha + sign_decay * sign(g) sign(m)) * g``.

    Inputs:
        var, m, lr, alpha, sign_decay, beta, grad.

    Outputs:
        The new var and m.

    Examples:
        >>> import lamella as ms
        >>> w, m = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "m")))
        >>> print(ms.ops.ApplyAddSign()(w, m, 0.1, 1.0, 1.0, 0.9, ms.Tensor([2.0]))[0])
        [0.6]
    """

    def __call__(self, var: Parameter, m: Parameter, lr: Any, alpha: Any, sign_decay: Any,
                 beta: Any, grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(_add_sign, (var, m), grad, rate(lr), rate(alpha), rate(sign_decay),
                           number(beta))


def _add_sign(params: list, grads: list, means: list, lr: Any, alpha: Any, sign_decay: Any,
              beta: float) -> None:
    for p, g, m in zip(params, grads, means, strict=True):
        m.lerp_(g, 1.0 - beta)
        p.sub_(lr * (alpha + sign_decay * g.sign() * m.sign()) * g)


class ApplyPowerSign(Update):
    """`ApplyAddSign` with ``exp(logbase * sign_decay * sign(g) sign(m))`` as the factor.

    Inputs:
        var, m, lr, logbase, sign_decay, beta, grad.

    Outputs:
        The new var and m.

    Examples:
        >>> import lamella as ms
        >>> w, m = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "m")))
        >>> print(ms.ops.ApplyPowerSign()(w, m, 0.1, 0.0, 1.0, 0.9, ms.Tensor([2.0]))[0])
        [0.8]
    """

    def __call__(self, var: Parameter, m: Parameter, lr: Any, logbase: Any, sign_decay: Any,
                 beta: Any, grad: Tensor) -> tuple[Tensor, ...]:
        return self._apply(_power_sign, (var, m), grad, rate(lr), rate(logbase),
                           rate(sign_decay), number(beta))


def _power_sign(params: list, grads: list, means: list, lr: Any, logbase: Any, sign_decay: Any,
                beta: float) -> None:
    for p, g, m in zip(params, grads, means, strict=True):
        m.lerp_(g, 1.0 - beta)
        p.sub_(lr * (logbase * sign_decay * g.sign() * m.sign()).exp() * g)


class LARSUpdate(Update):
    """The gradient scaled to its parameter's norm (You et al. 2017); nothing is changed.

    Args:
        epsilon: keeps the divisor from 0.
        hyperpara: the length of the result in units of the parameter's.
        use_clip: whether to divide by the learning rate and keep to 1.

    Inputs:
        weight, gradient, norm_weight, norm_gradient (sums of squares), weight_decay, learning_rate.

    Outputs:
        The new gradient.

    Examples:
        >>> import lamella as ms
        >>> w, g = ms.Tensor([3.0, 4.0]), ms.Tensor([0.0, 2.0])
        >>> print(ms.ops.LARSUpdate(0.0, 0.5)(w, g, (w * w).sum(), (g * g).sum(), 0.0, 0.1))
        [0.  2.5]
    """

    def __init__(self, epsilon: float = 1e-05, hyperpara: float = 0.001, use_clip: bool = False):
        super().__init__(epsilon=epsilon, hyperpara=hyperpara, use_clip=use_clip)

    def __call__(self, weight: Tensor, gradient: Tensor, norm_weight: Tensor, norm_gradient: Tensor,
                 weight_decay: Any, learning_rate: Any) -> Tensor:
        return wrap(rules.lars(weight._raw, gradient._raw, rate(weight_decay),
                               rate(learning_rate), self.epsilon, self.hyperpara, self.use_clip))
