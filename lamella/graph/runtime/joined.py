"""Joins the last stage that computes with the stage that changes inputs, where that saves memory.

The results of a stage live until the end of the call. Those of the last stage that computes are
all the gradients. If it runs as one with the updates, each gradient is freed after its update.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection

import torch
from torch.fx import GraphModule

from ..ir.lazy_module import KernelGraph, LazyModule
from ..ir.metadata import meta_of
from ..ir.stages import Cut, Part, ending_of
from ..passes.early_updates import update_early
from .program import NoProgram, Run, extension, in_cpp

aten = torch.ops.aten


class Joined:
    """The last two stages of a plan as one.

    Args:
        graph: the operations of both, in an order in which gradients die early.
        takes: the places of its inputs among the values that a replay has so far.
        gives: the places of its results.
        count: how many results the two stages have, most of which it doesn't keep.
    """

    def __init__(self, graph: GraphModule, takes: list[int], gives: list[int], count: int):
        self.part, self._takes, self._gives = Part.whole(_marked(graph)), takes, gives
        self._count = count
        self._run: Run | None = None
        self.lower()

    @property
    def is_ready(self) -> bool:
        """Whether it can run: in C++, where no interrupt ends it between two updates."""
        return self._run is not None

    def lower(self) -> None:
        """Run by what is built in C++, if it is there."""
        built = extension.load()
        if built is not None and self._run is None:
            with contextlib.suppress(NoProgram):
                self._run = in_cpp(self.part, built.make)

    def run(self, values: list[torch.Tensor]) -> bool:
        """Run both; their results are appended to `values`.

        Args:
            values: what a replay has so far.

        Returns:
            Whether it ran; if not, a kernel has failed before any input was changed.

        Raises:
            Exception: if a kernel fails afterwards.
        """
        assert self._run is not None
        begun = torch.zeros(())
        try:
            found = self._run([*[values[i] for i in self._takes], begun])
        except Exception:
            if begun:
                raise
            return False
        values.extend([begun] * self._count)  # in place of what nobody needs
        for place, value in zip(self._gives, found, strict=True):
            values[place] = value
        return True


def joined(cut: Cut, checks: Collection[int]) -> Joined | None:
    """The last two stages as one; None if they can't be, or if that saves no memory.

    Args:
        cut: the stages of a graph.
        checks: the numbers of stages after which guards are compared.
    """
    last = len(cut.stages) - 1
    if cut.changing != last or last < 1 or cut.exchanges or any(n >= last for n in checks):
        return None
    parts, places = [part for part, _ in cut.stages[-2:]], [its for _, its in cut.stages[-2:]]
    if any(meta is not None and meta.device.type != "cpu" for part in parts
           for meta in map(meta_of, (*part.inputs, *part.nodes))):
        return None  # memory may run out between two updates
    first = len(cut.inputs) + sum(len(part.results) for part, _ in cut.stages[:-2])
    end = first + len(parts[0].results)
    place = {node: i for part, its in zip(parts, places, strict=True)
             for node, i in zip(part.inputs, its, strict=True)}
    made = dict(zip(parts[0].results, range(first, end), strict=True))
    kept = {node: i for node, i in made.items() if i in cut.results}
    kept.update(zip(parts[1].results, range(end, end + len(parts[1].results)), strict=True))
    inputs = [node for node in place if node not in made]
    graph, copies = KernelGraph(), {}
    for node in inputs:
        copies[node] = graph.placeholder(f"in_{node.name}")
        copies[node].meta.update(node.meta)
    for node in dict.fromkeys([*parts[0].nodes, *parts[1].nodes]):
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output([copies[node] for node in kept])
    early = update_early(LazyModule(cut.root, graph))
    if early is None:
        return None
    return Joined(early, [place[node] for node in inputs], list(kept.values()),
                  end + len(parts[1].results) - first)


def _marked(module: GraphModule) -> GraphModule:
    """The graph with one input more, which it sets to 1 before it changes any other."""
    graph, ending = module.graph, ending_of(module)
    nodes = list(graph.nodes)
    places = [n for n in nodes if n.op == "placeholder"]
    with graph.inserting_after(places[-1]):
        mark = graph.placeholder("begun")
    with graph.inserting_before(next(n for n in nodes if n in ending)):
        graph.call_function(aten.fill_.Scalar, (mark, 1))
    return module
