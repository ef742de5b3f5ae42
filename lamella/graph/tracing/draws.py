"""Random numbers of Python and NumPy that a run draws, as inputs of a graph.

In a dry run the program's calls of `random`, of `numpy.random` and of generators that it finds by
name give stand-ins. Each replay makes the same calls first, in the program's order, and computes
with what they give. Where a guard fails the generators are put back, so the stream of numbers is
always the one that the program draws eagerly. A number that decides a branch is a guard, and so
is each number whose value the program uses otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.state import state
from ..guards.reachable import Reachable
from ..guards.sources import Global, Source, kept_in
from ..guards.values import has_changed, kind_of
from .arrays import GivenArray, may_be_input
from .lines import NOWHERE, nearest_line
from .refusals import CannotTrace
from .scalar_environment import ScalarEnvironment
from .scalars import NUMBERS, SymbolicScalar
from .stand_ins import StandIn

MOST_DRAWS = 256  # calls of generators in a run
GENERATORS = frozenset((random.Random, np.random.Generator, np.random.RandomState))
_METHODS = frozenset(map(type, (random.random, random.uniform, np.random.rand,
                                np.random.default_rng().random)))  # the types of their methods
_OWN = (random.getstate.__self__, np.random.get_state.__self__)  # of the two modules
_SPACES: tuple[Any, ...] = (vars(random), vars(np.random))
_DRAWING = frozenset("""
    random uniform triangular randint choice randrange sample shuffle choices normalvariate
    lognormvariate expovariate vonmisesvariate gammavariate gauss betavariate binomialvariate
    paretovariate weibullvariate getrandbits
    rand randn random_sample ranf integers random_integers tomaxint permutation permuted normal
    standard_normal beta binomial chisquare dirichlet exponential f gamma geometric gumbel
    hypergeometric laplace logistic lognormal logseries multinomial multivariate_normal
    negative_binomial noncentral_chisquare noncentral_f pareto poisson power rayleigh
    standard_cauchy standard_exponential standard_gamma standard_t vonmises wald weibull
    zipf""".split())
_FIXED = (bool, int, float, complex, str, bytes, type(None), range, np.generic, np.dtype, type)
_COMPARED = (bool, str, bytes, type(None), np.bool_)


class Draws:
    """The random numbers that a dry run draws.

    Args:
        numbers: the numbers of the run, to which they belong.

    Attributes:
        generators: those that were drawn from, each once.
        lines: the statements by which a replay draws them and checks what was known before.
        given: the values of names in these statements.
        line: the line of the first draw.
    """

    def __init__(self, numbers: ScalarEnvironment):
        self.generators: list[Any] = []
        self.lines: list[str] = []
        self.given: dict[str, Any] = {}
        self.line = NOWHERE
        self._numbers, numbers.draws = numbers, self
        self._checked = self._count = 0
        self._standing: dict[int, Generator] = {}

    def stand_in(self, own: Any) -> Generator:
        """The stand-in for a generator, always the same."""
        return self._standing.setdefault(id(own), Generator(self, own))

    def sources(self, reach: Reachable) -> list[tuple[Source, Any]]:
        """Where the program finds generators and their methods, with their stand-ins."""
        of_modules = [(Global(space, name), found) for space in _SPACES
                      for name, found in space.items()
                      if any(getattr(found, "__self__", None) is own for own in _OWN)]
        return [*((source, self.stand_in(own))
                  for source, own in kept_in(reach, GENERATORS).values()),
                *((source, self.stand_in(found.__self__).method(found.__name__, found))
                  for source, found in (*of_modules, *kept_in(reach, _METHODS).values())
                  if type(getattr(found, "__self__", None)) in GENERATORS)]

    def are_recorded(self) -> bool:
        """Whether this thread is in the run."""
        return state.trace is not None and state.trace.scalars is self._numbers

    def drawn(self, name: str, function: Callable[..., Any], source: Any, args: tuple,
              kwargs: dict[str, Any]) -> Any:
        """The stand-in for what a function draws from a generator."""
        if name == "shuffle":
            return self._shuffled(function, source, *args, **kwargs)
        return self._drawn(function, source, args, kwargs)

    def _shuffled(self, function: Callable[..., Any], source: Any, x: Any, *more: Any,
                  **kwargs: Any) -> None:
        """Shuffle a list."""
        if type(x) is not list or more or kwargs:
            raise CannotTrace("shuffles something that is not a list")

        def shuffled(items: list[Any]) -> list[Any]:
            items = list(items)
            function(items)
            return items

        x[:] = self._drawn(shuffled, source, (x,), {})

    def _drawn(self, function: Callable[..., Any], source: Any, args: tuple,
               kwargs: dict[str, Any]) -> Any:
        sources = [self._source(arg) for arg in args]
        sources += [f"{key}={self._source(arg)}" for key, arg in kwargs.items()]
        self._count += 1
        if self._count > MOST_DRAWS:
            raise CannotTrace(f"draws more than {MOST_DRAWS} random numbers")
        if not any(own is source for own in self.generators):
            self.generators.append(source)
        name = f"d{self._count}"
        self.given[f"draw{self._count}"] = function
        if self.line is NOWHERE:
            self.line = nearest_line()
        value = function(*[_real(arg) for arg in args],
                         **{key: _real(arg) for key, arg in kwargs.items()})
        self.check()
        self.lines.append(f"{name} = draw{self._count}({', '.join(sources)})")
        return self._standing_for(value, name)

    def check(self) -> None:
        """Add the statements for the guards that are new."""
        conditions = list(self._numbers.conditions)
        self.lines += [f"if not ({text}): return None" for text in conditions[self._checked:]]
        self._checked = len(conditions)

    def _source(self, value: Any) -> str:
        """The source text of an operand."""
        if type(value) is SymbolicScalar or type(value) is GivenArray:
            return value.text
        if isinstance(value, SymbolicScalar):  # it was read off a tensor
            value = value.plain()
        if type(value) in (list, tuple):
            parts = "".join(f"{self._source(part)}, " for part in value)
            return f"[{parts}]" if type(value) is list else f"({parts})"
        if type(value) is not np.ndarray and not isinstance(value, _FIXED):
            raise CannotTrace(f"draws random numbers from a {value.__class__.__name__}")
        name = f"c{len(self.given)}"
        self.given[name] = value.copy() if type(value) is np.ndarray else value
        return name

    def _standing_for(self, value: Any, text: str) -> Any:
        """The stand-in for a value that was drawn."""
        numbers = self._numbers
        if may_be_input(value):
            numbers.condition(f"{text}.shape == {value.shape} and "
                              f"{text}.dtype.str == {value.dtype.str!r}")
            return GivenArray(numbers, value, text)
        if type(value) in (list, tuple):
            numbers.condition(f"len({text}) == {len(value)}")
            return type(value)([self._standing_for(part, f"{text}[{i}]")
                                for i, part in enumerate(value)])
        if type(value) in _COMPARED:
            numbers.condition(f"repr({text}) == {repr(value)!r}")
            return value
        if type(value) not in NUMBERS:
            raise CannotTrace(f"draws a {type(value).__name__}")
        numbers.condition(f"type({text}) is {type(value).__name__}")
        return SymbolicScalar(numbers, value, text)


class Generator(StandIn):
    """A stand-in for a generator; other threads that meet it meanwhile use the generator itself.

    Args:
        draws: the run's.
        value: the generator.
    """

    __slots__ = ("_draws", "value")

    def __init__(self, draws: Draws, value: Any):
        self._draws, self.value = draws, value

    def described(self) -> str:
        """What it stands for, in messages."""
        return "a generator of random numbers"

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        if callable(found):
            return self.method(name, found)
        return self.plain(name) if self._draws.are_recorded() else found

    def method(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A method that draws and gives stand-ins; others end the dry run."""
        def called(*args: Any, **kwargs: Any) -> Any:
            if not self._draws.are_recorded():
                return function(*args, **kwargs)
            if name not in _DRAWING:
                return self.plain(name)
            return self._draws.drawn(name, function, self.value, args, kwargs)

        return called


def _real(value: Any) -> Any:
    """A value without stand-ins."""
    if type(value) is GivenArray or isinstance(value, SymbolicScalar):
        return value.value
    if type(value) in (list, tuple):
        return type(value)(map(_real, value))
    return value


class Positions:
    """Where generators are, to put them back there."""

    def __init__(self, sources: Sequence[Any]):
        self._positions = [(source, kind_of(source).copy(source)) for source in sources]

    def put_back(self) -> None:
        """Put the generators back."""
        for source, before in self._positions:
            kind_of(source).put_back(source, before)

    def differ(self) -> bool:
        """Whether any of them is elsewhere now."""
        return any(has_changed(source, before) for source, before in self._positions)


def global_generators() -> list[Any]:
    """Python's and NumPy's own generators."""
    return list(_OWN)
