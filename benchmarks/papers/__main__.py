"""Algorithms of papers in Lamella and JAX: ``python -m benchmarks.papers [--threads 1,2]``.

Each framework has a process of its own for each algorithm, with empty caches, warms up, and then
they take turns; while one is timed the other waits for its turn. Results have to agree. The parts
in C++, which a machine builds once, are there from the start.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from ..answering import Answering
from .data import DATA

FRAMEWORKS = ("lamella", "jax")
SLICE = 0.1  # seconds of one turn
TOLERANCE = 2e-3  # relative to the largest element


def contestant(framework: str, algorithm: str, threads: int, cache: str) -> Answering:
    """A process that runs one algorithm in one framework."""
    return Answering(f"{__package__}.worker", framework, algorithm, str(threads), env={
        **os.environ, "OMP_NUM_THREADS": str(threads), "LAMELLA_CACHE": cache,
        "TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"})


def difference(a: list[Any], b: list[Any]) -> float:
    """The largest difference of two results, relative to each array's largest element."""
    pairs = [(np.asarray(x, np.float64), np.asarray(y, np.float64))
             for x, y in zip(a, b, strict=True)]
    return max(float(np.abs(x - y).max() / (np.abs(y).max() + 1e-30)) for x, y in pairs)


def measured(algorithm: str, threads: int, warm: float, rounds: int, cache: str, kind: str
             ) -> dict[str, Any]:
    """The figures of one algorithm; `kind` is what is asked of the workers."""
    both = {name: contestant(name, algorithm, threads, cache) for name in FRAMEWORKS}
    warmed = {name: its.ask(f"warm {warm if name == 'lamella' else 1.0}")
              for name, its in both.items()}
    apart = difference(warmed["lamella"]["results"], both["jax"].begun["results"])
    # of calls now: those of the warm-up were also recorded, replayed and compiled
    counts = {name: max(1, min(5000, int(SLICE / its.ask(f"{kind} 5")["seconds"])))
              for name, its in both.items()}
    times: dict[str, list[float]] = {name: [] for name in both}
    for _ in range(rounds):
        for name, its in both.items():
            times[name].append(its.ask(f"{kind} {counts[name]}")["seconds"])
    for its in both.values():
        its.end()
    ratio = statistics.median(a / b for a, b in zip(times["lamella"], times["jax"], strict=True))
    return {"algorithm": algorithm, "threads": threads, "apart": apart, "ratio": ratio,
            "by": warmed["lamella"]["by"],
            **{name: statistics.median(its) for name, its in times.items()},
            **{f"{name} first": its.begun["first"] for name, its in both.items()}}


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers")
    parser.add_argument("--only", default=",".join(DATA), help="algorithms, separated by commas")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--warm", type=float, default=10.0, help="seconds, for Lamella")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--processor-time", action="store_true",
                        help="instead of time by the clock, for a busy machine")
    asked = parser.parse_args()
    kind = "processor" if asked.processor_time else "time"
    print("| Algorithm | Threads | Lamella | JAX | Ratio | run by | first result: Lamella | JAX |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    ratios: dict[int, list[float]] = {}
    built = tempfile.mkdtemp()
    subprocess.run([sys.executable, "-m", f"{__package__}.parts"], check=True,
                   env={**os.environ, "LAMELLA_CACHE": built})
    for threads in map(int, asked.threads.split(",")):
        for algorithm in asked.only.split(","):
            with tempfile.TemporaryDirectory() as cache:
                shutil.copytree(built, cache, dirs_exist_ok=True)
                found = measured(algorithm, threads, asked.warm, asked.rounds, cache,
                                 kind)
            row = (f"| {algorithm} | {threads} | {found['lamella'] * 1e3:.2f} ms | "
                   f"{found['jax'] * 1e3:.2f} ms | {found['ratio']:.2f} | "
                   f"{', '.join(found['by'])} | {found['lamella first']:.1f} s | "
                   f"{found['jax first']:.1f} s |")
            if found["apart"] > TOLERANCE:
                row = f"| {algorithm} | {threads} | results differ by {found['apart']:.1e} | |||||"
            else:
                ratios.setdefault(threads, []).append(found["ratio"])
            print(row, flush=True)
    shutil.rmtree(built)
    for threads, its in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, its)))
        print(f"\nGeometric mean of the ratios, {threads} threads: {mean:.2f}")


if __name__ == "__main__":
    main()
