"""Dry runs: what they refuse, the real run does once; what they undo leaves no trace."""

import functools
import random
import warnings
from typing import Any

import numpy as np
import pytest

from lamella import Tensor, jit, ops

X = Tensor([1.0, 2.0])


class Own:
    """A program's object: a list that it finds in two ways, a number, a generator."""

    def __init__(self):
        self.log = []
        self.more = {"log": self.log, "count": 0}
        self.count, self.draw = 0, random.Random(3)
        self.noted = {"last": 1}

    def state(self):
        return (len(self.log), self.count, self.more["count"], self.draw.random(),
                {**self.noted})


def warns(own, x, n, a):
    warnings.warn("mine", stacklevel=1)
    return x * n


def appends(own, x, n, a):
    own.log.append(n)
    return x * n + len(own.more["log"])


def changes_an_array(own, x, n, a):
    held = Tensor.from_numpy(a)
    held.add_(n)
    return x * held


def changes_an_array_by_numpy(own, x, n, a):
    a += n
    return x * Tensor(a)


def by_class(own, x, n, a):
    own.count += 1
    return x * (2 if n.__class__ is int else 3)


@functools.lru_cache(None)
def doubled(n):
    return 2 * n


def cached(own, x, n, a):
    own.count += 1
    return x * doubled(n)


def draws(own, x, n, a):
    own.count += n
    return x * own.draw.random()


def draws_as_often_as_said(own, x, n, a):
    own.count += 1
    return x * sum([own.draw.random() for _ in range(n)])


def raises_and_catches(own, x, n, a):
    own.count += n
    own.noted["last"] = n
    try:
        return x * (1 / (n - 4))
    except ZeroDivisionError:
        own.more["count"] += 1
        return x


def counts(own, x, n, a):
    own.count += n
    own.more["count"] += 2
    own.log.append(own.count)
    return x * own.count, own.more["count"], n + own.count


def as_text(own, x, n, a):
    own.noted[f"at {n}"] = n
    return x * n, f"{n} and {own.count}"


def compares(own, x, n, a):
    own.count += n > 3
    return x * (n == 3) + (n if n in (2, 5) else 7)


# part of the reason why no graph takes the numbers as inputs; None if one does
PROGRAMS: dict[Any, str | None] = {
    warns: "issues a warning", appends: "appends to a list that it reaches in several ways",
    changes_an_array: "", changes_an_array_by_numpy: "",
    by_class: "asks for the class of a number", cached: "may call a function that caches its",
    draws: None, draws_as_often_as_said: "", raises_and_catches: None,
    counts: "appends to a list that it reaches in several ways", as_text: "",
    compares: "a run with these numbers as inputs computes something else"}


def plain(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return tuple([plain(part) for part in value]) if isinstance(value, tuple) else value


@pytest.mark.parametrize("step", PROGRAMS, ids=lambda step: step.__name__)
def test_what_a_dry_run_cannot_repeat_is_done_once(step):
    found, reason = [], PROGRAMS[step]
    for wrap in (jit, lambda f: f):
        own: Any = Own()
        call = wrap(lambda x, n, a, own=own: step(own, x, n, a))
        results = []
        for n in (1, 2, 3, 4, 5, 2, 4, 7):
            a = np.arange(2.0, dtype=np.float32)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                value = plain(call(X, n, a))
            mine = sum(str(warning.message) == "mine" for warning in said)
            results.append((value, a.tolist(), own.state(), mine))
        found.append(results)
        if wrap is jit:
            refused = [line.scalars.refused for line in call.cache._all()
                       if line.scalars is not None]
            assert (reason is None) == (not any(refused)) or reason == ""
            assert not reason or any(reason in text for text in refused)
    assert found[0] == found[1]


def test_a_number_that_becomes_a_tensor_is_an_input_of_a_graph_that_is_replayed_as_it_is():
    call = jit(lambda x, n: x * Tensor(n) + ops.ones(2) * n)
    for n in (0.5, 1.5, 2.5, 3.5):
        assert call(X, n).tolist() == (X * n + n).tolist()
    (graph,) = call._graphs()
    assert graph.execution.settled and call.report()["traces"] == 2
