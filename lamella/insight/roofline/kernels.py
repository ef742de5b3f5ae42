"""Running the kernels of a step one by one, with a clock beside each."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.node import map_arg
from torch.utils.weak import WeakTensorKeyDictionary

from ...core.dispatch_mode import DispatchMode
from ...device import kinds
from ...graph.tracing.lines import NOWHERE, Line, Lines
from .costs import Cost, cost_of, is_free, name_of

FARTHEST = 40  # nodes that are searched for a line


@dataclass
class Kernel:
    """One call of a kernel in a step.

    Attributes:
        number: its place among the kernels of the step.
        name: PyTorch's name of it.
        cost: what it takes.
        line: the user's line that it comes from.
        sources: the kernels whose results it reads, with the bytes of each.
        seconds: of the quickest of its runs.
        limit: the least seconds that so much work takes on this machine.
        bound: what that comes from, ``"compute"`` or ``"memory"``.
    """

    number: int
    name: str
    cost: Cost
    line: Line
    sources: dict[int, int]
    seconds: float = float("inf")
    limit: float = 0.0
    bound: str = "memory"


@dataclass
class Record:
    """The kernels of a step, over some rounds.

    Attributes:
        kernels: in the order in which they run.
        views: how many calls give views, or empty memory; those are no kernels.
        rounds: how often the step has been run.
    """

    device: torch.device
    kernels: list[Kernel] = field(default_factory=list)
    views: int = 0
    rounds: int = 0
    _times: list[tuple[str, Any]] = field(default_factory=list)

    def call(self, target: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run a kernel and note how long it takes.

        On a GPU that is the time between two events around it: a kernel that is shorter than its
        call takes, counts as long as the call.
        """
        if kinds.has_streams(self.device):
            before, after = kinds.timers(self.device)
            before.record()
            out = target(*args, **kwargs)
            after.record()
            self._times.append((name_of(target), (before, after)))
            return out
        start = time.perf_counter()
        out = target(*args, **kwargs)
        self._times.append((name_of(target), time.perf_counter() - start))
        return out

    def add(self, target: Any, args: Sequence[Any], kwargs: dict[str, Any], out: Any, line: Line,
            sources: dict[int, int]) -> int:
        """Note the arguments of a kernel in the first round; returns its number."""
        number = len(self._times) - 1
        if self.rounds == 0:
            self.kernels.append(Kernel(number, name_of(target), cost_of(target, tuple(args), kwargs,
                                                                        out), line, sources))
        return number

    def end(self) -> None:
        """End a round. One with other kernels than the first doesn't count."""
        kinds.synchronize(self.device)
        times, self._times = self._times, []
        self.rounds += 1
        if [name for name, _ in times] == [k.name for k in self.kernels]:
            for kernel, (_, took) in zip(self.kernels, times, strict=True):
                seconds = took if isinstance(took, float) else took[0].elapsed_time(took[1]) / 1e3
                kernel.seconds = min(kernel.seconds, seconds)


class Replayed:
    """The stages of a recorded graph, run node by node.

    Args:
        stages: modules, each with the places of what it takes among the values so far.
        values: what the first of them are: the inputs.
    """

    def __init__(self, stages: Sequence[tuple[GraphModule, list[int]]],
                 values: list[torch.Tensor]):
        self.stages = [(module, takes, _last_uses(module)) for module, takes in stages]
        self.values = values

    def round(self, record: Record) -> None:
        """Run everything once."""
        values: list[Any] = list(self.values)
        makers: list[int | None] = [None] * len(values)
        for module, takes, last in self.stages:
            found, made = _play(module, last, [values[i] for i in takes],
                                [makers[i] for i in takes], record)
            values.extend(found)
            makers.extend(made)
        record.end()


def _last_uses(module: GraphModule) -> dict[Node, list[Node]]:
    """For each node, the values that no later node uses."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(module.graph.nodes):
        for used in (*node.all_input_nodes, node):
            if used not in seen:
                seen.add(used)
                found.setdefault(node, []).append(used)
    return found


def _play(module: GraphModule, last: dict[Node, list[Node]], inputs: list[torch.Tensor],
          given: list[int | None], record: Record) -> tuple[list[Any], list[int | None]]:
    """Run a stage; gives its results and the kernels that made them."""
    values: dict[Node, Any] = {}
    makers: dict[Node, int | None] = {}
    feed = iter(zip(inputs, given, strict=True))
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values[node], makers[node] = next(feed)
        elif node.op == "get_attr":
            values[node], makers[node] = operator.attrgetter(node.target)(module), None
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            return [values[n] for n in results], [makers[n] for n in results]
        else:
            args, kwargs = map_arg((node.args, node.kwargs), lambda n: values[n])
            if is_free(node.target):
                record.views += record.rounds == 0
                values[node] = node.target(*args, **kwargs)
                makers[node] = next((makers[n] for n in node.all_input_nodes), None)
            else:
                values[node] = record.call(node.target, args, kwargs)
                sources = {made: _bytes(values[n]) for n in node.all_input_nodes
                           if (made := makers[n]) is not None}
                makers[node] = record.add(node.target, args, kwargs, values[node],
                                          _line_of(node), sources)
        for used in last.get(node, ()):
            values.pop(used, None)
    raise AssertionError("a graph without an output")


def _line_of(node: Node) -> Line:
    """The line of a node; of one that a pass has put in, that of the nearest that has one."""
    near = [node]
    for found in near:
        if "line" in found.meta:
            return found.meta["line"]
        if len(near) < FARTHEST:
            near.extend(n for n in (*found.users, *found.all_input_nodes) if n not in near)
    return NOWHERE


def _bytes(value: Any) -> int:
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0


class Watched(DispatchMode):
    """Inside of it, each kernel that a function calls is run with a clock beside it."""

    def __init__(self, record: Record):
        super().__init__()
        self.record = record
        self._lines = Lines()
        self._makers = WeakTensorKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace == "prim":
            return func(*args, **kwargs)
        known = {made: _bytes(raw) for raw in _raws((args, kwargs))
                 if (made := self._makers.get(raw)) is not None}
        if is_free(func):
            self.record.views += self.record.rounds == 0
            out, number = func(*args, **kwargs), next(iter(known), None)
        else:
            out = self.record.call(func, args, kwargs)
            number = self.record.add(func, args, kwargs, out, self._lines.here(), known)
        if number is not None:
            for raw in _raws(out):
                self._makers[raw] = number
        return out


def _raws(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [r for v in value for r in _raws(v)] if isinstance(value, (tuple, list)) else []


def seconds_of(run: Callable[[], object], device: torch.device) -> float:
    """How long a call takes, until the device is done with it."""
    kinds.synchronize(device)
    start = time.perf_counter()
    run()
    kinds.synchronize(device)
    return time.perf_counter() - start
