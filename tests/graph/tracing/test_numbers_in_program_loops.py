"""Numbers, flags and texts that the steps of a loop change, in compiled functions."""

import pytest

from lamella import ops

from .program_loops import check, finds_loops


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
        x = (x * 0.5 + 0 * (h - x)) / (1 + abs(h) * 0)
    return x, n, h


def by_comparisons(a):
    x, n, h = a, 0, 3.0
    while x.max() > 0.1:
        n = n + 1 if n < h else n - 2
        h = h - 0.5 if n <= 1 else h + 0.25
        x = x * 0.7 if n != 2 and not h > 4 else x * 0.8
        x = x * 0.9 if n == 1 or 2 >= n else x
    return x, n, h


def by_numbers_of_tensors(a):
    x, n, h, last = a, 0, 1.0, 0
    while x.max() > 0.1:
        h = float(x.sum())
        n = n + int((x > 0.5).int().sum())
        last = (x > 0.3).int().sum().item()
        big = bool(x.max() > 0.6)
        x = x * (0.6 if big else 0.8) * ops.where(x > h, 0.5, 1.0)
    return x, n, h, last


@finds_loops
@pytest.mark.parametrize("fn, recordings", [
    (by_a_flag, 3), (by_a_second_test, 3), (with_an_equal_text, 3),
    (by_operators, 4), (by_comparisons, 4),
    (by_numbers_of_tensors, 4)], ids=lambda fn: getattr(fn, "__name__", None))
def test_loops_that_are_operations(fn, recordings):
    check(fn, recordings)
