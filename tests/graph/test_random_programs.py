"""Random programs with state give the same compiled and eagerly; `random_programs` runs more."""

import warnings

import pytest

from lamella.graph.guards import guard, values
from lamella.graph.runtime import plan_guards
from lamella.graph.tracing import changes, scalar_environment

from . import random_calls, random_programs, random_statements

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.long("ten programs more of the same kind"))
              for seed in (10, 20))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed, executor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(seed, seed + 10):
            random_programs.check(number)


@pytest.mark.parametrize("seed", SEEDS)
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
        random_programs.check(2)


@pytest.mark.parametrize("way", random_calls.WAYS, ids=lambda way: way.__name__)
def test_each_way(way, monkeypatch):
    monkeypatch.setattr(random_calls, "WAYS", [way])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(2):
            random_programs.check(seed, inside=bool(seed))


def of_a_kind(kind):
    """How containers are compared, without the parts of those of a kind."""
    before = values._Container.comparable

    def comparable(self, value, *rest):
        return kind if isinstance(value, kind) else before(self, value, *rest)

    return values._Container, "comparable", comparable


def blind(part):
    """A fingerprint without one of its parts."""
    before = guard._State._walked

    def walked(*args):
        return before(*args)._replace(**{part: None})

    return guard._State, "_walked", walked


# what is left out of the compiler, and the statements that need it
BUGS = {
    "attributes of objects": (lambda: blind("objects"), "by_number by_property by_last_item"),
    "variables of closures": (lambda: blind("variables"), "by_closure writes_closure"),
    "attributes of Cells": (lambda: blind("cells"), "by_cell derives"),
    "slots": (lambda: blind("slots"), "by_slot"),
    "lists": (lambda: of_a_kind(list), "by_items by_last_item"),
    "what a run changes": (lambda: (changes.Snapshot, "changes", lambda self: iter(())),
                           "counts keeps_a_pair notes"),
    "conditions on numbers": (lambda: (scalar_environment.ScalarEnvironment, "condition", bool),
                              "computes_in_numbers every_third"),
    "values of tensors": (lambda: (plan_guards, "is_same_number", lambda found, expected: True),
                          "by_branch"),
}


RARE = {"slots": 76}  # the first seed whose program changes what is left out, if it is a late one


@pytest.mark.parametrize("bug", BUGS)
def test_a_missing_guard_is_found(bug, monkeypatch):
    patch, names = BUGS[bug]
    monkeypatch.setattr(*patch())
    monkeypatch.setattr(guard._State, "holds", lambda self: False)
    monkeypatch.setattr(random_statements, "STATEMENTS", [
        part for part in random_statements.STATEMENTS if part.__name__ in names.split()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(random_programs.Difference):
            for seed in range(RARE.get(bug, 0), 200):
                random_programs.check(seed)
