"""A stage of a graph: a part of it, and the backend that is fastest for it."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from typing import NamedTuple

import torch

from ...machine.memory import release, returning_freed_memory
from ..aoti.native import Native
from ..ir import logs
from ..ir.agreement import agree_but_for_kinks, next_to
from ..ir.lazy_module import dismantle
from ..ir.stages import Part
from ..ir.streams import generators_restored, streams_of
from ..passes import memory
from ..xla.native import Native as Xla
from .autotuner import Autotuner, Run
from .capture import Captured, captures, others_like
from .density import dense_share
from .program import is_in_python, program
from .worth import has_many_patches, is_worth_compiling

MOST_DENSE = 0.75  # of the time in dense kernels, which compiled code can't make faster
MORE_MEMORY = 2**27  # bytes that machine code may take beyond what a replay does
FAR = 0.5  # of the replay's time: machine code this fast isn't compiled by a slower compiler, too
# "replay": no compiler; "inductor": not XLA; one of `_FORCED` (for tests): this compiler compiles
# all that it can run, at its first replay
ENGINE = os.environ.get("LAMELLA_ENGINE", "")
_FORCED = {"xla": "xla", "inductor-forced": "inductor"}


def is_forced() -> bool:
    """Whether one compiler runs all that it can run."""
    return ENGINE in _FORCED


class Heat(enum.IntEnum):
    """Which compilers are worth their time for a graph, by the time that it has run."""

    COLD = 0
    WARM = 1  # those that take seconds
    HOT = 2  # all


class _Turn(NamedTuple):
    """What a call of `Stage.settle` gives to the candidates."""

    values: list[torch.Tensor]
    heat: Heat
    results: list[torch.Tensor] | None
    prompt: bool


class Stage:
    """A part of a graph, and the backend that runs it.

    Attributes:
        part: the part.
        takes: the places of its inputs among the values that a replay has so far.
        stays: for each of them, whether its address is the same in every run.
        run: the function that runs it now.
        backend: ``"replay"``, ``"xla"`` or ``"inductor"``; with ``", captured"`` if captured.
        settled: whether the choice of the backend is final.
        is_far_ahead: whether it is run by machine code that takes far less time than the replay.
    """

    def __init__(self, part: Part, takes: list[int], stays: list[bool], compile: bool,
                 before: Sequence[Stage] = ()):
        self.part = part
        self.takes = takes
        self.stays = stays
        self.replay: Run = program(part)
        self.run: Run = self.replay
        self.backend = "replay"
        self.settled = part.changes_inputs or not compile or not is_forced() and (
            ENGINE == "replay" or not is_worth_compiling(part))
        self.is_far_ahead = False
        self.native: Native | None = None
        self.xla: Xla | None = None
        self._known: str | None = None  # the backend that an earlier process found fastest
        self._compared: set[str] = set()  # the engines whose code has been timed, or is impossible
        self._is_dense: bool | None = None
        self._before = before  # stages of the plan before, whose machine code may be the same

    @property
    def is_timed(self) -> bool:
        """Whether backends take turns now."""
        return isinstance(self.run, Autotuner)

    def lower(self) -> None:
        """Replay, and call XLA's code, by C++ from now on, where that is built."""
        before = self.replay
        if is_in_python(before):
            self.replay = program(self.part)
        if self.run is before:
            self.run = self.replay
        elif self.backend == "xla" and self.xla is not None and not self.is_timed:
            self.run = self.xla.load() or self.run

    @property
    def waits(self) -> bool:
        """Whether there is nothing to do before a compilation has ended."""
        return any(code is not None and code.requested and not code.finished
                   for code in (self.xla, self.native)) and not self.is_timed

    def settle(self, values: list[torch.Tensor], heat: Heat,
               results: list[torch.Tensor] | None = None, prompt: bool = False) -> None:
        """Take the next step towards the fastest backend, once the stage is hot.

        Until then it runs by the backend that an earlier process found, which is then timed again.

        Args:
            values: its inputs.
            heat: which compilers are worth their time.
            results: what it has made of them, if another run would make the same.
            prompt: whether a compiler that takes seconds need not yield to the program.
        """
        if self.settled or self.is_timed:
            return
        if self.native is None:
            self._look_up(values)
        assert self.native is not None and self.xla is not None
        if is_forced():
            self._force(values)
            return
        turn = _Turn(values, heat, results, prompt)
        for candidate in (self._try_capture, self._try_xla, self._try_inductor):
            if candidate(turn):
                return

    def _try_capture(self, turn: _Turn) -> bool:
        """Time a captured replay; False if it isn't its turn, as for the candidates below."""
        if turn.heat is Heat.COLD or "replay" in self._compared or self._known is not None or (
                not captures(turn.values)):
            return False
        self._compare("replay", turn)
        return True

    def _try_xla(self, turn: _Turn) -> bool:
        """Take the next step with XLA, which compiles for seconds."""
        assert self.xla is not None
        is_wanted = turn.heat > Heat.COLD or self._known == "xla"
        if not is_wanted or ENGINE == "inductor" or "xla" in self._compared or (
                not self.xla.is_possible):
            return False
        if not self.xla.finished:
            if not self.xla.requested and turn.heat > Heat.COLD and not self._dense(turn.values):
                self.xla.request(turn.values, turn.prompt)
        elif self._known == "xla" and turn.heat < Heat.HOT:
            self.run, self.backend = self.xla.load() or self.run, "xla"
        elif self._takes_more_memory(self.xla.memory):
            self._compared.add("xla")
        else:
            self._compare("xla", turn)
        return True

    def _try_inductor(self, turn: _Turn) -> bool:
        """Take the next step with Inductor, which compiles for a minute."""
        assert self.native is not None
        if turn.heat < Heat.HOT:
            return False
        is_known = self._known in self.native.backends
        if not self.native.requested and not is_known:
            self.settled = has_many_patches(self.part)
            if self.settled or self._dense(turn.values):
                return True
            self.native.request()
        if self.native.finished or is_known:
            self._compare("inductor", turn)
        return True

    def _look_up(self, values: list[torch.Tensor]) -> None:
        """Use the backend that an earlier process found, if it is on disk."""
        self.native = Native(self.part, values)
        self.xla = Xla(self.part, self.native.name, lambda x: self.replay(x),
                       self.part.constants)
        before, self._before = self._before, ()
        if self._takes_over(before):
            return
        self._known = self.xla.remembered() or self.native.remembered()
        if self._known == "xla" and ENGINE != "inductor":
            self.xla.request(values)  # loaded in the background
        elif self._known is not None and self._known != "xla":
            way = self._way(self._known, values)
            way = way if way is None or self._follows_inputs(way, values) else None
            self._known = self._known if way else None
            self.run, self.backend = way or self.replay, self._known or "replay"

    def _takes_over(self, before: Sequence[Stage]) -> bool:
        """Take over the state of an earlier stage with the same operations, if there is one."""
        assert self.xla is not None
        for stage in before:
            its = stage.xla
            if its is not None and its.key is not None and its.key == self.xla.key:
                self.xla, self.native = its, stage.native
                for code in filter(None, (its, stage.native)):
                    code.part = self.part  # so that the other graph is freed
                self._known, self._is_dense = stage._known, stage._is_dense
                if stage.backend in ("replay", "xla") and not stage.is_timed:
                    self._compared, self.backend = stage._compared, stage.backend
                    self.run = stage.run if self.backend == "xla" else self.replay
                return True
        return False

    def _dense(self, values: list[torch.Tensor]) -> bool:
        """Whether dense kernels take most of the time, so that there is nothing to win."""
        if self._is_dense is None:
            release()
            self._is_dense = dense_share(self.part, values) > MOST_DENSE
            if self._is_dense:
                self._decide("replay", None)
                self.settled = True
        return self._is_dense

    def _takes_more_memory(self, bytes: int) -> bool:
        """Whether a call that takes so many bytes would take much more than a replay.

        Such code isn't even timed: a step that fits into memory must not fail by a comparison.
        """
        if bytes <= MORE_MEMORY:
            return False
        graph = self.part.copied()
        peak = memory.Liveness(graph.graph).peak
        dismantle(graph)
        return bytes > MORE_MEMORY + peak

    def _force(self, values: list[torch.Tensor]) -> None:
        """Compile by one compiler now, and run its code from now on if it is right."""
        assert self.xla is not None and self.native is not None
        engine = _FORCED[ENGINE]
        if engine == "xla":
            self.xla.make_now(values)
        else:
            self.native.make_now()
        way = self._way(engine, values)
        if way is not None and not self._is_right(way, values, None):
            raise AssertionError(f"{engine} computes something else than the replay:\n"
                                 f"{self.part.copied().graph}")
        self._decide(engine, way)
        self.settled = True

    def _compare(self, engine: str, turn: _Turn) -> None:
        """Time an engine's code against what runs now in the next calls, if it is right."""
        self._compared.add(engine)
        values, results = turn.values, turn.results if self.run is self.replay else None
        names = ["replay", engine]
        if captures(values):
            names += ["replay, captured", f"{engine}, captured"]
        # the first stays unless another is clearly faster
        names = list(dict.fromkeys([self.backend, *names]))
        ways: dict[str, Run] = {}
        for name in names:
            way = self.run if name == self.backend else self._way(name, values)
            if way is not None and (way in (self.run, self.replay) or self._is_right(
                    way, values, results) and self._follows_inputs(way, values)):
                ways[name] = way
        if len(ways) == 1:
            self._finish(*next(iter(ways.items())), {})
        else:
            self.run = tuner = Autotuner(ways, lambda fastest: self._finish(
                fastest, ways[fastest], tuner.shares, tuner.is_sure))

    def _finish(self, fastest: str, run: Run, shares: dict[str, float], is_sure: bool = True
                ) -> None:
        """Run by the fastest backend; Inductor isn't tried where XLA wins by far."""
        self._decide(fastest, run, is_sure)
        self.is_far_ahead = (
            fastest == "xla" and shares.get("xla", 1.0) < FAR * shares.get("replay", 1.0))
        self.settled = self.is_far_ahead or "inductor" in self._compared

    def _way(self, name: str, values: list[torch.Tensor]) -> Run | None:
        """The function of a backend; None if it is not available."""
        assert self.native is not None and self.xla is not None
        kind, _, captured = name.partition(", ")
        run = (self.replay if kind == "replay" else self.xla.load() if kind == "xla"
               else self.native.load())
        if run is None or not captured:
            return run
        try:
            return Captured(run, values, self.stays, streams_of(self.part.root, self.part.nodes))
        except (RuntimeError, ValueError):
            return None

    def _is_right(self, native: Run, values: list[torch.Tensor],
                  wanted: Sequence[torch.Tensor] | None) -> bool:
        """Whether machine code agrees with replay, drawing the same random numbers."""
        streams = streams_of(self.part.root, self.part.nodes)
        with returning_freed_memory():
            if wanted is None:
                with generators_restored(streams):
                    wanted = self.replay(values)
            try:
                with generators_restored(streams):
                    found = native(values)
                if [a.stride() for a in wanted] != [b.stride() for b in found]:
                    return False
                with generators_restored(streams):
                    return agree_but_for_kinks(
                        wanted, found, lambda: self.replay([next_to(v) for v in values]))
            except RuntimeError:
                return False

    def _follows_inputs(self, way: Run, values: list[torch.Tensor]) -> bool:
        """Whether a captured graph computes with what it is given, and draws new numbers.

        It was captured with `values`: with the same again, old results would look right.
        """
        if not isinstance(way, Captured):
            return True
        streams = streams_of(self.part.root, self.part.nodes)
        with generators_restored(streams):
            for stream in streams:
                torch.rand((), generator=stream, device=stream.device)
            return self._is_right(way, others_like(values, self.stays), None)

    def _decide(self, fastest: str, run: Run | None, is_sure: bool = True) -> None:
        """Run by a backend from now on; for later processes, too, if the times were clear."""
        assert self.native is not None and self.xla is not None
        # not a replay that `lower` has replaced meanwhile
        self.run = self.replay if run is None or fastest == "replay" else run
        self.backend = fastest if run else "replay"
        self._known = None
        for code in (self.xla, self.native):
            if is_sure:
                code.remember(self.backend)
            else:
                code.forget()
        logs.show("schedule", f"a stage of {len(self.part.nodes)} operations is run by "
                  f"{self.backend} from now on")
