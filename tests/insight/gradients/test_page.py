"""The page of a `GradientReport`, in a browser."""

from __future__ import annotations

import json
import re

import pytest

import lamella as ms
from lamella import Tensor, inspect_gradients, nn, ops

from ...browser import click, opened, running, texts


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Dense(3, 3)
        self.conv2 = nn.Dense(3, 3)
        self.unused = nn.Dense(3, 3)

    def construct(self, x):
        return ops.relu(self.conv1(x)) + ops.stop_gradient(self.conv2(x))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.SequentialCell(Block(), Block())
        self.head = nn.Dense(3, 2)
        self.clip = ops.InsertGradientOf(lambda g: ops.clip_by_value(g, -0.1, 0.1))

    def construct(self, x):
        return self.head(self.clip(self.layer1(x)))


@pytest.fixture(scope="module")
def report():
    ms.set_seed(1)
    return inspect_gradients(Net(), Tensor([[1.0, -2.0, 0.5], [0.3, 0.1, -0.7]]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory, report):
    folder = tmp_path_factory.mktemp("page")
    path = report.save(folder / "report.html")
    with running(folder / "profile") as found:
        yield opened(found, path)


LABELS = "[data-component=flow] .tree .label"


def labels(browser):
    return texts(browser, LABELS)


def search(browser, number, words):
    browser.execute_script(
        "const box = document.querySelectorAll('input[type=search]')[arguments[0]];"
        "box.value = arguments[1]; box.dispatchEvent(new Event('input'))", number, words)


def test_what_is_written(report, tmp_path):
    path = report.save(tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    read = json.loads(data)
    assert [s["title"] for s in read["sections"]] == [
        "", "Parameters and inputs", "Graph", "Size of the gradients", "Cuts and rules", "Edges"]
    graph = read["sections"][2]["data"]
    ids = {n["id"] for n in graph["nodes"]}
    assert len(ids) == len(graph["nodes"]) and ids - {"output"} <= set(read["records"])
    assert all({e["from"], e["to"]} <= ids and e["id"] in read["records"] for e in graph["edges"])
    assert {"conv1", "conv2", "unused"} <= {n["label"] for n in graph["nodes"]}


def test_cells_fold(browser):
    click(browser, ".all-closed")
    assert labels(browser) == ["Net", "x", "layer1", "InsertGradientOf", "head", "output"]
    assert "inside" in " ".join(texts(browser, "[data-id='c:layer1'] .mark"))
    click(browser, "[data-id='c:layer1'] .fold")
    assert labels(browser)[2:5] == ["layer1", "0", "1"]
    click(browser, "[data-id='c:layer1.0'] .fold")
    assert labels(browser)[3:9] == ["0", "conv1", "relu", "conv2", "stop_gradient", "add"]
    click(browser, "[data-id='c:layer1'] .fold")
    assert len(labels(browser)) == 6
    click(browser, ".all-open")
    assert len(labels(browser)) > 30
    click(browser, ".all-closed")


def test_arcs_follow_the_folding(browser):
    click(browser, ".all-closed")
    pairs = browser.execute_script("return [...document.querySelectorAll('.edge')].map("
                                   "e => [e.dataset.from, e.dataset.to])")
    steps = {text: where for text, where in browser.execute_script(
        "return [...document.querySelectorAll('.flow .tree .row')].map("
        "e => [e.querySelector('.label').textContent, e.dataset.id])")}
    clip = steps["InsertGradientOf"]
    assert [steps["x"], "c:layer1"] in pairs and ["c:layer1", clip] in pairs
    assert [clip, "c:head"] in pairs and ["c:head", "output"] in pairs and len(pairs) == 4


def test_search(browser):
    search(browser, 1, "layer1.0 stop_gradient")
    assert labels(browser) == ["Net", "layer1", "0", "stop_gradient"]
    search(browser, 1, "nothing of the kind")
    assert texts(browser, ".flow .empty") == ["No row has these words."]
    search(browser, 1, "")
    assert len(labels(browser)) == 6
    search(browser, 0, "layer1.1 unused")
    assert texts(browser, "section:nth-of-type(2) tbody td:first-child") == [
        "layer1.1.unused.weight", "layer1.1.unused.bias"]
    search(browser, 0, "")


def test_a_click_on_an_edge_shows_its_numbers(browser, report):
    click(browser, ".all-open")
    (relu,) = [s for s in report.steps if s.operator == "relu"
               and report.cell_of[s.number] == "layer1.1"]
    value = relu.outputs[0]
    click(browser, f".edge[data-id={value.id}] .wide")
    assert texts(browser, "#drawer.open h2") == ["output of layer1.1.relu"]
    shown = dict(zip(texts(browser, "#drawer dt"), texts(browser, "#drawer dd"), strict=True))
    assert shown["from"] == "layer1.1.relu" and shown["to"] == "layer1.1.add"
    assert shown["shape"] == "(2, 3)" and shown["type"] == "float32"
    assert float(shown["norm"]) == pytest.approx(value.numbers.norm, rel=1e-3)
    assert float(shown["gradient: norm"]) == pytest.approx(value.gradient.norm, rel=1e-3)
    assert {"zeros", "least", "greatest", "NaN", "infinite", "gradient: zeros", "gradient: NaN",
            "gradient: least", "gradient: greatest", "gradient: infinite"} <= set(shown)
    assert texts(browser, ".edge.picked") != []
    click(browser, "#drawer .close")
    click(browser, ".all-closed")


def test_an_edge_of_many_tensors_shows_one_after_the_other(browser):
    click(browser, ".all-closed")
    click(browser, "[data-id='c:layer1'] .fold")
    click(browser, ".edge[data-from='c:layer1.0'] .wide")
    first = texts(browser, "#drawer.open h2")
    assert first == ["output of layer1.0.add"]
    click(browser, "#drawer .close")
    click(browser, "[data-id='c:layer1'] .fold")


def test_a_click_on_a_row_says_why(browser):
    row = "section:nth-of-type(2) tbody tr"
    names = texts(browser, f"{row} td:first-child")
    click(browser, row, names.index("layer1.1.conv2.weight"))
    (note,) = texts(browser, "#drawer .note")
    assert note.startswith("The gradient of 'layer1.1.conv2.weight' is zero because it is cut by "
                           "stop_gradient in ") and "(Cell 'layer1.1')" in note
    click(browser, "#drawer .close")


def test_steps_show_line_code_and_rule(browser):
    click(browser, ".all-closed")
    row = texts(browser, ".flow .tree .label").index("InsertGradientOf")
    click(browser, ".flow .tree .row", row)
    shown = dict(zip(texts(browser, "#drawer dt"), texts(browser, "#drawer dd"), strict=True))
    assert "test_page.py:" in shown["line"] and "which clipped it" in shown["rule"]
    assert texts(browser, "#drawer pre") == ["return self.head(self.clip(self.layer1(x)))"]
    click(browser, "#drawer .close")


def test_cuts_and_rules_are_listed(browser):
    kinds = texts(browser, "section:nth-of-type(5) tbody td:first-child")
    assert sorted(kinds) == ["rule", "stop_gradient", "stop_gradient"]


class Deep(nn.Cell):
    """ResNet-18, on small images."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 7, 2)
        self.norm = nn.BatchNorm2d(8)
        self.blocks = nn.SequentialCell(*[Residual(*sizes) for sizes in (
            (8, 8, 1), (8, 8, 1), (8, 16, 2), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 64, 2),
            (64, 64, 1))])
        self.head = nn.Dense(64, 10)

    def construct(self, x):
        x = self.blocks(ops.relu(self.norm(self.conv(x))))
        return self.head(x.mean((2, 3)))


class Residual(nn.Cell):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.norm2 = nn.Conv2d(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        self.short = None if stride == 1 else nn.Conv2d(inputs, outputs, 1, stride)

    def construct(self, x):
        y = self.norm2(self.conv2(ops.relu(self.norm1(self.conv1(x)))))
        return ops.relu(y + (x if self.short is None else self.short(x)))


def test_a_residual_network(browser, report, tmp_path):
    net, loss = Deep().set_train(), nn.CrossEntropyLoss()
    found = inspect_gradients(lambda x, y: loss(net(x), y), ops.randn(2, 3, 32, 32),
                              Tensor([1, 2], ms.int32))
    assert "is not zero" in found.why("blocks.6.short.weight") and not found.cuts
    try:
        opened(browser, found.save(tmp_path / "deep.html"))
        click(browser, ".all-open")
        assert {"blocks", "6", "short", "conv1"} <= set(labels(browser))
    finally:
        opened(browser, report.save(tmp_path / "report.html"))


@pytest.mark.parametrize("width", [1400, 390])
def test_the_table_is_whole_on_any_screen(browser, width):
    """Nothing of a row lies outside of what is seen, and the reason is a whole sentence."""
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
    try:
        page, scrolled, seen = browser.execute_script(
            "const t = document.querySelector('[data-component=table] .scroll');"
            "return [document.documentElement.scrollWidth, t.scrollWidth, t.clientWidth]")
        assert page <= width and scrolled <= seen
        cut = browser.execute_script(
            "return [...document.querySelectorAll('[data-component=table]')][0].querySelectorAll("
            "'td.wrap').values().filter(e => e.scrollWidth > e.clientWidth + 1).toArray().length")
        assert cut == 0
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    reasons = set(texts(browser, "[data-component=table] td.wrap")) - {"–"}
    assert reasons and all(t.startswith(("Zero because ", "No more than")) and t.endswith(".")
                           for t in reasons)
