"""Padding layers of `mint.nn`: those of `nn`, which take lists, too, and an amount for each end."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...core.require import of_type

__all__ = ["ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d",
           "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
           "ZeroPad1d", "ZeroPad2d", "ZeroPad3d"]


def _amounts(name: str, padding: Any, count: int, inward: bool = True) -> Any:
    """An int, or as many ints as there are ends; they may be negative if `inward`."""
    several = isinstance(padding, (tuple, list))
    if not several and not isinstance(padding, int) or several and len(padding) != count:
        raise ValueError(f"For '{name}', 'padding' must be an int or a tuple or list of {count} "
                         f"ints, but got {padding!r}.")
    for amount in padding if several else (padding,):
        of_type(amount, int, "padding", name)
        if not inward and amount < (not several):
            raise ValueError(f"For '{name}', 'padding' must be an int of 1 or more, or ints of 0 "
                             f"or more, but got {padding}.")
    return tuple(padding) if several else padding


class _Constant:
    """What its subclasses with a layer of `nn` have in common."""

    _dims: int

    def __init__(self, padding: Any, value: float = 0):
        # the layer of `nn` comes next in the order of bases
        super().__init__(_amounts(type(self).__name__, padding, 2 * self._dims),  # type: ignore
                         value)


class _Zero(_Constant):
    def __init__(self, padding: Any):
        super().__init__(padding, 0)


class _Within:
    """As `_Constant`, of layers whose borders come from inside."""

    _dims: int

    def __init__(self, padding: Any):
        super().__init__(_amounts(type(self).__name__, padding,  # type: ignore
                                  2 * self._dims, inward=False))


class ConstantPad1d(_Constant, nn.ConstantPad1d):
    """As `nn.ConstantPad1d`.

    Raises:
        ValueError: if `padding` is no int and has not two entries.

    Examples:
        >>> from lamella import mint
        >>> print(mint.nn.ConstantPad1d([1, 2], 0.5)(mint.zeros((1, 2))))
        [[0.5 0.  0.  0.5 0.5]]
    """


class ConstantPad2d(_Constant, nn.ConstantPad2d):
    """As `ConstantPad1d`, of two dimensions."""


class ConstantPad3d(_Constant, nn.ConstantPad3d):
    """As `ConstantPad1d`, of three dimensions."""


class ZeroPad1d(_Zero, nn.ConstantPad1d):
    """`ConstantPad1d` with zeros."""


class ZeroPad2d(_Zero, nn.ConstantPad2d):
    """`ConstantPad2d` with zeros."""


class ZeroPad3d(_Zero, nn.ConstantPad3d):
    """`ConstantPad3d` with zeros."""


class ReflectionPad1d(_Within, nn.ReflectionPad1d):
    """As `nn.ReflectionPad1d`, with amounts that aren't negative.

    Examples:
        >>> from lamella import mint
        >>> print(mint.nn.ReflectionPad1d(1)(mint.arange(3.0).reshape(1, 3)))
        [[1. 0. 1. 2. 1.]]
    """


class ReflectionPad2d(_Within, nn.ReflectionPad2d):
    """As `ReflectionPad1d`, of two dimensions."""


class ReflectionPad3d(_Within, nn.ReflectionPad3d):
    """As `ReflectionPad1d`, of three dimensions."""


class ReplicationPad1d(_Within, nn.ReplicationPad1d):
    """As `nn.ReplicationPad1d`, with amounts that aren't negative."""


class ReplicationPad2d(_Within, nn.ReplicationPad2d):
    """As `ReplicationPad1d`, of two dimensions."""


class ReplicationPad3d(_Within, nn.ReplicationPad3d):
    """As `ReplicationPad1d`, of three dimensions."""
