"""The formulas by which optimizers change parameters, each over lists of raw tensors.

Optimizers (`lamella.nn.optim`) call them with all parameters at once, the operators of
`optimizer.py` with one. All lists of a call agree in length, and tensors at one position in shape,
type, device and memory layout. The learning rate is a raw tensor of one element or a number.
PyTorch's fused kernels, one pass over memory, are used where they compute the same formula, its
foreach kernels elsewhere. Neither goes under `vmap`, and the fused ones have no derivative: where
gradients are recorded (of an optimizer as a function) the formulas run tensor by tensor.
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


class _Lists:
    """PyTorch's kernels over lists of tensors; where gradients are recorded, one by one."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return one_by_one(name) if torch.is_grad_enabled() else getattr(torch, name)


@functools.cache
def one_by_one(name: str) -> Callable[..., Raws]:
    """A kernel over lists, called by its name, as the kernel of one tensor for each.

    What would change tensors puts new ones into the list: a gradient may need the old.
    """
    own = name.removeprefix("_foreach_")
    kernel = _second if own == "copy_" else getattr(torch, own.removesuffix("_"))

    def run(raws: Raws, *args: Any, **options: Any) -> Raws:
        columns = [arg if isinstance(arg, list) else [arg] * len(raws) for arg in args]
        found = [kernel(raw, *others, **options)
                 for raw, *others in zip(raws, *columns, strict=True)]
        if own.endswith("_"):
            raws[:] = found
        return found

    return run


def _second(old: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
    return new.to(old.dtype)


lists: Any = _Lists()


def put(raws: Raws, place: int, value: torch.Tensor) -> None:
    """Give a tensor in a list a value: a new tensor where gradients are recorded."""
    if torch.is_grad_enabled():
        raws[place] = value.to(raws[place].dtype)
    else:
        raws[place].copy_(value)


def take(raws: Raws, place: int, step: torch.Tensor) -> None:
    """Subtract a step from a tensor in a list."""
    if torch.is_grad_enabled():
        raws[place] = raws[place] - step
    else:
        raws[place].sub_(step)


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
        if torch.is_grad_enabled():
            raws[i] = raw.to(own.dtype)
        elif raw.dtype is not own.dtype or raw.stride() != own.stride():
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
        return lists._foreach_add(grads, lists._foreach_mul(params, decay))
    return lists._foreach_add(grads, params, alpha=decay) if decay else grads


def descend(params: Raws, steps: Raws, lr: Any) -> None:
    """Subtract ``lr * steps``."""
    lists._foreach_sub_(params, lists._foreach_mul(steps, lr))


def in_float32(rule: Callable[..., None]) -> Callable[..., None]:
    """`rule` computed in float32 where parameters are of 16 bits, which lose an `eps`."""

    @functools.wraps(rule)
    def computed(params: Raws, grads: Raws, *args: Any, **options: Any) -> None:
        if all(p.itemsize > 2 for p in params):
            return rule(params, grads, *args, **options)
        kinds = [torch.float32 if p.itemsize <= 2 else p.dtype for p in params]
        _computed_in(kinds, rule, params, grads, *args, **options)

    return computed


def in_widest_type(rule: Callable[..., None]) -> Callable[..., None]:
    """`rule` for states of other types than their parameter's: computed in the widest of them."""

    @functools.wraps(rule)
    def computed(params: Raws, grads: Raws, *args: Any, **options: Any) -> None:
        held = [params, *(a for a in args if isinstance(a, list))]
        kinds = [functools.reduce(torch.promote_types, [raw.dtype for raw in own])
                 for own in zip(*held, strict=True)]
        _computed_in(kinds, rule, params, grads, *args, **options)

    return computed


def _computed_in(kinds: list[torch.dtype], rule: Callable[..., None], params: Raws, grads: Raws,
                 *args: Any, **options: Any) -> None:
    """Run `rule` on parameters and states in these types, one for each parameter."""

    def converted(raws: Raws) -> Raws:
        return [raw.to(kind) for raw, kind in zip(raws, kinds, strict=bool(raws))]

    given = [params, *args]
    wide = [converted(arg) if isinstance(arg, list) else arg for arg in given]
    rule(wide[0], converted(grads), *wide[1:], **options)
    for raws, new in zip(given, wide, strict=True):
        if isinstance(raws, list) and raws:
            lists._foreach_copy_(raws, new)


@in_float32
def _fused_sgd_on_cpu(params: Raws, grads: Raws, accums: Raws, **options: Any) -> None:
    """PyTorch's kernel: of 16 bits it leaves out all that fills a vector register (2.13)."""
    kernels._fused_sgd_(params, grads, accums, **options)


def sgd(params: Raws, grads: Raws, accums: Raws, lr: Any, momentum: float, nesterov: bool = False,
        decay: float = 0.0) -> None:
    """Gradient descent with momentum; plain where `accums` is empty.

    ``a = momentum * a + g``; ``p -= lr * a``, or ``p -= lr * (g + momentum * a)`` with `nesterov`.
    """
    if momentum == 0.0 and accums:  # the kernel takes no accumulators then
        grads, decay = add_decay(params, grads, decay), 0.0
        lists._foreach_copy_(accums, grads)
        accums = []
    if torch.is_grad_enabled():
        steps = grads = add_decay(params, grads, decay)
        if accums:
            lists._foreach_mul_(accums, momentum)
            lists._foreach_add_(accums, grads)
            steps = lists._foreach_add(grads, accums, alpha=momentum) if nesterov else accums
        descend(params, steps, lr)
        return
    on_cpu = params and params[0].device.type == "cpu"
    fused = _fused_sgd_on_cpu if on_cpu else kernels._fused_sgd_
    fused(params, grads, accums, weight_decay=decay, momentum=momentum, lr=lr, dampening=0.0,
          nesterov=nesterov, maximize=False, is_first_step=False)


def damped_sgd(params: Raws, grads: Raws, accums: Raws, stats: Raws, lr: Any, momentum: float,
               dampening: float, decay: float = 0.0, nesterov: bool = False) -> None:
    """Momentum of ``1 - dampening`` of each gradient but the first, before which `stats` is 1."""
    grads = add_decay(params, grads, decay)
    for i, (a, g, stat) in enumerate(zip(accums, grads, stats, strict=True)):
        put(accums, i, torch.where(stat > 0, g, a * momentum + g * (1.0 - dampening)))
    lists._foreach_mul_(stats, 0.0)
    descend(params, lists._foreach_add(grads, accums, alpha=momentum) if nesterov else accums, lr)


def adam(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
         eps: float, decay: float = 0.0, vhat: Raws | None = None) -> None:
    """Adam (Kingma & Ba 2014) without bias correction: MindSpore's is in its learning rate.

    ``m = beta1 m + (1 - beta1) g``; ``v = beta2 v + (1 - beta2) g²``;
    ``p -= lr m / (sqrt(v) + eps)``;
    with `vhat` the root is of the largest `v` so far (AMSGrad, Reddi et al. 2018).
    """
    if torch.is_grad_enabled():
        _moments(grads := add_decay(params, grads, decay), m, v, beta1, beta2)
        if vhat is not None:
            lists._foreach_maximum_(vhat, v)
        descend(params, lists._foreach_div(m, _root(v if vhat is None else vhat, eps)), lr)
        return
    steps = [_no_correction(params[0].device)] * len(params)
    kernels._fused_adam_(params, grads, m, v, vhat or [], steps, lr=lr, beta1=beta1, beta2=beta2,
                       weight_decay=decay, eps=eps, amsgrad=vhat is not None, maximize=False)


def adam_weight_decay(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float,
                      beta2: float, eps: float, decay: float | torch.Tensor = 0.0) -> None:
    """`adam` and, apart from its moments, ``p -= lr * decay * p`` (Loshchilov & Hutter 2017)."""
    if isinstance(decay, torch.Tensor) or torch.is_grad_enabled():
        kept: Any = 1.0 - lr * decay
        lists._foreach_mul_(params, kept.reshape(()) if isinstance(kept, torch.Tensor) else kept)
        decay = 0.0
    if torch.is_grad_enabled():
        adam(params, grads, m, v, lr, beta1, beta2, eps)
        return
    steps = [_no_correction(params[0].device)] * len(params)
    kernels._fused_adamw_(params, grads, m, v, [], steps, lr=lr, beta1=beta1, beta2=beta2,
                          weight_decay=decay, eps=eps, amsgrad=False, maximize=False)


@in_float32
def nesterov_adam(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
                  eps: float, decay: float = 0.0) -> None:
    """`adam` that steps along ``beta1 m + (1 - beta1) g``."""
    grads = add_decay(params, grads, decay)
    _moments(grads, m, v, beta1, beta2)
    steps = lists._foreach_mul(m, beta1)
    lists._foreach_add_(steps, grads, alpha=1.0 - beta1)
    lists._foreach_div_(steps, _root(v, eps))
    descend(params, steps, lr)


def _moments(grads: Raws, m: Raws, v: Raws, beta1: float, beta2: float) -> None:
    lists._foreach_lerp_(m, grads, 1.0 - beta1)
    lists._foreach_mul_(v, beta2)
    lists._foreach_addcmul_(v, grads, grads, value=1.0 - beta2)


def _root(v: Raws, eps: float) -> Raws:
    roots = [_root_of(raw) for raw in v] if torch.is_grad_enabled() else kernels._foreach_sqrt(v)
    lists._foreach_add_(roots, eps)
    return roots


def _root_of(square: torch.Tensor) -> torch.Tensor:
    """A square root whose derivative at 0 is 0.

    A step is m / (sqrt(v) + eps): where the first gradient is 0, its derivative is that of m / eps.
    """
    one = torch.ones((), dtype=square.dtype, device=square.device)
    return torch.where(square == 0, square, torch.where(square == 0, one, square).sqrt())


@in_float32
def adamax(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
           eps: float, decay: float = 0.0) -> None:
    """Adam with the largest gradient in place of the root (Kingma & Ba 2014, section 7.1)."""
    grads = add_decay(params, grads, decay)
    lists._foreach_lerp_(m, grads, 1.0 - beta1)
    lists._foreach_mul_(v, beta2)
    lists._foreach_maximum_(v, lists._foreach_abs(grads))
    descend(params, lists._foreach_div(m, lists._foreach_add(v, eps)), lr)


# PyTorch up to 2.7 makes a Python number of the rate, which no graph can hold
_FUSED_TAKES_RATES = "tensor_lr" in torch.ops.aten._fused_adagrad_.overloads()


def adagrad(params: Raws, grads: Raws, accums: Raws, lr: Any, eps: float = 0.0,
            update_slots: bool = True, decay: float = 0.0) -> None:
    """``a += g²``; ``p -= lr * g / (sqrt(a) + eps)`` (Duchi et al. 2011)."""
    if update_slots and params[0].device.type == "cpu" and not torch.is_grad_enabled() and (
            _FUSED_TAKES_RATES or not isinstance(lr, torch.Tensor)):
        step = torch.ones(())
        kernels._fused_adagrad_(params, grads, accums, [step] * len(params), lr=lr, lr_decay=0.0,
                              weight_decay=decay, eps=eps, maximize=False)
        return
    grads = add_decay(params, grads, decay)
    if update_slots:
        lists._foreach_addcmul_(accums, grads, grads, value=1.0)
    descend(params, lists._foreach_div(grads, _root(accums, eps)), lr)


def proximal_adagrad(params: Raws, grads: Raws, accums: Raws, lr: Any, l1: float, l2: float,
                     decay: float = 0.0) -> None:
    """Adagrad that then pulls towards zero by `l1` and `l2` (Duchi & Singer 2009)."""
    grads = add_decay(params, grads, decay)
    lists._foreach_addcmul_(accums, grads, grads, value=1.0)
    for i, (p, g, a) in enumerate(zip(params, grads, accums, strict=True)):
        rate = lr / a.sqrt()
        put(params, i, _shrink(p - rate * g, rate, l1, l2))


def _shrink(x: torch.Tensor, rate: Any, l1: Any, l2: Any) -> torch.Tensor:
    return x.sign() * (x.abs() - rate * l1).clamp(min=0) / (1 + rate * l2)


def proximal_descent(params: Raws, grads: Raws, lr: Any, l1: Any, l2: Any) -> None:
    """Plain descent that then pulls towards zero by `l1` and `l2`."""
    for p, g in zip(params, grads, strict=True):
        p.copy_(_shrink(p - lr * g, lr, l1, l2))


def adagrad_da(params: Raws, grads: Raws, sums: Raws, squares: Raws, lr: Any, l1: Any, l2: Any,
               step: Any) -> None:
    """Adagrad by dual averaging: the parameter is a function of the sums of all gradients."""
    lists._foreach_add_(sums, grads)
    lists._foreach_addcmul_(squares, grads, grads, value=1.0)
    for p, total, square in zip(params, sums, squares, strict=True):
        pull = total.sign() * (total.abs() - l1 * step).clamp(min=0)
        p.copy_(-lr * pull / (l2 * step * lr + square.sqrt()))


def rmsprop(params: Raws, grads: Raws, squares: Raws, moments: Raws, lr: Any, rho: float,
            momentum: float, eps: float, means: Raws | None = None, decay: float = 0.0) -> None:
    """``s = rho s + (1 - rho) g²``; ``m = momentum m + lr g / sqrt(s + eps)``; ``p -= m``.

    With `means`, their square is taken from `s` first (the centered form, Graves 2013).
    """
    grads = add_decay(params, grads, decay)
    lists._foreach_mul_(squares, rho)
    lists._foreach_addcmul_(squares, grads, grads, value=1.0 - rho)
    spread = lists._foreach_add(squares, eps)
    if means is not None:
        lists._foreach_lerp_(means, grads, 1.0 - rho)
        lists._foreach_addcmul_(spread, means, means, value=-1.0)
    steps = lists._foreach_mul(grads, lr)
    if means is not None:
        # where rounding makes the variance negative MindSpore leaves the element as it is
        for i, (m, step, variance) in enumerate(zip(moments, steps, spread, strict=True)):
            moved = m * momentum + step * variance.rsqrt()
            put(moments, i, torch.where(variance > 0, moved, m))
            take(params, i, torch.where(variance > 0, moved, torch.zeros_like(m)))
        return
    lists._foreach_sqrt_(spread)
    lists._foreach_mul_(moments, momentum)
    lists._foreach_addcdiv_(moments, steps, spread, value=1.0)
    lists._foreach_sub_(params, moments)


def adadelta(params: Raws, grads: Raws, accums: Raws, updates: Raws, lr: Any, rho: float,
             eps: float, decay: float = 0.0) -> None:
    """Steps as large as recent steps were, over recent gradients (Zeiler 2012)."""
    grads = add_decay(params, grads, decay)
    lists._foreach_mul_(accums, rho)
    lists._foreach_addcmul_(accums, grads, grads, value=1.0 - rho)
    ratio = lists._foreach_div(lists._foreach_add(updates, eps),
                                 lists._foreach_add(accums, eps))
    lists._foreach_sqrt_(ratio)
    ratio = lists._foreach_mul(ratio, grads)  # the derivative of the root needs it as it is
    lists._foreach_mul_(updates, rho)
    lists._foreach_addcmul_(updates, ratio, ratio, value=1.0 - rho)
    descend(params, ratio, lr)


def ftrl(params: Raws, grads: Raws, accums: Raws, linears: Raws, lr: Any, l1: Any, l2: Any,
         power: Any, decay: float = 0.0, shrinkage: float = 0.0) -> None:
    """Follow the regularized leader (McMahan et al. 2013)."""
    grads = add_decay(params, grads, decay)
    for i, (p, g, a, linear) in enumerate(zip(params, grads, accums, linears, strict=True)):
        grown = a + g * g
        before, after = a.pow(-power), grown.pow(-power)
        pulled = g + 2 * shrinkage * p if shrinkage else g
        take(linears, i, (after - before) / lr * p - pulled)
        linear = linears[i]
        found = (l1 * linear.sign() - linear) / (after / lr + 2 * l2)
        put(params, i, torch.where(linear.abs() > l1, found, torch.zeros_like(found)))
        put(accums, i, grown)


@in_float32
def lamb(params: Raws, grads: Raws, m: Raws, v: Raws, lr: Any, beta1: float, beta2: float,
         eps: float, step: torch.Tensor, decay: float | torch.Tensor = 0.0) -> None:
    """Adam whose step has the length of the parameter times `lr` (You et al. 2019)."""
    _moments(grads, m, v, beta1, beta2)
    steps = lists._foreach_div(m, 1.0 - beta1**step)
    lists._foreach_div_(steps, _root(lists._foreach_div(v, 1.0 - beta2**step), eps))
    steps = add_decay(params, steps, decay)
    for i, (p, update) in enumerate(zip(params, steps, strict=True)):
        take(params, i, update * (lr * trust(p, update)))


def trust(param: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
    """The ratio of two norms; 1 where either is zero."""
    length, other = param.norm(), update.norm()
    divides, one = (length > 0) & (other > 0), torch.ones_like(length)
    if torch.is_grad_enabled():  # what isn't chosen must not give nan
        other = torch.where(divides, other, one)
    return torch.where(divides, length / other, one)


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
              scale_parameter: bool) -> tuple[torch.Tensor | None, ...]:
    """Adam with its second moment kept as sums of rows and columns (Shazeer & Stern 2018).

    Returns:
        The new parameter, mean, sums of rows and of columns, and squares; None for what stays.
    """
    p, g = param.float(), grad.float()
    if scale_parameter:
        lr = lr * _rms(p).clamp(min=eps[1])
    squared = g * g + eps[0]
    if g.dim() >= 2:
        r = row.float() * beta2 + squared.mean(-1) * (1.0 - beta2)
        c = col.float() * beta2 + squared.mean(-2) * (1.0 - beta2)
        kept: tuple[torch.Tensor | None, ...] = r, c, None
        update = g * (r / r.mean(-1, keepdim=True)).rsqrt().unsqueeze(-1) * c.rsqrt().unsqueeze(-2)
    else:
        grown = square.float() * beta2 + squared * (1.0 - beta2)
        kept = None, None, grown
        update = g * grown.rsqrt()
    update = update / (_rms(update) / clip).clamp(min=1.0) * lr
    if mean is not None:
        moved = (mean * beta1 + update * (1.0 - beta1)).to(mean.dtype)
        mean, update = moved, moved.float()
    return (p - decay * lr * p - update, mean, *kept)


def _rms(x: torch.Tensor) -> torch.Tensor:
    return x.square().mean().sqrt()
