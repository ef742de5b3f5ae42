"""Reads files that may be damaged, or made to do harm: gives data, or an error with their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_PIECE = 1 << 20
# what code that takes apart unexpected content may raise
UNEXPECTED = (ValueError, TypeError, LookupError, AttributeError, RecursionError, ArithmeticError)


@contextmanager
def reading(function: str, path: str) -> Iterator[None]:
    """A block that takes apart what a file says; whatever is wrong with that names the file.

    Raises:
        ValueError: if the block raises an error of the kinds that unexpected content leads to.

    Examples:
        >>> with reading("load_settings", "settings.json"):
        ...     {}["rate"]
        Traceback (most recent call last):
        ...
        ValueError: For 'load_settings', the file 'settings.json' is damaged: KeyError('rate').
    """
    try:
        yield
    except UNEXPECTED as error:
        if path in str(error):  # it names the file already
            raise
        why = str(error) if isinstance(error, (ValueError, RecursionError)) else repr(error)
        raise ValueError(f"For '{function}', the file '{path}' is damaged: {why}.") from error


def read_up_to(file: Any, size: int) -> bytes:
    """So many bytes, or as many as there are.

    `read` takes memory for all of them first, though the file may only say that it has them.
    """
    if size <= _PIECE:
        return file.read(size)
    parts, left = [], size
    while left and (part := file.read(min(left, _PIECE))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_json(function: str, path: str) -> Any:
    """What a file of JSON says.

    Raises:
        OSError: if the file can't be read.
        ValueError: if it is no JSON, no text, or nested too deeply; the error names it.
    """
    with open(path, encoding="utf-8") as file, reading(function, path):
        return json.load(file)
