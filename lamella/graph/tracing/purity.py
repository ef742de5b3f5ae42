"""The table of pure functions: those written in C that a recorded run may call.

Any other function counts as a side effect or as input from outside the program (a clock, a file,
the environment), which a graph can't hold.
"""

from __future__ import annotations

import collections
import contextvars
import datetime
import decimal
import fractions
import functools
import random
import re
import struct
import sys
import types
import weakref
from typing import Any

import numpy as np
import torch

# modules whose functions are pure, or change nothing but their arguments
_MODULES = frozenset("""
    math cmath operator _operator itertools functools _functools collections _collections
    _collections_abc struct _struct bisect _bisect heapq _heapq re _sre json _json copy abc _abc
    typing _typing types string _string unicodedata zlib binascii _weakref weakref _codecs
    _statistics statistics _decimal decimal numbers enum copyreg _datetime _warnings warnings
    _hashlib _md5 _sha1 _sha2 _sha256 _sha512 _sha3 _blake2 inspect dataclasses keyword
    _contextvars opcode _opcode""".split())
# modules of Python's library whose functions written in Python have no other side effects than the
# C functions they call, and read nothing that changes except their arguments
_LIBRARY = frozenset("""
    abc _py_abc argparse ast base64 bisect calendar codecs collections colorsys contextlib copy
    copyreg csv dataclasses datetime decimal _pydecimal difflib enum fnmatch fractions functools
    genericpath heapq inspect io itertools json keyword math numbers operator pathlib pickle
    posixpath ntpath pprint random re reprlib shlex statistics string struct textwrap types typing
    uuid weakref _weakrefset _collections_abc""".split())
# functions of `logging` that first check whether the message's level is enabled
_OF_LOGGING = frozenset("""
    debug info warning warn error critical fatal exception log isEnabledFor getLogger""".split())
_EXCEPT = {
    # the hash of most objects is their id, and most ids differ between calls (see `identities`)
    "builtins": frozenset("open input breakpoint exit quit globals eval exec hash id".split()),
    "numpy": frozenset("fromfile memmap".split()),
    "_weakref": frozenset("getweakrefcount getweakrefs".split()),
    "_decimal": frozenset(("setcontext",)),
}
# the parts of PyTorch whose functions compute; what its other functions do is asked by name
_OPERATORS = frozenset("torch._C._nn torch._C._fft torch._C._linalg torch._C._special "
                       "torch._C._sparse torch._C._nested".split())
_SETTING = re.compile("_?(get|is|are|has)_")  # how its functions begin that say what is set
_SOME = {
    "sys": frozenset("intern getsizeof getdefaultencoding is_finalizing audit".split()),
    "_thread": frozenset("allocate_lock RLock".split()),
    "posix": frozenset(("fspath",)),
    "nt": frozenset(("fspath",)),
    "_io": frozenset(("text_encoding",)),
}
_KINDS = (
    str, bytes, bytearray, memoryview, int, float, complex, list, dict, tuple, set, frozenset,
    range, slice, property, classmethod, staticmethod, BaseException, collections.deque,
    types.MappingProxyType, types.GeneratorType, types.CodeType, types.FunctionType, types.CellType,
    types.MethodType, re.Pattern, re.Match, struct.Struct, random.Random, np.ndarray, np.generic,
    np.dtype, np.ufunc, torch.Tensor, torch.dtype, torch.Size, torch.device,
    weakref.ReferenceType, functools.partial, datetime.date, datetime.time, datetime.timedelta,
    datetime.tzinfo, decimal.Decimal, fractions.Fraction, contextvars.ContextVar,
    type({}.keys()), type({}.values()), type({}.items()), type(functools.lru_cache(len)))
# what functions of NumPy's that are written in Python iterate and convert with
_KINDS += (np.nditer, np.broadcast, np.flatiter)
_converter = getattr(getattr(getattr(np, "_core", None), "_multiarray_umath", None),
                     "_array_converter", None)  # of NumPy 2
_KINDS += (_converter,) if isinstance(_converter, type) else ()
# methods of these types that are not pure
_METHODS = frozenset("""
    tofile dump now utcnow today seed getstate setstate get_state set_state
    __subclasses__""".split())
_umath = getattr(getattr(np, "_core", np), "umath", None)
_of_numpy = getattr(_umath, "_get_extobj_dict", None)  # of NumPy 2
_OF_VARIABLES = frozenset(("get", "name"))  # of a ContextVar


def is_pure(function: Any) -> bool:
    """Whether a built-in function or method is pure, as far as the program can observe."""
    owner = getattr(function, "__self__", None)
    name = function.__name__
    if owner is None or isinstance(owner, types.ModuleType):
        module = function.__module__ or getattr(owner, "__name__", "")
        if module in _SOME:
            return name in _SOME[module]
        top = module.partition(".")[0]
        if top == "torch":
            return owner is None or owner.__name__ in _OPERATORS
        if top in ("builtins", "numpy"):
            return name not in _EXCEPT[top]
        return module in _MODULES and name not in _EXCEPT.get(module, ())
    if name in _METHODS:
        return False
    if isinstance(owner, type):
        return (name[:2] == "__" or name in vars(type) or issubclass(owner, _KINDS)
                or owner.__module__ in _MODULES)
    if isinstance(owner, contextvars.ContextVar):
        return name in _OF_VARIABLES
    return isinstance(owner, _KINDS) or name[:2] == "__" and _is_of_object(function, owner)


def reads_a_setting(function: Any) -> bool:
    """Whether a built-in function without arguments says how NumPy or PyTorch is set."""
    owner = getattr(function, "__self__", None)
    if owner is torch._C:
        return _SETTING.match(function.__name__) is not None
    return function is _of_numpy


def is_pure_library(module: str, name: str) -> bool:
    """Whether a function of Python's library, written in Python, may be called in a recorded run.

    Other functions, such as NumPy's, are judged by the C functions that they call.
    """
    top = module.partition(".")[0]
    if top == "logging":
        return name in _OF_LOGGING
    return top in _LIBRARY or top not in sys.stdlib_module_names


def _is_of_object(function: Any, owner: Any) -> bool:
    """Whether a method is the one that every object has, such as ``__reduce_ex__``."""
    return name_of(function).startswith("object.")


def name_of(function: Any) -> str:
    """The name of a built-in function for messages: with its module, or its class."""
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = (function.__module__ or "").lstrip("_")
        name = function.__qualname__
        return name if module in ("builtins", "") else f"{module}.{name}"
    return function.__qualname__
