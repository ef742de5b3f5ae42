"""A `Findings` as one HTML page."""

from __future__ import annotations

import linecache
import math
import os
import pathlib
from collections import Counter
from typing import Any

import lamella.insight.html.page as shell

from ..html import Page
from .findings import HARMLESS, Findings
from .record import Step, Value
from .statistics import Numbers

ROOT = "c:"
OUTPUT = "output"


def page(report: Findings) -> Page:
    """The page of a report: what is odd, the graph, and the numbers of every edge."""
    made = Page(f"Gradients of {report.name}",
                "One run forward and backward: where gradients flow, and where they end.")
    script = pathlib.Path(shell.ASSETS, "flow.js").read_text(encoding="utf-8")
    made.script(script)
    made.tiles(_tiles(report))
    made.section("Parameters and inputs", "table", _known_table(report),
                 note="What is odd about a gradient, and why. Click a row for its numbers.")
    made.section("Graph", "flow", _graph(report),
                 note="Cells fold. An arc is a tensor of the forward pass, in the color of the "
                      "gradient that comes back along it; click it for the numbers of both.")
    made.section("Size of the gradients", "plot", _sizes(report),
                 note="Of a typical element of each Parameter's gradient, in the order of the "
                      "Parameters; zeros are not shown.")
    if report.cuts or report.rules():
        made.section("Cuts and rules", "table", _bends(report),
                     note="Where a gradient ends, or a rule of the program's own makes it.")
    made.section("Edges", "table", _edge_table(report), note="Every tensor of the run.")
    _records(made, report)
    return made


def _tiles(report: Findings) -> list[dict[str, Any]]:
    gradients = [v.gradient for v in report.parameters.values() if v.gradient is not None]
    marks = Counter(report.mark(name) for name in report.parameters)
    odd = {m: n for m, n in marks.items() if m}
    norm = math.sqrt(sum(g.norm ** 2 for g in gradients))
    return [
        {"label": "Parameters", "value": str(len(report.parameters)),
         "note": f"{sum(v.numbers.count for v in report.parameters.values() if v.numbers):,} "
                 f"elements"},
        {"label": "Norm of all gradients", "value": f"{norm:.4g}",
         "note": f"{sum(1 for g in gradients if not g.is_finite)} not finite"},
        {"label": "Without a gradient", "value": str(sum(odd.get(m, 0) for m in (
            "zero", "cut", "unused", *HARMLESS))),
         "note": ", ".join(f"{n} {m}" for m, n in sorted(odd.items())) or "none"},
        {"label": "Cuts", "value": str(len(report.cuts)),
         "note": ", ".join(sorted({s.cut for s in report.cuts})) or "none"},
        {"label": "Backward rules", "value": str(len(report.rules())),
         "note": ", ".join(sorted({r.effect for _, r in report.rules() if r.effect})) or "–"},
    ]


def _known_table(report: Findings) -> dict[str, Any]:
    rows = [{"id": v.id, "name": name, **_columns(v), "mark": report.mark(name),
             "why": _reason(report, name)}
            for name, v in {**report.inputs, **report.parameters}.items()]
    return {"columns": [
        {"key": "name", "label": "Name", "code": True}, {"key": "shape", "label": "Shape"},
        {"key": "norm", "label": "Value norm", "format": "number"},
        {"key": "gnorm", "label": "Gradient norm", "format": "number", "bar": True},
        {"key": "gzeros", "label": "Zeros", "format": "percent"},
        {"key": "mark", "label": "Remark"}, {"key": "why", "label": "Why", "wrap": True}],
        "rows": rows, "groups": ["mark"]}


def _reason(report: Findings, name: str) -> str:
    """The answer of `why`, without the words that the row's name replaces."""
    if not report.mark(name):
        return ""
    sentence = report.why(name).removeprefix(f"The gradient of '{name}' ").removeprefix("is ")
    return sentence[0].upper() + sentence[1:]


def _edge_table(report: Findings) -> dict[str, Any]:
    label = {s.number: _step_label(report, s) for s in report.steps}
    rows = [{"id": v.id, "from": label[v.maker.number] if v.maker is not None else v.name or v.kind,
             "to": ", ".join(label[s.number] for s in v.uses) or ("output" if v.is_output else ""),
             **_columns(v)} for v in report.values]
    numbers = [("norm", "Norm"), ("zeros", "Zeros"), ("low", "Least"), ("high", "Greatest"),
               ("odd", "NaN, Inf")]
    columns: list[dict[str, Any]] = [
        {"key": "from", "label": "From", "narrow": True},
        {"key": "to", "label": "To", "narrow": True},
        {"key": "shape", "label": "Shape"}, {"key": "dtype", "label": "Type"}]
    for prefix, about in (("", "value"), ("g", "gradient")):
        columns += [{"key": prefix + key,
                     "label": f"{title} of {about}" if key == "norm" else title,
                     "format": "percent" if key == "zeros" else "number"}
                    for key, title in numbers]
    return {"columns": columns, "rows": rows, "groups": ["dtype"]}


def _columns(value: Value) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if value.numbers is not None:
        found = {"shape": str(value.numbers.shape), "dtype": value.numbers.dtype}
    for prefix, numbers in (("", value.numbers), ("g", value.gradient)):
        if numbers is not None:
            found |= {f"{prefix}norm": numbers.norm, f"{prefix}zeros": numbers.zeros,
                      f"{prefix}low": numbers.low, f"{prefix}high": numbers.high,
                      f"{prefix}odd": numbers.nans + numbers.infs}
    return found


def _bends(report: Findings) -> dict[str, Any]:
    rows = [{"id": s.id, "kind": s.cut, "what": report.cut_text(s), "place": _short(s)}
            for s in report.cuts]
    rows += [{"id": at, "kind": "rule", "what": rule.text, "effect": rule.effect,
              "before": rule.before and rule.before.norm, "after": rule.after and rule.after.norm}
             for at, rule in report.rules()]
    return {"columns": [
        {"key": "kind", "label": "Kind"}, {"key": "what", "label": "What"},
        {"key": "place", "label": "Line"}, {"key": "effect", "label": "Effect"},
        {"key": "before", "label": "Norm before", "format": "number"},
        {"key": "after", "label": "Norm after", "format": "number"}],
        "rows": rows, "groups": ["kind"]}


def _sizes(report: Findings) -> dict[str, Any]:
    points = [{"id": v.id, "x": i, "y": v.gradient.mean_size, "label": name, "size": 0.05,
               "color": 3 if report.mark(name) else 0}
              for i, (name, v) in enumerate(report.parameters.items())
              if v.gradient is not None and v.gradient.mean_size]
    return {"x": {"label": "Parameter"}, "y": {"label": "size of an element", "log": True},
            "points": points, "legend": [{"label": "as usual", "color": 0},
                                         {"label": "marked", "color": 3}]}


# -- the graph -----------------------------------------------------------------------------------


def _graph(report: Findings) -> dict[str, Any]:
    nodes: dict[str, dict[str, Any]] = {ROOT: {"id": ROOT, "label": report.name, "kind": "cell"}}
    used = {report.cell_of[s.number] for s in report.steps}
    owners = {name: report.owner(name) for name in report.parameters}
    for name, value in report.inputs.items():
        nodes[value.id] = _leaf(value, ROOT, name, "input", report.mark(name))
    waiting: dict[str, list[tuple[str, Value]]] = {}
    for name, value in report.parameters.items():
        waiting.setdefault(owners[name], []).append((name, value))
    for step in report.steps:
        parent = _cell(report, nodes, report.cell_of[step.number])
        for name, value in waiting.pop(report.cell_of[step.number], ()):
            nodes[value.id] = _leaf(value, parent, name.rpartition(".")[2], "parameter",
                                    report.mark(name), name)
        nodes[step.id] = _step_node(report, step, parent)
    for path, listed in waiting.items():
        parent = _cell(report, nodes, path)
        if path not in used and path:
            nodes[parent]["mark"] = "" if any(p.startswith(path + ".") for p in used) else "unused"
        for name, value in listed:
            nodes[value.id] = _leaf(value, parent, name.rpartition(".")[2], "parameter",
                                    report.mark(name), name)
    nodes[OUTPUT] = {"id": OUTPUT, "parent": ROOT, "label": "output", "kind": "output"}
    edges = []
    for value in report.values:
        start = value.maker.id if value.maker is not None else value.id
        if start in nodes:
            ends = [s.id for s in value.uses] + ([OUTPUT] if value.is_output else [])
            edges += [{"from": start, "to": end, "id": value.id, "state": _state(value, end)}
                      for end in ends]
    return {"columns": [{"key": "shape", "label": "Shape"},
                        {"key": "norm", "label": "Value", "format": "number"},
                        {"key": "gnorm", "label": "Gradient", "format": "number"},
                        {"key": "gzeros", "label": "Zeros", "format": "percent"}],
            "nodes": list(nodes.values()), "edges": edges, "open": 2}


def _state(value: Value, end: str) -> str:
    """The gradient along an edge."""
    if any(s.cut for s in value.uses if s.id == end):
        return "cut"
    if value.gradient is not None:
        return "zero" if value.gradient.is_zero else "flows"
    return "zero" if value.tracked else "none"


def _cell(report: Findings, nodes: dict[str, dict[str, Any]], path: str) -> str:
    """The id of the node of a Cell; it and those around it are added if they are missing."""
    at, parent = "", ROOT
    for part in path.split(".") if path else ():
        at = f"{at}.{part}" if at else part
        if ROOT + at not in nodes:
            nodes[ROOT + at] = {"id": ROOT + at, "parent": parent, "label": part, "path": at,
                                "note": report.names.kind_of(at), "kind": "cell"}
        parent = ROOT + at
    return parent


def _leaf(value: Value, parent: str, label: str, kind: str, mark: str,
          name: str = "") -> dict[str, Any]:
    harmless = mark in HARMLESS
    return {"id": value.id, "parent": parent, "label": label, "kind": kind,
            "mark": "" if harmless else mark, "note": mark if harmless else "",
            "path": name or label, **_columns(value)}


def _step_node(report: Findings, step: Step, parent: str) -> dict[str, Any]:
    cell = report.cell_of[step.number]
    shown = _columns(step.outputs[0]) if step.outputs else {}
    changed = [rule.effect for rule in step.rules if rule.effect not in ("", "unchanged")]
    mark = {"": "", "stop_gradient": "cut: stop_gradient", "numpy": "cut: NumPy",
            "no_grad": "cut: _no_grad", "cast": "cut: integer cast",
            "discrete": "no gradient", "other": "no gradient"}[step.cut]
    if step.rule is not None:
        mark = "own rule"
    if changed:
        mark = f"gradient {changed[0]}"
    return {"id": step.id, "parent": parent, "label": step.operator, "note": _short(step),
            "kind": "step", "mark": mark, "path": f"{cell}.{step.operator}", **shown}


def _short(step: Step) -> str:
    place = step.place
    return f"{os.path.basename(place.file)}:{place.line}" if place.file else ""


def _step_label(report: Findings, step: Step) -> str:
    cell = report.cell_of[step.number]
    return f"{cell}.{step.operator}" if cell else step.operator


# -- the records at the side ---------------------------------------------------------------------


def _records(made: Page, report: Findings) -> None:
    names = {v.number: name for name, v in {**report.inputs, **report.parameters}.items()}
    for value in report.values:
        _value_record(made, report, value, names.get(value.number, ""))
    for step in report.steps:
        fields: list[tuple[str, Any]] = [
            ("operator", step.operator), ("kernel", step.kernel),
            ("Cell", report.cell_of[step.number] or report.name),
            ("line", step.place.text or None)]
        for title, values in (("input", step.inputs), ("output", step.outputs)):
            for value in values:
                fields.append((title, _brief(value)))
        fields += [("rule", rule.text) for rule in step.rules]
        if step.cut:
            fields.append(("cut", report.cut_text(step)))
        code = linecache.getline(step.place.file, step.place.line).strip() if step.place.file \
            else ""
        made.record(step.id, _step_label(report, step), fields, code)
    for path, cell in [("", None), *report.names.cells.values()]:
        inside = {n: v for n, v in report.parameters.items() if (report.owner(n) == path
                  or not path or report.owner(n).startswith(path + "."))}
        norm = math.sqrt(sum(v.gradient.norm ** 2 for v in inside.values()
                             if v.gradient is not None))
        odd = [f"{n}: {report.mark(n)}" for n in inside if report.mark(n)]
        made.record(ROOT + path, path or report.name, [
            ("class", type(cell).__name__ if cell is not None else None),
            ("Parameters", len(inside)), ("norm of their gradients", norm),
            *[("odd", text) for text in odd[:20]]])


def _value_record(made: Page, report: Findings, value: Value, name: str) -> None:
    title = name or value.name or (
        f"output of {_step_label(report, value.maker)}" if value.maker is not None else "constant")
    fields: list[tuple[str, Any]] = [
        ("from", _step_label(report, value.maker) if value.maker is not None else value.kind),
        ("to", ", ".join(_step_label(report, s) for s in value.uses)
         or ("output" if value.is_output else "nothing"))]
    fields += _fields("", value.numbers)
    fields += _fields("gradient: ", value.gradient) if value.gradient is not None else [
        ("gradient", "none arrived" if value.tracked else "not differentiated")]
    fields += [("rule", rule.text) for rule in value.rules]
    made.record(value.id, title, fields, note=report.why(name) if name else "")


def _fields(prefix: str, numbers: Numbers | None) -> list[tuple[str, Any]]:
    if numbers is None:
        return [("value", "not seen")]
    return [(prefix + "shape", str(numbers.shape)), (prefix + "type", numbers.dtype),
            (prefix + "norm", numbers.norm), (prefix + "zeros", f"{numbers.zeros:.1%}"),
            (prefix + "least", numbers.low), (prefix + "greatest", numbers.high),
            (prefix + "NaN", numbers.nans), (prefix + "infinite", numbers.infs)]


def _brief(value: Value) -> str:
    name = value.name or value.id
    if value.numbers is None:
        return name
    text = f"{name} {value.numbers.shape} {value.numbers.dtype}, norm {value.numbers.norm:.4g}"
    return text if value.gradient is None else f"{text}, gradient {value.gradient.norm:.4g}"
