"""Trials: a rewritten graph runs on copies of its inputs; is it right, and is it faster?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx.node import map_arg

from ...machine.memory import returning_freed_memory
from ...machine.timing import Rounds
from ..ir.agreement import agree_but_for_kinks, next_to
from ..ir.lazy_module import copied
from ..ir.metadata import copy_of
from ..ir.operations import nodes_in
from ..ir.stages import ending_of, written_inputs
from ..ir.streams import generators_restored, streams_of

HOPELESS = 1.1  # a graph this many times slower than before is given up
FEWEST, MOST = 3, 25  # runs of each graph
PATIENCE = 1.0  # the most seconds of a trial, unless the fewest runs take longer
DISTURBED = 0.1  # seconds that other work on the machine may spoil; nothing is given up before

Values = list[torch.Tensor]


class NotYet(Exception):
    """A rewriting has used up its time for measuring; its next attempt continues."""


def copies(graph: GraphModule, inputs: Sequence[torch.Tensor]) -> Values:
    """Inputs for a run without side effects: those that the graph writes are copied."""
    written = set(written_inputs(graph))
    return [copy_of(x) if i in written else x.detach() for i, x in enumerate(inputs)]


def pays(graph: GraphModule, other: GraphModule, inputs: Sequence[torch.Tensor]) -> bool:
    """Whether `other` has the results and mutations of `graph`, and is clearly faster.

    The results are compared unless each changed kernel has been (``meta["verified"]``). If the
    times don't tell clearly, `other` is marked by ``meta["unsure"]``.
    """
    streams, is_verified = streams_of(graph), other.meta.get("verified")
    marked = other.meta
    (short, ending), (its, its_ending) = _without_ending(graph), _without_ending(other)
    if ending == its_ending:
        graph, other = short, its
    with generators_restored(streams):
        device = inputs[0].device if inputs else torch.device("cpu")
        start = time.perf_counter()
        try:
            with returning_freed_memory():
                if not (is_verified or is_right(graph, other, inputs, streams)):
                    return False
        except RuntimeError:  # a kernel refuses its arguments
            return False
        own, rounds, begin = copies(graph, inputs), Rounds(("before", "after")), time.perf_counter()
        while rounds.count < MOST and not (rounds.count >= FEWEST and (
                (now := time.perf_counter()) - start > PATIENCE
                or now - begin > DISTURBED and rounds.share("after") > HOPELESS)):
            for name, its in (("before", graph), ("after", other)):
                if rounds.are_brief:
                    _run(its, own)
                rounds.timed(name, lambda its=its: _run(its, own), device)
        marked["unsure"] = not rounds.is_sure
        return rounds.fastest() == "after"


def _without_ending(graph: GraphModule) -> tuple[GraphModule, list[Any]]:
    """A graph up to where it mutates its inputs, and the operations that are left out.

    It gives what these compute with, and the other results: to run it, nothing has to be copied.
    """
    short = copied(graph)
    late, nodes = ending_of(short), list(short.graph.nodes)
    ending = [n for n in nodes if n in late]
    last = [*ending, nodes[-1]]
    read = [n for node in last for n in nodes_in([*node.args, *node.kwargs.values()])
            if n not in late and n.op not in ("placeholder", "get_attr")]
    known = [n for n in nodes if n.op == "placeholder"] + ending
    numbers = {n: i for i, n in enumerate(known)}
    written = [(n.target, map_arg((n.args, n.kwargs), numbers.get)) for n in last]
    nodes[-1].args = (read,)
    for node in reversed(ending):
        short.graph.erase_node(node)
    return short, written


def is_right(graph: GraphModule, other: GraphModule, inputs: Sequence[torch.Tensor],
             streams: Sequence[torch.Generator]) -> bool:
    """Whether results and mutated inputs of `other` equal those of `graph`, up to rounding."""
    with generators_restored(streams):
        wanted = _results(graph, copies(graph, inputs))
    with generators_restored(streams):
        got = _results(other, copies(other, inputs))
    if [x.stride() for x in wanted] != [x.stride() for x in got]:
        return False

    def again() -> Values:
        with generators_restored(streams):
            return _results(graph, [next_to(x) for x in inputs])

    return agree_but_for_kinks(wanted, got, again)


def _results(graph: GraphModule, inputs: Values) -> Values:
    """The results of a run, and the inputs that it mutated."""
    found = _run(graph, inputs)
    return [*found, *(inputs[i] for i in written_inputs(graph))]


def _run(graph: GraphModule, inputs: Values) -> Values:
    # nothing requires a gradient; but some kernels keep less for the backward pass without this
    with torch.enable_grad():
        found = graph.forward(*inputs)
    return [found] if isinstance(found, torch.Tensor) else list(found)
