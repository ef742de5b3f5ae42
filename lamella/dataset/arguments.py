"""Checks of arguments by their names: MindSpore's types and intervals, from a table."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import numbers
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..compat.arguments import of_mismatch
from ..core.errors import noted
from .argument_rules import RULE, check_rule, within
from .checks import of_type

_Called = TypeVar("_Called", bound=Callable[..., Any])
_FILE = Path(__file__).parents[1] / "data" / "pipeline_arguments.txt"
_ROW = re.compile(r"(?P<owner>\S+) (?P<argument>\S+): (?P<kinds>\S+?)(?P<none>\??)"
                  r"(?: as (?P<label>\S+))?"
                  r"(?: in (?P<spans>.+?[\])])(?: as (?P<spanned>\S+))?)?(?: # (?P<words>.*))?")
_KINDS: dict[str, type] = {
    "int": int, "float": float, "bool": bool, "str": str, "list": list, "tuple": tuple,
    "dict": dict, "bytes": bytes, "numpy.ndarray": np.ndarray, "Number": numbers.Number,
    "NoneType": type(None)}
_ROOMS = {"Vocab": ".text", "SentencePieceVocab": ".text", "functions": ".audio", "config": "",
          "vision": ".vision", "audio": ".audio", "text": ".text", "transforms": ".transforms"}


class _Allowed(NamedTuple):
    """What an argument may be, and what MindSpore's errors about it say."""

    kinds: tuple[type, ...]
    none: bool  # whether it may be None
    label: str  # the argument's name in a TypeError
    spans: str  # an interval, or two with "and" between them
    spanned: str  # the argument's name, with a space, in the error of an interval
    words: str  # the whole of a TypeError, if it isn't the common sentence


@functools.cache
def _rows() -> dict[str, list[re.Match[str]]]:
    found: dict[str, list[re.Match[str]]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            match = _ROW.fullmatch(line) or RULE.fullmatch(line)
            assert match is not None, line
            room, _, names = match["owner"].partition(".")
            for name in names.split(","):
                found.setdefault(f"{room}.{name}", []).append(match)
    return found


@functools.cache
def _allowed(room: str, name: str) -> dict[str, _Allowed]:
    found = {}
    for row in _rows().get(f"{room}.{name}", ()):
        if row.re is RULE:
            continue
        kinds = tuple(_kind(room, kind) for kind in row["kinds"].split("|"))
        label = "" if row["label"] == "-" else row["label"] or row["argument"]
        spanned = row["spanned"] or label or "-"
        found[row["argument"]] = _Allowed(
            kinds, bool(row["none"]), label, row["spans"] or "",
            "" if spanned == "-" else f"{spanned} ", row["words"] or "")
    return found


def _kind(room: str, name: str) -> type:
    return _KINDS[name] if name in _KINDS else getattr(
        importlib.import_module(f"{__package__}{_ROOMS[room]}"), name)


def check_arguments(room: str, name: str, given: dict[str, Any]) -> None:
    """Check those arguments that are numbers, strings and the like.

    Args:
        room: where the operation is, ``"vision"`` for one; or the class of a method.
        name: the operation's, the method's or the function's.
        given: arguments by name.

    Raises:
        TypeError: if one has another type than it may have.
        ValueError: if a number is out of its interval.
    """
    allowed = _allowed(room, name)
    for argument, value in given.items():
        if argument in allowed and not (value is None and allowed[argument].none):
            _check(name, argument, value, allowed[argument])
    rules = [row for row in _rows().get(f"{room}.{name}", ()) if row.re is RULE]
    if any(rule["other"] for rule in rules):
        given = {**_defaults(room, name), **given}
    for rule in rules:
        if rule["argument"] in given:
            check_rule(name, rule, given)


@functools.cache
def _defaults(room: str, name: str) -> dict[str, Any]:
    owner = getattr(importlib.import_module(f"{__package__}{_ROOMS[room]}"), name)
    return {argument: parameter.default
            for argument, parameter in inspect.signature(owner).parameters.items()
            if parameter.default is not parameter.empty}


def _check(name: str, argument: str, value: Any, allowed: _Allowed) -> None:
    kinds = allowed.kinds
    if not isinstance(value, kinds) or (
            isinstance(value, bool) and int in kinds and bool not in kinds):
        sentence = allowed.words or of_type(allowed.label, value, *kinds)
        raise noted(TypeError(sentence), f"For '{name}', '{argument}' must be {_named(kinds)}, "
                                         f"but got {value!r}.")
    if (allowed.spans and isinstance(value, (int, float)) and not isinstance(value, bool)
            and not math.isnan(value) and not within(value, allowed.spans)):
        raise noted(ValueError(f"Input {allowed.spanned}is not within the required interval of "
                               f"{allowed.spans}."),
                    f"For '{name}', '{argument}' must be in {allowed.spans}, but got {value!r}.")


def _named(kinds: tuple[type, ...]) -> str:
    if set(kinds) in ({int, float}, {numbers.Number}):
        return "a number"
    names = [kind.__name__ for kind in kinds]
    article = "an" if names[0][0] in "aeiouI" else "a"
    return f"{article} {' or '.join(names)}"


def checked_call(owner: str) -> Callable[[_Called], _Called]:
    """A decorator of functions and methods: their arguments are checked by the table.

    Args:
        owner: the function's name in the table.
    """
    room, name = owner.split(".")

    def decorate(function: _Called) -> _Called:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            check_arguments(room, name, bound(name, signature, args, kwargs))
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def bound(owner: str, signature: inspect.Signature, args: tuple[Any, ...],
          kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name.

    Raises:
        TypeError: if one is missing, or isn't known; it has the words of `inspect`, as MindSpore's.
    """
    try:
        found = signature.bind(*args, **kwargs).arguments
    except TypeError as mismatch:
        raise of_mismatch(owner, signature, args, mismatch) from None
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found = {**found, **found.get(name, {})}
    return found
