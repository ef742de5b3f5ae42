"""The list of functions that MindSpore's graphs refuse. Compiled functions here may call them."""

from __future__ import annotations

import types
from typing import Any

__all__ = ["add_jit_forbidden_module", "get_jit_forbidden_module",
           "get_obj_module_and_name_info", "is_invalid_or_jit_forbidden_method",
           "is_jit_forbidden_module", "jit_forbidden_register", "remove_jit_forbidden_module"]

_modules = {"mindspore.common.initializer", "mindspore.context", "mindspore.log"}
_methods: set[str] = set()


def add_jit_forbidden_module(jit_forbidden_module: str) -> None:
    """Note a module."""
    _modules.add(jit_forbidden_module)


def remove_jit_forbidden_module(jit_forbidden_module: str) -> None:
    """Forget a module; one that wasn't noted is a KeyError."""
    _modules.remove(jit_forbidden_module)


def get_jit_forbidden_module() -> set[str]:
    """The modules."""
    return _modules


def is_jit_forbidden_module(obj_module: Any) -> bool:
    """Whether a module is noted.

    Examples:
        >>> import lamella as ms
        >>> ms.is_jit_forbidden_module("mindspore.context"), ms.is_jit_forbidden_module("os")
        (True, False)
    """
    return obj_module in _modules


def jit_forbidden_register(fn: Any) -> Any:
    """Note a function; it is what it was.

    Examples:
        >>> from lamella.compat.jit_forbidden import jit_forbidden_register
        >>> @jit_forbidden_register
        ... def save(x): ...
        >>> save.__jit_forbidden__
        True
    """
    fn.__jit_forbidden__ = True
    if isinstance(fn, types.FunctionType):
        _methods.add(f"{fn.__module__}.{fn.__qualname__}")
    return fn


def get_obj_module_and_name_info(obj: Any) -> tuple[str, str, str] | None:
    """The module and name of a class, function or method, and which it is; None for others.

    Examples:
        >>> import lamella as ms
        >>> ms.get_obj_module_and_name_info(ms.nn.Dense)
        ('lamella.nn.dense', 'Dense', 'class')
    """
    if not hasattr(obj, "__module__"):
        return None
    if isinstance(obj, (types.FunctionType, types.MethodType)):
        return obj.__module__, obj.__qualname__, "method or function"
    if isinstance(obj, types.BuiltinMethodType):
        return obj.__qualname__.split(".")[0], obj.__qualname__, "method or function"
    return obj.__module__, obj.__name__, "class"


def is_invalid_or_jit_forbidden_method(obj: Any, obj_type: Any, attr: str) -> bool:
    """Whether a method is noted.

    Args:
        obj: the object.
        obj_type: what an error calls its type.
        attr: the method's name.

    Raises:
        AttributeError: if there is no such method.

    Examples:
        >>> import lamella as ms
        >>> ms.is_invalid_or_jit_forbidden_method([], "list", "append")
        False
    """
    if not hasattr(obj, attr):
        raise AttributeError(f"'{obj_type}' object has no attribute '{attr}'")
    method = getattr(obj, attr)
    module = getattr(method, "__module__", None)
    return module is not None and f"{module}.{method.__qualname__}" in _methods
