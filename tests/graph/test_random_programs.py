"""Programs with state mean the same compiled as eagerly; many more by hand: `random_programs`."""

import warnings

import pytest

from . import random_programs


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_random_programs(seed, executor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(seed, seed + 10):
            random_programs.check(number)


@pytest.mark.parametrize("part", random_programs.STATEMENTS, ids=lambda part: part.__name__)
def test_each_statement(part, monkeypatch):
    monkeypatch.setattr(random_programs, "STATEMENTS", [part])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        random_programs.check(1)
        random_programs.check(2)
