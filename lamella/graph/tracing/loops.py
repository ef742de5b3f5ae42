"""A loop of the program's as one operation of a graph: a step of it is recorded, once.

The step runs dry, on the first carried values. If it computes and does nothing else, with results
of the same shapes and types as what it takes, each further step computes the same. Otherwise its
changes are undone, and the program's own loop runs, and is recorded step by step.

Where the tape records the loop, the step is recorded with its backward pass and cut in two
(`ir.partition`): a loop that also keeps what the other half takes, and one that runs backwards
through that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import torch
from torch._C._autograd import _top_saved_tensors_default_hooks  # type: ignore
from torch.autograd import forward_ad
from torch.fx import GraphModule, Node

from ...autodiff.engine import backpropagate
from ...autodiff.level import batching
from ...core.dtype import is_inexact
from ...core.state import state
from ..guards.ran import uninspected
from ..guards.reachable import Reachable
from ..guards.search import reachable_from
from ..ir.loop import Loop
from ..ir.loop_halves import Joint, NoHalves, halves, placeholders, with_inputs
from .changes import Snapshot
from .dry import has_changed, marks, running_dry
from .held import data_of, set_data
from .recorder import Recorder
from .refusals import CannotTrace, Cause

Raws = list[torch.Tensor]
# from carried values and elements to the next carried values and results; None if these aren't
# alike in each step
Step = Callable[[Raws, Raws], tuple[Raws, Raws] | None]


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
    """

    program: Sequence[Callable[..., Any]]
    step: Step
    condition: Callable[[Raws], torch.Tensor | None] | None
    carried: Raws
    stacks: Raws
    steps: int | None


def recorded_loop(trace: Any, *given: Any) -> tuple[Raws, Raws] | None:
    """Run a loop as one operation of the graph.

    Args:
        trace: the run that is recorded.
        given: the fields of `Given`.

    Returns:
        The last carried values and the stacks of results; None if the program's own loop has to
        run.
    """
    loop, recorder = Given(*given), trace.recorder
    if type(recorder) not in (Recorder, BodyRecorder) or batching() or (
            forward_ad._current_level >= 0
            or not all(map(_is_plain, (*loop.carried, *loop.stacks)))):
        return None
    reach = reachable_from(*loop.program)
    if reach.limits.refused is not None or reach.limits.has_caches:
        return None
    loop = loop._replace(carried=[raw.contiguous() for raw in loop.carried])
    taped = _may_be_taped() and any(raw.requires_grad for raw in (*loop.carried, *loop.stacks))
    try:
        step = _recorded(trace, reach, loop, taped)
        if not taped and any(raw.requires_grad for raw in step.outside):
            if not _may_be_taped():
                return None
            step = _recorded(trace, reach, loop, True)
        if not step.is_taped and any(raw.requires_grad for raw in loop.carried):
            return None
    except _Unlike:
        return None
    inputs = [*loop.carried, *loop.stacks, *step.outside]
    found = (list(_Looped.apply(step, inputs, *inputs)) if step.is_taped  # type: ignore[misc]
             else _run(step.loop, inputs))
    count = len(loop.carried)
    return found[:count], found[count:count + step.results]


def _is_plain(raw: torch.Tensor) -> bool:
    return (type(raw) is torch.Tensor and raw.layout is torch.strided
            and not raw.is_conj() and not raw.is_neg())


def _may_be_taped() -> bool:
    """Whether this is a gradient call of the first order, through which a loop may be one node."""
    level = state.level
    return (level is not None and level.kind == "reverse" and level.outer is None
            and level.journal is None and torch.is_grad_enabled()
            and _top_saved_tensors_default_hooks(False) is None)


class _Unlike(Exception):
    """The steps of a loop aren't alike, or do more than computing."""


class BodyRecorder(Recorder):
    """Records a part of a run, which may only change memory that it has made itself.

    Args:
        inputs: what the part is given.
        around: the recorder of the run.
    """

    def __init__(self, inputs: Raws, around: Recorder):
        super().__init__(inputs)
        self._around = around

    def _node_of(self, raw: torch.Tensor) -> Node:
        count = len(self.constants)
        node = super()._node_of(raw)
        if len(self.constants) > count:
            self._given.add(raw.untyped_storage()._cdata)
        return node

    def exchange(self, call: Any, given: Any) -> Any:
        state.trace.stop_dry_run("communicates with other processes")
        return super().exchange(call, given)

    def from_numpy(self, array: Any) -> torch.Tensor:
        return self._around.from_numpy(array)


class _RecordedStep(NamedTuple):
    """A step, recorded.

    Attributes:
        loop: the loop of it.
        outside: the tensors that it takes from outside.
        results: how many stacks of results there are; what is kept for the backward pass follows.
        backward: the loop of its backward pass; None if the tape doesn't record it.
        halves: where that takes its inputs (`Halves`).
        inexact: the numbers of the carried values that may have a gradient.
    """

    loop: Loop
    outside: Raws
    results: int
    backward: Loop | None = None
    halves: Any = None
    inexact: Sequence[int] = ()

    @property
    def is_taped(self) -> bool:
        """Whether the tape records the loop."""
        return self.backward is not None


def _recorded(trace: Any, reach: Reachable, given: Given, taped: bool) -> _RecordedStep:
    """Record a step, and the condition.

    Raises:
        _Unlike: if steps aren't alike, or do more than computing.
    """
    count = len(given.carried)
    made = _Part(trace, [*given.carried, *[stack[0] for stack in _quiet(trace, given.stacks)]],
                 taped)
    made.run(reach, lambda raws: given.step(raws[:count], raws[count:]))
    for before, now in zip(given.carried, made.outs, strict=False):
        if before.shape != now.shape or before.dtype is not now.dtype or (
                before.device != now.device):
            raise _Unlike
    if given.condition is None:
        check = None
    else:
        check = _Part(trace, given.carried, False)
        check.run(reach, lambda raws: _truth(given.condition, raws))
    return _assembled(given, made, check)


def _truth(condition: Any, raws: Raws) -> tuple[Raws, Raws] | None:
    found = condition(raws)
    return None if found is None or found.numel() != 1 or found.is_complex() else (
        [found.reshape(()) != 0], [])


def _quiet(trace: Any, stacks: Raws) -> Raws:
    """Stacks of one element at least, to record a step with."""
    with trace.recorder.pause():
        return [stack.detach() if len(stack) else stack.new_zeros((1, *stack.shape[1:]))
                for stack in stacks]


class _Before:
    """All that a part of the program leaves as it is, if it only computes."""

    def __init__(self, trace: Any, reach: Reachable):
        self._trace, self._objects, self._marks = trace, Snapshot(reach), marks(trace)
        self._held = [(t, data_of(t)) for t in reach.tensors.all()]
        level = state.level
        self._overlay = dict(level.overlay) if level is not None else {}
        self._changed = len(level.changed) if level is not None else 0

    def is_left(self) -> bool:
        """Whether all is as it was."""
        level = state.level
        return (self._marks == marks(self._trace) and not has_changed(self._objects)
                and all(data_of(t) is raw for t, raw in self._held)
                and (level is None or len(level.changed) == self._changed
                     and level.overlay.keys() == self._overlay.keys()
                     and all(level.overlay[p] is raw for p, raw in self._overlay.items())))

    def restore(self) -> None:
        """Make it as it was."""
        self._objects.restore()
        for tensor, raw in self._held:
            if data_of(tensor) is not raw:
                set_data(tensor, raw)
        del self._trace.fresh[self._marks[3]:]
        del self._trace.outside.queries[self._marks[4]:]
        if state.level is not None:
            del state.level.changed[self._changed:]
            state.level.overlay.clear()
            state.level.overlay.update(self._overlay)


class _Part:
    """A part of the program that runs dry, and is recorded as a graph of its own.

    Attributes:
        inputs: what it is given; `aliases` stand for them.
        outs: what it gives: carried values, then `results` others; `ends` off the tape.
        recorder: of its kernels.
    """

    def __init__(self, trace: Any, inputs: Raws, taped: bool):
        self.trace, self.taped = trace, taped
        with trace.recorder.pause():
            self.aliases = [raw.detach().contiguous() for raw in inputs]
            if taped:
                for raw in self.aliases:
                    raw.requires_grad_(is_inexact(raw.dtype))
        self.recorder = BodyRecorder(self.aliases, trace.recorder)
        self.outs: Raws = []
        self.ends: Raws = []
        self.results = 0
        self.gradients: list[torch.Tensor | None] = []
        self.starts: list[torch.Tensor | None] = []
        self.wanted: Raws = []
        self.passes: dict[Node, int] = {}

    def run(self, reach: Reachable, call: Callable[[Raws], tuple[Raws, Raws] | None]) -> None:
        """Record a function of the raws, and its backward pass.

        Raises:
            _Unlike: if it does more than computing; then that is undone.
        """
        trace, around = self.trace, self.trace.recorder
        before, unknown = _Before(trace, reach), uninspected(reach)

        def check(code: CodeType) -> None:
            if unknown(code):
                trace.stop_dry_run(f"may use in {code.co_name!r} what wasn't looked at before")

        trace.recorder = self.recorder
        try:
            with around.pause(), running_dry(trace, check), self.recorder:
                only_computes = self._computes(call) and trace.run_dry
        finally:
            trace.recorder = around
        if not before.is_left() or not only_computes:
            before.restore()
            raise _Unlike

    def _computes(self, call: Callable[[Raws], tuple[Raws, Raws] | None]) -> bool:
        """Call the function, and say whether it only computes, as far as it has been seen."""
        try:
            found = call(self.aliases)
            if found is None:
                return False
            self.outs = [raw.contiguous() for raw in (*found[0], *found[1])]
            self.results = len(found[1])
            self.ends = [raw.detach() for raw in self.outs]
            if self.taped:
                self._pull()
        except CannotTrace as reason:
            if reason.cause is not Cause.DRY:
                raise
            return False
        except Exception:  # noqa: BLE001  (the program's own loop will raise it)
            return False
        return True

    def _pull(self) -> None:
        """Record the backward pass, from any gradients of the results."""
        recorder, nodes = self.recorder, self.recorder.graph.nodes
        last = next(iter(reversed(nodes)))
        with recorder.pause():
            self.starts = [torch.ones_like(raw).detach() if raw.requires_grad else None
                           for raw in self.outs]
        self.wanted = [raw for raw in (*self.aliases, *recorder.constants) if raw.requires_grad]
        pairs = [(raw, start) for raw, start in zip(self.outs, self.starts, strict=True)
                 if start is not None]
        self.gradients = list(backpropagate(pairs, self.wanted, False, False))
        for node in reversed(nodes):
            if node is last:
                break
            self.passes[node] = 0

    def with_inputs(self, order: Raws) -> GraphModule:
        """The graph of it, with inputs in this order."""
        graph = self.recorder.finished(self.ends)
        nodes = self._nodes(graph)
        return with_inputs(graph, [nodes.get(id(raw)) for raw in order],
                           graph.graph.output_node().args[0])  # type: ignore[arg-type]

    def joint(self, order: Raws, carried: int) -> Joint:
        """The graph with its backward pass, of inputs in this order."""
        found = [raw for raw in self.gradients if raw is not None]
        graph = self.recorder.finished([*self.ends, *found])
        nodes = self._nodes(graph)
        outs: Any = graph.graph.output_node().args[0]
        ends = iter(outs[len(self.outs):])
        places = {id(raw): i for i, raw in enumerate(order)}
        return Joint(
            graph, [nodes.get(id(raw)) for raw in order], carried, len(self.aliases) - carried,
            len(self.outs), {i: nodes.get(id(raw)) for i, raw in enumerate(self.starts)
                             if raw is not None},
            {places[id(raw)]: next(ends) for raw, gradient in
             zip(self.wanted, self.gradients, strict=True) if gradient is not None},
            [i for i, raw in enumerate(self.aliases[:carried]) if raw.requires_grad], self.passes)

    def _nodes(self, graph: GraphModule) -> dict[int, Node]:
        """The inputs of the graph, by the identity of their tensors."""
        return dict(zip(map(id, (*self.aliases, *self.recorder.constants)), placeholders(graph),
                        strict=True))


def _assembled(given: Given, made: _Part, check: _Part | None) -> _RecordedStep:
    """The loops of a recorded step.

    Raises:
        _Unlike: if what the backward pass takes can't be kept.
    """
    count, inputs = len(given.carried), len(made.aliases)
    starts = {id(raw) for raw in made.starts if raw is not None}
    outside = [raw for raw in made.recorder.constants if id(raw) not in starts]
    condition = None
    if check is not None:
        known = set(map(id, outside))
        outside += [raw for raw in check.recorder.constants if id(raw) not in known]
        condition = check.with_inputs([*check.aliases, *outside])
    order = [*made.aliases, *outside]
    empty = [_empty(raw) for raw in made.outs[count:]]
    if not made.taped:
        loop = Loop(made.with_inputs(order), count, inputs - count, empty, condition, given.steps)
        return _RecordedStep(loop, outside, made.results)
    try:
        its = halves(joint := made.joint(order, count))
    except NoHalves:
        raise _Unlike from None
    is_open = given.condition is not None
    loop = Loop(its.forward, count, inputs - count, [*empty, *its.kept], condition, given.steps,
                counts=is_open)
    back = Loop(its.backward, len(joint.inexact) + len(its.summed),
                len(its.kept) + len(its.elements) + len(its.started),
                [_empty(order[i]) for i in its.of_elements], None, given.steps, backward=True,
                counted=is_open)
    return _RecordedStep(loop, outside, made.results, back, its, joint.inexact)


def _empty(raw: torch.Tensor) -> torch.Tensor:
    return torch.empty((0, *raw.shape), dtype=raw.dtype, device=raw.device)


def _run(loop: Loop, values: Sequence[torch.Tensor]) -> Raws:
    """Run a loop, as a node of the graph if one is recorded."""
    trace = state.trace
    with torch.no_grad():
        return loop(values) if trace is None else trace.recorder.loop(loop, list(values))


class _Looped(torch.autograd.Function):
    """A loop as a node of the tape."""

    @staticmethod
    def forward(ctx: Any, step: _RecordedStep, values: Raws,  # type: ignore[override]
                *inputs: torch.Tensor) -> Any:
        found = _run(step.loop, values)
        count = step.loop.carried + step.results
        ctx.step, ctx.values, ctx.kept = step, values, found[count:]
        ctx.likes = [raw.detach() for raw in found[:count]]
        ctx.save_for_backward(*inputs)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[raw for raw in found[:count] if not is_inexact(raw.dtype)])
        return tuple(found[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        step, saved = ctx.step, ctx.saved_tensors  # which have not been changed since
        again = torch.is_grad_enabled()  # then the tape has to see each kernel
        values = list(saved) if again else ctx.values
        kept = step.loop(values)[len(gradients):] if again else ctx.kept
        starts = [torch.zeros_like(like) if gradient is None else gradient.contiguous()
                  for gradient, like in zip(gradients, ctx.likes, strict=True)]
        its, last = step.halves, step.loop.counts
        given = [*([kept[-1]] if last else []), *(starts[i] for i in step.inexact),
                 *(torch.zeros_like(values[i]) for i in its.summed), *kept[:len(its.kept)],
                 *(values[i] for i in its.elements),
                 *(starts[i] for i in its.started), *(values[i] for i in its.outside)]
        found = iter(step.backward(given) if again else _run(step.backward, given))
        places = [*step.inexact, *its.summed, *its.of_elements]
        by = dict(zip(places, found, strict=True))
        return (None, None, *[by.get(i) for i in range(len(values))])
