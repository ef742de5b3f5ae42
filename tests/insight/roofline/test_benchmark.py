"""The tool that writes the tables of docs/performance.md."""

from __future__ import annotations

import sys

import pytest

from benchmarks import explain as tool
from lamella import alias
from lamella.graph.passes import convolutions, order
from lamella.insight.roofline import explain


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(tool, "ROUNDS", 2)  # this is about the tables, not the figures
    monkeypatch.setattr(sys.modules[explain.__module__], "PATIENCE", 0.0)
    yield
    alias.uninstall()
    for name in [n for n in sys.modules if n.startswith("benchmarks.") and "mindspore" in n]:
        del sys.modules[name]


def test_what_bounds_a_step(quick, tmp_path):
    found = {"mlp": tool.look("mlp", settling=0.0)}
    is_settled = found["mlp"].settled  # already on a machine that is busy with other things
    limits, kinds = tool.limits_table(found), tool.kinds_table(found)
    (line,) = limits.lines
    assert len(line) == len(limits.head)
    assert line[0] == "MLP"
    assert line[3] == ("replay" if is_settled else "replay, not settled")
    # forward, and backward without the gradient by the images
    layers = [784 * 512, 512 * 512, 512 * 10]
    assert line[4] == f"{2 * 64 * (3 * sum(layers) - layers[0]) / 1e9:.3g}"
    assert kinds.head[0] == "step" and "product" in kinds.head
    assert tool.peaks_line(found).startswith("Peaks measured: 1 TFLOP/s in float32; 1 GB/s from")


def test_what_passes_give(quick):
    found = tool.effects("mlp")
    assert found["all"] == [1.0] * 3 and "channels_last" not in found
    assert all(0 < low <= middle <= high for low, middle, high in found.values())
    assert set(found) <= {"all", "none", *tool.PASSES}
    table = tool.passes_table({"mlp": found})
    assert [line[0] for line in table.lines] == [*tool.PASSES, tool.UNTRIED, "all of them"]
    assert table.lines[list(tool.PASSES).index("channels_last")][1] == "–"


def test_an_effect_within_the_scatter_is_none():
    found = {"mlp": {"constants": [0.98, 1.03, 1.1], "none": [1.1, 1.21, 1.3],
                     "peephole": [0.5] * 3},
             "gpt": {"constants": [1.01, 1.02, 1.03], "none": [0.9, 1.0, 1.2]}}
    cells = {line[0]: line[1:] for line in tool.passes_table(found).lines}
    assert cells["constants"] == ["within scatter", "1.02 (1.01 … 1.03)"]
    assert cells["all of them"] == ["1.21 (1.10 … 1.30)", "within scatter"]
    assert cells["peephole"] == ["0.50 (0.50 … 0.50)", "–"]


def test_passes_are_left_out_for_a_while():
    """Each name is defined."""
    for title, words in tool.PASSES.items():
        assert all(hasattr(order, word) or word in convolutions.WAYS or any(
            word in name for name in order.ATTEMPTS) for word in words), title
    before = order.ATTEMPTS, order.route, convolutions.WAYS
    with tool.left_out("route", "channels last", "windows"):
        assert order.route(None, True) == 0
        assert not any("channels last" in name for name in order.ATTEMPTS)
        assert set(convolutions.WAYS) == {"torch", "tiles", "winograd"}
    assert (order.ATTEMPTS, order.route, convolutions.WAYS) == before


def test_tables_go_between_their_markers():
    page = tool.PAGE.read_text(encoding="utf-8")
    changed = tool.page_with(tool.page_with(page, "limits", "| a |"), "passes", "| b |")
    assert tool.page_with(changed, "limits", "| a |") == changed
    begin, end = changed.index("<!-- limits: written"), changed.index("<!-- limits: end -->")
    assert changed[begin:end].endswith("-->\n| a |\n")
    with pytest.raises(ValueError, match="performance.md lacks the lines <!-- others: written by"):
        tool.page_with(page, "others", "")
