"""Loops of the program's that go on until a Tensor says otherwise, as operations of the graph.

Where the program asks a Tensor whether its loop goes on, the rest of the loop may run at once: a
step is made of the loop's source (`loop_code`), and recorded as that of `ms.while_loop` (`loops`).
If that can be, the program's variables are given the last values, and the answer is the one that
ends the loop. Otherwise the answer is the Tensor's, and the loop is recorded step by step.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..guards.search import reachable_from
from . import loop_choices, loop_values, read_scalars, scalars
from .lines import Line
from .loop_code import Functions
from .loop_part import BodyRecorder, Unlike
from .loop_values import UNBOUND, LoopNumber, Sums, Truth, held_by, truth_of
from .scalars import SymbolicScalar
from .source_loops import SourceLoop, loop_asked_by, made_of

MOST_FAILURES = 2  # attempts at one loop: its first step may be unlike the others
MOST_ASKED = 6  # questions of one loop that are guards; with more it should be an operation
SMALL = 2**16  # elements of a value for whose kernels a question counts
# our functions between the program and `Trace.truth`, which a Tensor's truth value is asked of
_BETWEEN = {Tensor.__bool__.__code__}
_FILES = {module.__file__ for module in (scalars, read_scalars, loop_values, loop_choices)}


class ProgramLoops:
    """The loops of a run.

    Args:
        trace: the run.

    Attributes:
        lines: where Tensors have had other values in other runs; None: everywhere.
        has_numbers: whether the step that is recorded has numbers in tensors.
        is_asking: whether the test of a loop is computed, as in its steps.
        taken: whether the branch of an `if` that is being computed is taken, as a tensor; None
            outside of branches.
        sums: the sums of ints in the step that is recorded; None outside of steps, and in the test
            of a loop, whose sums are of small numbers.
        asked: how often each loop of small kernels that was recorded step by step has asked for a
            truth value, by the line that asks.
    """

    def __init__(self, trace: Any):
        self._trace = weakref.ref(trace)
        self.lines: Collection[Line] | None = ()
        self._failures: dict[int, int] = {}
        self.has_numbers = self.is_asking = False
        self.taken: torch.Tensor | None = None
        self.sums: Sums | None = None
        self.asked: Counter[Line] = Counter()

    def answer(self) -> bool | None:
        """The truth value for the program that asks for one, if its loop was run as an operation.
        """
        trace: Any = self._trace()
        is_inner = type(trace.recorder) is BodyRecorder  # in a step of another loop
        everywhere = self.lines is None or is_inner
        if trace.refused is not None or self.is_asking and not is_inner:
            return None
        frame = _asking(sys._getframe(1))
        loop = None if frame is None else loop_asked_by(frame)
        if frame is None or loop is None or self._failures.get(id(loop), 0) >= MOST_FAILURES:
            return None
        if not everywhere and not any(
                line.file == frame.f_code.co_filename and line.number in loop.lines
                for line in self.lines or ()):
            if _is_small(loop, frame):
                self.asked[Line(frame.f_code.co_filename, loop.statement[0], "forward")] += 1
            return None
        try:
            rolled = _Rolled(trace, loop, frame)
            rolled.run()
        except Unlike:
            self._failures[id(loop)] = self._failures.get(id(loop), 0) + 1
            return None
        except Exception as error:  # noqa: BLE001  (the program's own loop raises it in its step)
            trace.recorder.forgive(error)
            self._failures[id(loop)] = MOST_FAILURES
            return None
        self._failures[id(loop)] = 0
        rolled.leave()
        return loop.last

    @property
    def steady(self) -> list[Line]:
        """Where loops have asked so often that each should be an operation."""
        return [line for line, count in self.asked.items() if count > MOST_ASKED]

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A block in which truth values are Tensors, as in a step."""
        before, self.is_asking = self.is_asking, True
        try:
            yield
        finally:
            self.is_asking = before

    @contextmanager
    def adding(self, sums: Sums | None) -> Iterator[None]:
        """A block whose sums of ints are noted."""
        before, self.sums = self.sums, sums
        try:
            yield
        finally:
            self.sums = before


def _asking(frame: FrameType | None) -> FrameType | None:
    """The program's function that asks for a truth value itself."""
    frame = frame.f_back if frame is not None else None  # `Trace.truth` calls `answer`
    while frame is not None and (frame.f_code in _BETWEEN or frame.f_code.co_filename in _FILES):
        frame = frame.f_back
    return frame


def _is_small(loop: SourceLoop, frame: FrameType) -> bool:
    """Whether the Tensors that a loop names have few elements."""
    known = frame.f_locals
    return all(value._raw.numel() <= SMALL for name in (*loop.assigned, *loop.given)
               for value in _tensors(known.get(name)))


class _Rolled:
    """A loop that is to be run as one operation.

    Args:
        trace: the run.
        loop: the loop.
        frame: of the function that it is in.

    Raises:
        Unlike: if it can't be.
    """

    def __init__(self, trace: Any, loop: SourceLoop, frame: FrameType):
        self.trace, self.loop, self.frame = trace, loop, frame
        code, known = frame.f_code, dict(frame.f_locals)
        own = {*code.co_varnames, *code.co_cellvars}
        captured = loop.captured.intersection(made_of.get(code, code).co_cellvars)
        if not own.issuperset(loop.assigned) or not captured.isdisjoint(loop.assigned):
            raise Unlike
        self.functions = Functions(loop, code, frame.f_globals, known)
        self.needed = loop.given | loop.read
        self.first = [known.get(name, UNBOUND) if name in self.needed else UNBOUND
                      for name in loop.assigned]
        self.range = None
        if loop.count is not None:
            self.range = self._range()
            self.first[0] = known[loop.count.name]
            self.needed = self.needed | {loop.count.name}
        self.last: list[Any] = []
        self.sums: Sums | None = None  # of the step; a value that is carried says what they are

    def _range(self) -> range:
        space = self.frame.f_globals
        bounds = self._really(self.functions.bounds)
        if "range" in space or "range" in self.frame.f_locals or not all(
                type(bound) is int for bound in bounds):
            raise Unlike
        return range(*bounds)

    def run(self) -> None:
        """Run it.

        Raises:
            Unlike: if it can't be an operation.
        """
        raws: list[torch.Tensor] = []
        for value in self.first:
            _take(value, raws)
        if not raws:
            raise Unlike
        others = self._goes_on, raws, [], None, self._unread()
        found = self.trace.loop(self.functions.all(), self._step, *others)
        adds = self.sums is not None and self.sums.are_found
        if found is None and adds:
            raws.append(torch.scalar_tensor(True, dtype=torch.bool))
            found = self.trace.loop(self.functions.all(), self._step, *others)
        if found is None or adds and not self._is_exact(found[0][-1]):
            raise Unlike
        self.last = _given(self.first, found[0])

    def _is_exact(self, are_small: torch.Tensor) -> bool:
        """Whether the sums of ints were small enough; it is a guard, or part of an outer loop's."""
        if not self.trace.run_dry:
            return bool(self.trace.guard(are_small))
        sums = self.trace.loops.sums
        if sums is not None:
            sums.note(are_small)
        return sums is not None

    def _unread(self) -> set[int]:
        """The numbers of the carried values that nothing reads when the loop has ended."""
        loop, found, count = self.loop, set(), 0
        for name, value in zip(loop.assigned, self.first, strict=True):
            raws: list[torch.Tensor] = []
            _take(value, raws)
            if name not in loop.read and (self.range is None and loop.again is None
                                          or name not in loop.later):
                found.update(range(count, count + len(raws)))
            count += len(raws)
        return found

    def _step(self, raws: Sequence[torch.Tensor], _: Any) -> Any:
        adds = self.sums is not None and self.sums.are_found
        self.sums = Sums(raws[-1] if adds else None)
        with self.trace.loops.adding(self.sums):
            found = self._stepped(raws)
        return [*found, self.sums.are_small] if adds else found, []

    def _stepped(self, raws: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        values = _given(self.first, raws)
        lists = [(value, list(value)) for value in _lists(values)]
        now = list(self.functions.after(*values))
        if self.range is not None:
            now[0] = values[0] + self.range.step
        now = list(self.functions.before(*now))
        found: list[torch.Tensor] = []
        kept = [part if name in self.needed else UNBOUND
                for name, part in zip(self.loop.assigned, now, strict=True)]
        if _same(kept) != _same(self.first) or self._gives_others(kept, raws):
            raise Unlike
        for name, value, before in zip(self.loop.assigned, now, self.first, strict=True):
            if name in self.needed:
                _put(value, before, found)
        if any(len(value) != len(parts) or any(
                a is not b for a, b in zip(value, parts, strict=True)) for value, parts in lists):
            raise Unlike  # other names may see what is changed in place
        self._check_new([*_lists(kept)], [value for value, _ in lists])
        return found

    def _check_new(self, made: list[Any], given: list[Any]) -> None:
        """Check that the step has made its next lists: other names may have lists from before.

        Raises:
            Unlike: if it hasn't.
        """
        if made:
            visited = reachable_from(*self.functions.all()).visited
            if any(one in visited or any(one is other for other in given) for one in made):
                raise Unlike

    def _gives_others(self, kept: Sequence[Any], raws: Sequence[torch.Tensor]) -> bool:
        """Whether one of the next carried values is a Tensor that other names have, too."""
        recorder, own = self.trace.recorder, [part._raw for part in _tensors(kept)]
        return any(node.op == "placeholder" for node in {
            *recorder.nodes_of(own)} - {*recorder.nodes_of(raws)})

    def _goes_on(self, raws: Sequence[torch.Tensor]) -> torch.Tensor:
        with self.trace.loops.adding(None):
            return self._tested(raws)

    def _tested(self, raws: Sequence[torch.Tensor]) -> torch.Tensor:
        values = _given(self.first, raws)
        found = truth_of(self.functions.test(*values))
        if found is None:
            raise Unlike
        if self.loop.ends:
            found = ~found
        if self.range is not None:
            after = values[0] + self.range.step
            more = after < self.range.stop if self.range.step > 0 else after > self.range.stop
            found = found & more.held
        if self.functions.again is not None:
            more = self.functions.again(*self.functions.after(*values))
            held = truth_of(more)
            if held is None and not more:
                raise Unlike
            found = found if held is None else found & held
        return found

    def leave(self) -> None:
        """Give the program's variables their last values, so that it continues after the loop."""
        names, values = self.loop.assigned, self._plain(self.last)
        if self.range is not None or self.functions.again is not None:
            with self.trace.loops.asking():
                found: Any = truth_of(self._really(lambda: self.functions.test(*self.last)))
            if self.trace.run_dry:
                values = list(self._really(lambda: loop_choices.chosen(
                    Truth(found), lambda *same: same, self.functions.after, tuple(self.last))))
            elif not self.trace.guard(found):
                values = [self._number(value) for value in self.last]
                values = list(self._really(lambda: self.functions.after(*values)))
        own = self.frame.f_locals
        for name, value in zip(names, values, strict=True):
            if value is not UNBOUND and name in self.needed and not isinstance(value, _Kept):
                own[name] = value
        if sys.version_info < (3, 13):
            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(self.frame), ctypes.c_int(0))

    def _really(self, call: Any) -> Any:
        """Run code of the loop as the program does; its source was inspected."""
        outside = self.trace.outside
        before, outside.meets = outside.meets, lambda code: None
        try:
            return call()
        finally:
            outside.meets = before
            for code in [code for code in outside.codes if code in made_of]:
                del outside.codes[code]

    def _plain(self, values: Sequence[Any]) -> list[Any]:
        """Values with Python's numbers, of those that are read."""
        return [self._number(value) if name in self.loop.read else _kept(value)
                for name, value in zip(self.loop.assigned, values, strict=True)]

    def _number(self, value: Any) -> Any:
        if type(value) in (tuple, list):
            return type(value)([self._number(part) for part in value])
        if not isinstance(value, LoopNumber) or self.trace.run_dry:
            return value
        return self.trace.number(value.held)


class _Kept:
    """A number that the program doesn't read after the loop."""


def _kept(value: Any) -> Any:
    return _Kept() if isinstance(value, LoopNumber) else value


def _take(value: Any, raws: list[torch.Tensor]) -> None:
    """Add what a carried value has in tensors.

    Raises:
        Unlike: if it is of a kind that a step can't change.
    """
    if type(value) is Tensor:
        raws.append(value._raw)
    elif _is_number(value):
        raws.append(held_by(value))
    elif type(value) in (tuple, list):
        for part in value:
            _take(part, raws)
    elif value is not UNBOUND and type(value) not in (bool, str, type(None)):
        raise Unlike


def _is_number(value: Any) -> bool:
    if isinstance(value, SymbolicScalar):
        value = value.value
    return isinstance(value, LoopNumber) or type(value) is float or (
        type(value) is int and abs(value) < 2**53)


def _kind(value: Any) -> type:
    if isinstance(value, LoopNumber):
        return value.kind
    return type(value.value if isinstance(value, SymbolicScalar) else value)


def _given(like: Any, raws: Sequence[torch.Tensor]) -> list[Any]:
    """Carried values with other tensors."""
    flat = iter(raws)
    known: dict[int, Tensor] = {}

    def made(value: Any) -> Any:
        if type(value) is Tensor:
            return known.setdefault(id(value), wrap(next(flat)))
        if _is_number(value):
            return LoopNumber(next(flat), _kind(value))
        return type(value)(map(made, value)) if type(value) in (tuple, list) else value

    return [made(value) for value in like]


def _tensors(value: Any) -> Iterator[Tensor]:
    if type(value) is Tensor:
        yield value
    elif type(value) in (tuple, list):
        for part in value:
            yield from _tensors(part)


def _lists(value: Any) -> Iterator[list[Any]]:
    """The lists among the parts of values."""
    if type(value) in (tuple, list):
        for part in value:
            if type(part) is list:
                yield part
            yield from _lists(part)


def _same(values: Sequence[Any]) -> list[int]:
    """For each Tensor among carried values, which is the first that is the same."""
    found = list(map(id, _tensors(list(values))))
    return list(map(found.index, found))


def _put(value: Any, before: Any, raws: list[torch.Tensor]) -> None:
    """Add what the next carried value has in tensors.

    Raises:
        Unlike: if it isn't like the one before.
    """
    if type(before) is Tensor:
        if type(value) is not Tensor or isinstance(value, Parameter):
            raise Unlike
        raws.append(value._raw)
    elif _is_number(before):
        if not _is_number(value) or _kind(value) is not _kind(before):
            raise Unlike
        raws.append(held_by(value))
    elif type(before) in (tuple, list):
        if type(value) is not type(before) or len(value) != len(before):
            raise Unlike
        for part, old in zip(value, before, strict=True):
            _put(part, old, raws)
    elif type(value) is not type(before) or value != before:
        raise Unlike
