"""Reads the source of `construct` into nodes; nested calls are taken apart."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from ..core.primitive import Primitive
from ..nn.cell import Cell
from ..nn.container import CellList, SequentialCell
from .node import Node, NodeType
from .scoped_value import ScopedValue, as_value

_FLOW = (ast.If, ast.For, ast.While, ast.With, ast.Try)
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare)


class Reader:
    """Reads one network.

    Attributes:
        nodes: what was read.
        function: `construct` as it stands in the source.
    """

    def __init__(self, network: Cell):
        self.network = network
        self.nodes: list[Node] = []
        self._names: set[str] = set()
        construct: Any = type(network).construct
        self.scope = inspect.getclosurevars(inspect.unwrap(construct))
        self.function = _function_of(network)
        self.variables = {part.id for part in ast.walk(self.function)
                          if isinstance(part, ast.Name)} | {
                              arg.arg for arg in _arguments(self.function)}

    def read(self) -> list[Node]:
        """The nodes of the network."""
        for argument in _arguments(self.function)[1:]:
            self._add(NodeType.Input, f"input_{argument.arg}",
                      [ScopedValue.create_naming_value(argument.arg)])
        body = self.function.body
        if ast.get_docstring(self.function) is not None:
            body = body[1:]
        for statement in body:
            self._statement(statement)
        return self.nodes

    def _add(self, kind: NodeType, name: str, *given: Any, **options: Any) -> Node:
        node = Node(kind, self.node_name(name), *given, **options)
        self.nodes.append(node)
        return node

    def node_name(self, name: str) -> str:
        """A name that no node has yet."""
        found, count = name, 0
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found

    def variable(self, name: str) -> str:
        """A name that no variable has yet."""
        found, count = f"{name}_var", 0
        while found in self.variables:
            count += 1
            found = f"{name}_var_{count}"
        self.variables.add(found)
        return found

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Return):
            value = None if statement.value is None else self._simple(statement.value)
            self._add(NodeType.Output, "return_1", (), [] if value is None else [as_value(value)])
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _is_plain(
                statement.targets[0]) and self._taken_apart(statement.value):
            target = statement.targets[0]
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            self._value(statement.value, [as_value(part) for part in parts])
        elif isinstance(statement, ast.Expr) and self._taken_apart(statement.value):
            self._value(statement.value, [])
        else:
            self._whole(statement)

    def _whole(self, statement: ast.stmt) -> None:
        """A statement that stays as it is."""
        flow = isinstance(statement, _FLOW)
        name = f"{type(statement).__name__.lower()}_node" if flow else "python_node"
        read = dict.fromkeys(
            part.id for part in ast.walk(statement) if isinstance(part, ast.Name)
            and isinstance(part.ctx, ast.Load) and part.id in self.variables
            and not self._is_outside(part.id) and part.id != "self")
        self._add(NodeType.ControlFlow if flow else NodeType.Python, name, (),
                  list(map(ScopedValue.create_naming_value, read)), made=statement)

    def _is_outside(self, name: str) -> bool:
        return name in self.scope.globals or name in self.scope.nonlocals \
            or name in self.scope.builtins

    def _taken_apart(self, value: ast.expr) -> bool:
        """Whether an expression becomes a node: a call of something named, or an operation."""
        return isinstance(value, _OPERATIONS) or isinstance(value, ast.Call) and _path(
            value.func) is not None

    def _value(self, value: ast.expr, targets: list[ScopedValue]) -> str:
        """Add the node of a call or operation; its name."""
        if isinstance(value, ast.Call):
            args = [as_value(self._simple(arg)) for arg in value.args]
            kwargs = {k.arg or f"**{i}": as_value(self._simple(k.value))
                      for i, k in enumerate(value.keywords)}
            path = _path(value.func) or ("call",)
            called = self._found(path)
            return self._add(self._kind(path, called), path[-1], targets, args, kwargs, value.func,
                             called).get_name()
        operands, made = _operation(value)
        args = [as_value(self._simple(operand)) for operand in operands]
        return self._add(NodeType.MathOps, _operation_name(value), targets, args,
                         made=made).get_name()

    def _simple(self, value: ast.expr) -> ast.expr:
        """An expression without calls, which have become nodes before it."""
        if isinstance(value, (ast.Tuple, ast.List)):
            return type(value)([self._simple(part) for part in value.elts], ast.Load())
        if isinstance(value, ast.Starred):
            return ast.Starred(self._simple(value.value), ast.Load())
        if not self._taken_apart(value):
            return value
        name = _path(value.func)[-1] if isinstance(  # type: ignore[index]
            value, ast.Call) else _operation_name(value)
        found = self.variable(name)
        self._value(value, [ScopedValue.create_naming_value(found)])
        return ast.Name(found, ast.Load())

    def _found(self, path: tuple[str, ...]) -> Any:
        """What a path of names stands for; None if that isn't known before it runs."""
        if path[0] == "self":
            found: Any = self.network
        else:
            outside = {**self.scope.builtins, **self.scope.globals, **self.scope.nonlocals}
            found = outside.get(path[0])
            if path[0] not in outside:
                return None
        for name in path[1:]:
            found = getattr(found, name, None)
        return found

    def _kind(self, path: tuple[str, ...], called: Any) -> NodeType:
        if isinstance(called, (SequentialCell, CellList)):
            return NodeType.CellContainer
        if isinstance(called, Cell):
            own = type(called).__module__.partition(".")[0] == __name__.partition(".")[0]
            return NodeType.CallCell if own else NodeType.Tree
        if isinstance(called, Primitive):
            return NodeType.CallPrimitive
        return NodeType.CallMethod if path[0] == "self" or called is None \
            else NodeType.CallFunction


def _function_of(network: Cell) -> ast.FunctionDef:
    """`construct` of a network, as a tree."""
    construct: Any = inspect.unwrap(type(network).construct)
    try:
        source = textwrap.dedent(inspect.getsource(construct))
    except (OSError, TypeError) as error:
        raise RuntimeError(f"For 'SymbolTree.create', the source of {type(network).__name__}."
                           f"construct can't be read: {error}.") from error
    found = ast.parse(source).body[0]
    if not isinstance(found, ast.FunctionDef):
        raise RuntimeError(f"For 'SymbolTree.create', {type(network).__name__}.construct must be "
                           f"defined by 'def'.")
    return found


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    given = function.args
    return [*given.posonlyargs, *given.args, *([given.vararg] if given.vararg else []),
            *given.kwonlyargs, *([given.kwarg] if given.kwarg else [])]


def _path(function: ast.expr) -> tuple[str, ...] | None:
    """``a.b.c`` as its names; None for any other expression."""
    if isinstance(function, ast.Name):
        return (function.id,)
    if isinstance(function, ast.Attribute):
        around = _path(function.value)
        return None if around is None else (*around, function.attr)
    return None


def _is_plain(target: ast.expr) -> bool:
    """Whether a target is a name, an attribute of self, or a tuple of such."""
    if isinstance(target, ast.Tuple):
        return all(map(_is_plain, target.elts))
    path = _path(target)
    return path is not None and (len(path) == 1 or len(path) == 2 and path[0] == "self")


def _operation(value: ast.expr) -> tuple[list[ast.expr], Callable[[list[ast.expr]], ast.expr]]:
    """The operands of an operation, and what makes it again of others."""
    if isinstance(value, ast.UnaryOp):
        return [value.operand], lambda given: ast.UnaryOp(value.op, *given)
    if isinstance(value, ast.BinOp):
        return [value.left, value.right], lambda given: ast.BinOp(given[0], value.op, given[1])
    assert isinstance(value, ast.Compare)
    if len(value.ops) > 1:  # of which not all may run
        return [], lambda given: copy.deepcopy(value)
    return [value.left, *value.comparators], lambda given: ast.Compare(
        given[0], value.ops, list(given[1:]))


def _operation_name(value: ast.expr) -> str:
    if isinstance(value, ast.UnaryOp):
        return f"unaryop_{type(value.op).__name__.lower()}"
    if isinstance(value, ast.BinOp):
        return f"binop_{type(value.op).__name__.lower()}"
    assert isinstance(value, ast.Compare)
    return f"compare_{type(value.ops[0]).__name__.lower()}"
