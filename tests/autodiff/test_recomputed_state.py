"""Recomputation: random numbers and assignments in a block are the same as without it."""

import functools

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops
from lamella.tensors.random import kept

X = np.random.default_rng(5).standard_normal((4, 8))


def assert_same(got, want, rtol=1e-9):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.asnumpy(), w.asnumpy(), rtol=rtol, atol=1e-12)


DROP = ops.Dropout(0.5, 3, 1)
STREAMS = {
    "default": lambda x: ops.dropout(x, 0.5),
    "seeded": lambda x: ops.dropout(x, 0.5, seed=3),
    "a stream of its own": lambda x: DROP(x)[0],
    "normal": lambda x: x * ops.standard_normal(x.shape, seed=4),
    "two": lambda x: ops.dropout(x, 0.5) * ops.rand_like(x),
    "NumPy's": lambda x: x * np.random.rand(),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("nested", [False, True])
def test_every_stream_is_drawn_from_as_it_was(name, nested):
    draw, x, starts = STREAMS[name], Tensor(X), kept()

    def block(x, call):
        return ops.sin(draw(x * 1.5))

    def f(x, call):
        inner = functools.partial(call, block) if nested else block
        return call(lambda x: ops.sin(draw(inner(x, call))), x).sum() + draw(x).sum()

    found = []
    for call in (lambda function, *args: function(*args), ms.recompute):
        starts()
        slope = ms.value_and_grad(functools.partial(f, call=call))
        found.append([t for _ in range(2) for t in slope(x)] + [ops.rand(2)])
        if name != "NumPy's":
            starts()
            compiled = ms.jit(slope, fullgraph=True)
            found.append([t for _ in range(2) for t in compiled(x)] + [ops.rand(2)])
    for other in found[1:]:
        assert_same(other, found[0])


def changed_by(kind, count, weight):
    if kind == "assign_add":
        ops.assign_add(count, Tensor(1.0, ms.float64))
    elif kind == "add_":
        count.add_(1)
    elif kind == "set_data":
        count.set_data(count * 2)
    else:
        weight.set_data(weight * 1.5)


@pytest.mark.filterwarnings("ignore:.*through the assignment")  # as is said
@pytest.mark.parametrize("kind", ["assign_add", "add_", "set_data", "weight"])
@pytest.mark.parametrize("mode", [lambda f: f, lambda f: ms.jit(f, fullgraph=True)])
def test_functions_assign_once_too(kind, mode):
    x, found = Tensor(X), []
    for call in (lambda function, *args: function(*args), ms.recompute):
        count = Parameter(Tensor(1.0, ms.float64), name="count", requires_grad=False)
        weight = Parameter(Tensor(X[0]), name="weight")

        def block(x, count=count, weight=weight):
            changed_by(kind, count, weight)
            return ops.sin(x * weight) * count

        def f(x, call=call, block=block, count=count):
            y = call(lambda x: block(call(block, x)) * count, x)
            ops.assign(count, count * 5)  # the second run sees none of it
            return (y * count).sum()

        step = mode(ms.value_and_grad(f, 0, weight))
        for _ in range(2):
            value, (by_input, by_weight) = step(x)
            found.append((value, by_input, by_weight, count.value(), weight.value()))
    assert_same(found[2], found[0])
    assert_same(found[3], found[1])
