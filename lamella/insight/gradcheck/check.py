"""`check_grads`: checks the derivatives of a function.

In float64, along random directions, forward and reverse mode are compared with finite differences;
then the compiled function is compared with the eager one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ...autodiff.forward import push
from ...autodiff.reverse import checked_weights, differentiate
from ...autodiff.tree import argument_names, differentiable, map_tensors, paths, tensors
from ...core.state import state
from ...graph import Compiled
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from .rehearsal import Rehearsal

Raw = torch.Tensor
Function = Callable[..., tuple[Tensor, ...]]  # of all inputs, one after the other

WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
        torch.complex64: torch.complex128}
# step, relative and absolute tolerance by the number of bits the result is computed in
BY_PRECISION = {64: (1e-5, 1e-4, 1e-6), 32: (1e-2, 2e-2, 2e-3), 16: (0.25, 0.2, 0.1)}


class GradientError(AssertionError):
    """A derivative disagrees with finite differences, or with another mode."""


def check_grads(fn: Callable[..., Any], *args: Any, order: int = 2,
                modes: Sequence[str] = ("rev", "fwd"), weights: Any = None,
                eps: float | None = None, rtol: float | None = None, atol: float | None = None,
                seed: int = 0, compiled: bool = True) -> None:
    """Check the derivatives of `fn` at `args`: against finite differences, and by mode.

    Floating inputs, and all floating Tensors and Parameters that `fn` can reach, are float64
    meanwhile. They and the random numbers are afterwards as they were; each evaluation draws the
    same random numbers. Where `fn` has a kink, any value between its slopes on both sides is right.

    Args:
        fn: a function or Cell of Tensors, or of structures of them; each floating one is an input.
        order: up to which derivative.
        modes: ``"rev"``, ``"fwd"`` or both. Of order 2 the derivative by each is differentiated
            in each.
        weights: Parameters of which floating ones are inputs, too. Default: those of a Cell that
            are trainable.
        eps: step of the finite differences. Default: 1e-5 for results in float64, more for others.
        rtol, atol: relative and absolute tolerance. Default: 1e-4 and 1e-6 in float64.
        seed: of the random directions.
        compiled: whether `jit` of `fn` and of its first derivatives must give the same, too.

    Raises:
        GradientError: an AssertionError that names the input, the output, the order and the mode,
            with both numbers, the direction, the step and the tolerance.
        TypeError: if `fn` is not callable, or nothing about it is floating.
        ValueError: if `order` or `modes` is none of the above.

    Examples:
        >>> import lamella as ms
        >>> from lamella import nn
        >>> ms.check_grads(lambda x, y: x * ms.ops.sin(y), ms.Tensor([1.0, 2.0]), ms.Tensor(0.5))
        >>> class Wrong(nn.Cell):
        ...     def construct(self, x):
        ...         return x * x
        ...     def bprop(self, x, out, dout):
        ...         return x * dout
        >>> try:
        ...     ms.check_grads(Wrong(), ms.Tensor(3.0))
        ... except ms.GradientError as error:
        ...     print(str(error).splitlines()[0])
        The derivative of 'Wrong' is wrong: of its output by 'x', of order 1, in reverse mode.
    """
    if not callable(fn):
        raise TypeError(f"For 'check_grads', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    if isinstance(order, bool) or not isinstance(order, int) or order < 1:
        raise ValueError(f"For 'check_grads', 'order' must be an int of 1 or more, "
                         f"but got {order!r}.")
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or not set(modes) <= {"rev", "fwd"}:
        raise ValueError(f"For 'check_grads', 'modes' must hold 'rev', 'fwd' or both, "
                         f"but got {modes!r}.")
    if weights is None and hasattr(fn, "trainable_params"):
        weights = fn.trainable_params()
    listed = tuple([weight for weight in checked_weights("check_grads", weights) or ()
                    if differentiable(weight._raw)])
    with Rehearsal(fn, args, listed) as around:
        given = _widened(around, args)
        with Rehearsal(fn, given, listed) as rehearsal:
            subject = _Subject(fn, given, listed, rehearsal)
            if not subject.values:
                raise TypeError("For 'check_grads', 'fn' must have a floating input or weight, "
                                "but there is none.")
            check = _Check(subject, modes, (eps, rtol, atol), np.random.default_rng(seed))
            check.run(order)
            if compiled:
                check.compiled()


def _widened(around: Rehearsal, args: tuple) -> tuple:
    """The arguments in float64; tensors that the rehearsal restores are converted in place."""
    for parameter in around.parameters:
        parameter._data = parameter._data.to(WIDE.get(parameter._data.dtype, parameter._data.dtype))
    for tensor, _ in around.tensors:
        tensor._raw = tensor._raw.to(WIDE.get(tensor._raw.dtype, tensor._raw.dtype))
    return tuple(map_tensors(lambda t: t if isinstance(t, Parameter) else wrap(
        t._raw.detach().to(WIDE.get(t._raw.dtype, t._raw.dtype))), args))


class _Subject:
    """`fn` as a function of the list of its floating inputs, the weights last.

    Attributes:
        names: of the inputs, as in ``"x['a']"``.
        out_names: of the floating outputs; known after the first call.
    """

    def __init__(self, fn: Any, args: tuple, weights: tuple[Parameter, ...], rehearsal: Rehearsal):
        self.fn, self.args, self.weights, self.rehearsal = fn, args, weights, rehearsal
        self.name = getattr(fn, "__name__", type(fn).__name__)
        named = list(zip(argument_names(fn, len(args)), args, strict=True))
        found = [(path, t) for name, arg in named for path, t in paths(name, arg)
                 if differentiable(t._raw)]
        self.names = [path for path, _ in found] + [f"weight '{w.name}'" for w in weights]
        self.inputs = [t for _, t in found]
        self.values = [wrap(t._raw.detach()) for t in (*self.inputs, *weights)]
        self.out_names: list[str] = []

    def arguments(self, leaves: Sequence[Tensor]) -> tuple:
        """`fn`'s arguments, made of these inputs."""
        flat = iter(leaves)
        return tuple(map_tensors(
            lambda t: next(flat) if differentiable(t._raw) else t, self.args))

    def __call__(self, *leaves: Tensor) -> tuple[Tensor, ...]:
        self.rehearsal.reset()
        before = state.overlay
        if self.weights:
            own = {w: leaf._raw for w, leaf in
                   zip(self.weights, leaves[len(self.inputs):], strict=True)}
            state.overlay = {**(before or {}), **own}
        try:
            value = self.fn(*self.arguments(leaves[:len(self.inputs)]))
            outs = [(path, wrap(t._raw)) for path, t in paths("output", value)
                    if differentiable(t._raw)]
        finally:
            state.overlay = before
        self.out_names = [path for path, _ in outs]
        return tuple(out for _, out in outs)


class _Check:
    def __init__(self, subject: _Subject, modes: tuple[str, ...], options: tuple,
                 rng: np.random.Generator):
        self.subject, self.modes, self.options, self.rng = subject, modes, options, rng

    def run(self, order: int) -> None:
        """Check all derivatives up to `order`."""
        subject = self.subject
        first, second = subject(*subject.values), subject(*subject.values)
        for path, a, b in zip(subject.out_names, first, second, strict=True):
            if not torch.equal(a._raw, b._raw) and not a._raw.isnan().any():
                raise GradientError(
                    f"The function '{subject.name}' gives two values for the same inputs, at "
                    f"{path}, though random numbers are the same: it depends on something that "
                    f"changes, as a counter does. Its derivative can't be checked.")
        self._order(subject, list(subject.out_names), 1, order, ())

    def _order(self, function: Function, names: list[str], order: int, last: int,
               before: tuple[str, ...]) -> None:
        leaves = self.subject.values
        base = [t._raw for t in function(*leaves)]
        if not base:
            return
        level = _Level(self, function, names, base, order, before)
        for place in range(len(leaves)):
            level.check_input(place)
        if order == last:
            return
        for mode in self.modes:
            derived, derived_names = self._derived(function, names, base, mode)
            self._order(derived, derived_names, order + 1, last, (*before, mode))

    def _derived(self, function: Function, names: list[str], base: list[Raw],
                 mode: str) -> tuple[Function, list[str]]:
        """A derivative of the function, along fixed directions, as such a function itself."""
        if mode == "rev":
            starts = tuple(wrap(self.random(out)) for out in base)
            whole = "output" if len(names) == 1 else "the outputs"
            return (lambda *leaves: _pulled(function, leaves, starts),
                    [f"the gradient of {whole} by {name}" for name in self.subject.names])
        moves = [self.random(t._raw) for t in self.subject.values]
        return (lambda *leaves: tuple(_pushed(function, leaves, moves)),
                [f"the tangent of {name}" for name in names])

    def random(self, like: Raw) -> Raw:
        """Random numbers for a tensor: about 1 each, so that a step is one for every element."""
        found = torch.from_numpy(np.asarray(self.rng.standard_normal(tuple(like.shape))))
        if like.is_complex():
            found = found + 1j * torch.from_numpy(
                np.asarray(self.rng.standard_normal(tuple(like.shape))))
        return found.to(like.dtype).to(like.device)

    def compiled(self) -> None:
        """Check that the compiled function and its derivatives agree with the eager ones."""
        subject = self.subject
        leaves, weights = subject.values, subject.weights
        count = len(subject.inputs)
        args = subject.arguments(leaves)
        by = tuple(i for i, arg in enumerate(subject.args)
                   if any(differentiable(t._raw) for t in tensors(arg)))
        moves = [self.random(t._raw) for t in leaves[:count]]
        steps = iter(moves)
        tangents = [next(steps) if differentiable(t._raw) else None for t in tensors(args)]

        fn = subject.fn  # no graph can hold what reaches its own arguments, as `subject` does

        def slopes(*given: Any) -> Any:
            return differentiate(fn, given, {}, by, weights)[1:]

        def moved(*given: Any) -> Any:
            return push(fn, given, tangents)[1]

        wanted: list[tuple[str, Callable[..., Any]]] = [("value", fn)]
        if "rev" in self.modes:
            wanted.append(("gradient", slopes))
        if "fwd" in self.modes and count:
            wanted.append(("tangent", moved))
        for what, function in wanted:
            subject.rehearsal.reset()
            eager = list(paths("output", function(*args)))
            graph = Compiled(function)
            for turn in ("recorded", "replayed"):
                subject.rehearsal.reset()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # that it runs eagerly after all
                    got = [t for _, t in paths("output", graph(*args))]
                self._same(what, turn, eager, got)

    def _same(self, what: str, turn: str, eager: list, got: list) -> None:
        if len(eager) != len(got):
            raise GradientError(
                f"The {what} of '{self.subject.name}' compiled is not what it is eagerly: "
                f"{len(got)} Tensors, not {len(eager)}, when the graph was {turn}.")
        names = [path for path, _ in eager]
        if what == "gradient":
            every = [path for i, arg in enumerate(self.subject.args)
                     if any(differentiable(t._raw) for t in tensors(arg))
                     for path, _ in paths(argument_names(self.subject.fn,
                                                          len(self.subject.args))[i], arg)]
            names = [f"by {name}" for name in every] + [
                f"by weight '{w.name}'" for w in self.subject.weights]
        for name, (_, want), found in zip(names, eager, got, strict=True):
            a, b = want._raw, found._raw
            bits = torch.finfo(a.dtype).bits if differentiable(a) else 64
            near = {64: 1e-8, 32: 1e-4, 16: 2e-2}[bits]
            if a.shape != b.shape or not torch.allclose(
                    a.to(b.dtype), b, rtol=near, atol=near, equal_nan=True):
                raise GradientError(
                    f"The {what} of '{self.subject.name}' compiled is not what it is eagerly: "
                    f"{name}, when the graph was {turn}.\n"
                    f"  expected  {_shown(a)} (eager)\n  got       {_shown(b)} (jit)")


class _Level:
    """The derivatives of one function of all inputs, held against finite differences."""

    def __init__(self, check: _Check, function: Function, names: list[str], base: list[Raw],
                 order: int, before: tuple[str, ...]):
        self.check, self.function, self.names, self.base = check, function, names, base
        self.order, self.before = order, before
        bits = min(torch.finfo(out.dtype).bits for out in base)
        self.machine = max(torch.finfo(out.dtype).eps for out in base)
        eps, rtol, atol = BY_PRECISION[bits]
        loose = 10 ** (order - 1)
        given = check.options
        self.eps = eps if given[0] is None else given[0]
        self.rtol = rtol * loose if given[1] is None else given[1]
        self.atol = atol * loose if given[2] is None else given[2]
        self.starts = [check.random(out) for out in base]
        leaves = check.subject.values
        self.gradients = ([t._raw for t in _pulled(function, leaves, self._sens())]
                          if "rev" in check.modes else [])

    def _sens(self, only: int | None = None) -> tuple[Tensor, ...]:
        return tuple(wrap(start if only in (None, j) else torch.zeros_like(start))
                     for j, start in enumerate(self.starts))

    def check_input(self, place: int) -> None:
        """Check the derivatives by one input."""
        leaves = self.check.subject.values
        move = self.check.random(leaves[place]._raw)
        if self.gradients:  # so that nothing cancels
            along = self.gradients[place].sgn()
            if along.is_complex():  # turned a little, as a wrong one may agree in its own direction
                along = along * torch.polar(torch.ones_like(move.real), move.angle() / 4)
            move = torch.where(along == 0, move, move.abs() * along)
        tangents: list[Raw] = []
        if "fwd" in self.check.modes:
            moves: list[Raw | None] = [None] * len(leaves)
            moves[place] = move
            tangents = [t._raw for t in _pushed(self.function, leaves, moves)]
        found = []
        # shorter steps stay on this side of a kink near by; in 16 bits rounding would hide all
        for attempt in range(3 if self.machine < 1e-4 else 1):
            step = self.eps / 16 ** attempt
            wrong = self._wrong(place, move, self._slopes(place, move, step), tangents, step)
            if not wrong:
                self._same_in_both(place, move, tangents)
                return
            found.append(wrong)
        self._fail(place, move, *found[0])

    def _same_in_both(self, place: int, move: Raw, tangents: list[Raw]) -> None:
        """At a kink any one-sided slope is right, but reverse and forward mode must agree."""
        if not self.gradients or not tangents:
            return
        reverse = _dot(move, self.gradients[place])
        parts = [_dot(start, t) for start, t in zip(self.starts, tangents, strict=True)]
        size = sum(map(abs, parts)) + abs(reverse)
        if abs(sum(parts) - reverse) > 1e5 * self.machine * (1 + size):
            subject = self.check.subject
            raise GradientError(
                f"The derivatives of '{subject.name}' disagree: by "
                f"{_quoted(subject.names[place])}, of order {self.order}, along "
                f"{_shown(move)}, outputs weighted by random numbers.\n"
                f"  reverse mode  {reverse:.6g}\n  forward mode  {sum(parts):.6g}")

    def _slopes(self, place: int, move: Raw, step: float) -> list[tuple[Raw, Raw]]:
        """The one-sided slopes of each output: just before the point, and just after it."""
        sides = []
        for sign in (-1, 1):
            leaves = list(self.check.subject.values)
            leaves[place] = wrap(leaves[place]._raw + sign * step * move)
            moved = [t._raw for t in self.function(*leaves)]
            sides.append([(_wide(m) - _wide(b)) * (sign / step)
                          for m, b in zip(moved, self.base, strict=True)])
        return list(zip(*sides, strict=True))

    def _wrong(self, place: int, move: Raw, slopes: list[tuple[Raw, Raw]], tangents: list[Raw],
               step: float) -> tuple:
        """The mode, output, both numbers and tolerance of what disagrees; empty if nothing does."""
        noise = [self.atol + 8 * self.machine * _largest(out) / step for out in self.base]
        return (self._wrong_gradient(place, move, slopes, noise, step)
                or self._wrong_tangent(slopes, tangents, noise, step))

    def _wrong_gradient(self, place: int, move: Raw, slopes: list[tuple[Raw, Raw]],
                        noise: list[float], step: float) -> tuple:
        if not self.gradients:
            return ()
        got = _dot(move, self.gradients[place])
        together = self._agrees(got, slopes, range(len(slopes)), noise)
        if together is None:
            return ()
        for j in range(len(slopes)):
            single = _pulled(self.function, self.check.subject.values, self._sens(j))
            found = _dot(move, single[place]._raw)
            wrong = self._agrees(found, slopes, (j,), noise)
            if wrong is not None:
                return ("rev", j, wrong[0], found, wrong[1], step, "")
        return ("rev", None, together[0], got, together[1], step, "")

    def _wrong_tangent(self, slopes: list[tuple[Raw, Raw]], tangents: list[Raw],
                       noise: list[float], step: float) -> tuple:
        for j, tangent in enumerate(tangents):
            tolerance = noise[j] + self.rtol * max(map(_largest, slopes[j]))
            off = _outside(_wide(tangent), slopes[j], tolerance)
            if off is not None:
                want = ((slopes[j][0] + slopes[j][1]) / 2).flatten()[off]
                return ("fwd", j, want, tangent.flatten()[off], tolerance, step,
                        _element(tangent, off))
        return ()

    def _agrees(self, got: float, slopes: list, chosen: Any,
                noise: list[float]) -> tuple[float, float] | None:
        """None if `got` is the slope of the weighted outputs, else that and the tolerance."""
        low = high = want = allowed = 0.0
        for j in chosen:
            weight = _parts(_wide(self.starts[j]))
            behind, ahead = (weight * _parts(slope) for slope in slopes[j])
            low += float(torch.minimum(behind, ahead).sum())
            high += float(torch.maximum(behind, ahead).sum())
            want += float((behind + ahead).sum()) / 2
            allowed += noise[j] * float(torch.linalg.vector_norm(self.starts[j]))
            allowed += self.rtol * float(torch.linalg.vector_norm(behind + ahead)) / 2
        return None if low - allowed <= got <= high + allowed else (want, allowed)

    def _fail(self, place: int, move: Raw, mode: str, output: int | None, want: Any, got: Any,
              tolerance: float, step: float, element: str) -> None:
        subject = self.check.subject
        name = self.names[output] if output is not None else "its outputs together"
        if name == "output":
            name = "its output"
        modes = {"rev": "reverse", "fwd": "forward"}
        chain = "".join(f", of the derivative in {modes[m]} mode" for m in reversed(self.before))
        weighted = "" if mode == "fwd" else ", outputs weighted by random numbers"
        value = subject.values[place]._raw
        lines = [
            f"The derivative of '{subject.name}' is wrong: of {name} by "
            f"{_quoted(subject.names[place])}, of order {self.order}, in {modes[mode]} mode"
            f"{chain}.",
            f"  input      {subject.names[place]}: {tuple(value.shape)} {_type(value)}",
            f"  output     {name}{element}" + ("" if output is None else
                                               f": {tuple(self.base[output].shape)} "
                                               f"{_type(self.base[output])}"),
            f"  order      {self.order}    mode  {mode}",
            f"  expected   {_number(want)} (finite differences{weighted})",
            f"  got        {_number(got)}",
            f"  tolerance  {tolerance:.3g} (rtol {self.rtol:g}, atol {self.atol:g})",
            f"  step       {step:g} along {_shown(move)}"]
        if not math.isfinite(abs(complex(got))) or not math.isfinite(abs(complex(want))):
            lines.append("  One of them is not finite: the function may end here, as sqrt at 0.")
        elif (self.order == 1 and abs(complex(want)) > 100 * (1 + abs(complex(got)))
              and abs(complex(want)) * step > 1e-3 * (1 + max(map(_largest, self.base)))):
            lines.append("  The function seems to jump here; a point off the jump may do better.")
        raise GradientError("\n".join(lines))


def _pulled(function: Function, leaves: Sequence[Tensor],
            sens: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    found = differentiate(function, tuple(leaves), {}, tuple(range(len(leaves))), (), False, sens)
    return tuple(found[1])


def _pushed(function: Function, leaves: Sequence[Tensor],
            moves: Sequence[Raw | None]) -> list[Tensor]:
    return list(tensors(push(function, tuple(leaves), moves)[1]))


def _outside(got: Raw, slopes: tuple[Raw, Raw], tolerance: float) -> int | None:
    """The first element that is not between the slopes on both sides."""
    got, behind, ahead = (_parts(_wide(raw)) for raw in (got, *slopes))
    low, high = torch.minimum(behind, ahead), torch.maximum(behind, ahead)
    bad = ~((low - tolerance <= got) & (got <= high + tolerance))
    bad &= ~(got.isnan() & behind.isnan())
    if not bool(bad.any()):
        return None
    place = int(bad.flatten().nonzero()[0])
    return place // 2 if slopes[0].is_complex() else place


def _parts(raw: Raw) -> Raw:
    """The real numbers that a tensor is made of."""
    return torch.view_as_real(raw.resolve_conj()) if raw.is_complex() else raw


def _wide(raw: Raw) -> Raw:
    return raw.to(WIDE.get(raw.dtype, raw.dtype))


def _dot(a: Raw, b: Raw) -> float:
    return float((_parts(_wide(a)) * _parts(_wide(b))).sum().detach())


def _largest(raw: Raw) -> float:
    found = float(_wide(raw).abs().max()) if raw.numel() else 0.0
    return found if math.isfinite(found) else 0.0


def _element(raw: Raw, place: int) -> str:
    if not raw.dim():
        return ""
    return f" at {[int(i) for i in np.unravel_index(place, tuple(raw.shape))]}"


def _number(value: Any) -> str:
    return f"{complex(value):.6g}" if isinstance(value, Raw) and value.is_complex() else (
        f"{float(value):.6g}")


def _type(raw: Raw) -> str:
    return str(raw.dtype).replace("torch.", "")


def _quoted(name: str) -> str:
    return name if "'" in name and name.startswith("weight") else f"'{name}'"


def _shown(raw: Raw) -> str:
    listed = raw.detach().flatten()[:4].tolist()
    more = ", ..." if raw.numel() > 4 else ""
    return "[" + ", ".join(f"{v:.4g}" for v in listed) + f"{more}]"
