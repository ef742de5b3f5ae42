"""Limits on recordings: for objects and texts that differ in each call, and for runs that raise."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..guards.arguments import with_leaves
from .keys import key_of, tensor_meta_of_any_size
from .recompilations import called
from .scalar_profile import input_kind

MOST_OBJECTS = 32  # different objects or texts as arguments, for each of which there are graphs
MOST_RAISED = 2  # recorded runs that raised, before such calls run eagerly until one succeeds
MOST_LEFT = 3  # recorded runs whose graphs hold for no other call
MOST_NEW = 2  # runs that made an object that stays, before the function runs eagerly
MOST_WARNINGS = 4  # runs that issued a warning, before the function runs eagerly
MOST_OUTLINES = 64  # kinds of calls that are told apart


class Limits:
    """What a function has been recorded for, by the types of its arguments.

    Args:
        fn: the function.
    """

    def __init__(self, fn: Callable[..., Any]):
        self._fn = fn
        self._kinds: dict[Any, dict[Any, None]] = {}
        self._raised: Counter[Any] = Counter()
        self._left: Counter[Any] = Counter()
        self._objects = self._warnings = self._errors = 0

    def admits(self, args: tuple, kwargs: dict) -> bool:
        """Whether the function may be recorded for such arguments."""
        known = self._kinds.get(classes_of(args, kwargs), ())
        return len(known) < MOST_OBJECTS or kinds_of(args, kwargs) in known

    def note(self, args: tuple, kwargs: dict) -> None:
        """Note that the function has been recorded for these arguments."""
        self._kinds.setdefault(classes_of(args, kwargs), {})[kinds_of(args, kwargs)] = None
        if len(self._kinds) > MOST_OUTLINES:
            del self._kinds[next(iter(self._kinds))]

    def refusal(self, args: tuple, kwargs: dict) -> str:
        """Why it isn't recorded for these arguments; it names those that differ each time."""
        known = self._kinds[classes_of(args, kwargs)]
        differing = [number for number, kind in enumerate(kinds_of(args, kwargs))
                     if sum(others[number] != kind for others in known) > MOST_OBJECTS // 2]
        names = self._names(args, kwargs)
        names[len(args):] = ["**" if any(others[number][0] != name for others in known) else name
                             for number, name in enumerate(kwargs, len(args))]
        which = self._listed(list(dict.fromkeys([names[number] for number in differing])))
        return (f"its {which} had {MOST_OBJECTS} other values so far, each a new object or "
                f"text, or a container with other keys or another length, and it has been recorded "
                f"for each of them. A function that is given the same object each time, or Tensors "
                f"and numbers, is recorded once")

    def without_key(self, args: tuple, kwargs: dict, error: Exception) -> str:
        """Why a call can't be looked up: comparing its arguments raised this error."""
        names = self._names(args, kwargs)
        which = self._listed([name for name, value in zip(
            names, [*args, *kwargs.values()], strict=True) if not _has_key(value)] or names)
        if isinstance(error, RecursionError):
            return f"its {which} contains itself, or is nested too deeply"
        return f"its {which} can't be compared ({type(error).__name__}: {error})"

    @staticmethod
    def _listed(names: list[str]) -> str:
        return f"argument{'s' * (len(names) > 1)} " + " and ".join([f"'{name}'" for name in names])

    def _names(self, args: tuple, kwargs: dict) -> list[str]:
        names = [str(number) for number in range(len(args))]
        try:
            bound = inspect.signature(called(self._fn)).bind(*range(len(args)), **kwargs).arguments
        except (TypeError, ValueError):
            bound = {}
        for name, place in bound.items():
            for number in place if isinstance(place, tuple) else (place,):
                if isinstance(number, int) and name not in kwargs:
                    names[number] = name
        return [*names, *kwargs]

    def may_record(self, args: tuple, kwargs: dict) -> bool:
        """Whether recorded runs with such arguments have not raised again and again."""
        return not self._raised or self._raised[outline_of(args, kwargs)] < MOST_RAISED

    def raised(self, args: tuple, kwargs: dict) -> None:
        """Note that a recorded run has raised an error."""
        outline = outline_of(args, kwargs)
        if outline in self._raised or len(self._raised) < MOST_OUTLINES:
            self._raised[outline] += 1

    def succeeded(self, args: tuple, kwargs: dict) -> None:
        """Note that such a run has returned: the next one may be recorded."""
        if self._raised:
            self._raised.pop(outline_of(args, kwargs), None)

    def may_be_first_object(self) -> bool:
        """Note that a run has made an object that stays; returns whether to record the next."""
        self._objects += 1
        return self._objects <= MOST_NEW

    def may_be_last_error(self) -> bool:
        """Note that a run has caught an error of a kernel; returns whether to record the next."""
        self._errors += 1
        return self._errors <= MOST_RAISED

    def may_be_last_warning(self) -> bool:
        """Note that a run has issued a warning; returns whether to record the next."""
        self._warnings += 1
        return self._warnings <= MOST_WARNINGS

    def left(self, args: tuple, kwargs: dict) -> bool:
        """Note that a graph holds for no other call; returns whether there were too many."""
        outline = outline_of(args, kwargs)
        self._left[outline] += 1
        return self._left[outline] > MOST_LEFT


def outline_of(args: tuple, kwargs: dict) -> Any:
    """The types of the arguments, and of what they hold; it keeps none of them alive."""
    return key_of(*with_leaves((args, kwargs), type))


def classes_of(args: tuple, kwargs: dict) -> Any:
    """The classes of the arguments, without their contents and without the names of named ones."""
    return tuple(map(type, args)), tuple(map(type, kwargs.values()))


def _has_key(value: Any) -> bool:
    try:
        hash(key_of((value,), {}))
    except Exception:  # noqa: BLE001
        return False
    return True


def kinds_of(args: tuple, kwargs: dict) -> tuple[Any, ...]:
    """The kind of each argument without numbers and sizes; of a named one with its name."""
    plain = with_leaves([*args, *kwargs.values()],
                        lambda leaf: leaf if (kind := input_kind(leaf)) is None else kind)
    kinds = [key_of((value,), {}, tensor_meta_of_any_size) for value in plain]
    return *kinds[:len(args)], *zip(kwargs, kinds[len(args):], strict=True)
