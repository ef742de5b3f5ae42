"""``python -m benchmarks``: Lamella against other frameworks, on the same models and data."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch
from rich.console import Console

from lamella.commands.doctor import facts

from . import plot, table
from .harness import CONTESTANTS, IMPORT, Settings, measure, measure_imports
from .workload import Workload
from .workloads import WORKLOADS

DOCS = Path(__file__).parent.parent / "docs"
ALL = [*WORKLOADS, IMPORT]


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    defaults = Settings()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=[w.name for w in ALL],
                        help="just this workload (again for more); docs/benchmarks.md stays")
    parser.add_argument("--contestant", action="append", choices=CONTESTANTS,
                        help="just this one (again for more); docs/benchmarks.md stays")
    parser.add_argument("--steps", type=int, default=defaults.steps,
                        help="measurements of each contestant")
    parser.add_argument("--device", choices=["cpu", "cuda"], default=defaults.device)
    parser.add_argument("--threads", type=int, default=defaults.threads,
                        help="of each contestant; all cores by default")
    parser.add_argument("--patience", type=float, default=defaults.patience,
                        help="seconds of measuring for one contestant in one workload")
    parser.add_argument("--mindspore", metavar="PYTHON",
                        help="a Python interpreter that has the real MindSpore")
    parser.add_argument("--bf16", action=argparse.BooleanOptionalAction, default=None,
                        help="mixed precision too; by default where the device is fast at it")
    return parser.parse_args(arguments)


def fast_at_bfloat16(device: str) -> bool:
    """Whether the device multiplies bfloat16 by itself."""
    if device == "cuda":
        return torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
    return torch.cpu.get_capabilities().get("avx512_bf16", False)


def chosen_workloads(chosen: argparse.Namespace) -> list[Workload]:
    if chosen.only:
        return [w for w in ALL if w.name in chosen.only]
    low = fast_at_bfloat16(chosen.device) if chosen.bf16 is None else chosen.bf16
    return [w for w in ALL if low or w.precision == "float32"]


def machine(settings: Settings) -> str:
    """The machine and the frameworks in a line, without its name."""
    found = facts()
    cpu, packages = found["cpu"], found["packages"]
    line = (f"{cpu['name']}, {cpu['cores']} cores, {cpu['capability']}; {settings.threads} threads "
            f"each; Python {found['python']['version']}, PyTorch {packages['torch']}")
    return f"{torch.cuda.get_device_name()}; {line}" if settings.device == "cuda" else line


def main() -> None:
    chosen = options()
    settings = Settings(chosen.device, chosen.steps, chosen.threads, chosen.patience,
                        mindspore=chosen.mindspore, contestants=chosen.contestant or CONTESTANTS)
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    workloads = chosen_workloads(chosen)
    results: table.Results = {}
    started = time.monotonic()
    with console.status("") as status:
        for w in workloads:
            status.update(w.title)
            found = (measure_imports(settings) if w is IMPORT
                     else measure(w, settings, status.update))
            results[w] = found
    minutes = (time.monotonic() - started) / 60

    tables = [table.step_table(results), table.ratio_table(results), table.spread_table(results),
              table.first_table(results), table.memory_table(results, settings.device),
              table.cores_table(results)]
    notes = table.reasons(results)
    for each in tables:
        console.print(each.rich())
    console.print(*notes, f"{machine(settings)}; {minutes:.0f} minutes", sep="\n", markup=False)
    if not chosen.only and not chosen.contestant:
        picture = plot.draw(results, DOCS / f"benchmarks-{settings.device}.svg")
        text = "\n\n".join([
            f"{machine(settings)}. The run took {minutes:.0f} minutes.",
            f"![Time of a step against PyTorch]({picture.name})",
            *(each.markdown() for each in tables),
            *(["### Why there are dashes", "\n".join(f"- {note}" for note in notes)] if notes
              else [])])
        page = DOCS / "benchmarks.md"
        page.write_text(table.page_with(page.read_text(encoding="utf-8"), settings.device, text),
                        encoding="utf-8")
        plot.draw_training(text, DOCS / f"training-{settings.device}.svg")
        console.print(f"written to {page} and {picture}")
    if any(r.wrong for found in results.values() for r in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
