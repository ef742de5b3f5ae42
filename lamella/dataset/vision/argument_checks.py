"""MindSpore's checks of arguments, as functions that programs import."""

from __future__ import annotations

import os
from typing import Any

from ..checks import in_interval, of_type
from ..config import get_video_backend

__all__ = ["check_file", "check_value", "get_video_backend", "type_check", "type_check_list"]

_FORBIDDEN = set("\\/:*?\"<>|`&';")


def type_check(arg: Any, types: tuple[type, ...], arg_name: str) -> None:
    """Check that a value has one of some types; a bool is no int.

    Args:
        arg: the value.
        types: the types.
        arg_name: what the error calls it.

    Raises:
        TypeError: if it has none of them.

    Examples:
        >>> from lamella.dataset.vision.argument_checks import type_check
        >>> type_check(3, (str,), "size")
        Traceback (most recent call last):
        TypeError: Argument size with value 3 is not of type [<class 'str'>], but got <class 'int'>.
    """
    bare = isinstance(arg, bool) and int in types and bool not in types
    if bare or not isinstance(arg, tuple(types)):
        raise TypeError(of_type(arg_name, arg, *types))


def type_check_list(args: Any, types: tuple[type, ...], arg_names: Any) -> None:
    """Check that the values of a list or tuple have one of some types.

    Args:
        args: the values.
        types: the types.
        arg_names: a name for each, or one for all.

    Raises:
        TypeError: if one has none of them.
        ValueError: if there aren't as many names as values.
    """
    type_check(args, (list, tuple), arg_names)
    if isinstance(arg_names, str):
        arg_names = [f"{arg_names}[{place}]" for place in range(len(args))]
    elif len(args) != len(arg_names):
        raise ValueError("List of arguments is not the same length as argument_names.")
    for arg, name in zip(args, arg_names, strict=True):
        type_check(arg, types, name)


def check_value(value: Any, valid_range: Any, arg_name: str = "", left_open_interval: bool = False,
                right_open_interval: bool = False) -> None:
    """Check that a number is in an interval.

    Args:
        value: the number.
        valid_range: its ends.
        arg_name: what the error calls it.
        left_open_interval, right_open_interval: whether an end doesn't belong to it.

    Raises:
        ValueError: if it isn't.

    Examples:
        >>> from lamella.dataset.vision.argument_checks import check_value
        >>> check_value(3, (0, 2), "prob")
        Traceback (most recent call last):
        ValueError: Input prob is not within the required interval of [0, 2].
    """
    low, high = valid_range[:2]
    outside = value < low or value > high or left_open_interval and value == low \
        or right_open_interval and value == high
    if outside:
        text = in_interval(arg_name, low, high, left_open_interval, right_open_interval)
        raise ValueError(text.replace("Input  is", "Input is"))


def check_file(dataset_file: str) -> None:
    """Check that a file can be read.

    Args:
        dataset_file: its path.

    Raises:
        TypeError: if it is no str.
        ValueError: if there is no such file, or its name has signs that MindSpore refuses.
    """
    if not isinstance(dataset_file, str):
        raise TypeError(f"path: {dataset_file} is not string")
    name = os.path.basename(os.path.realpath(dataset_file))
    if set(name) & _FORBIDDEN:
        raise ValueError(r"filename should not contain \\/:*?\"<>|`&;\'".replace("\\\\", "\\"))
    if name != name.strip(" "):
        raise ValueError("filename should not start/end with space.")
    if not os.path.isfile(dataset_file) or not os.access(dataset_file, os.R_OK):
        raise ValueError(f"The file {os.path.realpath(dataset_file)} does not exist or permission "
                         f"denied!")
