"""The report of a compiled function: a dict, a text that says what to do, a page in a browser."""

import re
import warnings

import pytest

import lamella as ms
from lamella import ops
from lamella.graph.runtime.report import CompilationReport, GraphReport, advice
from lamella.insight.compilation import compilation_page


@pytest.fixture
def step():
    @ms.jit
    def step(x, eager=False):
        if eager:
            x.asnumpy()
        return x * 2 if float(x.sum()) > 0 else -x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x in (ops.ones(3), ops.ones(3), -ops.ones(3), ops.ones(4)):
            step(x)
        step(ops.ones(3), True)
    return step


def test_it_is_a_dict_whose_text_names_graphs_guards_and_reasons(step):
    report = step.report()
    assert report["graphs"] == 3 and len(report.details) == 3
    assert isinstance(report, dict) and repr(report).startswith("{'traces'")
    text = str(report)
    assert re.match(r"step.*: 3 graphs, \d+ replays?, 1 reason to run eagerly\n", text.replace(
        "<locals>.", ""))
    assert text.count("  graph ") == 3 and "holds for a value read at" in text
    assert "test_compilation.py" in text and "recorded again, since a guard failed" in text
    assert "runs eagerly: it hands a tensor to NumPy" in text
    assert "Compute with `ops` instead of NumPy" in text


def test_the_page_stands_alone(step, tmp_path):
    path = step.report().save(tmp_path / "report.html")
    page = path.read_text("utf-8")
    assert "What runs eagerly, and how to change it" in page and "Compute with `ops`" in page
    assert not re.search(r"(src|href)=.?http", page)


def graph(kernels=3, backend="replay", runs=2, least=0.5, seconds=1.5, settled=True, decisions=()):
    return GraphReport(kernels=kernels, backend=backend, runs=runs, least=least, seconds=seconds,
                       settled=settled, decisions=list(decisions))


def report_of(graphs, eager=(), again=()):
    found = CompilationReport(graphs=len(graphs), traces=4, replays=7, guard_misses=5,
                              eager=list(eager), recompilations=list(again))
    found.name, found.details = "step", graphs
    return found


def test_what_the_page_is_given():
    graphs = [graph(), graph(9, "inductor", 0, 0.0, 0.25, False, ["a.py:3", "a.py:4"])]
    made = compilation_page(report_of(graphs, ["it reads the environment"], ["a guard failed"]))
    assert made.title == "How step is compiled"
    sections = {s["title"]: s["data"] for s in made.sections}
    assert list(sections) == ["", "Graphs", "Why it was recorded again",
                              "What runs eagerly, and how to change it"]
    assert [(t["label"], t["value"], t["note"]) for t in sections[""]] == [
        ("graphs", "2", "recorded 4 times"), ("replays", "7", "guards failed 5 times"),
        ("time of all replays", "1.75 s", "without the recordings"),
        ("reasons to run eagerly", "1", "none is best")]
    table = sections["Graphs"]
    assert table["rows"] == [
        {"id": "g0", "name": "1", "backend": "replay", "kernels": 3, "runs": 2, "least": 0.5,
         "seconds": 1.5, "decisions": 0},
        {"id": "g1", "name": "2", "backend": "inductor", "kernels": 9, "runs": 0, "least": 0.0,
         "seconds": 0.25, "decisions": 2}]
    assert [c["key"] for c in table["columns"]] == [
        "name", "backend", "kernels", "runs", "least", "seconds", "decisions"]
    assert table["sort"] == ["seconds", -1] and table["columns"][5]["bar"] is True
    assert sections["Why it was recorded again"] == ["a guard failed"]
    eager = sections["What runs eagerly, and how to change it"]
    assert eager["rows"] == [{"id": "e0", "why": "it reads the environment",
                              "how": advice("it reads the environment")}]
    assert [(c["key"], c["wrap"]) for c in eager["columns"]] == [("why", True), ("how", True)]
    assert made.records["g0"]["title"] == "Graph 1" and made.records["g0"]["fields"] == [
        ["operations", 3], ["run by", "replay"], ["runs", 2], ["choice is final", "yes"]]
    assert made.records["g1"]["title"] == "Graph 2" and made.records["g1"]["fields"][2:] == [
        ["runs", 0], ["choice is final", "not yet"], ["holds for a value read at", "a.py:3"],
        ["holds for a value read at", "a.py:4"]]
    plain = compilation_page(report_of([graph()]))
    assert [s["title"] for s in plain.sections] == ["", "Graphs"]


def test_in_a_notebook_it_is_folded_text(step):
    shown = step.report()._repr_html_()
    assert shown.startswith("<details open><summary>") and "&lt;locals&gt;" in shown


@pytest.mark.parametrize(("reason", "hint"), [
    ("it hands a tensor to NumPy", "Compute with `ops`"), ("it calls time.time", "Move the call"),
    ("it reads the environment", "Read the environment once"),
    ("its argument 'f' had 32 other values so far", "Give the same object"),
    ("something else", "Compile the part around it")])
def test_there_is_advice_for_each_reason(reason, hint):
    assert advice(reason).startswith(hint)
