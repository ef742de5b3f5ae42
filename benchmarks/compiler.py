"""What compiled functions cost besides their kernels: ``python -m benchmarks.compiler``.

- *calls*: small functions and a step of 100 small layers, eagerly and compiled, in turns in one
  process;
- *gradients*: training steps whose forward function is compiled inside of an eager gradient call,
  beside eager steps and compiled whole steps, in turns in one process;
- *recording*: the first two calls of a compiled training step of 1,000 layers;
- *minute*: the first half minute from a cold cache, and the step that it settles at (`minute`).

``LAMELLA_CPP=0`` measures without C++.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console

from .harness import Settings
from .minute import BY_NAME, SETTLING, STEPS, minute
from .table import Table

ROUNDS, LONG_ENOUGH = 200, 2e-3  # turns; seconds of one


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


def gradients() -> Table:
    """Training steps: eager, with a compiled forward function, and compiled as a whole."""
    import lamella.alias  # type: ignore[import-not-found]

    import lamella as ms

    lamella.alias.install()
    ready()
    lines = []
    for name in ("mlp", "lenet", "gpt"):
        workload = BY_NAME[name]
        inputs = [ms.Tensor(x) for x in workload.data()]
        steps: dict[str, Callable[[], Any]] = {}
        compiled = []
        for kind in ("eager", "forward", "whole"):
            step, function = _step_of(workload.written_in("mindspore"), kind)
            steps[kind] = functools.partial(step, *inputs)
            compiled.append(function)
        _settle(steps, compiled)
        found = in_turns(steps, 20)
        eager, forward, whole = found.values()
        report = compiled[1].report()
        lines.append([workload.title, *(f"{1e3 * t:.2f}" for t in found.values()),
                      f"{forward / eager:.2f}", f"{forward / whole:.2f}", str(report["traces"])])
    return Table("Training steps, ms", ["model", "eager", "compiled forward", "compiled step",
                                        "forward / eager", "forward / step", "recordings"], lines)


def _step_of(program: Any, kind: str) -> tuple[Callable[..., Any], Any]:
    """A training step, and what is compiled of it."""
    import lamella as ms

    net = getattr(program, "model_for_lamella", program.model)()
    net.set_train()
    optimizer = program.optimizer(net.trainable_params())

    def forward(*inputs):
        return program.loss(net, *inputs)

    inner = ms.jit(forward, jit_level="O1") if kind == "forward" else forward
    gradient = ms.value_and_grad(inner, None, optimizer.parameters)

    def step(*inputs):
        value, found = gradient(*inputs)
        optimizer(found)
        return value

    whole = ms.jit(step, jit_level="O1") if kind == "whole" else step
    return whole, whole if kind == "whole" else inner


def _settle(steps: dict[str, Callable[[], Any]], compiled: list[Any]) -> None:
    """Run the steps in turns until it is final how they are run."""
    end = time.perf_counter() + SETTLING
    while time.perf_counter() < end and not all(
            getattr(function, "settled", True) for function in compiled):
        for step in steps.values():
            step()


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiler", description=__doc__)
    names = ["calls", "gradients", "recording", "minute"]
    parser.add_argument("--only", action="append", choices=names)
    parser.add_argument("--step", action="append", choices=STEPS, help="of minute (again for more)")
    parser.add_argument("--runs", type=int, default=1, help="of minute, from a cold cache each")
    chosen = parser.parse_args()
    console = Console(width=None if Console().is_terminal else 200)
    parts = chosen.only or names
    for part in parts:
        if part == "minute":
            table = minute(chosen.step or list(STEPS), Settings(), chosen.runs, console.print)
        else:
            table = {"calls": calls, "gradients": gradients, "recording": recording}[part]()
        console.print(table.rich())


if __name__ == "__main__":
    main()
