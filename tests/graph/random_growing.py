"""Random loops over values that grow, compiled against eager.

``python -m tests.graph.random_growing N`` checks N programs. Further numbers: the first program,
and how often to differentiate them. With ``LAMELLA_ENGINE=xla``, what XLA can run is run by it from
the second replay on, and the last line says how many loops it had.

A program grows caches by ``cat``, by lists, and by slices of tables and arguments, and reads them
by sums, softmax, products, masks, views and places counted from either end.
"""

from __future__ import annotations

import random
import sys

import numpy as np

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime.compiled import Compiled

from .random_loops import Difference, compile_source
from .random_tables import main, outcome, same

# what a step makes: `k` is (length, 3), `h` three elements
_GROW = ("k = ops.cat([k, h[None]])", "k = ops.cat([k, (h * g)[None] * 0.5], 0)",
         "k = ops.cat([k, h[None], c[t:t + 1]])", "seen.append(h); k = ops.stack(seen)",
         "seen.append(h[None]); k = ops.cat(seen)", "d[t] = h; k = d[:t + 1]", "k = c[:t + 1]",
         "k = c[1:t + 2] * 0.5", "d[t] = h; k = d[:t]",
         "e = ops.cat([e, h.reshape(3, 1)], 1); k = e.T",
         "k = ops.cat([k, h[None]]); d[t] = g * 0.1", "k = b[0, :t + 1]",
         "b = ops.cat([b, (h * ops.ones((2, 1, 3)))], 1); k = b[1]", "k = ops.cat([h[None], k])",
         "k = c[:t + 1] + d[:t + 1]", "k = c[:t + 1]; d[:t + 1] = k * 0.5 + d[:t + 1]")
_READ = ("w = ops.softmax(k @ h, -1); h = ops.tanh(w @ k + a)",
         "h = ops.tanh(k.sum(0) * 0.2 + h)", "h = k.mean(0) * 0.7 + a",
         "h = ops.amax(k, 0) * 0.5 + h * 0.2", "h = ops.logsumexp(k * 0.5, 0) * 0.3",
         "g = (k * h).sum(-1).mean() * 0.3", "h = k[-1] * 0.5 + a", "h = k[0] + h * 0.5",
         "h = k[len(k) // 2] * 0.7 + a", "g = (k @ k.T).sum() * 0.01", "h = k[1:].sum(0) * 0.2 + a",
         "n = len(k); w = ops.softmax(k @ k.T + m[:n, :n], -1); h = (w @ k)[-1] * 0.6 + a",
         "w = ops.log_softmax(k @ h, 0); h = (w[:, None] * k).sum(0) * 0.1",
         "h = h + k[:, 1].mean() * 0.1", "g = ops.exp(k[:, 0]).sum() / len(k) * 0.2",
         "h = ops.where(k > 0.1, k, k * 0.5).sum(0) * 0.2",
         "h = (k * ops.arange(len(k))[:, None] * 0.01).sum(0) + a",
         "w = ops.ones((len(k),)) / len(k); h = w @ k + a", "h = k[-2:].sum(0) * 0.3",
         "x = (k[None] * ops.ones((2, 1, 1))).reshape(-1, 3) @ v; h = x.mean(0) * 0.5 + a",
         "h = k[k[:, 0].argmax()] * 0.5 + a", "h = ops.log(k * k + 0.1).sum(0) * 0.1",
         "h = ops.cumsum(k, 0)[-1] * 0.2",
         "h = (k / ops.sqrt((k * k).sum(-1, keepdims=True) + 0.1)).sum(0) * 0.2",
         "h = k.flatten()[:3] + a", "h = (k.T @ (k @ v)).sum(0) * 0.1", "g = k.std() * 0.3",
         "g = ops.minimum(k, h).sum() * 0.1; h = h * 0.8", "h = k[:2].sum(0) * 0.3 + h * 0.5",
         "h = (k @ v + a).sum(0) * 0.1", "g = g * 0.5 + ops.cat([k, k * g], 1).sum() * 0.05")


def source(rng: random.Random) -> str:
    """The text of a program."""
    first = rng.choice(["c[:2] * 1", "h[None]", "ops.zeros((0, 3))", "c[0:3] * 0.5"])
    lines = ["def program(a, c, b, v):",
             "    h, g, m, e = a, a[0] * 0.5, c @ c.T - 0.3, ops.stack([a, a * 0.5], 1)",
             f"    k, d, seen, b = {first}, ops.zeros((14, 3)) + 0.2, [a], b * 1"]
    for _ in range(rng.randint(1, 2)):
        lines += _loop(rng)
    return "\n".join([*lines, f"    return h + g, d{rng.choice(['', ', k.sum(0)', ', k, e, b'])}"])


def _loop(rng: random.Random) -> list[str]:
    body = [rng.choice(_GROW) for _ in range(rng.choice([1, 1, 1, 2]))]
    body += [rng.choice(_READ) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.3:
        rng.shuffle(body)
    order = rng.choice(["range(1, 11)", "range(10)", "range(2, 12)", "range(10, 1, -1)",
                        "range(0, 12, 2)", "range(1, 7)"])
    return [f"    for t in {order}:", *["        " + line for line in body]]


def check(seed: int, derive: int = 0, calls: int = 4) -> Compiled:
    """Hold one program compiled against itself eagerly.

    Raises:
        Difference: if they differ.
    """
    text = source(random.Random(seed))
    inner = fn = compile_source(text, f"growing_{seed}", {"ops": ops, "ms": ms})

    def total(*args):
        h, d, *rest = inner(*args)
        return (h * h).sum() + (d * d).mean() + sum((x * 0.3).sum() for x in rest)

    for _ in range(derive):
        fn = ms.grad(total if fn is inner else lambda *args, first=fn: sum(
            (x * x).sum() for x in first(*args)), (0, 1, 3))
    compiled, rng = Compiled(fn), np.random.default_rng(seed)
    for call in range(calls):
        args = [Tensor((rng.standard_normal(shape) * 0.5).astype(np.float32))
                for shape in ((3,), (14, 3), (2, 14, 3), (3, 3))]
        wanted, found = outcome(fn, args), outcome(compiled, args)
        if not same(found, wanted):
            raise Difference(f"program {seed}, call {call}: {found} instead of {wanted}\n{text}")
    return compiled


if __name__ == "__main__":
    sys.exit(bool(main(*[*map(int, sys.argv[1:]), 0, 0][:3], check=check)))
