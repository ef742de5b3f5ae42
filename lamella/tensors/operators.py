"""The operators of Python's syntax on Tensors: the hot path, unwrapped and wrapped in line."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..core.dtype import is_inexact
from ..core.errors import op_error
from ..core.tracebacks import PACKAGE
from . import narrow as narrow
from . import unsigned
from .construction import NUMBERS, WIDE_UNSIGNED
from .kernels import comparison, floor_quotient, left_shift, minus, modulo, power, right_shift
from .promotion import operand, promote, promote_factors
from .tensor import Tensor, wrap

_new = object.__new__
_JOINED = {"mul": promote_factors, "truediv": promote_factors,
           "matmul": lambda a, b: (a, b)}  # which takes one type, as `ops.matmul`
_OF_BITS = ("and", "or", "xor", "lshift", "rshift")


def _binary(name: str, kernel: Callable[[Any, Any], torch.Tensor]) -> Callable[..., Any]:
    joined = _JOINED.get(name, promote)

    def method(self: Tensor, other: Any) -> Any:
        a = self._raw
        kind = type(other)
        if kind is float or kind is int:
            b = other
        elif kind is Tensor or isinstance(other, Tensor):
            b = other._raw
            if a.dtype is not b.dtype:
                a, b = joined(a, b)
        else:
            b = operand(other, a)
            if b is NotImplemented:
                if isinstance(other, torch.Tensor):
                    raise TypeError(
                        f"For '{name}', the other operand is a torch.Tensor of shape "
                        f"{list(other.shape)}. Make a Tensor of it with Tensor.from_torch, or give "
                        "PyTorch the Tensor's to_torch().")
                if isinstance(other, (str, bytes)):  # which Python would repeat
                    raise TypeError(f"For '{name}', the other side must be a Tensor or a number, "
                                    f"but got {other!r}.")
                return b
            if isinstance(b, torch.Tensor) and a.dtype is not b.dtype:
                a, b = joined(a, b)
        try:
            out = _new(Tensor)
            out._raw = kernel(a, b)
            return out
        except (RuntimeError, TypeError, OverflowError) as error:
            raw = _fallback(name, kernel, a, b, str(error))
            if raw is None:
                raise op_error(name, error, input=self, other=other) from error
            return wrap(raw)

    method.__name__ = method.__qualname__ = name
    return method


def _fallback(name: str, kernel: Callable[[Any, Any], torch.Tensor], a: torch.Tensor, b: Any,
            message: str) -> torch.Tensor | None:
    """The result where PyTorch's kernel refuses types that MindSpore computes with."""
    whole = isinstance(b, int) or isinstance(b, torch.Tensor) and b.dtype is a.dtype
    if "too big to convert" in message and is_inexact(a.dtype):
        return kernel(a, float(b))
    if name in _OF_BITS and is_inexact(a.dtype):
        raise TypeError(f"For '{name}', the tensors must hold integers or booleans, "
                        f"but got {a.dtype}.")
    if whole and any(words in message for words in ("'UInt16'", "'UInt32'", "'UInt64'")):
        return unsigned.binary(kernel, name, a, b)
    return None


def _equality(kernel: Callable[[Any, Any], torch.Tensor], otherwise: bool) -> Callable[..., Any]:
    """``==`` or ``!=``: of values where `other` is a Tensor, number or array, else `otherwise`."""
    by_value = _binary(kernel.__name__, kernel)

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, (Tensor, *NUMBERS, np.generic, np.ndarray)):
            return by_value(self, other)
        return otherwise

    method.__name__ = method.__qualname__ = f"__{kernel.__name__}__"
    return method


def _of_pytorchs(cls: type, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a function of PyTorch's that is called with a Tensor gives: an error."""
    name = getattr(function, "__name__", str(function))
    if name.startswith("__"):
        return NotImplemented  # an operator, which Tensor has itself
    if sys._getframe(1).f_code.co_filename.startswith(PACKAGE):  # an operator of ours calls it
        raise TypeError(f"an argument of '{name}' is a Tensor that must be a Python value")
    raise TypeError(f"For 'torch.{name}', PyTorch's functions don't take Tensors of Lamella: use "
                    f"ops, or x.to_torch(), and Tensor.from_torch for the result.")


def _reflected(kernel: Callable[[Any, Any], torch.Tensor]) -> Callable[[Any, Any], torch.Tensor]:
    return lambda a, b: kernel(b, a)


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
    if not is_inexact(raw.dtype):
        return wrap(raw.clone())
    if raw.is_complex():
        return wrap(torch.complex(raw.real.round(decimals=ndigits or 0),
                                  raw.imag.round(decimals=ndigits or 0)))
    return wrap(raw.round(decimals=ndigits or 0))


for _name, _kernel in {"add": operator.add, "sub": minus, "mul": operator.mul,
                       "truediv": operator.truediv, "floordiv": floor_quotient,
                       "mod": modulo, "pow": power, "matmul": operator.matmul,
                       "and": operator.and_, "or": operator.or_, "xor": operator.xor,
                       "lshift": left_shift, "rshift": right_shift}.items():
    setattr(Tensor, f"__{_name}__", _binary(_name, _kernel))
    setattr(Tensor, f"__r{_name}__", _binary(_name, _reflected(_kernel)))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _binary(_name, comparison(getattr(operator, _name))))
for _method in (_neg, _pos, _abs, _invert, _round):
    _method.__name__ = _method.__qualname__ = f"_{_method.__name__}__"
    setattr(Tensor, _method.__name__, _method)
setattr(Tensor, "__torch_function__", classmethod(_of_pytorchs))  # noqa: B010
setattr(Tensor, "__eq__", _equality(operator.eq, False))  # noqa: B010
setattr(Tensor, "__ne__", _equality(operator.ne, True))  # noqa: B010
del _name, _kernel, _method
