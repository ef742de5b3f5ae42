"""Stand-ins for generators: each draw is drawn again, and what it gives is an input or a guard."""

import random
import types
from typing import Any

import numpy as np
import pytest

from lamella.core.state import state
from lamella.graph.guards.search import reachable_from
from lamella.graph.tracing.arrays import GivenArray
from lamella.graph.tracing.draws import (
    MOST_DRAWS,
    Draws,
    Generator,
    Positions,
    global_generators,
)
from lamella.graph.tracing.refusals import CannotTrace
from lamella.graph.tracing.scalar_environment import ScalarEnvironment
from lamella.graph.tracing.scalars import SymbolicScalar


@pytest.fixture
def draws():
    """The draws of a run that this thread records, of a number that varies."""
    numbers = ScalarEnvironment([3], [])
    made = Draws(numbers)
    before, state.trace = state.trace, types.SimpleNamespace(scalars=numbers)
    yield made
    state.trace = before


PYTHON, NUMPY, OLD = random.Random, np.random.default_rng, np.random.RandomState


@pytest.mark.parametrize("make, use", [
    (PYTHON, lambda g, n: [g.random(), g.uniform(1, n), g.randrange(n), g.gauss(0.0, 2)]),
    (PYTHON, lambda g, n: [*g.sample(range(9), 3), g.choice([1.5, n]), g.getrandbits(40)]),
    (PYTHON, lambda g, n: [g.choices([1, 2, 3], weights=[1, n, 1], k=4)]),
    (PYTHON, lambda g, n: [g.triangular(high=2.0), g.randint(g.randint(0, n), 9)]),
    (NUMPY, lambda g, n: [g.random(), g.integers(n), g.normal(size=(2, 2)), g.random(3)]),
    (NUMPY, lambda g, n: [g.permutation(4), g.choice([1, n]), g.integers(0, [n, 9])]),
    (NUMPY, lambda g, n: [g.normal(g.random(2)), g.uniform((0, 1), (1, n))]),
    (OLD, lambda g, n: [g.rand(), g.randn(2), g.randint(n), g.choice(4, size=(2,))]),
    (OLD, lambda g, n: [g.normal(np.array([0.0, 5.0])), g.uniform(size=n) * 2])], ids=range(9))
def test_what_is_drawn_is_drawn_again(draws, make, use):
    own = make(5)
    (n,) = draws._numbers.given
    found = use(draws.stand_in(own), n)
    compared = [one if isinstance(one, list) else [one] for one in found]
    assert draws.generators == [own] and draws.line.file == __file__
    numbers = draws._numbers
    places = [[numbers.index_of(one.text) for one in several] for several in compared]
    real = make(5)
    positions = Positions([own])
    positions._positions[0] = own, Positions([make(5)])._positions[0][1]
    positions.put_back()
    computed: Any = numbers.function()(3)
    for several, its, wanted in zip(compared, places, use(real, 3), strict=True):
        for one, place, real_one in zip(several, its, wanted if isinstance(wanted, list) else [
                wanted], strict=True):
            np.testing.assert_array_equal(computed[place], real_one)
            assert type(computed[place]) is type(real_one)
            assert type(one) is (GivenArray if isinstance(real_one, np.ndarray) else SymbolicScalar)


@pytest.mark.parametrize("use, text", [
    (lambda g: g.choice(["a", "b"]), "repr(d1) == "), (lambda g: g.choice([True]), "== 'True'"),
    (lambda g: g.choice([b"a"]), "repr(d1) == "), (lambda g: g.choice([None]), "== 'None'"),
    (lambda g: g.random(), "type(d1) is float"), (lambda g: g.randrange(9), "type(d1) is int"),
    (lambda g: g.sample([1, 2], 2), "len(d1) == 2"),
    (lambda g: g.choice([(1, 2)]), "len(d1) == 2")])
def test_guards_on_what_is_drawn(draws, use, text):
    use(draws.stand_in(random.Random(2)))
    assert any(text in condition for condition in draws._numbers.conditions)


@pytest.mark.parametrize("make, use, reason", [
    (PYTHON, lambda g: g.choice({0: 1, 1: 2}), "draws random numbers from a dict"),
    (PYTHON, lambda g: g.sample([random], 1), "draws random numbers from a module"),
    (PYTHON, lambda g: g.shuffle(bytearray(b"ab")), "shuffles something that is not a list"),
    (PYTHON, lambda g: g.shuffle([1], lambda: 0.5), "shuffles something that is not a list"),
    (NUMPY, lambda g: g.shuffle([1, 2], axis=0), "shuffles something that is not a list"),
    (NUMPY, lambda g: g.choice(["a"]), "draws a str_"), (PYTHON, lambda g: g.seed(3), "uses seed"),
    (NUMPY, lambda g: g.choice([1j]), "draws a complex128"),
    (NUMPY, lambda g: g.choice(np.array(["a", "b"]), 2), "draws a ndarray"),
    (NUMPY, lambda g: g.bit_generator, "uses bit_generator of a generator of random numbers"),
    (PYTHON, lambda g: g.getstate(), "uses getstate of a generator of random numbers")])
def test_draws_that_cannot_be_repeated(draws, make, use, reason):
    with pytest.raises(CannotTrace, match=reason):
        use(draws.stand_in(make(1)))


def test_how_often_a_run_may_draw(draws):
    generator = draws.stand_in(random.Random(1))
    for _ in range(MOST_DRAWS):
        generator.random()
    with pytest.raises(CannotTrace, match="draws more than 256 random numbers"):
        generator.random()


def test_a_list_is_shuffled_in_place(draws):
    own, items, real = random.Random(3), [1, 2, 3, 4], [1, 2, 3, 4]
    same = items
    assert draws.stand_in(own).shuffle(items) is None
    random.Random(3).shuffle(real)
    assert items is same and [item.value for item in items] == real


def test_another_thread_uses_the_generator_itself(draws):
    own = random.Random(3)
    generator = draws.stand_in(own)
    assert draws.stand_in(own) is generator and type(generator) is Generator
    state.trace = None
    assert generator.random() == random.Random(3).random() and not draws.lines
    assert generator.getstate() == own.getstate() and generator.VERSION == own.VERSION
    state.trace = types.SimpleNamespace(scalars=None)
    assert type(generator.random()) is float and not draws.generators


def test_where_a_program_finds_generators():
    class Own:
        draw = random.uniform

    rng, draw, other = np.random.default_rng(1), random.gauss, random.Random(2)
    held = types.SimpleNamespace(rng=other, number=3, function=len)
    draws = Draws(ScalarEnvironment([], []))
    found = [(source.key, stand_in) for source, stand_in in draws.sources(
        reachable_from(lambda: (rng, draw, held.rng, held.function, Own.draw)))]
    keys = [key for key, _ in found]
    assert {"rng", "draw", "random", "rand", "uniform", "shuffle"} <= {*keys}
    assert "function" not in keys and "number" not in keys
    for key, one in (("rng", rng), ("rng", other)):
        assert any(key == name and type(stand_in) is Generator and stand_in.value is one
                   for name, stand_in in found)


def test_positions_of_generators():
    own, numpy = random.Random(1), np.random.default_rng(1)
    assert global_generators() == [random.random.__self__, np.random.rand.__self__]
    for draw in (own.random, numpy.random):
        positions = Positions([own, numpy])
        assert not positions.differ()
        first = draw()
        assert positions.differ()
        positions.put_back()
        assert not positions.differ() and draw() == first
