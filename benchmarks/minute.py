"""The first half minute of a compiled step from a cold cache, beside PyTorch's eager step.

The load of a machine changes by more than the contestants differ. So both run in turns of
`TURN` seconds, with the other one stopped, what it compiles in the background included, until each
has run for `SECONDS`. Then the compiler gets the machine to itself between steps until the step has
settled, for `SETTLING` seconds at the most. With several runs, each begins with a cold cache of its
own, and what they have settled at is measured in turns at the end. The four steps take ten minutes.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .harness import BASELINE, Process, Settings, command_for, environment, written_arrays
from .table import Table
from .workloads import WORKLOADS

STEPS = ("mlp", "lenet", "gpt", "resnet")
BY_NAME = {w.name: w for w in WORKLOADS}
COMPILED = "Lamella graph"
SECONDS, SETTLING = 30.0, 100.0
TURN, ROUNDS = 1.0, 30


def minute(names: Sequence[str], settings: Settings, runs: int, progress: Callable[[str], None],
           seconds: float = SECONDS) -> Table:
    """The first half minute, the settled step and memory."""
    lines = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="benchmarks-",
                                         ignore_cleanup_errors=True) as folder:
            found = _Runs(name, settings, folder)
            try:
                lines.append(found.line(runs, seconds, progress))
            finally:
                found.end()
    return Table(
        f"The first {seconds:g} s from a cold cache, settled steps (ms), memory (MiB)",
        ["step", "PyTorch's steps", "compiled steps", "compiled / PyTorch", "PyTorch's step",
         "settled step", "spread", "settled / PyTorch", "PyTorch's memory, whole run", "warm",
         "compiled, whole run", "settled"], lines)


class _Runs:
    """The processes that run one step: PyTorch's, and those of the compiled step."""

    def __init__(self, name: str, settings: Settings, folder: str):
        self.name, self.settings, self.folder = name, settings, folder
        self.arrays = written_arrays(BY_NAME[name], folder)
        self.processes: list[Process] = []

    def line(self, runs: int, seconds: float, progress: Callable[[str], None]) -> list[str]:
        """The cells of the table."""
        torchs = self._started(BASELINE)
        counts: list[tuple[int, int]] = []
        shares: list[float] = []
        ends: list[dict[str, Any]] = []
        for number in range(runs):
            ours = self._started(COMPILED)
            (theirs, its), (own, time) = _together([torchs, ours], seconds)
            counts.append((theirs, own))
            shares.append((own / time) / (theirs / its))
            found = ours.ask(do="settle", seconds=SETTLING)
            ends.append(found)
            progress(f"{self.name}, run {number + 1}: {own} steps, PyTorch {theirs}; "
                     f"{'' if found['settled'] else 'not '}settled after {found['after']:.0f} s")
        whole = torchs.ask(do="settle", seconds=0.0)["memory"]
        later = [process.ask(do="repeat", seconds=2 * TURN)["memory"] for process in self.processes]
        times: list[list[float]] = [[] for _ in self.processes]
        for _ in range(ROUNDS):
            for process, its in zip(self.processes, times, strict=True):
                its.append(process.ask(do="turn")["seconds"])
        base, *steps = map(statistics.median, times)
        return [
            BY_NAME[self.name].title, *map(str, counts[0]),
            ", ".join(f"{share:.2f}" for share in shares), f"{1e3 * base:.2f}",
            ", ".join(f"{1e3 * step:.2f}{'' if done else ' (not yet)'}"
                      for step, done in zip(steps, (e["settled"] for e in ends), strict=True)),
            f"{100 * (max(steps) / min(steps) - 1):.0f} %",
            f"{statistics.median(steps) / base:.2f}",
            *(f"{size / 2**20:.0f}" for size in (whole, later[0], ends[0]["memory"], later[1]))]

    def _started(self, contestant: str) -> Process:
        around = environment(self.settings, f"{self.folder}/{len(self.processes)}")
        process = Process(command_for(contestant, self.settings), around, self.settings.limit)
        self.processes.append(process)
        process.ask(do="make", workload=self.name, contestant=contestant, arrays=self.arrays,
                    device=self.settings.device, threads=self.settings.threads)
        return process

    def end(self) -> None:
        for process in self.processes:
            process.end()


def _together(processes: Sequence[Process], seconds: float) -> list[tuple[int, float]]:
    """How many steps each makes in so many seconds of its own, and the seconds."""
    found = [(0, 0.0) for _ in processes]
    while min(time for _, time in found) < seconds:
        for place, process in enumerate(processes):
            steps, time = found[place]
            made: dict[str, Any] = process.ask(do="steps", seconds=TURN)
            found[place] = steps + made["steps"], time + made["seconds"]
    return found
