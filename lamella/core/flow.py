"""Whether a number that a program reads off a Tensor flows back into Tensors, by its source code.

Most reads don't: a loss is printed, a number compared, a metric kept. Only where the value meets a
Tensor again (`float(x) * y`, `Tensor(x.asnumpy())`), and that is what the function returns, has the
gradient been cut. The function's statements are followed by names, without regard to their order or
to branches; other functions aren't entered.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

# bits for what an expression is made of: the value that was read, Tensors
_READ, _TENSOR = 1, 2
# attributes and functions that don't tell a Tensor's numbers, or that have no derivative
_ABOUT = frozenset("""shape size dtype ndim device name itemsize nbytes strides argmax argmin
    argsort argpartition argwhere nonzero searchsorted digitize unique
    linear_sum_assignment""".split())
# calls whose results are no Tensors, and are computed from what was read if an argument is
_PLAIN = frozenset("""float int complex abs sum min max round list tuple sorted zip enumerate map
    reversed dict set""".split())
_NOTHING = frozenset("""print len int bool str repr range isinstance type hash id format hasattr
    callable super""".split())
_ARRAYS = frozenset({"np", "numpy", "onp", "math", "cmath", "scipy"})
_READS = frozenset("asnumpy numpy item tolist asscalar to_dlpack __array__".split())


def comes_back(frame: FrameType, is_tensor: Callable[[Any], bool]) -> bool:
    """Whether what the running line of a frame reads becomes part of Tensors that are returned.

    False where the source can't be had.
    """
    found = _reading(frame)
    if found is None:
        return False
    function, node = found
    return _Flow(frame, function, node, is_tensor).comes_back()


def _reading(frame: FrameType) -> tuple[Any, ast.expr] | None:
    """The function that a frame runs, and the expression in it that is evaluated now."""
    code = frame.f_code
    tree = _module("".join(linecache.getlines(code.co_filename, frame.f_globals)))
    if tree is None:
        return None
    positions = getattr(code, "co_positions", None)  # from Python 3.11 on
    where = None if positions is None else list(positions())[frame.f_lasti // 2]
    node = None
    for each in ast.walk(tree):
        if not isinstance(each, ast.Call):
            continue
        if where is None:
            named = each.func.attr if isinstance(each.func, ast.Attribute) else getattr(
                each.func, "id", "")
            hit = each.lineno == frame.f_lineno and named in _READS | {"float", "complex"}
        else:
            hit = where == (each.lineno, each.end_lineno, each.col_offset, each.end_col_offset)
        if hit:
            node = each
            break
    if node is None:
        return None
    around = [each for each in ast.walk(tree)
              if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
              and any(inner is node for inner in ast.walk(each))]
    return (around[-1], node) if around else None  # walked from outside inwards


@functools.lru_cache(maxsize=16)
def _module(source: str) -> ast.Module | None:
    try:
        return ast.parse(source) if source else None
    except (SyntaxError, ValueError):
        return None


class _Flow:
    """What the names of one function are made of."""

    def __init__(self, frame: FrameType, function: Any, node: ast.expr,
                 is_tensor: Callable[[Any], bool]):
        self.frame, self.function, self.node, self.is_tensor = frame, function, node, is_tensor
        self.names: dict[str, int] = {}

    def comes_back(self) -> bool:
        if isinstance(self.function, ast.Lambda):
            return self._returned(self.function.body)
        statements = list(_statements(self.function.body))
        before = None
        while before != self.names:
            before = dict(self.names)
            for statement in statements:
                self._follow(statement)
        return any(self._returned(s.value) for s in statements
                   if isinstance(s, ast.Return) and s.value is not None)

    def _returned(self, value: ast.expr) -> bool:
        """Whether a returned value (the first of several) is a Tensor made of what was read."""
        if isinstance(value, ast.Tuple) and value.elts:
            value = value.elts[0]
        return self._made_of(value) == _READ | _TENSOR

    def _follow(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._bind(target, statement.value)
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            self._bind(statement.target, statement.value)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self._bind(statement.target, statement.iter)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value  # parts.append(v): the object holds what it was given
            if isinstance(call.func, ast.Attribute):
                self._mark(call.func.value, self._all(call.args))
        for each in ast.walk(statement):
            if isinstance(each, ast.NamedExpr):
                self._bind(each.target, each.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            pairs = (zip(target.elts, value.elts, strict=True)
                     if isinstance(value, (ast.Tuple, ast.List))
                     and len(value.elts) == len(target.elts) else
                     ((each, value) for each in target.elts))
            for each, part in pairs:
                self._bind(each, part)
        else:
            self._mark(target, self._made_of(value))

    def _mark(self, target: ast.expr, kind: int) -> None:
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if kind and isinstance(target, (ast.Name, ast.Attribute)):
            name = ast.unparse(target)
            self.names[name] = self.names.get(name, 0) | kind

    def _all(self, parts: Any) -> int:
        kind = 0
        for part in parts:
            kind |= self._made_of(part)
        return kind

    def _made_of(self, node: ast.AST) -> int:
        if node is self.node:
            return _READ
        if isinstance(node, (ast.Constant, ast.Compare, ast.JoinedStr, ast.FormattedValue,
                             ast.FunctionDef)):
            return 0
        if isinstance(node, ast.Name):
            return self.names.get(node.id, 0) | self._held(node)
        if isinstance(node, ast.Attribute):
            if node.attr in _ABOUT:
                return 0
            return (self.names.get(ast.unparse(node), 0) | self._held(node)
                    | self._made_of(node.value))
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Subscript):
            return self._made_of(node.value)
        if isinstance(node, ast.IfExp):
            return self._made_of(node.body) | self._made_of(node.orelse)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return 0
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            for loop in node.generators:
                self._bind(loop.target, loop.iter)
            return self._made_of(node.elt)
        return self._all(ast.iter_child_nodes(node))

    def _of_call(self, call: ast.Call) -> int:
        given = self._all([*call.args, *[k.value for k in call.keywords]])
        function = call.func
        if isinstance(function, ast.Name):
            if function.id in _NOTHING or function.id in _ABOUT:
                return 0
            if function.id in _PLAIN:
                return given & _READ
            return given | _TENSOR if given & _READ else given
        if isinstance(function, ast.Attribute):
            if function.attr in _ABOUT:
                return 0
            root: Any = function
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in _ARRAYS:
                return given & _READ
            owner = self._made_of(function.value)
            if function.attr in _READS:
                return owner & _READ
            if given & _READ and not owner:  # a function of a module or an object: ops.mul(s, x)
                return given | _TENSOR
            return owner | given
        return given | self._made_of(function)

    def _held(self, node: ast.expr) -> int:
        """Whether a variable, or an attribute of one, holds a Tensor now."""
        return _TENSOR if self.is_tensor(self._value(node)) else 0

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            frame: FrameType | None = self.frame
            while frame is not None and frame.f_code.co_name in ("<listcomp>", "<genexpr>"):
                if node.id in frame.f_locals:
                    break
                frame = frame.f_back
            if frame is None:
                return None
            found = frame.f_locals.get(node.id)
            return frame.f_globals.get(node.id) if found is None else found
        if isinstance(node, ast.Attribute):
            held = getattr(self._value(node.value), "__dict__", None) or {}
            return held.get(node.attr, (held.get("_params") or {}).get(node.attr))
        return None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function, those inside of others too, without those of inner functions.
    """
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, None) or [])
        for handler in getattr(statement, "handlers", ()):
            yield from _statements(handler.body)
