"""A stage's part of a training step: its chunks of the network, for each part of the batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..autodiff.run import record
from ..autodiff.tree import differentiable, map_tensors, tensors
from ..communication import exchange, messages
from ..communication.buckets import Reduction
from ..communication.groups import group_of
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .schedule import Action, Message, Move, Step, run
from .sharding import whole_region
from .split_backward import SplitBackward
from .stage_plan import Plan, Value
from .stages import Pipeline, StagePartParameter, here

__all__ = ["StageStep", "form", "zeros_of"]


class _ChunkDone(BaseException):
    """Ends the run of a chunk; no `except Exception` of the program catches it."""


class _ChunkRun:
    """A run of the network that computes what belongs to one chunk.

    Attributes:
        split: whether the processes of the stage share the work of each Cell.
        inside: whether a Cell of the chunk is running.
        received: results of Cells of other chunks.
        borrowed: copies of Parameters of other stages that this one uses too.
        sent: results of the chunk's Cells.
        plans: whether this is the run that makes the plan.
    """

    plans = False

    def __init__(self, plan: Plan, chunk: int, name: str, split: bool):
        self.plan, self.chunk, self.name, self.split = plan, chunk, name, split
        self.received: dict[int, Tensor] = {}
        self.borrowed: dict[Parameter, torch.Tensor] = {}
        self.inside = False
        self.calls = 0
        self.sent: dict[int, Tensor] = {}

    def stand_in(self, parameter: Parameter) -> torch.Tensor:
        """The local value of a Parameter of another stage: a copy, or a tensor without data."""
        return self.borrowed.get(parameter, self.plan.stand_ins[parameter])

    def call(self, cell: Any, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """Called for each call of a Cell: run it if it belongs to this chunk."""
        planned = self.plan.calls[self.calls] if self.calls < len(self.plan.calls) else None
        if planned is None or planned.cell is not cell:
            raise self._other(f"calls a Cell {type(cell).__name__}")
        self.calls += 1
        if planned.chunk == self.chunk:
            self.inside = True
            try:
                call = whole_region(call) if self.split else call
                output = call(*args, **kwargs)
            finally:
                self.inside = False
            self._keep(output, planned.values, cell)
        else:
            values = iter(planned.values)
            output = map_tensors(lambda t: self.received.get(next(values).number, t),
                                 planned.output)
        if self.chunk < self.plan.count - 1 and self.calls > self.plan.last[self.chunk]:
            raise _ChunkDone
        return output

    def _keep(self, output: Any, values: list[Value], cell: Any) -> None:
        found = list(tensors(output))
        if [form(t._raw) for t in found] != [form(value.like) for value in values]:
            raise self._other(f"gets Tensors {[t.shape for t in found]} of a Cell "
                              f"{type(cell).__name__}")
        self.sent.update((value.number, t) for value, t in zip(values, found, strict=True))

    def _other(self, what: str) -> RuntimeError:
        return RuntimeError(f"For '{self.name}', the network {what} for one part of the batch, but "
                            f"not for another.")


def form(raw: torch.Tensor) -> tuple[Any, ...]:
    """The shape and type of a tensor."""
    return tuple(raw.shape), raw.dtype


def zeros_of(like: torch.Tensor) -> torch.Tensor:
    """Zeros of the shape and type of a tensor that may have no data."""
    return torch.zeros(like.shape, dtype=like.dtype, device=like.device)


class StageStep:
    """The training step of this process's stage, for one batch.

    Args:
        differentiated: the Parameters of all stages to differentiate by.
        start: the gradient of the loss that the backward pass starts from, if it is known.
        scheduler: in which order stages run the parts.
        split: whether the processes of a stage share the work of each Cell, and so have the same
            values.

    Attributes:
        weights: the Parameters of this stage to differentiate by.
        gradients: the gradients by Parameters, including borrowed ones.
    """

    def __init__(self, network: Any, parts: list[tuple], plan: Plan, pipeline: Pipeline,
                 differentiated: list[Parameter], start: torch.Tensor | None, scheduler: str,
                 split: bool, name: str):
        self.network, self.parts, self.plan, self.name = network, parts, plan, name
        self.pipeline, self.stage = pipeline, pipeline.stage
        self.split = split
        self.start: Any = start
        self.weights = [weight for weight in differentiated if plan.owners[weight] == self.stage]
        self.lends = plan.lends(self.stage)
        self.copies: dict[Parameter, torch.Tensor] = {}
        self.wholes: dict[Parameter, torch.Tensor] = {}
        self.differentiated = set(differentiated)
        self.wanted = {value.number for needs in plan.needs for value in needs}
        self.loss: torch.Tensor | None = None
        self.gradients: dict[Parameter, torch.Tensor] = {}
        self.found: list[torch.Tensor] | None = None  # by the weights, of all stages and processes
        self.runs: dict[tuple[int, int], Any] = {}  # by chunk and part
        self.halves: dict[tuple[int, int], Callable[[], list[torch.Tensor]]] = {}
        self.error: Exception | None = None
        # where small gradients may underflow, the program gives the start after the forward pass
        row = plan.table(scheduler if start is not None else "gpipe", len(parts),
                         bool(differentiated))[self.stage]
        self.later = [each for each in row if start is None and not _forward(each)]
        self.row = [each for each in row if start is not None or _forward(each)]

    def run(self) -> torch.Tensor:
        """The sum of the losses, in all processes."""
        chain, alike = self.pipeline.chain, self.pipeline.alike
        self._gather()
        self._borrow()
        self._do(self.row)
        loss = self.loss
        if loss is None:
            loss = zeros_of(self.plan.result)
        last = self.plan.chunks.stage(self.plan.count - 1)
        loss = exchange.broadcast(self.name, loss, chain.ranks[last], chain)
        if alike.size == 1 or self.split:
            return loss
        return exchange.all_reduce(self.name, loss, "avg", alike)

    def finish(self, start: torch.Tensor) -> list[torch.Tensor]:
        """This stage's gradients of the loss by its weights, started from `start`."""
        if self.found is None:  # a backward pass may be run again
            self.found = self._finished(start)
        if self.start is start:
            return self.found
        factor = torch.where(start == self.start, 1, start / self.start)
        return [gradient * factor.to(gradient.dtype) for gradient in self.found]

    def _finished(self, start: torch.Tensor) -> list[torch.Tensor]:
        """The same, started from one, or from `start` where nothing else is known."""
        if self.later:
            self.start = start
            self._do(self.later)
        self._give_back()
        found = [self.gradients[weight] for weight in self.weights]
        alike = self.pipeline.alike
        if alike.size > 1 and self.weights and not self.split:
            # those of parts are added up when the gradient call ends
            likes = [None if weight in self.wholes else raw
                     for weight, raw in zip(self.weights, found, strict=True)]
            found = Reduction(self.name, likes, alike, alike.size).finish(found)
        return found

    def _gather(self) -> None:
        """Gather the Parameters that the processes of this stage hold in parts."""
        cut = [p for p, stage in self.plan.owners.items()
               if stage == self.stage and isinstance(p, StagePartParameter)]
        if cut:
            wholes = cut[0].placement.gather_all([p._data for p in cut])
            self.wholes = dict(zip(cut, wholes, strict=True))

    def _do(self, row: Sequence[Step | Move]) -> None:
        here.wholes = self.wholes
        try:
            run(self.name, row, self._forms, self._act, self.pipeline.chain)
        finally:
            here.wholes = {}
        if self.error is None:
            changed = [p.name for p, copy in self.copies.items() if copy._version]
            if changed:
                self.error = RuntimeError(f"For '{self.name}', stage {self.stage} changes "
                                          f"Parameters {changed}, which are in other stages.")
        exchange.raise_in_all(self.name, self.error, group_of(None, self.name))

    def _borrow(self) -> None:
        """Receive the Parameters of other stages that this one uses, and send its own to them."""
        borrowed = self.plan.borrowed[self.stage]
        received = self._exchanged(
            [(self.wholes.get(parameter, parameter._data), to) for parameter, to in self.lends],
            [(zeros_of(self.plan.stand_ins[parameter]), self.plan.owners[parameter])
             for parameter in borrowed])
        self.copies = dict(zip(borrowed, received, strict=True))

    def _give_back(self) -> None:
        """Add up the gradients by shared Parameters, in the stage that holds them."""
        borrowed = [each for each in self.plan.borrowed[self.stage] if each in self.differentiated]
        lent = [(weight, to) for weight, to in self.lends if weight in self.differentiated]
        received = self._exchanged(
            [(self.gradients[each], self.plan.owners[each]) for each in borrowed],
            [(zeros_of(self.plan.stand_ins[weight]), to) for weight, to in lent])
        for (weight, _), raw in zip(lent, received, strict=True):
            self._add(weight, raw)

    def _add(self, parameter: Parameter, gradient: torch.Tensor) -> None:
        found = self.gradients.get(parameter)
        self.gradients[parameter] = gradient if found is None else found + gradient

    def _exchanged(self, given: list[tuple[torch.Tensor, int]],
                   wanted: list[tuple[torch.Tensor, int]]) -> list[torch.Tensor]:
        received, *handles = messages.begin(self.name, given, wanted, self.pipeline.chain)
        exchange.wait_for(self.name, [*handles[0], *handles[1]], self.pipeline.chain)
        return received

    def _forms(self, message: Message) -> list[torch.Tensor]:
        """The shapes and types of the tensors of a message."""
        return [value.like for value in self.plan.carried(message)]

    def _act(self, step: Step, received: list[Sequence[torch.Tensor]]
             ) -> list[Sequence[torch.Tensor]]:
        """Run an action; after an error go on with zeros, since other stages wait for messages."""
        given: dict[int, torch.Tensor] = {}  # by the number of a value
        for message, raws in zip(step.takes, received, strict=True):
            for value, raw in zip(self.plan.carried(message), raws, strict=True):
                number = value.number
                given[number] = given[number] + raw if number in given else raw
        found: dict[int, torch.Tensor] | None = None
        if self.error is None:
            try:
                found = self._run_action(step.action, given)
            except Exception as error:  # noqa: BLE001 - all processes raise it in the end
                self.error = error
        return [[zeros_of(value.like) if found is None else found[value.number]
                 for value in self.plan.carried(message)] for message in step.gives]

    def _run_action(self, action: Action, given: dict[int, torch.Tensor]
                    ) -> dict[int, torch.Tensor]:
        """Run an action on values, or their gradients, by number; its results in the same form."""
        where = action.chunk, action.part
        if action.kind == "F":
            return self._forward(*where, given)
        if action.kind == "W":
            self._keep_gradients(where[0], self.halves.pop(where)())
            return {}
        return self._backward(*where, given, action.kind == "I")

    def _inputs_of(self, chunk: int) -> tuple[list[Value], list[Parameter], list[Parameter]]:
        """What a chunk is differentiated by: values, borrowed Parameters, weights."""
        values = [value for value in self.plan.needs[chunk] if differentiable(value.like)]
        used = [each for each in self.plan.uses[chunk] if each in self.differentiated]
        return (values, [each for each in used if each in self.copies],
                [each for each in used if each not in self.copies])

    def _forward(self, chunk: int, part: int, given: dict[int, torch.Tensor]
                 ) -> dict[int, torch.Tensor]:
        """Run the Cells of a chunk; returns their results."""
        values, borrowed, weights = self._inputs_of(chunk)
        numbers = list(given)
        places = {each: len(numbers) + i for i, each in enumerate(self.copies)}
        by = [numbers.index(value.number) for value in values]
        by += [places[each] for each in borrowed]
        chunk_run = _ChunkRun(self.plan, chunk, self.name, self.split)
        inputs = tuple(wrap(raw) for raw in [*given.values(), *self.copies.values()])
        body = functools.partial(self._body, part, chunk_run, numbers)
        if self.differentiated:
            made = record(body, inputs, {}, tuple(by), tuple(weights), None)
            self.runs[chunk, part] = made, chunk_run
            sent, out = made.value
        else:
            sent, out = body(*inputs)
        if out is not None:
            raw = out._raw.detach()
            self.loss = raw if self.loss is None else self.loss + raw
        results: Any = sent
        return {number: t._raw.detach() for number, t in results.items()}

    def _body(self, part: int, chunk_run: _ChunkRun, numbers: list[int], *given: Tensor
              ) -> tuple[dict[int, Tensor], Tensor | None]:
        count = len(numbers)
        chunk_run.received = dict(zip(numbers, given[:count], strict=True))
        chunk_run.borrowed = {parameter: each._raw for parameter, each
                              in zip(self.copies, given[count:], strict=True)}
        here.run, out = chunk_run, None
        chunk = chunk_run.chunk
        try:
            if chunk == self.plan.count - 1 or self.plan.last[chunk] >= 0:
                out = self.network(*self.parts[part])
        except _ChunkDone:
            pass
        finally:
            here.run = None
        return {number: t for number, t in chunk_run.sent.items() if number in self.wanted}, out

    def _backward(self, chunk: int, part: int, given: dict[int, torch.Tensor], by_inputs: bool
                  ) -> dict[int, torch.Tensor]:
        """The gradients by values of other chunks.

        Those by Parameters are added up, with `by_inputs` in a later action.
        """
        made, chunk_run = self.runs.pop((chunk, part))
        sent, out = made.value
        outputs = [sent[number] for number in given]
        starts = [wrap(raw) for raw in given.values()]
        if out is not None:
            outputs.append(out)
            starts.append(wrap(torch.ones_like(out._raw) * self.start))
        values = self._inputs_of(chunk)[0]
        if by_inputs:
            split = SplitBackward(made, outputs, starts, len(values))
            found = self._running(chunk_run, split.by_inputs)
            self.halves[chunk, part] = functools.partial(
                self._running, chunk_run, split.by_others)
        else:
            found = self._running(chunk_run, lambda: made.backward(outputs, starts))
            self._keep_gradients(chunk, found[len(values):])
        return {value.number: raw for value, raw in zip(values, found, strict=False)}

    def _running(self, chunk_run: _ChunkRun, call: Callable[[], Any]) -> list[torch.Tensor]:
        """The gradients of a backward pass, in which Cells may be recomputed."""
        here.run, chunk_run.inside = chunk_run, True
        try:
            return [gradient._raw for gradient in call()]
        finally:
            here.run = None

    def _keep_gradients(self, chunk: int, found: list[torch.Tensor]) -> None:
        """Add up gradients by the Parameters of a chunk."""
        _, borrowed, weights = self._inputs_of(chunk)
        for parameter, gradient in zip([*borrowed, *weights], found, strict=True):
            self._add(parameter, gradient)


def _forward(each: Step | Move) -> bool:
    """Whether an entry of the timetable belongs to the forward passes."""
    return each.action.forward if isinstance(each, Step) else each.message.forward
