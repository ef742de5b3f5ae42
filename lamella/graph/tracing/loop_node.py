"""A loop of a graph while it is recorded: a function that transformations can differentiate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from ...autodiff.engine import backpropagate, make_dual
from ...autodiff.level import batching
from ...core.dtype import is_inexact
from ...core.state import state
from ...core.tape import TapeFunction
from ...core.wrappers import functorch
from ..ir.lazy_module import KernelGraph
from ..ir.loop import Loop
from ..ir.loop_undefined import (
    ALWAYS,
    NEVER,
    PLAIN,
    SOMETIMES,
    STEPPED,
    UNSTEPPED,
    Defined,
    Status,
    without_undefined,
)
from .loop_batch import batched_of
from .loop_masks import Presence, Truth, absent, in_part, note_uses
from .loop_part import Call, Part, Raws, Unlike
from .loop_rules import Step, computed, computing_tangents, pushed_of, reverse_of


def run_loop(loop: Loop, values: Raws) -> Raws:
    """Run a loop inside of all active transformations.

    A loop that can't be transformed is run step by step; its number of steps is then part of what
    the graph depends on.
    """
    if state.trace is None:
        return loop(values)
    try:
        return run_transformed(loop, values)
    except Unlike:
        if state.trace.recorder.is_strict:
            raise
        return loop(values, lambda graph, *given: computed(graph, given, run_loop))


def run_transformed(loop: Loop, values: Raws) -> Raws:
    """As `run_loop`.

    Raises:
        Unlike: if the loop can't be transformed.
    """
    trace = state.trace
    key = functorch.peek_interpreter_stack().key() if batching() else None
    if key == functorch.TransformType.Vmap:
        return list(_applied(Step(loop, len(loop.kept)), values))
    if torch.is_grad_enabled() and any(raw.requires_grad for raw in values):
        return run_step(reverse_of(trace, loop, values, run_loop), values, loop.counts)
    if key is not None:
        return list(_applied(Step(loop, len(loop.kept)), values))
    if forward_ad._current_level >= 0:
        duals = [forward_ad.unpack_dual(raw) for raw in values]
        if any(dual.tangent is not None for dual in duals):
            return _pushed(trace, loop, [dual.primal for dual in duals],
                           [dual.tangent for dual in duals])
    return recorded(loop, values)


def check_derivatives(trace: Any, loop: Loop, inputs: Raws) -> None:
    """Check that a loop has the derivatives that the transformations around it will ask for.

    One step is differentiated, and nothing of that stays. What fails later would be an error of
    the program's, whose own loop may have derivatives that its kernels lack.

    Args:
        trace: the run that is recorded.
        loop: the loop.
        inputs: what a step of it takes.

    Raises:
        Unlike: if it hasn't.
    """
    first, last = loop.carried, loop.carried + loop.stacks
    once = Loop(loop.body, loop.carried, loop.stacks, loop.kept, None, 1)
    level, kinds = state.level, []
    while level is not None:
        kinds.append(level.kind)
        level = level.outer
    pushes = "forward" in kinds
    orders = sum(kind != "other" for kind in kinds) - pushes

    def differentiated(raws: Raws) -> tuple[Raws, Raws]:
        wanted = [raw for raw in raws if raw.requires_grad]
        outs = [raw[None] if first <= i < last else raw for i, raw in enumerate(raws)]
        outs = run_loop(once, outs)
        for left in reversed(range(orders)):
            pairs = [(raw, torch.ones_like(raw)) for raw in outs if raw.requires_grad]
            outs = [raw for raw in backpropagate(pairs, wanted, True, left > 0) if raw is not None]
        return outs, []

    def pushed(raws: Raws) -> tuple[Raws, Raws]:
        with computing_tangents():
            duals = [make_dual(raw, torch.ones_like(raw)) if is_inexact(raw.dtype) else raw
                     for raw in raws]
            return [forward_ad.unpack_dual(raw).primal for raw in differentiated(duals)[0]], []

    _derive(trace, inputs, pushed if pushes else differentiated)


def _derive(trace: Any, inputs: Raws, call: Call) -> None:
    part = Part(trace, inputs, [True] * len(inputs))
    part.recorder.is_strict = True
    part.derive(call)


def run_step(step: Step, values: Raws, counts: bool = False) -> Raws:
    """Run a loop with its backward pass; returns its results, without what is kept for that."""
    found = _applied(step, values)
    return [*found[:step.loop.carried + step.results], *([found[-1]] if counts else [])]


def _applied(step: Step, values: Raws) -> Sequence[torch.Tensor]:
    """Run the loop as a node of the tape; a backward pass finds which inputs it has used."""
    return Looped.apply(step._replace(presence=Presence()), *values)


def recorded(loop: Loop, values: Sequence[torch.Tensor]) -> Raws:
    """Run a loop, as a node of the graph if one is recorded."""
    trace = state.trace
    with torch.no_grad():
        return loop(values) if trace is None else trace.recorder.loop(loop, list(values))


def _pushed(trace: Any, loop: Loop, primals: Raws, tangents: Sequence[Any], whole: bool = True
            ) -> Raws:
    """The results of a loop with their tangents, as dual numbers; or the tangents alone."""
    its = pushed_of(trace, loop, primals, [t is not None for t in tangents], run_loop, whole)
    start, carried = int(loop.counted), loop.carried
    cuts = [start, start + carried, start + carried + loop.stacks, len(primals)]
    given = list(primals[:start])
    for first, last, moving in zip(cuts[:3], cuts[1:], its.inputs, strict=True):
        given += primals[first:last]
        given += [torch.zeros_like(primals[start + i]) if tangents[start + i] is None
                  else tangents[start + i] for i in moving]
    found = run_loop(its.loop, given)
    also = len(its.carried)
    first = carried + also + (len(loop.kept) if whole else 0)
    by = {**dict(zip(its.carried, found[carried:], strict=False)),
          **dict(zip([carried + i for i in its.kept], found[first:], strict=False))}
    if not whole:
        return [by.get(i) for i in range(carried + len(loop.kept) + loop.counts)]  # type: ignore
    outs = [*found[:carried], *found[carried + also:first], *found[-1:][:loop.counts]]
    return [make_dual(raw, by[i]) if i in by else raw for i, raw in enumerate(outs)]


class Looped(TapeFunction):
    """A loop as a node of the tape, and of PyTorch's other transformations."""

    takes_none = True

    @staticmethod
    def forward(step: Step, *values: torch.Tensor) -> Any:  # type: ignore[override]
        return tuple(recorded(step.loop, values))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.step = step = inputs[0]
        if any(ctx.needs_input_grad):
            note_uses(ctx, {i: step.presence.of(i) for i in range(len(inputs) - 1)}, step.presence)
        ctx.save_for_backward(*inputs[1:], *output[step.loop.carried:])
        ctx.save_for_forward(*inputs[1:], *output[step.loop.carried:])
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[
            raw for i, raw in enumerate(output) if not is_inexact(raw.dtype) or i in step.fixed])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        step: Step = ctx.step
        made = len(step.loop.kept) + step.loop.counts
        values, made = _parted(ctx.saved_tensors, made)
        if step.backward is None or any(
                g is not None for g in gradients[step.loop.carried + step.results:]):
            step = reverse_of(state.trace, step.loop, values, run_loop)
            made = list(_applied(step, values)[step.loop.carried:])
        return (None, *_pulled(step, values, made, gradients, ctx.step.presence))

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        step: Step = ctx.step
        values, made = _parted(ctx.saved_tensors, len(step.loop.kept) + step.loop.counts)
        found = _pushed(state.trace, step.loop, values, tangents[1:], whole=False)
        likes = [*values[step.loop.counted:][:step.loop.carried], *made]
        return tuple([
            None if i in step.fixed else torch.zeros_like(like)
            if raw is None and is_inexact(like.dtype) else raw
            for i, (raw, like) in enumerate(zip(found, likes, strict=True))])

    @staticmethod
    def vmap(info: Any, in_dims: Any, step: Step, *values: torch.Tensor) -> Any:
        made = batched_of(state.trace, step.loop, values, in_dims[1:], info.batch_size, run_loop)
        found = run_loop(made.loop, made.values)
        return tuple([found[i] for i, _ in made.ends]), tuple([dim for _, dim in made.ends])


def _parted(saved: Sequence[torch.Tensor], made: int) -> tuple[Raws, Raws]:
    cut = len(saved) - made
    return list(saved[:cut]), list(saved[cut:])


def _pulled(step: Step, values: Raws, made: Raws, gradients: Sequence[Any], presence: Presence
            ) -> list[Any]:
    """The gradients by the values, from those of the results, and which of them are there."""
    loop, its = step.loop, step.halves
    assert its is not None and step.backward is not None
    own, is_part = values[loop.counted:], in_part()
    likes = [*own[:loop.carried], *made[:step.results]]
    starts = [absent(like) if gradient is None else gradient.contiguous()
              for gradient, like in zip(gradients, likes, strict=False)]
    count = [values[0]] if loop.counted else [made[-1]] if loop.counts else []
    kept = made[step.results:step.results + len(its.kept)]
    carried = {**{i: starts[i] for i in step.inexact}, **{i: absent(own[i]) for i in its.summed}}
    stacks = [*kept, *(own[i] for i in its.elements), *(starts[i] for i in its.started)]
    there, tensors = _statuses([gradient is not None and presence.takes(i)
                                for i, gradient in enumerate(gradients)])
    begun = [*(there[i] for i in step.inexact), *[NEVER] * len(its.summed)]
    defined = without_undefined(
        step.backward, [*begun, *[PLAIN] * (len(kept) + len(its.elements)),
                        *(there[i] for i in its.started), *[PLAIN] * len(its.outside)],
        [place for place, i in enumerate(carried) if is_part or own[i].grad_fn is not None])
    device = [raw.device for raw in carried.values()]
    flags = [tensors[begun[i]] if begun[i] in tensors else torch.full(
        (), begun[i] is ALWAYS, dtype=torch.bool, device=device[i]) for i in defined.sometimes]
    found = run_loop(defined.loop, [*count, *carried.values(), *flags,
                                    *(stacks[i] for i in defined.stacks),
                                    *(own[i] for i in its.outside),
                                    *(tensors[flag] for flag in defined.flags)])
    first, last = len(carried), len(carried) + len(flags)
    numbers = [*carried, *its.of_elements]
    truths = dict(zip(numbers, _truths(defined, found[first:last], count), strict=True))
    raws = dict(zip(numbers, [*found[:first], *found[last:]], strict=True))
    presence.found = {loop.counted + i: truths.get(i, False) for i in range(len(own))}
    return [*[None] * loop.counted, *[
        None if truths.get(i, False) is False else raws[i] for i in range(len(own))]]


def _statuses(told: Sequence[Truth]) -> tuple[list[Status], dict[Status, torch.Tensor]]:
    """Whether gradients are there: a node for what a tensor tells, and these tensors."""
    statuses: list[Status] = []
    tensors: dict[Status, torch.Tensor] = {}
    for truth in told:
        if isinstance(truth, torch.Tensor):
            statuses.append(KernelGraph().create_node("placeholder", "there"))
            tensors[statuses[-1]] = truth
        else:
            statuses.append(ALWAYS if truth else NEVER)
    return statuses, tensors


def _truths(defined: Defined, flags: Raws, count: Raws) -> list[Truth]:
    """For each gradient that a backward loop gives whether it is there.

    Args:
        flags: the flags that it gives.
        count: the number of its steps, alone in a list, if that isn't fixed.
    """
    ends = [*defined.ends, *defined.kept]
    by: dict[Status, Truth] = {ALWAYS: True, SOMETIMES: True, NEVER: False}
    if STEPPED in ends or UNSTEPPED in ends:
        stepped = count[0] > 0
        by |= {STEPPED: stepped, UNSTEPPED: ~stepped}
    truths = [by[end] for end in ends]
    for i, flag in zip(defined.sometimes, flags, strict=True):
        truths[i] = flag
    return truths
