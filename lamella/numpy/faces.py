"""Functions of one and of two arrays that compute what a function of `ops` does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol

from ..tensors.tensor import Tensor
from .types import as_tensor, as_tensors, floating, together, typed


class OfOne(Protocol):
    """A function of one array; `dtype` is the type of the result."""

    def __call__(self, x: Any, dtype: Any = None) -> Tensor: ...


class OfTwo(Protocol):
    """A function of two arrays; `dtype` is the type of the result."""

    def __call__(self, x1: Any, x2: Any, dtype: Any = None) -> Tensor: ...


def real(x: Any, where: str) -> Tensor:
    """An array, integers and booleans as float32."""
    return floating(as_tensor(x, where))


def in_one_type(where: str, **values: Any) -> list[Tensor]:
    """Arrays in the one type that they all meet in."""
    return together(*as_tensors(where, **values))


def in_one_float(where: str, **values: Any) -> list[Tensor]:
    """Arrays in the one type that they all meet in, integers and booleans as float32."""
    return [floating(x) for x in in_one_type(where, **values)]


def of_one(function: Callable[..., Tensor], prepare: Callable[[Any, str], Tensor] = as_tensor,
           name: str = "", doc: str = "") -> OfOne:
    """The function of `ops` of one array that `prepare` has made a Tensor of.

    Args:
        function: what is computed.
        prepare: makes a Tensor of the argument, for a function of this name.
        name: the name; default: that of `function`.
        doc: what the docstring says besides.

    Examples:
        >>> import lamella as ms
        >>> from lamella.numpy.faces import of_one, real
        >>> print(of_one(ms.ops.exp, real)([0, 1]))
        [1.        2.7182817]
    """
    name = name or function.__name__

    def face(x: Any, dtype: Any = None) -> Tensor:
        return typed(function(prepare(x, name)), dtype)

    return _named(face, name, function, doc)


def of_two(function: Callable[..., Tensor], prepare: Callable[..., list[Tensor]] = as_tensors,
           name: str = "", doc: str = "") -> OfTwo:
    """As `of_one`, of two arrays.

    Examples:
        >>> import lamella as ms
        >>> from lamella.numpy.faces import of_two
        >>> print(of_two(ms.ops.less)([1, 3], 2))
        [ True False]
    """
    name = name or function.__name__

    def face(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        return typed(function(*prepare(name, x1=x1, x2=x2)), dtype)

    return _named(face, name, function, doc)


def _named(face: Any, name: str, function: Callable[..., Tensor], doc: str) -> Any:
    face.__name__ = face.__qualname__ = name
    face.__module__ = sys._getframe(2).f_globals["__name__"]
    face.__doc__ = f"As `ops.{function.__name__}`{doc}."
    return face
