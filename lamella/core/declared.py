"""Declared state: which attributes of an object are its state, said once, by its class.

All of them are, those of Lamella's classes as those of a program's, but for the names that a class
lists in ``__caches__``: what its objects compute again where it is missing, and what belongs to one
object alone. Guards don't compare caches, snapshots neither restore nor repeat them, and a copy
begins without them. So a class that forgets to declare a cache is recorded once more than needed;
it never gives a number that is out of date.
"""

from __future__ import annotations

import functools
import logging
import types
from typing import Any

# as what Lamella keeps compiled functions: `jit` methods, calls and gradients in GRAPH_MODE
COMPILED = ("_compiled", "_graph", "_graph_gradients")
# what other classes would say; objects of any class may have `jit` methods
_OF_OTHERS: dict[type, tuple[str, ...]] = {
    object: COMPILED[:1], types.FunctionType: COMPILED,
    logging.Logger: ("_cache", "manager", "parent", "root")}


@functools.lru_cache(4096)
def caches_of(kind: type) -> frozenset[str]:
    """The names of the attributes that are no state of a class's objects.

    Examples:
        >>> import lamella as ms
        >>> from lamella.core.declared import caches_of
        >>> "_compiled" in caches_of(ms.nn.ReLU), "training" in caches_of(ms.nn.ReLU)
        (True, False)
    """
    return frozenset([name for cls in kind.__mro__ for name in (
        *vars(cls).get("__caches__", ()), *_OF_OTHERS.get(cls, ()))])


def without_caches(thing: Any) -> dict[str, Any]:
    """The attributes of an object that its copies get."""
    caches = caches_of(type(thing))
    return {name: value for name, value in thing.__dict__.items() if name not in caches}
