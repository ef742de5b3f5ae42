"""The formulas by which optimizers change parameters, each over lists of raw tensors.

Optimizers (`lamella.nn.optim`) call them with all parameters at once, the operators of
`optimizer.py` with one. All lists of a call agree in length, and tensors at one position in shape,
type, device and memory layout. The learning rate is a raw tensor of one element or a number.
PyTorch's fused kernels, one pass over memory, are used where they compute the same formula, its
foreach kernels elsewhere.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ...core.state import state
from ...tensors.parameter import Parameter

Raws = list[torch.Tensor]

kernels: Any = torch  # its types leave out the foreach and fused kernels

# With infinitely many steps behind it Adam's bias correction is exactly 1: MindSpore's formulas
# have none, or keep it in the learning rate.
_NO_CORRECTION = {torch.device("cpu"): torch.full((), float("inf"))}


def _no_correction(device: torch.device) -> torch.Tensor:
    step = _NO_CORRECTION.get(device)
    if step is None:
        step = torch.full((), float("inf"), device=device)
        if type(step) is torch.Tensor:  # a trace's stand-in must not outlive it
            _NO_CORRECTION[device] = step
    return step


def held(tensor: Any) -> torch.Tensor:
    """The raw data of a Parameter, or of a Tensor in its place, also inside a gradient call."""
    return tensor._data if isinstance(tensor, Parameter) else tensor._raw


def like_parameters(params: Any, raws: Raws) -> Raws:
    """The gradients in the type and memory layout of the parameters: the kernels trust in it."""
    for i, (p, raw) in enumerate(zip(params, raws, strict=True)):
        own = held(p)
        if raw.dtype is own.dtype and raw.is_contiguous() and own.is_contiguous() \
                and raw.shape == own.shape and p.init is None:
            continue
        if p.init is not None:
            own = p.init_data()._data
        if raw.shape != own.shape:
            name = getattr(p, "name", "")
            raise ValueError(f"The gradient of parameter '{name}' must have shape "
                             f"{tuple(own.shape)}, but got {tuple(raw.shape)}.")
        if raw.dtype is not own.dtype or raw.stride() != own.stride():
            raws[i] = torch.empty_like(own).copy_(raw)
    return raws


@contextmanager
def off_tape(params: Any) -> Iterator[None]:
    """Let the block change the data of `params` in place, also while their gradient is recorded.

    Those that a gradient is being taken for move to new memory, as the record keeps the old; the
    recorded function sees the new values afterwards.
    """
    overlay = state.overlay
    if overlay is None:
        yield
        return
    aliased: list[Parameter] = [p for p in params if p in overlay]
    for p in aliased:
        p._data = p._data.clone()
    yield
    for p in aliased:
        overlay[p] = p._data


def single(number: float) -> float:
    """A number as float32 holds it: MindSpore keeps its hyperparameters in that type."""
    return torch.tensor(number, dtype=torch.float32).item()


def add_decay(params: Raws, grads: Raws, decay: float | torch.Tensor) -> Raws:
    """Gradients of the loss plus that of ``decay / 2 * |params|²``."""
    if isinstance(decay, torch.Tensor):
        return kernels._foreach_add(grads, kernels._foreach_mul(params, decay))
    return kernels._foreach_add(grads, params, alpha=decay) if decay else grads


def descend(params: Raws, steps: Raws, lr: Any) -> None:
    """Subtract ``lr * steps``."""
    kernels._foreach_sub_(params, kernels._foreach_mul(steps, lr))


def sgd(params: Raws, grads: Raws, accums: Raws, lr: Any, momentum: float, nesterov: bool = False,
        decay: float = 0.0) -> None:
    """Gradient descent with momentum; plain where `accums` is empty.

    ``a = momentum * a + g``; ``p -= lr * a``, or ``p -= lr * (g + momentum * a)`` with `nesterov`.
    """
    if momentum == 0.0 and accums:  # the kernel takes no accumulators then
        grads, decay = add_decay(params, grads, decay), 0.0
        kernels._foreach_copy_(accums, grads)
        accums = []
    kernels._fused_sgd_(params, grads, accums, weight_decay=decay, momentum=momentum, lr=lr,
                      dampening=0.0, nesterov=nesterov, maximize=False, is_first_step=False)


def damped_sgd(params: Raws, grads: Raws, accums: Raws, stats: Raws, lr: Any, momentum: float,
               dampening: float, decay: float = 0.0, nesterov: bool = False) -> None:
    """Momentum of ``1 - dampening`` of each gradient but the first, before which `stats` is 1."""
    grads = add_decay(params, grads, decay)
    for a, g, stat in zip(accums, grads, stats, strict=True):
        a.copy_(torch.where(stat > 0, g, a * momentum + g * (1.0 - dampening)))
        stat.zero_()
    descend(params, kernels._foreach_add(grads, accums, alpha=momentum) if nesterov else accums, lr)


def adam(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
         eps: float, decay: float = 0.0, vhat: Raws | None = None) -> None:
    """Adam (Kingma & Ba 2014) without bias correction: MindSpore's is in its learning rate.

    ``m = beta1 m + (1 - beta1) g``; ``v = beta2 v + (1 - beta2) g²``;
    ``p -= lr m / (sqrt(v) + eps)``;
    with `vhat` the root is of the largest `v` so far (AMSGrad, Reddi et al. 2018).
    """
    steps = [_no_correction(params[0].device)] * len(params)
    kernels._fused_adam_(params, grads, m, v, vhat or [], steps, lr=lr, beta1=beta1, beta2=beta2,
                       weight_decay=decay, eps=eps, amsgrad=vhat is not None, maximize=False)


def adam_weight_decay(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float,
                      beta2: float, eps: float, decay: float | torch.Tensor = 0.0) -> None:
    """`adam` and, apart from its moments, ``p -= lr * decay * p`` (Loshchilov & Hutter 2017)."""
    if isinstance(decay, torch.Tensor):
        kernels._foreach_mul_(params, (1.0 - lr * decay).reshape(()))
        decay = 0.0
    steps = [_no_correction(params[0].device)] * len(params)
    kernels._fused_adamw_(params, grads, m, v, [], steps, lr=lr, beta1=beta1, beta2=beta2,
                          weight_decay=decay, eps=eps, amsgrad=False, maximize=False)


def in_float32(rule: Callable[..., None]) -> Callable[..., None]:
    """`rule` computed in float32 where the parameters are of 16 bits, which lose an `eps`."""

    @functools.wraps(rule)
    def computed(params: Raws, grads: Raws, *args: Any, **options: Any) -> None:
        narrow = [params, *(a for a in args if isinstance(a, list))]
        if not params or params[0].dtype not in (torch.float16, torch.bfloat16):
            return rule(params, grads, *args, **options)
        wide = [[raw.float() for raw in raws] for raws in narrow]
        states = iter(wide[1:])
        others = [next(states) if isinstance(a, list) else a for a in args]
        rule(wide[0], [g.float() for g in grads], *others, **options)
        for raws, new in zip(narrow, wide, strict=True):
            kernels._foreach_copy_(raws, new)

    return computed


@in_float32
def nesterov_adam(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
                  eps: float, decay: float = 0.0) -> None:
    """`adam` that steps along ``beta1 m + (1 - beta1) g``."""
    grads = add_decay(params, grads, decay)
    _moments(grads, m, v, beta1, beta2)
    steps = kernels._foreach_mul(m, beta1)
    kernels._foreach_add_(steps, grads, alpha=1.0 - beta1)
    kernels._foreach_div_(steps, _root(v, eps))
    descend(params, steps, lr)


def _moments(grads: Raws, m: Raws, v: Raws, beta1: float, beta2: float) -> None:
    kernels._foreach_lerp_(m, grads, 1.0 - beta1)
    kernels._foreach_mul_(v, beta2)
    kernels._foreach_addcmul_(v, grads, grads, 1.0 - beta2)


def _root(v: Raws, eps: float) -> Raws:
    roots = kernels._foreach_sqrt(v)
    kernels._foreach_add_(roots, eps)
    return roots


@in_float32
def adamax(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
           eps: float, decay: float = 0.0) -> None:
    """Adam with the largest gradient in place of the root (Kingma & Ba 2014, section 7.1)."""
    grads = add_decay(params, grads, decay)
    kernels._foreach_lerp_(m, grads, 1.0 - beta1)
    kernels._foreach_mul_(v, beta2)
    kernels._foreach_maximum_(v, kernels._foreach_abs(grads))
    descend(params, kernels._foreach_div(m, kernels._foreach_add(v, eps)), lr)


# PyTorch up to 2.7 makes a Python number of the rate, which no graph can hold
_FUSED_TAKES_RATES = "tensor_lr" in torch.ops.aten._fused_adagrad_.overloads()


def adagrad(params: Raws, grads: Raws, accums: Raws, lr: Any, eps: float = 0.0,
            update_slots: bool = True, decay: float = 0.0) -> None:
    """``a += g²``; ``p -= lr * g / (sqrt(a) + eps)`` (Duchi et al. 2011)."""
    if update_slots and params[0].device.type == "cpu" and (
            _FUSED_TAKES_RATES or not isinstance(lr, torch.Tensor)):
        step = torch.ones(())
        kernels._fused_adagrad_(params, grads, accums, [step] * len(params), lr=lr, lr_decay=0.0,
                              weight_decay=decay, eps=eps, maximize=False)
        return
    grads = add_decay(params, grads, decay)
    if update_slots:
        kernels._foreach_addcmul_(accums, grads, grads, 1.0)
    descend(params, kernels._foreach_div(grads, _root(accums, eps)), lr)


def proximal_adagrad(params: Raws, grads: Raws, accums: Raws, lr: Any, l1: float, l2: float,
                     decay: float = 0.0) -> None:
    """Adagrad that then pulls towards zero by `l1` and `l2` (Duchi & Singer 2009)."""
    grads = add_decay(params, grads, decay)
    kernels._foreach_addcmul_(accums, grads, grads, 1.0)
    for p, g, a in zip(params, grads, accums, strict=True):
        rate = lr / a.sqrt()
        p.copy_(_shrink(p - rate * g, rate, l1, l2))


def _shrink(x: torch.Tensor, rate: Any, l1: Any, l2: Any) -> torch.Tensor:
    return x.sign() * (x.abs() - rate * l1).clamp(min=0) / (1 + rate * l2)


def proximal_descent(params: Raws, grads: Raws, lr: Any, l1: Any, l2: Any) -> None:
    """Plain descent that then pulls towards zero by `l1` and `l2`."""
    for p, g in zip(params, grads, strict=True):
        p.copy_(_shrink(p - lr * g, lr, l1, l2))


def adagrad_da(params: Raws, grads: Raws, sums: Raws, squares: Raws, lr: Any, l1: Any, l2: Any,
               step: Any) -> None:
    """Adagrad by dual averaging: the parameter is a function of the sums of all gradients."""
    kernels._foreach_add_(sums, grads)
    kernels._foreach_addcmul_(squares, grads, grads, 1.0)
    for p, total, square in zip(params, sums, squares, strict=True):
        pull = total.sign() * (total.abs() - l1 * step).clamp(min=0)
        p.copy_(-lr * pull / (l2 * step * lr + square.sqrt()))


def rmsprop(params: Raws, grads: Raws, squares: Raws, moments: Raws, lr: Any, rho: float,
            momentum: float, eps: float, means: Raws | None = None, decay: float = 0.0) -> None:
    """``s = rho s + (1 - rho) g²``; ``m = momentum m + lr g / sqrt(s + eps)``; ``p -= m``.

    With `means`, their square is taken from `s` first (the centered form, Graves 2013).
    """
    grads = add_decay(params, grads, decay)
    kernels._foreach_mul_(squares, rho)
    kernels._foreach_addcmul_(squares, grads, grads, 1.0 - rho)
    spread = kernels._foreach_add(squares, eps)
    if means is not None:
        kernels._foreach_lerp_(means, grads, 1.0 - rho)
        kernels._foreach_addcmul_(spread, means, means, -1.0)
    steps = kernels._foreach_mul(grads, lr)
    if means is not None:
        # where rounding makes the variance negative MindSpore leaves the element as it is
        for p, m, step, variance in zip(params, moments, steps, spread, strict=True):
            moved = m * momentum + step * variance.rsqrt()
            m.copy_(torch.where(variance > 0, moved, m))
            p.sub_(torch.where(variance > 0, moved, torch.zeros_like(m)))
        return
    kernels._foreach_sqrt_(spread)
    kernels._foreach_mul_(moments, momentum)
    kernels._foreach_addcdiv_(moments, steps, spread, 1.0)
    kernels._foreach_sub_(params, moments)


def adadelta(params: Raws, grads: Raws, accums: Raws, updates: Raws, lr: Any, rho: float,
             eps: float, decay: float = 0.0) -> None:
    """Steps as large as recent steps were, over recent gradients (Zeiler 2012)."""
    grads = add_decay(params, grads, decay)
    kernels._foreach_mul_(accums, rho)
    kernels._foreach_addcmul_(accums, grads, grads, 1.0 - rho)
    ratio = kernels._foreach_div(kernels._foreach_add(updates, eps),
                                 kernels._foreach_add(accums, eps))
    kernels._foreach_sqrt_(ratio)
    kernels._foreach_mul_(ratio, grads)
    kernels._foreach_mul_(updates, rho)
    kernels._foreach_addcmul_(updates, ratio, ratio, 1.0 - rho)
    descend(params, ratio, lr)


def ftrl(params: Raws, grads: Raws, accums: Raws, linears: Raws, lr: Any, l1: Any, l2: Any,
         power: Any, decay: float = 0.0, shrinkage: float = 0.0) -> None:
    """Follow the regularized leader (McMahan et al. 2013)."""
    grads = add_decay(params, grads, decay)
    for p, g, a, linear in zip(params, grads, accums, linears, strict=True):
        grown = a + g * g
        before, after = a.pow(-power), grown.pow(-power)
        pulled = g + 2 * shrinkage * p if shrinkage else g
        linear.add_(pulled - (after - before) / lr * p)
        found = (l1 * linear.sign() - linear) / (after / lr + 2 * l2)
        p.copy_(torch.where(linear.abs() > l1, found, torch.zeros_like(found)))
        a.copy_(grown)


def lamb(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
         eps: float, step: torch.Tensor, decay: float | torch.Tensor = 0.0) -> None:
    """Adam whose step has the length of the parameter times `lr` (You et al. 2019)."""
    _moments(grads, m, v, beta1, beta2)
    steps = kernels._foreach_div(m, 1.0 - beta1**step)
    kernels._foreach_div_(steps, _root(kernels._foreach_div(v, 1.0 - beta2**step), eps))
    steps = add_decay(params, steps, decay)
    for p, update in zip(params, steps, strict=True):
        p.sub_(update * (lr * trust(p, update)))


def trust(param: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
    """The ratio of two norms; 1 where either is zero."""
    length, other = param.norm(), update.norm()
    return torch.where((length > 0) & (other > 0), length / other, torch.ones_like(length))


def lars(param: torch.Tensor, grad: torch.Tensor, length: torch.Tensor, other: torch.Tensor,
         decay: Any, lr: Any, eps: float, coefficient: float, use_clip: bool) -> torch.Tensor:
    """`grad`, of norm `other`, scaled to `length`, the parameter's norm (You et al. 2017)."""
    ratio = coefficient * length / (other + decay * length + eps)
    ratio = torch.where((length > 0) & (other > 0), ratio, torch.ones_like(ratio))
    if use_clip:
        ratio = (ratio / lr).clamp(max=1.0)
    return (grad + decay * param) * ratio


def adafactor(param: torch.Tensor, grad: torch.Tensor, mean: torch.Tensor | None,
              row: torch.Tensor, col: torch.Tensor, square: torch.Tensor, lr: Any, eps: tuple,
              clip: float, beta1: float, beta2: torch.Tensor, decay: float,
              scale_parameter: bool) -> None:
    """Adam with its second moment kept as sums of rows and columns (Shazeer & Stern 2018)."""
    p, g = param.float(), grad.float()
    if scale_parameter:
        lr = lr * _rms(p).clamp(min=eps[1])
    squared = g * g + eps[0]
    if g.dim() >= 2:
        r = row.float() * beta2 + squared.mean(-1) * (1.0 - beta2)
        c = col.float() * beta2 + squared.mean(-2) * (1.0 - beta2)
        row.copy_(r)
        col.copy_(c)
        update = g * (r / r.mean(-1, keepdim=True)).rsqrt().unsqueeze(-1) * c.rsqrt().unsqueeze(-2)
    else:
        grown = square.float() * beta2 + squared * (1.0 - beta2)
        square.copy_(grown)
        update = g * grown.rsqrt()
    update = update / (_rms(update) / clip).clamp(min=1.0) * lr
    if mean is not None:
        mean.copy_(mean * beta1 + update * (1.0 - beta1))
        update = mean.float()
    param.copy_(p - decay * lr * p - update)


def _rms(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean().sqrt()
