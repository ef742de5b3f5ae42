"""Checks of arguments, shared by all operations of data pipelines. Each returns the checked value.

`owner` is the name that an error begins with, or the operation itself, whose class has that name.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..core import require

LARGEST = 2**31 - 1
LARGEST_FLOAT = 2**24  # up to which MindSpore lets floats be


def name_of(owner: Any) -> str:
    """The name of an operation, or the name itself."""
    return owner if isinstance(owner, str) else type(owner).__name__


def boolean(owner: Any, argument: str, value: Any) -> bool:
    """True or False.

    Raises:
        TypeError: if it is anything else.
    """
    return _of_type(bool, owner, argument, value)


def string(owner: Any, argument: str, value: Any) -> str:
    """A str.

    Raises:
        TypeError: if it is anything else.
    """
    return _of_type(str, owner, argument, value)


def _of_type(kind: type, owner: Any, argument: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{of_type(argument, value, kind)} For '{name_of(owner)}', '{argument}' "
                        f"must be a {kind.__name__}, but got {value!r}.")
    return value


def of_type(argument: str, value: Any, *kinds: type) -> str:
    """MindSpore's sentence about an argument that has none of these types."""
    bare = isinstance(value, bool) and int in kinds and bool not in kinds
    wanted = kinds if bare else list(kinds)
    return (f"Argument {argument} with value {_shown(value)} is not of type {wanted}, but got "
            f"{type(value)}.")


def _shown(value: Any) -> Any:
    return '""' if isinstance(value, str) and not value else value


def no_data_type(argument: str, value: Any, numpy: bool = False) -> str:
    """MindSpore's sentence about an argument that is no data type; `numpy`: NumPy's are allowed."""
    wanted = "<class 'mindspore._c_expression.typing.Type'>" + (
        ", <class 'numpy.dtype'>" if numpy else "")
    return (f"Argument {argument} with value {_shown(value)} is not of type "
            f"[{wanted}], but got {type(value)}.")


def numpy_type(name: str, argument: str, value: Any) -> np.dtype[Any]:
    """A data type, which NumPy may know by its name.

    Raises:
        TypeError: if it is none.
    """
    try:
        if isinstance(value, (str, type, np.dtype)):
            return np.dtype(value)
    except TypeError:
        pass
    raise TypeError(f"{no_data_type(argument, value, True)} For '{name}', '{argument}' must be a "
                    f"data type of Lamella's or NumPy's, but got {value!r}.")


def in_interval(argument: str, low: Any, high: Any, above: bool = False,
                below: bool = False) -> str:
    """MindSpore's sentence about a number outside of an interval.

    `above` and `below` say that the lower, or the upper, end isn't in it.
    """
    return (f"Input {argument} is not within the required interval of {'(' if above else '['}{low},"
            f" {high}{')' if below else ']'}.")


def existing_file(path: Any) -> Any:
    """The path of a file that exists.

    Raises:
        TypeError: if it is no path.
        ValueError: if there is no such file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"The path of a file must be a str, but got {path!r}.")
    if not os.path.isfile(path):
        raise ValueError(f"The file {path} does not exist or permission denied!")
    return path


def integer(owner: Any, argument: str, value: Any, low: int | None = None,
            high: int | None = None) -> int:
    """An int between two bounds, both included.

    Raises:
        TypeError: if it is no int.
        ValueError: if it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{of_type(argument, value, int)} For '{name_of(owner)}', '{argument}' "
                        f"must be an int, but got {value!r}.")
    if low is not None and value < low or high is not None and value > high:
        wanted = f"an int of {low} or more" if high is None else f"in [{low}, {high}]"
        sentence = in_interval(argument, -LARGEST - 1 if low is None else low,
                               LARGEST if high is None else high)
        raise ValueError(f"{sentence} For '{name_of(owner)}', '{argument}' must be {wanted}, but "
                         f"got {value}.")
    return value


def number(owner: Any, argument: str, value: Any, low: float | None = None,
           high: float | None = None, above: bool = False, below: bool = False) -> Any:
    """An int or a float between two bounds; both are included.

    With `above` the lower isn't, with `below` the upper isn't.

    Raises:
        TypeError: if it is no number.
        ValueError: if it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{of_type(argument, value, float, int)} For '{name_of(owner)}', "
                        f"'{argument}' must be a number, but got {value!r}.")
    if (low is not None and (value <= low if above else value < low)) or (
            high is not None and (value >= high if below else value > high)):
        wanted = f"in {'(' if above else '['}{low}, {high}{')' if below else ']'}"
        if high is None:
            wanted = f"above {low}" if above else f"{low} or more"
        sentence = in_interval(argument, -LARGEST_FLOAT if low is None else low,
                               LARGEST_FLOAT if high is None else high, above, below)
        raise ValueError(f"{sentence} For '{name_of(owner)}', '{argument}' must be {wanted}, but "
                         f"got {value}.")
    return value


def pair(owner: Any, argument: str, value: Any, low: float | None = None,
         high: float | None = None) -> tuple[Any, Any]:
    """Two numbers, the first not larger.

    Raises:
        TypeError, ValueError: if they aren't.
    """
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise TypeError(f"For '{name_of(owner)}', '{argument}' must be two numbers, but got "
                        f"{value!r}.")
    for one in value:
        number(owner, argument, one, low, high)
    if value[0] > value[1]:
        raise ValueError(f"For '{name_of(owner)}', '{argument}' must be (min, max), but got "
                         f"{value!r}.")
    return value[0], value[1]


def choice(owner: Any, argument: str, value: Any, kind: Any) -> Any:
    """A member of an enumeration.

    Raises:
        TypeError: if it is none.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{of_type(argument, value, kind)} For '{name_of(owner)}', '{argument}' "
                        f"must be a {kind.__name__}, but got {value!r}.")
    return value


def one_of(value: Any, allowed: Any, name: str, owner: str) -> Any:
    """`value`, which must be one of `allowed`: an argument called `name` of `owner`.

    Raises:
        TypeError: if it is no str, but all that is allowed are.
        ValueError: if it is another.
    """
    allowed = list(allowed)
    if all(isinstance(one, str) for one in allowed):
        string(owner, name, value)
    try:
        return require.one_of(value, allowed, name, owner)
    except ValueError as error:
        raise ValueError(f"Input {name} is not within the valid set of {allowed}. "
                         f"{error}") from None


def rows_at_most(name: str, num_samples: int) -> None:
    """Check how many rows are read at most.

    Raises:
        ValueError: if that is below 0.
    """
    if not 0 <= num_samples < 2**63:
        raise ValueError(f"num_samples exceeds the boundary between 0 and {2**63 - 1}(INT64_MAX)! "
                         f"For '{name}', 'num_samples' must be 0 or more, but got {num_samples}.")


def shards(name: str, num_shards: Any, shard_id: Any) -> None:
    """The two arguments that say which part of the rows is read.

    Raises:
        TypeError, ValueError: if one is missing, or they fit not together.
    """
    if (num_shards is None) is not (shard_id is None):
        raise ValueError(f"num_shards and shard_id need to be passed in together. For '{name}', "
                         f"got {num_shards!r} and {shard_id!r}.")
    if num_shards is not None:
        integer(name, "num_shards", num_shards, 1, LARGEST)
        integer(name, "shard_id", shard_id, 0)
        if shard_id >= num_shards:
            raise ValueError(f"shard_id should be less than num_shards. For '{name}', got "
                             f"{shard_id} and {num_shards}.")
