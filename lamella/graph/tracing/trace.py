"""One run of a function, recorded as a graph of kernels.

The function runs for real, below autograd, while every kernel it calls is recorded: forward,
backward, clipping and the optimizer's update become one graph. Parameters it can reach are lent
copies of their data meanwhile, so that a run that raises changes nothing. Where the function turns
a tensor into a Python value, the value is noted as a *guard*: the graph stands for this path only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule

from ...autodiff.tree import map_tensors, tensors
from ...parameter import Parameter
from ...state import state
from ...tensor import Tensor, wrap
from ..guards.reach import Reach
from ..guards.values import plain
from ..ir.operations import must_stay
from ..ir.stages import written_inputs
from .changes import Before, Change, check_givable, given_unchanged
from .effects import Later, prints_put_off
from .recorder import CannotTrace, Recorder

if TYPE_CHECKING:
    from .symbolic import Symbolic


class Trace:
    """A run being recorded, and afterwards what it read, changed and gave.

    Attributes:
        held: the Parameters and Tensors that the run could reach other than as arguments; their
            data are inputs of the graph after the arguments.
        slots: for each of them, the dict and name to find its like under in a later call, or None
            where that is the object itself.
        constants: raw tensors that the run used, or made from numbers; inputs after those.
        assigned: which of `held` the run gave other data.
        guards: the raw tensors that were turned into Python values, and the values.
        attributes: by Cell and name, what the run assigned to attributes of Cells.
        changes: what it assigned there and elsewhere in Python's objects.
        fresh: generators of random numbers that it made for objects that it made, with their seeds.
        later: the calls put off until the run is over, such as those of `print`.
    """

    def __init__(self, reach: Reach, held: list[Tensor], slots: list[tuple[dict, str] | None],
                 recorder: Recorder):
        self.reach = reach
        self.recorder = recorder
        self.held = held
        self.slots = slots
        self.constants: list[torch.Tensor] = []
        self.guards: list[tuple[torch.Tensor, Any]] = []
        self.attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.changes: list[Change] = []
        self.fresh: list[tuple[torch.Generator, int, int]] = []
        self.later: list[Later] = []
        self.written: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.runs: dict[int, Any] = {}  # of Cells after `set_grad`, for their gradients
        self.assigned: list[int] = []
        self.out_tree: Any = None
        self.value: Any = None
        self.graph: GraphModule | None = None

    def peek(self, raw: torch.Tensor) -> Any:
        """The Python value of a one-element tensor."""
        with self.recorder.pause():
            return raw.detach().clone().item()

    def guard(self, raw: torch.Tensor) -> Any:
        """The Python value of a one-element tensor, noted as what this path stands for."""
        value = self.peek(raw)
        self.guards.append((raw.detach(), value))
        return value

    def refuse(self, what: str) -> None:
        """Say that the run does something no graph can hold."""
        raise CannotTrace(what)

    def note_attribute(self, cell: Any, name: str, value: Any) -> None:
        """Remember that the run assigned an attribute of a Cell."""
        self.attributes[id(cell), name] = (cell, name, value)

    def note_generator(self, owner: Any, made: torch.Generator, seed: int, seed2: int) -> None:
        """Remember that the run made a generator; every replay starts it anew.

        But not where its owner was there before: then the next run goes on with it.
        """
        if not self.reach.knows(owner):
            self.fresh.append((made, seed, seed2))

    def commit(self) -> None:
        """Change what the run has changed in place, which it had only been lent."""
        for original, lent in self.written:
            original.copy_(lent)

    def put_off(self, function: Callable[..., None], args: tuple, kwargs: dict) -> None:
        """Call a function when the run is over, and whenever it is replayed."""
        self.later.append(Later(function, args, kwargs))


def run_traced(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reach,
               symbolic: Symbolic | None = None, before: Before | None = None) -> Trace:
    """Run `fn` and record the run.

    Args:
        fn: called with `args` and `kwargs`.
        reach: what it can reach.
        symbolic: what stands for data of varying sizes, if the run is to be one on forms only.
        before: what it may change of what it can reach, as it is now.

    Raises:
        CannotTrace: if no graph can hold it.
    """
    if before is None:
        before = Before(reach, [])
    if reach.refused is not None:
        raise CannotTrace(reach.refused)
    # each input an object of its own, though the call may give the same one twice
    lend = symbolic.argument if symbolic else torch.Tensor.detach
    inputs = [lend(t._raw) for t in tensors((args, kwargs)) if not isinstance(t, Parameter)]
    others = sorted(((t, None if id(t) in reach.known_tensors else slot)
                     for t, slot in reach.tensors), key=lambda found: found[1] is not None)
    held = [*reach.parameters, *(t for t, _ in others)]
    originals = [held_data(t) for t in held]
    loan = Loan()
    lent = [symbolic.held(data) if symbolic else loan.of(data) for data in originals]
    recorder = (symbolic.recorder if symbolic else Recorder)([*inputs, *lent])
    trace = (symbolic.trace if symbolic else Trace)(
        reach, held, [*(None for _ in reach.parameters), *(slot for _, slot in others)], recorder)
    flat = iter(inputs)
    given, named = map_tensors(
        lambda t: t if isinstance(t, Parameter) else _lent(t, next(flat)), (args, kwargs))
    given_before = map_tensors(lambda t: t, (given, named))
    attributes = _attributes(given_before)
    try:
        for tensor, copy in zip(held, lent, strict=True):
            _hold(tensor, copy)
        with symbolic.mode if symbolic else nullcontext(), prints_put_off(trace), recorder:
            state.trace = trace
            try:
                out = fn(*given, **named)
            finally:
                state.trace = None
            if not given_unchanged(given_before, (given, named)):
                raise CannotTrace("changes a list or a dict that it was given")
            if _attributes(given_before) != attributes:
                raise CannotTrace("changes an attribute or a hook of a Tensor that it was given")
            given_back = _results(trace, out, lent, before, loan)
            if symbolic and trace.changes:
                raise CannotTrace("changes Python's objects")
        graph = trace.recorder.finished(given_back)
        trace.constants = trace.recorder.constants
        trace.graph = _cleaned(graph)
    except Exception:
        _catch_up(trace)
        raise
    finally:
        for tensor, data in zip(trace.held, originals, strict=True):
            _hold(tensor, data)
    for number in () if symbolic else written_inputs(trace.graph):
        if 0 <= number - len(inputs) < len(lent):
            trace.written.append((originals[number - len(inputs)], lent[number - len(inputs)]))
    return trace


def _catch_up(trace: Trace) -> None:
    """Make the calls that a run put off before it raised."""
    for call in trace.later:
        call(call.args)


def held_data(tensor: Tensor) -> torch.Tensor:
    """The raw tensor that a Tensor or a Parameter holds, whatever stands for it meanwhile."""
    return tensor._data if isinstance(tensor, Parameter) else tensor._raw


def _lent(tensor: Tensor, raw: torch.Tensor) -> Tensor:
    """The Tensor a run is given instead of an argument, with its hooks and attributes."""
    lent = wrap(raw)
    lent.__dict__.update(tensor.__dict__)
    return lent


def _attributes(given: Any) -> list[Any]:
    return [plain(t.__dict__) for t in tensors(given) if not isinstance(t, Parameter)]


def _hold(tensor: Tensor, raw: torch.Tensor) -> None:
    if isinstance(tensor, Parameter):
        tensor._data = raw
    else:
        tensor._raw = raw


class Loan:
    """Copies of data that lie in memory as their originals do, also as to what they share."""

    def __init__(self) -> None:
        self.memory: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def of(self, raw: torch.Tensor) -> torch.Tensor:
        """The copy to lend."""
        own = raw.untyped_storage()
        if own._cdata not in self.memory:
            copy = own.clone()
            self.memory[own._cdata] = own, copy
            self.memory[copy._cdata] = own, copy
        return _laid(raw, self.memory[own._cdata][1])

    def back(self, raw: torch.Tensor) -> torch.Tensor:
        """What lies in memory that was lent, or is a part of it, in the original's memory."""
        found = self.memory.get(raw.untyped_storage()._cdata)
        return raw.detach() if found is None else _laid(raw, found[0])


def _laid(raw: torch.Tensor, memory: torch.UntypedStorage) -> torch.Tensor:
    return torch.empty(0, dtype=raw.dtype, device=raw.device).set_(
        memory, raw.storage_offset(), raw.shape, raw.stride())  # type: ignore[arg-type]


def _results(trace: Trace, out: Any, data: list[torch.Tensor], before: Before,
             loan: Loan) -> list[torch.Tensor]:
    """Everything the graph has to give: guards, outputs, assigned Parameters, attributes."""
    assigned = [(i, held_data(t)) for i, (t, lent) in enumerate(zip(trace.held, data, strict=True))
                if held_data(t) is not lent]
    trace.assigned = [i for i, _ in assigned]
    made = [(Change(cell.__dict__, name), value) for cell, name, value in trace.attributes.values()]
    made.extend(before.changes())
    trace.changes, noted = [change for change, _ in made], [value for _, value in made]
    check_givable(out, before.reach, "gives")
    check_givable(noted, before.reach, "keeps")
    trace.out_tree = (out, noted, [call.args for call in trace.later])
    given = [t._raw.detach() for t in tensors(trace.out_tree)]
    with trace.recorder.pause():
        trace.value = ([loan.back(raw) for raw in given], [loan.back(raw) for _, raw in assigned])
    return [*(raw for raw, _ in trace.guards), *given, *(raw for _, raw in assigned)]


def _cleaned(graph: GraphModule) -> GraphModule:
    """The graph without what nothing uses, and without `detach`: there is no tape."""
    for node in list(graph.graph.nodes):
        if node.target is torch.ops.aten.detach.default:
            node.replace_all_uses_with(node.args[0])
    graph.graph.eliminate_dead_code(is_impure_node=must_stay)
    graph.recompile()
    return graph
