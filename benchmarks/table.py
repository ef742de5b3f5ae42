"""Results as tables, on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.table import Table as RichTable

from .harness import BASELINE, Result
from .workload import Workload

OURS = ("Lamella", "Lamella graph")
Found = dict[str, Result]  # by contestant
Results = dict[Workload, Found]
NONE = "–"


@dataclass
class Table:
    """A head, and lines of as many cells; the best cell of a line may be in bold, as Markdown."""

    title: str
    head: list[str]
    lines: list[list[str]]

    def rich(self) -> RichTable:
        table = RichTable(*self.head, title=self.title, title_justify="left")
        for column in table.columns[1:]:
            column.justify = "right"
        for line in self.lines:
            table.add_row(*(f"[bold]{cell.strip('*')}[/]" if cell.startswith("**") else cell
                            for cell in line))
        return table

    def markdown(self) -> str:
        lines = [self.head, ["---", *["---:"] * (len(self.head) - 1)], *self.lines]
        return "\n".join([f"### {self.title}", "", *(f"| {' | '.join(li)} |" for li in lines)])


def contestants(results: Results) -> list[str]:
    """Who has a figure anywhere."""
    names = dict.fromkeys(name for found in results.values() for name in found)
    return [n for n in names if any(measured(found, n) for found in results.values())]


def measured(found: Found, name: str | None) -> bool:
    return name in found and bool(found[name].times) and not found[name].reason


def best_peer(found: Found) -> str | None:
    """The fastest of the others."""
    peers = [name for name in found if measured(found, name) and name not in OURS]
    return min(peers, key=lambda name: found[name].median, default=None)


def ratio(found: Found, name: str, other: str | None) -> float | None:
    """The time of a contestant in times of another's."""
    if other is None or not measured(found, name) or not measured(found, other):
        return None
    return found[name].median / found[other].median


def step_table(results: Results) -> Table:
    """Medians; the best in bold."""
    names = contestants(results)
    lines = []
    for workload, found in results.items():
        best = min((found[n].median for n in names if measured(found, n)), default=None)
        cells = []
        for name in names:
            if not measured(found, name):
                cells.append(NONE)
                continue
            value = workload.figure(found[name].median)
            text = f"{value:.3g}" if value < 1000 else f"{value:,.0f}" if workload.is_rate else (
                f"{value:.0f}")
            bold = "**" if found[name].median == best else ""
            cells.append(f"{bold}{text} {workload.unit}{bold}")
        lines.append([f"{workload.title} ({workload.about})", *cells])
    return Table("Time of a step, median", ["workload", *names], lines)


def ratio_table(results: Results) -> Table:
    """Lamella against PyTorch eager, and against the best peer."""
    ours = [name for name in OURS if name in contestants(results)]
    head = ["workload", *(f"{name} / {BASELINE}" for name in ours), "best peer",
            *(f"{name} / best peer" for name in ours)]
    lines = []
    for workload, found in results.items():
        peer = best_peer(found)
        lines.append([workload.title, *(_ratio(ratio(found, n, BASELINE)) for n in ours),
                      peer or NONE, *(_ratio(ratio(found, n, peer)) for n in ours)])
    return Table("Lamella's time in times of others; below 1, Lamella is faster", head, lines)


def spread_table(results: Results) -> Table:
    """How far the measurements scatter."""
    def cell(result: Result) -> str:
        if len(result.times) < 3:
            return "one step" if result.times else NONE
        low, high = (100 * (result.percentile(q) / result.median - 1) for q in (10, 90))
        return f"{low:+.0f} … {high:+.0f} %".replace("-", "−")

    return _by_contestant("Scatter: 10th and 90th percentile against the median", results, cell)


def first_table(results: Results) -> Table:
    return _by_contestant(
        "First answer in a fresh process, counted from making the network, in seconds", results,
        lambda result: NONE if result.first is None else f"{result.first:.2f}")


def memory_table(results: Results, device: str) -> Table:
    where = "on the device" if device == "cuda" else "in the process, on top of the framework"
    return _by_contestant(
        f"Peak memory {where}, MiB", results,
        lambda result: NONE if result.memory is None else f"{result.memory / 2**20:.0f}")


def cores_table(results: Results) -> Table:
    return _by_contestant(
        "Cores busy during a warm step", results,
        lambda result: NONE if result.cores is None else f"{result.cores:.1f}")


def _by_contestant(title: str, results: Results, cell: Callable[[Result], str]) -> Table:
    names = contestants(results)
    lines = []
    for workload, found in results.items():
        cells = [cell(found[n]) if n in found and not found[n].reason else NONE for n in names]
        if any(c != NONE for c in cells):
            lines.append([workload.title, *cells])
    return Table(title, ["workload", *names], lines)


def reasons(results: Results) -> list[str]:
    """Why there are dashes: a line for each contestant and reason."""
    where: dict[tuple[str, str], list[str]] = {}
    taking_part = contestants(results)
    for workload, found in results.items():
        for name, result in found.items():
            if not result.settled and not result.reason:
                where.setdefault((name, "had not found its fastest form yet"), []).append(
                    workload.title)
            if result.reason and (result.wrong or name in taking_part):
                where.setdefault((name, result.reason), []).append(workload.title)
    return [f"{name}, {'; '.join(titles)}: {reason}" for (name, reason), titles in where.items()]


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def page_with(page: str, device: str, text: str) -> str:
    """`page` with `text` between the markers of `device`, which are added if they are missing."""
    begin, end = f"<!-- {device}: written by make bench -->", f"<!-- {device}: end -->"
    before, found, rest = page.partition(begin)
    if not found:
        return f"{page.rstrip()}\n\n{begin}\n{text}\n{end}\n"
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"
