"""Solvers of linear systems by products with the matrix alone: CG and GMRES.

Each is a loop whose end depends on numbers. In a graph it is one operation; in a `vmap` examples
that have ended wait for others. Where neither can be, it takes as many steps as it may.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

import torch

from ..core.cuts import program_frame
from ..core.state import state
from .level import batching, by_example, for_any_example

Apply = Callable[[torch.Tensor], torch.Tensor]
Raws = Sequence[torch.Tensor]

_RESTART = 64  # vectors of GMRES before it starts anew


def cg(apply: Apply, b: torch.Tensor) -> torch.Tensor:
    """Conjugate gradients (Hestenes and Stiefel, 1952), with at most two steps per unknown."""
    least = _tolerance(b) * b.norm()

    def step(_: torch.Tensor, x: torch.Tensor, rest: torch.Tensor, along: torch.Tensor,
             square: torch.Tensor) -> Raws:
        image = apply(along)
        step = _ratio(square, along.conj().dot(image))
        x, rest = x + step * along, rest - step * image
        before, square = square, rest.conj().dot(rest)
        return x, rest, rest + _ratio(square, before) * along, square

    x, rest, *_ = _repeated(apply, lambda x, rest, *_: rest.norm() > least, step,
                            (torch.zeros_like(b), b, b, b.conj().dot(b)),
                            min(2 * b.numel(), 2000))
    _check_end("cg", apply, x, rest, b)
    return x


def gmres(apply: Apply, b: torch.Tensor) -> torch.Tensor:
    """GMRES (Saad and Schultz, 1986), restarted after 64 vectors, at most 20 times."""
    least = _tolerance(b) * b.norm()
    count = min(_RESTART, b.numel())

    def step(_: torch.Tensor, x: torch.Tensor, rest: torch.Tensor) -> Raws:
        x = x + _round(apply, rest, least, count)
        return x, b - apply(x)

    x, rest = _repeated(apply, lambda x, rest: rest.norm() > least, step, (torch.zeros_like(b), b),
                        max(1, min(20, math.ceil(4 * b.numel() / count))))
    _check_end("gmres", apply, x, rest, b)
    return x


def _round(apply: Apply, rest: torch.Tensor, least: torch.Tensor, count: int) -> torch.Tensor:
    """The best step for a residual among combinations of its images, with a basis of these.

    The basis is Arnoldi's: with `within`, what the operator does in it, the images of the vectors
    are combinations of these and of the next one. `normal` is orthogonal to all images, so the best
    step leaves a residual of this direction, which is ``size / normal.norm()`` long.
    """
    size = rest.norm()
    rows = torch.arange(count + 1, device=rest.device)

    def step(made: torch.Tensor, basis: torch.Tensor, within: torch.Tensor, normal: torch.Tensor,
             last: torch.Tensor, goes_on: torch.Tensor) -> Raws:
        new, parts = apply(last), torch.zeros_like(normal)
        whole = new.norm()
        for _ in range(2):  # twice is enough for orthogonal vectors
            part = basis.conj() @ new
            new, parts = new - basis.mT @ part, parts + part
        left = new.norm()
        is_next = rows == made + 1
        column = torch.where(is_next, left, parts)
        goes_on = ~(left <= 1e-7 * whole)  # also where it is NaN
        last = torch.where(goes_on, _ratio(new, left), torch.zeros_like(new))
        normal = torch.where(is_next, -_ratio(normal.dot(parts), left), normal)
        return (torch.where(is_next.unsqueeze(1), last, basis),
                torch.where(rows[:-1] == made, column.unsqueeze(1), within), normal, last, goes_on)

    first = _ratio(rest, size)
    begin = (rows == 0).to(rest.dtype)
    basis, within, *_ = _repeated(
        apply, lambda basis, within, normal, last, goes_on: goes_on & (
            size > least * normal.norm()), step,
        (torch.where(rows.unsqueeze(1) == 0, first, torch.zeros_like(first)),
         rest.new_zeros(count + 1, count), begin, first, size > 0), count)
    images = within.nan_to_num(0, 0, 0)  # what is NaN here is NaN in the basis, too
    return basis[:-1].mT @ (torch.linalg.pinv(images) @ (begin * size))


def _repeated(apply: Apply, goes_on: Callable[..., torch.Tensor], step: Callable[..., Raws],
              values: Raws, most: int) -> Raws:
    """The values after repeated steps.

    Args:
        apply: what the program is asked for in a step.
        goes_on: from the values to whether there is another step.
        step: from the number of steps before and the values to the next values.
        values: the first ones.
        most: how many steps there are at most.
    """
    def holds(raws: Raws) -> torch.Tensor:
        return goes_on(*raws[1:]) & (raws[0] < most)

    def following(raws: Raws) -> list[torch.Tensor]:
        return [raws[0] + 1, *step(*raws)]

    now = [torch.zeros((), dtype=torch.int64, device=values[0].device), *values]
    if state.trace is not None:
        found = state.trace.loop((apply,), lambda raws, _: (following(raws), []), holds, now, [],
                                 None)
        if found is not None:
            return found[0][1:]
        for _ in range(most):  # to ask whether it goes on would be a guard
            now = following(now)
        return now[1:]
    while True:
        test = holds(now)
        if not for_any_example(test):
            return now[1:]
        found = following(now)
        now = [torch.where(test, a, b) for a, b in zip(found, now, strict=True)] if (
            by_example(test)) else found


def _tolerance(b: torch.Tensor) -> float:
    return 1e-12 if b.dtype in (torch.float64, torch.complex128) else 1e-6


def _ratio(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a / b, zero where b is zero: a vector has been found exactly."""
    return torch.where(b == 0, torch.zeros_like(a), a / torch.where(b == 0, torch.ones_like(b), b))


def _check_end(solver: str, apply: Apply, x: torch.Tensor, rest: torch.Tensor, b: torch.Tensor
               ) -> None:
    """Warn of a solver that has stopped far from the solution, where numbers may be asked."""
    if batching() or state.trace is not None or rest.norm() <= _tolerance(b) * b.norm():
        return
    left, whole = float((b - apply(x)).norm()), float(b.norm())
    if not left <= 1e-3 * whole:
        frame = program_frame(direct=False)
        place = ("lamella", 1) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
        warnings.warn_explicit(
            f"For 'custom_linear_solve', the solver '{solver}' has stopped where the residual has "
            f"the norm {left:.3g}, and 'b' {whole:.3g}: use 'direct' or a solver of your own.",
            RuntimeWarning, *place)
