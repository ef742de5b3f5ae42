"""The report of a compiled function: a dict, a text that says what to do, a page in a browser."""

import re
import warnings

import pytest

import lamella as ms
from lamella import ops
from lamella.graph.runtime.report import advice


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
