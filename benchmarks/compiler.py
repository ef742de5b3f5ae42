"""What compiled functions cost besides their kernels: ``python -m benchmarks.compiler``.

- *calls*: small functions and a step of 100 small layers, eagerly and compiled, in turns in one
  process;
- *recording*: the first two calls of a compiled training step of 1,000 layers;
- *minute*: from a cold cache, the steps that are made in the first 30 seconds, beside PyTorch's
  eager ones; then the time of a settled step and the most memory, over the whole run and after it
  has settled. With ``--runs 5`` each step settles five times, from a cold cache each.

Every figure of *minute* is of a process of its own. When the 30 seconds are over, the compiler gets
the machine to itself between steps, for as long as `SETTLING` at the most, so the four steps take
eight to twelve minutes. ``LAMELLA_CPP=0`` measures without C++.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console

from .harness import ROOT, Settings, environment, written_arrays
from .table import Table
from .workloads import WORKLOADS

STEPS = ("mlp", "lenet", "gpt", "resnet")
BY_NAME = {w.name: w for w in WORKLOADS}
ROUNDS, LONG_ENOUGH = 200, 2e-3  # turns; seconds of one
SECONDS, SETTLING = 30.0, 100.0
TURN, PAUSE = 0.1, 0.3  # seconds of steps meanwhile, and between them; twice a longer step


def ready() -> None:
    """Have what is in C++ built, so that what is measured is what there is after a while."""
    from lamella.graph.guards import identity
    from lamella.graph.runtime import program
    from lamella.graph.tracing import outside
    from lamella.machine.extension import is_wanted
    from lamella.machine.memory import allocator

    for extension in (allocator, identity.extension, outside.extension, program.extension):
        if is_wanted() and extension.load() is None:
            extension.build(lambda command, folder, patience: not subprocess.run(
                command, cwd=folder, timeout=patience).returncode)


def in_turns(functions: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The least seconds of a call of each, over rounds in which all take turns."""
    repeat = {}
    for name, function in functions.items():
        for _ in range(4):
            function()
        start = time.perf_counter()
        function()
        repeat[name] = max(1, round(LONG_ENOUGH / (time.perf_counter() - start)))
    best = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(repeat[name]):
                function()
            best[name] = min(best[name], (time.perf_counter() - start) / repeat[name])
    return best


def training(layers: int) -> Callable[..., Any]:
    """A training step of small `Dense` layers with momentum."""
    import lamella as ms
    from lamella import nn

    net = nn.SequentialCell(*[nn.Dense(8, 8) for _ in range(layers)])
    optimizer = nn.Momentum(net.trainable_params(), 1e-3, 0.9)
    gradient = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, optimizer.parameters)

    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    return step


def calls() -> Table:
    """Calls, eagerly and compiled."""
    import lamella as ms
    from lamella import nn

    ready()
    small, rows = ms.ops.ones((4, 4)), ms.ops.ones((8, 8))
    net = nn.Dense(4, 4)
    net.factor = 2.0
    cases = {"x + 1": (lambda x: x + 1, small),
             "five operations": (lambda x: ((x + 1) * 2 - x).abs().sum(), small),
             "Dense and an attribute": (lambda x: net(x) * net.factor, small),
             "100 layers, training": (None, rows)}
    lines = []
    for name, (function, x) in cases.items():
        eager, other = (function, function) if function else (training(100), training(100))
        compiled = ms.jit(other, jit_level="O1")
        found = in_turns({"eager": lambda f=eager, x=x: f(x),
                          "compiled": lambda f=compiled, x=x: f(x)}, 200 if function else 40)
        lines.append([name, *(f"{1e6 * t:.1f}" for t in found.values()),
                      f"{found['compiled'] / found['eager']:.2f}"])
    return Table("Calls, µs", ["function", "eager", "compiled", "compiled / eager"], lines)


def recording(layers: int = 1000) -> Table:
    """The first calls of a compiled step of many layers."""
    import lamella as ms

    ready()
    x = ms.ops.ones((8, 8))
    step = training(layers)
    eager = min(in_turns({"eager": lambda: step(x)}, 3).values())
    first, second = float("inf"), float("inf")
    for _ in range(3):
        compiled = ms.jit(training(layers), jit_level="O1")
        start = time.perf_counter()
        compiled(x)
        middle = time.perf_counter()
        compiled(x)
        first = min(first, middle - start)
        second = min(second, time.perf_counter() - middle)
    return Table(f"A training step of {layers} layers, ms",
                 ["eager step", "first call", "second call", "both - 2 eager steps"],
                 [[f"{1e3 * t:.0f}" for t in
                   (eager, first, second, first + second - 2 * eager)]])


def minute(names: list[str], settings: Settings, runs: int, progress: Callable[[str], None]
           ) -> Table:
    """The first half minute, the settled step and memory."""
    lines = []
    for name in names:
        found: dict[str, list[dict[str, Any]]] = {"PyTorch": [], "Lamella graph": []}
        for contestant, results in found.items():
            for number in range(runs if contestant != "PyTorch" else 1):
                results.append(_child(name, contestant, settings))
                progress(f"{name}: {contestant}, run {number + 1}: {_said(results[-1])}")
        (torchs,), ours = found["PyTorch"], found["Lamella graph"]
        times = [r["step"] for r in ours]
        lines.append([
            BY_NAME[name].title, str(torchs["steps"]), f"{ours[0]['steps']}",
            f"{ours[0]['steps'] / torchs['steps']:.2f}", f"{1e3 * torchs['step']:.2f}",
            ", ".join(f"{1e3 * r['step']:.2f}{'' if r['settled'] else ' (not yet)'}" for r in ours),
            f"{100 * (max(times) / min(times) - 1):.0f} %",
            f"{statistics.median(times) / torchs['step']:.2f}",
            *(f"{r[key] / 2**20:.0f}" for r in (torchs, ours[0]) for key in ("peak", "later"))])
    return Table(
        f"The first {SECONDS:g} s from a cold cache, settled steps (ms), memory (MiB)",
        ["step", "PyTorch's steps", "compiled steps", "compiled / PyTorch", "PyTorch's step",
         "settled step", "spread", "settled / PyTorch", "PyTorch's memory, whole run", "warm",
         "compiled, whole run", "settled"], lines)


def _said(found: dict[str, Any]) -> str:
    """A line about one run."""
    return (f"{found['steps']} steps in {SECONDS:g} s; then {1e3 * found['step']:.2f} ms, "
            f"{'' if found['settled'] else 'not '}settled after {found['after']:.0f} s")


def _child(name: str, contestant: str, settings: Settings) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="benchmarks-", ignore_cleanup_errors=True) as folder:
        arrays = written_arrays(BY_NAME[name], folder)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.compiler", "--child", name, contestant, arrays],
            cwd=ROOT, env=environment(settings, folder), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def child(name: str, contestant: str, arrays: str) -> None:
    """In a process of its own: run a step as fast as it goes, and say what came of it."""
    from .worker import Worker

    settings = Settings()
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(BY_NAME[name], contestant, settings.device, settings.threads, arrays)
    step, steps = worker.step, 0
    begin = time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        step.wait(step.run())
        steps += 1
    os.environ["LAMELLA_COMPILE_SHARE"] = "1"
    while not step.settled() and time.perf_counter() - begin < SECONDS + SETTLING:
        start = time.perf_counter()
        while time.perf_counter() - start < TURN:
            step.wait(step.run())
        time.sleep(max(PAUSE, 2 * (time.perf_counter() - start)))  # the compiler's
    after, peak = time.perf_counter() - begin, worker.memory()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark begins anew
    times: list[float] = []
    while len(times) < 25 or sum(times) < 2.0:
        start = time.perf_counter()
        step.wait(step.run())
        times.append(time.perf_counter() - start)
    with open("/proc/self/status") as file:
        most = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    print(json.dumps({"steps": steps, "peak": peak, "later": max(0, most - worker.before),
                      "step": statistics.median(times), "settled": step.settled(),
                      "after": after}), file=replies, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiler", description=__doc__)
    parser.add_argument("--only", action="append", choices=["calls", "recording", "minute"])
    parser.add_argument("--step", action="append", choices=STEPS, help="of minute (again for more)")
    parser.add_argument("--runs", type=int, default=1, help="of minute, from a cold cache each")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        child(*chosen.child)
        return
    console = Console(width=None if Console().is_terminal else 200)
    parts = chosen.only or ["calls", "recording", "minute"]
    for part in parts:
        if part == "minute":
            table = minute(chosen.step or list(STEPS), Settings(), chosen.runs, console.print)
        else:
            table = {"calls": calls, "recording": recording}[part]()
        console.print(table.rich())


if __name__ == "__main__":
    main()
