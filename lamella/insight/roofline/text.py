"""A report on the terminal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .figures import TOP, Figures, Sum

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

_HOW = {"eager": "eager", "replay": "compiled: a recorded graph is replayed",
        "xla": "compiled to machine code by XLA",
        "inductor": "compiled to machine code by Inductor"}


def how(report: Figures) -> str:
    """How a step runs, as text."""
    kind, _, captured = report.how.partition(", ")
    return _HOW[kind] + (", launched as one CUDA graph" if captured else "")


def tables(report: Figures) -> Group:
    """What a report shows when it is printed."""
    from rich.console import Group
    from rich.text import Text

    return Group(Text("\n".join(summary(report))), _kinds(report), _top(report))


def summary(report: Figures) -> list[str]:
    """A report in a few sentences."""
    peak = ", ".join(f"{rate(v)} in {k}" for k, v in report.rates.items())
    memory = bandwidth(report.peaks.of_memory(float("inf")))
    whole, limit = report.seconds, report.limit
    threads = "a thread" if report.threads == 1 else f"{report.threads} threads"
    lines = [
        f"{report.name} ({how(report)}) on {report.device}, {threads}",
        f"One call takes {time(whole)}. Its {len(report.kernels)} kernels take "
        f"{time(report.kernel_seconds)}, one by one{_unlike(report)}.",
        f"Lower limit for these kernels on this machine: {time(limit)}"
        f"{times(whole, limit)}; for its products alone {time(report.floor)}"
        f"{times(whole, report.floor)}.",
        f"Peaks measured here: {peak + '; ' if peak else ''}{memory} from memory."]
    return [*lines, report.note] if report.note else lines


def _unlike(report: Figures) -> str:
    """What to say where the kernels are not those that run."""
    return ", in the graph that machine code is made of" if report.how.startswith(
        ("inductor", "xla")) else ""


def times(whole: float, limit: float) -> str:
    """How far a time is from a limit."""
    return f" (the call takes {whole / limit:.2f} times that)" if limit else ""


def _kinds(report: Figures) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table("kind", "kernels", "time", "share", "FLOPs", "FLOP/s", "bytes", "bytes/s",
                  "limit", "of limit", title="By kind", title_justify="left", box=SIMPLE,
                  padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify = "right"
    for s in report.kinds:
        table.add_row(s.label, *_numbers(s, report))
    return table


def _top(report: Figures) -> Table:
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table("kernel", "×", "time", "share", "FLOP/s", "bytes/s", "of its limit", "line",
                  title="Longest kernels", title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
    for column in table.columns[1:7]:
        column.justify, column.no_wrap = "right", True
    groups = report.groups
    for s in groups[:TOP]:
        part = s.seconds / (report.kernel_seconds or 1)
        forms = s.first.cost.forms.partition(" →")[0].split(", ")[:3]
        table.add_row(f"{s.label} {', '.join(forms)}", str(s.count),
                      time(s.seconds), f"{part:.0%}", rate(s.rate) if s.flops else "",
                      bandwidth(s.bandwidth), f"{s.share:.0%} {s.first.bound}", where(s))
    if len(groups) > TOP:
        rest = groups[TOP:]
        seconds = sum(s.seconds for s in rest)
        table.add_row("others", str(sum(s.count for s in rest)), time(seconds),
                      f"{seconds / report.kernel_seconds:.0%}")
    return table


def _numbers(s: Sum, report: Figures) -> list[str]:
    part = s.seconds / (report.kernel_seconds or 1)
    return [str(s.count), time(s.seconds), f"{part:.0%}", count(s.flops), rate(s.rate),
            size(s.bytes), bandwidth(s.bandwidth), time(s.limit), f"{s.share:.0%}"]


def where(s: Sum) -> str:
    """The file and line of kernels, and the phase if that isn't forward."""
    line = s.first.line
    if not line.file:
        return line.phase
    name = f"{os.path.basename(line.file)}:{line.number}"
    return name if line.phase == "forward" else f"{name} {line.phase}"


def time(seconds: float) -> str:
    """Seconds as text."""
    for unit, part in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= part * 0.9995:
            return f"{_short(seconds / part)} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if abs(value) < step * 0.9995:
            return f"{_short(value)} {unit}".strip()
        value /= step
    return f"{_short(value)} {units[-1]}"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 or value == int(value) else f"{value:.3g}"


def count(value: float) -> str:
    """A number as text."""
    return _scaled(value, 1000, ("", "k", "M", "G", "T", "P"))


def size(value: float) -> str:
    """Bytes as text."""
    return _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def rate(value: float) -> str:
    """Floating-point operations per second as text."""
    return _scaled(value, 1000, ("FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"))


def bandwidth(value: float) -> str:
    """Bytes per second as text."""
    return _scaled(value, 1000, ("B/s", "kB/s", "MB/s", "GB/s", "TB/s"))
