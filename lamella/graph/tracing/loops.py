"""Records a loop of the program's as one operation of a graph.

The step runs dry, on the first carried values. If it computes and does nothing else, with results
of the same shapes and types as what it takes, each further step computes the same. Otherwise its
changes are undone, and the program's own loop runs, and is recorded step by step.

Where the tape alone records the loop, the step is recorded with its backward pass and cut in two
(`ir.partition`): a loop that also keeps what the other half takes, and one that runs backwards
through that. In further transformations, and for derivatives of derivatives, the step is recorded
outside of all of them, and the loop is transformed (`loop_rules`). So that this gives what the
program means, its step must then have no derivative but that of its kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch._C._autograd import _top_saved_tensors_default_hooks  # type: ignore
from torch.autograd import forward_ad

from ...autodiff.level import batching
from ...core.dtype import is_inexact
from ...core.state import state
from ...core.wrappers import functorch
from ..guards.reachable import Reachable
from ..guards.search import reachable_from
from ..ir.loop import Loop
from .loop_node import check_derivatives, recorded, run_loop, run_step, run_transformed
from .loop_part import BodyRecorder, Part, Raws, Unlike, untransformed
from .loop_rules import Step, empty_like, examples_of, pair, with_elements
from .loop_watch import Ends, Watch
from .recorder import Recorder

# from carried values and elements to the next carried values and results; None if these aren't
# alike in each step
OneStep = Callable[[Raws, Raws], tuple[Raws, Raws] | None]


class Given(NamedTuple):
    """A loop of the program's.

    Attributes:
        program: the program's functions in it.
        step: what a step computes.
        condition: from carried values to a truth value of one element; None if the number of steps
            is known.
        carried: the first carried values.
        stacks: of whose elements each step takes one.
        steps: the number of steps; None if the condition decides.
        unread: the numbers of the carried values that nothing reads afterwards.
    """

    program: Sequence[Callable[..., Any]]
    step: OneStep
    condition: Callable[[Raws], torch.Tensor | None] | None
    carried: Raws
    stacks: Raws
    steps: int | None
    unread: Collection[int] = ()


def recorded_loop(trace: Any, *given: Any) -> tuple[Raws, Raws] | None:
    """Run a loop as one operation of the graph.

    Args:
        trace: the run that is recorded.
        given: the fields of `Given`.

    Returns:
        The last carried values and the stacks of results; None if the program's own loop has to
        run.
    """
    loop, level = Given(*given), state.level
    if type(trace.recorder) not in (Recorder, BodyRecorder) or not all(
            map(_is_plain, (*loop.carried, *loop.stacks))):
        return None
    if not torch.is_grad_enabled() and any(map(_has_derivative, loop.carried)):
        return None  # a value keeps its derivative if no step changes it
    reach = reachable_from(*loop.program)
    if reach.limits.refused is not None or reach.limits.has_caches:
        return None
    with _quiet(trace.recorder.watch):
        try:
            if batching() or forward_ad._current_level >= 0 or level is not None and (
                    trace.recorder.level is level  # of a function that is transformed afterwards
                    or level.outer is not None and (level.reverse or level.forward)):
                return _transformed(trace, reach, loop)
            return _taped(trace, reach, loop)
        except Unlike:
            return None


@contextmanager
def _quiet(watch: Watch | None) -> Iterator[None]:
    """A block of ours inside of a step that is watched."""
    before = watch is not None and watch.is_paused
    if watch is not None:
        watch.is_paused = True
    try:
        yield
    finally:
        if watch is not None:
            watch.is_paused = before


def _taped(trace: Any, reach: Reachable, loop: Given) -> tuple[Raws, Raws] | None:
    """Record a loop that is in no transformation, or only on the tape of one gradient call."""
    loop = loop._replace(carried=[raw.contiguous() for raw in loop.carried])
    taped = _may_be_taped() and any(raw.requires_grad for raw in (*loop.carried, *loop.stacks))
    step, outside = _recorded(trace, reach, loop, taped)
    if not taped and _tape_records(outside):
        if not _may_be_taped():
            return None
        step, outside = _recorded(trace, reach, loop, True)
    if step.backward is None and _tape_records(loop.carried):
        return None
    values = [*loop.carried, *loop.stacks, *outside]
    found = run_step(step, values) if step.backward is not None else run_loop(step.loop, values)
    return found[:len(loop.carried)], found[len(loop.carried):]


def _transformed(trace: Any, reach: Reachable, loop: Given) -> tuple[Raws, Raws] | None:
    """Record a loop inside of several transformations, or of one other than a gradient call."""
    level = state.level
    derives = level is not None and (
        trace.recorder.level is level and (level.reverse or level.forward or level.transposing)
        or torch.is_grad_enabled() and (level.reverse or level.transposing)
        or torch._C._is_fwd_grad_enabled() and (level.forward or level.transposing))
    if derives and (level.journal is not None  # type: ignore[union-attr]
                    or _top_saved_tensors_default_hooks(False) is not None):
        return None  # what is kept is the program's choice
    count = len(loop.carried)
    inputs = examples_of(trace, count, len(loop.stacks), [*loop.carried, *loop.stacks])
    watch = Watch(batching())
    part = Part(trace, inputs, [derives] * len(inputs))
    part.recorder.level, part.recorder.watch = level, watch
    part.run(reach, watch.around(lambda raws: loop.step(raws[:count], raws[count:])), untransformed)
    _check_alike(inputs[:count], part.outs)
    check = _checked(trace, reach, loop, inputs[:count], watch)
    if derives and not (watch.is_faithful and part.recorder.is_differentiable):
        return None
    step, outside = _plain(loop, part, check)
    values = [*[raw.contiguous() for raw in loop.carried], *loop.stacks,
              *map(watch.original, outside)]
    if derives and trace.recorder.level is level:  # a step of another such loop
        found = recorded(step.loop, values)
        for raw in found:
            raw.requires_grad_(is_inexact(raw.dtype))
    else:
        if derives:
            check_derivatives(trace, step.loop, [*part.aliases, *outside])
        found = run_transformed(step.loop, values)
    return found[:count], found[count:]


def _is_plain(raw: torch.Tensor) -> bool:
    return (type(raw) is torch.Tensor and raw.layout is torch.strided
            and not raw.is_conj() and not raw.is_neg())


def _has_derivative(raw: torch.Tensor) -> bool:
    """Whether a value in a block that computes no derivatives has one."""
    if forward_ad._current_level >= 0:
        with forward_ad._set_fwd_grad_enabled(True):
            if forward_ad.unpack_dual(raw).tangent is not None:
                return True
    while not raw.requires_grad and functorch.is_functorch_wrapped_tensor(raw):
        raw = functorch.get_unwrapped(raw)
    return raw.requires_grad


def _may_be_taped() -> bool:
    """Whether this is a gradient call of the first order, through which a loop may be one node."""
    level = state.level
    return (level is not None and level.kind == "reverse" and level.outer is None
            and level.journal is None and torch.is_grad_enabled()
            and _top_saved_tensors_default_hooks(False) is None)


def _tape_records(raws: Raws) -> bool:
    """Whether the tape records what is computed of these."""
    return torch.is_grad_enabled() and any(raw.requires_grad for raw in raws)


def _recorded(trace: Any, reach: Reachable, given: Given, taped: bool) -> tuple[Step, Raws]:
    """Record a step, and the condition; and the tensors that they take from outside.

    Raises:
        Unlike: if steps aren't alike, or do more than computing.
    """
    count, like = len(given.carried), [*given.carried, *given.stacks]
    with trace.recorder.pause():
        inputs = with_elements(
            count, len(given.stacks), [raw.detach() for raw in like])
    def call(raws: Raws) -> tuple[Raws, Raws] | None:
        return given.step(raws[:count], raws[count:])

    ends = Ends()

    def part() -> Part:
        return Part(trace, inputs, [taped] * len(inputs), taped, given.unread)

    made = part()
    try:
        made.run(reach, call)
    except Unlike:
        if not made.sees_more:
            raise
        made = part()
        made.run(reach, ends.around(call))
    _check_alike(given.carried, made.outs)
    check = _checked(trace, reach, given, given.carried)
    step, outside = (_pair if taped else _plain)(given, made, check)
    return step, list(map(ends.original, outside))


def _check_alike(carried: Raws, outs: Raws) -> None:
    for before, now in zip(carried, outs, strict=False):
        if before.shape != now.shape or before.dtype is not now.dtype or (
                before.device != now.device) or not _is_plain(now):
            raise Unlike


def _checked(trace: Any, reach: Reachable, given: Given, carried: Raws,
             watch: Watch | None = None) -> Part | None:
    """The condition, recorded."""
    if given.condition is None:
        return None
    check, taken = Part(trace, carried), trace.loops.taken

    def call(raws: Raws) -> tuple[Raws, Raws] | None:
        found = _truth(given.condition, raws)
        if found is not None and taken is not None:
            found[0][0] = found[0][0] & taken
        return found

    if watch is None:
        check.run(reach, call)
    else:
        check.run(reach, watch.around(call), untransformed)
    return check


def _truth(condition: Any, raws: Raws) -> tuple[Raws, Raws] | None:
    found = condition(raws)
    return None if found is None or found.numel() != 1 or found.is_complex() else (
        [found.reshape(()) != 0], [])


def _plain(given: Given, made: Part, check: Part | None) -> tuple[Step, Raws]:
    """The loop of a recorded step, and what it takes from outside."""
    outside, condition = _outside(made, check)
    count = len(given.carried)
    loop = Loop(made.with_inputs([*made.aliases, *outside]), count, len(given.stacks),
                [empty_like(raw) for raw in made.outs[count:]], condition, given.steps)
    return Step(loop, made.results), outside


def _pair(given: Given, made: Part, check: Part | None) -> tuple[Step, Raws]:
    """As `_plain`, with the backward pass."""
    outside, condition = _outside(made, check)
    order, count = [*made.aliases, *outside], len(given.carried)
    return pair(made.joint(order, count, len(given.stacks)), order,
                [empty_like(raw) for raw in made.outs[count:]], condition, given.steps), outside


def _outside(made: Part, check: Part | None) -> tuple[Raws, Any]:
    """What a step takes from outside, and the condition as a graph that takes it."""
    starts = {id(raw) for raw in made.starts if raw is not None}
    outside = [raw for raw in made.recorder.constants if id(raw) not in starts]
    if check is None:
        return outside, None
    known = set(map(id, outside))
    outside += [raw for raw in check.recorder.constants if id(raw) not in known]
    return outside, check.with_inputs([*check.aliases, *outside])
