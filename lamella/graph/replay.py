"""Running a recorded graph again: first what decides whether it applies, then what commits."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.fx import GraphModule

from ..parameter import Parameter
from ..tensor import Tensor
from .stages import CannotCut, Cut, is_random
from .trace import CannotTrace, Trace, held_data


class Path:
    """A recorded run made ready to be run again, in stages (see `stages`).

    Attributes:
        held: the Tensors it reads or changes other than as arguments.
        attributes: the attributes of Cells it assigns.
        nodes: how many operations were recorded.
        spent: seconds of all runs so far.
    """

    def __init__(self, trace: Trace, graph: GraphModule):
        self.held = [t for t, slot in zip(trace.held, trace.slots, strict=True) if slot is None]
        self.slots = [slot for slot in trace.slots if slot is not None]
        self.forms = [_form(held_data(t)) for t in self.held]
        self.constants = trace.constants
        self._assigned = trace.assigned
        self.out_tree = trace.out_tree
        self.attributes = [(cell, name) for cell, name, _ in trace.attributes.values()]
        self.expected = [value for _, value in trace.guards]
        self.recorded = graph
        self.nodes = len(graph.graph.nodes)
        self.random = any(is_random(n) for n in graph.graph.nodes)
        self.spent = 0.0
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
        self.stages = [Stage(module, takes) for module, takes in cut.stages]

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
            before = torch.get_rng_state() if self.random and self.guards else None
            for number, stage in enumerate(self.stages):
                inputs.extend(stage.run([inputs[i] for i in stage.takes]))
                if number + 1 == self.checked_after and not self._applies(inputs):
                    if before is not None:
                        torch.set_rng_state(before)
                    return None
        self.spent += time.perf_counter() - start
        return [inputs[i] for i in self.results]

    def _applies(self, values: list[torch.Tensor]) -> bool:
        return all(values[place].item() == value for place, value in self.guards)


class Stage:
    """A part of a graph, and what runs it."""

    def __init__(self, module: GraphModule, takes: list[int]):
        self.module = module
        self.takes = takes
        replay: Any = module.forward
        self.run = lambda values: replay(*values)


def _form(raw: torch.Tensor) -> tuple:
    return raw.shape, raw.dtype, raw.device
