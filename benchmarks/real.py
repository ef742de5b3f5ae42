"""``python -m benchmarks.real``: training steps of models of real size, beside PyTorch's.

GPT-2 (124 million weights), BERT-base, ResNet-50, an LSTM language model and a diffusion U-Net, in
float32 and bfloat16. Each has a table line with the time of a step, of the first call, peak memory,
and how far the compiled step is from its limit: what its kernels would take at the machine's peaks.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from typing import Any

from rich.console import Console

# the environment variables by which the workloads choose their sizes
TINY, LARGE = "BENCHMARKS_TINY", "BENCHMARKS_LARGE"
CLOCK = "BENCHMARKS_CLOCK"  # the one by which workers measure by the processor's time
GRAPHS = "torch.compile, graphs"  # CUDA's
CONTESTANTS = ("Lamella", "Lamella graph", "PyTorch", "torch.compile", GRAPHS)


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="just this model, such as gpt2 or gpt2-bf16 (again for more)")
    parser.add_argument("--contestant", action="append", choices=CONTESTANTS)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--steps", type=int, default=12, help="measurements of each contestant")
    parser.add_argument("--settling", type=float, default=240.0,
                        help="seconds for a contestant to find its fastest form")
    parser.add_argument("--tiny", action="store_true", help="small models, to see that it runs")
    parser.add_argument("--large", action="store_true", help="batches that fill a GPU")
    parser.add_argument("--together", action="store_true",
                        help="contestants get ready side by side: first calls take longer")
    parser.add_argument("--processor-time", action="store_true",
                        help="measure steps and first calls by the time of the processor, for a "
                             "machine with other programs; with --threads 1")
    parser.add_argument("--no-limits", action="store_true",
                        help="leave out how far compiled steps are from their limits")
    return parser.parse_args(arguments)


def real_table(results: Any) -> Any:
    """A line for each contestant in each model."""
    from .harness import BASELINE
    from .table import Table

    lines = []
    for workload, found in results.items():
        base = found.get(BASELINE)
        for name, one in found.items():
            if one.reason or not one.times:
                lines.append([workload.title, name, one.reason, *["–"] * 7])
                continue
            known = base if base is not None and base.times else None
            lines.append([
                workload.title, name, f"{one.median * 1e3:.0f} ms",
                _beside(one.median, known and known.median),
                f"{one.first:.1f} s", _beside(one.first, known and known.first),
                f"{one.memory / 2**20:.0f} MiB", _beside(one.memory, known and known.memory),
                "–" if one.limit is None else f"{one.median / one.limit:.2f}",
                "yes" if one.settled else "no"])
    return Table("Training steps of models of real size", [
        "model", "by", "step", "/ PyTorch", "first call", "/ PyTorch's", "most memory",
        "/ PyTorch's", "/ its limit", "settled"], lines)


def _beside(value: Any, other: Any) -> str:
    return f"{value / other:.2f}" if value and other else "–"


def means(results: Any) -> list[str]:
    """The geometric means of the compiled steps' times over PyTorch's."""
    ratios: dict[str, list[float]] = {}
    for workload, found in results.items():
        ours, theirs = found.get("Lamella graph"), found.get("PyTorch")
        if ours is not None and theirs is not None and ours.times and theirs.times and not (
                ours.reason or theirs.reason):
            ratios.setdefault(workload.precision, []).append(ours.median / theirs.median)
    return [f"compiled / PyTorch in {kind}, geometric mean of {len(found)}: "
            f"{statistics.geometric_mean(found):.2f}" for kind, found in ratios.items()]


def main(arguments: list[str] | None = None) -> None:
    chosen = options(arguments)
    if chosen.tiny:
        os.environ[TINY] = "1"  # for the workers, and for the workloads if they come next
    if chosen.processor_time:
        os.environ[CLOCK] = "processor"
    if chosen.large:
        os.environ[LARGE] = "1"
    from .__main__ import machine  # they read the variable when they are imported
    from .harness import Settings, measure
    from .workloads import REAL

    names = [w.name for w in REAL]
    if unknown := set(chosen.only or ()) - set(names):
        sys.exit(f"{', '.join(sorted(unknown))}: no such model; there are {', '.join(names)}")
    settings = Settings(chosen.device, chosen.steps, chosen.threads, settling=chosen.settling,
                        contestants=chosen.contestant or [
                            name for name in CONTESTANTS
                            if name != GRAPHS or chosen.device == "cuda"],
                        together=chosen.together,
                        limits=not chosen.no_limits and chosen.device == "cpu")
    console = Console() if sys.stdout.isatty() else Console(width=200)
    results = {}
    with console.status("") as status:
        for workload in REAL:
            if not chosen.only or workload.name in chosen.only:
                results[workload] = measure(workload, settings, status.update)
    console.print(real_table(results).rich())
    console.print(*means(results), machine(settings), sep="\n", markup=False)
    if any(one.wrong for found in results.values() for one in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
