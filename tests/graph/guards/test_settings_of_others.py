"""What a program asks of Python, NumPy, decimals and PyTorch is guarded: compiled as eagerly."""

from __future__ import annotations

import builtins
import decimal
import functools
import sys
import weakref

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, jit, nn, ops

X = Tensor([1.0, 2.0])
PROGRAMS = {}


def program(make):
    """Note a program: it gives a function and what happens before each of its calls."""
    PROGRAMS[make.__name__] = make
    return make


def nothing():
    pass


def precision(number):
    def change():
        decimal.getcontext().prec = number
    return change


@program
def decimals():
    return lambda x: x * float(decimal.Decimal(1) / 3), [
        precision(28), nothing, precision(3), nothing, precision(28)]


@program
def precision_of_decimals():
    return lambda x: x * decimal.getcontext().prec, [
        precision(28), nothing, precision(3), nothing, precision(28)]


@program
def changed_precision():
    def fn(x):
        decimal.getcontext().prec += 1
        return x * decimal.getcontext().prec

    return fn, [precision(28), nothing, precision(3), nothing]


def errors(how):
    return functools.partial(np.seterr, divide=how)


@program
def asked_errors_of_numpy():
    return lambda x: x * (1.0 if np.geterr()["divide"] == "warn" else 2.0), [
        errors("warn"), nothing, errors("raise"), nothing, errors("warn")]


@program
def errors_of_numpy():
    def fn(x):
        try:
            factor = float(np.float32(1) / np.float32(0) > 3)
        except FloatingPointError:
            factor = 5.0
        return x * factor

    return fn, [errors("ignore"), nothing, errors("raise"), nothing, errors("ignore")]


def set_and_deleted(owner, value=3.0):
    return [nothing, nothing, lambda: setattr(owner, "new_name", value), nothing,
            lambda: delattr(owner, "new_name"), nothing]


@program
def absent_in_a_module_of_lamella():
    return lambda x: x * (2.0 if hasattr(ops, "new_name") else 1.0), set_and_deleted(ops)


@program
def absent_with_a_default():
    return lambda x: x * getattr(np, "new_name", 1.0), set_and_deleted(np)


@program
def absent_in_a_class():
    return lambda x: x * (2.0 if hasattr(nn.Cell, "new_name") else 1.0), set_and_deleted(nn.Cell)


@program
def absent_in_tensors():
    return lambda x: x * (2.0 if hasattr(x, "new_name") else 1.0), set_and_deleted(Tensor)


@program
def absent_in_a_cell():
    class Net(nn.Cell):
        def construct(self, x):
            return x * getattr(self, "new_name", 1.0)

    return Net(), set_and_deleted(nn.Cell)


@program
def absent_and_handled():
    def fn(x):
        try:
            return x * ops.new_name
        except AttributeError:
            return x

    return fn, set_and_deleted(ops)


@program
def absent_among_the_built_in_names():
    def fn(x):
        try:
            return x * new_name  # type: ignore[name-defined]  # noqa: F821
        except:  # noqa: E722
            return x

    return fn, set_and_deleted(builtins)


@program
def absent_among_globals():
    return lambda x: x * (2.0 if "new_name" in globals() else 1.0), [
        nothing, nothing, lambda: globals().update(new_name=1), nothing,
        lambda: globals().pop("new_name")]


@program
def default_type_of_torch():
    return lambda x: x * (2.0 if torch.get_default_dtype() == torch.float64 else 1.0), [
        nothing, nothing, lambda: torch.set_default_dtype(torch.float64), nothing,
        lambda: torch.set_default_dtype(torch.float32)]


@program
def precision_of_torch():
    return lambda x: x * (2.0 if torch.get_float32_matmul_precision() == "high" else 1.0), [
        nothing, nothing, lambda: torch.set_float32_matmul_precision("high"), nothing,
        lambda: torch.set_float32_matmul_precision("highest")]


@program
def gradients_of_torch():
    return lambda x: x * (2.0 if torch.is_grad_enabled() else 1.0), [
        nothing, nothing, lambda: torch.set_grad_enabled(False), nothing,
        lambda: torch.set_grad_enabled(True)]


@program
def backends_of_torch():
    return lambda x: x * (2.0 if torch.backends.mkldnn.enabled else 1.0), [
        nothing, nothing, lambda: setattr(torch.backends.mkldnn, "enabled", False), nothing,
        lambda: setattr(torch.backends.mkldnn, "enabled", True)]


@program
def seed_of_torch():
    return lambda x: x * float(torch.initial_seed() % 100), [
        lambda: ms.set_seed(1), nothing, lambda: ms.set_seed(2), nothing]


@program
def changed_setting_of_torch():
    def fn(x):
        torch.set_default_dtype(torch.float64)
        return x * 2.0

    def asked():
        found.append(torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)

    found: list = []
    return fn, [asked] * 4


@program
def count_of_weak_references():
    class Thing:
        pass

    thing, held = Thing(), []
    return lambda x: x * weakref.getweakrefcount(thing), [
        nothing, nothing, lambda: held.append(weakref.ref(thing, print)), nothing, held.clear]


@program
def sizes_of_weak_sets():
    class Thing:
        pass

    things, held = weakref.WeakSet(), []

    def add():
        held.append(Thing())
        things.add(held[-1])

    return lambda x: x * len(things), [add, nothing, add, nothing, held.pop, nothing, held.clear]


@pytest.fixture(autouse=True)
def settings_put_back():
    with np.errstate(), decimal.localcontext():
        yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_setting_that_changes_between_calls_counts(name):
    found = []
    for wrap in (lambda function: function, jit):
        function, steps = PROGRAMS[name]()
        function = wrap(function)
        given = []
        for step in steps:
            step()
            given.append((function(X).asnumpy().tolist(), decimal.getcontext().prec,
                          torch.get_default_dtype()))
        found.append(given)
    assert found[0] == found[1]


@pytest.mark.parametrize("ask", [lambda: sys.exc_info()[0],
                                 *([lambda: type(sys.exception())]  # type: ignore[attr-defined]
                                   if hasattr(sys, "exception") else [])])
def test_the_exception_that_the_caller_handles_counts(ask):
    @jit
    def fn(x):
        return x * (2.0 if ask() is ValueError else 1.0)

    def outcome(raises):
        if not raises:
            return fn(X).asnumpy().tolist()
        try:
            raise ValueError
        except ValueError:
            return fn(X).asnumpy().tolist()

    assert [outcome(False) for _ in range(3)] == [[1.0, 2.0]] * 3
    assert fn.report()["traces"] == 1 and fn.report()["replays"] == 2
    with pytest.warns(UserWarning, match="asks for the exception that its caller handles"):
        assert outcome(True) == [2.0, 4.0]
    assert [outcome(i % 2) for i in range(4)] == [[1.0, 2.0], [2.0, 4.0]] * 2


def test_an_exception_handled_inside_keeps_the_graph():
    @jit
    def fn(x):
        try:
            raise KeyError("k")
        except KeyError:
            kind = sys.exc_info()[0]
        return x * (2.0 if kind is KeyError else 1.0)

    for _ in range(3):
        assert fn(X).asnumpy().tolist() == [2.0, 4.0]
    assert fn.report()["traces"] == 1 and fn.report()["replays"] == 2


def test_settings_of_arithmetic_cost_no_graph_where_they_stay():
    compiled = jit(lambda x: x * float(np.float32(2.0)) + float(decimal.Decimal(1)))
    for _ in range(5):
        with np.errstate(divide="ignore"):
            compiled(X)
    assert compiled.report()["traces"] == 1
    assert compiled.report()["replays"] == 4
