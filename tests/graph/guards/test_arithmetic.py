"""Settings of arithmetic: which objects depend on them, and that each of them is seen."""

import decimal
import fractions
from decimal import getcontext, localcontext, setcontext

import numpy as np
import pytest

from lamella import Tensor, jit
from lamella.graph.guards.arithmetic import (
    DECIMALS,
    NUMPY,
    arithmetic_of,
    signals_of_decimals,
)


@pytest.mark.parametrize("thing, kind", [
    (np, NUMPY), (np.ones(2), NUMPY), (np.float32(1), NUMPY), (np.bool_(True), NUMPY),
    (decimal, DECIMALS), (decimal.Decimal, DECIMALS), (decimal.Decimal("0.1"), DECIMALS),
    (decimal.Context, DECIMALS), (decimal.Context(), DECIMALS), (getcontext, DECIMALS),
    (decimal.setcontext, DECIMALS), (decimal.localcontext, DECIMALS), (len, None),
    (1.0, None), (fractions.Fraction(1, 3), None), (fractions, None), ("numpy", None),
    (np.ndarray, None), (None, None)])
def test_what_depends_on_settings(thing, kind):
    assert arithmetic_of(thing) is kind


@pytest.mark.parametrize("name, value", [
    ("prec", 7), ("rounding", decimal.ROUND_UP), ("Emin", -77), ("Emax", 77), ("capitals", 0),
    ("clamp", 1)])
def test_settings_of_decimals(name, value):
    before = DECIMALS.settings(), DECIMALS.held()
    with decimal.localcontext() as now:
        setattr(now, name, value)
        assert DECIMALS.settings() != before[0] and DECIMALS.held() != before[1]
    assert (DECIMALS.settings(), DECIMALS.held()) == before


def test_traps_are_settings_and_signals_are_none():
    before, signals = DECIMALS.settings(), signals_of_decimals()
    with decimal.localcontext() as now:
        now.clear_flags()
        quiet = signals_of_decimals()
        decimal.Decimal(1) / decimal.Decimal(3)
        assert DECIMALS.settings() == before and signals_of_decimals() != quiet
        assert signals_of_decimals()[decimal.Inexact] and not quiet[decimal.Inexact]
        now.traps[decimal.Inexact] = not now.traps[decimal.Inexact]
        assert DECIMALS.settings() != before
    assert DECIMALS.settings() == before and signals_of_decimals() == signals


@pytest.mark.parametrize("change", [
    {"divide": "ignore"}, {"over": "raise"}, {"under": "warn"}, {"invalid": "ignore"}], ids=str)
def test_what_numpy_does_with_errors(change):
    with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
        before = NUMPY.settings(), NUMPY.held()
        assert before == (NUMPY.settings(), NUMPY.held())
        with np.errstate(**change):
            assert NUMPY.settings() != before[0] and NUMPY.held() != before[1]
        assert (NUMPY.settings(), NUMPY.held()) == before


def test_what_numpy_calls_and_the_size_of_its_buffers():
    before, size = NUMPY.settings(), np.getbufsize()
    with np.errstate(call=lambda *_: None):
        assert NUMPY.settings() != before
    with np.errstate():
        np.setbufsize(2 * size)
        try:
            assert NUMPY.settings() != before
        finally:
            np.setbufsize(size)
    assert NUMPY.settings() == before


def reads_the_context(x):
    return x * getcontext().prec


def changes_the_context(x):
    getcontext().prec += 1
    return x * 2


def replaces_the_context(x):
    setcontext(decimal.Context(prec=getcontext().prec + 1))
    return x * getcontext().prec


def computes_in_another_context(x):
    with localcontext() as now:
        now.prec = now.prec // 2
        return x * float(now.divide(1, 3))


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("fn", [reads_the_context, changes_the_context, replaces_the_context,
                                computes_in_another_context], ids=lambda fn: fn.__name__)
def test_a_program_that_has_functions_of_decimals_alone(fn):
    compiled, x = jit(fn), Tensor([1.0, 2.0])
    for prec in (28, 2, 3, 28, 2, 6):
        found = []
        for call in (fn, compiled):
            with decimal.localcontext(decimal.Context(prec=prec)):
                found.append((call(x).asnumpy().tolist(), decimal.getcontext().prec))
        assert found[0] == found[1]
