"""Trying a rewritten graph on copies: is it right, and is it faster?"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from torch.fx import GraphModule

from ..ir.stages import written_inputs
from ..ir.streams import streams_of, undrawn

GAIN = 0.97  # of the time before: what it must be to be worth a change
CLEAR = 1.1  # times the time before: no hope
FEWEST, MOST = 2, 25  # runs of each
MISTAKE = 0.05  # the relative difference that can't be rounding
PATIENCE = 1.0  # seconds of trying, when the fewest runs are over
SLOW = 0.3  # seconds of a run that tell enough even if it is the first

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
    with undrawn(streams):
        first, second = copies(graph, inputs), copies(other, inputs)
        device = inputs[0].device if inputs else torch.device("cpu")
        start = time.perf_counter()
        with undrawn(streams):
            took, wanted = _timed(graph, first, device)
        try:
            its, got = _timed(other, second, device)
        except RuntimeError:  # a kernel that doesn't take what it is given
            return False
        if not alike([*wanted, *first], [*got, *second]):
            return False
        del wanted, got
        before, after = ([took], [its]) if took > SLOW else ([], [])
        while len(before) < MOST:
            if before and time.perf_counter() - start > PATIENCE and (
                    len(before) >= FEWEST or min(after) > CLEAR * min(before)):
                break
            before.append(_timed(graph, first, device)[0])
            after.append(_timed(other, second, device)[0])
        return min(after) < GAIN * min(before)


def _run(graph: GraphModule, inputs: Values) -> Values:
    with torch.enable_grad():  # nothing requires one; some kernels keep less for later without
        found = graph.forward(*inputs)
    return [found] if isinstance(found, torch.Tensor) else list(found)


def alike(wanted: Values, got: Values) -> bool:
    """Whether two runs gave the same, as far as other kernels can.

    Rounding decides on which side of a kink a value near it falls, and is all there is of a
    gradient that should be zero; so this finds mistakes, not differences in the last digits.
    """
    if len(wanted) != len(got):
        return False
    exact = [(a, b) for a, b in zip(wanted, got, strict=True) if not a.is_floating_point()]
    rough = [(a, b) for a, b in zip(wanted, got, strict=True) if a.is_floating_point()]
    if any(a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride()
           for a, b in [*exact, *rough]) or not all(torch.equal(a, b) for a, b in exact):
        return False
    sizes = [_rms(a) for a, _ in rough]
    least = 1e-6 * max(sizes, default=0.0)
    return all(_rms(a.float() - b.float()) <= MISTAKE * size + least or torch.equal(a, b)
               for (a, b), size in zip(rough, sizes, strict=True))


def _rms(x: torch.Tensor) -> float:
    """The root of the mean square of what is finite."""
    x = torch.nan_to_num(x.float(), 0, 0, 0)
    return float(x.norm()) / max(x.numel(), 1) ** 0.5


def _timed(graph: GraphModule, inputs: Values, device: torch.device) -> tuple[float, Values]:
    """The seconds that a run takes, and what it gives."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    found = _run(graph, inputs)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start, found
