"""Ordinary differential equations: `odeint`, with gradients by the adjoint equation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..autodiff.custom import in_structure
from ..autodiff.equations import pulled, with_rule
from ..autodiff.level import batching, in_forward_mode
from ..autodiff.reverse import checked_weights
from ..autodiff.tree import (
    check_no_hidden,
    differentiable,
    map_tensors,
    same_structure,
    tensors,
    tensors_as,
)
from ..core.require import of_type, positive_float, positive_int
from ..core.wrappers import physical
from ..tensors.tensor import Tensor, wrap
from .loops import check_function, while_loop

Raws = list[torch.Tensor]

# Dormand and Prince, "A family of embedded Runge-Kutta formulae", 1980: the stages' coefficients
# and times, and the difference of the formulas of order 5 and 4
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Shampine, "Some practical Runge-Kutta formulas", 1986: the value in the middle of a step
_MIDDLE = (6025192743 / 60171106304, 0.0, 51252292925 / 130801643196, -2691868925 / 90256659456,
           187940372067 / 3189068634112, -1776094331 / 39487288512, 11237099 / 470086768)


def odeint(func: Callable[..., Any], y0: Any, t: Tensor, *args: Any, rtol: float = 1e-5,
           atol: float = 1e-6, max_steps: int = 10000, adjoint: bool = True,
           weights: Any = None) -> Any:
    """Solves an ordinary differential equation, ``dy/dt = func(y, t, *args)``.

    The method is that of Dormand and Prince, of order 5, with steps as long as the tolerances
    allow. In a compiled function the steps are one loop, whose count depends on the data.

    Args:
        func: takes the value y, the time as a Tensor of rank 0, and `args`; gives the derivative,
            in the structure of y.
        y0: the value at the first time: a Tensor of floating numbers, or a structure of them.
        t: the times, a Tensor of rank 1, which rise or fall. The first is that of `y0`.
        args: what else `func` takes.
        rtol, atol: the error of a step is to be below ``atol + rtol * abs(y)``, in the root mean
            square of all elements.
        max_steps: how many steps to try in all.
        adjoint: whether derivatives are by the adjoint equation, solved backwards in time (Chen et
            al., "Neural ordinary differential equations", 2018): its memory doesn't grow with the
            steps. Otherwise they are those of the steps taken, exactly; those in forward mode
            (`jvp`, `jacfwd`, `hessian`) always are.
        weights: with `adjoint`, Parameters that `func` uses, to differentiate by as well. Without,
            gradients by all Parameters pass.

    Returns:
        y at all times, along a new first axis. It is nan from where more steps would be needed.
        Under `vmap` each example has steps of its own.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `t` isn't of rank 1 with a time or more, or `func` gives other shapes.

    Examples:
        >>> import lamella as ms
        >>> times = ms.Tensor([0.0, 1.0, 2.0])
        >>> y = ms.odeint(lambda y, t, k: -k * y, ms.Tensor(1.0), times, ms.Tensor(1.0))
        >>> print(y.round(decimals=4))
        [1.     0.3679 0.1353]
        >>> def end(k):
        ...     return ms.odeint(lambda y, t, k: -k * y, ms.Tensor(1.0), times, k)[-1]
        >>> print(ms.grad(end)(ms.Tensor(1.0)).round(decimals=4))
        -0.2707
    """
    check_function("odeint", "func", func)
    check_no_hidden("odeint", "'y0'", y0)
    leaves = list(tensors(y0))
    kinds = {leaf._raw.dtype for leaf in leaves}
    if len(kinds) != 1 or not all(kind.is_floating_point for kind in kinds):
        raise TypeError(f"For 'odeint', 'y0' must hold Tensors of one floating type, "
                        f"but got {', '.join(str(leaf.dtype) for leaf in leaves) or y0!r}.")
    of_type(t, Tensor, "t", "odeint")
    if t.ndim != 1 or not len(t):
        raise ValueError(f"For 'odeint', 't' must have rank 1 and hold a time or more, "
                         f"but got shape {t.shape}.")
    for name, value in (("rtol", rtol), ("atol", atol)):
        positive_float(value, name, "odeint")
    positive_int(max_steps, "max_steps", "odeint")
    of_type(adjoint, bool, "adjoint", "odeint")
    known = checked_weights("odeint", weights) or ()
    times = t if differentiable(t._raw) else wrap(t._raw.to(kinds.pop()))
    options = {"rtol": rtol, "atol": atol, "max_steps": max_steps}

    def solve(y0: Any, t: Tensor, *args: Any) -> Any:
        return _Solver(func, y0, args, options).at(t._raw)

    def pull(ys: Any, given: tuple, gradient: Any) -> tuple[Any, ...]:
        return _pulled_back(func, ys, given, gradient, known, options)

    if not adjoint or in_forward_mode():  # which has no need of the adjoint equation
        return solve(y0, times, *args)
    return with_rule(solve, pull, (y0, times, *args), known, "odeint")


def _pulled_back(func: Callable[..., Any], ys: Any, given: tuple, gradient: Any,
                 weights: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    """The gradients by the first value, the times, the arguments and the weights."""
    _, t, *args = given

    def field(state: Any, time: Tensor, *args: Any) -> Any:
        y, along = state[:2]
        value = func(y, time, *args)
        (by_y, *by_args), by_weights = pulled(
            lambda y, *args: func(y, time, *args), (y, *args), weights, along)
        return value, _negative(by_y), _negative(by_args), _negative(list(by_weights))

    def at(place: int, tree: Any) -> Any:
        return map_tensors(lambda leaf: leaf[place], tree)

    def speed(place: int, along: Any) -> Tensor:
        """How fast a time moves the result."""
        value = tensors_as(along, func(at(place, ys), t[place], *args))
        return _sum([(next(value) * leaf).sum() for leaf in tensors(along)])

    zeros = [_zeros(arg) if any(differentiable(leaf._raw) for leaf in tensors(arg)) else None
             for arg in args]
    along = at(-1, gradient)
    last = len(t) - 1
    by_args, by_weights = zeros, [wrap(torch.zeros_like(w._raw)) for w in weights]
    by_times = [speed(place, at(place, gradient)) for place in range(1, last + 1)]
    for place in range(last, 0, -1):
        state = (at(place, ys), along, by_args, by_weights)
        state = odeint(field, state, t[place - 1:place + 1].flip(0), *args, weights=weights or None,
                       **options)
        _, along, by_args, by_weights = map_tensors(lambda leaf: leaf[1], state)
        if place > 1:
            more = tensors(at(place - 1, gradient))
            along = map_tensors(lambda leaf: leaf + next(more), along)  # noqa: B023
    by_first = -speed(0, along) if last else wrap(torch.zeros_like(t[0]._raw))
    start = tensors(at(0, gradient))
    by_y0 = map_tensors(lambda leaf: leaf + next(start), along) if last else at(0, gradient)
    by_t = wrap(torch.stack([part._raw for part in (by_first, *by_times)]).to(t._raw.dtype))
    return (by_y0, by_t, *by_args), by_weights


class _Solver:
    """The steps for one equation, on lists of raw tensors; time runs forwards in it."""

    def __init__(self, func: Callable[..., Any], y0: Any, args: tuple, options: dict[str, Any]):
        self.func, self.y0, self.args = func, y0, args
        self.rtol, self.atol = options["rtol"], options["atol"]
        self.max_steps = options["max_steps"]
        self.sign: Any = 1

    def at(self, t: torch.Tensor) -> Any:
        """The value at all times."""
        y = [leaf._raw for leaf in tensors(self.y0)]
        if len(t) == 1:
            return in_structure(self.y0, [leaf.unsqueeze(0) for leaf in y])
        self.sign = torch.where(t[-1] < t[0], -1, 1).to(t.dtype)
        t = t * self.sign
        f = self.slope(y, t[0])
        many = len(t) > 2
        # what isn't reached stays nan
        outs = [torch.full((len(t) if many else 1, *leaf.shape), torch.nan, dtype=leaf.dtype,
                           device=leaf.device) for leaf in y]
        count, end = torch.zeros((), dtype=torch.int64, device=t.device), t[-1]

        def goes_on(value: Any) -> Tensor:
            going = self.going(end, *[part._raw for part in value[:3]])
            return wrap(physical(going).any() if batching() else going)

        def step(value: Any) -> Any:
            now, length, count = [part._raw for part in value[:3]]
            y, f, outs = [[leaf._raw for leaf in part] for part in value[3:]]
            return self.step(t, end, now, length, count, y, f, outs)

        first = (t[0], self.first_step(y, f, t[0]), count)
        found = while_loop(goes_on, step, _wrapped(*first, y, f, outs))
        y, outs = ([leaf._raw for leaf in found[i]] for i in (3, 5))
        reached = found[0]._raw >= end
        start = [leaf._raw for leaf in tensors(self.y0)]
        if many:
            rows = [torch.cat([a.unsqueeze(0), out[1:]])
                    for a, out in zip(start, outs, strict=True)]
        else:
            rows = [torch.stack([a, torch.where(reached, b, torch.nan)])
                    for a, b in zip(start, y, strict=True)]
        return in_structure(self.y0, rows)

    def going(self, end: torch.Tensor, now: torch.Tensor, length: torch.Tensor,
              count: torch.Tensor) -> torch.Tensor:
        """Whether there are steps to take, and they move."""
        return (now < end) & (now + length > now) & (count < self.max_steps)

    def slope(self, y: Raws, t: torch.Tensor) -> Raws:
        """The derivative in the direction of the time."""
        found = self.func(in_structure(self.y0, y), wrap(t * self.sign), *self.args)
        parts = [leaf._raw for leaf in tensors_as(self.y0, found)]
        if not same_structure(found, self.y0) or any(
                a.shape != b.shape for a, b in zip(parts, y, strict=True)):
            raise ValueError(f"For 'odeint', 'func' must give a derivative in the structure and "
                             f"shapes of y, {[tuple(a.shape) for a in y]}, but it gave "
                             f"{[tuple(a.shape) for a in parts]}.")
        return [(part * self.sign).to(leaf.dtype) for part, leaf in zip(parts, y, strict=True)]

    def size(self, values: Raws, y: Raws, z: Raws) -> torch.Tensor:
        """The root mean square of values in units of what is tolerated near y and z."""
        total, count = None, 0
        for value, a, b in zip(values, y, z, strict=True):
            scaled = value / (self.atol + self.rtol * torch.maximum(a.abs(), b.abs()))
            square = (scaled * scaled).sum()
            total, count = square if total is None else total + square, count + value.numel()
        assert total is not None
        return (total / max(count, 1)).sqrt()

    def first_step(self, y: Raws, f: Raws, t: torch.Tensor) -> torch.Tensor:
        """The length of the first step (Hairer, Norsett and Wanner, 1993, II.4)."""
        with torch.no_grad():
            y, f = [leaf.detach() for leaf in y], [leaf.detach() for leaf in f]
            value, slope = self.size(y, y, y), self.size(f, y, y)
            small = (value < 1e-5) | (slope < 1e-5)
            guess = torch.where(small, 1e-6, 0.01 * value / torch.where(small, 1.0, slope))
            moved = [a + guess.to(a.dtype) * b for a, b in zip(y, f, strict=True)]
            change = [a - b for a, b in zip(self.slope(moved, t + guess), f, strict=True)]
            bent = self.size(change, y, y) / guess
            most = torch.maximum(slope, bent)
            flat = most <= 1e-15
            length = torch.where(flat, torch.clamp(guess * 1e-3, min=1e-6),
                                 (0.01 / torch.where(flat, 1.0, most)) ** 0.2)
            return torch.minimum(100 * guess, length).to(t.dtype)

    def step(self, t: torch.Tensor, end: torch.Tensor, now: torch.Tensor, length: torch.Tensor,
             count: torch.Tensor, y: Raws, f: Raws, outs: Raws) -> Any:
        """One step, taken back where its error is too large."""
        rest = end - now
        is_last = length >= rest
        h = torch.where(is_last, rest, length.detach())
        going = None
        if batching():  # some examples may be there, while others go on
            going = self.going(end, now, length, count).detach()
            h = torch.where(going, h, 1.0).to(h.dtype)
        slopes, new = [f], y
        for stage, place in zip(_STAGES, _TIMES, strict=True):
            new = _moved(y, slopes, stage, h)
            slopes.append(self.slope(new, now + place * h))
        zeros = [torch.zeros_like(leaf) for leaf in y]
        with torch.no_grad():
            error = self.size(_moved(zeros, slopes, _ERROR, h), y, new).detach()
            good = error <= 1 if going is None else (error <= 1) & going
            factor = 0.9 * torch.clamp(error, min=1e-10) ** -0.2
            factor = torch.where(error.isnan(), 0.2, torch.clamp(factor, 0.2, 10.0))
            longer = (h * factor).to(h.dtype)
            longer = longer if going is None else torch.where(going, longer, length)
        then = torch.where(is_last, end, now + h)
        if len(outs[0]) > 1:
            place = (t - now) / h
            here = good & (t > now) & (t <= then)
            middle = _moved(y, slopes, _MIDDLE, h)
            outs = [_written(out, here, place, h, *parts) for out, *parts
                    in zip(outs, y, new, middle, f, slopes[-1], strict=True)]
        return _wrapped(torch.where(good, then, now), longer, count + 1,
                        [torch.where(good, a, b) for a, b in zip(new, y, strict=True)],
                        [torch.where(good, a, b) for a, b in zip(slopes[-1], f, strict=True)],
                        outs)


def _moved(y: Raws, slopes: Sequence[Raws], weights: Sequence[float], h: torch.Tensor) -> Raws:
    """y moved for a time by a mean of slopes."""
    found = []
    for place, leaf in enumerate(y):
        mean = None
        for slope, weight in zip(slopes, weights, strict=True):
            if weight:
                mean = (slope[place] * weight if mean is None
                        else torch.add(mean, slope[place], alpha=weight))
        assert mean is not None
        found.append(leaf + h.to(leaf.dtype) * mean)
    return found


def _written(out: torch.Tensor, here: torch.Tensor, place: torch.Tensor, h: torch.Tensor,
             y: torch.Tensor, new: torch.Tensor, middle: torch.Tensor, f: torch.Tensor,
             g: torch.Tensor) -> torch.Tensor:
    """Values within a step written: by the polynomial of degree 4 through its ends and middle."""
    h = h.to(y.dtype)
    f, g = f * h, g * h
    a = 2 * (g - f) - 8 * (new + y) + 16 * middle
    b = 5 * f - 3 * g + 18 * y + 14 * new - 32 * middle
    c = g - 4 * f - 11 * y - 5 * new + 16 * middle
    shape = (-1, *[1] * y.dim())
    x = place.to(y.dtype).reshape(shape)
    values = (((a * x + b) * x + c) * x + f) * x + y
    return torch.where(here.reshape(shape), values, out)


def _wrapped(now: torch.Tensor, length: torch.Tensor, count: torch.Tensor, *lists: Raws) -> Any:
    return (wrap(now), wrap(length), wrap(count), *[[wrap(raw) for raw in raws] for raws in lists])


def _zeros(tree: Any) -> Any:
    return map_tensors(lambda t: wrap(torch.zeros_like(t._raw)), tree)


def _negative(tree: Any) -> Any:
    return map_tensors(lambda t: -t, tree)


def _sum(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
