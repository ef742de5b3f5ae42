"""The page of a report, in a browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops

from ...browser import click, console_messages, opened, running, texts
from .conftest import installed


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3)
        self.dense = nn.Dense(4 * 64, 10)

    def construct(self, x):
        return self.dense(ops.relu(self.convolution(x)).reshape(-1, 4 * 64))


def training():
    net = Net()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(
        lambda x, y: ops.cross_entropy(net(x), y), None, optimizer.parameters)

    def step(x, y):
        value, grads = gradient(x, y)
        optimizer(grads)
        return value

    x = ms.Tensor(np.random.default_rng(0).standard_normal((4, 1, 8, 8)).astype(np.float32))
    return step, x, ms.Tensor([1, 2, 3, 4], ms.int32)


@pytest.fixture(scope="module")
def report():
    step, *data = training()
    with pytest.MonkeyPatch.context() as patch:
        installed(patch)
        return ms.explain(ms.jit(step), *data)


@pytest.fixture(scope="module")
def browser(tmp_path_factory, report):
    folder = tmp_path_factory.mktemp("page")
    with running(folder / "profile") as found:
        yield opened(found, report.save(folder / "step.html"))


ROWS = "[data-component=table] tbody tr"


def test_everything_has_a_section(browser):
    assert texts(browser, "section h2") == ["Time", "Kernels", "Roofline", "Timeline", "Graph"]
    assert texts(browser, "h1") == ["What limits step"]
    assert texts(browser, ".empty") == []


def test_a_row_for_each_kind_of_call(browser, report):
    names = [t for t in texts(browser, f"{ROWS} td:first-child")]
    assert names == [s.label for s in report.groups]  # the longest first
    assert {"convolution", "convolution_backward", "relu", "addmm"} <= set(names)


def test_sorting_by_another_column(browser, report):
    click(browser, "th[data-key=above]")
    names = texts(browser, f"{ROWS} td:first-child")
    assert names[0] == max(report.groups, key=lambda s: s.seconds - s.limit).label
    click(browser, "th[data-key=name]")
    names = texts(browser, f"{ROWS} td:first-child")
    assert names.index("addmm") < names.index("convolution") < names.index("relu")
    click(browser, "th[data-key=name]")
    turned = texts(browser, f"{ROWS} td:first-child")
    assert turned.index("addmm") > turned.index("convolution") > turned.index("relu")
    click(browser, "th[data-key=time]")


def test_the_roofline_has_a_point_for_each_that_computes(browser, report):
    points = texts(browser, "[data-component=plot] circle")
    assert len(points) == sum(s.flops > 0 for s in report.groups) > 5
    drawn = {re.search(r"--c\d", style)[0] for style in browser.execute_script(
        "return [...document.querySelectorAll('[data-component=plot] circle')]"
        ".map(e => e.getAttribute('style'))")}
    kinds = {s.label for s in report.kinds if s.flops}
    assert len(drawn) == len(kinds) >= 4
    assert kinds == set(texts(browser, "[data-component=plot] .legend > span"))
    labels = texts(browser, "[data-component=plot] .line-label")
    assert labels == ["1 TFLOP/s in float32", "1 GB/s from memory"]


def test_a_bar_in_the_timeline_for_each_kernel(browser, report):
    assert len(texts(browser, "[data-component=timeline] rect")) == len(report.kernels)


@pytest.mark.parametrize("where", [f"{ROWS}[data-id=k0]", "circle[data-id=k0]",
                                   "rect[data-id=k0]", ".outline .row[data-id=k0]"])
def test_a_click_on_a_kernel_shows_its_numbers(browser, report, where):
    first = report.groups[0]
    if where.startswith("circle") and not first.flops:
        pytest.skip("the longest kernel computes nothing this time")
    click(browser, where)
    assert texts(browser, "#drawer.open h2") == [first.label]
    fields = dict(zip(texts(browser, "#drawer dt"), texts(browser, "#drawer dd"), strict=True))
    assert fields["kind"] == first.first.cost.kind
    assert fields["line"] == f"test_page.py:{first.first.line.number}"
    assert fields["shapes"] == first.first.cost.forms
    assert {"time", "FLOPs", "FLOP/s", "bytes", "bytes/s", "limit", "bound by"} <= set(fields)
    (code,) = texts(browser, "#drawer pre")
    assert any(part in code for part in ("construct", "self.", "cross_entropy", "optimizer"))
    click(browser, "#drawer .close")


def test_the_graph_unfolds_to_kernels(browser, report):
    click(browser, "[data-component=outline] .controls button", 2)  # all of it
    names = texts(browser, ".outline .name")
    assert [n.lstrip("▼▶") for n in names if n.lstrip("▼▶") in ("forward", "backward", "update")
            ] == ["forward", "backward", "update"]
    assert len(texts(browser, ".outline path")) > 5
    assert any("self.convolution(x)" in name for name in names)
    click(browser, "[data-component=outline] .controls button", 0)
    assert len(texts(browser, ".outline .name")) < len(names)


def test_shares_fill_their_bars(browser):
    widths = browser.execute_script(
        "return [...document.querySelectorAll('.stack')].map(e => [e.getBoundingClientRect().width,"
        "[...e.children].reduce((w, c) => w + c.getBoundingClientRect().width, 0)])")
    assert len(widths) == 3
    assert all(inner > 0.9 * outer for outer, inner in widths)


def test_the_page_of_a_step_without_kernels(report, tmp_path):
    empty = ms.explain(ms.jit(lambda x: x.reshape(2, 1)), ms.Tensor([1.0, 2.0]))
    with running(tmp_path / "profile") as found:
        opened(found, empty.save(tmp_path / "empty.html"))
        assert len(texts(found, ".empty")) >= 3
        assert console_messages(found) == []
