"""``python -m benchmarks.explain``: what bounds the training steps here, and what each pass gives.

It writes the tables of docs/performance.md, between their markers. Each step runs until it has
found its fastest form; then it takes turns with PyTorch's eager step in one process, and
`lamella.explain` looks at its kernels. Its losses are compared with those of eager training
(`agreement`). A pass's effect is the time of the graph that is made
without it over the time of the graph made with all, in turns too.
"""

from __future__ import annotations

import argparse
import contextlib
import operator
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from rich.console import Console
from torch.fx.node import map_arg

from .__main__ import machine
from .agreement import agreement, agreement_table, made, settle
from .harness import Settings
from .table import Table
from .workload import Workload
from .workloads import WORKLOADS

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
STEPS = ("mlp", "lenet", "lstm", "gpt", "resnet")  # of the page; `--only` takes two more
BY_NAME = {w.name: w for w in WORKLOADS if w.name in (*STEPS, "gpt-bf16", "resnet-bf16")}
ROUNDS, PATIENCE = 60, 15.0  # of taking turns: rounds at the most, seconds
FEWEST = 9

# what stands in for a pass that is left out: its name in `lamella.graph.passes.order`, words in
# the names of the attempts that it makes, or an algorithm of convolutions
PASSES: dict[str, tuple[str, ...]] = {
    "common_subexpressions": ("eliminate_common_subexpressions",), "constants": ("fold",),
    "peephole": ("peephole",), "relus": ("relu_after_pools",), "parts": ("join_parts",),
    "recomputation": ("recompute_casts",), "routes": ("route",), "attention": ("route_attention",),
    "cross_entropies": ("fuse_cross_entropies",), "batch_norms": ("fuse_batch_norms",),
    "layer_norms": ("fuse_layer_norms",), "activations": ("fuse_activations",),
    "halves": ("halves",), "channels_last": ("channels last",),
    "convolutions": ("products",), "winograd": ("winograd", "tiles"), "windows": ("windows",)}
UNTRIED = "pools, before trials"


@dataclass
class Found:
    """What was found of one workload: its report, seconds of its step and of PyTorch's."""

    report: Any
    seconds: float
    eager: float
    settled: bool


def prepared(name: str) -> tuple[Workload, Callable[..., Any], list[Any], Callable[[], Any]]:
    """A workload, its step and data in Lamella, and its step in PyTorch."""
    workload = BY_NAME[name]
    step, data = made(workload)
    from .runners import pytorch

    weights = pytorch.initial_weights(workload)
    peer = pytorch.build(workload, "PyTorch", "cpu", weights, list(workload.data()))
    return workload, step, data, peer.run


def in_turns(runs: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """The seconds of each run, in rounds in which all take turns.

    A brief run follows one that isn't timed: another had the caches before.
    """
    from lamella.machine.timing import BRIEF

    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    begin = time.perf_counter()
    for number in range(ROUNDS):
        names = list(runs)
        turn = number % len(names)  # what runs after what is another each time
        for name in names[turn:] + names[:turn]:
            run = runs[name]
            if times[name] and times[name][-1] < BRIEF:
                run()
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
        if number + 1 >= FEWEST and time.perf_counter() - begin > PATIENCE:
            break
    return times


def look(name: str, settling: float) -> Found:
    """Run a step until it is settled, against PyTorch's, and explain it."""
    import lamella

    _, step, data, peer = prepared(name)
    compiled = lamella.jit(step)
    settle(compiled, data, settling)
    times = in_turns({"ours": lambda: compiled(*data), "peer": peer})
    return Found(lamella.explain(compiled, *data), min(times["ours"]), min(times["peer"]),
                 compiled.settled)


# -- passes ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def left_out(*words: str, decided: dict[str, bool] | None = None) -> Iterator[None]:
    """A block in which graphs are improved without these passes.

    Which attempts pay is as was `decided` for the graph with all passes, unless they change.
    """
    from lamella.graph.passes import convolutions, order
    from lamella.machine.measured import Measured

    ways = {name: way for name, way in convolutions.WAYS.items() if name not in words}
    attempted = len(ways) < len(convolutions.WAYS) or any(
        word in name for word in words for name in order.ATTEMPTS)

    class Decided(order.Decisions):
        def __init__(self, *args: Any):
            super().__init__(*args)
            self.clear()
            if not attempted:
                self.update(decided or {})

        def keep(self) -> None:
            if decided is not None and not words:
                decided.update(self)

    with contextlib.ExitStack() as stack:
        for word in words:
            if hasattr(order, word):
                stack.enter_context(mock.patch.object(order, word, lambda *args, **kwargs: 0))
        attempts = {name: attempt for name, attempt in order.ATTEMPTS.items()
                    if not any(word in name for word in words)}
        stack.enter_context(mock.patch.object(order, "ATTEMPTS", attempts))
        if len(ways) < len(convolutions.WAYS):
            stack.enter_context(mock.patch.object(convolutions, "WAYS", ways))
            fewer = Measured("-".join(words), ways)
            stack.enter_context(mock.patch.object(convolutions, "known", fewer))
        stack.enter_context(mock.patch.object(order, "Decisions", Decided))
        yield


def effects(name: str) -> dict[str, list[float]]:
    """For each pass, and for all: the quartiles of the time without it over the time with all.

    Quotients are of single rounds, since the load of a machine varies from one to the next.
    """
    from lamella.graph.guards.search import reachable_from_call
    from lamella.graph.passes.order import improve
    from lamella.graph.passes.pools import pool_channels_last
    from lamella.graph.passes.trial import _run, copies
    from lamella.graph.tracing.copies import copied
    from lamella.graph.tracing.run import run_traced
    from lamella.graph.tracing.trace import data_of
    from lamella.graph.tracing.undo import undone

    _, step, data, _ = prepared(name)
    data = copied(data)
    reach = reachable_from_call(step, tuple(data), {})
    with undone(reach):
        trace = run_traced(step, tuple(data), {}, reach)
        assert trace.outcome is not None
        recorded = trace.outcome.graph
        inputs = [*(x._raw for x in data), *(data_of(one.tensor) for one in trace.held),
                  *trace.outcome.constants]
        decided: dict[str, bool] = {}
        with left_out(decided=decided):
            graphs = {"all": _improved(recorded, inputs), "none": recorded}
        text = _written(graphs["all"])
        for title, words in PASSES.items():
            with left_out(*words, decided=decided):
                other = _improved(recorded, inputs)
            if _written(other) != text:  # else it finds nothing to do
                graphs[title] = other
        untried = improve(recorded, inputs)
        pooled = pool_channels_last(untried, untried)
        if pooled is not None:
            graphs["untried"], graphs[UNTRIED] = pooled, untried
        ready = {title: (graph, copies(graph, inputs)) for title, graph in graphs.items()}
        times = in_turns({title: lambda g=graph, v=values: _run(g, v)
                          for title, (graph, values) in ready.items()})
    base = {title: times["untried" if title == UNTRIED else "all"] for title in times}
    return {title: statistics.quantiles(map(operator.truediv, seconds, base[title]), n=4,
                                        method="inclusive")
            for title, seconds in times.items() if title != "untried"}


def _written(graph: Any) -> list[str]:
    """A graph to compare with another, whose values have other names."""
    numbers = {node: f"v{i}" for i, node in enumerate(graph.graph.nodes)}
    return [f"{n.op} {n.target if n.op == 'call_function' else ''} "
            f"{map_arg((n.args, n.kwargs), lambda a: numbers[a])}" for n in graph.graph.nodes]


def _improved(recorded: Any, inputs: list[torch.Tensor]) -> Any:
    """The graph with all that pays; nothing is known from before."""
    from lamella.graph.passes.order import improve

    recorded.meta.pop("search", None)
    while True:
        graph = improve(recorded, inputs, measure=True)
        if not graph.meta.get("open"):  # each call tries one rewriting
            return graph


# -- tables ----------------------------------------------------------------------------------------


def limits_table(found: dict[str, Found]) -> Table:
    from lamella.insight.roofline.text import time as text

    lines = []
    for name, f in found.items():
        r, products = f.report, f.report.products
        peak = max(r.rates.values())
        lines.append([
            BY_NAME[name].title, text(f.seconds), f"{f.seconds / f.eager:.2f}",
            r.how if f.settled else f"{r.how}, not settled",
            f"{products.flops / 1e9:.3g}", f"{products.seconds / r.kernel_seconds:.0%}",
            f"{products.rate / 1e9:.0f}", f"{products.rate / peak:.0%}",
            text(r.floor), f"{f.seconds / r.floor:.2f}", text(r.limit),
            f"{f.seconds / r.limit:.2f}", f"{r.floor / f.eager:.2f}"])
    return Table("Training steps, compiled, against the limits of this machine", [
        "step", "time", "/ PyTorch eager", "runs as", "GFLOP of products", "their share of time",
        "GFLOP/s", "of peak", "limit of products", "time / that", "limit of all kernels",
        "time / that", "limit of products / PyTorch eager"], lines)


def kinds_table(found: dict[str, Found]) -> Table:
    kinds = list(dict.fromkeys(s.label for f in found.values() for s in f.report.kinds))
    lines = []
    for name, f in found.items():
        sums = {s.label: s for s in f.report.kinds}
        lines.append([BY_NAME[name].title, *(
            f"{sums[k].seconds / f.report.kernel_seconds:.0%} ({sums[k].share:.0%})"
            if k in sums else "–" for k in kinds)])
    return Table("Share of each kind in the time of the kernels (and how near it is to its limit)",
                 ["step", *kinds], lines)


def passes_table(found: dict[str, dict[str, list[float]]]) -> Table:
    lines = [[title, *(_effect(e[title]) if title in e else "–" for e in found.values())]
             for title in (*PASSES, UNTRIED, "none")]
    lines[-1][0] = "all of them"
    return Table("Time without a pass, as a multiple of the time with all: the median and the "
                 "middle half of the rounds (– where it finds nothing to do)",
                 ["pass", *(BY_NAME[name].title for name in found)], lines)


def _effect(quartiles: list[float]) -> str:
    """A cell of the table; a difference that is no larger than the scatter isn't one."""
    low, middle, high = quartiles
    return f"{middle:.2f} ({low:.2f} … {high:.2f})" if low > 1 or high < 1 else "within scatter"


def peaks_line(found: dict[str, Found]) -> str:
    from lamella.insight.roofline.text import bandwidth, rate

    report = next(iter(found.values())).report
    rates = ", ".join(f"{rate(value)} in {kind}" for kind, value in report.rates.items())
    return (f"Peaks measured: {rates}; {bandwidth(report.peaks.of_memory(float('inf')))} from "
            f"memory, {bandwidth(report.peaks.of_memory(1))} from caches.")


def page_with(page: str, name: str, text: str) -> str:
    """`page` with `text` between the markers of this name, which it must have.

    Raises:
        ValueError: if it hasn't.
    """
    begin = f"<!-- {name}: written by python -m benchmarks.explain -->"
    end = f"<!-- {name}: end -->"
    before, opened, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{PAGE.name} lacks the lines {begin} and {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__)
    parser.add_argument("--only", action="append", choices=BY_NAME,
                        help="just this step (again for more); docs/performance.md stays")
    parser.add_argument("--settling", type=float, default=300.0,
                        help="seconds that a step gets to find its fastest form")
    parser.add_argument("--skip", action="append", default=[],
                        choices=["limits", "agreement", "passes"],
                        help="leave these tables as they are")
    parser.add_argument("--pages", type=Path, metavar="FOLDER",
                        help="write the page of each step's report there")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    chosen = options(arguments)
    names = chosen.only or STEPS
    console = Console() if sys.stdout.isatty() else Console(width=200)
    texts = {}
    where = f"{machine(Settings())}, float32."
    if "limits" not in chosen.skip:
        from lamella.insight.roofline.peaks import peaks_of

        peaks = peaks_of(torch.device("cpu"))
        peaks.of_products("float32")
        peaks.measure()
        found: dict[str, Any] = {}
        for name in names:
            found[name] = look(name, chosen.settling)
            console.print(f"{name}: {found[name].seconds * 1e3:.3g} ms", markup=False)
            if chosen.pages:
                chosen.pages.mkdir(parents=True, exist_ok=True)
                console.print(found[name].report.save(chosen.pages / f"{name}.html"))
        tables = [limits_table(found), kinds_table(found)]
        for each in tables:
            console.print(each.rich())
        texts["limits"] = "\n\n".join([f"{where} {peaks_line(found)}",
                                       *(each.markdown() for each in tables)])
    if "agreement" not in chosen.skip:
        found = {BY_NAME[name].title: agreement(BY_NAME[name], chosen.settling) for name in names}
        table = agreement_table(found)
        console.print(table.rich())
        texts["agreement"] = f"{where}\n\n{table.markdown()}"
    if "passes" not in chosen.skip:
        found = {}
        for name in names:
            found[name] = effects(name)
            console.print(f"{name}: {len(found[name])} graphs", markup=False)
        table = passes_table(found)
        console.print(table.rich())
        texts["passes"] = f"{where}\n\n{table.markdown()}"
    if not chosen.only:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in texts.items():
            page = page_with(page, name, text)
        PAGE.write_text(page, encoding="utf-8")
        console.print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
