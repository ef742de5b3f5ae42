"""The plan of a pipeline: which stage runs which Cells, and what it needs of others.

A network is run once on tensors without data. Each Cell that is marked with a ``pipeline_stage``
belongs to the first chunk of that stage which is not before those of its inputs; one without marks
belongs to the last chunk among these. What is computed between Cells is computed in each chunk that
needs it; so what chunks give to others are results of Cells. A Parameter belongs to the stage whose
Cell has it, or that needs what is made of it: the first of several, which lends it to the others.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_leaves

from ..autodiff.tree import differentiable, map_tensors, tensors
from ..core.dispatch_mode import DispatchMode
from ..core.errors import describe
from ..core.state import state
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .chunks import Chunks
from .schedule import Message, Move, Step, orders, timetable
from .sharding import mixed
from .spread import SpreadParameter
from .stages import here

__all__ = ["Call", "Plan", "Value", "plan"]


class Value(NamedTuple):
    """A result of a Cell."""

    number: int
    chunk: int
    like: torch.Tensor  # its shape and type, without data


class Call(NamedTuple):
    """A call of a Cell that a stage runs."""

    cell: Any
    chunk: int
    output: Any  # its result, on tensors without data
    values: list[Value]


class Plan(NamedTuple):
    """The calls and messages of all stages for a part of a batch.

    Attributes:
        chunks: which stage runs which chunk.
        calls: the calls of Cells, in order.
        needs: for each chunk, the results of Cells of earlier chunks that it uses.
        owners: the stage of each Parameter.
        uses: for each chunk, the Parameters that it uses.
        borrowed: for each stage, the Parameters of other stages that it uses too.
        narrow: whether something is computed in float16, where small gradients underflow.
        stand_ins: for each Parameter, a tensor without data.
        last: for each chunk, the number of its last call.
        result: the shape and type of the network's result.
        tables: the results of `table`, by its arguments.
    """

    chunks: Chunks
    calls: list[Call]
    needs: list[list[Value]]
    owners: dict[Parameter, int]
    uses: list[list[Parameter]]
    borrowed: list[list[Parameter]]
    narrow: bool
    stand_ins: dict[Parameter, torch.Tensor]
    last: list[int]
    result: torch.Tensor
    tables: dict[tuple[str, int, bool], list[list[Step | Move]]]

    @property
    def count(self) -> int:
        """The number of chunks."""
        return len(self.needs)

    def carried(self, message: Message) -> list[Value]:
        """The values that a message carries, or whose gradients it carries."""
        if message.forward:
            return [each for each in self.needs[message.target] if each.chunk == message.source]
        return [each for each in self.needs[message.source]
                if each.chunk == message.target and differentiable(each.like)]

    def table(self, scheduler: str, parts: int, backward: bool) -> list[list[Step | Move]]:
        """The timetable of each stage for a batch in so many parts."""
        key = scheduler, parts, backward
        if key not in self.tables:
            numbers = range(self.count)
            values = {a: [b for b in numbers if self.carried(Message(True, a, b, 0))]
                      for a in numbers}
            gradients = {a: [b for b in numbers if self.carried(Message(False, a, b, 0))]
                         for a in numbers}
            actions = orders(scheduler, self.chunks, self.count, parts, backward)
            self.tables[key] = timetable(actions, self.chunks, values, gradients)
        return self.tables[key]

    def lends(self, stage: int) -> list[tuple[Parameter, int]]:
        """The Parameters of a stage that other stages use too, each with one of these stages."""
        return [(parameter, to) for to, borrowed in enumerate(self.borrowed)
                for parameter in borrowed if self.owners[parameter] == stage]


class _StagedCell:
    """Mixed into the class of a Cell that a stage runs as a whole."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call: Any = super().__call__  # type: ignore[misc]
        run = here.run
        if run is None or run.inside:
            return call(*args, **kwargs)
        return run.call(self, call, args, kwargs)


def _stage_of(cell: Any) -> int | None:
    return cell.__dict__.get("_pipeline_stage")


def _mark_cells(network: Any, chunks: Chunks, name: str) -> None:
    """Report the calls of the Cells that stages run as a whole.

    Raises:
        ValueError: if no Cell has a stage, or one has a stage or segment that isn't there.
    """
    stages = chunks.stages
    marks = {path: _stage_of(cell) for path, cell in network.cells_and_names()}
    if set(marks.values()) == {None}:
        raise ValueError(f"For '{name}', no Cell of the network has a 'pipeline_stage', but there "
                         f"are {stages} stages.")
    for path, stage in marks.items():
        if stage is not None and stage >= stages:
            raise ValueError(f"For '{name}', the 'pipeline_stage' of {path!r} must be less than "
                             f"the {stages} stages, but got {stage}.")
    for path, cell in network.cells_and_names() if chunks.order == "v" else ():
        segment = cell.__dict__.get("_pipeline_segment", 0)
        if segment > 1:
            raise ValueError(f"For '{name}', with the 'pipeline_scheduler' 'zero_bubble_v' the "
                             f"'pipeline_segment' of {path!r} must be 0 or 1, but got {segment}.")
    _mark_below(network, name)


def _mark_below(cell: Any, name: str) -> None:
    own = _stage_of(cell)
    below = {stage for _, inner in cell.cells_and_names()
             if inner is not cell and (stage := _stage_of(inner)) is not None}
    if own is None and below:
        for inner in cell.cells():
            _mark_below(inner, name)
        return
    if below - {own}:
        raise ValueError(f"For '{name}', a Cell {type(cell).__name__} of stage {own} has Cells of "
                         f"stages {sorted(below - {own})} inside.")
    if not isinstance(cell, _StagedCell):
        cell.__class__ = mixed(_StagedCell, type(cell))


class _Draw:
    """Random numbers that are drawn between Cells."""

    def __init__(self, function: str):
        self.function = function


class _Overlay(dict):
    """Stand-ins for Parameters, which are noted when they are read."""

    def __init__(self, planning: _Planning, around: dict | None = None):
        super().__init__(around or {})
        self.planning = planning

    def get(self, key: Any, default: Any = None) -> Any:
        """The stand-in of a Parameter."""
        return self[key] if key in self else self.planning.stand_in(key)

    def copy(self) -> _Overlay:
        """Another with the same entries."""
        return _Overlay(self.planning, self)


class _Planning:
    """A run of the network without data, which records what each stage needs."""

    plans = True
    borrowed: dict[Parameter, torch.Tensor] = {}  # as a stage's run has them

    def __init__(self, chunks: Chunks, name: str):
        from torch._subclasses.fake_tensor import FakeTensorMode

        self.chunks, self.name = chunks, name
        self.fake: Any = FakeTensorMode(allow_non_fake_inputs=True)
        self.inside = False
        self.calls: list[Call] = []
        self.needs: defaultdict[int, dict[int, Value]] = defaultdict(dict)
        self.users: dict[Any, set[int]] = {}  # chunks that use Parameters and random numbers
        self.narrow = False
        self.stand_ins: dict[Parameter, torch.Tensor] = {}
        self.last: dict[int, int] = {}
        self._chunk = 0  # whose Cell is running

    def stand_in(self, parameter: Parameter) -> torch.Tensor:
        """A tensor without data for a Parameter."""
        if self.inside:
            self._use([parameter], self._chunk)
        if parameter not in self.stand_ins:
            data = parameter._data
            device = parameter.__dict__.get("device", data.device)
            # a plain one would read its shape from a stand-in
            shape = parameter.shape if isinstance(parameter, SpreadParameter) else data.shape
            with self.fake:
                self.stand_ins[parameter] = torch.empty(shape, dtype=data.dtype, device=device)
        if not self.inside:
            found = self.stand_ins[parameter].detach()
            found.sources = {parameter: None}  # type: ignore[attr-defined]
            return found
        return self.stand_ins[parameter]

    def empty(self, like: torch.Tensor) -> torch.Tensor:
        """A tensor without data of a shape and type."""
        with self.fake:
            return torch.empty_like(like)

    def call(self, cell: Any, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """Called for each call of a Cell: note what its stage needs, and run it."""
        sources = [each for t in tensors((args, kwargs)) for each in sources_of(t._raw)]
        least = max([each.chunk for each in sources if isinstance(each, Value)], default=0)
        chunk = self._chunk_of(cell, least)
        self._use(sources, chunk, cell)
        self._use(cell.get_parameters(), chunk, cell)
        self.inside, self._chunk = True, chunk
        try:
            output = call(*args, **kwargs)
        finally:
            self.inside = False
        values: list[Value] = []

        def noted(tensor: Tensor) -> Tensor:
            raw: Any = tensor._raw.detach()
            number = sum(len(each.values) for each in self.calls) + len(values)
            values.append(Value(number, chunk, raw))
            raw.sources = {values[-1]: None}
            return wrap(raw)

        output = map_tensors(noted, output)
        self.last[chunk] = len(self.calls)
        self.calls.append(Call(cell, chunk, output, values))
        return output

    def _chunk_of(self, cell: Any, least: int) -> int:
        """The chunk that runs a Cell with inputs of the chunk `least` and of those before."""
        stage, segment = _stage_of(cell), cell.__dict__.get("_pipeline_segment")
        if stage is None:
            return least
        if segment is not None and self.chunks.order == "v":
            least = segment * self.chunks.stages
        return self.chunks.find(stage, least)

    def _use(self, sources: Iterable[Any], chunk: int, cell: Any = None) -> None:
        """Note that a chunk uses results of Cells, Parameters or random numbers."""
        stage = self.chunks.stage
        for each in sources:
            if not isinstance(each, Value):
                users = self.users.setdefault(each, set())
                users.add(chunk)
                if len(users) > 1 and isinstance(each, _Draw):
                    raise RuntimeError(f"For '{self.name}', random numbers of {each.function!r}, "
                                       f"drawn between Cells, are used by stages "
                                       f"{stage(min(users))} and {stage(max(users))}, but must be "
                                       f"used by one, in one chunk.")
            elif each.chunk > chunk:
                where = ("to later stages only, without 'pipeline_interleave'"
                         if self.chunks.order == "once" else
                         "to the last stage and back only once, with 'zero_bubble_v'")
                raise ValueError(f"For '{self.name}', a Cell {type(cell).__name__} of stage "
                                 f"{stage(chunk)} gets what stage {stage(each.chunk)} computes, "
                                 f"but values go {where}.")
            elif each.chunk < chunk:
                self.needs[chunk][each.number] = each

    def finish(self, output: Any) -> Plan:
        """The plan that was found, for a network that returned `output`."""
        if not isinstance(output, Tensor):
            raise TypeError(f"For '{self.name}', the network must give a Tensor, but got "
                            f"{describe(output)}.")
        count = self.chunks.count(max(self.last, default=0))
        self._use(sources_of(output._raw), count - 1)
        users = {user: used for user, used in self.users.items() if isinstance(user, Parameter)}
        stages = {parameter: set(map(self.chunks.stage, used)) for parameter, used in users.items()}
        owners = {parameter: self.chunks.stage(min(used)) for parameter, used in users.items()}
        borrowed = [[parameter for parameter, used in stages.items()
                     if stage in used and owners[parameter] != stage]
                    for stage in range(self.chunks.stages)]
        for parameter in itertools.chain(*borrowed):
            self.stand_in(parameter)
        needs = [[self.needs[chunk][number] for number in sorted(self.needs[chunk])]
                 for chunk in range(count)]
        uses = [[parameter for parameter, used in users.items() if chunk in used]
                for chunk in range(count)]
        last = [self.last.get(chunk, -1) for chunk in range(count)]
        return Plan(self.chunks, self.calls, needs, owners, uses, borrowed, self.narrow,
                    self.stand_ins, last, output._raw, {})


def sources_of(raw: torch.Tensor) -> dict[Any, None]:
    """What a tensor was computed from between Cells: results of Cells, Parameters, random numbers.

    They are the keys, in the same order in all processes.
    """
    return raw.__dict__.get("sources", {})


def _tracker(planning: _Planning) -> Any:
    """A mode that follows what is computed between Cells."""
    class Tracker(DispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                               kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            planning.narrow |= any(getattr(leaf, "dtype", None) is torch.float16
                                   for leaf in tree_leaves(out))
            if planning.inside:
                return out
            found: dict[Any, None] = {}
            for leaf in tree_leaves((args, kwargs)):
                if isinstance(leaf, torch.Tensor):
                    found |= sources_of(leaf)
            if torch.Tag.nondeterministic_seeded in func.tags:
                found[_Draw(func._schema.name)] = None
            for leaf in tree_leaves(out) if found else ():
                if isinstance(leaf, torch.Tensor):
                    leaf.sources = found | sources_of(leaf)  # type: ignore[attr-defined]
            return out

    return Tracker()


def plan(network: Any, inputs: tuple, chunks: Chunks, name: str) -> Plan:
    """Plan what stages do for inputs of these shapes and types.

    Raises:
        ValueError: if Cells have no stages, or wrong ones.
        RuntimeError: if random numbers are used by two stages.
        TypeError: if the network doesn't give a Tensor.
    """
    _mark_cells(network, chunks, name)
    planning = _Planning(chunks, name)
    held = [(parameter, parameter._data) for parameter in network.get_parameters()]
    before = state.overlay, state.level
    given = map_tensors(lambda t: wrap(planning.empty(t._raw)), inputs)
    here.run, state.overlay, state.level = planning, _Overlay(planning), None
    try:
        with torch.no_grad(), planning.fake, _tracker(planning):
            return planning.finish(network(*given))
    finally:
        here.run = None
        state.overlay, state.level = before
        for parameter, data in held:  # what it assigned has no data
            parameter._data = data
