"""A report of a compiled function as a page, and as a piece of HTML for notebooks."""

from __future__ import annotations

import html
from typing import Any

from ..graph.runtime.report import CompilationReport, advice
from .html import Page

__all__ = ["compilation_html", "compilation_page"]


def compilation_page(report: CompilationReport) -> Page:
    """The report as a page.

    Args:
        report: what `report()` of a compiled function gave.

    Returns:
        A `Page`, to write to a file.
    """
    page = Page(f"How {report.name} is compiled", "Which graphs there are, why, and what runs them")
    page.tiles(_tiles(report))
    page.section("Graphs", "table", _graphs(report), note=(
        "Each is recorded once, for one kind of arguments and the decisions that the program took "
        "with them. Click a row for its decisions."))
    for number, graph in enumerate(report.details):
        page.record(f"g{number}", f"Graph {number + 1}", [
            ("operations", graph.kernels), ("run by", graph.backend), ("runs", graph.runs),
            ("choice is final", "yes" if graph.settled else "not yet"),
            *(("holds for a value read at", line) for line in graph.decisions)])
    if report["recompilations"]:
        page.section("Why it was recorded again", "text", report["recompilations"], note=(
            "The guard that failed, with the value before and the value then."))
    if report["eager"]:
        page.section("What runs eagerly, and how to change it", "table", {
            "columns": [{"key": "why", "label": "The function", "wrap": True},
                        {"key": "how", "label": "What to do", "wrap": True}],
            "rows": [{"id": f"e{number}", "why": reason, "how": advice(reason)}
                     for number, reason in enumerate(report["eager"])]})
    return page


def _tiles(report: CompilationReport) -> list[dict[str, Any]]:
    return [
        {"label": "graphs", "value": str(report["graphs"]),
         "note": f"recorded {report['traces']} times"},
        {"label": "replays", "value": str(report["replays"]),
         "note": f"guards failed {report['guard_misses']} times"},
        {"label": "time of all replays", "value": f"{sum(g.seconds for g in report.details):.3g} s",
         "note": "without the recordings"},
        {"label": "reasons to run eagerly", "value": str(len(report["eager"])),
         "note": "none is best"}]


def _graphs(report: CompilationReport) -> dict[str, Any]:
    return {
        "columns": [{"key": "name", "label": "Graph"}, {"key": "backend", "label": "Run by"},
                    {"key": "kernels", "label": "Operations", "format": "count"},
                    {"key": "runs", "label": "Runs", "format": "count"},
                    {"key": "least", "label": "Shortest", "format": "time"},
                    {"key": "seconds", "label": "All", "format": "time", "bar": True},
                    {"key": "decisions", "label": "Decisions", "format": "count"}],
        "rows": [{"id": f"g{number}", "name": f"{number + 1}", "backend": graph.backend,
                  "kernels": graph.kernels, "runs": graph.runs, "least": graph.least,
                  "seconds": graph.seconds, "decisions": len(graph.decisions)}
                 for number, graph in enumerate(report.details)],
        "sort": ["seconds", -1]}


def compilation_html(report: CompilationReport) -> str:
    """The report as a piece of HTML: its text, whose lines may be folded.

    Args:
        report: what `report()` of a compiled function gave.
    """
    head, _, rest = str(report).partition("\n")
    return (f"<details open><summary>{html.escape(head)}</summary>"
            f"<pre>{html.escape(rest)}</pre></details>")
