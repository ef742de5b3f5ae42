"""Random loops that write at places that move on, compiled against eager.

``python -m tests.graph.random_tables N`` checks N programs. Further numbers: the first program, and
how often to differentiate them. With ``LAMELLA_ENGINE=xla``, what XLA can run is run by it from the
second replay on, and the last line says how many loops it had.

A program fills tables in loops of a known number of steps: rows, columns, slices that overlap,
elements, in any order, of Parameters, too. It reads what it wrote, what it is going to overwrite
and views from before; now and then an index is out of range.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import numpy as np

import lamella as ms
from lamella import Parameter, Tensor, ops
from lamella.graph.runtime import stage
from lamella.graph.runtime.compiled import Compiled

from .random_loops import Difference, check_each, compile_source

STEPS, WIDTH = 10, 3


def source(rng: random.Random) -> str:
    """The text of a program."""
    d = rng.choice(["ops.zeros((14, 3))", "c * 1", "c.copy()", "c + a"])
    e = rng.choice(["ops.zeros((3, 14))", "c.T * 1", "c.T.copy()", "c.T"])
    r = rng.choice(["ops.zeros((13, 13)) + 0.5", "c @ c.T * 0.3", "ops.ones((14, 14))"])
    lines = ["def program(a, c, p):", "    h, g, n = a, a[0] * 0.5, ops.zeros((14,), ms.int64)",
             f"    d, e, r = {d}, {e}, {r}", "    old, seen = d[2], []"]
    for _ in range(rng.randint(1, 3)):
        lines += _loop(rng)
    return "\n".join([*lines, "    return h + g, d, e.sum(0), r.mean(0), old + 0, n, sum(seen, g)"])


def _number(rng: random.Random) -> str:
    return f"{rng.uniform(0.2, 0.8):.2f}"


def _row(rng: random.Random) -> str:
    """An expression of three elements."""
    c, o = _number(rng), rng.randint(-1, 1)
    return rng.choice([
        f"ops.tanh(h * {c} + d[t + {o}])", f"d[t + {o}] * {c} + d[t] * 0.3", "h", "h * g",
        f"c[t + {o}] * {c} + h", f"e[:, t + {o}] * {c} + h", "p[t] * 0.5 + a", f"old * {c} + a",
        "d.sum(0) * 0.02 + h * 0.3", "(e * h.reshape(3, 1)).mean(1)", f"ops.sin(d[t - 1] + {c})",
        "h + 0.1 * t", "d[t:t + 2].sum(0) * 0.2", "d[t - 14] * 0.5", "p[t + 1] * h + d[3]",
        "r[t, t:t + 3] * 0.5", "r[1:4, t] + h * 0.2", "a", "d[2 * t % 5] + a",
        "ops.where(h > d[t], h, d[t] * 0.5)"])


def _element(rng: random.Random) -> str:
    c = _number(rng)
    return rng.choice(["h[1]", f"d[t, 1] * {c}", f"g * {c} + e[0, t]", f"c[t][2] * {c} + g * 0.3",
                       f"ops.cos(r[t, t - 1]) * {c}", "h.max()", "h.sum() * 0.1", "g"])


def _statement(rng: random.Random) -> list[str]:
    o, kind = rng.randint(-1, 2), rng.random()
    row, element = _row(rng), _element(rng)
    if kind < 0.2:
        return [f"h = {row}"]
    if kind < 0.27:
        return [f"g = {element}"]
    if kind < 0.3:
        return [f"old = {rng.choice(['d[t]', 'd[t:t + 1][0]', 'e[:, t]', 'd[t + 1] * 1', 'd[1]'])}"]
    if kind < 0.33:
        return [rng.choice(["seen.append(d[t].sum())", "seen.append(d[t, 0])", "seen.append(g)"])]
    if kind < 0.36:
        return [rng.choice(["n[t] = h.argmax()", "n[t] = n[t - 1] + 1", "n[t + 1] += n[t]"])]
    if kind < 0.37:
        return [f"d[t + {rng.randint(3, 6)}] = h"]  # out of range, or not
    if kind < 0.42:
        return [f"row = d[t + {rng.randint(0, 1)}]", f"row[{rng.randint(0, 2)}] = {element}",
                *(["h = h * 0.5 + row"] if rng.random() < 0.5 else [])]
    if kind < 0.5:
        return [rng.choice([f"p[t] = {row}", f"p[t, 1] = {element}", "p[t] = p[t] * 0.9",
                            f"p[t + 1] += {row}"])]
    return [rng.choice([
        f"d[t + {o}] = {row}", f"e[:, t + {o}] = {row}", f"d[t] = {row}", f"d[t] = {row}",
        f"d[t] += {row}", "d[t] *= 0.7", f"d[t, {rng.randint(0, 2)}] = {element}",
        f"d[t][{rng.randint(0, 2)}] = {element}", f"e[{rng.randint(0, 2)}, t + 1] = {element}",
        f"r[t, t + {o}] = {element}", f"r[t, 2:5] = {row}", f"r[t - 1, t:t + 3] = {row}",
        f"d[t:t + 2] = ops.stack([h, {row}])", f"d[t:t + 4:2] = {row}", f"d[:, 1] = {element}",
        f"d[-t - 1] = {row}", f"e[:, t:t + 1] = ({row}).reshape(3, 1)", f"r[:3, t] = {row}",
        f"d[t - 14] = {row}", f"d[t] = {element}", f"d[2 * t % 7] = {row}",
        f"r[t:t + 2, t:t + 2] = {element}", "d[0] = h", "d[t] = d[t + 1]",
        "d[t:t + 2] = d[t - 1:t + 1]"])]


def _loop(rng: random.Random) -> list[str]:
    order = rng.choice(["range(1, 11)", "range(10, 0, -1)", "range(2, 11)", "range(1, 11, 2)",
                        "range(9, 1, -1)", "[3, 1, 4, 1, 5, 9, 2, 6, 5]", "range(1, 9)"])
    body = [line for _ in range(rng.randint(1, 4)) for line in _statement(rng)]
    if rng.random() < 0.25:
        inner = rng.choice(["range(1, 7)", "range(6, 0, -1)", "range(1, 5)"])
        body += [f"for j in {inner}:"] + ["    " + line for line in rng.choice([
            ["r[t, j] = ops.minimum(r[t - 1, j], r[t, j - 1]) * 0.9 + c[t, j % 3] * 0.2"],
            ["g = ops.logsumexp(ops.stack([r[t, j], r[t, j + 1], g]), 0) * 0.4",
             "r[t + 1, j + 1] = g"],
            ["h = ops.tanh(h + c[j] * 0.3)", "d[j] = h * 0.5 + d[t] * 0.2"],
            ["r[t + 1, j + 1] = r[t, j] * 0.5 + g", "g = g * 0.9 + r[j, t] * 0.1"]])]
    return [f"    for t in {order}:", *["        " + line for line in body]]


def check(seed: int, derive: int = 0, calls: int = 4) -> Compiled:
    """Hold one program compiled against itself eagerly.

    Raises:
        Difference: if they differ.
    """
    text = source(random.Random(seed))
    fn = compile_source(text, f"table_{seed}", {"ops": ops, "ms": ms})
    inner, rng = fn, np.random.default_rng(seed)

    def total(a, c, p):
        h, d, e, *rest = inner(a, c, p)
        return (h * h).sum() + (d * d).mean() + e.sum() * 0.1 + sum(
            (x * 0.3).sum() for x in rest if x.is_floating_point())

    if derive:
        fn = ms.grad(total, (0, 1))
    if derive > 1:
        first = fn
        fn = ms.grad(lambda *args: sum((x * x).sum() for x in first(*args)), (0, 1))
    compiled = Compiled(fn)
    start = (rng.standard_normal((14, 3)) * 0.3).astype(np.float32)
    weights = [Parameter(Tensor(start), name="p") for _ in range(2)]
    for call in range(calls):
        values = [(rng.standard_normal(shape) * 0.5).astype(np.float32)
                  for shape in ((WIDTH,), (14, WIDTH))]
        wanted, found = [outcome(f, [*map(Tensor, values), weight])
                         for f, weight in zip((fn, compiled), weights, strict=True)]
        if not same(found, wanted) or not same(*[w.asnumpy() for w in weights]):
            raise Difference(f"program {seed}, call {call}: {found} instead of {wanted}\n{text}")
    return compiled


def outcome(fn, args):
    """The arrays that a function returns, or the name of its error."""
    try:
        return [x.asnumpy() for x in fn(*args)]
    except (IndexError, ValueError, RuntimeError) as error:
        return type(error).__name__


def same(found, wanted) -> bool:
    """Whether outcomes are the same: by XLA up to rounding."""
    if isinstance(wanted, list) and isinstance(found, list):
        return all(map(same, found, wanted))
    if isinstance(wanted, str) or isinstance(found, str):
        return isinstance(wanted, str) and isinstance(found, str) and found == wanted
    if stage.ENGINE != "xla":
        return bool(np.array_equal(found, wanted, equal_nan=True))
    return bool(np.allclose(found, wanted, 5e-4, 1e-5, equal_nan=True))


def main(count: int, first: int = 0, derive: int = 0, *,
         check: Callable[..., Compiled] = check) -> int:
    """Check programs; returns how many differ.

    Args:
        check: compares one program, given its number and how often to differentiate it.
    """
    from lamella.graph.xla.lowering import graph
    from lamella.graph.xla.lowering.rolling import Rolled

    loops, rolled = [], graph.rolled

    def counted(*args):
        made = rolled(*args)
        loops.extend(step.count for step in made if isinstance(step, Rolled))
        return made

    graph.rolled = counted
    good = check_each(lambda seed: check(seed, derive), range(first, first + count))
    replays = [compiled.statistics.replays for compiled in good]
    print(f"{count} programs, {count - len(good)} differ; {sum(replays)} replays, "
          f"{replays.count(0)} eager, {len(loops)} loops with {sum(loops)} steps; "
          f"engine {stage.ENGINE}")
    return count - len(good)


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
