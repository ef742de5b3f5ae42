"""What a recording notes of a call: why it runs eagerly, or which guard has failed; its results."""

import functools
import random

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, ops
from lamella.graph.runtime.compiled import Compiled
from lamella.graph.runtime.recording import MOST_GRAPHS

X = Tensor([1.0, 2.0])


class Box:
    def __init__(self, held):
        self.held = held


def of_another_type(wrap):
    weight = Parameter(ops.ones(2), name="w")
    f = wrap(lambda x: x * weight)
    for kind in (ms.float32, ms.float32, ms.float16, ms.float16):
        weight.set_dtype(kind)
        yield f(X)
    yield f


def of_another_shape(wrap):
    weight = Parameter(ops.ones(2), name="w")
    f = wrap(lambda x: x.sum() * weight)
    for shape in ((2,), (2,), (3,), (3,)):
        weight.set_data(ops.ones(shape), slice_shape=True)
        yield f(X)
    yield f


def by_a_draw(wrap):
    f = wrap(lambda x: x * 2 if random.random() < 0.5 else x * 3)
    random.seed(1)
    yield from (f(X) for _ in range(9))
    yield random.random()
    yield f


def by_a_number(wrap):
    f = wrap(lambda x, n: x * n if n > 3 else x + n)
    yield from (f(X, n) for n in (1, 2, 3, 4, 5, 2, 6, 3))
    yield f


def by_memory(wrap):
    def change(a, b):
        a.add_(1)
        return a + b

    f = wrap(change)
    for _ in range(9):
        a = ops.ones(4)
        yield f(a, a[1:2])
        yield a
    yield f


def in_an_object(wrap):
    f = wrap(lambda x: Box(x * 2))
    yield from (ms.grad(lambda x: f(x).held.sum())(X) for _ in range(3))
    yield f


def outside_of_the_result(wrap):
    held = []

    def keep(x):
        held[:] = [x * 2]
        return held[0].sum()

    f = wrap(keep)
    for _ in range(3):
        yield ms.grad(f)(X)
        yield held[0]
    yield f


def with_a_cache(wrap):
    @functools.lru_cache(None)
    def twice(n):
        return n * 2

    f = wrap(lambda x, n: x * twice(n))
    yield from (f(X, n) for n in range(30))
    yield f


def by_its_class(wrap):
    f = wrap(lambda x, n: x * (2 if type(n) is int else 3))
    yield from (f(X, n) for n in (1, 2, 3, 4, 2.5, 5, 5))
    yield f


# program: a part of the reason why calls run eagerly, or of the guard that failed
PROGRAMS = {
    of_another_type: ("", "the shape or type of w: (2,) torch.float32, now (2,) torch.float16"),
    of_another_shape: ("", "the shape or type of w: (2,) torch.float32, now (3,) torch.float32"),
    by_a_draw: ("", "a random number that decides what it computes"),
    by_a_number: ("", "a number that it computes with, or memory that Tensors share"),
    by_memory: ("it changes an argument that shares memory with what it uses", ""),
    in_an_object: ("it returns a differentiated Tensor inside of an object of an unknown class",
                   ""),
    outside_of_the_result: ("it keeps a differentiated Tensor outside of its result", ""),
    with_a_cache: ("it is called with other numbers again and again, and decides by them what to "
                   "compute (CannotTrace: may call a function that caches its results)",
                   "the argument 'n' "),
    by_its_class: ("", "the argument 'n' "),
}


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("program", PROGRAMS)
def test_why_a_call_was_recorded_again_or_runs_eagerly(program):
    eager, again = PROGRAMS[program]
    *wanted, _ = program(lambda fn: fn)
    *found, compiled = program(jit)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        if isinstance(b, Tensor):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)
        else:
            assert a == b
    report = compiled.report()
    assert report["eager"] == ([eager] if eager else [])
    assert any(text.startswith(again) for text in report["recompilations"]) or not again
    assert report["replays"] or eager


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("has_graph", [False, True])
def test_what_runs_eagerly_for_many_kinds_isnt_recorded_for_more(has_graph):
    """Unless there is a graph: then each kind of arguments is tried."""
    compiled = Compiled(lambda x, eagerly: Tensor(x.asnumpy() * 2) if eagerly else x * 2)
    if has_graph:
        compiled(X, False)
    kinds = [ms.float16, ms.float32, ms.float64, ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8,
             ms.bool_]
    shapes = [(1,), (1, 1)]
    for kind in kinds:
        for shape in shapes:
            assert compiled(ops.ones(shape, kind), True).asnumpy().tolist() == (
                np.full(shape, 2.0).tolist())
    assert len(compiled.cache.reasons()) == (18 if has_graph else MOST_GRAPHS)


def test_one_graph_is_asked_for_even_after_many_kinds():
    compiled = Compiled(lambda x: x * 2 if x.asnumpy() is None else Tensor(x.asnumpy()),
                        fullgraph=True)
    for _ in range(MOST_GRAPHS + 2):
        with pytest.raises(RuntimeError, match="can't be one graph"):
            compiled(X)
