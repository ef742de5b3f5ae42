"""A report as a page: what a step spends its time on, and where its limits lie."""

from __future__ import annotations

import linecache
import os
from typing import Any

from ..html import Page
from .costs import KINDS
from .figures import Figures, Sum
from .text import bandwidth, count, how, rate, size, summary, time

COLORS = {kind: color for color, kind in enumerate(KINDS[:6])} | {
    "elementwise": 7, "movement": 5, "recurrent": 1, "reduction": 4, "normalization": 3,
    "optimizer": 6, "other": 6}
MOST = 4000  # kernels in the timeline
TEN = 10.0


def page_of(report: Figures) -> Page:
    """The page."""
    threads = "1 thread" if report.threads == 1 else f"{report.threads} threads"
    page = Page(f"What limits {report.name}", f"{how(report)}; {report.device}, {threads}")
    groups = report.groups
    ids = {id(k): f"k{number}" for number, s in enumerate(groups) for k in s.kernels}
    page.tiles(_tiles(report))
    page.section("", "text", summary(report)[1:])
    page.section("Time", "shares", {"format": "time", "rows": [
        {"label": "by kind", "parts": [_part(s, COLORS[s.label]) for s in report.kinds]},
        {"label": "by phase", "parts": [_part(s, n) for n, s in enumerate(report.phases)]},
        {"label": "by limit", "parts": _parts_by_limit(report)}]},
        note="Of all kernels, each run by itself; the quickest of its runs counts.")
    page.section("Kernels", "table", _table(report, groups), note=(
        "Kernels alike from one line are one row. A kernel's limit is the least time that its work "
        "takes on this machine. Click a row for its numbers."))
    page.section("Roofline", "plot", _roofline(report, groups), note=(
        "Each point is a row of the table, larger the more time it takes. The lines are the peaks "
        "of this machine: nothing lies above them, except what stays in caches."))
    page.section("Timeline", "timeline", _timeline(report, ids))
    page.section("Graph", "outline", _outline(report, groups, ids), note=(
        "By phase and by line of the program; arcs show which results are read where."))
    for number, s in enumerate(groups):
        page.record(f"k{number}", s.label, _fields(s), code=_code(s))
    return page


def _tiles(report: Figures) -> list[dict[str, Any]]:
    products = report.products
    times = f"the call takes {report.seconds / report.limit:.2f} times that" if report.limit else ""
    return [
        {"label": "one call", "value": time(report.seconds), "note": report.how},
        {"label": "lower limit", "value": time(report.limit), "note": times},
        {"label": "products", "value": rate(products.rate),
         "note": f"{products.seconds / (report.kernel_seconds or 1):.0%} of the kernels' time"},
        {"label": "peak of products", "value": rate(max(report.rates.values(), default=0)),
         "note": ", ".join(report.rates)},
        {"label": "memory", "value": bandwidth(report.peaks.of_memory(float("inf"))),
         "note": "measured, as the peaks are"},
        {"label": "kernels", "value": str(len(report.kernels)),
         "note": f"and {report.views} views"}]


def _part(s: Sum, color: int) -> dict[str, Any]:
    return {"label": s.label, "value": s.seconds, "color": color}


def _parts_by_limit(report: Figures) -> list[dict[str, Any]]:
    """The time as what products need, what memory needs, and the rest."""
    needed = {name: sum(k.limit for k in report.kernels if k.bound == name)
              for name in ("compute", "memory")}
    rest = report.kernel_seconds - sum(needed.values())
    return [{"label": "at the peak of products", "value": needed["compute"], "color": 2},
            {"label": "at the peak of memory", "value": needed["memory"], "color": 5},
            {"label": "above the limits", "value": rest, "color": 3}]


def _table(report: Figures, groups: list[Sum]) -> dict[str, Any]:
    whole = report.kernel_seconds or 1
    rows = [{"id": f"k{number}", "name": s.label, "kind": s.first.cost.kind,
             "forms": s.first.cost.forms, "count": s.count, "time": s.seconds,
             "part": s.seconds / whole, "flops": s.flops, "rate": s.rate, "bytes": s.bytes,
             "bandwidth": s.bandwidth, "bound": s.first.bound, "share": s.share,
             "above": s.seconds - s.limit, "phase": s.first.line.phase, "line": _place(s),
             "color": COLORS[s.first.cost.kind]} for number, s in enumerate(groups)]
    columns = [
        {"key": "name", "label": "Kernel", "code": True, "color": "color"},
        {"key": "forms", "label": "Shapes", "narrow": True},
        {"key": "count", "label": "×", "format": "number"},
        {"key": "time", "label": "Time", "format": "time", "bar": True},
        {"key": "part", "label": "Share", "format": "percent"},
        {"key": "rate", "label": "FLOP/s", "format": "rate"},
        {"key": "bandwidth", "label": "Bytes/s", "format": "bandwidth"},
        {"key": "share", "label": "Of limit", "format": "percent",
         "title": "its limit as a part of its time: 100 % at the peak of the machine"},
        {"key": "above", "label": "Above", "format": "time",
         "title": "its time above its limit: what there is to win"},
        {"key": "bound", "label": "Bound", "title": "what its limit comes from"},
        {"key": "line", "label": "Line", "code": True},
        {"key": "phase", "label": "Phase"},
        {"key": "kind", "label": "Kind"}]
    return {"columns": columns, "rows": rows, "sort": ["time", -1],
            "groups": ["kind", "line", "phase", "bound"],
            "total": ["time", "part", "flops", "bytes", "count", "above"]}


def _roofline(report: Figures, groups: list[Sum]) -> dict[str, Any]:
    most = max((s.seconds for s in groups), default=1) or 1
    points = [{"id": f"k{number}", "x": s.flops / s.bytes, "y": s.rate, "size": s.seconds / most,
               "label": f"{s.label} {s.first.cost.forms}\n{time(s.seconds)}, {rate(s.rate)}",
               "color": COLORS[s.first.cost.kind]}
              for number, s in enumerate(groups) if s.flops and s.bytes and s.seconds]
    memory = report.peaks.of_memory(float("inf"))
    right = max((p["x"] for p in points), default=1.0)
    left = min((p["x"] for p in points), default=1.0)
    rates = report.rates
    highest = max(rates.values(), default=1.0)
    lines = [{"label": f"{rate(peak)} in {name}", "color": 2,
              "points": [[min(peak / memory, right), peak],
                         [max(right, highest / memory) * TEN, peak]]}
             for name, peak in rates.items()]
    lines.append({"label": f"{bandwidth(memory)} from memory", "color": 5, "dashed": True,
                  "label_at": "start", "slanted": True,
                  "points": [[left, left * memory], [highest / memory, highest]]})
    seen = dict.fromkeys(s.first.cost.kind for s in groups if s.flops)
    return {"x": {"label": "FLOPs per byte", "log": True},
            "y": {"label": "FLOP/s", "log": True, "format": "rate"}, "points": points,
            "lines": lines if points else [],
            "legend": [{"label": kind, "color": COLORS[kind]} for kind in seen],
            "empty": "No kernel computes anything."}


def _timeline(report: Figures, ids: dict[int, str]) -> dict[str, Any]:
    kinds = [s.label for s in report.kinds]
    items, start = [], 0.0
    for k in report.kernels:
        items.append({"id": ids[id(k)], "lane": kinds.index(k.cost.kind), "start": start,
                      "length": k.seconds, "label": f"{k.name} {k.cost.forms}\n"
                      f"{os.path.basename(k.line.file)}:{k.line.number} {k.line.phase}",
                      "color": COLORS[k.cost.kind]})
        start += k.seconds
    if len(items) > MOST:  # the longest
        items = sorted(items, key=lambda item: -item["length"])[:MOST]
    return {"lanes": kinds, "items": items, "format": "time"}


def _outline(report: Figures, groups: list[Sum], ids: dict[int, str]) -> dict[str, Any]:
    nodes: dict[str, dict[str, Any]] = {}
    for phase in report.phases:  # in the order of the run
        nodes[f"p {phase.label}"] = {"id": f"p {phase.label}", "label": phase.label}
    first = {ids[id(k)]: k for k in reversed(report.kernels)}
    rows = {f"k{number}": s for number, s in enumerate(groups)}
    for name in sorted(first, key=lambda name: first[name].number):
        k, s = first[name], rows[name]
        parent = f"p {k.line.phase or 'forward'}"
        line = f"{parent} {k.line.file}:{k.line.number}"
        if line not in nodes:
            nodes[line] = {"id": line, "parent": parent, "label": _place(s) or "no line",
                           "note": _code(s).strip()[:60]}
        nodes[name] = {"id": name, "parent": line, "label": s.label, "value": s.seconds,
                       "note": f"× {s.count}" if s.count > 1 else k.cost.forms,
                       "color": COLORS[k.cost.kind]}
    flows: dict[tuple[str, str], int] = {}
    for k in report.kernels:
        for source, amount in k.sources.items():
            pair = ids[id(report.kernels[source])], ids[id(k)]
            flows[pair] = flows.get(pair, 0) + amount
    return {"nodes": list(nodes.values()),
            "edges": [[a, b, amount] for (a, b), amount in flows.items()],
            "format": "time", "weight_format": "bytes", "open": 2}


def _fields(s: Sum) -> list[tuple[str, Any]]:
    k = s.first
    each = "" if s.count == 1 else " of each, on average"
    return [("kind", k.cost.kind), ("phase", k.line.phase), ("line", _place(s)),
            ("shapes", k.cost.forms), ("type", k.cost.dtype), ("calls", s.count),
            ("time", time(s.seconds)), *([("time" + each, time(s.seconds / s.count))] if each
                                         else []),
            ("FLOPs", count(s.flops)), ("FLOP/s", rate(s.rate)), ("bytes", size(s.bytes)),
            ("bytes/s", bandwidth(s.bandwidth)),
            ("FLOPs per byte", s.flops / s.bytes if s.bytes else None), ("bound by", k.bound),
            ("limit", time(s.limit)), ("limit / time", f"{s.share:.0%}"),
            ("above the limit", time(max(0.0, s.seconds - s.limit)))]


def _place(s: Sum) -> str:
    line = s.first.line
    return f"{os.path.basename(line.file)}:{line.number}" if line.file else ""


def _code(s: Sum) -> str:
    """The line of source, if it can be read."""
    return linecache.getline(s.first.line.file, s.first.line.number).strip()
