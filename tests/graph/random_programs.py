"""Random programs with state, compiled against eager: ``python -m tests.graph.random_programs N``.

A third number that isn't zero differentiates them: ``N FIRST 1``.
With ``LAMELLA_ENGINE=xla`` or ``inductor-forced``, what that compiler can run is run by it from the
second replay on.

A program is a few statements (`random_statements`) that read and change every kind of state:
attributes of objects and Cells, containers, closures, globals, numbers, files, clocks, queues,
threads, views that overlap, rules, hooks, optimizers. It is called in one of several ways
(`random_calls`). Between calls some of the state is changed from outside. Two copies of
the state are made; after every call what the program gave, and all state, has to be the same.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections import Counter

import numpy as np

import lamella as ms
from lamella import Tensor, jit
from lamella.graph.tracing.symbolic import preparation

from . import random_calls
from . import random_statements as grammar
from .random_changes import CHANGES


class Difference(AssertionError):
    """A program that gives something else when it is compiled."""


def check(seed: int, calls: int = 6, inside: bool = False) -> dict:
    """Hold one program compiled against itself eagerly; returns the report of the compiled one.

    Args:
        inside: call it inside of an eager gradient call.

    Raises:
        Difference: if they differ.
    """
    try:
        return _checked(seed, calls, inside)
    finally:
        grammar.SCALE, grammar.Shared.total = 1.0, 0
        grammar.State.kind_factor = 1.0


def _checked(seed: int, calls: int, inside: bool) -> dict:
    rng = random.Random(seed)
    program = [rng.choice(grammar.STATEMENTS) for _ in range(rng.randint(1, 5))]

    def run(s, x):
        for part in program:
            x = part(s, x)
        return x

    way = rng.choice(random_calls.WAYS) if rng.random() < 0.5 else random_calls.whole
    eager, own, parts = grammar.State(), grammar.State(), []

    def compile(fn):
        parts.append(jit(fn, jit_level="O0"))
        return parts[-1]

    call_both = [way(run, eager, lambda fn: fn), way(run, own, compile)]
    if inside:
        call_both = [differentiated(call, state)
                     for call, state in zip(call_both, (eager, own), strict=True)]
    shared = [(1.0, 0), (1.0, 0)]
    for call in range(calls):
        if rng.random() < 0.4:
            changed, value = rng.choice(CHANGES), rng.uniform(-2, 2)
            changed(eager, value)
            changed(own, value)
        x = np.array([rng.uniform(-1, 1) for _ in range(3)], np.float32)
        results = []
        for number, (call_it, state) in enumerate(
                zip(call_both, (eager, own), strict=True)):
            grammar.SCALE, grammar.Shared.total = shared[number]
            ms.set_seed(call)
            try:
                out = call_it(Tensor(x)).asnumpy().tolist()
            except Exception as error:  # noqa: BLE001  (compared)
                out = [type(error).__name__, str(error)]
            results.append((out, state.found()))
            shared[number] = grammar.SCALE, grammar.Shared.total
        if not same(*results):
            raise Difference(f"seed {seed}, call {call}: {way.__name__} of "
                             f"{[p.__name__ for p in program]}\neager    {results[0]}\n"
                             f"compiled {results[1]}\n{[part.report() for part in parts]}")
    return parts[-1].report()


def differentiated(call, state):
    """The function with its gradients, as one Tensor."""
    weights = [state.cell.weight, state.cell.total, state.rules.normed.weight]

    def both(x):
        out, (by_x, by_weights) = ms.value_and_grad(call, 0, weights)(x)
        return ms.ops.cat([t.reshape(-1) for t in (out, by_x, *by_weights)])

    return both


def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * (1 + abs(a))
    if isinstance(a, (list, tuple)):
        return (isinstance(b, (list, tuple)) and len(a) == len(b)
                and all(same(*pair) for pair in zip(a, b, strict=True)))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and a == b


def main(count: int, first: int = 0, inside: int = 0) -> int:
    """Check programs; returns how many differ."""
    wrong, replays, engines = 0, 0, Counter()
    preparation.begin()
    preparation.finished.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + count):
            try:
                report = check(seed, inside=bool(inside))
                replays += report["replays"]
                engines.update(report["backends"])
            except Difference as error:
                wrong += 1
                print(error, flush=True)
    print(f"{count} programs, {replays} replays, {wrong} differences; graphs by what runs them: "
          f"{dict(engines)}")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
