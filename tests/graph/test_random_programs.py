"""Random programs with state give the same compiled and eagerly; `random_programs` runs more."""

import warnings

import pytest

from lamella.graph.guards import values, watch
from lamella.graph.runtime import plan
from lamella.graph.tracing import changes, numbers

from . import random_programs, random_statements


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_random_programs(seed, executor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(seed, seed + 10):
            random_programs.check(number)


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_random_programs_inside_of_a_gradient_call(seed, executor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(seed, seed + 10):
            random_programs.check(number, inside=True)


@pytest.mark.parametrize("part", random_statements.STATEMENTS, ids=lambda part: part.__name__)
def test_each_statement(part, monkeypatch):
    monkeypatch.setattr(random_statements, "STATEMENTS", [part])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random_programs.check(1)
        random_programs.check(2)


def of_a_kind(kind):
    """`comparable` without the parts of containers of a kind."""
    before = values.comparable

    def comparable(value, *rest):
        return kind if isinstance(value, kind) else before(value, *rest)

    return values, "comparable", comparable


def blind(part):
    """A fingerprint without one of its parts."""
    before = watch.fingerprint

    def fingerprint(*args):
        found = list(before(*args))
        found[part] = None
        return tuple(found)

    return watch, "fingerprint", fingerprint


# what is left out of the compiler, and the statements that need it
BUGS = {
    "attributes of objects": (lambda: blind(1), "by_number by_property by_last_item"),
    "variables of closures": (lambda: blind(2), "by_closure writes_closure"),
    "attributes of Cells": (lambda: blind(0), "by_cell derives"),
    "slots": (lambda: blind(5), "by_slot"),
    "lists": (lambda: of_a_kind(list), "by_items by_last_item"),
    "what a run changes": (lambda: (changes.Snapshot, "changes", lambda self: iter(())),
                           "counts keeps_a_pair notes"),
    "conditions on numbers": (lambda: (numbers.Numbers, "condition", lambda self, text: None),
                              "computes_in_numbers every_third"),
    "values of tensors": (lambda: (plan, "_is", lambda found, expected: True), "by_branch"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_missing_guard_is_found(bug, monkeypatch):
    patch, names = BUGS[bug]
    monkeypatch.setattr(*patch())
    monkeypatch.setattr(watch._Snapshot, "holds", lambda self: False)
    monkeypatch.setattr(random_statements, "STATEMENTS", [
        part for part in random_statements.STATEMENTS if part.__name__ in names.split()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(random_programs.Difference):
            for seed in range(200):
                random_programs.check(seed)
