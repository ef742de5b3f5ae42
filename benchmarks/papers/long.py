"""A loop of a thousand steps: ``python -m benchmarks.papers.long [--steps 1000] [--seconds 30]``.

The spiking network on a long sequence. A Python loop is unrolled when it is recorded, which JAX's
`lax.scan` never is, so what counts besides the step are the first calls and the memory. Each
framework runs in a process of its own with an empty cache and one thread.

Memory is the most (VmHWM) up to then, and what is left at the end (VmRSS), above what the process
had before the network was made. Lamella imports XLA only when a step is worth it, and JAX before:
in rows marked "loaded", XLA and its client are there before, in both.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from ..recompute import reset_peak, status
from .data import DATA, normal

FRAMEWORKS = ("lamella", "jax")


def figures(framework: str, steps: int, seconds: float, loaded: bool) -> dict[str, float]:
    """The seconds of the first two calls, processor time of these, a warm step, and memory.

    Args:
        framework: ``"lamella"`` or ``"jax"``.
        steps: how long the sequence is.
        seconds: how long it warms up before the step is measured.
        loaded: whether XLA is loaded before.
    """
    if framework == "jax":
        from . import in_jax as module
    else:
        from . import in_lamella as module
    weights, (_, wanted) = DATA["spiking"]
    spikes = (normal(19, steps, 16, 20) > 0.7).astype(np.float32)
    DATA["spiking"] = weights, [spikes, wanted]
    if loaded:
        _load(framework)
    reset_peak()
    before = status("VmRSS")
    step, args = module.step_of("spiking")
    begin, used = time.perf_counter(), time.process_time()
    step(*args)
    first = time.perf_counter() - begin
    step(*args)
    two, used = time.perf_counter() - begin, time.process_time() - used
    memory = status("VmHWM") - before
    while time.perf_counter() - begin < seconds:
        step(*args)
    least = float("inf")
    for _ in range(30):
        start = time.perf_counter()
        step(*args)
        least = min(least, time.perf_counter() - start)
    return {"first": first, "two": two, "processor": used, "step": least, "memory": memory,
            "later": status("VmHWM") - before, "left": status("VmRSS") - before}


def _load(framework: str) -> None:
    """Load XLA's library, and have its client made."""
    if framework == "jax":
        import jax

        jax.block_until_ready(jax.numpy.zeros(1))
    else:
        from lamella.graph.xla import client

        client.prepare()


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.long")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=30.0, help="of warming up")
    parser.add_argument("--framework", choices=FRAMEWORKS, help="measure one, in this process")
    parser.add_argument("--loaded", action="store_true", help="load XLA before")
    asked = parser.parse_args()
    if asked.framework:
        print(json.dumps(figures(asked.framework, asked.steps, asked.seconds, asked.loaded)))
        return
    print("| framework | first call, s | first two, s | processor time of these, s | step, ms | "
          "most memory of two, MiB | later, MiB | left, MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as built:
        env = {**os.environ, "OMP_NUM_THREADS": "1", "NPROC": "1", "JAX_PLATFORMS": "cpu",
               "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
        subprocess.run([sys.executable, "-m", f"{__package__}.parts"], check=True,
                       env={**env, "LAMELLA_CACHE": built})
        for framework, loaded in itertools.product(FRAMEWORKS, (False, True)):
            with tempfile.TemporaryDirectory() as cache:
                shutil.copytree(built, cache, dirs_exist_ok=True)
                found = json.loads(subprocess.run(
                    [sys.executable, "-m", f"{__package__}.long", "--framework", framework,
                     "--steps", str(asked.steps), "--seconds", str(asked.seconds),
                     *["--loaded"] * loaded],
                    env={**env, "LAMELLA_CACHE": cache}, check=True, stdout=subprocess.PIPE).stdout)
            name = f"{framework}, loaded" if loaded else framework
            print(f"| {name} | {found['first']:.2f} | {found['two']:.2f} | "
                  f"{found['processor']:.2f} | {found['step'] * 1e3:.1f} | {found['memory']:.0f} | "
                  f"{found['later']:.0f} | {found['left']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
