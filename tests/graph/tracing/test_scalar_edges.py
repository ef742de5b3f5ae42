"""Stand-ins for numbers at the edges: what Python does with one is what it does with the number."""

import collections
import copy
import math

import numpy as np
import pytest

from lamella import Tensor, jit
from lamella.graph.tracing.scalars import LONGEST, SymbolicScalar, alike, checks_classes, without

X = Tensor([1.0, -2.0, 3.0])


@pytest.mark.parametrize("tried, real, are", [
    (1, 1, True), (1, 1.0, False), ("a", "b", True), ([1, X], [2, X * 1], True), ([X], (X,), False),
    ([X], [X, X], False), (X, X + 1e-3, False), (X, X * (1 + 1e-6), True), (X, X + 1e-7, True),
    (Tensor([0.0]), Tensor([1e-5]), False), (X, X[:2], False), (X, X.int(), False),
    (X / 0, X / 0, True),
    ((X, (X,)), (X, (X + 1,)), False), ({"a": X}, {"a": X}, True), ({"a": X}, {"b": X}, False),
    ({"a": X, "b": X}, {"b": X, "a": X}, False), ({"a": X}, {"a": X + 1}, False),
    (SymbolicScalar(None, 2.5, "n0"), 2.5, True), (SymbolicScalar(None, 2, "n0"), 2.0, False),
    (SymbolicScalar(None, 2.0, "n0"), 2.5, False), (SymbolicScalar(None, 0.0, "n0"), -0.0, False),
    (Tensor([0.0]), Tensor([math.nan]), False)], ids=range(23))
def test_results_of_a_dry_run_that_are_alike(tried, real, are):
    assert alike(tried, real) is are


NESTED = collections.namedtuple("NESTED", "left right")


def test_structures_without_stand_ins():
    class Environment:
        def condition(self, text):
            pass

    def of(make, *numbers):
        return without(make(*[SymbolicScalar(Environment(), n, "n") for n in numbers]))

    assert of(lambda n: [n, (n, {n})], 3) == [3, (3, {3})]
    assert of(lambda n: slice(n, None, n), 2) == slice(2, None, 2)
    found = of(lambda n: collections.OrderedDict(a=NESTED(n, frozenset([n]))), 4)
    assert found == {"a": NESTED(4, {4})} and type(found) is collections.OrderedDict
    assert type(found["a"]) is NESTED and type(found["a"].right) is frozenset
    assert of(lambda n: {n: n, "b": n}, 5) == {5: 5, "b": 5}
    assert type(of(lambda n: {n: 1}, 1)) is dict


@pytest.mark.parametrize("codes, do", [
    ([lambda x: type(x)], True), ([lambda x: x.__class__], True), ([lambda x: x, len], None),
    ([lambda x: x + 1, lambda x: isinstance(x, int)], False), ([], False)])
def test_code_that_may_notice_a_stand_in(codes, do):
    assert checks_classes([code.__code__ for code in codes if code is not len]) is bool(do)


EDGES = {
    "a power of the negative zero": (lambda n: (-0.0) ** n, (3, 2, 1, 0, 4)),
    "a power of a negative number": (lambda n: (-2) ** n, (3, 2, 1, 0, 4)),
    "minus a number": (lambda n: n - -2 - -0.5, (1.0, 2.0, 3.0, 4.0, 5.0)),
    "a number of NumPy": (lambda n: np.float32(0.1) * n, (1.0, 2.0, 3.0, 4.0, 5.0)),
    "a root that may be complex": (lambda n: n ** 0.5, (4.0, 9.0, -4.0, 16.0, 2.0)),
    "a power that may be a fraction": (lambda n: 2 ** n, (1, 2, -1, 3, -2)),
    "a rounding": (lambda n: (round(n), round(n, 1), round(n, None)), (0.25, 1.35, 2.5, 3.5, 4.45)),
    "whole parts": (lambda n: (math.floor(n), math.ceil(n), math.trunc(n), int(n)),
                    (-1.5, 1.5, 2.5, -0.0, 3.0)),
    "signs": (lambda n: (-n, +n, abs(n)), (1.5, -2.0, 0.0, -0.0, 3.0)),
    "divisions": (lambda n: (n // 3, n % 3, divmod(n, 3), 7 // n, -7 % n), (2, 5, -4, 7, 1)),
    "bits": (lambda n: (n & 6, n | 1, n ^ 3, ~n, n << 2, n >> 1, 1 << n), (1, 2, 3, 4, 5)),
    "texts": (lambda n: (str(n), repr(n), f"{n:.2f}"), (1.5, 2.5, 3.5, 4.5, 5.5)),
    "tests": (lambda n: (math.isnan(n), math.isinf(n), math.isfinite(n), bool(n)),
              (1.5, math.nan, math.inf, 0.0, 2.0)),
    "attributes": (lambda n: (n.real, n.is_integer(), hasattr(n, "nothing")), (1.5, 2.0, 3.0, 4.0)),
    "of NumPy's": (lambda n: (n.item(), n.dtype.name, float(n)), tuple(np.float32([1, 2, 3, 4]))),
    "functions of NumPy": (lambda n: (float(np.sqrt(n)), float(np.maximum(n, 2.5)), bool(np.isnan(
        n)), float(np.add.reduce([n, n])), np.float32(2) > n), (1.0, 2.0, 3.0, 4.0, 5.0)),
    "long formulas": (lambda n: sum([n * k for k in range(60)]), (1, 2, 3, 4, 5)),
    "comparisons": (lambda n: (n < 2, n <= 2, n > 2, n >= 2, n == 2, n != 2, n == "a", 2 < n),
                    (1.0, 2.0, 3.0, math.nan, 1.5)),
    "copies": (lambda n: (copy.copy(n), copy.deepcopy([n])), (1.5, 2.5, 3.5, 4.5, 5.5)),
    "keys": (lambda n: ({1: "a", 2: "b"}.get(n), n in (1, 3), [5, 6, 7][n]), (1, 2, 0, 1, 2))}


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("name", EDGES)
def test_what_python_does_with_a_number_is_exact(name):
    use, given = EDGES[name]
    compiled = jit(lambda x, n: (x * 1, use(n)))
    for n in (*given, *given):
        assert repr(compiled(X, n)[1]) == repr(use(n))


@pytest.mark.parametrize("count, traces", [(20, 2), (60, 6)])
def test_a_long_formula_of_a_number_needs_the_value(count, traces):
    def step(x, n):
        for k in range(count):
            n = n + k
        return x * n

    compiled = jit(step)
    for n in (1, 2, 3, 4, 5, 6):
        assert compiled(X, n).tolist() == step(X, n).tolist()
    assert compiled.report()["traces"] == traces


FRACTIONS, WHOLE = (1.25, 2.5, 3.75, 4.5), (2, 3, 5, 7)


def of_numpys_functions(n):
    return (np.sqrt(n), np.minimum(n, 2.5), np.multiply(np.float64(2), n), np.float32(9) > n,
            np.isnan(n), np.power(np.float64(2), n))


STAYS = {
    "signs": (lambda n: (-n, +n, abs(n), n - -2), FRACTIONS),
    "a type": (lambda n: float(n), FRACTIONS),
    "whole parts": (lambda n: (math.floor(n), math.ceil(n), math.trunc(n), int(n)), FRACTIONS),
    "roundings": (lambda n: (round(n), round(n, 1), round(n, None)), FRACTIONS),
    "divisions": (lambda n: (n // 3, n % 3, 7 // n, -7 % n, 2 / n), WHOLE),
    "of whole numbers": (lambda n: (int(n), float(n), n * 2.5, n ** 2, 2 ** n, (-2) ** n), WHOLE),
    "functions of NumPy": (of_numpys_functions, FRACTIONS),
    "a number of NumPy": (lambda n: (n.item(), n + np.float64(1)), tuple(np.float64(FRACTIONS))),
    "a guard that holds": (lambda n: (n < 100, n >= 0, n != 50, bool(n), 100 > n), FRACTIONS),
    "a long sum": (lambda n: sum([n] * 50), WHOLE)}
NEEDS = {
    "bits": (lambda n: n & 6, WHOLE), "a quotient": (lambda n: divmod(n, 3), WHOLE),
    "an index": (lambda n: "abcdefghijk"[n], WHOLE), "a text": (lambda n: str(n), FRACTIONS),
    "settings of NumPy's": (lambda n: np.sqrt(n, dtype=np.float32), FRACTIONS),
    "a test with settings": (lambda n: (np.isnan(n, where=True), n.hex())[0], FRACTIONS),
    "reduced": (lambda n: np.add.reduce([n, n]), FRACTIONS), "unknown": (np.cbrt, FRACTIONS),
    "of its type": (lambda n: n.is_integer(), FRACTIONS), "a hash": (lambda n: {n: 1}, WHOLE),
    "beside a list": (lambda n: [0] * n, WHOLE), "beside a text": (lambda n: n == "a", FRACTIONS)}


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("name", [*STAYS, *NEEDS])
def test_which_uses_of_a_number_need_its_value(name):
    use, given = STAYS.get(name) or NEEDS[name]
    compiled = jit(lambda x, n: (x * 1, use(n)))
    for n in given:
        assert repr(compiled(X, n)[1]) == repr(use(n))
    assert compiled.report()["traces"] == (2 if name in STAYS else len(given))


def test_a_returned_text_of_a_number_stays():
    def step(x, n):
        return x * 2, f"{n:.2f}"

    compiled = jit(step)
    for n in FRACTIONS:
        assert compiled(X, n)[1] == f"{n:.2f}"
    assert compiled.report()["traces"] == 2


def test_the_longest_formula():
    class Environment:
        def condition(self, text):
            conditions.append(text)

    conditions: list = []
    number = SymbolicScalar(Environment(), 2.5, "n0")
    assert type(number.made(1.5, "n" * LONGEST)) is SymbolicScalar and not conditions
    assert type(number.made(1.5, "n" * (LONGEST + 1))) is float and len(conditions) == 1
