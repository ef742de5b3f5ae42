"""`ms.odeint` beside diffrax: ``python -m benchmarks.ode --jax PYTHON``.

A network of 32 units is the right side of an ordinary differential equation of 32 values of 4, from
time 0 to 2, with adaptive steps and the same tolerances (Dormand and Prince's method on one
thread). Each framework has a process of its own; they take turns, and processor time counts.
PYTHON is that of an environment which has diffrax.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .answering import Answering

KINDS = ("value", "gradient by the adjoint equation", "gradient of the steps")
TURN = 0.2  # seconds
TOLERANCE = 2e-3  # relative to the largest element


def data() -> list[np.ndarray]:
    """The first value, and the weights."""
    draw = np.random.default_rng(0)
    shapes = [((32, 4), 1.0), ((4, 32), 1.0), ((32,), 0.3), ((32, 4), 0.3)]
    return [(draw.standard_normal(shape) * scale).astype(np.float32) for shape, scale in shapes]


def lamella(kind: str) -> Callable[[], np.ndarray]:
    """A call of Lamella."""
    import lamella as ms
    from lamella import ops

    times = ms.Tensor(np.array([0, 2], np.float32))

    def loss(y: Any, *weights: Any) -> Any:
        end = ms.odeint(lambda y, t, u, b, v: ops.tanh(y @ u + b) @ v, y, times, *weights,
                        adjoint=kind != KINDS[2])[-1]
        return (end * end).mean()

    step = ms.jit(loss if kind == KINDS[0] else ms.grad(loss, (1, 2, 3)))
    given = [ms.Tensor(array) for array in data()]
    return lambda: first_of(step(*given)).asnumpy()


def diffrax(kind: str) -> Callable[[], np.ndarray]:
    """A call of diffrax."""
    import diffrax as dx  # type: ignore[import-not-found]
    import jax
    import jax.numpy as jnp

    adjoint = dx.BacksolveAdjoint() if kind == KINDS[1] else dx.RecursiveCheckpointAdjoint()

    def loss(y: Any, *weights: Any) -> Any:
        found = dx.diffeqsolve(
            dx.ODETerm(lambda t, y, w: jnp.tanh(y @ w[0] + w[1]) @ w[2]), dx.Dopri5(), 0.0, 2.0,
            None, y, weights, stepsize_controller=dx.PIDController(rtol=1e-5, atol=1e-6),
            adjoint=adjoint)
        return (found.ys[-1] ** 2).mean()

    step = jax.jit(loss if kind == KINDS[0] else jax.grad(loss, (1, 2, 3)))
    given = [jnp.asarray(array) for array in data()]
    return lambda: np.asarray(first_of(step(*given)))


def first_of(found: Any) -> Any:
    """The value, or the first of several gradients."""
    return found[0] if isinstance(found, (tuple, list)) else found


def answer(framework: str, kind: str, warm: float) -> None:
    """Warm up, and then run as many calls as each line asks for."""
    out, _ = os.fdopen(os.dup(1), "w"), os.dup2(2, 1)
    call = {"lamella": lamella, "diffrax": diffrax}[framework](kind)
    begin = time.perf_counter()
    while time.perf_counter() - begin < warm:
        found = call()
    print(json.dumps(found.reshape(-1).tolist()), file=out, flush=True)
    for line in sys.stdin:
        begin = time.process_time()
        for _ in range(int(line)):
            call()
        print((time.process_time() - begin) / int(line), file=out, flush=True)


def contestant(python: str, framework: str, kind: str, warm: float) -> Answering:
    """A process of a framework."""
    return Answering("benchmarks.ode", framework, kind, str(warm), python=python, env={
        **os.environ, "OMP_NUM_THREADS": "1", "NPROC": "1", "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"})


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ode")
    parser.add_argument("--jax", default=sys.executable, help="the Python that has diffrax")
    parser.add_argument("--warm", type=float, default=30.0, help="seconds, for Lamella")
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    print("| call | Lamella, ms | diffrax, ms | Lamella / diffrax |")
    print("| --- | ---: | ---: | ---: |")
    for kind in KINDS:
        both = [contestant(sys.executable, "lamella", kind, asked.warm),
                contestant(asked.jax, "diffrax", kind, 1.0)]
        a, b = (np.array(its.begun) for its in both)
        if np.abs(a - b).max() > TOLERANCE * np.abs(b).max():
            raise SystemExit(f"{kind}: results differ: {a}, {b}")
        counts = [max(1, int(TURN / its.ask("5"))) for its in both]
        times = [[its.ask(str(count)) for its, count in zip(both, counts, strict=True)]
                 for _ in range(asked.rounds)]
        for its in both:
            its.end()
        own, other = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
        ratio = statistics.median(a / b for a, b in times)
        print(f"| {kind} | {own:.2f} | {other:.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in ("lamella", "diffrax"):
        answer(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    else:
        main()
