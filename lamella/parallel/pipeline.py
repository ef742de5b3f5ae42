"""A network whose stages run on different processes, each for one part of the batch after another.

Each process runs the network's code, but of its Cells only those of its stage. What others would
give has a shape and no data, or has come from them. Losses are summed, and so are gradients. A
Parameter that several stages use lives in the first: a step begins by lending it to the others, and
ends by adding up their gradients there.
"""

from __future__ import annotations

import functools
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from ..autodiff.level import lifted
from ..autodiff.run import record
from ..autodiff.tree import differentiable, map_tensors, tensors
from ..communication import exchange, messages
from ..communication.groups import group_of
from ..parameter import Parameter
from ..state import state
from ..tensor import Tensor, wrap
from . import settings
from .buckets import Reduction
from .schedule import Action, Parcel, order, run
from .stage_plan import Plan, Value, plan
from .stages import (
    Pipeline,
    StagePartParameter,
    here,
    pipeline_of,
    place,
    placement_in,
)

__all__ = ["from_one", "run_stages", "staged"]


class _Over(BaseException):
    """A stage has done what it had to; no `except Exception` of the program's stops it."""


class _StageRun:
    """A run of the network that computes what belongs to one stage.

    Attributes:
        inside: whether a Cell of the stage is running.
        came: results of Cells of stages before.
        borrowed: copies of Parameters of other stages that this one uses too.
        sent: what goes to other stages.
        plans: whether it is the run that plans.
    """

    plans = False

    def __init__(self, plan: Plan, stage: int, name: str):
        self.plan, self.stage, self.name = plan, stage, name
        self.came: dict[int, Tensor] = {}
        self.borrowed: dict[Parameter, torch.Tensor] = {}
        self.inside = False
        self.calls = 0
        self.sent: dict[int, Tensor] = {}

    def stand_in(self, parameter: Parameter) -> torch.Tensor:
        """The value here of a Parameter of another stage: a copy, or a tensor without data."""
        return self.borrowed.get(parameter, self.plan.stand_ins[parameter])

    def call(self, cell: Any, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """A Cell is called: run it if it is this stage's."""
        planned = self.plan.calls[self.calls] if self.calls < len(self.plan.calls) else None
        if planned is None or planned.cell is not cell:
            raise self._other(f"calls a Cell {type(cell).__name__}")
        self.calls += 1
        if planned.stage == self.stage:
            self.inside = True
            try:
                output = call(*args, **kwargs)
            finally:
                self.inside = False
            self._keep(output, planned.values, cell)
        else:
            values = iter(planned.values)
            output = map_tensors(lambda t: self.came.get(next(values).number, t), planned.output)
        if self.stage < len(self.plan.last) - 1 and self.calls > self.plan.last[self.stage]:
            raise _Over
        return output

    def _keep(self, output: Any, values: list[Value], cell: Any) -> None:
        found = list(tensors(output))
        if [_form(t._raw) for t in found] != [_form(value.like) for value in values]:
            raise self._other(f"gets Tensors {[t.shape for t in found]} of a Cell "
                              f"{type(cell).__name__}")
        self.sent.update((value.number, t) for value, t in zip(values, found, strict=True))

    def _other(self, what: str) -> RuntimeError:
        return RuntimeError(f"For '{self.name}', the network {what} for one part of the batch, but "
                            f"not for another.")


def _form(raw: torch.Tensor) -> tuple[Any, ...]:
    return tuple(raw.shape), raw.dtype


class _Step:
    """The training step of this process's stage, for one batch.

    Args:
        asked: the Parameters of all stages to differentiate by.
        start: what gradients start from, if it is known.

    Attributes:
        weights: those of this stage.
        gradients: the gradients by what is borrowed, then by the weights.
    """

    def __init__(self, network: Any, parts: list[tuple], plan: Plan, pipeline: Pipeline,
                 asked: list[Parameter], start: torch.Tensor | None, name: str):
        self.network, self.parts, self.plan, self.name = network, parts, plan, name
        self.pipeline, self.stage = pipeline, pipeline.stage
        self.start: Any = start
        self.weights = [weight for weight in asked if plan.owners[weight] == self.stage]
        self.needs = plan.needs[self.stage]
        self.sends = plan.sends(self.stage)
        self.lends = plan.lends(self.stage)
        self.copies: dict[Parameter, torch.Tensor] = {}
        self.wholes: dict[Parameter, torch.Tensor] = {}
        self.asked = set(asked)
        self.borrowed = [each for each in plan.borrowed[self.stage] if each in self.asked]
        self.is_last = self.stage == pipeline.stages - 1
        self.loss: torch.Tensor | None = None
        self.gradients: list[torch.Tensor] = []
        self.runs: dict[int, Any] = {}
        self.error: Exception | None = None
        # where small gradients vanish they start from what the program gives, which it does last
        kind = settings._get("pipeline_scheduler") if start is not None else "gpipe"
        actions = order(kind, self.stage, pipeline.stages, len(parts), bool(asked))
        self.later = actions[len(parts):] if start is None else []
        self.actions = actions[:len(actions) - len(self.later)]

    def run(self) -> torch.Tensor:
        """The sum of the losses, in all processes."""
        chain, alike = self.pipeline.chain, self.pipeline.alike
        self._gather()
        self._borrow()
        self._do(self.actions)
        loss = self.loss
        if loss is None:
            loss = _zeros(self.plan.result, self._device())
        loss = exchange.broadcast(self.name, loss, chain.ranks[-1], chain)
        return loss if alike.size == 1 else exchange.all_reduce(self.name, loss, "avg", alike)

    def finish(self, start: torch.Tensor) -> list[torch.Tensor]:
        """This stage's gradients of the loss, started from `start`."""
        if self.later:
            self.start = start
            self._do(self.later)
        self._give_back()
        alike = self.pipeline.alike
        if alike.size > 1 and self.weights:
            # those of parts are added up when the gradient call ends
            likes = [None if weight in self.wholes else raw
                     for weight, raw in zip(self.weights, self.gradients, strict=True)]
            self.gradients = Reduction(self.name, likes, alike, alike.size).finish(self.gradients)
        if self.start is start:
            return self.gradients
        factor = torch.where(start == self.start, 1, start / self.start)
        return [gradient * factor.to(gradient.dtype) for gradient in self.gradients]

    def _gather(self) -> None:
        """Gather the Parameters that the processes of this stage hold in parts."""
        cut = [p for p, stage in self.plan.owners.items()
               if stage == self.stage and isinstance(p, StagePartParameter)]
        if cut:
            wholes = cut[0].placement.gather_all([p._data for p in cut])
            self.wholes = dict(zip(cut, wholes, strict=True))

    def _do(self, actions: list[Action]) -> None:
        here.wholes = self.wholes
        try:
            run(self.name, actions, self._wanted, self._act, self.pipeline.chain)
        finally:
            here.wholes = {}
        if self.error is None:
            changed = [p.name for p, copy in self.copies.items() if copy._version]
            if changed:
                self.error = RuntimeError(f"For '{self.name}', stage {self.stage} changes "
                                          f"Parameters {changed}, which are in other stages.")
        exchange.check_all_well(self.name, self.error, group_of(None, self.name))

    def _borrow(self) -> None:
        """Receive the Parameters of other stages that this one uses, and send its own to them."""
        borrowed = self.plan.borrowed[self.stage]
        came = self._exchanged(
            [(self.wholes.get(parameter, parameter._data), to) for parameter, to in self.lends],
            [(_zeros(self.plan.stand_ins[parameter]), self.plan.owners[parameter])
             for parameter in borrowed])
        self.copies = dict(zip(borrowed, came, strict=True))

    def _give_back(self) -> None:
        """Add up the gradients by shared Parameters, in the stage that holds them."""
        count = len(self.borrowed)
        found, self.gradients = self.gradients[:count], self.gradients[count:]
        places = {weight: place for place, weight in enumerate(self.weights)}
        lent = [(weight, to) for weight, to in self.lends if weight in places]
        came = self._exchanged(
            [(raw, self.plan.owners[p]) for p, raw in zip(self.borrowed, found, strict=True)],
            [(self.gradients[places[weight]], to) for weight, to in lent])
        for (weight, _), raw in zip(lent, came, strict=True):
            self.gradients[places[weight]] += raw

    def _exchanged(self, given: list[Parcel], wanted: list[Parcel]) -> list[torch.Tensor]:
        came, works = messages.swap(self.name, given, wanted, self.pipeline.chain)
        exchange.wait_for(self.name, works, self.pipeline.chain)
        return came

    def _device(self) -> torch.device:
        return self.plan.result.device

    def _wanted(self, action: Action) -> list[Parcel]:
        """The forms of the tensors that an action receives, each with the stage that sends it."""
        if action.forward:
            return [(_zeros(value.like), value.stage) for value in self.needs]
        return [(_zeros(value.like), to) for value, to in self.sends if _smooth(value)]

    def _act(self, action: Action, came: list[torch.Tensor]) -> list[Parcel]:
        """Do an action; after an error go on with zeros, as the other stages wait for messages."""
        found = None
        if self.error is None:
            try:
                found = self._forward(action.part, came) if action.forward else (
                    self._backward(action.part, came))
            except Exception as error:  # noqa: BLE001 - all processes raise it in the end
                self.error = error
        smooth = [value for value in self.needs if _smooth(value)]
        ways = self.sends if action.forward else [(value, value.stage) for value in smooth]
        if found is None:
            found = [_zeros(value.like) for value, _ in ways]
        return [(raw, to) for raw, (_, to) in zip(found, ways, strict=True)]

    def _forward(self, part: int, came: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run this stage's Cells; returns the tensors that other stages need."""
        smooth = [i for i, value in enumerate(self.needs) if _smooth(value)]
        by = [i for i, p in enumerate(self.copies, len(came)) if p in self.asked]
        given = tuple(wrap(raw) for raw in [*came, *self.copies.values()])
        stage_run = _StageRun(self.plan, self.stage, self.name)
        body = functools.partial(self._body, part, stage_run)
        if self.asked:
            made = record(body, given, {}, (*smooth, *by), tuple(self.weights), None)
            self.runs[part] = made, stage_run
            sent, out = made.value
        else:
            sent, out = body(*given)
        if out is not None:
            raw = out._raw.detach()
            self.loss = raw if self.loss is None else self.loss + raw
        return [sent[value.number]._raw.detach() for value, _ in self.sends]

    def _body(self, part: int, stage_run: _StageRun, *given: Tensor
              ) -> tuple[dict[int, Tensor], Tensor | None]:
        numbers = [value.number for value in self.needs]
        count = len(numbers)
        stage_run.came = dict(zip(numbers, given[:count], strict=True))
        stage_run.borrowed = {parameter: each._raw for parameter, each
                              in zip(self.copies, given[count:], strict=True)}
        here.run, out = stage_run, None
        try:
            if self.is_last or self.plan.last[self.stage] >= 0:
                out = self.network(*self.parts[part])
        except _Over:
            pass
        finally:
            here.run = None
        wanted = {value.number for value, _ in self.sends}
        return {number: t for number, t in stage_run.sent.items() if number in wanted}, out

    def _backward(self, part: int, came: list[torch.Tensor]) -> list[torch.Tensor]:
        """The gradients by tensors of other stages; those by weights are added up."""
        made, stage_run = self.runs.pop(part)
        sent, out = made.value
        starts: dict[int, torch.Tensor] = {}
        of = [value.number for value, _ in self.sends if _smooth(value)]
        for number, raw in zip(of, came, strict=True):
            starts[number] = starts[number] + raw if number in starts else raw
        outputs = [sent[number] for number in starts]
        sens = [wrap(starts[number]) for number in starts]
        if out is not None:
            outputs.append(out)
            sens.append(wrap(torch.ones_like(out._raw) * self.start))
        here.run, stage_run.inside = stage_run, True  # for Cells that are run again
        try:
            found = [gradient._raw for gradient in made.backward(outputs, sens)]
        finally:
            here.run = None
        count = len(found) - len(self.borrowed) - len(self.weights)
        mine = found[count:]
        self.gradients = ([a + b for a, b in zip(self.gradients, mine, strict=True)]
                          if self.gradients else mine)
        return found[:count]


def _smooth(value: Value) -> bool:
    return differentiable(value.like)


def _zeros(like: torch.Tensor, device: torch.device | None = None) -> torch.Tensor:
    return torch.zeros(like.shape, dtype=like.dtype, device=device or like.device)


class _Gradients(torch.autograd.Function):
    """The loss of a step; its gradients are known with it, or are computed later."""

    @staticmethod
    def forward(ctx: Any, step: _Step, places: Sequence[int], *aliases: torch.Tensor) -> Any:
        ctx.step, ctx.places, ctx.count = step, places, len(aliases)
        with _outside():
            return step.run()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        with _outside():
            of = dict(zip(ctx.places, ctx.step.finish(gradients[0]), strict=True))
        return None, None, *(of.get(i) for i in range(ctx.count))


@contextmanager
def _outside() -> Iterator[None]:
    """A block outside of all gradient calls."""
    before = state.level, state.overlay
    state.level, state.overlay = None, None
    try:
        yield
    finally:
        state.level, state.overlay = before


def from_one(loss: Tensor) -> Tensor:
    """The start of the backward pass of a loss that is not scaled."""
    return wrap(torch.ones_like(loss._raw))


def _start(found: Plan) -> torch.Tensor | None:
    """The gradient by the loss, or None if only the program's own backward pass gives it.

    In other types than float16 they may start from one, and are multiplied in the end.
    """
    if here.start is not None:
        return here.start(wrap(_zeros(found.result)))._raw
    return None if found.narrow else torch.ones((), dtype=found.result.dtype,
                                                device=found.result.device)


def staged(network: Callable[..., Any], name: str,
           start: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """The network as its stages run it, the batch in one part, unless it cuts the batch itself.

    Args:
        start: gives for a loss what its gradient starts from.

    Raises:
        RuntimeError: when called, if nothing in it is run by stages.
    """
    @functools.wraps(network, updated=())
    def spread(*args: Any, **kwargs: Any) -> Any:
        before = here.start
        here.start = start
        try:
            return run_all(*args, **kwargs)
        finally:
            here.start = before

    def run_all(*args: Any, **kwargs: Any) -> Any:
        cells = network.cells_and_names() if hasattr(network, "cells_and_names") else ()
        cells = [cell for _, cell in cells]
        marked = any("_pipeline_stage" in cell.__dict__ for cell in cells)
        if marked and not kwargs and not any(getattr(cell, "runs_stages", 0) for cell in cells):
            return run_stages(network, lambda: [args], name)
        before = _count.runs
        found = network(*args, **kwargs)
        if _count.runs == before:
            raise RuntimeError(f"For '{name}', there are {settings._get_pipeline_stages()} stages "
                               f"of a pipeline, but nothing was run by stages. Use "
                               f"'nn.PipelineCell' for the network with its loss.")
        return found

    return spread


class _Count(threading.local):
    """The number of pipeline steps that this thread has run."""

    runs: int = 0


_count = _Count()


def run_stages(network: Any, cut: Callable[[], list[tuple]], name: str) -> Tensor:
    """The sum of what the network gives for each part of a batch, each stage on its processes.

    Args:
        network: a Cell, some Cells in which have a ``pipeline_stage``.
        cut: gives for each part of the batch what the network is called with.
        name: the function that the program called.

    Raises:
        RuntimeError: if another process raised an error, was lost or does something else.
    """
    _count.runs += 1
    exchange.refuse_graphs("runs the stages of a pipeline, which exchange messages")
    if lifted() or (state.level is not None and state.level.outer is not None):
        raise RuntimeError(f"For '{name}', stages on several processes have first derivatives in "
                           f"reverse mode only.")
    pipeline = pipeline_of()
    parts, found = _planned(network, cut, pipeline, name)
    overlay = {} if state.overlay is None else state.overlay
    for parameter, stage in found.owners.items():
        place(parameter, stage, pipeline, functools.partial(placement_in, pipeline))
    weights = [parameter for parameter in found.owners
               if parameter in overlay and overlay[parameter].requires_grad]
    places = [i for i, w in enumerate(weights) if found.owners[w] == pipeline.stage]
    step = _Step(network, parts, found, pipeline, weights, _start(found), name)
    if not weights:
        with torch.no_grad():
            return wrap(step.run())
    if found.result.numel() != 1:
        raise RuntimeError(f"For '{name}', the gradient of a network that gives a Tensor of shape "
                           f"{tuple(found.result.shape)} is asked for, but it must give a loss.")
    aliases = [overlay[weight] for weight in weights]
    return wrap(_Gradients.apply(step, places, *aliases))  # type: ignore[arg-type]


def _planned(network: Any, cut: Callable[[], list[tuple]], pipeline: Pipeline, name: str
             ) -> tuple[list[tuple], Plan]:
    """The parts of the batch, and the plan for them, which must be the same in all processes."""
    error, parts, found = None, [], None
    try:
        parts = cut()
        found = _plan_of(network, parts[0], pipeline, name)
    except Exception as raised:  # noqa: BLE001 - told to the other processes first
        error = raised
    told = (f"raises {error!r}" if found is None else
            f"cuts {len(parts)} parts, {_told(found)}, {_told_gradients(found)}")
    try:
        exchange.compare(name, told, group_of(None, name))
    except exchange.Divergence:
        if error is None:
            raise
    if found is None:
        raise error or RuntimeError(f"For '{name}', there is no plan.")
    return parts, found


def _plan_of(network: Any, part: tuple, pipeline: Pipeline, name: str) -> Plan:
    """The plan for parts of these shapes and types."""
    for each in tensors(part):
        if each._raw.requires_grad:
            raise RuntimeError(f"For '{name}', stages on several processes have gradients by "
                               f"Parameters only, not by inputs.")
    kept = network.__dict__.setdefault("_stage_plans", {})
    key = (pipeline.stages, network.training, repr(map_tensors(lambda t: _form(t._raw), part)))
    if key not in kept:
        kept[key] = plan(network, part, pipeline.stages, name)
    return kept[key]


def _told(found: Plan) -> str:
    """A plan as a short text."""
    sent = [(value.number, value.stage, _form(value.like)) for needs in found.needs
            for value in needs]
    owners = [(parameter.name, stage) for parameter, stage in found.owners.items()]
    sent += [[parameter.name for parameter in borrowed] for borrowed in found.borrowed]
    first = found.calls[0].values[0].like if found.calls and found.calls[0].values else found.result
    return (f"runs stages whose first Cell gives {tuple(first.shape)}, and which send {len(sent)} "
            f"Tensors, {zlib.crc32(repr((sent, owners)).encode()):08x}")


def _told_gradients(found: Plan) -> str:
    """Which gradients a step computes, and in what order, in few words."""
    overlay = {} if state.overlay is None else state.overlay
    by = [p.name for p in found.owners if p in overlay and overlay[p].requires_grad]
    when = "at once" if here.start is not None or not found.narrow else "when they are asked for"
    return (f"with gradients by {len(by)} Parameters, {zlib.crc32(repr(by).encode()):08x}, {when}, "
            f"in the order {settings._get('pipeline_scheduler')}")
