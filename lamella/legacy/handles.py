"""Handles: a number, as a Tensor, by which older Primitives name an object."""

from __future__ import annotations

import itertools
from typing import Any, Generic, TypeVar

import torch

from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap

__all__ = ["Handles"]

T = TypeVar("T")


class Handles(Generic[T]):
    """The objects of one kind by their handles.

    Args:
        kind: what they are called in errors.
        shape: of a handle.

    Examples:
        >>> from lamella.legacy.handles import Handles
        >>> lists = Handles("list", ())
        >>> handle = lists.add([1, 2])
        >>> lists.get(handle, "Length")
        [1, 2]
    """

    def __init__(self, kind: str, shape: tuple[int, ...]):
        self._kind, self._shape = kind, shape
        self._kept: dict[int, T] = {}
        self._numbers = itertools.count()

    def add(self, value: T) -> Tensor:
        """Keep an object; its handle, int64."""
        number = next(self._numbers)
        self._kept[number] = value
        return wrap(torch.full(self._shape, number))

    def get(self, handle: Any, name: str) -> T:
        """The object of a handle, an int or a Tensor of one.

        Raises:
            TypeError: if `handle` is neither.
            RuntimeError: if nothing is kept under it, or no more.
        """
        return self._kept[self._number(handle, name)]

    def remove(self, handle: Any, name: str) -> None:
        """Keep the object of a handle no longer."""
        del self._kept[self._number(handle, name)]

    def _number(self, handle: Any, name: str) -> int:
        number = handle.item() if isinstance(handle, Tensor) else handle
        of_type(number, int, "handle", name)
        if number not in self._kept:
            raise RuntimeError(f"For '{name}', 'handle' {number} stands for no {self._kind}: none "
                               f"was created under it, or it was closed.")
        return number
