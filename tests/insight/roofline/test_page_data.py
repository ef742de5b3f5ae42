"""What a report's page is given, of kernels whose numbers are round."""

import pytest
import torch

from lamella.insight.roofline import page
from lamella.insight.roofline.costs import Cost
from lamella.insight.roofline.figures import Figures
from lamella.insight.roofline.kernels import Kernel, Line, Record

PRODUCT = Cost("product", 2 * 10**9, 400_000, "float32", "(8, 3), (3, 5) → (8, 5)")
RELU = Cost("elementwise", 10**6, 8 * 10**6, "float32", "(8, 5) → (8, 5)")
COPY = Cost("movement", 0, 10**6, "float32", "(4) → (4)")


@pytest.fixture
def program(tmp_path):
    file = tmp_path / "net.py"
    file.write_text(f"def step(x):\n    x = x @ w  # {'long ' * 20}\n    return x.relu()\n")
    return str(file)


@pytest.fixture
def report(program):
    product = Line(program, 2, "forward")
    kernels = [Kernel(0, "addmm", PRODUCT, product, {}, 4e-3),
               Kernel(1, "relu", RELU, Line(program, 3, "backward"), {0: 4000}, 16e-3),
               Kernel(2, "addmm", PRODUCT, product, {1: 2000}, 6e-3),
               Kernel(3, "copy_", COPY, Line("", 0, ""), {1: 500, 0: 7, 2: 30}, 1e-3)]
    return Figures("step", "replay", Record(torch.device("cpu"), kernels, 9), 24.2e-3, "A note.")


def ids(report):
    return {id(k): f"k{n}" for n, s in enumerate(report.groups) for k in s.kernels}


def sections(report):
    return {s["title"] or s["component"]: s for s in page.page_of(report).sections}


def test_the_heading_counts_threads(report):
    for threads, want in ((1, "1 thread"), (2, "2 threads")):
        report.threads = threads
        made = page.page_of(report)
        assert made.title == "What limits step"
        assert made.subtitle == f"compiled: a recorded graph is replayed; cpu, {want}"
    assert sections(report)["text"]["data"][0].startswith("One call takes 24.2 ms")
    assert sections(report)["text"]["data"][-1] == "A note."


def test_tiles(report):
    found = {t["label"]: (t["value"], t["note"]) for t in page._tiles(report)}
    # limits: 2 x 2 ms at 1 TFLOP/s, 8 ms at 1 GB/s, 0.1 ms at 10 GB/s
    assert found == {
        "one call": ("24.2 ms", "replay"), "lower limit": ("12.1 ms",
                                                           "the call takes 2.00 times that"),
        "products": ("400 GFLOP/s", "37% of the kernels' time"),
        "peak of products": ("1 TFLOP/s", "float32"),
        "memory": ("1 GB/s", "measured, as the peaks are"), "kernels": ("4", "and 9 views")}


def test_the_time_by_kind_phase_and_limit(report):
    rows = {r["label"]: [(p["label"], pytest.approx(p["value"]), p["color"]) for p in r["parts"]]
            for r in sections(report)["Time"]["data"]["rows"]}
    assert rows["by kind"] == [("elementwise", 16e-3, 7), ("product", 10e-3, 0),
                               ("movement", 1e-3, 5)]
    assert rows["by phase"] == [("forward", 11e-3, 0), ("backward", 16e-3, 1)]
    assert rows["by limit"] == [("at the peak of products", 4e-3, 2),
                                ("at the peak of memory", 8.1e-3, 5),
                                ("above the limits", 14.9e-3, 3)]


def test_rows_of_the_table(report):
    table = sections(report)["Kernels"]["data"]
    assert table["sort"] == ["time", -1]
    rows = {r["id"]: r for r in table["rows"]}
    assert [(r["name"], r["count"], r["kind"], r["line"], r["phase"], r["bound"], r["color"])
            for r in rows.values()] == [
        ("relu", 1, "elementwise", "net.py:3", "backward", "memory", 7),
        ("addmm", 2, "product", "net.py:2", "forward", "compute", 0),
        ("copy_", 1, "movement", "", "", "memory", 5)]
    want = {"time": 10e-3, "part": 10 / 27, "flops": 4e9, "rate": 4e11, "bytes": 800_000,
            "bandwidth": 8e7, "share": 0.4, "above": 6e-3}
    assert {name: rows["k1"][name] for name in want} == pytest.approx(want)
    shown = {c["key"]: c for c in table["columns"]}
    assert {*shown} <= {*rows["k1"]} and {*table["total"]} <= {*rows["k1"]}
    assert all(shown[key].get(flag) is True for key, flag in (
        ("name", "code"), ("line", "code"), ("forms", "narrow"), ("time", "bar")))
    assert "100 %" in shown["share"]["title"]


def test_points_and_lines_of_the_roofline(report):
    plot = sections(report)["Roofline"]["data"]
    points = {p["id"]: p for p in plot["points"]}
    assert {*points} == {"k0", "k1"}  # what is copied has no operations
    assert [(p["x"], p["y"], p["size"], p["color"]) for p in (points["k0"], points["k1"])] == [
        pytest.approx((0.125, 6.25e7, 1.0, 7)), pytest.approx((5000, 4e11, 10 / 16, 0))]
    assert points["k1"]["label"] == f"addmm {PRODUCT.forms}\n10 ms, 400 GFLOP/s"
    flat, slope = plot["lines"]
    # memory gives 1 GB/s: 1 TFLOP/s needs 1000 operations per byte
    assert flat["points"] == [[1000.0, 1e12], [50000.0, 1e12]]
    assert slope["points"] == [[0.125, 1.25e8], [1000.0, 1e12]] and slope["dashed"] is True
    assert (flat["color"], slope["color"], slope["slanted"]) == (2, 5, True)
    assert flat["label"] == "1 TFLOP/s in float32" and slope["label"] == "1 GB/s from memory"
    assert plot["legend"] == [{"label": "elementwise", "color": 7}, {"label": "product",
                                                                     "color": 0}]
    assert plot["x"]["log"] is plot["y"]["log"] is True


def test_the_line_of_a_peak_begins_at_the_points_where_they_lie_left_of_it(report):
    few = [s for s in report.groups if s.label != "addmm"]
    flat, slope = page._roofline(report, few)["lines"]
    assert flat["points"] == [[0.125, 1e12], [1e4, 1e12]]  # 10 times as far as both meet
    assert slope["points"][1] == [1000.0, 1e12]
    none = page._roofline(report, report.groups[2:])
    assert none["points"] == none["lines"] == none["legend"] == []


def test_bars_of_the_timeline(report, program, monkeypatch):
    line = page._timeline(report, ids(report))
    assert line["lanes"] == ["elementwise", "product", "movement"]
    assert [(i["id"], i["lane"], i["color"]) for i in line["items"]] == [
        ("k1", 1, 0), ("k0", 0, 7), ("k1", 1, 0), ("k2", 2, 5)]
    assert [i["start"] for i in line["items"]] == pytest.approx([0, 4e-3, 20e-3, 26e-3])
    assert [i["length"] for i in line["items"]] == [4e-3, 16e-3, 6e-3, 1e-3]
    assert line["items"][1]["label"] == f"relu {RELU.forms}\nnet.py:3 backward"
    for most, want in ((4, [4e-3, 16e-3, 6e-3, 1e-3]), (3, [16e-3, 6e-3, 4e-3])):
        monkeypatch.setattr(page, "MOST", most)
        items = page._timeline(report, ids(report))["items"]
        assert [i["length"] for i in items] == want


def test_the_outline_by_phase_and_line(report, program):
    found = page._outline(report, report.groups, ids(report))
    nodes = {n["id"]: n for n in found["nodes"]}
    assert list(nodes) == ["p forward", "p backward", f"p forward {program}:2", "k1",
                           f"p backward {program}:3", "k0", "p forward :0", "k2"]
    line = nodes[f"p forward {program}:2"]
    assert line["parent"] == "p forward" and line["label"] == "net.py:2"
    assert line["note"] == ("x = x @ w  # " + "long " * 20)[:60]
    assert nodes["p forward :0"]["label"] == "no line" and nodes["p forward :0"]["note"] == ""
    assert nodes["k1"] == {"id": "k1", "parent": f"p forward {program}:2", "label": "addmm",
                           "value": pytest.approx(10e-3), "note": "× 2", "color": 0}
    assert nodes["k0"]["note"] == RELU.forms and nodes["k0"]["color"] == 7
    # of the two products, one reads the relu's result and gives it its own; sums by pair
    assert found["edges"] == [["k1", "k0", 4000], ["k0", "k1", 2000], ["k0", "k2", 500],
                              ["k1", "k2", 37]]
    assert found["open"] == 2


def test_numbers_at_the_side(report):
    records = page.page_of(report).records
    product, copy = dict(records["k1"]["fields"]), dict(records["k2"]["fields"])
    assert records["k1"]["code"].startswith("x = x @ w") and records["k2"]["code"] == ""
    assert product == {
        "kind": "product", "phase": "forward", "line": "net.py:2", "shapes": PRODUCT.forms,
        "type": "float32", "calls": 2, "time": "10 ms", "time of each, on average": "5 ms",
        "FLOPs": "4 G", "FLOP/s": "400 GFLOP/s", "bytes": "781 KiB", "bytes/s": "80 MB/s",
        "FLOPs per byte": 5000.0, "bound by": "compute", "limit": "4 ms", "limit / time": "40%",
        "above the limit": "6 ms"}
    assert "time of each, on average" not in copy and copy["FLOPs per byte"] == 0


def test_nothing_at_all():
    empty = Figures("step", "eager", Record(torch.device("cpu"), [], 0), 0.0)
    tiles = {t["label"]: t for t in page._tiles(empty)}
    assert tiles["lower limit"]["note"] == "" and tiles["products"]["note"].startswith("0%")
    assert tiles["peak of products"]["value"] == "0 FLOP/s"
    assert page._table(empty, [])["rows"] == page._roofline(empty, [])["lines"] == []
    assert page._outline(empty, [], {})["nodes"] == page._timeline(empty, {})["items"] == []
    view = Figures("step", "eager", Record(torch.device("cpu"), [
        Kernel(0, "mark", Cost("other", 0, 0, "float32", ""), Line("", 0, ""), {}, 0.0)], 0), 0.0)
    assert [r["part"] for r in page._table(view, view.groups)["rows"]] == [0]
    assert dict(page._fields(view.groups[0]))["FLOPs per byte"] is None
