"""Loops of programs that compute with the number of the step."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.xla.lowering.step_numbers import as_before, with_numbers

from .test_rolling import agrees, loops, tensor  # noqa: F401  (a fixture)


def counts(loops):  # noqa: F811
    return [count for made in loops for count, _ in made]


def test_an_equation_in_time_and_its_gradient(loops):  # noqa: F811
    """Euler's steps, with the time as a number."""
    def solved(x, w):
        for t in range(20):
            x = x + 0.1 * (ops.tanh(x @ w) * (1 - 0.05 * t) - x * (0.01 * t))
        return (x * x).sum()

    x, w = tensor(3, 4), tensor(4, 4, seed=1)
    agrees(lambda x, w: ms.value_and_grad(solved, (0, 1))(x, w), x, w)
    assert len(counts(loops)) >= 2 and min(counts(loops)) >= 18


def test_moments_that_are_corrected(loops):  # noqa: F811
    """Adam's steps by hand: 1 - beta ** t."""
    def fn(w, x):
        m = v = ops.zeros_like(w)
        for t in range(1, 13):
            g = ms.grad(lambda w: ((x @ w) ** 2).mean())(w)
            m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
            w = w - 0.1 * (m / (1 - 0.9 ** t)) / (ops.sqrt(v / (1 - 0.99 ** t)) + 1e-6)
        return w

    agrees(fn, tensor(4, 2), tensor(6, 4, seed=1))
    assert max(counts(loops)) >= 10


@pytest.mark.parametrize("kind", [ms.float64, ms.bfloat16, ms.int32], ids=str)
def test_numbers_have_the_types_that_they_had(loops, kind):  # noqa: F811
    def fn(x):
        y = x
        for t in range(16):
            y = (y + t) * 1 - x * (t + 1)
            y = ops.where(y > t - 8, y - 2 * t, y + t)
        return y

    x = Tensor(np.arange(-6, 6)).astype(kind)
    agrees(lambda x: fn(x).astype(ms.float64), x)
    assert max(counts(loops)) >= 14


def test_a_scalar_keeps_its_type(loops):  # noqa: F811
    """Of rank 0, where a number's type would count as much as a tensor's."""
    def fn(x):
        for t in range(16):
            x = ops.sin(x * (1.0 + t)) + x / (t + 2) - t
        return x

    agrees(fn, Tensor(np.float32(0.3)))
    assert max(counts(loops)) >= 14


def test_loops_in_loops(loops):  # noqa: F811
    def fn(x):
        for t in range(6):
            y = x
            for s in range(8):
                y = ops.tanh(y + 0.1 * s) * 0.5 - ops.sin(y - 0.3 * t) * 0.2
            x = ops.exp(y * 0.1) * 0.5 + x * (0.2 + t)
        return x

    agrees(fn, tensor(3, 4))
    assert any(inner for made in loops for _, inner in made)


def test_numbers_outside_of_loops_are_as_they_were():
    steps = [{"op": "add.Tensor", "to": 1, "args": [{"n": 0}, 0.0, 1], "aval": [[3], "float32"]},
             {"op": "add.Tensor", "to": 2, "args": [{"n": 1}, -0.0, 1], "aval": [[3], "float32"]},
             {"op": "mul.Tensor", "to": 3, "args": [{"n": 2}, True], "aval": [[3], "float32"]},
             {"op": "mul.Tensor", "to": 4, "args": [{"n": 3}, float("inf")],
              "aval": [[3], "float32"]}]
    found = with_numbers(steps, [[[3], "float32"]])
    assert [step["op"] for step in found[:2]] == ["number"] * 2 and len(found) == 6
    assert [repr(as_before(step["args"])) for step in found[2:]] == [
        repr(step["args"]) for step in steps]
