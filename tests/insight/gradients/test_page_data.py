"""What the page of a `GradientReport` is given to show, compared with what is known by hand."""

from __future__ import annotations

import math

import pytest

import lamella as ms
from lamella import Parameter, Tensor, inspect_gradients, nn, ops
from lamella.insight.gradients import page
from lamella.insight.gradients.places import Place
from lamella.insight.gradients.record import Step, Value
from lamella.insight.gradients.statistics import Numbers

X = Tensor([1.0, -1.0])
TWO = Tensor([1.0, 2.0])
FACTORS = Tensor([6.0, 8.0])


class Inner(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([3.0, 4.0]), name="w")

    def construct(self, x):
        return ops.relu(x * self.w) * FACTORS


class Outer(nn.Cell):
    """Its own Parameter is not read, but its inner Cell is called."""

    def __init__(self):
        super().__init__()
        self.extra = Parameter(Tensor([2.0]), name="extra")
        self.inner = Inner()

    def construct(self, x):
        return self.inner(x)


class Net(nn.Cell):
    """No operation runs in it itself."""

    def __init__(self):
        super().__init__()
        self.cold = Parameter(Tensor([1.0]), name="cold", requires_grad=False)
        self.outer = Outer()
        self.spare = nn.SequentialCell(nn.Dense(2, 2))

    def construct(self, x, count):
        return self.outer(x)


@pytest.fixture(scope="module")
def report():
    return inspect_gradients(Net(), X, Tensor([7]))


def by_id(rows):
    return {row["id"]: row for row in rows}


def sections(report):
    return {s["title"] or s["component"]: s["data"] for s in page.page(report).sections}


def test_sections(report):
    made = page.page(report)
    assert made.title == "Gradients of Net"
    titles = ["", "Parameters and inputs", "Graph", "Size of the gradients", "Edges"]
    assert [s["title"] for s in made.sections] == titles  # there are no cuts, and no rules
    for fn in (lambda x: x + ops.stop_gradient(x), lambda x: ops.InsertGradientOf(lambda g: g)(x)):
        found = page.page(inspect_gradients(fn, X))
        assert [s["title"] for s in found.sections] == [*titles[:4], "Cuts and rules", titles[4]]


def test_tiles(report):
    found = {t["label"]: (t["value"], t["note"]) for t in page._tiles(report)}
    assert found == {
        "Parameters": ("5", "10 elements"), "Norm of all gradients": ("6", "0 not finite"),
        "Without a gradient": ("4", "1 frozen, 3 unused"), "Cuts": ("0", "none"),
        "Backward rules": ("0", "–")}


def test_tiles_of_what_is_odd():
    a, b, c, d = (Parameter(Tensor(v), name=n) for n, v in (
        ("a", [-1.0, 0.0]), ("b", [1.0, 2.0]), ("c", [1.0, 1.0]), ("d", [1.0, 1.0])))

    def fn(x):
        y = ops.InsertGradientOf(lambda g: g * 2)(b * Tensor([1.0, 1.5]))
        z = ops.stop_gradient(c) * Tensor(d.asnumpy())
        return ops.sqrt(a), y, z * ops.InsertGradientOf(lambda g: g)(x)

    report = inspect_gradients(fn, X)
    found = {t["label"]: (t["value"], t["note"]) for t in page._tiles(report)}
    assert found == {
        "Parameters": ("4", "8 elements"), "Norm of all gradients": (
            f"{math.hypot(2, 3):.4g}", "1 not finite"),
        "Without a gradient": ("2", "2 cut, 1 not finite"),
        "Cuts": ("2", "numpy, stop_gradient"), "Backward rules": ("2", "scaled, unchanged")}
    rows = {row["name"]: row for row in page._known_table(report)["rows"]}
    assert (rows["a"]["odd"], rows["a"]["godd"]) == (0, 2)  # a NaN and an infinity
    assert rows["a"]["mark"] == "not finite" and rows["b"]["why"] == ""
    assert rows["a"]["why"].startswith("Has 1 NaN and 1 infinite elements: ")
    points = [(p["label"], p["x"], p["color"], p["id"]) for p in page._sizes(report)["points"]]
    assert points == [("b", 1, 0, rows["b"]["id"])]


def test_rows_of_parameters_and_inputs(report):
    table = page._known_table(report)
    rows = {row["name"]: row for row in table["rows"]}
    assert list(rows) == ["x", "count", "cold", "outer.extra", "outer.inner.w", "spare.0.weight",
                          "spare.0.bias"]
    assert rows["outer.inner.w"] == {
        "id": report.find("w")[1].id, "name": "outer.inner.w", "shape": "(2,)", "dtype": "float32",
        "norm": 5.0, "zeros": 0.0, "low": 3.0, "high": 4.0, "odd": 0, "gnorm": 6.0, "gzeros": 0.5,
        "glow": 0.0, "ghigh": 6.0, "godd": 0, "mark": "", "why": ""}
    assert rows["x"]["gnorm"] == 18.0 and "gnorm" not in rows["count"] | rows["cold"]
    assert [rows[n]["mark"] for n in ("x", "count", "cold", "outer.extra", "spare.0.bias")] == [
        "", "not floating", "frozen", "unused", "unused"]
    assert rows["cold"]["why"].startswith("Zero because requires_grad=False")
    columns = {c["key"]: c for c in table["columns"]}
    assert all(columns[key][flag] is True for key, flag in (
        ("name", "code"), ("gnorm", "bar"), ("why", "wrap")))
    assert set(columns) <= set(rows["x"]) and table["groups"] == ["mark"]


def test_nodes_of_the_graph(report):
    graph = page._graph(report)
    nodes = by_id(graph["nodes"])
    ids = {name: value.id for name, value in report._known.items()}
    tree = [(n.get("parent"), n["label"], n["kind"], n.get("mark"), n.get("note"), n.get("path"))
            for n in nodes.values()]
    places = [report.steps[i].place for i in range(3)]
    line = f"test_page_data.py:{places[0].line}"
    inner = "c:outer.inner"
    assert tree[:4] == [
        (None, "Net", "cell", None, None, None), ("c:", "x", "input", "", "", "x"),
        ("c:", "count", "input", "", "not floating", "count"),
        ("c:", "outer", "cell", "", "Outer", "outer")]  # it is used: its inner Cell is
    assert tree[4:] == [
        ("c:outer", "inner", "cell", None, "Inner", "outer.inner"),
        (inner, "w", "parameter", "", "", "outer.inner.w"),
        *[(inner, name, "step", "", line, f"outer.inner.{name}") for name in (
            "mul", "relu", "mul")],
        ("c:", "cold", "parameter", "", "frozen", "cold"),
        ("c:outer", "extra", "parameter", "unused", "", "outer.extra"),
        ("c:", "spare", "cell", None, "SequentialCell", "spare"),
        ("c:spare", "0", "cell", "unused", "Dense", "spare.0"),
        ("c:spare.0", "weight", "parameter", "unused", "", "spare.0.weight"),
        ("c:spare.0", "bias", "parameter", "unused", "", "spare.0.bias"),
        ("c:", "output", "output", None, None, None)]
    assert nodes["s1"]["norm"] == 3.0 and nodes["s1"]["gnorm"] == 10.0
    assert [(e["from"], e["to"], e["id"], e["state"]) for e in graph["edges"]] == [
        (ids["x"], "s0", ids["x"], "flows"), (ids["outer.inner.w"], "s0", ids["outer.inner.w"],
                                              "flows"),
        *[(f"s{i}", end, report.steps[i].outputs[0].id, "flows") for i, end in enumerate(
            ("s1", "s2", "output"))]]  # the constant is no node
    assert graph["open"] == 2


def test_marks_and_states_along_what_is_lost():
    def zero(gradient):
        return gradient * 0

    def same(gradient):
        return gradient

    def fn(x, a, b, c, d):
        first = ops.stop_gradient(ops.exp(a)) + ops.relu(ops.tanh(b) - 9)
        return first + ops.InsertGradientOf(zero)(c) + ops.InsertGradientOf(same)(d) + (x > 0)

    report = inspect_gradients(fn, X, X, X, X, X)
    graph = page._graph(report)
    marks = {s.operator: n["mark"] for s in report.steps for n in graph["nodes"]
             if n["id"] == s.id and s.operator != "InsertGradientOf"}
    assert marks == {"exp": "", "stop_gradient": "cut: stop_gradient", "tanh": "", "sub": "",
                     "relu": "", "gt": "no gradient", "add": ""} | {
        name: mark for name, mark in marks.items() if mark == ""}
    assert [n["mark"] for n in graph["nodes"] if n["label"] == "InsertGradientOf"] == [
        "gradient zeroed", ""]
    label = {n["id"]: n["label"] for n in graph["nodes"]}
    states = {(label[e["from"]], label[e["to"]]): e["state"] for e in graph["edges"]}
    assert states["exp", "stop_gradient"] == "cut" and states["stop_gradient", "add"] == "none"
    assert states["a", "exp"] == "zero" and states["relu", "add"] == "flows"
    assert states["b", "tanh"] == states["sub", "relu"] == states["c", "InsertGradientOf"] == "zero"
    assert states["d", "InsertGradientOf"] == "flows" and states["add", "output"] == "flows"


class Ruled(nn.Cell):
    def construct(self, x):
        return x * 2

    def bprop(self, x, out, dout):
        return (dout,)


def without_a_tape(x):
    with ms._no_grad():
        y = ops.exp(x)
    return y * x


@pytest.mark.parametrize("fn, operator, mark", [
    (lambda x: x * Tensor(x.asnumpy()), "asnumpy", "cut: NumPy"),
    (without_a_tape, "exp", "cut: _no_grad"),
    (lambda x: x * x.astype(ms.int32), "astype", "cut: integer cast"),
    (lambda x: x * ops.argmax(x), "argmax", "no gradient"),
    (lambda x: x * ms.grad(lambda v: (v + x).sum())(x), "grad", "no gradient"),
    (Ruled(), "bprop of Ruled", "own rule"), (lambda x: x * 2, "mul", "")])
def test_marks_of_steps(fn, operator, mark):
    report = inspect_gradients(fn, X)
    nodes = by_id(page._graph(report)["nodes"])
    assert [nodes[s.id]["mark"] for s in report.steps if s.operator == operator][:1] == [mark]


def test_cuts_and_rules():
    report = inspect_gradients(
        lambda x: ops.InsertGradientOf(lambda g: g * 3)(x * 2) * Tensor([3.0, 4.0])
        + ops.stop_gradient(x), X)
    table = page._bends(report)
    cut, rule = table["rows"]
    (step,) = report.cuts
    assert cut == {"id": step.id, "kind": "stop_gradient", "what": report.cut_text(step),
                   "place": f"test_page_data.py:{step.place.line}"}
    assert {k: rule[k] for k in ("kind", "effect", "before", "after")} == {
        "kind": "rule", "effect": "scaled", "before": 5.0, "after": 15.0}
    assert ", which scaled it" in rule["what"] and table["groups"] == ["kind"]
    assert {c["key"] for c in table["columns"]} == set(cut | rule) - {"id"}
    # a rule that was not called has no numbers
    never = inspect_gradients(lambda x: (x, ops.InsertGradientOf(lambda g: g)(x * 2)), X,
                              has_aux=True)
    (row,) = page._bends(never)["rows"]
    assert (row["effect"], row["before"], row["after"]) == ("", None, None)


def test_edges(report):
    table = page._edge_table(report)
    rows = [(row["from"], row["to"]) for row in table["rows"]]
    assert rows == [
        ("x", "outer.inner.mul"), ("count", ""), ("cold", ""), ("outer.extra", ""),
        ("outer.inner.w", "outer.inner.mul"), ("spare.0.weight", ""), ("spare.0.bias", ""),
        ("outer.inner.mul", "outer.inner.relu"), ("outer.inner.relu", "outer.inner.mul"),
        ("constant", "outer.inner.mul"), ("outer.inner.mul", "output")]
    assert [(c["key"], c["label"], c.get("format"), c.get("narrow")) for c in table["columns"]] == [
        ("from", "From", None, True), ("to", "To", None, True), ("shape", "Shape", None, None),
        ("dtype", "Type", None, None),
        *[(prefix + key, label + (f" of {about}" if key == "norm" else ""),
           "percent" if key == "zeros" else "number", None)
          for prefix, about in (("", "value"), ("g", "gradient")) for key, label in (
              ("norm", "Norm"), ("zeros", "Zeros"), ("low", "Least"), ("high", "Greatest"),
              ("odd", "NaN, Inf"))]]
    alone = page._edge_table(inspect_gradients(lambda x: ops.exp(x), X))["rows"]
    assert [(row["from"], row["to"]) for row in alone] == [("x", "exp"), ("exp", "output")]


def test_sizes(report):
    plot = page._sizes(report)
    (point,) = plot["points"]
    assert (point["x"], point["label"], point["color"]) == (2, "outer.inner.w", 0)
    assert point["y"] == pytest.approx(6 / math.sqrt(2)) and plot["y"]["log"] is True
    a, b = (Parameter(Tensor([1.0]), name=n) for n in "ab")
    marked = page._sizes(inspect_gradients(lambda x: x * (a * 1e9 + b), TWO))
    assert [(p["label"], p["color"]) for p in marked["points"]] == [("a", 3), ("b", 0)]
    assert [(entry["label"], entry["color"]) for entry in marked["legend"]] == [
        ("as usual", 0), ("marked", 3)]


def test_records_of_cells(report):
    records = page.page(report).records
    want = {"c:": ("Net", "Net", 5, 6.0, 4), "c:outer": ("outer", "Outer", 2, 6.0, 1),
            "c:outer.inner": ("outer.inner", "Inner", 1, 6.0, 0),
            "c:spare": ("spare", "SequentialCell", 2, 0.0, 2),
            "c:spare.0": ("spare.0", "Dense", 2, 0.0, 2)}
    assert {key for key in records if key.startswith("c:")} == set(want)
    for key, (title, kind, count, norm, odd) in want.items():
        fields = records[key]["fields"]
        assert records[key]["title"] == title and fields[:3] == [
            ["class", kind], ["Parameters", count], ["norm of their gradients", norm]]
        assert [name for name, _ in fields[3:]] == ["odd"] * odd
    assert records["c:outer"]["fields"][3] == ["odd", "outer.extra: unused"]
    many = [Parameter(Tensor([1.0]), name=f"p{i}") for i in range(22)]
    some = page.page(inspect_gradients(lambda x: x * many[0], TWO, weights=many)).records["c:"]
    assert some["title"] == "<lambda>" and some["fields"][0] == ["class", None]
    assert [text for name, text in some["fields"] if name == "odd"] == [
        f"p{i}: unused" for i in range(1, 21)]


def test_records_of_values_and_steps(report):
    records = page.page(report).records
    weight = records[report.find("w")[1].id]
    assert weight["title"] == "outer.inner.w" and weight["note"] == report.why("w")
    assert weight["fields"] == [
        ["from", "parameter"], ["to", "outer.inner.mul"], ["shape", "(2,)"], ["type", "float32"],
        ["norm", 5.0], ["zeros", "0.0%"], ["least", 3.0], ["greatest", 4.0], ["NaN", 0],
        ["infinite", 0], *[[f"gradient: {name}", value] for name, value in (
            ("shape", "(2,)"), ("type", "float32"), ("norm", 6.0), ("zeros", "50.0%"),
            ("least", 0.0), ("greatest", 6.0), ("NaN", 0), ("infinite", 0))]]
    cold, extra = (records[report.find(n)[1].id] for n in ("cold", "extra"))
    assert cold["fields"][1] == ["to", "nothing"] and cold["fields"][-1] == [
        "gradient", "not differentiated"]
    assert extra["fields"][-1] == ["gradient", "none arrived"]
    last, constant = records["v10"], records["v9"]
    assert last["title"] == "output" and last["fields"][:2] == [["from", "outer.inner.mul"],
                                                                ["to", "output"]]
    assert constant["title"] == "constant" and constant["note"] == ""
    assert records["v8"]["title"] == "output of outer.inner.relu"
    step = records["s0"]
    assert step["title"] == "outer.inner.mul" and step["code"] == (
        "return ops.relu(x * self.w) * FACTORS")
    assert step["fields"] == [
        ["operator", "mul"], ["kernel", "mul"], ["Cell", "outer.inner"],
        ["line", report.steps[0].place.text],
        ["input", "x (2,) float32, norm 1.414, gradient 18"],
        ["input", "outer.inner.w (2,) float32, norm 5, gradient 6"],
        ["output", "v7 (2,) float32, norm 5, gradient 6"]]
    assert ["input", "v9 (2,) float32, norm 10"] in records["s2"]["fields"]


def test_records_of_cuts_and_rules():
    report = inspect_gradients(
        lambda x: ops.InsertGradientOf(lambda g: g * 3)(x * 2) + ops.stop_gradient(x), X)
    records = page.page(report).records
    (step,) = report.cuts
    assert records[step.id]["fields"][-1] == ["cut", report.cut_text(step)]
    assert records[step.id]["fields"][2] == ["Cell", "<lambda>"]
    ((at, rule),) = report.rules()
    assert ["rule", rule.text] in records[at]["fields"]
    (made,) = [s.outputs[0] for s in report.steps if s.id == at]
    assert records[made.id]["fields"][-1] == ["rule", rule.text]


def test_what_was_not_seen_has_no_numbers():
    hidden = Value(3, "step")
    assert page._columns(hidden) == {} and page._fields("", None) == [("value", "not seen")]
    assert page._brief(hidden) == "v3" and page._brief(Value(3, "input", "x")) == "x"
    hidden.gradient = Numbers((2,), "float32", 2, 5.0, 0.5, -1.0, 3.0, 2, 1)
    assert page._columns(hidden) == {"gnorm": 5.0, "gzeros": 0.5, "glow": -1.0, "ghigh": 3.0,
                                     "godd": 3}
    nowhere = Step(0, "exp", "exp", Place(None, "", 0, "exp", False, False))
    assert page._short(nowhere) == "" and nowhere.place.text == ""
