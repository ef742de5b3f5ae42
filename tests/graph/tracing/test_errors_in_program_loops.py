"""Loops of the program's with `try`, errors, and functions that catch them."""

import math

import pytest

from lamella import ops

from .program_loops import check, finds_loops


def in_a_try(a):
    x, n = a, 0
    while ops.abs(x).max() > 0.1:
        try:
            y = x * 0.7
            n += 1
        except (RuntimeError, ValueError) as error:
            raise SystemExit from error
        else:
            x = y
        finally:
            x = x * 0.9
    return x, n


def in_a_try_with_a_break_where_it_fails(a):
    x, total = a, 0 * a.sum()
    for _ in range(40):
        try:
            x = x * 0.8
            if x.sum() > 1:
                try:
                    x = x - 0.05 * a
                except ArithmeticError:
                    continue
        except:  # noqa: E722
            break
        total = total + x.sum()
        if total > 3:
            break
    return x + total


def where_a_matrix_has_no_root(a):
    """Fails for some arguments, in some step."""
    x, n = a * 0.3, 0
    while x.max() < 2:
        try:
            x = x * 1.4 + 0.1 * ops.cholesky((2 - x.max()).reshape(1, 1))[0]
        except RuntimeError:
            x, n = x + 0.9, n + 1
    return x


def with_an_error_of_its_own(a):
    x = a
    while ops.abs(x).max() > 0.1:
        try:
            if x.sum() > 3:
                raise ValueError
            x = x * 0.6
        except ValueError:
            x = x * 0.4
    return x


def by_a_count_that_becomes_zero(a):
    x, n = a, 2
    while ops.abs(x).max() > 0.1:
        try:
            h = 1 / n
        except ZeroDivisionError:
            h = 0.5
        x = x * 0.5 * (1 + 0.1 * h)
        n -= 1
    return x, n


def by_a_key_that_is_missing(a):
    x, table = a, {"rate": 0.5}
    while ops.abs(x).max() > 0.1:
        try:
            x = x * table["factor"]
        except KeyError:
            x = x * table["rate"]
    return x


def of_a_number_that_a_function_divides_by(a):
    x, n = a, 0
    while ops.abs(x).max() > 0.1:
        n += 1
        x = _guarded(lambda n: 1 / n, n, x)
    return x, n


def of_a_number_that_a_function_rounds(a):
    x, n = a, 0
    while ops.abs(x).max() > 0.1:
        n += 1
        x = _guarded(lambda n: n // 2 + 0.5, n, x)
    return x, n


def of_the_root_of_a_number(a):
    x, n = a, 0
    while ops.abs(x).max() > 0.1:
        n += 1
        x = _guarded(math.sqrt, n, x)
    return x, n


def _guarded(function, n, x):
    """What catches more than the program's errors."""
    try:
        return x * (0.3 + 0.1 / (1 + function(n)))
    except:  # noqa: E722
        return x * 0.5


def of_the_class_of_a_number(a):
    x, n = a, 0
    while ops.abs(x).max() > 0.1:
        n += 1
        x = x * _rate(n)
    return x, n


def _rate(n):
    return 0.5 if isinstance(n, int) else 0.4


def of_what_is_true(a):
    x = a
    while ops.abs(x).max() > 0.1:
        big = bool(x.sum() > 2)
        x = x * (0.4 if big is True else 0.6)
    return x


def of_an_attribute_of_a_number(a):
    x, n = a, 0
    while ops.abs(x).max() > 0.1:
        n += 1
        x = x * (0.5 if hasattr(n, "bit_length") else 0.4)
    return x, n


ROLLED = [in_a_try, in_a_try_with_a_break_where_it_fails]
UNLIKE = [with_an_error_of_its_own, by_a_count_that_becomes_zero, by_a_key_that_is_missing,
          of_a_number_that_a_function_divides_by, of_a_number_that_a_function_rounds,
          of_the_root_of_a_number, of_the_class_of_a_number, of_an_attribute_of_a_number,
          of_what_is_true]


@finds_loops
@pytest.mark.parametrize("derive", [False, True])
@pytest.mark.parametrize("fn", ROLLED, ids=lambda fn: fn.__name__)
def test_a_loop_with_a_try_is_recorded_twice(fn, derive):
    check(fn, 4 if derive else 3, derive)


@pytest.mark.parametrize("fn", UNLIKE, ids=lambda fn: fn.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_loops_compute_the_same(fn):
    check(fn, 8)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("derive", [False, True])
def test_a_loop_with_a_try_in_which_a_kernel_fails_for_some_values(derive):
    check(where_a_matrix_has_no_root, 8, derive)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_error_in_a_loop_leaves_what_its_steps_have_computed():
    """Around the loop it is caught where the variables are those of the step that failed."""
    def run(a):
        x, n = a * 0.3, 0
        try:
            while x.max() < 4:
                x = x * 1.4 + 0.1 * ops.cholesky((2 - x.max()).reshape(1, 1))[0]
                n += 1
        except RuntimeError:
            x = x - 1
        return x, n

    check(run, 8)
