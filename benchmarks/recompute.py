"""Peak memory of a training step that recomputes: `python -m benchmarks.recompute`.

60 layers of a 256 x 256 product on 2,048 rows; each layer is computed again in the backward pass.
Each contestant runs in a process of its own; a row is the peak (VmHWM) of its eighth call above
what the process had before the first.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LAYERS, ROWS, WIDTH, CALLS = 60, 2048, 256, 8


def status(key: str) -> float:
    """A line of this process's status, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise KeyError(key)


def reset_peak() -> None:
    """Let the most memory be counted from now on."""
    Path("/proc/self/clear_refs").write_text("5")


def lamella(scanned: bool) -> Callable[[], Any]:
    """A compiled step, its layers one by one or as a `scan`."""
    import lamella as ms
    from lamella import ops
    from lamella.graph.xla import client

    if client.available():  # what it loads is there before JAX's first call, too
        client.prepare()
    x, stack = ms.Tensor(data()[0]), data()[1]
    weights = [ms.Parameter(ms.Tensor(w), name=f"w{i}")
               for i, w in enumerate([stack] if scanned else stack)]

    def layer(h: Any, w: Any) -> Any:
        return h + ops.tanh(ops.gelu(h @ w))

    def loss(x: Any) -> Any:
        if scanned:
            h = ms.scan(lambda h, w: (ms.recompute(layer, h, w), None), x, weights[0] + 0.0)[0]
        else:
            h = x
            for w in weights:
                h = ms.recompute(layer, h, w)
        return (h * h).mean()

    step: Any = ms.jit(ms.value_and_grad(loss, None, weights))
    return lambda: float(step(x)[0])


def pytorch() -> Callable[[], Any]:
    """An eager step with `torch.utils.checkpoint`."""
    import torch
    import torch._dynamo  # which the first checkpoint imports
    from torch.utils.checkpoint import checkpoint

    x, weights = torch.tensor(data()[0]), [torch.tensor(w, requires_grad=True) for w in data()[1]]

    def layer(h: Any, w: Any) -> Any:
        return h + torch.tanh(torch.nn.functional.gelu(h @ w))

    def step() -> float:
        h: Any = x
        for w in weights:
            h = checkpoint(layer, h, w, use_reentrant=False)
        loss = (h * h).mean()
        torch.autograd.grad(loss, weights)
        return float(loss.detach())

    return step


def jax(scanned: bool) -> Callable[[], Any]:
    """A compiled step with `jax.checkpoint`."""
    import jax
    import jax.numpy as jnp

    x, stack = jnp.asarray(data()[0]), jnp.asarray(data()[1])
    weights: Any = stack if scanned else list(stack)

    @jax.checkpoint
    def layer(h: Any, w: Any) -> Any:
        return h + jnp.tanh(jax.nn.gelu(h @ w, approximate=False))

    def loss(weights: Any, x: Any) -> Any:
        if scanned:
            h = jax.lax.scan(lambda h, w: (layer(h, w), None), x, weights)[0]
        else:
            h = x
            for w in weights:
                h = layer(h, w)
        return (h * h).mean()

    step = jax.jit(jax.value_and_grad(loss))
    return lambda: float(jax.block_until_ready(step(weights, x))[0])


CONTESTANTS: dict[str, Callable[[], Callable[[], Any]]] = {
    "lamella": lambda: lamella(False), "lamella-scan": lambda: lamella(True), "pytorch": pytorch,
    "jax": lambda: jax(False), "jax-scan": lambda: jax(True)}


def data() -> tuple[np.ndarray, np.ndarray]:
    """The rows, and the weights of all layers."""
    draw = np.random.default_rng(0)
    return (draw.standard_normal((ROWS, WIDTH)).astype(np.float32),
            (draw.standard_normal((LAYERS, WIDTH, WIDTH)) * 0.05).astype(np.float32))


def measured(name: str) -> None:
    """Run a contestant in this process, and print its row."""
    step, base, loss = CONTESTANTS[name](), status("VmRSS"), 0.0
    peak = 0.0
    for _ in range(CALLS):
        reset_peak()
        loss = step()
        peak = status("VmHWM") - base
    print(f"{name:14s} {peak:6.0f} MiB, loss {loss:.3f}")


def main() -> None:
    """Run all contestants, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CONTESTANTS)
    only = parser.parse_args().only
    if only is not None:
        measured(only)
        return
    for name in CONTESTANTS:
        subprocess.run([sys.executable, "-m", "benchmarks.recompute", "--only", name], check=True)


if __name__ == "__main__":
    main()
