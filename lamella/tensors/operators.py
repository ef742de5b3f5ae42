"""The operators of Python's syntax on Tensors: the hot path, unwrapped and wrapped in line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..core.dtype import is_inexact
from ..core.errors import KERNEL_ERRORS
from ..core.tracebacks import PACKAGE
from . import narrow as narrow
from . import unsigned as unsigned
from .construction import NUMBERS, WIDE_UNSIGNED
from .promotion import OPERANDS
from .tensor import Tensor, wrap

_new = object.__new__
Binary = Callable[[Any, Any], Any]


def python_syntax(**operators: tuple[Binary, Binary]) -> None:
    """Give Tensor operators of Python's syntax: families of operators call this below `ops`.

    Each is a kernel and the function of `ops` that the operator stands for. What is common runs in
    line, by the kernel that the function has too; everything else, and what the kernel refuses, the
    function does, so that both have one meaning.
    """
    for name, (kernel, function) in operators.items():
        method = _binary(name, kernel, function)
        if name in ("eq", "ne"):
            method = _equality(method, name == "ne")
        setattr(Tensor, f"__{name}__", method)
        if name not in _MIRRORED:
            setattr(Tensor, f"__r{name}__",
                    _binary(name, _reflected(kernel), _reflected(function)))


_MIRRORED = ("lt", "le", "gt", "ge", "eq", "ne")  # which Python turns around itself


def _binary(name: str, kernel: Binary, function: Binary) -> Binary:
    def method(self: Tensor, other: Any) -> Any:
        a = self._raw
        kind = type(other)
        if kind is float or kind is int:
            b = other
        elif kind is Tensor or isinstance(other, Tensor):
            b = other._raw
            if a.dtype is not b.dtype:
                return function(self, other)
        elif _is_operand(name, other):
            return function(self, other)
        else:
            return NotImplemented
        try:
            out = _new(Tensor)
            out._raw = kernel(a, b)
            return out
        except KERNEL_ERRORS:
            pass
        return function(self, other)

    method.__name__ = method.__qualname__ = name
    return method


def _is_operand(name: str, other: Any) -> bool:
    """Whether `other`, no Tensor, can be a side of the operator; what another class may know isn't.

    Raises:
        TypeError: for what Python would do something else with.
    """
    if isinstance(other, OPERANDS):
        return True
    if isinstance(other, torch.Tensor):
        raise TypeError(f"For '{name}', the other operand is a torch.Tensor of shape "
                        f"{list(other.shape)}. Make a Tensor of it with Tensor.from_torch, or give "
                        "PyTorch the Tensor's to_torch().")
    if isinstance(other, (str, bytes)):  # which Python would repeat
        raise TypeError(f"For '{name}', the other side must be a Tensor or a number, "
                        f"but got {other!r}.")
    return getattr(other, "_raw", None) is not None


def _equality(by_value: Binary, otherwise: bool) -> Binary:
    """``==`` or ``!=``: of values where `other` is a Tensor, number or array, else `otherwise`."""
    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, (Tensor, *NUMBERS, np.generic, np.ndarray)):
            return by_value(self, other)
        return otherwise

    method.__name__ = method.__qualname__ = f"__{by_value.__name__}__"
    return method


def _reflected(function: Binary) -> Binary:
    return lambda a, b: function(b, a)


def _of_pytorchs(cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a function of PyTorch's that is called with a Tensor gives: an error."""
    name = getattr(function, "__name__", str(function))
    if name.startswith("__"):
        return NotImplemented  # an operator, which Tensor has itself
    if sys._getframe(1).f_code.co_filename.startswith(PACKAGE):  # an operator of ours calls it
        raise TypeError(f"an argument of '{name}' is a Tensor that must be a Python value")
    raise TypeError(f"For 'torch.{name}', PyTorch's functions don't take Tensors of Lamella: use "
                    f"ops, or x.to_torch(), and Tensor.from_torch for the result.")


def _neg(self: Tensor) -> Tensor:
    try:
        return wrap(-self._raw)
    except RuntimeError as error:
        raw = self._raw
        if raw.dtype in WIDE_UNSIGNED:  # PyTorch lacks the kernel: it wraps around
            return wrap((-raw.view(WIDE_UNSIGNED[raw.dtype])).view(raw.dtype))
        raise TypeError(f"For 'neg', a Tensor of {self.dtype} has no negative: use "
                        f"'~x' or convert it.") from error


def _pos(self: Tensor) -> Tensor:
    return self


def _abs(self: Tensor) -> Tensor:
    raw = self._raw
    if raw.dtype is torch.bool or raw.dtype in WIDE_UNSIGNED:
        return wrap(raw.clone())
    return wrap(raw.abs().to(raw.dtype) if raw.is_complex() else raw.abs())


def _invert(self: Tensor) -> Tensor:
    """The logical not of each element, also of numbers."""
    raw = self._raw
    return wrap(raw == 0 if raw.dtype in WIDE_UNSIGNED else raw.logical_not())


def _round(self: Tensor, ndigits: int | None = None) -> Tensor:
    raw = self._raw
    if ndigits is not None and not isinstance(ndigits, int):
        raise TypeError(f"For 'round', 'ndigits' must be an int, but got {ndigits!r} of type "
                        f"{type(ndigits).__name__}.")
    if ndigits is not None and not -2**31 <= ndigits < 2**31:
        raise ValueError(f"For 'round', 'ndigits' must fit in 32 bits, but got {ndigits}.")
    ndigits = int(ndigits or 0)
    if not is_inexact(raw.dtype):
        return wrap(raw.clone())
    if raw.is_complex():
        return wrap(torch.complex(raw.real.round(decimals=ndigits),
                                  raw.imag.round(decimals=ndigits)))
    return wrap(raw.round(decimals=ndigits))


for _method in (_neg, _pos, _abs, _invert, _round):
    _method.__name__ = _method.__qualname__ = f"_{_method.__name__}__"
    setattr(Tensor, _method.__name__, _method)
setattr(Tensor, "__torch_function__", classmethod(_of_pytorchs))  # noqa: B010
del _method
