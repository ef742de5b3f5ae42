"""The process that watches: starts a worker, notices that it died or hangs, starts the next."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..zygote import run as python
from . import judge

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Finding:
    """A call with a bad outcome."""

    number: int
    kind: str
    target: str = ""
    error: str = ""
    place: str = ""
    message: str = ""
    call: str = ""


@dataclass
class Report:
    """The outcomes of the calls."""

    calls: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    def lines(self, most: int = 40) -> list[str]:
        """A summary: figures, then findings, those of one place and error as one line."""
        shares = ", ".join(f"{kind} {self.counts[kind]} ({self.counts[kind] / self.calls:.3%})"
                           for kind in judge.KINDS if self.counts[kind])
        out = [f"{self.calls} calls: {shares}"]
        groups: dict[tuple[str, ...], list[Finding]] = {}
        for f in self.findings:
            groups.setdefault((f.kind, f.place, f.error, f.target if not f.place else ""), []
                              ).append(f)
        order = sorted(groups.values(), key=lambda g: (-judge.KINDS.index(g[0].kind), -len(g)))
        for group in order[:most]:
            first = group[0]
            names = ", ".join(sorted({f.target for f in group})[:6])
            out.append(f"{len(group):5} {first.kind} {first.error} at {first.place or '?'} "
                       f"[{names}]\n      {first.message[:200]}\n"
                       f"      {first.number}: {first.call[:300]}")
        return out


def _seconds(process: int) -> float:
    """The CPU time that it has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(calls: int, seed: int = 0, source: str = "tests.fuzz.surface", only: str = "",
        patience: float = 20.0, begin: int = 0, seconds: float = float("inf")) -> Report:
    """Make `calls` calls and report.

    Args:
        calls: how many.
        seed: of the arguments; a call is known by seed and number.
        source: the module that lists the targets.
        only: what the names of the targets must contain.
        patience: the CPU seconds that a call may take.
        begin: the number of the first call.
        seconds: after how long to stop early.
    """
    end, report, ends = begin + calls, Report(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "progress"
        progress.write_bytes(bytes(end))
        Path(folder, "findings").touch()
        at = begin
        while at < end and time.monotonic() < ends:
            at = _one_worker(folder, [str(v) for v in (seed, at, end)], source, only, patience,
                             report, ends)
        done = progress.read_bytes()[begin:end]
        report.calls = sum(1 for byte in done if byte)
        report.counts.update(judge.KINDS[byte - 1] for byte in done if byte)
        for line in Path(folder, "findings").read_text().splitlines():
            report.findings.append(Finding(*json.loads(line)))
    return report


def _one_worker(folder: str, numbers: list[str], source: str, only: str, patience: float,
                report: Report, ends: float) -> int:
    """Run a worker until it is done, dies or is killed; the number to go on with."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1",
                                "LAMELLA_CACHE": "0"}
    progress, ready = Path(folder) / "progress", Path(folder) / "ready"
    ready.unlink(missing_ok=True)
    with open(Path(folder) / "errors", "w+") as errors:
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", folder, *numbers, source, only],
            cwd=folder, env=environment, stderr=errors)
        at, end, hangs = int(numbers[1]), int(numbers[2]), False
        since, clock = 0.0, time.monotonic()
        while worker.poll() is None:
            time.sleep(0.1)
            now = progress.read_bytes().find(b"\0", at)
            now = end if now < 0 else now
            try:
                used = _seconds(worker.pid)
            except OSError:
                break
            if now != at or now == end or not ready.exists():
                at, since, clock = now, used, time.monotonic()
            # a process that is blocked uses no CPU time
            hangs = used - since > patience or time.monotonic() - clock > 15 * patience
            if hangs or time.monotonic() > ends:
                worker.kill()
        status = worker.wait()
        errors.seek(0)
        text = errors.read()[-2000:].strip()
    now = progress.read_bytes().find(b"\0", int(numbers[1]))
    at = end if now < 0 else now
    if status == 0 or (time.monotonic() > ends and not hangs):
        return at
    kind = judge.HANG if hangs else judge.CRASH
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    with open(progress, "r+b") as file:
        file.seek(at)
        file.write(bytes([1 + judge.KINDS.index(kind)]))
    report.findings.append(Finding(at, kind, error=name, message=text[-300:],
                                   call=shown(numbers[0], at, source, only)))
    return at + 1


def shown(seed: str, number: int, source: str, only: str) -> str:
    """A call as text, made by another process: to make it may be enough to crash."""
    made = python("-m", "tests.fuzz", "--call", f"{seed}:{number}", "--dry", "--targets", source,
                  "--only", only, cwd=ROOT,
                  env=os.environ | {"OMP_NUM_THREADS": "1", "LAMELLA_CACHE": "0"})
    return (made.stdout or made.stderr[-300:]).strip()
