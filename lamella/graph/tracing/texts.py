"""Texts made of tensors and varying numbers, if they are only printed, logged or returned.

In ``print(f"loss {loss:.4f}")`` nothing but `print` sees the text, and in a call of a logger only
the log. So a recorded run puts a mark into it, and each replay prints the text with the value that
it has then; so do a dry run's texts that the compiled function itself returns, or appends to a
list that it only appends to. In any other place the program could compute with the text, which no
graph can hold.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import logging
import re
import string
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from ...core import log

_LOGGING = frozenset("debug info warning error critical fatal log".split())
_MARK = re.compile("\0(\\d+)\0")
_numbers = itertools.count()
_waiting: dict[int, tuple[Any, str]] = {}  # values and formats, by the numbers in their marks


def marked(value: Any, spec: str) -> str:
    """A mark that stands for a value in a text to be printed."""
    number = next(_numbers)
    _waiting[number] = value, spec
    return f"\0{number}\0"


def parts_of_text(text: Any, keep: bool = False) -> list[Any] | None:
    """A text with marks in pieces: text, value, format, text, ...; None if it has none.

    Args:
        text: the text, or anything else.
        keep: whether it may be taken apart again.
    """
    if not isinstance(text, str) or "\0" not in text:
        return None
    found: list[Any] = []
    end = 0
    for mark in _MARK.finditer(text):
        value = _waiting.get(int(mark[1])) if keep else _waiting.pop(int(mark[1]), None)
        if value is not None:  # otherwise the program's own text
            found += [text[end:mark.start()], *value]
            end = mark.end()
    return [*found, text[end:]] if found else None


def printing(function: Callable[..., None], texts: frozenset[int], *args: Any, **kwargs: Any
             ) -> None:
    """Print; the arguments with the numbers in `texts` are pieces of texts."""
    function(*[joined(arg) if i in texts else arg for i, arg in enumerate(args)], **kwargs)


def forget() -> None:
    """Drop the values of texts that were never printed, such as after an error."""
    _waiting.clear()


def texts_of(function: Any) -> frozenset[int]:
    """Which arguments are pieces of texts, in a call that prints."""
    made = isinstance(function, functools.partial) and function.func is printing
    return function.args[1] if made else frozenset()


def joined(pieces: list[Any]) -> str:
    """The text of such pieces."""
    values = [format(value, spec) for value, spec in zip(pieces[1::3], pieces[2::3], strict=True)]
    return "".join([pieces[0], *itertools.chain(*zip(values, pieces[3::3], strict=True))])


def is_only_printed(frame: FrameType) -> bool:
    """Whether a text that a frame makes at its line is an argument of Python's `print`."""
    code, call = frame.f_code, _call(frame)
    return call is not None and isinstance(call.func, ast.Name) and call.func.id == "print" and (
        "print" not in frame.f_globals
        and "print" not in (*code.co_varnames, *code.co_freevars, *code.co_cellvars))


def is_only_logged(frame: FrameType) -> bool:
    """Whether a text that a frame makes at its line is an argument of a method of a logger."""
    method, owner = _method(frame)
    if method not in _LOGGING or not (owner is logging or owner is log or type(owner) in (
            logging.Logger, logging.RootLogger)):
        return False
    code = getattr(getattr(owner, method, None), "__code__", None)  # the program may replace it
    return code is not None and code.co_filename in (logging.__file__, log.__file__)


def is_only_returned(frame: FrameType) -> bool:
    """Whether a text that a frame makes at its line is a part of what its function returns."""
    statement = _statement(frame)
    if not isinstance(statement, ast.Return) or frame.f_code.co_flags & inspect.CO_GENERATOR:
        return False
    return _passes_texts(statement, list(_displayed(statement.value)))


def appended_to(frame: FrameType) -> Any:
    """What a text that a frame makes at its line is only appended to; None if it isn't."""
    method, owner = _method(frame)
    return owner if method == "append" else None


def _call(frame: FrameType) -> ast.Call | None:
    """The call at a frame's line, if that is all, and text is made for its arguments only."""
    statement: Any = _statement(frame)
    call = getattr(statement, "value", None)
    return call if isinstance(call, ast.Call) and _passes_texts(statement, call.args) else None


def _method(frame: FrameType) -> tuple[str, Any]:
    """The method that is called at a frame's line, if that is all, and its object."""
    call = _call(frame)
    if call is None or not isinstance(call.func, ast.Attribute):
        return "", None
    return call.func.attr, _named(call.func.value, frame)


def _named(node: ast.expr, frame: FrameType) -> Any:
    """What a name or an attribute of a name is, found without running the program's code."""
    if isinstance(node, ast.Name):
        names = frame.f_locals if node.id in frame.f_locals else frame.f_globals
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_named(node.value, frame), "__dict__", {}).get(node.attr)
    return None


def _displayed(value: ast.expr | None) -> Iterator[ast.expr]:
    """An expression, and those in tuples, lists and dicts that it displays."""
    if value is not None:
        yield value
    parts = value.values if isinstance(value, ast.Dict) else value.elts if isinstance(
        value, (ast.Tuple, ast.List)) else []
    for part in parts:
        yield from _displayed(part)


def _statement(frame: FrameType) -> ast.stmt | None:
    statements = _statements(frame.f_code.co_filename).get(frame.f_lineno, ())
    return statements[0] if len(statements) == 1 else None


@functools.lru_cache(64)
def _statements(file: str) -> dict[int, list[ast.stmt]]:
    """The simple statements, and the heads of compound ones, at each line of a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return {}
    found: dict[int, list[ast.stmt]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
            for line in range(node.lineno, last + 1):
                found.setdefault(line, []).append(node)
    return found


def _passes_texts(statement: ast.AST, args: Sequence[ast.expr]) -> bool:
    """Whether a statement makes text for these expressions only."""
    allowed = {id(part) for arg in args for part in _of_text(arg)}
    return all(id(node) in allowed for node in ast.walk(statement)
               if isinstance(node, (ast.JoinedStr, ast.Lambda))
               or isinstance(node, ast.Attribute) and node.attr in ("format", "format_map")
               or isinstance(node, ast.Name) and node.id == "format")


def _of_text(arg: ast.expr) -> list[ast.expr]:
    """The nodes of an f-string, or of `format` of a constant, whose formats are constant."""
    if isinstance(arg, ast.JoinedStr):
        specs = [v.format_spec for v in arg.values
                 if isinstance(v, ast.FormattedValue) and v.format_spec is not None]
        if all(isinstance(part, ast.Constant) for s in specs for part in s.values):  # type: ignore
            return [arg, *specs]
    if (isinstance(arg, ast.Call) and isinstance(arg.func, ast.Attribute)
            and arg.func.attr == "format" and isinstance(arg.func.value, ast.Constant)
            and isinstance(arg.func.value.value, str)):
        fields = string.Formatter().parse(arg.func.value.value)
        if not any("{" in (spec or "") for _, _, spec, _ in fields):
            return [arg.func]
    return []
