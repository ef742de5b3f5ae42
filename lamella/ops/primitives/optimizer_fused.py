"""Primitives that update a Parameter by several steps at once: AdaFactor, Adam in mixed types."""

from __future__ import annotations

from typing import Any

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..arguments import raw_or_number, require
from . import update_rules as rules
from .optimizer import Locking, Update, number, rate
from .update_states import fit_states

__all__ = ["FusedAdaFactor", "FusedAdaFactorWithGlobalNorm", "FusedCastAdamWeightDecay",
           "FusedWeightScaleApplyMomentum"]


class FusedAdaFactor(Update):
    """AdaFactor, which keeps second moments as means of rows and of columns (Shazeer & Stern 2018).

    Args:
        enable_scale_parameter: whether the learning rate is times the parameter's magnitude.
        enable_first_moment: whether to descend along a moving mean of the steps.
        enable_weight_decay: whether to decay the parameter.

    Inputs:
        epsilon (a pair of numbers: added to squares, and the least magnitude), clip_threshold,
        beta1, beta2, weight_decay, learning_rate, gradient, param, exp_avg (the first moment),
        exp_avg_sq_row and exp_avg_sq_col (the means of rows and columns), exp_avg_sq (the second
        moment of a vector).

    Outputs:
        The new param.

    Examples:
        >>> import lamella as ms
        >>> w, m, s, row, col = (ms.Parameter(ms.ops.zeros(n), name=x) for n, x in (
        ...     ((2, 2), "w"), ((2, 2), "m"), ((2, 2), "s"), (2, "row"), (2, "col")))
        >>> step, grad = ms.ops.FusedAdaFactor(), ms.Tensor([[1.0, -1.0], [2.0, -2.0]])
        >>> print(step((1e-30, 1e-3), 1.0, 0.9, 0.0, 0.0, 0.5, grad, w, m, row, col, s))
        [[-0.5  0.5]
         [-0.5  0.5]]
    """

    def __init__(self, enable_scale_parameter: bool = False, enable_first_moment: bool = False,
                 enable_weight_decay: bool = False):
        super().__init__(enable_scale_parameter=enable_scale_parameter,
                         enable_first_moment=enable_first_moment,
                         enable_weight_decay=enable_weight_decay)

    def __call__(self, epsilon: Any, clip_threshold: Any, beta1: Any, beta2: Any, weight_decay: Any,
                 learning_rate: Any, gradient: Tensor, param: Parameter, exp_avg: Parameter,
                 exp_avg_sq_row: Parameter, exp_avg_sq_col: Parameter, exp_avg_sq: Parameter,
                 ) -> Tensor:
        self._check((param,), gradient)
        size = param.shape
        require(gradient.shape == size, ValueError,
                f"For '{self.name}', the gradient must have the shape of 'param', {size}, "
                f"but got {gradient.shape}.")
        kept: list[Any] = [exp_avg_sq]
        shapes = [size]
        if len(size) > 1:
            kept, shapes = [exp_avg_sq_row, exp_avg_sq_col], [size[:-1], size[:-2] + size[-1:]]
        if self.enable_first_moment:
            kept, shapes = [*kept, exp_avg], [*shapes, size]
        fit_states(self.name, param, kept, shapes)
        squared, least = (number(e) for e in epsilon)
        with torch.no_grad(), rules.off_tape((param, *kept)):
            held = rules.held
            mean = held(exp_avg) if self.enable_first_moment else None
            own = (held(param), mean, held(exp_avg_sq_row), held(exp_avg_sq_col), held(exp_avg_sq))
            found = rules.adafactor(
                own[0], gradient._raw, *own[1:], rate(learning_rate),
                (squared, least), number(clip_threshold), number(beta1),
                raw_or_number(number(beta2)), number(weight_decay) * self.enable_weight_decay,
                self.enable_scale_parameter)
            for raw, new in zip(own, found, strict=True):
                if raw is not None and new is not None:
                    raw.copy_(new)
        return wrap(rules.held(param))


class FusedAdaFactorWithGlobalNorm(FusedAdaFactor):
    """`FusedAdaFactor` of a gradient divided by the norm `global_norm`, its last input.

    Examples:
        >>> import lamella as ms
        >>> w, s, none = (ms.Parameter(ms.ops.zeros(1), name=x) for x in ("w", "s", "none"))
        >>> step = ms.ops.FusedAdaFactorWithGlobalNorm()
        >>> print(step((1e-30, 1e-3), 9.0, 0.9, 0.0, 0.0, 0.5, ms.Tensor([2.0]), w, none, none,
        ...            none, s, 2.0), s.value())
        [-0.5] [1.]
    """

    def __call__(self, epsilon: Any, clip_threshold: Any, beta1: Any, beta2: Any, weight_decay: Any,
                 learning_rate: Any, gradient: Tensor, param: Parameter, exp_avg: Parameter,
                 exp_avg_sq_row: Parameter, exp_avg_sq_col: Parameter, exp_avg_sq: Parameter,
                 global_norm: Any) -> Tensor:
        return super().__call__(epsilon, clip_threshold, beta1, beta2, weight_decay, learning_rate,
                                gradient / global_norm, param, exp_avg, exp_avg_sq_row,
                                exp_avg_sq_col, exp_avg_sq)


class FusedCastAdamWeightDecay(Locking):
    """`AdamWeightDecay` in float32 of a parameter and a gradient that may be of float16.

    Args:
        use_locking: accepted as MindSpore does.

    Inputs:
        var, m and v (of float32), lr, beta1, beta2, epsilon, decay, gradient, global_norm, by
        which the gradient is divided.

    Outputs:
        The new var, m and v.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0], ms.float16), name="w")
        >>> m, v = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in "mv")
        >>> grad = ms.Tensor([2.0], ms.float16)
        >>> print(*ms.ops.FusedCastAdamWeightDecay()(
        ...     w, m, v, 0.1, 0.9, 0.999, 1e-8, 0.1, grad, 2.0))
        [0.89] [1.] [1.]
    """

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, lr: Any, beta1: Any, beta2: Any,
                 epsilon: Any, decay: Any, gradient: Tensor,
                 global_norm: Any) -> tuple[Tensor, ...]:
        self._check((var,), gradient)
        fit_states(self.name, var, (m, v), (var.shape, var.shape))
        held = rules.held
        for state in (m, v):
            require(held(state).dtype is torch.float32, TypeError,
                    f"For '{self.name}', 'm' and 'v' must be of float32, but got {state.dtype}.")
        require(gradient.shape == var.shape, ValueError,
                f"For '{self.name}', the gradient must have the shape of 'var', {var.shape}, "
                f"but got {gradient.shape}.")
        with torch.no_grad(), rules.off_tape((var, m, v)):
            wide = held(var).float().contiguous()
            grad = (gradient._raw.float() / number(global_norm)).contiguous()
            first, second = held(m).contiguous(), held(v).contiguous()
            rules.adam_weight_decay([wide], [grad], [first], [second], rate(lr), number(beta1),
                                    number(beta2), number(epsilon), number(decay))
            for parameter, new in ((var, wide), (m, first), (v, second)):
                held(parameter).copy_(new)
        return tuple(wrap(held(parameter)) for parameter in (var, m, v))


class FusedWeightScaleApplyMomentum(Update):
    """`ops.ApplyMomentum` with a decay of the weights and a gradient that is scaled back.

    ``g = gradient / loss_scale + weight_decay * variable``; ``a = momentum * a + g``;
    ``variable -= learning_rate * a``.

    Inputs:
        weight_decay, loss_scale, variable, accumulation, learning_rate, gradient, momentum.

    Outputs:
        The new variable.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([x]), name=n) for x, n in ((1.0, "w"), (0.0, "a")))
        >>> step = ms.ops.FusedWeightScaleApplyMomentum()
        >>> print(step(0.5, 2.0, w, a, 0.1, ms.Tensor([3.0]), 0.9))
        [0.8]
    """

    def __call__(self, weight_decay: Any, loss_scale: Any, variable: Parameter,
                 accumulation: Parameter, learning_rate: Any, gradient: Tensor,
                 momentum: Any) -> Tensor:
        return self._apply(rules.sgd, (variable, accumulation), gradient / loss_scale,
                           rate(learning_rate), number(momentum),
                           decay=number(weight_decay))[0]
