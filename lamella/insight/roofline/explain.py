"""`explain`: what a step does, and what limits it on this machine."""

from __future__ import annotations

import contextlib
import functools
import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ...core import context
from ...core.state import state
from ...core.threads import compiled_calls
from ...graph.guards.reachable import Reachable
from ...graph.guards.search import reachable_from_call
from ...graph.passes.trial import copies
from ...graph.runtime.autotuner import Autotuner
from ...graph.runtime.compiled import Compiled
from ...graph.runtime.keys import key_of, raws_of
from ...graph.runtime.recompilations import name_of
from ...graph.runtime.replay import Replay
from ...graph.runtime.stage import Heat
from ...graph.surface.mode import compiled_cell
from ...graph.tracing.copies import copied
from ...graph.tracing.refusals import CannotTrace
from ...graph.tracing.run import run_traced
from ...graph.tracing.undo import undone
from ...nn.cell import Cell
from .kernels import Record, Replayed, Watched, seconds_of
from .report import Report

FEWEST, MOST = 3, 30  # rounds
PATIENCE = 4.0  # the most seconds, unless the fewest rounds take longer


def explain(step: Callable[..., Any], *args: Any, **kwargs: Any) -> Report:
    """What a step does, and what limits it on this machine.

    Each kernel of the step is run by itself several times, on the actual data; the quickest run
    counts. Beside its time stand its floating-point operations, the bytes it has to read and write,
    and the least time that so much work takes on this machine, whose peaks (products in this type,
    memory of this size) are measured once. Parameters, buffers, random numbers and the arguments
    are as before when this returns.

    A function made by `jit` is explained as it runs now: the improved graph, once it is hot. If
    machine code runs it, the time of the whole is that of machine code, and kernels are those of
    the graph that it was made of. Any other function, or Cell, is explained as it runs eagerly; it
    is called a few times, and what it does to objects other than Tensors and Cells stays done.

    Args:
        step: a function, a Cell, or what `jit` made of one.
        *args: what to call it with.
        **kwargs: by name.

    Returns:
        A `Report`: ``print(report)`` shows tables, ``report.save("step.html")`` writes a page with
        its table, timeline, roofline and graph, ``report.to_dict()`` gives the numbers.

    Raises:
        TypeError: if `step` can't be called.
        RuntimeError: inside a gradient call or a compiled function.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(64, 64)
        >>> step = ms.jit(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
        >>> report = ms.explain(step, ms.ops.ones((32, 64), ms.float32))
        >>> report.how
        'replay'
        >>> [(k.name, k.cost.kind, k.cost.flops) for k in report.kernels][0]
        ('addmm', 'product', 262144)
        >>> 0 < report.limit <= report.kernel_seconds
        True
    """
    if not callable(step):
        raise TypeError(f"For 'explain', 'step' must be a function or a Cell, "
                        f"but got {type(step).__name__}.")
    if state.trace is not None or state.level is not None:
        raise RuntimeError("For 'explain', the step must be called by itself, not inside a "
                           "gradient call or a compiled function.")
    compiled, args = _compiled(step, args)
    args, kwargs = copied((args, kwargs))
    function = step if compiled is None else compiled.fn
    reach = reachable_from_call(function, args, kwargs)
    with undone(reach):
        if compiled is not None:
            try:
                replay = _replay_of(compiled, reach, args, kwargs)
                return _of_replay(_short(compiled.name), replay, raws_of(args, kwargs))
            except CannotTrace as reason:
                note = f"It can't be one graph: it {reason}; so it runs eagerly."
        else:
            note = ""
        return _of_function(_short(name_of(function)), function, args, kwargs, note)


def _short(name: str) -> str:
    """The name of a function without that of the one it was made in."""
    return name.rpartition("<locals>.")[2]


def _compiled(step: Any, args: tuple) -> tuple[Compiled | None, tuple]:
    """What runs compiled when `step` is called, and with which arguments; None if nothing does."""
    if isinstance(step, Cell):
        if isinstance(step.construct, Compiled):
            return step.construct, args
        if context.get_context("mode") == context.GRAPH_MODE:
            return compiled_cell(step), args
    if isinstance(step, functools.partial) and isinstance(step.func, Compiled) and (
            not step.keywords):
        return step.func, (*step.args, *args)
    return (step if isinstance(step, Compiled) else None), args


def _replay_of(compiled: Compiled, reach: Reachable, args: tuple, kwargs: dict) -> Replay:
    """The graph that such a call runs; recorded, if there is none yet.

    Raises:
        CannotTrace: if it runs eagerly.
    """
    key = key_of(args, kwargs)
    line = compiled.cache.lines.get(key)
    if line is not None and line.eager is not None:
        raise CannotTrace(line.eager.removeprefix("it "))
    inputs = raws_of(args, kwargs)
    for entry in compiled.cache.of_call(args, kwargs):
        if entry.holds() and _applies(entry.replay, inputs):
            return entry.replay
    with compiled_calls.closed() as alone:
        if not alone:
            raise CannotTrace("is run by other threads just now")
        # its output has been printed before
        with contextlib.redirect_stdout(io.StringIO()), compiled.meaning():
            trace = run_traced(compiled.fn, args, kwargs, reach)
        if trace.refused is not None:
            raise CannotTrace(trace.refused.what)
        replay = Replay(trace, inputs, compiled.level)
    values = _values(replay, inputs)
    execution = replay.execution
    if values is not None and not execution.settled:
        with torch.enable_grad():
            execution.planned(values).run(values, execution.streams)
            execution.planned(values).settle(values, Heat.COLD)  # an earlier process's choice
    return replay


def _values(replay: Replay, inputs: list[torch.Tensor]) -> list[torch.Tensor] | None:
    """The inputs of a graph; those that it would mutate are copied."""
    values = replay.inputs.values(inputs)
    return None if values is None else copies(replay.execution.graph, values)


def _applies(replay: Replay, inputs: list[torch.Tensor]) -> bool:
    values, execution = _values(replay, inputs), replay.execution
    with torch.enable_grad():
        return values is not None and execution.planned(values).run(values, execution.streams)


def _of_replay(name: str, replay: Replay, inputs: list[torch.Tensor]) -> Report:
    """The report on a recorded graph, as it is run now."""
    original, values = replay.inputs.values(inputs), _values(replay, inputs)
    assert original is not None and values is not None
    plan = replay.execution.planned(values)
    runs = []
    for stage in plan.stages:
        # a stage that changes nothing gets the data themselves: it may be made for where they lie
        own = values if stage.part.changes_inputs else original
        run = stage.replay if isinstance(stage.run, Autotuner) else stage.run
        runs.append((run, stage.takes, [*own, *plan.constants]))

    def whole() -> None:
        made: list[torch.Tensor] = []
        for run, takes, own in runs:
            known = len(own)
            made.extend(run([own[i] if i < known else made[i - known] for i in takes]))

    with torch.enable_grad():
        stages = [(stage.part.copied(), stage.takes) for stage in plan.stages]
        replayed = Replayed(stages, [*values, *plan.constants])
        record, seconds = _measured(replayed.round, whole, _device(values))
    note = "" if replay.execution.settled else (
        "How it is run is not settled: it becomes faster when it has run some more.")
    return Report(name, replay.execution.backend, record, seconds, note)


def _of_function(name: str, function: Callable[..., Any], args: tuple, kwargs: dict,
                 note: str) -> Report:
    """The report on a function that runs eagerly."""
    if context.get_context("mode") == context.GRAPH_MODE and not note:
        note = "In GRAPH_MODE parts of it run compiled; 'jit' compiles the whole of it."
    def once(record: Record) -> None:
        with Watched(record):
            function(*args, **kwargs)
        record.end()

    with contextlib.redirect_stdout(io.StringIO()), _all_eager():
        record, seconds = _measured(once, lambda: function(*args, **kwargs),
                                    _device(raws_of(args, kwargs)))
    return Report(name, "eager", record, seconds, note)


@contextlib.contextmanager
def _all_eager() -> Iterator[None]:
    """A block in which GRAPH_MODE compiles nothing."""
    before, state.whole = state.whole, True
    try:
        yield
    finally:
        state.whole = before


def _device(values: list[torch.Tensor]) -> torch.device:
    """Where a step runs: on a GPU, if anything is there."""
    devices = [v.device for v in values if v.device.type != "cpu"]
    return devices[0] if devices else context.current_device()


def _measured(once: Callable[[Record], None], whole: Callable[[], None],
              device: torch.device) -> tuple[Record, float]:
    """The kernels, and the seconds of the whole, each of its quickest run."""
    record, best = Record(device), float("inf")
    whole()
    start = time.perf_counter()
    while record.rounds < MOST:
        once(record)
        best = min(best, seconds_of(whole, device))
        if record.rounds >= FEWEST and time.perf_counter() - start > PATIENCE:
            break
    return record, best
