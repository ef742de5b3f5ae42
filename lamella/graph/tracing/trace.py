"""One run of a function, recorded as a graph of kernels.

The function runs as it would eagerly, on its own data and with all its side effects, while every
kernel it calls is recorded: forward, backward, clipping and the optimizer's update become one
graph. Where the function turns a tensor into a Python value, the value becomes a *guard*: the graph
holds for this path only. Where it does something that no graph can hold, recording ends and the run
continues eagerly, so nothing is done twice.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule

from ...autodiff.tree import container_tensors as tensors
from ...autodiff.tree import map_container_tensors as map_tensors
from ...communication.groups import ended
from ...core.state import in_graph, state
from ...core.wrappers import physical
from ...machine.collector import not_collecting
from ...machine.memory import allocator, returning_freed_memory
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..guards.arguments import given_tensors
from ..guards.bytecode import facts_of
from ..guards.program_print import is_pythons
from ..guards.reachable import Reachable
from ..guards.sources import Source
from ..guards.values import comparable
from ..ir.operations import sweep
from ..ir.shapes import ShapeGuard
from .changes import APPENDED, Change, Snapshot, check_givable
from .effects import DeferredCall, prints_recorded
from .given import Given
from .identities import identities_checked
from .inspected import Inspection
from .lines import Line, nearest_line
from .logged import logs_recorded
from .outside import OURS, Outside, origin_of
from .recorder import Recorder
from .refusals import CannotTrace, Cause, Refusal
from .results import Results
from .texts import is_only_logged, is_only_printed, marked

if TYPE_CHECKING:
    from .symbolic import Symbolic


class Trace:
    """A run while it is recorded, and afterwards its inputs, side effects and results.

    Attributes:
        held: the Parameters and Tensors that the run could reach other than as arguments; their
            data are inputs of the graph after the arguments.
        data: for each of them, the data before the run.
        begun: for each of them, the data as the run began, maybe stand-ins, and their version.
        sources: for each of them, where a later call finds its Tensor, or None where that is always
            the same object.
        constants: raw tensors that the run used, or made from numbers; inputs after those.
        assigned: which of `held` got other data in the run.
        guards: the raw tensors that were turned into Python values, with the values; those with
            data-dependent shapes, with guards on these.
        lines: the lines of the guards.
        reads: the numbers that the program read off tensors, in order.
        observed: the Python values and data-dependent shapes it saw, in order (see
            `symbolic.Observed`).
        changes: its assignments to Python's objects; `noted` are the values.
        fresh: the random generators of objects that it created, with their seeds.
        deferred: what it printed, to be printed by every replay.
        refused: why no graph can hold the run; None if one can.
        value: the function's result.
        same: the Tensors that are arguments and also in `held`, by their numbers in both.
        given: the arguments as the run began.
        recorded: for each new Tensor among the results, whether the tape has recorded it.
        pulls: the backward passes that belong to the run (see `taping`); None if there are none.
        runs_dry: whether such a pass runs, which the program didn't ask for: it is given up
            before any side effect.
        uses_things: whether it changes or returns lists, dicts or objects that it was given, or
            finds them elsewhere, too, as `found_elsewhere` does.
    """

    def __init__(self, reach: Reachable, held: list[Tensor], sources: list[Source | None],
                 recorder: Recorder):
        self.reach = reach
        self.recorder = recorder
        self.held = held
        self.data: list[torch.Tensor] = []
        self.begun: list[tuple[torch.Tensor, int]] = []
        self.sources = sources
        self.constants: list[torch.Tensor] = []
        self.guards: list[tuple[torch.Tensor, Any]] = []
        self.lines: list[Line] = []
        self.reads: list[Any] = []
        self.observed: list[Any] = []
        self.changes: list[Change] = []
        self.noted: list[Any] = []
        self.fresh: list[tuple[torch.Generator, int, int]] = []
        self.deferred: list[DeferredCall] = []
        self._shared: list[torch.Tensor] = []  # memory with arrays
        self.runs: dict[int, Any] = {}  # of Cells after `set_grad`, for their gradients
        self.assigned: list[int] = []
        self.out_tree: Any = None
        self.value: Any = None
        self.graph: GraphModule | None = None
        self.refused: Refusal | None = None
        self.same: list[tuple[int, int]] = []
        self.given: Given | None = None
        self.recorded: list[bool] = []
        self.pulls: Any = None
        self.runs_dry = False
        self.uses_things = False
        self.found_elsewhere: list[tuple[int, Any]] = []
        self.numbers: Any = None  # that may change from call to call: see `numbers`
        self.outside = Outside(_weakly(self.refuse))

    def peek(self, raw: torch.Tensor) -> Any:
        """The Python value of a one-element tensor."""
        with self.recorder.pause():
            return raw.detach().clone().item()

    def guard(self, raw: torch.Tensor) -> Any:
        """The Python value of a one-element tensor, which becomes a guard."""
        self.stop_dry_run("turns a tensor into a Python value")
        value = self.peek(raw)
        self.observed.append(value)
        self.note_guard(physical(raw.detach()), value)
        return value

    def read(self, raw: torch.Tensor) -> Any:
        """The number that the program reads off a one-element tensor."""
        self.reads.append(self.guard(raw))
        return self.reads[-1]

    def note_guard(self, raw: torch.Tensor, expected: Any) -> None:
        """Add a guard, with the line of the program."""
        self.guards.append((raw, expected))
        self.lines.append(nearest_line(sys._getframe(1)))

    def data_before(self, parameter: Parameter) -> torch.Tensor | None:
        """The data that a Parameter had before the run; None if the run has changed them."""
        for held, before, (raw, version) in zip(self.held, self.data, self.begun, strict=True):
            if held is parameter:
                return before if parameter._data is raw and raw._version == version else None
        return None

    def exchange(self, call: Any, given: Any) -> Any:
        """Exchange tensors with other processes, now and in every replay."""
        if not any(question is ended for question, _ in self.outside.queries):
            self.outside.depend(ended)  # a new world of processes needs a new recording
        return self.recorder.exchange(call, given)

    def guard_shape(self, raw: torch.Tensor) -> None:
        """Add a guard on a data-dependent shape."""
        self.stop_dry_run("has a data-dependent shape")
        self.note_guard(raw, ShapeGuard.of(raw))

    def refuse(self, what: str, cause: Cause = Cause.ALWAYS) -> None:
        """End the recording, since no graph can hold what the run does; it continues eagerly."""
        if self.refused is not None:
            return
        self.stop_dry_run(what)
        self.refused = Refusal(f"{what}{nearest_line(sys._getframe(1))}", cause)
        self.outside.stop()
        self.recorder.stop()
        if state.trace is self:
            state.trace = None
        for cell in self.reach.cells:
            if id(cell) in self.runs:
                cell.__dict__["_recorded"] = self.runs[id(cell)]

    def stop_dry_run(self, what: str) -> None:
        """Give up a backward pass that the program didn't ask for, before it does something.

        Raises:
            CannotTrace: if there is one.
        """
        if self.runs_dry:
            self.runs_dry = False
            raise CannotTrace(what, Cause.BACKWARD)

    def refuse_once(self, what: str) -> None:
        """As `refuse`, for a rare reason: the next call is recorded again."""
        self.refuse(what, Cause.RARE)

    def from_numpy(self, array: Any) -> torch.Tensor:
        """A tensor that shares memory with an array; a graph can hold it if nothing changes it."""
        with self.recorder.pause():
            self._shared.append(torch.from_numpy(array))
        return self._shared[-1]

    def own_constants(self) -> list[torch.Tensor]:
        """The constants of the graph, whose memory no array of the program shares.

        Raises:
            CannotTrace: if the run has changed such an array.
        """
        if any(raw._version for raw in self._shared):
            raise CannotTrace("changes a NumPy array")
        shared = set(map(id, self._shared))
        return [raw.clone() if id(raw) in shared else raw for raw in self.recorder.constants]

    def note_generator(self, owner: Any, made: torch.Generator, seed: int, seed2: int) -> None:
        """Note a generator that the run has made, so that every replay seeds it again.

        Not for an owner that existed before: then the next run continues with this generator.
        """
        if not self.reach.knows(owner):
            self.fresh.append((made, seed, seed2))

    def defer(self, function: Callable[..., None], args: tuple, kwargs: dict,
              keep: Callable[[Any], Any] | None = None) -> None:
        """Print or log now, and at the end of every replay; `keep` as in `DeferredCall`."""
        self.stop_dry_run("prints or logs")
        self.deferred.append(DeferredCall(function, args, kwargs, keep))
        self.outside.stop()
        state.trace = None
        try:
            with self.recorder.pause():
                function(*args, **kwargs)
        finally:
            state.trace = self
            self.outside.__enter__()

    def printed_text(self, value: Any, spec: str) -> str | None:
        """A mark in a text that is only printed; None if the program may use the text."""
        frame = sys._getframe(1)
        while frame.f_back is not None and origin_of(frame.f_code.co_filename) == OURS:
            frame = frame.f_back
        if torch._C._are_functorch_transforms_active() or not self.only_passes(frame, value):
            return None
        return marked(value, spec)

    def only_passes(self, frame: FrameType, value: Any) -> bool:
        """Whether the program computes nothing with a text that a frame makes of a value."""
        return is_pythons() and is_only_printed(frame) or is_only_logged(frame)

    def undo(self) -> None:
        """Restore the data of all Tensors that the run could reach."""
        for tensor, raw in zip(self.held, self.data, strict=True):
            if data_of(tensor) is not raw:
                set_data(tensor, raw)
        self.recorder.undo()


def _weakly(method: Callable[[str], None]) -> Callable[[str], None]:
    """A method of a trace, called without keeping the trace and all that it holds copies of."""
    found = weakref.WeakMethod(method)

    def call(what: str) -> None:
        own = found()
        if own is not None:
            own(what)

    return call


def run_traced(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reachable,
               symbolic: Symbolic | None = None, before: Snapshot | None = None,
               kind: type[Trace] | None = None, numbers: Any = None) -> Trace:
    """Run `fn` and record the run.

    Args:
        fn: called with `args` and `kwargs`.
        reach: the objects that it can reach.
        symbolic: the fake tensors, for a symbolic run.
        before: a snapshot of the objects in `reach`.
        kind: the class of the run.
        numbers: the stand-ins for numbers, for a dry run.

    Returns:
        The run; without a graph if `Trace.refused` gives a reason.

    Raises:
        CannotTrace: if a symbolic run can't be recorded, or a run that is to be undone may change
            what wasn't inspected.
        Exception: what the function raises; its changes of tensors are undone, if the program
            asked to compile it.
    """
    allocator.load()
    if before is None:
        before = Snapshot(reach)
    others = sorted(((t, None if id(t) in reach.known_tensors else source)
                     for t, source in reach.tensors), key=lambda found: found[1] is not None)
    held = [*reach.parameters, *(t for t, _ in others)]
    plain = args, kwargs
    args, kwargs, stand_ins = _with_stand_ins(args, kwargs, {id(t) for t in held})
    compares = bool(stand_ins) and any(
        facts_of(function.__code__).identities for function in reach.functions)
    if compares:
        (args, kwargs), stand_ins = plain, []
    given = given_tensors((args, kwargs))
    lent, swapped = _inputs(given, held, symbolic)
    recorder = (symbolic.recorder if symbolic else Recorder)(lent)
    trace = (symbolic.trace if symbolic else kind or Trace)(
        reach, held, [None] * len(reach.parameters) + [source for _, source in others], recorder)
    if numbers is not None:
        trace.numbers, numbers.recorder = numbers, recorder
    inspection = Inspection(reach) if symbolic or numbers is not None else None
    if inspection is not None:
        trace.outside.meets = inspection
    places = {id(t): i for i, t in enumerate(held)}
    trace.same = [(i, places[id(t)]) for i, t in enumerate(given) if id(t) in places]
    trace.data = [data_of(t) for t in held]
    trace.given = Given((args, kwargs))
    attributes = _attributes(given)
    try:
        for tensor, _, raw in swapped:
            set_data(tensor, raw)
        seen, own = [data_of(t) for t in held], [t._raw for t in given]
        trace.begun = [(raw, 0 if raw.is_inference() else raw._version) for raw in seen]
        with ExitStack() as around:
            around.enter_context(returning_freed_memory())
            if symbolic:
                around.enter_context(symbolic.mode)
            around.enter_context(prints_recorded())
            around.enter_context(logs_recorded())
            around.enter_context(recorder)
            state.trace = trace
            try:
                with identities_checked(reach), trace.outside:
                    if compares:
                        trace.refuse_once("may compare an argument with a Tensor that is it")
                    trace.value = fn(*args, **kwargs)
                if inspection is not None:
                    inspection.check()
            finally:
                state.trace = None
            if trace.refused is None:
                try:
                    _check_given(attributes, given, own)
                    with not_collecting():
                        given_back = _results(trace, seen, before, given)
                        trace.constants = trace.own_constants()
                        trace.graph = _cleaned(recorder.finished(given_back))
                except CannotTrace as reason:
                    if symbolic:
                        raise
                    trace.refuse(*reason.refusal)
    except BaseException as error:
        # an exit or an interrupt leaves what has been done, as eagerly, and so does any error of
        # what the program didn't ask to compile
        if numbers is not None or trace.refused is None and (
                symbolic or in_graph() and isinstance(error, (Exception, CannotTrace))):
            trace.undo()
        raise
    finally:
        for tensor, own, raw in swapped:
            if symbolic or data_of(tensor) is raw:
                set_data(tensor, own)
        for tensor, stand_in, raw in stand_ins:
            if stand_in._raw is not raw:
                tensor._raw = stand_in._raw
            tensor.__dict__.update(stand_in.__dict__)
    originals = {id(stand_in): tensor for tensor, stand_in, _ in stand_ins}
    if originals and any(id(t) in originals for t in tensors(trace.value)):
        trace.value = map_tensors(lambda t: originals.get(id(t), t), trace.value)
    return trace


def _with_stand_ins(args: tuple, kwargs: dict, held: set[int]
           ) -> tuple[tuple, dict, list[tuple[Tensor, Tensor, torch.Tensor]]]:
    """The arguments, with stand-ins for Tensors that the function can also reach otherwise.

    So the recording tells uses of the argument from uses of the other: the next call may get
    another Tensor. The list has each such Tensor, its stand-in, and its data at this time.
    """
    stand_ins: list[tuple[Tensor, Tensor, torch.Tensor]] = []

    def replaced(value: Any) -> Any:
        if not isinstance(value, Tensor) or isinstance(value, Parameter) or id(value) not in held:
            return value
        for tensor, stand_in, _ in stand_ins:
            if tensor is value:
                return stand_in
        raw = value._raw.detach()
        stand_in = wrap(raw)
        stand_in.__dict__.update(value.__dict__)
        stand_ins.append((value, stand_in, raw))
        return stand_in

    return (tuple([replaced(a) for a in args]), {k: replaced(v) for k, v in kwargs.items()},
            stand_ins)


def _inputs(given: list[Tensor], held: list[Tensor], symbolic: Symbolic | None
            ) -> tuple[list[torch.Tensor], list[tuple[Tensor, torch.Tensor, torch.Tensor]]]:
    """The inputs of the graph, each a different object, and the Tensors whose data are swapped.

    The second list has for each of these the Tensor, its data, and its data during the run.

    An argument that is passed twice gives one input that is used, and one that isn't: the key of a
    call tells which are the same.
    """
    lent: list[torch.Tensor] = []
    swapped: list[tuple[Tensor, torch.Tensor, torch.Tensor]] = []
    seen: set[int] = set()
    known: set[int] = set()
    for number, tensor in enumerate((*given, *held)):
        raw = data_of(tensor)
        is_argument = number < len(given)
        if symbolic:
            found = (symbolic.argument if is_argument else symbolic.held)(raw)
        elif id(raw) in seen or raw.requires_grad:
            found = raw.detach()
        else:
            found = raw
        seen.add(id(raw))
        if found is not raw and id(tensor) not in known and (
                symbolic or raw.requires_grad or not is_argument):
            swapped.append((tensor, raw, found))
        known.add(id(tensor))
        lent.append(found)
    return lent, swapped


def _check_given(attributes: list[Any], given: list[Tensor], own: list[torch.Tensor]) -> None:
    """Check that the run hasn't changed the attributes or data tensors of given Tensors.

    Raises:
        CannotTrace: if it has.
    """
    if _attributes(given) != attributes:
        raise CannotTrace("changes an attribute or a hook of a Tensor that it was given")
    if any(t._raw is not raw for t, raw in zip(given, own, strict=True)):
        raise CannotTrace("assigns other data to a Tensor that it was given")


def data_of(tensor: Tensor) -> torch.Tensor:
    """The raw tensor that a Tensor or a Parameter holds, without any alias of a gradient call."""
    return tensor._data if isinstance(tensor, Parameter) else tensor._raw


def _attributes(given: list[Tensor]) -> list[Any]:
    return [comparable(t.__dict__) for t in given]


def set_data(tensor: Tensor, raw: torch.Tensor) -> None:
    """Let a Tensor or a Parameter hold another raw tensor."""
    if isinstance(tensor, Parameter):
        tensor._data = raw
    else:
        tensor._raw = raw


def _results(trace: Trace, seen: Iterable[torch.Tensor], before: Snapshot, given: list[Tensor]
             ) -> list[torch.Tensor]:
    """The graph's results: guards, outputs, values of attributes, data of assigned Tensors."""
    assigned = [(i, data_of(t)) for i, (t, raw) in enumerate(zip(trace.held, seen, strict=True))
                if data_of(t) is not raw]
    trace.assigned = [i for i, _ in assigned]
    assert trace.given is not None
    things = trace.given
    made = list(before.changes())
    to_given = list(things.changes(before.reach))
    if trace.numbers is not None:
        made.extend((Change(source, APPENDED), grown.items) for source, grown in trace.numbers.lists
                    if grown.items)
    kept = [value for _, value in made]
    made += to_given
    trace.changes, noted = [change for change, _ in made], [value for _, value in made]
    if trace.numbers is not None:
        trace.changes = [change._replace(key=trace.numbers.guarded(change.key))
                         for change in trace.changes]
    trace.noted = noted

    def knows(value: Any) -> bool:
        return before.reach.knows(value) or things.knows(value)

    check_givable([trace.value, [value for _, value in to_given]], knows, "gives")
    check_givable(kept, knows, "keeps", Cause.NEW_OBJECT)
    results = Results(given, trace.held, before.reach, things.things, trace.numbers)
    trace.out_tree = results.described(
        (trace.value, noted, [call.args for call in trace.deferred]))
    trace.found_elsewhere = things.found_elsewhere(before.reach)
    trace.uses_things = bool(trace.found_elsewhere) or results.uses_things or bool(to_given)
    trace.recorded = [raw.requires_grad for raw in results.new]
    gradients = trace.pulls.gradients if trace.pulls is not None else ()
    return [*(raw for raw, _ in trace.guards), *(raw.detach() for raw in results.new),
            *(raw.detach() for _, raw in assigned), *(raw.detach() for raw in gradients)]


def _cleaned(graph: GraphModule) -> GraphModule:
    """The graph without dead code."""
    sweep(graph.graph)
    graph.recompile()
    return graph
