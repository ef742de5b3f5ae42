"""Trying a rewritten graph on copies: is it right, and is it faster?"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch.fx import GraphModule

from ...machine.timing import Rounds
from ..ir.agreement import agree_but_for_kinks, next_to
from ..ir.stages import written_inputs
from ..ir.streams import generators_restored, streams_of

HOPELESS = 1.1  # times the time before
FEWEST, MOST = 3, 25  # runs of each
PATIENCE = 1.0  # seconds of trying, when the fewest runs are over

Values = list[torch.Tensor]


class NotYet(Exception):
    """A rewriting has measured for long enough, and goes on when it is tried again."""


def copies(graph: GraphModule, inputs: Sequence[torch.Tensor]) -> Values:
    """Inputs for a run that changes nothing outside: those that it writes are copied."""
    written = set(written_inputs(graph))
    return [_copied(x) if i in written else x.detach() for i, x in enumerate(inputs)]


def _copied(x: torch.Tensor) -> torch.Tensor:
    copy = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    return copy.copy_(x.detach())


def pays(graph: GraphModule, other: GraphModule, inputs: Sequence[torch.Tensor]) -> bool:
    """Whether `other` gives and changes the same as `graph`, and is clearly faster."""
    streams = streams_of(graph)
    with generators_restored(streams):
        device = inputs[0].device if inputs else torch.device("cpu")
        start = time.perf_counter()
        try:
            if not is_right(graph, other, inputs, streams):
                return False
        except RuntimeError:  # a kernel that doesn't take what it is given
            return False
        own, rounds = copies(graph, inputs), Rounds(("before", "after"))
        while rounds.count < MOST and not (
                rounds.count >= FEWEST and (time.perf_counter() - start > PATIENCE
                                            or rounds.share("after") > HOPELESS)):
            rounds.timed("before", lambda: _run(graph, own), device)
            rounds.timed("after", lambda: _run(other, own), device)
        return rounds.fastest() == "after"


def is_right(graph: GraphModule, other: GraphModule, inputs: Sequence[torch.Tensor],
             streams: Sequence[torch.Generator]) -> bool:
    """Whether each element that `other` gives and changes is that of `graph`, up to rounding."""
    with generators_restored(streams):
        wanted = _results(graph, inputs)
    with generators_restored(streams):
        got = _results(other, inputs)
    if [x.stride() for x in wanted] != [x.stride() for x in got]:
        return False

    def again() -> Values:
        with generators_restored(streams):
            return _results(graph, [next_to(x) for x in inputs])

    return agree_but_for_kinks(wanted, got, again)


def _results(graph: GraphModule, inputs: Sequence[torch.Tensor]) -> Values:
    """What a run gives and changes."""
    own = copies(graph, inputs)
    found = _run(graph, own)
    return [*found, *(own[i] for i in written_inputs(graph))]


def _run(graph: GraphModule, inputs: Values) -> Values:
    with torch.enable_grad():  # nothing requires one; some kernels keep less for later without
        found = graph.forward(*inputs)
    return [found] if isinstance(found, torch.Tensor) else list(found)
