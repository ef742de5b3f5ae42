"""Numbers as text, on both sides of each limit of their units."""

from __future__ import annotations

import pytest

from lamella.graph.tracing.lines import Line
from lamella.insight.roofline import text
from lamella.insight.roofline.costs import Cost
from lamella.insight.roofline.figures import Figures, Sum
from lamella.insight.roofline.kernels import Kernel, Record


@pytest.mark.parametrize("seconds, shown", [
    (0.0, "0 ns"), (4e-10, "0 ns"), (9.99e-7, "999 ns"), (9.994e-7, "999 ns"), (9.996e-7, "1 µs"),
    (1.5e-6, "1.5 µs"), (9.994e-4, "999 µs"), (9.996e-4, "1 ms"), (0.01234, "12.3 ms"),
    (0.09994, "99.9 ms"), (0.09996, "100 ms"), (0.9994, "999 ms"), (0.9996, "1 s"), (2.0, "2 s"),
    (123.4, "123 s")])
def test_times(seconds, shown):
    assert text.time(seconds) == shown


@pytest.mark.parametrize("value, shown", [
    (0, "0"), (7, "7"), (12.34, "12.3"), (999, "999"), (999.4, "999"), (999.6, "1 k"),
    (1500, "1.5 k"), (2e6, "2 M"), (3.25e9, "3.25 G"), (4e12, "4 T"), (5e15, "5 P"),
    (6e18, "6000 P")])
def test_counts(value, shown):
    assert text.count(value) == shown


@pytest.mark.parametrize("value, shown", [
    (1000, "1000 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (2**20, "1 MiB"),
    (2**30, "1 GiB"), (2**40, "1 TiB"), (2**51, "2048 TiB")])
def test_sizes(value, shown):
    assert text.size(value) == shown


def test_rates():
    for factor, unit in ((1, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")):
        assert text.rate(2 * factor) == f"2 {unit}FLOP/s"
        assert text.bandwidth(2 * factor) == f"2 {unit}B/s"
    assert text.times(3.0, 0.0) == "" and text.times(3.0, 2.0) == (
        " (the call takes 1.50 times that)")


def kernel(seconds, kind="elementwise", flops=0, size=0, line=None, name="k", dtype="float32"):
    return Kernel(0, name, Cost(kind, flops, size, dtype, "2×3, 4, 5, 6 → 7"),
                  line or Line("", 0, ""), {}, seconds)


@pytest.mark.parametrize("line, shown", [
    (Line("/a/b.py", 7, "forward"), "b.py:7"), (Line("/a/b.py", 7, "backward"), "b.py:7 backward"),
    (Line("", 0, "update"), "update")])
def test_where_kernels_come_from(line, shown):
    assert text.where(Sum("s", [kernel(1.0, line=line)])) == shown


@pytest.fixture
def figures(known_peaks):
    """1e12 products a second in float32, half as many in float64; 1e10 and 1e9 bytes."""
    record = Record(known_peaks.device)
    record.kernels = [
        kernel(2.0, "product", int(1e12), 10**6), kernel(0.5, size=10**9 // 4),
        kernel(4.0, "convolution", int(1e12), 0, Line("a.py", 1, "backward"), dtype="float64"),
        kernel(0.25, size=10**9, line=Line("a.py", 1, "update")), kernel(0.25, flops=int(1e11)),
        kernel(0.5, size=10**9 // 4)]
    return Figures("step", "replay, captured", record, 9.0, "A note.")


def test_sums_of_a_step(figures):
    assert [k.bound for k in figures.kernels] == ["compute", "memory", "compute", "memory",
                                                  "compute", "memory"]
    # no kernel's limit is above its time
    assert [k.limit for k in figures.kernels] == [1.0, 0.25, 2.0, 0.25, 0.1, 0.25]
    assert (figures.kernel_seconds, figures.limit, figures.floor) == (7.5, 3.85, 3.0)
    assert [(s.label, s.count, s.seconds) for s in figures.kinds] == [
        ("convolution", 1, 4.0), ("product", 1, 2.0), ("elementwise", 4, 1.5)]
    assert [(s.label, s.count) for s in figures.phases] == [("forward", 4), ("backward", 1),
                                                            ("update", 1)]
    assert [(s.count, s.seconds) for s in figures.groups] == [(1, 4.0), (1, 2.0), (2, 1.0),
                                                              (1, 0.25), (1, 0.25)]
    assert (figures.products.count, figures.products.flops) == (2, int(2e12))
    assert figures.rates == {"float32": 1e12, "float64": 5e11}
    whole = figures.products
    assert (whole.rate, whole.bandwidth, whole.share) == (2e12 / 6, 1e6 / 6, 0.5)
    nothing = Sum("none", [])
    assert (nothing.rate, nothing.bandwidth, nothing.share) == (0.0, 0.0, 1.0)


def test_a_faster_product_raises_the_peak_if_it_is_large(known_peaks):
    for flops, peak in ((int(1e7), 1e12), (int(1e7) + 1, (1e7 + 1) / 1e-6)):
        record = Record(known_peaks.device)
        record.kernels = [kernel(1e-6, "product", flops)]
        assert Figures("f", "eager", record, 1.0).peaks.flops["float32"] == peak


def test_sentences(figures):
    figures.threads = 1
    assert text.summary(figures) == [
        "step (compiled: a recorded graph is replayed, launched as one CUDA graph) on cpu, "
        "a thread",
        "One call takes 9 s. Its 6 kernels take 7.5 s, one by one.",
        "Lower limit for these kernels on this machine: 3.85 s (the call takes 2.34 times that); "
        "for its products alone 3 s (the call takes 3.00 times that).",
        "Peaks measured here: 1 TFLOP/s in float32, 500 GFLOP/s in float64; 1 GB/s from memory.",
        "A note."]
    figures.threads, figures.note, figures.how, figures.floor = 2, "", "inductor", 0.0
    lines = text.summary(figures)
    assert len(lines) == 4 and lines[0].endswith("compiled to machine code by Inductor) on cpu, "
                                                 "2 threads")
    assert lines[1].endswith(", one by one, in the graph that machine code is made of.")
    assert lines[2].endswith("for its products alone 0 ns.")


def test_long_tables_are_cut(figures):
    from rich.console import Console

    console = Console(width=200)

    def shown(report):
        with console.capture() as captured:
            console.print(text._top(report))
        return captured.get()

    assert "others" not in shown(figures) and "k 2×3, 4, 5 " in shown(figures)
    assert "53%" in shown(figures) and "50% compute" in shown(figures)
    for count, rest in ((12, ""), (13, "others"), (15, "others")):
        record = Record(figures.device)
        record.kernels = [kernel(1.0 + i, name=f"k{i}") for i in range(count)]
        table = shown(Figures("f", "eager", record, 1.0))
        assert ("others" in table) is bool(rest) and table.count("compute") + table.count(
            "memory") == 12
        if rest:
            (line,) = [line for line in table.splitlines() if "others" in line]
            seconds = sum(1.0 + i for i in range(count - 12))
            part = seconds / sum(1.0 + i for i in range(count))
            assert line.split() == ["others", str(count - 12), f"{seconds:g}", "s", f"{part:.0%}"]
