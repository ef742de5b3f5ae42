"""Random loops that end by a Tensor, compiled against eager.

``python -m tests.graph.random_loops N`` checks N programs. Further numbers: the first program, and
1 to differentiate them. With ``LAMELLA_ENGINE=xla``, what XLA can run is run by it from the second
replay on.

A program is a few statements and loops: `while` and `break`, inside of each other and in turn, with
counters, choices, structures, and now and then what no operation of a graph can be.
"""

from __future__ import annotations

import linecache
import os
import random
import sys
import warnings
from collections.abc import Callable

import numpy as np

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime import stage
from lamella.graph.runtime.compiled import Compiled


class Difference(AssertionError):
    """A program that gives something else when it is compiled."""


def source(rng: random.Random) -> str:
    """The text of a program."""
    lines = ["def program(a):", "    x, y, t = a, a * 0.5, 0 * a.sum()", "    pair = a, a + 1",
             "    n, h, seen = 0, 0.5, []"]
    for _ in range(rng.randint(1, 3)):
        lines += _loop(rng, "    ", 2) if rng.random() < 0.7 else _statement(rng, "    ", 1)
    return "\n".join([*lines, "    return x + y * 0.1 + pair[0] * pair[1], t, n, h, len(seen)"])


def _number(rng: random.Random) -> str:
    return f"{rng.uniform(0.3, 0.9):.2f}"


def _value(rng: random.Random) -> str:
    c, d = _number(rng), _number(rng)
    return rng.choice([f"x * {c} + a * {d}", f"ops.tanh(x * {c}) + y * {d}", f"y * {c} - x * {d}",
                       f"ops.cos(y) * {c}", f"ops.where(x > {c}, x * {d}, y)", f"x * {c} + h",
                       f"ops.sqrt(x * x + {c})", "pair[0] * 0.5 + y * 0.4",
                       f"(x * {c}).mean() + a"])


def _test(rng: random.Random) -> str:
    c = _number(rng)
    return rng.choice([f"x.sum() > {c}", f"ops.abs(y).max() < {c}", f"t < 3 * {c}", "n < 6",
                       f"float(x.max()) > {c}", f"not (y.mean() > {c})", f"bool(t > {c})",
                       f"x.max() > y.max() * {c}", "n % 2 == 0", f"h > {c}"])


def _statement(rng: random.Random, indent: str, depth: int) -> list[str]:
    kind = rng.random()
    if kind < 0.45:
        return [f"{indent}{rng.choice('xy')} = {_value(rng)}"]
    if kind < 0.55:
        return [f"{indent}t = t + {_number(rng)} * ops.abs(x).max()"]
    if kind < 0.63:
        return [f"{indent}pair = pair[1] * {_number(rng)}, x"]
    if kind < 0.7:
        return [f"{indent}n += 1"]
    if kind < 0.75:
        return [f"{indent}h = h * {_number(rng)} + 0.1"]
    if kind < 0.78:
        return [f"{indent}{rng.choice(['seen.append(n)', 'x *= 0.9', 'h = 1', 'y = a * n'])}"]
    if kind < 0.81:
        return _tried(rng, indent)
    if kind < 0.93 or not depth:
        if len(indent) > 16:
            return [f"{indent}y = {_value(rng)}"]
        return [f"{indent}if {_test(rng)}:", *_body(rng, indent + "    ", 0),
                *([f"{indent}else:", *_body(rng, indent + "    ", 0)]
                  if rng.random() < 0.5 else [])]
    return _loop(rng, indent, depth - 1)


def _tried(rng: random.Random, indent: str) -> list[str]:
    """Statements whose errors are caught, some of which depend on values."""
    inner, c = indent + "    ", _number(rng)
    risk = rng.choice([
        f"y = y * {c} + ops.gather(x, (ops.abs(x).max() * 6).int().reshape(1), 0)",
        f"y = y * {c} + ops.cholesky((x.max() - {c}).reshape(1, 1))[0]",
        f"ops.cholesky((y.max() - {c}).reshape(1, 1))", "h = 1 / (n - 2)",
        f"x = guarded(x, n) * {c}", f"if {_test(rng)}:\n{inner}    raise ValueError", "n += 1"])
    caught = rng.choice(["Exception", "(RuntimeError, IndexError, ValueError, ZeroDivisionError)",
                         "Exception as error"])
    return [f"{indent}try:", *(_statement(rng, inner, 0) if rng.random() < 0.5 else []),
            *[inner + line if i == 0 else line for i, line in enumerate(risk.split("\n"))],
            *(_statement(rng, inner, 0) if rng.random() < 0.5 else []),
            f"{indent}except {caught}:", *_statement(rng, inner, 0),
            *([f"{indent}finally:", *_statement(rng, inner, 0)] if rng.random() < 0.2 else [])]


def guarded(x, n):
    """What a program calls that catches what it can't compute."""
    try:
        return x * (1 / (n - 1))
    except Exception:  # noqa: BLE001
        return x * 0.5


def _body(rng: random.Random, indent: str, depth: int) -> list[str]:
    return [line for _ in range(rng.randint(1, 3)) for line in _statement(rng, indent, depth)]


def _loop(rng: random.Random, indent: str, depth: int) -> list[str]:
    inner = indent + "    "
    more = [f"{inner}k = k + 0.3 + 0.1 * ops.abs(x).mean()"]  # so it ends
    limit = f"{rng.uniform(1, 4):.2f}"
    start = [f"{indent}k = 0 * a.sum()"]
    body = _body(rng, inner, depth)
    kind = rng.random()
    also = rng.choice(["", "", f" and {_test(rng)}"])
    if kind < 0.5:
        found = [f"{indent}while k < {limit}{also}:", *more, *body]
    elif kind < 0.7:
        found = [f"{indent}while True:", *more, *body, f"{inner}if k > {limit}:",
                 f"{inner}    break", *_body(rng, inner, 0)]
    elif kind < 0.85:
        found = [f"{indent}for i in range({rng.randint(3, 12)}):", *body,
                 f"{inner}if k > {limit} or {_test(rng)}:", f"{inner}    break", *more]
    else:
        found = [f"{indent}while n < 40{also}:", f"{inner}n += {rng.randint(1, 3)}", *more,
                 *body, f"{inner}if k > {limit}:", f"{inner}    break"]
    # inner loops have a variable of their own
    name = f"k{depth}_{rng.randint(0, 999)}"
    return [line.replace("k ", f"{name} ") for line in [*start, *found]]


def program(seed: int):
    """The function of a number."""
    text = source(random.Random(seed))
    return compile_source(text, f"program_{seed}", {"ops": ops, "guarded": guarded}), text


def compile_source(text: str, name: str, names: dict):
    """The function `program` of a text, whose lines can be found."""
    file = os.path.join(os.path.dirname(__file__), f"{name}.py")
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {**names, "__name__": "program"}
    exec(compile(text, file, "exec"), space)
    return space["program"]


def check(seed: int, derive: bool = False, calls: int = 6) -> Compiled:
    """Hold one program compiled against itself eagerly.

    Raises:
        Difference: if they differ.
    """
    fn, text = program(seed)
    if derive:
        inner = fn
        fn = ms.grad(lambda a: inner(a)[0].sum())
    compiled, rng = Compiled(fn), np.random.default_rng(seed)
    for call in range(calls):
        values = (rng.uniform(0.2, 1, 4) * rng.choice([0.3, 1, 2])).astype(np.float32)
        wanted, found = fn(Tensor(values)), compiled(Tensor(values))
        if not derive:
            same = all(map(_same, found, wanted))
        else:
            same = _same(found, wanted)
        if not same:
            raise Difference(f"program {seed}, call {call}: {found} instead of {wanted}\n{text}")
    return compiled


def _same(found, wanted) -> bool:
    if not isinstance(wanted, Tensor):
        return type(found) is type(wanted) and (
            found == wanted or isinstance(found, float) and bool(np.isclose(found, wanted, 1e-5)))
    # a loop's backward pass adds up in another order, and machine code rounds otherwise
    return bool(np.allclose(found.asnumpy(), wanted.asnumpy(), 2e-4, 1e-5, equal_nan=True))


def check_each(check: Callable[[int], Compiled], seeds: range) -> list[Compiled]:
    """Check programs, print what differs, and return those that don't, compiled."""
    good = []
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                good.append(check(seed))
            except Exception as error:  # noqa: BLE001
                print(f"{seed}: {type(error).__name__}: {error}", flush=True)
    return good


def main(count: int, first: int = 0, derive: int = 0) -> int:
    """Check programs; returns how many differ."""
    good = check_each(lambda seed: check(seed, bool(derive)), range(first, first + count))
    graphs = sum(compiled.statistics.traces for compiled in good)
    replays = sum(compiled.statistics.replays for compiled in good)
    print(f"{count} programs, {count - len(good)} differ; {graphs} graphs, {replays} replays; "
          f"engine {stage.ENGINE}")
    return count - len(good)


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
