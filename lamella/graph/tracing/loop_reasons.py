"""Says why a loop of the program's is recorded step by step, as far as its source tells."""

from __future__ import annotations

import ast
import linecache
from typing import Any

from .source_loops import REFUSED, leaves, without_continue, without_handlers

_WORDS: dict[Any, str] = {
    ast.Return: "return", ast.Try: "try", ast.Yield: "yield", ast.Global: "global",
    ast.Nonlocal: "nonlocal", ast.NamedExpr: ":=", ast.Match: "match", ast.Delete: "del",
    ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue"}


def reason_at(file: str, number: int) -> str:
    """Why the loop around a line isn't one operation of a graph; empty if that isn't known."""
    try:
        return _reason_in(ast.parse("".join(linecache.getlines(file))), number)
    except (SyntaxError, ValueError, RecursionError):
        return ""


def _reason_in(tree: ast.Module, number: int) -> str:
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.While, ast.For))
              and node.lineno <= number <= (node.end_lineno or 0)]
    if not around:
        return ""
    loop = max(around, key=lambda node: node.lineno)
    found = _hindering(loop, number)
    return "" if found is None else (
        f"; the loop in line {loop.lineno} would be one operation of a graph without its "
        f"'{found[0]}' in line {found[1]}")


def _hindering(loop: ast.While | ast.For, number: int) -> tuple[str, int] | None:
    if loop.orelse:
        return "else", loop.orelse[0].lineno
    for part in without_continue(without_handlers(loop.body)):
        if isinstance(part, ast.If) and len(part.body) == 1 and isinstance(
                part.body[0], ast.Break) and part.lineno <= number <= part.body[0].lineno:
            continue  # where it ends
        for node in ast.walk(part):
            if isinstance(node, (*REFUSED, ast.Raise)) or isinstance(
                    node, (ast.Break, ast.Continue)) and leaves(part):
                return _WORDS.get(type(node), type(node).__name__), getattr(node, "lineno", 0)
    return None
