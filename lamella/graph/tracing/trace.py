"""The state of a run while it is recorded: reads of tensors, prints, and the reason to refuse it.

Where the function turns a tensor into a Python value, the value becomes a *guard*: the graph holds
for this path only. Where it does something that no graph can hold, recording ends and the run
continues eagerly, so nothing is done twice.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ...communication.groups import ended
from ...core.state import state
from ...core.wrappers import physical
from ...tensors.tensor import Tensor
from ..guards.program_print import is_pythons
from ..guards.reachable import Reachable
from ..ir.shapes import ShapeGuard
from .body import recorded_body
from .effects import DeferredCall
from .given import Given
from .held import HeldTensor, data_of, set_data
from .lines import Line, nearest_line
from .loops import recorded_loop
from .outside import OURS, Outside, origin_of
from .program_loops import ProgramLoops
from .recorder import Recorder
from .refusals import CannotTrace, Cause, Refusal
from .texts import is_only_logged, is_only_printed, marked

if TYPE_CHECKING:
    from .outcome import Outcome
    from .taping import Pulls


class ValueGuard(NamedTuple):
    """A tensor on whose value a run depends.

    Attributes:
        raw: it has one element, or a data-dependent shape.
        expected: the Python value, or the `ShapeGuard`.
        line: where the program read it.
    """

    raw: torch.Tensor
    expected: Any
    line: Line


class Trace:
    """A run while it is recorded, and afterwards its inputs, side effects and results.

    Attributes:
        reach: the objects that the run could reach.
        recorder: of its kernels.
        held: the Parameters and Tensors that the run could reach other than as arguments; their
            data are inputs of the graph after the arguments.
        given: the arguments as the run began.
        scalars: the stand-ins for numbers of a dry run.
        guards: the tensors that were turned into Python values, or have data-dependent shapes.
        reads: the numbers that the program read off tensors, in order.
        counted: the indices of those in `reads` that loops have computed.
        observed: the Python values and data-dependent shapes it saw, in order (see
            `symbolic.Observed`).
        fresh: the random generators of objects that it created, with their seeds.
        deferred: what it printed, to be printed by every replay.
        runs: of Cells after `set_grad`, for their gradients.
        pulls: the backward passes that belong to the run (see `taping`); None if there are none.
        run_dry: whether what runs now is given up before any side effect (see `dry`).
        outside: the check that it stays in what a graph can hold, an `outside_kind`.
        loops: the program's loops that depend on Tensors.
        value: the function's result.
        refused: why no graph can hold the run; None if one can.
        outcome: the graph, the results and the side effects; None if there is no graph.
    """

    outside_kind = Outside

    def __init__(self, reach: Reachable, held: list[HeldTensor], recorder: Recorder,
                 given: Given | None = None):
        self.reach = reach
        self.recorder = recorder
        self.held = held
        self.given = given
        self.scalars: Any = None
        self.guards: list[ValueGuard] = []
        self.reads: list[Any] = []
        self.counted: set[int] = set()
        self.observed: list[Any] = []
        self.fresh: list[tuple[torch.Generator, int, int]] = []
        self.deferred: list[DeferredCall] = []
        self.runs: dict[int, Any] = {}
        self.pulls: Pulls | None = None
        self.run_dry = False
        self.value: Any = None
        self.refused: Refusal | None = None
        self.outcome: Outcome | None = None
        self.outside = self.outside_kind(_weakly(self.refuse))
        self.loops = ProgramLoops(self)

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

    def number(self, raw: torch.Tensor) -> Any:
        """The number that a loop of the program's has computed in a tensor of one element."""
        self.counted.add(len(self.reads))
        return self.read(raw)

    def truth(self, raw: torch.Tensor) -> bool:
        """The truth value for which the program asks a one-element tensor."""
        ended = self.loops.answer()
        return bool(self.read(raw)) if ended is None else ended

    def decide(self, raw: torch.Tensor) -> bool:
        """As `truth`, for a comparison of numbers; `reads` doesn't have the answer."""
        ended = self.loops.answer()
        return bool(self.guard(raw)) if ended is None else ended

    def note_guard(self, raw: torch.Tensor, expected: Any) -> None:
        """Add a guard, with the line of the program."""
        self.guards.append(ValueGuard(raw, expected, nearest_line()))

    def data_before(self, tensor: Tensor) -> torch.Tensor | None:
        """The data that a Tensor had before the run; None if the run has changed them."""
        for held in self.held:
            if held.tensor is tensor:
                raw = held.begun
                same = data_of(tensor) is raw and raw._version == held.version
                return held.data if same else None
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
        self.refused = Refusal(f"{what}{nearest_line()}", cause)
        self.outside.stop()
        self.recorder.stop()
        if state.trace is self:
            state.trace = None
        for cell in self.reach.objects.cells:
            if id(cell) in self.runs:
                cell.__dict__["_run_of_set_grad"] = self.runs[id(cell)]

    def stop_dry_run(self, what: str) -> None:
        """End what runs only to record its kernels (`run_dry`), before it does something else.

        Raises:
            CannotTrace: if such code runs.
        """
        if self.run_dry:
            self.run_dry = False
            raise CannotTrace(what, Cause.DRY)

    def loop(self, *args: Any) -> Any:
        """A loop as one operation of the graph; see `recorded_loop`."""
        return recorded_loop(self, *args)

    def body(self, *args: Any) -> Any:
        """A function as a graph of kernels; see `recorded_body`."""
        return recorded_body(self, *args)

    def refuse_once(self, what: str) -> None:
        """As `refuse`, for a rare reason: the next call is recorded again."""
        self.refuse(what, Cause.RARE)

    def from_numpy(self, array: Any) -> torch.Tensor:
        """A tensor that shares memory with an array; a graph can hold it if nothing changes it."""
        return self.recorder.from_numpy(array)

    def note_generator(self, owner: Any, made: torch.Generator, seed: int, seed2: int) -> None:
        """Note a generator that the run has made, so that every replay seeds it again.

        Not for an owner that existed before: then the next run continues with this generator.
        """
        if owner not in self.reach.visited:
            self.fresh.append((made, seed, seed2))

    def defer(self, function: Callable[..., None], args: tuple, kwargs: dict,
              keep: Callable[[Any], Any] | None = None) -> None:
        """Print or log now, and at the end of every replay; `keep` as in `DeferredCall`."""
        self.stop_dry_run("prints or logs")
        self.deferred.append(DeferredCall(function, args, kwargs, keep))
        self.outside.stop()
        self.recorder.update()
        state.trace = None
        try:
            with self.recorder.pause():
                function(*args, **kwargs)
        finally:
            state.trace = self
            self.outside.__enter__()

    def printed_text(self, value: Any, spec: str) -> str | None:
        """A mark in a text that is only printed; None if the program may use the text."""
        frame = sys._getframe()
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
        for held in self.held:
            if data_of(held.tensor) is not held.data:
                set_data(held.tensor, held.data)
        self.recorder.undo()


def _weakly(method: Callable[[str], None]) -> Callable[[str], None]:
    """A method of a trace, called without keeping the trace and all that it holds copies of."""
    found = weakref.WeakMethod(method)

    def call(what: str) -> None:
        own = found()
        if own is not None:
            own(what)

    return call
