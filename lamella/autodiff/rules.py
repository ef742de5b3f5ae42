"""Checks of what the user's rules return, and its conversion to the form of the tape."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from ..core.cuts import closed_over, depends
from ..tensors.tensor import Tensor
from .integers import twin_of
from .level import current

_Known = WeakKeyDictionary[FunctionType, tuple[tuple[Any, Any], inspect.Signature]]
# of methods, and of functions: by function what the signature was made of, and the signature
_signatures: tuple[_Known, _Known] = WeakKeyDictionary(), WeakKeyDictionary()


def rule_name(rule: Callable[..., Any]) -> str:
    """A rule's name with its file and line, for error messages."""
    function = inspect.unwrap(getattr(rule, "__func__", rule))
    code = getattr(function, "__code__", None)
    name = getattr(rule, "__qualname__", type(rule).__name__)
    return f"'{name}' ({code.co_filename}:{code.co_firstlineno})" if code else f"'{name}'"


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function or method, which is found once as long as it stays the same."""
    inner = getattr(function, "__func__", function)
    if type(inner) is not FunctionType or inner.__dict__ or inner.__kwdefaults__:
        return inspect.signature(function)  # of a wrapper, or of defaults that change in place
    form = code, defaults = inner.__code__, inner.__defaults__
    known = _signatures[inner is function].get(inner)
    if known is None or known[0][0] is not code or known[0][1] is not defaults:
        known = _signatures[inner is function][inner] = form, inspect.signature(function)
    return known[1]


def warn_of_closed_over(rule: str, functions: Iterable[Any], owner: Any, known: Iterable[Any]
                        ) -> None:
    """Warn of Tensors that a rule uses, is differentiated by, and doesn't take as inputs.

    Args:
        rule: what the warning calls it.
        functions: its code: variables of closures and of the module are looked at.
        owner: an object whose attributes are looked at; None for none.
        known: ids of the Parameters that the rule may use.
    """
    level = current()
    held: dict[str, Any] = {} if owner is None else dict(vars(owner))
    for function in functions:
        function = inspect.unwrap(getattr(function, "__func__", function))
        code = getattr(function, "__code__", None)
        if code is None:
            continue
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                held[name] = cell.cell_contents
            except ValueError:  # a variable without a value yet
                continue
        variables = function.__globals__
        held.update((name, variables[name]) for name in code.co_names if name in variables)
    for name, value in held.items():
        if isinstance(value, Tensor) and id(value) not in known and depends(value._raw, level):
            closed_over(rule, name)


def checked_gradient(value: Any, like: torch.Tensor, name: str) -> torch.Tensor | None:
    """The raw gradient that a rule returned for a tensor like `like`.

    A plain number, or a Tensor of one element for a tensor of many, stands for every element. The
    type is converted to the tensor's, or to float64 for integers.

    Raises:
        TypeError: if it is neither a Tensor, a number nor None.
        ValueError: if the shape can't be the gradient of that tensor.
    """
    if value is None:
        return None
    like = twin_of(like)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return torch.full_like(like, value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.ndarray):
        value = Tensor(value)
    if not isinstance(value, Tensor):
        raise TypeError(f"The {name} must return a Tensor, a number or None as the gradient of "
                        f"each input, but it returned {type(value).__name__}.")
    raw = twin_of(value._raw)
    if raw.is_complex() and not like.is_complex():
        raise TypeError(f"The {name} returned a gradient of type {value.dtype} for a real "
                        f"tensor.")
    if raw.dtype is not like.dtype:
        raw = raw.to(like.dtype)
    if raw.shape != like.shape:
        if raw.numel() != 1:
            raise ValueError(f"The {name} must return a gradient of shape {tuple(like.shape)}, "
                             f"as the tensor it is for, but it returned shape {tuple(raw.shape)}.")
        raw = raw.reshape(()).expand(like.shape)
    return raw
