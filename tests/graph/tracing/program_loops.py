"""Holds loops of the program's, compiled, against themselves."""

import sys

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime.compiled import Compiled
from tests.graph.random_loops import compile_source

CALLS = 10
finds_loops = pytest.mark.skipif(sys.version_info < (3, 11),
                                 reason="Python 3.10 doesn't say where in a line it is")


def values(call, size=4):
    """An argument: loops of different calls have different lengths."""
    return Tensor(np.linspace(0.5, 1, size).astype(np.float32) * 1.7 ** (call % 5))


def flat(value):
    parts = value if isinstance(value, (tuple, list)) else [value]
    return [p.asnumpy() if isinstance(p, Tensor) else p for p in parts]


def program_of(space, body, start="", end="", head="while x.max() > 0.1:", n=0):
    """A program with a loop of these statements, which name what is in `space`."""
    def lines(text, indent):
        return "".join(f"{indent}{line}\n" for line in text.splitlines())

    text = (f"def program(a):\n    x, n, h = a, {n}, 0.5\n" + lines(start, "    ")
            + f"    {head}\n" + lines(body, "        ") + lines(end, "    ")
            + "    return x, n, h\n")
    return compile_source(text, f"loop_{abs(hash(text))}", space)


def check(fn, recordings, derive=False, make=values):
    """Hold a function against itself compiled; it may be recorded so many times."""
    if derive:
        def total(*args):
            found = fn(*args)
            return ops.sum(found[0] if isinstance(found, tuple) else found)

        wanted, compiled = ms.grad(total), Compiled(ms.grad(total))
    else:
        wanted, compiled = fn, Compiled(fn)
    lengths = set()
    for call in range(CALLS):
        for a, b in zip(flat(compiled(make(call))), flat(wanted(make(call))), strict=True):
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)
            lengths.add(np.asarray(b).tobytes())
    assert len(lengths) > 1
    assert compiled.statistics.traces <= recordings, compiled.recompilations.noted
    if recordings < 8:
        assert compiled.statistics.replays >= CALLS - recordings
    return compiled
