"""Declared state: each class says once which attributes of its objects are state.

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

# the attributes with compiled functions: of `jit` methods, and of calls and gradients in GRAPH_MODE
COMPILED = ("_compiled_methods", "_compiled_whole", "_compiled_gradients")
# for classes that don't say it themselves; objects of any class may have `jit` methods
_OF_OTHERS: dict[type, tuple[str, ...]] = {
    object: COMPILED[:1], types.FunctionType: COMPILED,
    logging.Logger: ("_cache", "manager", "parent", "root")}
# Python's library keeps what it has computed in its modules, too: `re` a pattern for each text
_OF_MODULES: dict[str, tuple[str, ...]] = {
    "re": ("_cache", "_cache2"), "linecache": ("cache",), "sys": ("path_importer_cache",),
    "encodings": ("_cache",), "_strptime": ("_regex_cache", "_TimeRE_cache"),
    "filecmp": ("_cache",), "ctypes": ("_c_functype_cache", "_pointer_type_cache"),
    "copyreg": ("_extension_cache",), "hashlib": ("__builtin_constructor_cache",),
    "inspect": ("_filesbymodname", "modulesbyfile"), "gettext": ("_translations",),
    "platform": ("_sys_version_cache", "_platform_cache", "_uname_cache"),
    "zipimport": ("_zip_directory_cache",)}


@functools.lru_cache(4096)
def caches_of(kind: type) -> frozenset[str]:
    """The names of the attributes that are no state of a class's objects.

    Examples:
        >>> import lamella as ms
        >>> from lamella.core.declared import caches_of
        >>> "_compiled_methods" in caches_of(ms.nn.ReLU), "training" in caches_of(ms.nn.ReLU)
        (True, False)
    """
    return frozenset([name for cls in kind.__mro__ for name in (
        *vars(cls).get("__caches__", ()), *_OF_OTHERS.get(cls, ()))])


def is_cache(module: str, name: str) -> bool:
    """Whether a name of a module of Python's library is a cache.

    Examples:
        >>> from lamella.core.declared import is_cache
        >>> is_cache("re", "_cache"), is_cache("os", "environ")
        (True, False)
    """
    return name in _OF_MODULES.get(module, ())


def without_caches(thing: Any) -> dict[str, Any]:
    """The attributes of an object that its copies get."""
    caches = caches_of(type(thing))
    return {name: value for name, value in thing.__dict__.items() if name not in caches}
