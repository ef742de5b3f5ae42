"""Arithmetic of integers by Python's own, wrapped around to each type."""

from __future__ import annotations

import itertools
import math
import operator

import numpy as np
import pytest
import torch

from lamella.tensors import kernels

SIGNED = [torch.int8, torch.int16, torch.int32, torch.int64]
UNSIGNED = [torch.uint8, torch.uint16, torch.uint32, torch.uint64]


def wrapped(value: int, kind: torch.dtype) -> int:
    """A number of any size as one of a type."""
    bits = 8 * kind.itemsize
    value %= 2**bits
    return value - 2**bits if kind.is_signed and value >= 2**(bits - 1) else value


def edges(kind: torch.dtype) -> list[int]:
    info = torch.iinfo(kind)
    return sorted({value for value in (info.min, info.min + 1, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7,
                                       info.max // 2, info.max - 1, info.max)
                   if info.min <= value <= info.max})


def pairs(kind: torch.dtype) -> list[tuple[int, int]]:
    """All pairs of such numbers, but for a quotient that kills the process in PyTorch's kernels."""
    return [(a, b) for a, b in itertools.product(edges(kind), repeat=2)
            if (a, b) != (torch.iinfo(kind).min, -1)]


def computed(function, kind, given, **options):
    a, b = (torch.tensor(column, dtype=kind) for column in zip(*given, strict=True))
    out = function(a, b, **options)
    assert out.dtype is kind
    return [int(value) for value in out.numpy()]


def trunc(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) is (b < 0) else -1)


def lowest(a: int, kind: torch.dtype) -> int:
    return torch.iinfo(kind).min if kind in (torch.int32, torch.int64) else 0


def saturated(a: int, kind: torch.dtype) -> int:
    info = torch.iinfo(kind)
    return info.max if a > 0 else info.min if a < 0 else 0


# by function: what it is where `b` isn't 0, and where it is
QUOTIENTS = {
    kernels.floor_quotient: (operator.floordiv, saturated),
    kernels.trunc_quotient: (trunc, lowest),
    kernels.floor_remainder: (operator.mod, lambda a, kind: a),
    kernels.modulo: (operator.mod, lowest),
    kernels.trunc_remainder: (lambda a, b: a - trunc(a, b) * b, lambda a, kind: a)}


@pytest.mark.parametrize("kind", [*SIGNED, torch.uint8, torch.uint64], ids=str)  # others: retried
@pytest.mark.parametrize("function", QUOTIENTS, ids=lambda f: f.__name__)
def test_quotients_and_remainders(function, kind):
    exact, by_zero = QUOTIENTS[function]
    given = pairs(kind)
    want = [wrapped(exact(a, b), kind) if b else by_zero(a, kind) for a, b in given]
    assert computed(function, kind, given) == want
    info = torch.iinfo(kind)
    a = torch.tensor(edges(kind)[1:], dtype=kind)
    for number in (-3, -1, 0, 1, 3, 100):  # numbers of Python's, on either side
        if info.min <= number:
            want = [wrapped(exact(x, number), kind) if number else by_zero(x, kind)
                    for x in edges(kind)[1:]]
            assert [int(x) for x in function(a, number).numpy()] == want
        if info.min <= number and "quotient" in function.__name__:
            want = [wrapped(exact(number, x), kind) if x else by_zero(number, kind)
                    for x in edges(kind)[1:]]
            assert [int(x) for x in function(number, a).numpy()] == want


@pytest.mark.parametrize("kind", SIGNED, ids=str)
def test_the_least_number_divided_by_minus_one_is_itself(kind):
    least = torch.tensor([torch.iinfo(kind).min, 8], dtype=kind)
    for by in (-1, torch.tensor([-1, -1], dtype=kind), torch.tensor(-1, dtype=kind)):
        assert kernels.trunc_quotient(least, by).tolist() == [torch.iinfo(kind).min, -8]


@pytest.mark.parametrize("kind", SIGNED + UNSIGNED, ids=str)
def test_shifts_count_modulo_the_width(kind):
    width = max(32, 8 * kind.itemsize)
    given = list(itertools.product(edges(kind), (0, 1, 3, 7, 8, 31, 32, 33, 63, 64, 65)))
    for function, exact in ((kernels.left_shift, operator.lshift),
                            (kernels.right_shift, operator.rshift)):
        want = [wrapped(exact(a, b % width), kind) for a, b in given]
        assert computed(function, kind, given) == want
        for amount in (0, 1, 5, width - 1, width, width + 1, 64, 65):
            found = function(torch.tensor(edges(kind), dtype=kind), amount)
            assert [int(value) for value in found.numpy()] == [
                wrapped(exact(a, amount % width), kind) for a in edges(kind)]
        counts = torch.tensor([0, 1, 2], dtype=kind)
        assert [int(value) for value in function(5, counts).numpy()] == [
            exact(5, count) for count in range(3)]


COMPARISONS = {kernels.less: operator.lt, kernels.less_equal: operator.le,
               kernels.greater: operator.gt, kernels.greater_equal: operator.ge,
               kernels.equal: operator.eq, kernels.not_equal: operator.ne}


@pytest.mark.parametrize("kind", [*SIGNED, torch.uint8], ids=str)
@pytest.mark.parametrize("function", COMPARISONS, ids=lambda f: f.__name__)
def test_comparisons_with_numbers_at_the_ends_of_a_type(function, kind):
    info, exact = torch.iinfo(kind), COMPARISONS[function]
    a = torch.tensor(edges(kind), dtype=kind)
    for number in (info.min - 1, info.min, info.min + 1, -1, 0, 127, 128, info.max - 1, info.max,
                   info.max + 1):
        assert function(a, number).tolist() == [exact(x, number) for x in edges(kind)]
        assert function(number, a).tolist() == [exact(number, x) for x in edges(kind)]
    assert function(a, a.flip(0)).tolist() == list(map(exact, edges(kind), edges(kind)[::-1]))
    assert function(torch.tensor([0.5, 300.0]), 300).tolist() == [exact(0.5, 300), exact(300, 300)]


@pytest.mark.parametrize("kind", [*SIGNED, torch.uint8], ids=str)
def test_integers_to_negative_powers(kind):
    bases = [value for value in (-2, -1, 0, 1, 2, 7) if value >= torch.iinfo(kind).min]
    a = torch.tensor(bases, dtype=kind)
    of_zero = lowest(0, kind if kind.is_signed else torch.uint8)
    if not kind.is_signed:  # computed as int64, the least of which ends in zeros
        of_zero = wrapped(-2**63, kind)
    for power in (-1, -2, -3):
        want = [of_zero if x == 0 else x**-power if abs(x) == 1 else 0 for x in bases]
        assert kernels.integer_power(a, power).tolist() == want
        assert kernels.power(a, power).tolist() == want
    assert kernels.power(a, 3).tolist() == [wrapped(x**3, kind) for x in bases]
    mixed = kernels.integer_power(a.long(), torch.tensor([2] * len(bases)))
    assert mixed.tolist() == [x**2 for x in bases]


def test_powers_of_booleans_have_derivatives():
    b = torch.tensor([2.0, 0.0], requires_grad=True)
    kernels.power(True, b).sum().backward()
    assert b.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("a, b, kind, want", [
    ([True, False], [True, True], torch.bool, [False, True]), (True, [True, False], torch.bool,
                                                               [False, True]),
    ([True, False], 3, torch.int64, [-2, -3]), (3, [True, False], torch.int64, [2, 3]),
    ([True, False], [5, 5], torch.int64, [-4, -5]), ([2, 3], True, torch.int64, [1, 2]),
    ([True, False], 0.5, torch.float32, [0.5, -0.5]), ([0.5, 2.0], True, torch.float32,
                                                      [-0.5, 1.0])])
def test_differences_with_booleans(a, b, kind, want):
    out = kernels.minus(*(torch.tensor(x) if isinstance(x, list) else x for x in (a, b)))
    assert out.dtype is kind and out.tolist() == want


def test_errors_that_are_not_about_booleans_stay():
    for shapes in (((2,), (3,)), ((4, 3), (2,))):
        with pytest.raises(RuntimeError, match="must match"):
            kernels.minus(*map(torch.ones, shapes))
    with pytest.raises(RuntimeError, match="must match"):
        kernels.floor_quotient(torch.ones(2, dtype=torch.int32), torch.ones(3, dtype=torch.int32))


@pytest.mark.parametrize("number, other, kind, want", [
    (300, torch.int8, torch.int8, 44), (-1, torch.uint8, torch.uint8, 255), (2, torch.float16,
                                                                            torch.float16, 2),
    (1e40, torch.float32, torch.float32, math.inf), (1e6, torch.float16, torch.float16, math.inf),
    (0.5, torch.int8, torch.float32, 0.5), (1 + 2j, torch.float32, torch.complex64, 1 + 2j),
    (2**40 + 5, torch.int16, torch.int16, 5)])
def test_a_number_takes_the_type_that_it_leaves(number, other, kind, want):
    found = kernels.of_rank_0(number, torch.ones(2, dtype=other))
    assert found.dtype is kind and found.shape == () and found.item() == want


def test_signs_of_complex_numbers():
    values = np.array([3 + 4j, -2j, 0, 1e-3, -5 + 12j] * 5, np.complex64)
    found = kernels.complex_sign(torch.from_numpy(values)).numpy()
    size = np.abs(values)
    np.testing.assert_allclose(found, np.where(size == 0, 0, values / np.where(size, size, 1)),
                               rtol=1e-6)
    endless = kernels.complex_sign(torch.tensor([complex(math.inf, 1.0)] * 9)).numpy()
    assert np.isnan(endless.real).all() and not endless.imag.any()
    x = torch.tensor([3 + 4j]).conj()
    assert kernels.complex_sign(x).item() == pytest.approx(0.6 - 0.8j)


def test_a_number_is_divided_and_not_multiplied_by_a_reciprocal():
    b = np.arange(1, 200, dtype=np.float32)
    assert np.array_equal(kernels.quotient(3.0, torch.from_numpy(b)).numpy(), np.float32(3) / b)
    assert np.array_equal(kernels.quotient(10, torch.arange(1, 9)).numpy(),
                          (10 / np.arange(1, 9)).astype(np.float32))
    for function, numpys in ((kernels.floor_quotient, np.floor_divide), (kernels.trunc_quotient,
                             lambda a, b: np.trunc(a / b)), (kernels.floor_remainder, np.mod),
                             (kernels.trunc_remainder, np.fmod)):
        a = np.array([7.5, -7.5, 7.5, -7.5, 2.0])
        c = np.array([2.0, 2.0, -2.0, -2.0, 3.0])
        np.testing.assert_array_equal(function(torch.from_numpy(a), torch.from_numpy(c)).numpy(),
                                      numpys(a, c))


@pytest.mark.parametrize("kind", [torch.int32, torch.int64], ids=str)
def test_integers_to_powers_of_a_tensor(kind):
    a, b = torch.tensor([0, 0, 0, 2, -1, 1, 3], dtype=kind), torch.tensor([0, 2, -1, -1, -3, -2, 0])
    wanted = [1, 0, torch.iinfo(torch.int64).min, 0, -1, 1, 1]
    assert kernels.integer_power(a, b).tolist() == wanted
    assert kernels.power(a.double(), b.abs().double()).tolist() == [1, 0, 0, 2, -1, 1, 1]
