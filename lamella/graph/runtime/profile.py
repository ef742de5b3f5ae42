"""The profile of values: which have differed between the calls of a function so far."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any


class Profile:
    """Where values have differed between the calls so far.

    Numbers (`scalar_profile`) and sizes (`size_profile`) are two kinds of such values. Those that
    have differed become inputs of a graph, or its symbols; the others stay guards.

    Attributes:
        places: where they have.
    """

    def __init__(self) -> None:
        self.places: set[Any] = set()
        self._before: Mapping[Any, Any] = {}

    def note(self, values: Mapping[Any, Any],
             differ: Callable[[Any, Any], bool] = operator.ne) -> None:
        """Note the values of a call by their places."""
        before, self._before = self._before, values
        self.places.update(place for place, value in values.items()
                           if place in before and differ(before[place], value))
