"""Stand-ins: objects that take the place of varying values in a dry run.

One idea serves all of them. A stand-in has a *source*, where each replay finds the value again: an
argument, an attribute, a generator of random numbers, a tensor. A use of it does one of three
things. It *stays*: what is computed of a stand-in is a stand-in, and each replay computes it again.
It is a *guard*: its outcome is a Python value, and the graph holds while that is the same. Or it
needs the value itself (`StandIn.plain`): then the value is guarded, if a replay knows it before it
runs the graph, and otherwise the run is refused. So a result never depends on a value that is
neither guarded nor computed again.

=================== ============================= ======================= ======================
stand-in            source                        stays                   what needs the value
=================== ============================= ======================= ======================
`SymbolicScalar`    argument, attribute, draw     arithmetic, kernels     is a guard on it
`ReadScalar`        one element of a tensor       arithmetic, kernels     is refused
`GivenArray`        argument, draw                NumPy's arithmetic      is refused
`AppendOnly`        attribute                     appending               is refused
`draws.Generator`   name, argument                drawing                 is refused
a mark in a text    what is put into the text     printing, logging,      is a guard on it, or
(`texts`)                                         returning, appending    is refused
=================== ============================= ======================= ======================

Comparisons and tests of numbers are guards on their outcomes. Functions of Python's that take
stand-ins (`python_functions`) are put where the program finds its own, as stand-ins are
(`in_place`). Sizes are symbols of PyTorch's (`symbolic`).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ..guards.sources import OfClass, Source
from .refusals import CannotTrace


class StandIn:
    """What stands for a value.

    Attributes:
        value: the value in this run.
    """

    __slots__ = ()
    value: Any

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self.value)

    def plain(self, use: str = "the value") -> Any:
        """The value itself, for a use that isn't recorded; refused, unless a kind can guard it.

        Raises:
            CannotTrace: if the run is refused.
        """
        raise CannotTrace(f"uses {use} of {self.described()}")

    def described(self) -> str:
        """What it stands for, in messages."""
        return f"a {type(self.value).__name__}"


@contextmanager
def in_place(stand_ins: Sequence[tuple[Source, Any]]) -> Iterator[None]:
    """A block in which the program finds stand-ins at these sources."""
    real = [(source.whole(), source.whole().get()) for source, _ in stand_ins]
    try:
        for source, stand_in in stand_ins:
            # a class would make a method of a function
            is_member = type(source) is OfClass and isinstance(stand_in, types.FunctionType)
            source.set(staticmethod(stand_in) if is_member else stand_in)
        yield
    finally:
        for source, value in reversed(real):
            source.set(value)


def need_the_value(kind: type[StandIn], uses: Mapping[str, Callable[..., Any]]) -> None:
    """Let special methods of stand-ins use the plain value, each by its function."""
    def defined(name: str, function: Callable[..., Any]) -> None:
        def used(self: StandIn, *args: Any) -> Any:
            return function(self.plain(name), *args)

        setattr(kind, name, used)

    for name, function in uses.items():
        defined(name, function)


def refuse_uses(kind: type[StandIn], names: Iterable[str]) -> None:
    """Let special methods of stand-ins refuse the run."""
    need_the_value(kind, dict.fromkeys(names, lambda value, *args: value))
