"""Numbers, flags and texts that the steps of a loop change, in compiled functions."""

import types

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.graph.runtime.compiled import Compiled
from tests.graph.random_loops import compile_source

from .program_loops import check, finds_loops, flat, values


def by_a_flag(a):
    x, flag, count = a, True, 2
    while flag and count:
        x = x * 0.7
        if x.max() < 0.1:
            break
    return x, flag


def by_a_second_test(a):
    x, y = a, a * 0
    while y.max() < 1.5:
        x = x * 0.7
        if x.max() < 0.1:
            break
        y = y + x * 0.9
    return x, y


def with_an_equal_text(a):
    x, label, none = a, "name", None
    while x.max() > 0.1:
        label = ("a" + label)[1:]
        x, none = x * 0.7, None
    return x, label, none


def by_operators(a):
    x, n, h = a, 1, 0.5
    while x.max() > 0.1:
        n = 3 - (n - 2) + abs(-n) - n
        h = (1 - h) * 0.5 + h / 4 - 0.125 * n * h + abs(h - 2) * 0.1
        x = (x * 0.9 + 0 * (h - x)) / (1 + abs(h) * 0)
    return x, n, h


def by_sums(a):
    x, n, total, m = a, 0, 2**53 - 1, 3
    while x.max() > 0.1 and n + m < 1000:
        for _ in range(5):
            if x.max() < 0.2:
                break
            x, n = x * 0.9, n + m
        total, m = total - n - m, m + int((x > 0.5).int().sum())
        x = x * 0.9
    return x, n, total, m


def by_comparisons(a):
    x, n, h = a, 0, 3.0
    while x.max() > 0.1:
        n = n + 1 if n < h else n - 2
        h = h - 0.5 if n <= 1 else h + 0.25
        x = x * 0.9 if n != 2 and not h > 4 else x * 0.85
        x = x * 0.97 if n == 1 or 2 >= n else x
    return x, n, h


def by_truth(a):
    x, n, h = a, 3, 0.5
    while x.max() > 0.1:
        n = n - 1 if n else 3
        h = h - 0.25 if h else 1.0
        x = x * (0.9 if n else 0.8)
        x = x * (0.95 if not h else 0.97)
    return x, n, h


def by_numbers_of_tensors(a):
    x, n, h, last = a, 0, 1.0, 0
    while x.max() > 0.1:
        h = float(x.sum())
        n = n + int((x > 0.5).int().sum())
        last = (x > 0.3).int().sum().item()
        big = bool(x.max() > 0.6)
        x = x * (0.9 if big else 0.85) * ops.where(x > h, 0.5, 1.0)
    return x, n, h, last


@finds_loops
@pytest.mark.parametrize("fn, recordings", [
    (by_a_flag, 3), (by_a_second_test, 3), (with_an_equal_text, 3),
    (by_operators, 4), (by_sums, 4), (by_comparisons, 4),
    (by_truth, 4), (by_numbers_of_tensors, 4)], ids=lambda fn: getattr(fn, "__name__", None))
def test_loops_that_are_operations(fn, recordings):
    check(fn, recordings)


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("statement, is_one", [
    ("n = n + (2**31 - 1)", True), ("n = n - 2**31", False), ("n = 2**31 - n", False),
    ("n = n * 2", False), ("h = n * 2.5", True), ("h = n / 4", True), ("h = h / (h + 1)", False),
    ("h = 1 / h", False), ("h = h * (2**53 - 1) - h", True), ("h = 0 * h + 2**53", False),
    ("h = n + 2.0**60", True)])
def test_numbers_that_are_computed_exactly(statement, is_one):
    text = ("def program(a):\n    x, n, h = a, 1, 0.5\n    while x.max() > 0.4:\n"
            "        x = x * 0.8\n"
            f"        {statement}\n    return x, n, h\n")
    fn = compile_source(text, f"numbers_{abs(hash(text))}", {})
    compiled = Compiled(fn)
    for call in range(5):  # each has another length
        found, wanted = flat(compiled(values(call))), flat(fn(values(call)))
        assert found[1:] == wanted[1:] and list(map(type, found)) == list(map(type, wanted))
        assert (found[0] == wanted[0]).all()
    assert compiled.statistics.traces <= 4 if is_one else compiled.statistics.traces == 5


@finds_loops
@pytest.mark.parametrize("statements", [
    "n = n + n", "n, m = m, n + m + m", "n = 2**30 - (m + m); m = m - n - n",
    "for _ in range(2):\n            if x.max() < -1:\n                break\n"
    "            n = n + n",
    "n = n - (0 - n) if x.max() > 0.1 else n"], ids=range(5))
def test_whole_numbers_may_outgrow_a_tensor(statements):
    """Python's have no end, those of a graph have 64 bits."""
    text = ("def program(a):\n    x, n, m = a, 1, 1\n    while x.max() > 0.1:\n"
            f"        x = x * 0.8\n        {statements}\n    return x, n, m\n")
    fn = compile_source(text, f"outgrow_{abs(hash(text))}", {})
    compiled = Compiled(fn)
    for first in (0.11, 0.2, 0.15, 0.3, 2e5, 0.17):
        a = Tensor([first, 0.05], ms.float32)
        found, wanted = flat(compiled(a)), flat(fn(a))
        assert found[1:] == wanted[1:] and (found[0] == wanted[0]).all()
    assert compiled.statistics.replays > 0


@finds_loops
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("use", [
    "h * x + (h - x)", "x * h + (x - h)", "h / x + (x + h)", "x / h - (h + x)", "x * (h < x)",
    "x * (x.sum() * h)"])
def test_a_number_beside_a_tensor_is_rounded_as_pythons(use, dtype):
    text = ("def program(a):\n    x, h = a, 1.0\n    while x.max() > 0.1:\n"
            "        x, h = x * 0.7, h * 0.9137\n"
            f"        x = ({use}) * 0.1 + x * 0.5\n"
            "        if h < 0.2:\n            break\n    return x, h\n")
    fn = compile_source(text, f"beside_{abs(hash(text))}", {})
    compiled = Compiled(fn)
    for call in range(5):
        a = values(call, 40).astype(getattr(ms, dtype))
        found, wanted = flat(compiled(a)), flat(fn(a))
        assert (found[0] == wanted[0]).all() and found[1] == wanted[1]
    assert compiled.statistics.traces <= 4 or "sum" in use


YES, ONE = True, 1.0


def is_float(value):
    return isinstance(value, float)


def its_class(value):
    return value.__class__


def matches_float(value):
    match value:
        case float():
            return True
    return False


@finds_loops
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("test, is_one", [
    ("big is True", False), ("not big is not True", False), ("big is YES", False),
    ("YES is big", False), ("self.yes is big", False), ("isinstance(h, float)", False),
    ("is_float(h)", False), ("its_class(h) is float", False), ("type(n) == int", False),
    ("issubclass(type(n), int)", False), ("h.imag", False), ("n.numerator == n", False),
    ("matches_float(h)", False), ("np.isscalar(h)", False), ("np.array(h).dtype == float", False),
    ("h in (0.5, ONE)", False),
    ("h is None", True), ("None is not n", True), ("big == YES or n == 3", False),
    ("big or n == 3 or h > ONE", True), ("n == h or h == ONE", True)])
def test_what_tells_a_number_from_a_tensor(test, is_one):
    text = ("def program(a):\n    x, y, n, h = a, a * 0, 1, 0.25\n    while x.max() > 0.4:\n"
            "        big = bool(x.max() > 0.6)\n"
            "        x, n, h = x * 0.8, n + 1, h + 0.25\n"
            f"        if {test}:\n            y = y + x\n    return x, y, n, h\n")
    fn = compile_source(text, f"tells_{abs(hash(text))}", {
        "YES": YES, "ONE": ONE, "is_float": is_float, "its_class": its_class,
        "matches_float": matches_float, "np": np, "self": types.SimpleNamespace(yes=True)})
    compiled = Compiled(fn)
    for call in range(5):
        found, wanted = flat(compiled(values(call))), flat(fn(values(call)))
        assert found[2:] == wanted[2:]
        np.testing.assert_array_equal(found[:2], wanted[:2])
    assert compiled.statistics.traces <= 4 if is_one else compiled.statistics.traces == 5
