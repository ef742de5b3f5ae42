"""A graph made ready to run, stage by stage, each by whatever runs it fastest."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import GraphModule, Node

from .choice import Choice, Run, agree
from .native import Native
from .stages import Cut, is_random, lift_constants

FEWEST = 3  # operations that are worth compiling


class Plan:
    """How a graph is run: its stages, and what its guards have to be.

    Args:
        graph: the graph; its results are the guards, then what it is for.
        expected: what the guards have to be.
        compile: whether stages may be compiled.

    Raises:
        CannotCut: if a guard depends on what the graph changes.
    """

    def __init__(self, graph: GraphModule, expected: list[Any], compile: bool):
        graph, self.constants = lift_constants(graph)
        cut = Cut(graph, len(expected))
        places = dict(cut.input_guards)
        self.input_guards = [(place, expected[i]) for i, place in places.items()]
        others = [value for i, value in enumerate(expected) if i not in places]
        self.guards = list(zip(cut.guards, others, strict=True))
        self.checked_after = cut.checked_after
        self.results = cut.results
        last = len(cut.stages) - 1
        self.stages = [Stage(module, takes, compile and not (cut.last_changes and number == last))
                       for number, (module, takes) in enumerate(cut.stages)]
        self.settled = all(stage.settled for stage in self.stages)

    def run(self, values: list[torch.Tensor], streams: list[torch.Generator]) -> bool:
        """Run the stages; `values`, the inputs, are followed by all they give.

        Returns:
            Whether the guards hold; if not, nothing happened.
        """
        for place, value in self.input_guards:
            if values[place].item() != value:
                return False
        values.extend(self.constants)
        before = [s.get_state() for s in streams] if self.guards else []
        for number, stage in enumerate(self.stages):
            values.extend(stage.run([values[i] for i in stage.takes]))
            if number + 1 == self.checked_after and not self._applies(values):
                for stream, position in zip(streams, before, strict=True):
                    stream.set_state(position)
                return False
        return True

    def _applies(self, values: list[torch.Tensor]) -> bool:
        return all(values[place].item() == value for place, value in self.guards)

    def settle(self, values: list[torch.Tensor], hot: bool) -> None:
        """Go on finding what runs each stage fastest; `values` are those of a run."""
        for stage in self.stages:
            stage.settle([values[i] for i in stage.takes], hot)
        self.settled = all(stage.settled for stage in self.stages)


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


def _kernels(module: GraphModule) -> int:
    """How many operations a graph has that compute."""
    return sum(n.op == "call_function" and not _is_view(n) for n in module.graph.nodes)


def _is_view(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is None or (not schema.is_mutable
                              and any(r.alias_info is not None for r in schema.returns))
