"""How a compiled function is bound to objects, copied and pickled."""

from __future__ import annotations

import copy
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from ..guards.kinds import FunctionWrapper
from .methods import CompiledMethods


class Bindable(FunctionWrapper):
    """The settings of a compiled function; its copies have graphs of their own.

    Args:
        fn: the function.
        fullgraph, level, dynamic: the settings (see `Compiled`).
    """

    def __init__(self, fn: Callable[..., Any], fullgraph: bool, level: str,
                 dynamic: list[Any] | None):
        own: Any = self
        functools.update_wrapper(own, fn, updated=())
        self.fn = fn
        self.fullgraph = fullgraph
        self.level = level
        self.dynamic = dynamic

    def __deepcopy__(self, memo: dict) -> Bindable:
        """A new compiled function for a copied object; a plain function is not copied."""
        fn = copy.deepcopy(self.fn, memo)
        return self if fn is self.fn else self._of(fn)

    def __copy__(self) -> Bindable:
        return self._of(self.fn)

    def __reduce__(self) -> Any:
        """Pickles the function and the settings; only its name if it is a name of a module."""
        found: Any = sys.modules.get(self.__module__)
        name = getattr(self, "__qualname__", "")
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (
            type(self), (self.fn, self.fullgraph, self.level, self.dynamic))

    def _of(self, fn: Any) -> Bindable:
        """Another function, compiled with the same settings."""
        return type(self)(fn, self.fullgraph, self.level, self.dynamic)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """As a method: each object has a compiled function of its own."""
        if owner is None:
            return self
        if isinstance(owner, type) or not hasattr(owner, "__dict__"):
            bound: Any = self
            return types.MethodType(bound, owner)
        kept = owner.__dict__.setdefault("_compiled_methods", CompiledMethods())
        found = kept.get(self)
        if found is None:  # one for all threads
            found = kept.setdefault(self, self._of(functools.partial(self.fn, owner)))
        if found.fn.args[0] is not owner:  # the object is a shallow copy
            found = kept[self] = self._of(functools.partial(self.fn, owner))
        return found
