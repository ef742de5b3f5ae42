"""Running a recorded graph again: first what decides whether it applies, then what commits."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..parameter import Parameter
from ..tensor import Tensor
from .choice import Choice, Run, agree
from .native import Native
from .stages import CannotCut, Cut, is_random
from .trace import CannotTrace, Trace, held_data

HOT = 0.5  # seconds that a path must have run before it is worth compiling
FEWEST = 3  # operations that are worth compiling

class Path:
    """A recorded run made ready to be run again, in stages (see `stages`).

    Attributes:
        held: the Tensors it reads or changes other than as arguments.
        attributes: the attributes of Cells it assigns.
        later: the calls it makes when it is over.
        nodes: how many operations were recorded.
        spent: seconds of all runs so far, of which there were `runs`.
        settled: whether it is decided how it is run from now on.
    """

    def __init__(self, trace: Trace, graph: GraphModule, level: str = "O0"):
        self.held = [t for t, slot in zip(trace.held, trace.slots, strict=True) if slot is None]
        self.slots = [slot for slot in trace.slots if slot is not None]
        self.forms = [_form(held_data(t)) for t in self.held]
        self.constants = trace.constants
        self._assigned = trace.assigned
        self.out_tree = trace.out_tree
        self.attributes = [(cell, name) for cell, name, _ in trace.attributes.values()]
        self.later = trace.later
        self.expected = [value for _, value in trace.guards]
        self.recorded = graph
        self.nodes = len(graph.graph.nodes)
        self.streams = _streams(trace, graph)
        self.spent = 0.0
        self.runs = 0
        self.level = level
        self._use(graph)

    def _use(self, graph: GraphModule) -> None:
        """Run the stages of `graph` from now on."""
        try:
            cut = Cut(graph, len(self.expected))
        except CannotCut as node:
            raise CannotTrace(f"turns a tensor into a Python value after {node} has changed "
                              f"data") from None
        places = dict(cut.input_guards)
        self.input_guards = [(place, self.expected[i]) for i, place in places.items()]
        others = [value for i, value in enumerate(self.expected) if i not in places]
        self.guards = list(zip(cut.guards, others, strict=True))
        self.checked_after = cut.checked_after
        self.results = cut.results
        last = len(cut.stages) - 1
        self.stages = [Stage(module, takes, self.level != "O0"
                             and not (cut.last_changes and number == last))
                       for number, (module, takes) in enumerate(cut.stages)]
        self.settled = all(stage.settled for stage in self.stages)

    def inputs(self, given: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """Everything the graph takes, from the arguments' data; None if something has changed."""
        data = [t._data if isinstance(t, Parameter) else t._raw for t in self.held]
        for form, raw in zip(self.forms, data, strict=True):
            if form[0] != raw.shape or form[1] is not raw.dtype or form[2] != raw.device:
                return None
        return [*given, *data, *[place[name]._raw for place, name in self.slots], *self.constants]

    def assigned(self) -> list[Tensor]:
        """The Tensors whose data the run replaces, in the order of its last results."""
        known = len(self.held)
        return [self.held[i] if i < known else self._in_slot(i - known) for i in self._assigned]

    def _in_slot(self, number: int) -> Tensor:
        place, name = self.slots[number]
        return place[name]

    def run(self, inputs: list[torch.Tensor]) -> list[torch.Tensor] | None:
        """The graph's results; None if a guard differs: then nothing happened."""
        for place, value in self.input_guards:
            if inputs[place].item() != value:
                return None
        start = time.perf_counter()
        with torch.no_grad():
            before = [s.get_state() for s in self.streams] if self.guards else []
            for number, stage in enumerate(self.stages):
                inputs.extend(stage.run([inputs[i] for i in stage.takes]))
                if number + 1 == self.checked_after and not self._applies(inputs):
                    for stream, position in zip(self.streams, before, strict=True):
                        stream.set_state(position)
                    return None
        self.runs += 1
        self.spent += time.perf_counter() - start
        if not self.settled and (self.runs == 1 or self.spent > HOT):
            self._settle(inputs)
        return [inputs[i] for i in self.results]

    def _settle(self, values: list[torch.Tensor]) -> None:
        """Have stages compiled if the path is hot, or was in an earlier process."""
        for stage in self.stages:
            stage.settle([values[i] for i in stage.takes], self.spent > HOT)
        self.settled = all(stage.settled for stage in self.stages)

    def graphs(self) -> list[GraphModule]:
        """The graphs that are run, one after another."""
        return [stage.module for stage in self.stages]

    @property
    def backend(self) -> str:
        """``"inductor"`` if machine code runs any part of it, else ``"replay"``."""
        return next((s.backend for s in self.stages if s.backend != "replay"), "replay")

    def _applies(self, values: list[torch.Tensor]) -> bool:
        return all(values[place].item() == value for place, value in self.guards)


class Stage:
    """A part of a graph, and what runs it.

    Attributes:
        module: the part.
        takes: the places of its inputs among the values that the path has so far.
        run: what runs it now.
        backend: ``"replay"`` or ``"inductor"``.
        settled: whether it is decided what runs it from now on.
    """

    def __init__(self, module: GraphModule, takes: list[int], compile: bool):
        self.module = module
        self.takes = takes
        replay: Any = module.forward
        self.replay: Run = lambda values: replay(*values)
        self.run: Run = self.replay
        self.backend = "replay"
        self.random = any(is_random(n) for n in module.graph.nodes)
        self.settled = not compile or _kernels(module) < FEWEST
        self.native: Native | None = None

    def settle(self, values: list[torch.Tensor], hot: bool) -> None:
        """Find what runs it fastest: if it is known already, or else step by step once it is hot.

        Args:
            values: its inputs.
            hot: whether it is worth compiling.
        """
        if self.settled:
            return
        if self.native is None:
            self.native = Native(self.module, values)
            fastest = self.native.remembered()
            if fastest is not None:
                self._decide(fastest, self.native.load() if fastest == "inductor" else None)
                return
        if hot and not self.native.asked:
            self.native.ask()
        if self.native.made and self.run is self.replay:
            self._compare(values)

    def _compare(self, values: list[torch.Tensor]) -> None:
        """Time machine code against replay in the next runs, if there is any and it is right."""
        assert self.native is not None
        native = self.native.load()
        if native is None or not self._is_right(native, values):
            self._decide("replay", None)
            return
        self.run = Choice({"replay": self.replay, "inductor": native},
                          lambda fastest: self._decide(fastest, native))

    def _is_right(self, native: Run, values: list[torch.Tensor]) -> bool:
        """Whether machine code gives what replay gives, and draws the same random numbers."""
        state = torch.get_rng_state() if self.random else None
        wanted = self.replay(values)
        if state is not None:
            torch.set_rng_state(state)
        try:
            return agree(wanted, native(values))
        except RuntimeError:
            return False

    def _decide(self, fastest: str, native: Run | None) -> None:
        assert self.native is not None
        self.run = native or self.replay
        self.backend = "inductor" if native else "replay"
        self.native.remember(fastest if native else "replay")
        self.settled = True


def _streams(trace: Trace, graph: GraphModule) -> list[torch.Generator]:
    """The streams of random numbers that a run draws from."""
    if not any(is_random(n) for n in graph.graph.nodes):
        return []
    streams = [torch.default_generator, *trace.recorder.generators.values()]
    if torch.cuda.is_available():
        streams.extend(torch.cuda.default_generators)
    return streams


def _kernels(module: GraphModule) -> int:
    """How many operations a graph has that compute."""
    return sum(n.op == "call_function" and not _is_view(n) for n in module.graph.nodes)


def _is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is None or (not schema.is_mutable
                              and any(r.alias_info is not None for r in schema.returns))


def _form(raw: torch.Tensor) -> tuple:
    return raw.shape, raw.dtype, raw.device
