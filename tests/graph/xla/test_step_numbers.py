"""Loops of programs that compute with the number of the step."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.xla.lowering.boxes import ADD, FILL, PLACE, PUT, TAKE
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


@pytest.mark.parametrize("kind", [ms.bfloat16, ms.float16], ids=str)
def test_a_narrow_scalar_is_compared_with_numbers_that_are_as_narrow(loops, kind):  # noqa: F811
    def fn(x):
        y = x
        for t in range(16):
            y = ops.where(x <= 0.1 * t, y * 0.5 + 0.25, y - 0.125)
            y = ops.where(x >= 0.1 * t, y + 0.5, y * 0.25)
            y = ops.where(x == 0.1 * t, y + 1, y)
        return y.astype(ms.float32)

    for number in (0.1, 0.3, 0.7):
        agrees(fn, Tensor(number).astype(kind))
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


X = {"n": 0}
F32, I32, I64 = [[3], "float32"], [[3], "int32"], [[3], "int64"]


@pytest.mark.parametrize("aval, number, kind", [
    (F32, 0.5, "float32"), (F32, 2, "float32"), (F32, 2**40, "float32"), ([[], "float32"], 0.5,
                                                                         "float32"),
    ([[3], "bfloat16"], 0.5, "float32"), ([[3], "float16"], 0.5, "float32"),
    ([[3], "float64"], 0.5, "float64"), (I32, 2, "int32"), (I64, -2, "int64"),
    (I64, 2**31 - 1, "int64"), (I64, 1 - 2**31, "int64"), (I64, 2**31, None), (I64, -2**31, None),
    (I32, 0.5, None), (F32, True, None), (F32, float("inf"), None), (F32, float("nan"), None),
    (F32, "floor", None), (F32, {"n": 1}, None), (F32, {"complex": [1, 2]}, None),
    ([[3], "uint8"], 2, None), ([[3], "bool"], 2, None), ([[3], "complex64"], 0.5, None),
    ([F32, F32], 0.5, None), (None, 0.5, None)], ids=str)
def test_which_numbers_are_values_and_of_which_type(aval, number, kind):
    for op in ("add.Tensor", "sub.Scalar", "rsub.Scalar", "mul.Tensor", "div.Scalar", "lt.Scalar",
               "ge.Scalar", "ne.Scalar"):
        step = {"op": op, "to": 7, "args": [X, number, 1], "aval": F32}
        if op in ("lt.Scalar", "ge.Scalar", "ne.Scalar") and kind is not None:
            kind = aval[1]  # comparisons are in the type itself
        *holders, found = with_numbers([step], [aval])
        assert holders == ([] if kind is None else [
            {"op": "number", "to": 8, "args": [], "number": number, "aval": [[], kind]}])
        assert found["to"] == 7 and repr(as_before(found["args"])) == repr(step["args"])
        assert kind is None or found["args"] == [
            X, {"n": 8, "number": number, "kind": kind}, 1]  # not what it is multiplied with


@pytest.mark.parametrize("op, args", [
    ("add.Tensor", [2.0, X, 1]), ("add.Tensor", [{"complex": [1, 2]}, 0.5, 1]),
    ("pow.Tensor_Scalar", [X, 2.0]), ("remainder.Scalar", [X, 2.0])])
def test_other_numbers_stay(op, args):
    steps = [{"op": op, "to": 1, "args": args, "aval": F32}]
    assert with_numbers(steps, [F32]) == steps


@pytest.mark.parametrize("op, args, place", [
    (TAKE, [X, [2, 3], [1, 1]], 1), (PUT, [X, X, [2, 3], [1, 1]], 2), (PLACE, [X, [2, 3], [1, 1]],
                                                                      1),
    (ADD, [X, X, [2, 3], [1, 1]], 2), (FILL, [X, [2], 1, 0.5, 1, 8], 1)])
def test_places_of_boxes_are_values(op, args, place):
    steps = [{"op": op, "to": 1, "args": args, "aval": F32}]
    *holders, found = with_numbers(steps, [F32])
    assert [holder["number"] for holder in holders] == args[place]
    assert all(holder["aval"] == [[], "int32"] for holder in holders)
    assert [start["n"] for start in found["args"][place]] == [*range(2, 2 + len(args[place]))]
    assert as_before(found["args"]) == args
    assert [a for i, a in enumerate(found["args"]) if i != place] == [
        a for i, a in enumerate(args) if i != place]


def test_places_that_are_values_or_too_large_stay():
    starts = [2**31, {"n": 0}, 2**31 - 1]
    steps = [{"op": TAKE, "to": 1, "args": [X, starts, [1, 1, 1]], "aval": F32}]
    holder, found = with_numbers(steps, [F32])
    assert holder["number"] == 2**31 - 1
    assert found["args"][1][:2] == starts[:2] and found["args"][1][2]["n"] == 2


def test_equal_numbers_are_one_value_in_each_type():
    def step(to, number, source):
        return {"op": "mul.Tensor", "to": to, "args": [{"n": source}, number], "aval": F32}

    steps = [step(2, 2, 0), step(3, 2, 0), step(4, 2.0, 0), step(5, 2, 1), step(6, 0.0, 0),
             step(7, -0.0, 0)]
    found = with_numbers(steps, [F32, I64])
    assert [(s["aval"][1], repr(s["number"])) for s in found[:-6]] == [
        ("float32", "2"), ("float32", "2.0"), ("int64", "2"), ("float32", "0.0"),
        ("float32", "-0.0")]
    assert [s["args"][1]["n"] for s in found[-6:]] == [8, 8, 9, 10, 11, 12]
