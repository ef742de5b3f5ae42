"""Checks of what operations get, in MindSpore's words, from a table."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_FILE = Path(__file__).parents[1] / "data" / "pipeline_inputs.txt"
_DECODE = " You may need to perform Decode first."


class _Rule(NamedTuple):
    """What is asked of an input, and what is said where it isn't so."""

    about: str  # "rank", "channels", "types" or "last"
    allowed: frozenset[str]
    words: str


@functools.cache
def _rules() -> dict[str, list[_Rule]]:
    found: dict[str, list[_Rule]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            rule, words = line.split(" # ", 1)
            owners, about, allowed = rule.split(" ")
            room, _, names = owners.partition(".")
            for name in names.split(","):
                found.setdefault(f"{room}.{name}", []).append(
                    _Rule(about, _numbers(allowed), words))
    return found


def _numbers(allowed: str) -> frozenset[str]:
    """The values of a list; ``1+`` is 1 and what is above."""
    if allowed.endswith("+"):
        return frozenset(str(number) for number in range(int(allowed[:-1]), 33))
    return frozenset(allowed.split(","))


def check_input(operation: Any, value: np.ndarray) -> None:
    """Check an array that an operation gets.

    The operation remembers the last type and shape that fit, in `_fits`: most rows are alike, and
    operations look there first, since a call costs as much as a small operation.

    Raises:
        RuntimeError: if it has a shape or a type that the operation doesn't take.
    """
    kind = type(operation)
    room = kind.__module__.rpartition(".")[0].rpartition(".")[2]
    for rule in _rules().get(f"{room}.{kind.__name__}", ()):
        _check(kind.__name__, rule, value)
    operation._fits = value.dtype, value.shape


def _check(name: str, rule: _Rule, value: np.ndarray) -> None:
    rank = value.ndim
    channels = value.shape[-1] if rank > 2 else 1
    found = {"rank": rank, "channels": channels, "types": type_name(value.dtype),
             "last": value.shape[-1] if rank else 0}[rule.about]
    if str(found) in rule.allowed or rule.about == "channels" and rank not in (2, 3):
        return
    shape = "<" + ",".join(map(str, value.shape)) + ">"
    raise RuntimeError(rule.words.format(
        name=name, rank=rank, channels=channels, type=type_name(value.dtype), shape=shape,
        after="." if rank == 1 else "", decode=_DECODE if rank == 1 else ""))


def type_name(kind: np.dtype[Any]) -> str:
    """The name that MindSpore's pipelines have for a data type."""
    return "string" if kind.kind == "U" else "bytes" if kind.kind == "S" else kind.name
