"""Conversions and array methods of NumPy 1 that NumPy 2 no longer has.

Arrays are a type in C: a method that Python looks up by name is an entry of the type's
dictionary, and one that C code calls (``float(array)``) a pointer in the type as well. The pointer
is taken from a class of Python's, whose C function looks the method up by name.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import sysconfig
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["offer"]

# Python's C interface: the place of `tp_as_number` in a type, and of functions in there, which are
# also known by numbers (Include/typeslots.h)
_NUMBERS = 12
_PLACES = {"__float__": (18, 11), "__int__": (16, 26)}
_WORD = ctypes.sizeof(ctypes.c_void_p)


def offer() -> Callable[[], None]:
    """Let arrays of one element be converted to a number in any rank, with a warning.

    Also the methods `itemset`, `newbyteorder`, `ptp` and `tostring`, where this NumPy lacks them.
    Nothing is changed where the type isn't laid out as this Python's interface says.

    Returns:
        A function that undoes this.
    """
    kinds = [np.ndarray, *_below(np.ndarray)]
    entries = _entries(np.ndarray)
    before = {name: entries.get(name) for name in (*_PLACES, "__complex__", *_METHODS)}
    pointers: list[tuple[ctypes.c_void_p, int | None]] = []
    for name in _PLACES if _is_laid_out_as_usual() else ():
        try:
            getattr(np.zeros(1), name)()
        except TypeError:
            method = _converting(getattr(np.ndarray, name), name.strip("_"))
            pointers += _replace(kinds, name, method)
    try:
        complex(np.zeros(1))
    except TypeError:
        entries["__complex__"] = _converting(np.ndarray.__complex__, "complex")
    for name, (function, instead) in _METHODS.items():
        if not hasattr(np.ndarray, name):
            entries[name] = _warning(name, function, instead)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.ndarray))

    def undo() -> None:
        for pointer, address in pointers:
            pointer.value = address
        for name, method in before.items():
            if method is None:
                entries.pop(name, None)
            else:
                entries[name] = method
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(np.ndarray))

    return undo


def _is_laid_out_as_usual() -> bool:
    """Whether objects begin with a count and a type: not in builds without the global lock, or
    that list all objects."""
    return (sys.implementation.name == "cpython" and not hasattr(sys, "getobjects")
            and not sysconfig.get_config_var("Py_GIL_DISABLED"))


def _below(kind: type) -> list[type]:
    """The classes that are derived from one."""
    return [found for derived in kind.__subclasses__() for found in (derived, *_below(derived))]


def _entries(kind: type) -> dict[str, Any]:
    """The dictionary of a type, that can be written to."""
    return gc.get_referents(vars(kind))[0]


def _replace(kinds: list[type], name: str, function: Callable[..., Any]
             ) -> list[tuple[ctypes.c_void_p, int | None]]:
    """Replace a function of numbers.

    Returns:
        The pointers that have changed, each with the address before.
    """
    place, number = _PLACES[name]
    by_name = type("ByName", (), {name: function})
    old, new = _pointer(np.ndarray, place), _pointer(by_name, place)
    known = ctypes.pythonapi.PyType_GetSlot
    known.restype, known.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    if old.value != known(np.ndarray, number) or new.value != known(by_name, number):
        return []
    before = old.value
    _entries(np.ndarray)[name] = function
    changed = [pointer for pointer in (_pointer(kind, place) for kind in kinds)
               if pointer.value == before]
    for pointer in changed:
        pointer.value = new.value
    return [(pointer, before) for pointer in changed]


def _pointer(kind: type, place: int) -> ctypes.c_void_p:
    """Where a type keeps its function for numbers."""
    numbers = ctypes.c_void_p.from_address(id(kind) + _NUMBERS * _WORD)
    return ctypes.c_void_p.from_address(numbers.value + place * _WORD)  # type: ignore[operator]


def _converting(convert: Callable[[Any], Any], kind: str) -> Callable[[Any], Any]:
    """A method that converts an array of one element to a number."""
    def method(self: Any) -> Any:
        if self.ndim and self.size == 1:
            warnings.warn(f"NumPy 2 converts only arrays of rank 0 to a number; write "
                          f"{kind}(array.item()).", DeprecationWarning, stacklevel=2)
            self = self.reshape(())
        return convert(self)

    return method


def _warning(name: str, method: Callable[..., Any], instead: str) -> Callable[..., Any]:
    def called(self: Any, *args: Any) -> Any:
        warnings.warn(f"ndarray.{name} is no part of NumPy 2; use {instead}.", DeprecationWarning,
                      stacklevel=2)
        return method(self, *args)

    called.__name__ = name
    return called


def _itemset(self: Any, *args: Any) -> None:
    *place, value = args
    if not place:
        self[...] = value
    elif len(place) == 1 and not isinstance(place[0], tuple):
        self.flat[place[0]] = value
    else:
        self[place[0] if len(place) == 1 else tuple(place)] = value


_METHODS: dict[str, tuple[Callable[..., Any], str]] = {
    "itemset": (_itemset, "array[place] = value"),
    "newbyteorder": (lambda self, order="S": self.view(self.dtype.newbyteorder(order)),
                     "array.view(array.dtype.newbyteorder(order))"),
    "ptp": (np.ptp, "np.ptp"),
    "tostring": (lambda self, order="C": self.tobytes(order), "tobytes"),
}
