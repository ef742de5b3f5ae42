"""Kinds of objects (the program's, Lamella's, a library's), and the names that code uses."""

from __future__ import annotations

import array
import builtins
import contextvars
import datetime
import decimal
import enum
import functools
import inspect
import logging
import numbers
import operator
import pathlib
import random
import re
import struct
import sys
import sysconfig
import threading
import types
import uuid
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ...core.classes import attributes_of, built_in, is_a, slot_of
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor

MOST_PARTS = 1000  # of a container; a larger one is compared only if the code read it
LEVELS = 16  # of containers; those that are deeper inside are compared by identity
MOST_READS = 1000  # attempts to read a container that other threads change
MOST_BYTES = 2**16  # of an array; a larger one is compared only if the code read it
PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype)
BUILT_IN = vars(builtins)  # what code uses of these is watched by name
ATOMS = frozenset(PLAIN)  # to look up exact types, which have no attributes of their own
DICTS = (dict, OrderedDict, defaultdict, Counter)  # values in these are found by their keys
# taken as constant; SymPy's expressions, on mpmath's numbers, are immutable
_KNOWN = ("lamella", "mindspore", "torch", "numpy", "builtins", "scipy", "sympy", "mpmath")
# classes of Python's library in which programs keep their own values
DATA = (("types", "SimpleNamespace"), ("argparse", "Namespace"), ("collections", "UserDict"),
         ("collections", "UserList"), ("collections", "ChainMap"), ("_thread", "_local"))
CACHED: Any = type(functools.lru_cache(len))
BUFFERS = (bytearray, array.array, memoryview)
VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_NOTHING = object()  # the value of a slot that has none
_DERIVABLE = (*PLAIN, tuple, list, deque, dict, set, frozenset, *BUFFERS, weakref.ReferenceType)
# names of functions that read or assign attributes without naming them
BY_NAME = frozenset(("getattr", "setattr", "vars", "__dict__", "attrgetter", "dir"))
ANY_NAME = BY_NAME | {"methodcaller", "deepcopy", "asdict", "astuple", "dumps", "locals"}
# special methods that run only while an object is created, copied, pickled or printed
MAKING = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__del__",
                    "__set_name__", "__class_getitem__", "__reduce__", "__reduce_ex__",
                    "__getstate__", "__setstate__", "__copy__", "__deepcopy__", "__repr__"))
CALLED = frozenset(("construct", "bprop", "jvp"))  # methods that Lamella calls
_OPAQUE_MODULES = sys.stdlib_module_names - {"builtins", "typing", "abc", "enum"}
# objects of Python's library that are immutable, or whose state is read by calls only
_STATELESS: tuple[type, ...] = (
    *PLAIN[:-1], tuple, list, deque, dict, set, frozenset, np.ndarray, *BUFFERS, *VIEWS, type,
    types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, CACHED,
    types.MappingProxyType, types.GenericAlias, types.CodeType, types.CellType, functools.partial,
    functools.partialmethod, functools.cached_property, weakref.ReferenceType, re.Pattern, re.Match,
    struct.Struct, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo,
    decimal.Decimal, numbers.Number, pathlib.PurePath, uuid.UUID, enum.Enum, inspect.Signature,
    inspect.Parameter, logging.Logger, contextvars.ContextVar, operator.attrgetter,
    operator.itemgetter, operator.methodcaller, random.Random, threading.local,
    type(threading.Lock()), type(threading.RLock()))


class ByIdentity:
    """Equal to another one if both hold the same object."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any):
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return is_a(other, ByIdentity) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


class ByIdentities:
    """A long container of plain values; equal to another one with the same objects."""

    __slots__ = ("parts",)

    def __init__(self, parts: list):
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return (is_a(other, ByIdentities) and len(other.parts) == len(self.parts)
                and all(map(operator.is_, self.parts, other.parts)))

    def __hash__(self) -> int:
        return len(self.parts)


class FunctionWrapper:
    """A callable that reaches the same objects as the function it wraps."""

    fn: Any


def is_large(thing: Any) -> bool:
    """Whether a container or an array is compared only if code that ran may have read it."""
    if is_a(thing, np.ndarray):
        return thing.nbytes > MOST_BYTES
    return is_a(thing, (list, tuple, dict, set, frozenset, deque)) and length_of(thing) > MOST_PARTS


def is_opaque(thing: Any) -> bool:
    """Whether an object has a hidden state, which can't be compared."""
    kind = type(thing)
    module = kind.__module__
    if not is_a(module, str) or is_a(thing, _STATELESS):
        return False
    if is_a(thing, BaseException):
        return not is_users(module)
    if is_a(thing, Iterator):
        return _goes_on_in_c(kind) or not is_users(module) and not is_ours(thing)
    if module.partition(".")[0] in _OPAQUE_MODULES and not is_users(module):
        return (module, kind.__name__) not in DATA and (
            attributes_of(thing) is not None or has_hidden_state(kind))
    return is_users(module) and has_hidden_state(kind)


@functools.lru_cache(1024)
def _goes_on_in_c(kind: type) -> bool:
    """Whether C code of a class, or of one it is derived from, says what an iterator gives next."""
    return any(is_a(vars(base).get("__next__"), types.WrapperDescriptorType)
               for base in kind.__mro__)


@functools.lru_cache(1024)
def has_hidden_state(kind: type) -> bool:
    """Whether objects of a class have attributes that only C code can read."""
    return any(
        cls.__module__ == "_ctypes" or cls.__module__.partition(".")[0] not in _KNOWN and any(
            is_a(value, types.GetSetDescriptorType) and name[:2] != "__"
            for name, value in vars(cls).items())
        for cls in kind.__mro__ if is_a(cls.__module__, str))


def parts_of(container: Any) -> list[Any]:
    """The items of a mapping, or the elements of another container, at one time.

    It is read again if another thread changes it meanwhile.
    """
    cls = type(container)
    mapping = issubclass(cls, (dict, types.MappingProxyType))
    iterate = built_in(cls, "items" if mapping else "__iter__")
    for _ in range(MOST_READS):
        try:
            return list(iterate(container))
        except RuntimeError:
            continue
    return list(iterate(container))


def length_of(container: Any) -> int:
    """How many parts a container holds, whatever its class says."""
    return built_in(type(container), "__len__")(container)


@functools.lru_cache(4096)
def may_have_attributes(kind: type) -> bool:
    """Whether objects of a class have a `__dict__`, or slots."""
    return kind.__dictoffset__ != 0 or bool(slots_of(kind))


def attributes_in(thing: Any) -> dict[str, Any]:
    """The attributes of an object, also those in slots; its own dict, if it has no slots."""
    own, slots = attributes_of(thing), slots_of(type(thing))
    if not slots:
        return own or {}
    held = {name: slot_of(thing, name, _NOTHING) for name in slots}
    return {**{name: value for name, value in held.items() if value is not _NOTHING}, **(own or {})}


def default_of(container: Any) -> Any:
    """What makes the values that a dict lacks; None if nothing does."""
    return container.default_factory if is_a(container, defaultdict) else None


def described(dtype: np.dtype) -> str:
    """A NumPy type as text, with its fields if it has any."""
    return dtype.str if dtype.names is None else str(dtype)


def in_another_order(now: dict, before: dict) -> bool:
    """Whether the order of a dict's keys has changed other than by adding new ones at the end."""
    kept = [key for key in before if key in now]
    return kept != list(now)[:len(kept)]


def has_tensors_as_keys(thing: Any) -> bool:
    """Whether an object is a dict or a set that finds Tensors by their identity."""
    if not is_a(thing, (dict, set, frozenset)):
        return False
    keys = [key for key, _ in parts_of(thing)] if is_a(thing, dict) else parts_of(thing)
    return any(map(is_no_parameter, keys))


def is_no_parameter(thing: Any) -> bool:
    """Whether an object is a Tensor other than a Parameter."""
    return is_a(thing, Tensor) and not is_a(thing, Parameter)


def behind(proxy: Any) -> Any:
    """The object of a weak proxy; None if it no longer exists."""
    try:
        return proxy.__init__.__self__
    except ReferenceError:
        return None


@functools.lru_cache(4096)
def slots_of(kind: type) -> tuple[str, ...]:
    """The names of the slots of a class and its bases, as attributes have them."""
    return tuple([name for cls in kind.__mro__ for name in _slots_in(cls)
                  if name not in ("__dict__", "__weakref__")])


def _slots_in(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    private = f"_{cls.__name__.lstrip('_')}" if cls.__name__.strip("_") else ""
    return tuple([private + name if name[:2] == "__" and name[-2:] != "__" else name
                  for name in ((slots,) if is_a(slots, str) else slots)])


def functions_of(value: Any) -> tuple[Any, ...]:
    """The functions that a member of a class calls."""
    if is_a(value, (types.FunctionType, FunctionWrapper, functools.partialmethod)):
        return (value,)
    if is_a(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if is_a(value, property):
        return tuple([f for f in (value.fget, value.fset) if f is not None])
    if is_a(value, functools.cached_property):
        return (value.func,)
    return ()


def has_value(variable: types.CellType) -> bool:
    """Whether a variable of a closure has been assigned."""
    try:
        variable.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


_LIBRARY = tuple({sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib")})


def is_ours(thing: Any) -> bool:
    """Whether an object is of one of Lamella's classes."""
    module = type(thing).__module__
    return is_a(module, str) and module.split(".")[0] == "lamella"


def is_ours_function(thing: Any) -> bool:
    """Whether an object is a function of Lamella's."""
    return (is_a(thing, types.FunctionType)
            and (thing.__module__ or "").partition(".")[0] == "lamella")


def is_derived(thing: Any) -> bool:
    """Whether a value's class adds to one of Python's or NumPy's kinds: methods, or attributes."""
    if is_a(thing, np.ndarray):
        return type(thing) is not np.ndarray
    return is_a(thing, _DERIVABLE) and is_users(type(thing).__module__) and not is_a(
        thing, enum.Enum)  # whose attributes count in any case


def is_of_numpy(thing: Any) -> bool:
    """Whether an object with attributes is of one of NumPy's or SciPy's classes: a `poly1d`."""
    module = type(thing).__module__
    return is_a(module, str) and module.partition(".")[0] in ("numpy", "scipy") and (
        attributes_of(thing) is not None and not is_a(thing, (types.ModuleType, type)))


@functools.lru_cache(1024)
def is_users(module: str | None) -> bool:
    """Whether a module is the user's: not Lamella's, PyTorch's, NumPy's or Python's own.

    Classes made at run time may have no module; they count as the user's.
    """
    if not is_a(module, str):
        return module is None  # classes of extension modules may have a descriptor there
    if module == "__main__":  # whichever file Python has put there: that of a profiler, maybe
        return True
    if module.split(".")[0] in _KNOWN or module in sys.builtin_module_names:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is None or _is_users_file(file)


@functools.lru_cache(1024)
def compared_by_code(kind: type) -> bool:
    """Whether classes of a metaclass of the program's are equal, or hashed, by code of its own."""
    return any("__eq__" in vars(cls) or "__hash__" in vars(cls)
               for cls in kind.__mro__ if is_users(cls.__module__))


def is_users_code(code: types.CodeType) -> bool:
    """Whether code is outside of Python's own library."""
    return _is_users_file(code.co_filename)


@functools.lru_cache(1024)
def _is_users_file(file: str) -> bool:
    return not file.startswith(_LIBRARY) or "site-packages" in file


def tensor_meta(raw: torch.Tensor) -> tuple:
    """The metadata of a tensor, on which a run's kernels depend: shape, strides, type, device."""
    return raw.shape, raw.stride(), raw.dtype, raw.device
