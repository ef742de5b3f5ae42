"""Primitives that update Parameters by plain descent, and what all such primitives share.

User-written optimizers call them. The Parameters they are given change in place. Numbers may be
Python's or Tensors of one element. The formulas are those of `update_rules`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ...core.errors import describe
from ...core.wrappers import differs, levels_of, of_all_examples
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..primitive import Primitive
from . import update_rules as rules
from .update_states import fit_states

__all__ = [
    "ApplyAddSign", "ApplyGradientDescent", "ApplyKerasMomentum", "ApplyMomentum", "ApplyPowerSign",
    "ApplyProximalGradientDescent", "LARSUpdate", "SGD",
]


class Each:
    """A number that differs between the examples of a `vmap`."""

    def __init__(self, raw: torch.Tensor):
        self.raw = raw.reshape(())


def number(value: Any) -> Any:
    """A Python number; kernels take most hyperparameters so. One of each example stays a tensor."""
    if not isinstance(value, Tensor):
        return _float(value)
    raw = _single(value)
    return Each(raw) if differs(raw) else raw.item()


def rate(value: Any) -> Any:
    """A learning rate: a raw tensor of rank 0, or a number."""
    return _single(value).reshape(()) if isinstance(value, Tensor) else _float(value)


def _single(value: Tensor) -> torch.Tensor:
    raw = value._raw.detach()
    if raw.numel() != 1 or raw.is_complex():
        raise ValueError(f"a number must be a Python number or a real Tensor of one element, "
                         f"but got {describe(value)}.")
    return raw


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"a number must be a Python number or a real Tensor of one element, "
                        f"but got {describe(value)}.") from None


class Update(Primitive):
    """What these primitives share."""

    _any_types = False  # whether the states may be of other types than the variable

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
        self._check(parameters, gradient)
        held = [rules.held(p) for p in parameters]
        if self._any_types and any(raw.dtype is not held[0].dtype for raw in held):
            rule = rules.in_widest_type(rule)
        given = [arg.raw if isinstance(arg, Each) else arg for arg in args
                 if isinstance(arg, (torch.Tensor, Each))]
        if any(differs(raw) for raw in (*held, gradient._raw, *given)):
            self._apply_to_examples(rule, held, gradient._raw, *args, **options)
            return tuple(wrap(raw) for raw in held)
        with torch.no_grad(), rules.off_tape(parameters):
            first, *others = ([rules.held(p)] for p in parameters)
            own = rules.like_parameters(parameters[:1], [gradient._raw])
            rule(first, own, *others, *args, **options)
        return tuple(wrap(rules.held(p)) for p in parameters)

    def _apply_to_examples(self, rule: Callable[..., None], held: list[torch.Tensor],
                           gradient: torch.Tensor, *args: Any, **options: Any) -> None:
        """Run `rule` on what all examples of a `vmap` have: formulas are about single elements."""
        (first, *others), (grads, *_), levels = whole_of(self.name, held, [gradient], args)
        numbers = numbers_of(args, levels)
        with torch.no_grad(), torch._C._DisableFuncTorch():
            grads = torch.empty_like(first).copy_(grads.to(first.dtype))
            for place in _examples(numbers, first):
                rule([first[place]], [grads[place]], *([other[place]] for other in others),
                     *of_example(args, numbers, place), **options)

    def _check(self, parameters: tuple[Any, ...], gradient: Any) -> None:
        for position, parameter in enumerate(parameters):
            if not isinstance(parameter, Tensor):
                raise TypeError(f"For '{self.name}', argument {position} must be a Parameter, "
                                f"but got {type(parameter).__name__}.")
        if not isinstance(gradient, Tensor):
            raise TypeError(f"For '{self.name}', the gradient must be a Tensor, "
                            f"but got {type(gradient).__name__}.")
        fit_states(self.name, parameters[0], parameters[1:], any_types=self._any_types)


def whole_of(name: str, held: list[torch.Tensor], others: list[torch.Tensor], args: Any
           ) -> tuple[list[torch.Tensor], list[torch.Tensor], list[int]]:
    """The data of all examples of Parameters and of Tensors, and the levels of the `vmap`s."""
    given = [arg.raw if isinstance(arg, Each) else arg for arg in args
             if isinstance(arg, (torch.Tensor, Each))]
    levels = sorted({level for raw in (*held, *others, *given) for level in levels_of(raw)})
    if any(levels_of(raw) != levels for raw in held):
        raise ValueError(f"For '{name}', inside 'vmap' all Parameters must be mapped "
                         f"over, but some differ between the examples and some don't.")
    return ([of_all_examples(raw, levels) for raw in held],
            [of_all_examples(raw, levels) for raw in others], levels)


def numbers_of(args: Any, levels: list[int]) -> list[Any]:
    """The numbers of a step with those of all examples of the `vmap`s."""
    return [of_all_examples(a.raw if isinstance(a, Each) else a, levels)
            if isinstance(a, (torch.Tensor, Each)) else a for a in args]


def _examples(numbers: list[Any], whole: torch.Tensor) -> list[Any]:
    """The places of what is updated together: all, or each example that has numbers of its own."""
    shapes = [number.shape for number in numbers if isinstance(number, torch.Tensor)]
    sizes = [max(sizes) for sizes in zip(*shapes, strict=True)]
    if all(size == 1 for size in sizes):
        return [...]
    return list(itertools.product(*(range(n) if n > 1 else [slice(None)] for n in sizes)))


def of_example(args: Any, numbers: list[Any], place: Any) -> list[Any]:
    """The numbers of a step at a place: those of each example as Python's where kernels ask it."""
    found = []
    for arg, number in zip(args, numbers, strict=True):
        if isinstance(number, torch.Tensor):
            one = number.reshape(()) if place is ... else number[tuple(
                0 if isinstance(at, slice) or size == 1 else at
                for at, size in zip(place, number.shape, strict=True))]
            found.append(one.item() if isinstance(arg, Each) else one)
        else:
            found.append(number)
    return found


class Locking(Update):
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
        self._check((parameters, accum, stat), gradient)
        if factor == 0.0:
            return self._apply(_descend, (parameters,), gradient, lr, decay)[0]
        return self._apply(rules.damped_sgd, (parameters, accum, stat), gradient, lr, factor,
                           float(self.dampening), decay, self.nesterov)[0]


def _descend(params: list, grads: list, lr: Any, decay: float = 0.0) -> None:
    rules.sgd(params, grads, [], lr, 0.0, decay=decay)


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
        first, decay = rate(alpha), rate(sign_decay)
        return self._apply(_signed, (var, m), grad, rate(lr), number(beta),
                           lambda agreement: first + decay * agreement)


def _signed(params: list, grads: list, means: list, lr: Any, beta: float,
            factor: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Descend by ``factor(s) * g``, where s tells whether g and its mean agree: 1, 0 or -1."""
    for p, g, m in zip(params, grads, means, strict=True):
        m.lerp_(g, 1.0 - beta)
        p.sub_(lr * factor(g.sign() * m.sign()) * g)


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
        scale = rate(logbase) * rate(sign_decay)
        return self._apply(_signed, (var, m), grad, rate(lr), number(beta),
                           lambda agreement: (scale * agreement).exp())


class LARSUpdate(Update):
    """The gradient scaled to its parameter's norm (You et al. 2017); nothing is changed.

    Args:
        epsilon: keeps the divisor from 0.
        hyperpara: the length of the result in units of the parameter's.
        use_clip: whether to divide by the learning rate and keep to 1.

    Inputs:
        weight, gradient, norm_weight, norm_gradient, weight_decay, learning_rate. `norm_weight` and
        `norm_gradient` are Tensors of one element: the sums of squares that the norms are roots of.

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
        if weight.shape != gradient.shape:
            raise ValueError(f"For 'LARSUpdate', 'weight' and 'gradient' must have one shape, "
                             f"but got {weight.shape} and {gradient.shape}.")
        return wrap(rules.lars(weight._raw, gradient._raw, _single(norm_weight).reshape(()).sqrt(),
                               _single(norm_gradient).reshape(()).sqrt(), rate(weight_decay),
                               rate(learning_rate), self.epsilon, self.hyperpara, self.use_clip))
