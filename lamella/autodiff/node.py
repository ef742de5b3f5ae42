"""A user's backward rule as one node of the tape, which every transformation supports.

Reverse mode records such a node on the tape. Forward mode is derived from it: the rule is linear in
the cotangent, so its transpose maps the inputs' tangents to the outputs' (Christianson, "A Leibniz
notation for automatic differentiation", 2012, has the argument). A rule that is not linear has no
transpose and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ..core.state import state
from ..core.tape import TapeFunction
from ..core.wrappers import functorch, physical
from .engine import Raws, backpropagate, vjp
from .integers import Integers, carried_by, have_twins, twin_of, with_twin
from .level import Level, batching, current, entered, pushes
from .tree import differentiable


class Rule:
    """A rule on raw tensors.

    Args:
        name: what errors call it, as in "bprop 'Net.bprop' (net.py:3) of Net".
        pull: takes the inputs, the outputs and the outputs' gradients; gives the gradient of each
            input, or None.
        push: takes the inputs, the outputs and the inputs' tangents (None for none); gives each
            output's tangent. None: derived from `pull`.
    """

    __slots__ = ("name", "_pull", "push", "outer")

    def __init__(self, name: str, pull: Callable[[Raws, Raws, Raws], Sequence[Any]],
                 push: Callable[[Raws, Raws, Sequence[Any]], Raws] | None = None):
        self.name = name
        self._pull = pull
        self.push = push
        level = current()
        self.outer = None if level is None else level.outer

    def pull(self, inputs: Raws, outs: Raws, gradients: Raws) -> list[Any]:
        """The inputs' gradients."""
        level = current()
        inputs, outs = [_alive(raw) for raw in inputs], [_alive(raw) for raw in outs]
        # a thread of the autograd engine has no level
        with entered(self.outer if level is None else level):
            return list(self._pull(inputs, outs, gradients))


def _alive(raw: torch.Tensor) -> torch.Tensor:
    """A tensor saved in a level of `torch.func` that has ended, as a tensor of the outer levels."""
    while functorch.is_functorch_wrapped_tensor(raw):
        inner = functorch.unwrap_if_dead(raw)
        if inner is raw:
            break
        raw = inner
    return raw


def attach(rule: Rule, outs: Raws, inputs: Raws) -> list[torch.Tensor]:
    """The values `outs`, depending on `inputs` by the rule and on nothing else.

    Outputs of integers without a twin, or booleans, have no derivative; the rule sees the others
    only.
    """
    if have_twins(inputs):
        return _attached_to_integers(rule, outs, inputs)
    level = current()
    cut = [out.detach() for out in outs]
    floating = [out for out in cut if differentiable(out)]
    if level is not None and level.transposing:
        if rule.push is not None and pushes(level):
            rule = pushing_only(rule)
        elif rule.push is None:
            check_linear(rule, inputs, floating)
    tied = iter(_Node.apply(rule, len(floating), *floating, *inputs) if floating else ())
    return [next(tied) if differentiable(out) else out for out in cut]


def _attached_to_integers(rule: Rule, outs: Raws, inputs: Raws) -> list[torch.Tensor]:
    """As `attach`: the tape sees the twins of integers, and the rule integers with these twins."""
    def integers(carriers: Raws, originals: Raws) -> list[torch.Tensor]:
        return [with_twin(carrier.detach().to(original.dtype), carrier)
                if type(original) is Integers else carrier
                for carrier, original in zip(carriers, originals, strict=True)]

    carriers = [twin_of(out) for out in outs]
    seen = [out for out, carrier in zip(outs, carriers, strict=True) if differentiable(carrier)]
    by_pull, by_push = rule._pull, rule.push

    def pull(given: Raws, found: Raws, gradients: Raws) -> Sequence[Any]:
        return by_pull(integers(given, inputs), integers(found, seen), gradients)

    def push(given: Raws, found: Raws, tangents: Sequence[Any]) -> Raws:
        assert by_push is not None
        return by_push(integers(given, inputs), integers(found, seen), tangents)

    tied = attach(Rule(rule.name, pull, push if by_push else None), carriers,
                  [twin_of(raw) for raw in inputs])
    return [carried_by(carrier, out) for carrier, out in zip(tied, outs, strict=True)]


class _Node(TapeFunction):
    """Values that have been computed, and the rule by which they depend on the inputs."""

    generate_vmap_rule = True

    @staticmethod
    def forward(rule: Rule, count: int, *raws: torch.Tensor) -> Any:  # type: ignore[override]
        if count == 1:
            return (raws[0].view_as(raws[0]),)
        return tuple(raw.clone() for raw in raws[:count])  # views lose all tangents but one

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.rule, ctx.count = inputs[:2]
        kept = (*output, *inputs[2 + ctx.count:])
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        kept, count = ctx.saved_tensors, ctx.count
        found = ctx.rule.pull(kept[count:], kept[:count], gradients)
        return (None, None, *[None] * count, *found)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        kept, count = ctx.saved_tensors, ctx.count
        outs, inputs, given = kept[:count], kept[count:], tangents[2 + count:]
        rule: Rule = ctx.rule
        if rule.push is not None:
            return tuple(rule.push(inputs, outs, given))
        check_linear(rule, inputs, outs)
        return tuple(_transposed(rule, inputs, outs, given))


def pushing_only(rule: Rule) -> Rule:
    """The rule whose `pull` is the transpose of this one's `push`."""
    push = rule.push
    assert push is not None

    def pull(inputs: Raws, outs: Raws, gradients: Raws) -> list[Any]:
        carriers = [twin_of(raw) for raw in inputs]
        floating = [i for i, raw in enumerate(carriers) if differentiable(raw)]

        def forward(*tangents: torch.Tensor) -> tuple[torch.Tensor, ...]:
            every: list[Any] = [None] * len(inputs)
            for index, tangent in zip(floating, tangents, strict=True):
                every[index] = tangent
            return tuple(push(inputs, outs, every))

        back = iter(_transpose(forward, [carriers[i] for i in floating], gradients))
        return [next(back) if i in floating else None for i in range(len(inputs))]

    return Rule(rule.name, pull)


def _transpose(linear: Callable[..., tuple[torch.Tensor, ...]], like: Raws,
               given: Raws) -> list[torch.Tensor]:
    """The transpose of a linear function, which takes tensors like these, applied to tensors."""
    outer = current()
    with entered(Level(outer)):
        if batching():
            back = vjp(lambda *u: (linear(*u), ()), *(probe(raw, 3) for raw in like))[1]
            return back(given, True, torch.is_grad_enabled())
        with torch.enable_grad():
            starts = [probe(raw, 3).requires_grad_() for raw in like]
            pairs = [(out, g) for out, g in zip(linear(*starts), given, strict=True)
                     if out.requires_grad]
        nested = outer is None or outer.reverse
        back = backpropagate(pairs, starts, nested, nested)
    return [torch.zeros_like(raw) if t is None else t for t, raw in zip(back, like, strict=True)]


def _transposed(rule: Rule, inputs: Raws, outs: Raws, tangents: Sequence[Any]) -> list[Any]:
    """The outputs' tangents: the rule is a linear map of gradients, and this is its transpose."""
    indices = [i for i, tangent in enumerate(tangents) if tangent is not None]
    given = [tangents[i] for i in indices]

    def pull(*gradients: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found = rule.pull(inputs, outs, gradients)
        return tuple(torch.zeros_like(inputs[i]) if found[i] is None else found[i] for i in indices)

    return _transpose(pull, outs, given)


def check_linear(rule: Rule, inputs: Raws, outs: Raws) -> None:
    """Refuse a rule that is not linear in the cotangent, which is tested on random cotangents.

    The rule's results for sums, differences, the negative, and multiples from 1e-4 to 1e4 of two
    cotangents with elements near 1 must be those combinations of its two results, at the current
    inputs. A rule that is not linear only outside of that range (clipping at 1e6) is accepted.

    Raises:
        RuntimeError: if it is not.
    """
    cut_inputs, cut_outs = [t.detach() for t in inputs], [t.detach() for t in outs]
    forward = torch._C._is_fwd_grad_enabled()
    torch._C._set_fwd_grad_enabled(False)
    try:
        with torch.no_grad():
            x, y = ([probe(out, seed) for out in cut_outs] for seed in (1, 2))
            a, b = (rule.pull(cut_inputs, cut_outs, tried) for tried in (x, y))
            linear = _all_hold(
                _agree(got, p, at_x, q, at_y) for p, q in _trials(cut_outs)
                for got, at_x, at_y in zip(
                    rule.pull(cut_inputs, cut_outs,
                              [_mixed(p, u, q, v) for u, v in zip(x, y, strict=True)]),
                    a, b, strict=True))
    finally:
        torch._C._set_fwd_grad_enabled(forward)
    if not linear:
        raise RuntimeError(
            f"The {rule.name} is not linear in the gradient it is given, so it has no "
            f"forward-mode derivative (jvp, jacfwd, linearize). Differentiate in reverse mode "
            f"(grad, vjp, jacrev), or give the Cell a 'jvp' method of its own.")


def probe(like: torch.Tensor, seed: int) -> torch.Tensor:
    """A tensor of this kind, the same in each run, of irregular elements near 1 and -1.

    Functions that are linear by what they compute, but not by how (``abs(g) * sign(g)``), have
    their derivative there; at zero PyTorch has another.
    """
    wide = torch.float64 if like.dtype is torch.float64 else torch.float32
    steps = torch.arange(1, 1 + like.numel(), dtype=wide, device=like.device)
    parts = (steps * (0.6180339887, 0.7548776662, 0.8191725134)[seed - 1]) % 1
    values = torch.where(parts < 0.5, parts - 1.2, parts + 0.3)
    return torch.zeros_like(like) + values.reshape(like.shape).to(like.dtype)


def _trials(outs: Raws) -> list[tuple[float, float]]:
    """The tested combinations of two cotangents, as factors; powers of two are exact."""
    narrow = any(out.dtype is torch.float16 for out in outs)
    small, large = (2.0**-6, 2.0**3) if narrow else (2.0**-13, 2.0**13)
    return [(1.0, -1.0), (1.0, 1.0), (-large, 0.0), (0.0, small)]


def _mixed(p: float, x: torch.Tensor, q: float, y: torch.Tensor) -> torch.Tensor:
    return p * x + q * y if p and q else p * x if p else q * y


def _agree(got: Any, p: float, x: Any, q: float, y: Any) -> torch.Tensor | bool:
    """Whether `got` is p x + q y up to rounding; NaN equals NaN."""
    if got is None or x is None or y is None:
        return got is x is y
    if not got.numel():
        return True
    want = _mixed(p, x, q, y)
    coarse = {torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float64: 1e-6}
    sizes = [(f * t).abs().nan_to_num(0.0, 0.0, 0.0).amax() for f, t in ((p, x), (q, y)) if f]
    size = torch.maximum(*sizes) if len(sizes) == 2 else sizes[0]
    near = (got - want).abs() <= coarse.get(got.dtype, 1e-3) * size
    return physical(near | ~got.isfinite() & ~want.isfinite()).all()


def _all_hold(conditions: Iterable[torch.Tensor | bool]) -> bool:
    """Whether all conditions hold; in a recording this becomes a guard."""
    found = list(conditions)
    traced = [c for c in found if isinstance(c, torch.Tensor)]
    if not all(c for c in found if isinstance(c, bool)):
        return False
    if not traced:
        return True
    everywhere = torch.stack(traced).all()
    return bool(everywhere if state.trace is None else state.trace.guard(everywhere))
