"""Checks of arguments that have parts or depend on each other; each is a line of the table."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any

import numpy as np

from ..core.errors import noted
from .checks import in_interval, of_type

RULE = re.compile(
    r"(?P<owner>\S+) (?P<argument>\S+) (?P<rule>[a-z]+)"
    r"(?: (?P<spans>[\[(][^=]+?[\])]))?(?: (?P<spec>(?!as )[^\s\"\[(=]+))?"
    r"(?: as \"(?P<label>[^\"]*)\")?(?: with (?P<other>\w+))?"
    r"(?: = (?P<error>\S+) (?P<words>.*))?")
_SPAN = re.compile(r"([\[(])([^,]+), ([^\])]+)([\])])")
_KINDS: dict[str, type] = {"int": int, "float": float, "str": str, "list": list, "tuple": tuple,
                           "Number": numbers.Number, "numpy.str_": np.str_}
_ERRORS: dict[str, type[Exception]] = {"TypeError": TypeError, "ValueError": ValueError,
                                       "KeyError": KeyError}


def within(value: float, spans: str) -> bool:
    """Whether a number is in an interval, or in one of two."""
    return any((value >= float(low) if opened == "[" else value > float(low))
               and (value <= float(high) if closed == "]" else value < float(high))
               for opened, low, high, closed in _SPAN.findall(spans))


def check_rule(name: str, rule: re.Match[str], given: dict[str, Any]) -> None:
    """Check an argument by one rule.

    Raises:
        TypeError, ValueError, KeyError: if it breaks the rule, in MindSpore's words.
    """
    value = given[rule["argument"]]
    broken = _CHECKS[rule["rule"]](value, rule, given)
    if broken is not None:
        error, words = broken
        raise noted(error(words), f"For '{name}', '{rule['argument']}' is {value!r}.")


_Broken = tuple[type[Exception], str] | None


def _said(rule: re.Match[str], **places: Any) -> _Broken:
    return _ERRORS[rule["error"]], rule["words"].format(**places)


def _label(rule: re.Match[str], place: int | None = None) -> str:
    if rule["label"] is not None:
        return rule["label"].format(place)
    return rule["argument"] + ("" if place is None else f"[{place}]")


def _outside(label: str, spans: str) -> _Broken:
    return ValueError, f"Input {label} is not within the required interval of {spans}.".replace(
        "Input  is", "Input is")


def _listed(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _items(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """Each has one of these types."""
    kinds = tuple(_KINDS[kind] for kind in rule["spec"].split("|"))
    for place, item in enumerate(value if _listed(value) else ()):
        if not isinstance(item, kinds) or isinstance(item, bool):
            return TypeError, of_type(_label(rule, place), item, *kinds)
    return None


def _each(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """Each is in an interval."""
    for place, item in enumerate(value if _listed(value) else ()):
        if _number(item) and not math.isnan(item) and not within(item, rule["spans"]):
            return _outside(_label(rule, place), rule["spans"])
    return None


def _lone(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """A number, where lists are allowed too, has this type and is in this interval."""
    if _listed(value) or value is None:
        return None
    kinds = tuple(_KINDS[kind] for kind in rule["spec"].split("|")) if rule["spec"] else (object,)
    if not isinstance(value, kinds) or rule["spec"] and isinstance(value, bool):
        return TypeError, of_type(_label(rule), value, *kinds)
    if rule["spans"] and not within(value, rule["spans"]):
        return _outside(_label(rule), rule["spans"])
    return None


def _long(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """A list or tuple has so many items."""
    fits = not _listed(value) or str(len(value)) in rule["spec"].split(",")
    return None if fits else _said(rule)


def _ordered(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """The first of two isn't the larger one, nor the third of four."""
    if _listed(value) and len(value) in (2, 4) and all(map(_number, value)) and any(
            value[at] > value[at + 1] for at in range(0, len(value), 2)):
        return _said(rule, first=value[0], second=value[1])
    return None


def _positive(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """A number, or the last of two, is greater than 0."""
    number = value[-1] if _listed(value) and len(value) == 2 else value
    if _number(number) and number <= 0:
        words = f"Input {_label(rule, None if number is value else 1)} must be greater than 0."
        return ValueError, words.replace("Input  must", "Input must")
    return None


def _negative(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """A number isn't negative."""
    return _said(rule) if _number(value) and value < 0 else None


def _odd(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """A number, or each of several, is odd."""
    for place, item in enumerate(value) if _listed(value) else ((None, value),):
        if _number(item) and item % 2 != 1:
            return ValueError, f"Input {_label(rule, place)} is not an odd value."
    return None


def _filled(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """A list has items."""
    return _said(rule) if _listed(value) and not value else None


def _given(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """It isn't None."""
    return _said(rule) if value is None else None


def _among(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """It is one of these."""
    return None if str(value) in rule["spec"].split(",") else _said(rule, value=value)


def _pair(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """It is a tuple of two."""
    if value is None or isinstance(value, tuple) and len(value) == 2:
        return None
    return ValueError, f"Value {_label(rule)} needs to be a 2-tuple."


def _fill(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """It is one, or three, of the numbers that a pixel may have; None where `spec` says so."""
    if value is None and rule["spec"]:
        return None
    if not isinstance(value, int) and not (isinstance(value, tuple) and len(value) == 3):
        return TypeError, f"{rule['argument']} should be a single integer or a 3-tuple."
    for place, item in enumerate(value) if isinstance(value, tuple) else ((None, value),):
        label = _label(rule, place)
        if not isinstance(item, int) or isinstance(item, bool):
            return TypeError, of_type(label, item, int)
        if not 0 <= item <= 255:
            return ValueError, in_interval(label, 0, 255)
    return None


def _halved(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """Half of a rate is above `f_min`, where no `f_max` is given."""
    low = given.get("f_min", 0.0)
    if given.get("f_max") is not None or not _number(value) or value // 2 > low:
        return None
    return _said(rule, low=low, value=value)


def _operations(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """Each can be called, and none is a class."""
    for place, item in enumerate(value if _listed(value) else ()):
        if isinstance(item, type):
            return ValueError, (
                f"op_list[{place}] should be a dataset processing operation instance, but got: "
                f"{item}. It may be missing parentheses for instantiation.")
        if rule["error"] and not callable(item):
            return _said(rule, place=place)
    return None


def _compared(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """It is above, at least or at most another argument."""
    other = given[rule["other"]]
    if not _number(value) or not _number(other):
        return None
    fits = {"above": value > other, "atleast": value >= other, "atmost": value <= other,
            "below": value < other}
    return None if fits[rule["rule"]] else _said(rule, value=value, other=other)


def _same(value: Any, rule: re.Match[str], given: Any) -> _Broken:
    """It is as long as another argument."""
    other = given.get(rule["other"])
    fits = not _listed(value) or not _listed(other) or len(value) == len(other)
    return None if fits else _said(rule, value=len(value), other=len(other))


_CHECKS = {"items": _items, "each": _each, "lone": _lone, "long": _long, "ordered": _ordered,
           "positive": _positive, "negative": _negative, "odd": _odd, "filled": _filled,
           "given": _given, "among": _among, "pair": _pair, "fill": _fill, "same": _same,
           "operations": _operations, "halved": _halved, "above": _compared, "atleast": _compared,
           "atmost": _compared, "below": _compared}
