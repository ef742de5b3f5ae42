"""A loop of the program's source as functions of its names.

A step's function takes the values of the names that it assigns, and returns their next values; all
other names it finds as in the program. Where the program asks for a truth value, a function of
`loop_values` is called instead: so `and`, `or` and `not` compute with Tensors, and an `if` computes
both of its branches.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import loop_values
from .loop_choices import chosen
from .source_loops import FUTURE, SourceLoop, assigned_in, leaves, made_of

# the names under which converted code finds functions of ours
_VALUES, _CHOSEN = "lamella_loop_values", "lamella_chosen"
MOST_KEPT = 256  # functions of the program's whose loops are kept as code
_STEP, _MADE = "lamella_step", "lamella_made"
_ASKED = {"bool": "truth", "float": "number", "int": "whole"}


class Functions:
    """The functions of a loop.

    Args:
        loop: the loop.
        code: of the function that it is in.
        space: the program's globals.
        known: the values of the names that the program has.

    Attributes:
        test, after, again, before: each takes the values of the names that a step assigns. The
            test gives a truth value, as does `again`; the others give the next values.
        bounds: gives the bounds of a range.
    """

    def __init__(self, loop: SourceLoop, code: types.CodeType, space: dict[str, Any],
                 known: Mapping[str, Any]):
        self._code, self._space = code, space
        self._known = {**known, _VALUES: loop_values, _CHOSEN: chosen}
        self._loop, names = loop, loop.assigned
        self.test = self._made("test", names, [], loop.test)
        self.after = self._made("after", names, loop.after)
        self.again = None if loop.again is None else self._made("again", names, [], loop.again)
        self.before = self._made("before", names, loop.before)
        bounds = loop.count.bounds if loop.count is not None else []
        self.bounds = self._made("bounds", [], [], ast.Tuple(list(bounds), ast.Load()))

    def all(self) -> list[Callable[..., Any]]:
        """The functions that a step consists of."""
        return [one for one in (self.test, self.after, self.again, self.before) if one is not None]

    def _made(self, part: str, names: Sequence[str], body: Sequence[ast.stmt],
              value: ast.expr | None = None) -> Callable[..., Any]:
        source = made_of.get(self._code, self._code)
        if len(_codes) > MOST_KEPT:
            _codes.clear()
        codes = _codes.setdefault(source, {})
        key = self._loop.statement, part, frozenset(self._known)
        if key not in codes:
            codes[key] = self._compiled(names, body, value)
            _note(codes[key], source)
        code = codes[key]
        cells = tuple([types.CellType(self._known[name]) for name in code.co_freevars])
        return types.FunctionType(code, self._space, _STEP, None, cells)

    def _compiled(self, names: Sequence[str], body: Sequence[ast.stmt], value: ast.expr | None
                  ) -> types.CodeType:
        converted = _Converted()
        result = _tuple(names) if value is None else converted.condition(copy.deepcopy(value))
        step = _definition(_STEP, names, [
            *converted.statements(copy.deepcopy(list(body))), ast.Return(result)])
        free = sorted({node.id for node in ast.walk(step) if isinstance(node, ast.Name)}
                      & self._known.keys() - {*names})
        outer = _definition(_MADE, free, [step, ast.Return(ast.Name(_STEP, ast.Load()))])
        whole = compile(ast.fix_missing_locations(ast.Module([outer], [])), self._code.co_filename,
                        "exec", self._code.co_flags & FUTURE, dont_inherit=True)
        return _inner(_inner(whole, _MADE), _STEP)


# by the code of the program's function: the code of each part of its loops, by the known names
_codes: dict[types.CodeType, dict[Any, types.CodeType]] = {}


def _inner(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)


def _note(code: types.CodeType, source: types.CodeType) -> None:
    made_of[code] = source
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _note(constant, source)


def _definition(name: str, names: Sequence[str], body: list[Any]) -> ast.FunctionDef:
    made = ast.parse(f"def {name}({', '.join(names)}): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made


def _tuple(names: Sequence[str], ctx: type = ast.Load) -> ast.Tuple:
    return ast.Tuple([ast.Name(name, ctx()) for name in names], ctx())


def _call(function: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name(_VALUES, ast.Load()), function, ast.Load()),
                    list(args), [])


def _later(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


class _Converted(ast.NodeTransformer):
    """Statements whose truth values may be Tensors."""

    def __init__(self) -> None:
        self._ways = 0

    def condition(self, test: Any) -> Any:
        """An expression of which the program takes the truth value."""
        if isinstance(test, ast.BoolOp):
            name = "all_of" if isinstance(test.op, ast.And) else "any_of"
            return _call(name, *[_later(self.condition(value)) for value in test.values])
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return _call("not_of", self.condition(test.operand))
        return self.visit(test)

    def statements(self, body: list[ast.stmt]) -> list[Any]:
        """Converted statements."""
        found = [self.visit(part) for part in body]
        return [part for parts in found for part in (parts if isinstance(parts, list) else [parts])]

    def visit_If(self, node: ast.If) -> Any:
        if any(map(leaves, (*node.body, *node.orelse))):  # it leaves a loop in the step
            return self.generic_visit(node)
        names = assigned_in([*node.body, *node.orelse])
        test = self.condition(node.test)
        self._ways += 1
        ways = [_definition(f"lamella_way_{self._ways}_{number}", names, [
            *self.statements(body), ast.Return(_tuple(names))])
            for number, body in enumerate((node.body, node.orelse))]
        called = ast.Call(ast.Name(_CHOSEN, ast.Load()), [
            test, *[ast.Name(way.name, ast.Load()) for way in ways], _tuple(names)], [])
        result = ast.Assign([_tuple(names, ast.Store)], called) if names else ast.Expr(called)
        return [ast.copy_location(part, node) for part in (*ways, result)]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        ways = [_later(ast.Tuple([self.visit(way)], ast.Load()))
                for way in (node.body, node.orelse)]
        called = ast.Call(ast.Name(_CHOSEN, ast.Load()), [
            self.condition(node.test), *ways, ast.Tuple([], ast.Load())], [])
        return ast.copy_location(ast.Subscript(called, ast.Constant(0), ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if (isinstance(node.func, ast.Name) and node.func.id in _ASKED and len(node.args) == 1
                and not node.keywords and not isinstance(node.args[0], ast.Starred)):
            return ast.copy_location(_call(_ASKED[node.func.id], ast.Name(
                node.func.id, ast.Load()), node.args[0]), node)
        if (isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args
                and not node.keywords):
            return ast.copy_location(_call("item", node.func.value), node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

