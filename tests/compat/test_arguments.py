"""What is said of calls that don't fit, beside Python's own words for the same call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import lamella as ms
from lamella.compat.arguments import (
    culprit,
    of_mismatch,
    plain_signature,
    what_it_is_called,
)


def none(): ...
def one(x): ...
def two(x, y): ...
def some(x, y=1): ...
def all_default(x=1, y=2): ...
def three(x, y, z): ...
def four(x, y, z, u): ...
def named(*, rate, decay): ...
def mixed(x, /, y=1, *, rate, decay=2, power): ...


CALLS = [(none, (1,), {}), (one, (1, 2), {}), (two, (1, 2, 3, 4), {}), (some, (1, 2, 3), {}),
         (all_default, (1, 2, 3), {}), (one, (), {}), (two, (), {}), (two, (1,), {}),
         (two, (), {"x": 1}), (three, (), {}), (four, (), {}), (four, (1,), {}),
         (four, (1,), {"z": 2}), (some, (), {"y": 2}), (named, (), {}), (named, (), {"rate": 1}),
         (mixed, (1,), {}), (mixed, (1,), {"power": 2}), (mixed, (1, 2), {"rate": 2, "decay": 1})]


@pytest.mark.parametrize("function, args, kwargs", CALLS)
def test_the_words_are_pythons(function, args, kwargs):
    """Also where `self` is among the arguments, which isn't counted."""
    with pytest.raises(TypeError) as theirs:
        function(*args, **kwargs)
    plain = inspect.signature(function)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    of_method = plain.replace(parameters=[first, *plain.parameters.values()])
    for signature, given in ((plain, args), (of_method, (None, *args))):
        with pytest.raises(TypeError) as mismatch:
            signature.bind(*given, **kwargs)
        ours = str(of_mismatch(function.__name__, signature, given, mismatch.value, kwargs))
        assert ours == f"For '{function.__name__}', {theirs.value}. It takes {plain}."


def test_without_the_names_that_were_given_the_words_are_those_of_inspect():
    with pytest.raises(TypeError) as mismatch:
        inspect.signature(two).bind(1)
    ours = str(of_mismatch("two", two, (1,), mismatch.value))
    assert str(mismatch.value) in ours and "two()" not in ours


@pytest.mark.parametrize("given, names, said", [
    ("lr", ["params", "learning_rate"], "'lr' is called 'learning_rate' here"),
    ("dim", ["dims", "axes"], "'dim' is called 'axes' here"),  # the first of its table
    ("x", ["self", "input"], "'x' is called 'input' here"),
    ("learning_rat", ["learning_rate"], "did you mean 'learning_rate'?"),
    ("selff", ["self", "x"], ""), ("argss", ["args"], ""), ("kwarg", ["kwargs"], ""),
    ("axis", ["other"], ""), ("wholly_other", ["x", "y"], "")])
def test_other_names(given, names, said):
    assert what_it_is_called(given, names) == said


@pytest.mark.parametrize("given, hint", [
    ("lr", "; 'lr' is called 'learning_rate' here. It takes"),
    ("learning_rat", "; did you mean 'learning_rate'? It takes"),
    ("zzz", "unexpected keyword argument 'zzz'. It takes")])
def test_hints_end_a_sentence(given, hint):
    def step(learning_rate=0.1): ...

    with pytest.raises(TypeError) as mismatch:
        inspect.signature(step).bind(**{given: 1})
    assert hint in str(of_mismatch("step", step, (), mismatch.value, {given: 1}))


def test_a_signature_has_no_types_and_no_self():
    def function(self, x: int, *, y: float = 2.0) -> str: ...

    assert str(plain_signature(function)) == "(x, *, y=2.0)"


def takes(x: ms.Tensor, size: int, mode: str = "a", axis: int = 0, shape=(), *, free=None,
          call: Callable | None = None, other: Any = 1): ...


THING = object()


@pytest.mark.parametrize("given, said", [
    ({"x": "text", "size": 2}, "'x' must not be of type str."),
    ({"x": None, "size": 2}, "'x' must not be None."),
    ({"x": ms.Tensor(1), "size": THING}, "'size' must not be of type object."),
    ({"x": 1.5, "size": 2j, "mode": THING}, ""),  # numbers may be meant; a text is wanted
    ({"x": ms.float32, "size": [1]}, ""), ({"x": slice(1), "size": ...}, ""),
    ({"x": abs, "size": (1,)}, ""),
    # where anything may come: a text or None, unless the default is such a one
    ({"shape": "a"}, "'shape' must not be of type str."), ({"shape": None},
                                                           "'shape' must not be None."),
    ({"free": None}, ""), ({"free": "a"}, "'free' must not be of type str."),
    ({"shape": (1, None)}, "'shape[1]' must not be None."),
    ({"shape": (1, "a", 2)}, "'shape[1]' must not be of type str."),
    ({"shape": (None, "a")}, ""),  # two may be the culprit
    ({"shape": "a", "other": "b"}, ""), ({"other": "b"}, "'other' must not be of type str."),
    ({"call": "b"}, ""), ({"mode": None}, ""), ({"other": 5, "free": 5}, "")])
def test_the_argument_that_was_taken_amiss(given, said):
    assert culprit(takes, given) == said
