"""Adapters: a function with another signature: other argument names, defaults or name.

`mint`, `numpy` and other rooms offer the functions of `ops` with their own signatures::

    amax = adapted(ops.amax, "input, dim:axis=(), keepdim:keepdims=False")

is ``def amax(input, dim=(), keepdim=False): return ops.amax(input, dim, keepdim)``, with a
docstring that says so. A function that computes something else has a `def` of its own.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from typing import Any

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def adapted(function: Callable[..., Any], signature: str, name: str = "", doc: str = "",
            **fixed: Any) -> Callable[..., Any]:
    """A function that passes its arguments to another one.

    Args:
        function: what is called.
        signature: the adapter's arguments, as in a `def`: names, ``name=default`` with a literal,
            ``*`` before those that are keywords only, ``/`` after those that have no names,
            maybe ``*args`` first. ``dim:axis=()`` is called `dim`, and is the `axis` of
            `function`.
        name: the adapter's name; default: that of `function`.
        doc: a sentence that the docstring ends with.
        fixed: further arguments of `function`, the same in every call.

    Returns:
        A function that costs one call more than `function`.

    Raises:
        ValueError: if `function` has no such argument.

    Examples:
        >>> import lamella as ms
        >>> from lamella.core.adapters import adapted
        >>> largest = adapted(ms.ops.amax, "input, dim:axis=(), keepdim:keepdims=False", "largest")
        >>> print(largest(ms.Tensor([[1.0, 3.0], [4.0, 2.0]]), dim=1))
        [3. 4.]
        >>> print(largest.__doc__)
        As `ops.amax`; `dim` is its `axis`, `keepdim` its `keepdims`.
    """
    name = name or function.__name__
    names: dict[str, str] = {}  # the adapter's arguments -> the function's
    shown: list[str] = []
    several = ""  # the name of ``*args``, which comes first
    space: dict[str, Any] = {"_function": function}
    for part in _split(signature):
        given, equals, default = part.partition("=")
        own, _, old = given.strip().partition(":")
        if own in ("*", "/") or own.startswith("*"):
            shown.append(own)
            several = several or own.strip("*/")
            continue
        names[own] = old or own
        if equals:
            space[f"_{own}"] = ast.literal_eval(default.strip())
            own += f"=_{own}"
        shown.append(own)
    space.update({f"_fixed_{k}": v for k, v in fixed.items()})
    call = _call(function, name, {**{old: own for own, old in names.items()},
                                  **{k: f"_fixed_{k}" for k in fixed}})
    call = f"*{several}, {call}" if several else call
    made = eval(f"lambda {', '.join(shown)}: _function({call})", space)  # noqa: S307
    made.__name__ = made.__qualname__ = name
    made.__module__ = sys._getframe(1).f_globals.get("__name__", __name__)
    made.__adapts__ = function
    made.__doc__ = _doc(function, names, fixed, doc)
    return made


def _split(signature: str) -> list[str]:
    """The parts between commas, except commas inside brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in signature:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "," and not depth:
                parts.append("")
                continue
        parts[-1] += letter
    return [p.strip() for p in parts if p.strip()]


def _call(function: Callable[..., Any], name: str, given: dict[str, str]) -> str:
    """The arguments of the call: by position as far as they are in the function's order."""
    taken = inspect.signature(function).parameters
    open_ended = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    unknown = [old for old in given if old not in taken]
    if unknown and not open_ended:
        raise ValueError(f"For 'adapted', {function.__name__!r} has no argument {unknown[0]!r}, "
                         f"which the adapter {name!r} passes to it.")
    by_position: list[str] = []
    for old, parameter in taken.items():
        if parameter.kind not in _POSITIONAL or old not in given:
            break
        by_position.append(old)
    by_name = [f"{old}={own}" for old, own in given.items() if old not in by_position]
    return ", ".join([*(given[old] for old in by_position), *by_name])


def _doc(function: Callable[..., Any], names: dict[str, str], fixed: dict[str, Any],
         doc: str) -> str:
    room = function.__module__.split(".")
    home = ".".join(room[1:2]) if room[0] == "lamella" else room[0]
    name = function.__name__
    if "self" in names.values():  # a method
        home, name = "Tensor", name.removeprefix("_").removeprefix("tensor_")
        names = {own: old for own, old in names.items() if old != "self"}
    renamed = ", ".join(f"`{own}` {'is its' if i == 0 else 'its'} `{old}`" for i, (own, old) in
                        enumerate((o, n) for o, n in names.items() if o != n))
    always = ", ".join(f"`{k}={v!r}`" for k, v in fixed.items())
    text = "; ".join(filter(None, [f"As `{home}.{name}`", renamed,
                                   always and f"with {always}"]))
    return f"{text}. {doc}".strip() if doc else f"{text}."
