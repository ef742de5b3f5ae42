"""``python -m benchmarks [--only NAME] [--steps N] [--device cuda]``; see `harness`."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Mapping

import torch
from rich.console import Console
from rich.table import Table

from lamella.doctor import facts

from . import add, chain, gpt, import_time, lenet, mlp, resnet
from .harness import BASELINE, Workload, measure

WORKLOADS = [m.WORKLOAD for m in (add, chain, mlp, lenet, gpt, resnet, import_time)]
PAGE = pathlib.Path(__file__).parent.parent / "docs" / "benchmarks.md"


def machine(device: str) -> str:
    """The machine in a line, without its name."""
    found = facts()
    cpu = found["cpu"]
    line = (f"{cpu['name']}, {cpu['cores']} cores, {cpu['threads']} threads, {cpu['capability']}; "
            f"Python {found['python']['version']}, PyTorch {found['packages']['torch']}, float32")
    return f"{torch.cuda.get_device_name()}; {line}" if device == "cuda" else line


def rows(results: Mapping[str, Mapping[str, float]]) -> tuple[list[str], list[list[str]]]:
    """The table's head and lines."""
    workloads = {w.name: w for w in WORKLOADS}
    contestants = list(dict.fromkeys(name for times in results.values() for name in times))
    others = [name for name in contestants if name != BASELINE]
    head = ["workload", *contestants, *(f"{name} / {BASELINE}" for name in others)]
    lines = []
    for key, times in results.items():
        workload = workloads[key]
        cells = [f"{times[n]:.3g} {workload.unit}" if n in times else "-" for n in contestants]
        ratios = [f"{times[n] / times[BASELINE]:.2f}" if n in times else "-" for n in others]
        lines.append([workload.title, *cells, *ratios])
    return head, lines


def page_with(page: str, device: str, text: str) -> str:
    """`page` with `text` between the markers of `device`, which are added if they are missing."""
    begin, end = f"<!-- {device}: written by make bench -->", f"<!-- {device}: end -->"
    before, found, rest = page.partition(begin)
    if not found:
        return f"{page.rstrip()}\n\n{begin}\n{text}\n{end}\n"
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def markdown(head: list[str], lines: list[list[str]], device: str) -> str:
    """The same as a Markdown table, with the machine above it."""
    table = [head, ["---", *["---:"] * (len(head) - 1)], *lines]
    return "\n".join([machine(device), "", *(f"| {' | '.join(line)} |" for line in table)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=[w.name for w in WORKLOADS],
                        help="just this workload (again for more); docs/benchmarks.md stays")
    parser.add_argument("--steps", type=int, default=30, help="measurements of each contestant")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options = parser.parse_args()

    console = Console()
    chosen: list[Workload] = [w for w in WORKLOADS if not options.only or w.name in options.only]
    results = {}
    for workload in chosen:
        with console.status(workload.title):
            results[workload.name] = measure(workload, options.device, options.steps)
    head, lines = rows(results)
    table = Table(*head, caption=machine(options.device))
    for column in table.columns[1:]:
        column.justify = "right"
    for line in lines:
        table.add_row(*line)
    console.print(table)
    if not options.only:
        text = markdown(head, lines, options.device)
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), options.device, text),
                        encoding="utf-8")
        console.print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
