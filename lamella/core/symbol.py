"""`Symbol`: a dimension whose size varies from call to call, with what is known of it."""

from __future__ import annotations

from typing import Any

__all__ = ["Symbol"]


class Symbol:
    """A dimension of a Tensor that declares a form, as None is, with what is known of its size.

    A graph for several sizes holds for each; what is known here limits nothing.

    Args:
        max: the largest size; 0 for none.
        min: the smallest size.
        divisor, remainder: the size is a multiple of the one, and the other more.
        unique: whether dimensions with this symbol have one size.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if one is out of range.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor(shape=[ms.Symbol(divisor=8), 3], dtype=ms.float32).shape)
        (-1, 3)
    """

    def __init__(self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0,
                 unique: bool = False, **kwargs: Any):
        for name, value in (("max", max), ("min", min), ("divisor", divisor),
                            ("remainder", remainder)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"For 'Symbol', the '{name}' must be an int, but got {value!r}.")
        if not isinstance(unique, bool):
            raise TypeError(f"For 'Symbol', the 'unique' must be a bool, but got {unique!r}.")
        if min <= 0:
            raise ValueError(f"For 'Symbol', the 'min' value should be greater than 0, "
                             f"but got {min}")
        if divisor <= 0:
            raise ValueError(f"For 'Symbol', the 'divisor' value should be positive, "
                             f"but got {divisor}")
        if not 0 <= remainder < divisor:
            raise ValueError(f"For 'Symbol', the 'remainder' should be in [0, 'divisor'), "
                             f"but got {remainder} and {divisor}")
        self.max, self.min = max, min
        self.divisor, self.remainder, self.unique = divisor, remainder, unique

    def to_dict(self) -> dict[str, int]:
        """The attributes that say more than those of a `Symbol()` without arguments."""
        found = {}
        if self.max > self.min:
            found["max"] = self.max
        if self.min > self.divisor + self.remainder:
            found["min"] = self.min
        if self.divisor != 1:
            found["divisor"] = self.divisor
        if self.remainder != 0:
            found["remainder"] = self.remainder
        if self.unique:
            found["id"] = id(self)
        return found

    def __str__(self) -> str:
        return str(self.to_dict())
