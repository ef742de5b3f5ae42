"""The settings of the process: each has a name, a default, and may be one that graphs depend on.

A run that is recorded as a graph and reads a setting gets a guard on its value, whoever reads it:
the program by a getter, or a layer. A run that changes one can't be a graph. So a new setting needs
its default here and nothing else: no compiler has to know the functions that read and set it.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from .state import state

FAMILIES: dict[str, Settings] = {}  # all settings of the process, by the names of their families


class Settings(MutableMapping[str, Any]):
    """Settings that belong together, such as those of `set_context`, by name.

    Deleting one puts it back to its default.

    Args:
        family: what they are settings of.
        defaults: each setting with its default.
        unguarded: those that no graph depends on, such as how data are fetched.

    Raises:
        KeyError: for a name that isn't among the defaults, by each access.

    Examples:
        >>> from lamella.core.settings import Settings
        >>> colors = Settings("colors of an example", {"sky": "blue"})
        >>> colors["sky"] = "grey"
        >>> colors["sky"], colors.defaults["sky"], colors.was_set("sky")
        ('grey', 'blue', True)
        >>> colors.clear()
        >>> colors["sky"]
        'blue'
    """

    # no state that graphs compare: each setting that is read is guarded
    __caches__ = ("_given", "_inner")

    def __init__(self, family: str, defaults: Mapping[str, Any], unguarded: tuple[str, ...] = ()):
        self.family = family
        self.defaults = dict(defaults)
        self.unguarded = frozenset(unguarded)
        self._given: dict[str, Any] = {}
        self._inner: set[str] | None = None  # changed by a run that is traced, in a block of `kept`
        FAMILIES[family] = self

    def was_set(self, name: str) -> bool:
        """Whether a setting has been set, to whatever value."""
        if state.trace is not None and name not in (self._inner or ()):
            state.trace.outside.depend_once((self.family, name, "was set"), functools.partial(
                self._given.__contains__, name))
        return name in self._given

    def add(self, name: str, default: Any) -> None:
        """Add a setting."""
        self.defaults[name] = default

    def __getitem__(self, name: str) -> Any:
        trace = state.trace
        if (trace is not None and name in self.defaults and name not in self.unguarded
                and name not in (self._inner or ())):
            trace.outside.depend_once((self.family, name), functools.partial(self._form, name))
        return self.unwatched(name)

    def unwatched(self, name: str) -> Any:
        """A setting's value for a reader whose results don't depend on it: no guard is added."""
        found = self._given.get(name, self)
        return self.defaults[name] if found is self else found

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.defaults:
            raise KeyError(name)
        self._changing(name)
        self._given[name] = value

    def __delitem__(self, name: str) -> None:
        self._changing(name)
        self._given.pop(name, None)

    def clear(self) -> None:
        """Put all settings back to their defaults."""
        for name in list(self._given):
            del self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.defaults)

    def __len__(self) -> int:
        return len(self.defaults)

    def __contains__(self, name: object) -> bool:  # without reading it
        return name in self.defaults

    @contextmanager
    def kept(self) -> Iterator[None]:
        """A block after which all settings are as they were before it.

        A run that is being recorded may change them inside; its replays don't repeat that.
        """
        before, inner = dict(self._given), self._inner
        self._inner = set(inner or ())
        try:
            yield
        finally:
            self._inner = inner
            self._given.clear()
            self._given.update(before)

    def _changing(self, name: str) -> None:
        if state.trace is not None and self._inner is not None:
            self._inner.add(name)
        elif state.trace is not None:
            state.trace.refuse(f"changes the setting '{name}' of {self.family}")

    def _form(self, name: str) -> Any:
        """A setting's value, apart from later changes inside of it."""
        return copy.deepcopy(self.unwatched(name))
