"""A network whose stages run on different processes, on one part of the batch after another.

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
from ..autodiff.tree import map_tensors, tensors
from ..communication import exchange, settings
from ..communication.groups import group_of
from ..core.state import state
from ..tensors.tensor import Tensor, wrap
from . import sharding
from .chunks import Chunks
from .stage_plan import Plan, plan
from .stage_step import StageStep, form, zeros_of
from .stages import here, pipeline_of, place, placement_in

__all__ = ["from_one", "run_stages", "staged"]


class _Gradients(torch.autograd.Function):
    """The loss of a step; its gradients are computed with it, or later in the backward pass."""

    @staticmethod
    def forward(ctx: Any, step: StageStep, places: Sequence[int], *aliases: torch.Tensor) -> Any:
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
    """The gradient that the backward pass starts from; None if only the program can give it.

    In types other than float16 it is one, and the gradients are multiplied at the end.
    """
    if here.start is not None:
        return here.start(wrap(zeros_of(found.result)))._raw
    return None if found.narrow else torch.ones((), dtype=found.result.dtype,
                                                device=found.result.device)


def staged(network: Callable[..., Any], name: str,
           start: Callable[[Any], Any] | None = None) -> Callable[..., Any]:
    """The network, run by its stages; the batch is one part, unless the network cuts it itself.

    Args:
        start: returns, for a loss, the gradient that the backward pass starts from.

    Raises:
        RuntimeError: when called, if no Cell in it belongs to a stage.
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
    """The sum of the network's results for the parts of a batch, each stage on its processes.

    Args:
        network: a Cell, some Cells in which have a ``pipeline_stage``.
        cut: returns, for each part of the batch, the arguments of the network.
        name: the function that the program called.

    Raises:
        RuntimeError: if another process raised an error, has ended, or runs something else.
    """
    _count.runs += 1
    exchange.refuse_graphs("runs the stages of a pipeline, which exchange messages; the Cells of a "
                           "stage can be compiled: 'cell.construct = jit(cell.construct)'")
    if lifted() or (state.level is not None and state.level.outer is not None):
        raise RuntimeError(f"For '{name}', stages on several processes have first derivatives in "
                           f"reverse mode only.")
    pipeline = pipeline_of()
    split = sharding.splits_stages(network)
    parts, found = _planned(network, functools.partial(_whole_parts, cut, name) if split else cut,
                            name)
    overlay = {} if state.overlay is None else state.overlay
    for parameter, stage in found.owners.items():
        place(parameter, stage, pipeline, functools.partial(placement_in, pipeline))
    weights = [parameter for parameter in found.owners
               if parameter in overlay and overlay[parameter].requires_grad]
    places = [i for i, w in enumerate(weights) if found.owners[w] == pipeline.stage]
    step = StageStep(network, parts, found, pipeline, weights, _start(found),
                     settings._get("pipeline_scheduler"), split, name)
    if not weights:
        with torch.no_grad():
            return wrap(step.run())
    if found.result.numel() != 1:
        raise RuntimeError(f"For '{name}', the network to differentiate must return a loss, a "
                           f"Tensor of one element, but it returned one of shape "
                           f"{tuple(found.result.shape)}.")
    aliases = [overlay[weight] for weight in weights]
    return wrap(_Gradients.apply(step, places, *aliases))  # type: ignore[arg-type]


def _planned(network: Any, cut: Callable[[], list[tuple]], name: str
             ) -> tuple[list[tuple], Plan]:
    """The parts of the batch, and the plan for them, which must be the same in all processes."""
    error, parts, found = None, [], None
    try:
        parts = cut()
        found = _plan_of(network, parts, name)
    except Exception as raised:  # noqa: BLE001 - first sent to the other processes
        error = raised
    summary = (f"raises {error!r}" if found is None else
               f"cuts {len(parts)} parts, {_summary_of_plan(found)}, "
               f"{_summary_of_gradients(found)}")
    try:
        exchange.compare(name, summary, group_of(None, name))
    except exchange.Divergence:
        if error is None:
            raise
    if found is None:
        raise error or RuntimeError(f"For '{name}', there is no plan.")
    return parts, found


def _whole_parts(cut: Callable[[], list[tuple]], name: str) -> list[tuple]:
    """The parts of a batch whose rows the processes of a stage share, whole in each of them."""
    error, parts = None, []
    try:
        parts = cut()
    except Exception as raised:  # noqa: BLE001 - first sent to the other processes
        error = raised
    exchange.raise_in_all(name, error, group_of(None, name))
    return [sharding.wholes(part, name) for part in parts]


def _check_order(found: Plan, parts: int, name: str) -> None:
    """Make the timetable of a step.

    Raises:
        ValueError: if there is none for so many parts.
    """
    scheduler = settings._get("pipeline_scheduler")
    try:
        found.table(scheduler, parts, True)
    except ValueError as error:
        raise ValueError(f"For '{name}', stages that run {found.count // found.chunks.stages} "
                         f"chunks each in the order {scheduler!r} can't have {parts} parts of a "
                         f"batch: {error}") from error


def _chunks() -> Chunks:
    """Which stage runs which chunk of a network, by the settings."""
    order = ("v" if settings._get("pipeline_scheduler") == "zero_bubble_v" else
             "loop" if settings._get("pipeline_interleave") else "once")
    return Chunks(settings._get_pipeline_stages(), order)


def _plan_of(network: Any, parts: list[tuple], name: str) -> Plan:
    """The plan for so many parts of these shapes and types."""
    part = parts[0]
    for each in tensors(part):
        if each._raw.requires_grad:
            raise RuntimeError(f"For '{name}', stages on several processes have gradients by "
                               f"Parameters only, not by inputs.")
    kept = network.__dict__.setdefault("_stage_plans", {})
    chunks = _chunks()
    key = (chunks, network.training, repr(map_tensors(lambda t: form(t._raw), part)))
    if key not in kept:
        kept[key] = plan(network, part, chunks, name)
    _check_order(kept[key], len(parts), name)
    return kept[key]


def _summary_of_plan(found: Plan) -> str:
    """A short text that differs where plans differ."""
    sent = [(value.number, value.chunk, form(value.like)) for needs in found.needs
            for value in needs]
    owners = [(parameter.name, stage) for parameter, stage in found.owners.items()]
    sent += [[parameter.name for parameter in borrowed] for borrowed in found.borrowed]
    first = found.calls[0].values[0].like if found.calls and found.calls[0].values else found.result
    return (f"runs stages whose first Cell gives {tuple(first.shape)}, and which send {len(sent)} "
            f"Tensors, {zlib.crc32(repr((sent, owners)).encode()):08x}")


def _summary_of_gradients(found: Plan) -> str:
    """A short text of which gradients a step computes, and in what order."""
    overlay = {} if state.overlay is None else state.overlay
    by = [p.name for p in found.owners if p in overlay and overlay[p].requires_grad]
    when = "at once" if here.start is not None or not found.narrow else "in the backward pass"
    return (f"with gradients by {len(by)} Parameters, {zlib.crc32(repr(by).encode()):08x}, {when}, "
            f"in the order {settings._get('pipeline_scheduler')}, {_chunks().order}")
