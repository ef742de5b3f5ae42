"""Nodes: the statements of a network, each with what it takes and what it gives."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.require import of_type
from ..nn.cell import Cell
from .scoped_value import ScopedValue, as_ast, variables

if TYPE_CHECKING:
    from .symbol_tree import SymbolTree

__all__ = ["Node", "NodeType"]


class NodeType(enum.Enum):
    """What a node does."""

    Unknown = 0
    CallCell = 1
    CallPrimitive = 2
    CallModule = 3
    CallFunction = 4
    CallMethod = 5
    Python = 6
    Input = 7
    Output = 8
    Tree = 9
    CellContainer = 10
    MathOps = 11
    ControlFlow = 12


Named = ScopedValue | str


class Node:
    """A statement of a network. Programs get nodes from a `SymbolTree`, or make calls.

    Examples:
        >>> from lamella import nn
        >>> from lamella.rewrite import Node
        >>> node = Node.create_call_cell(nn.ReLU(), ["y"], ["x"], name="relu")
        >>> node.get_name(), str(node.get_targets()[0])
        ('relu', 'y')
    """

    def __init__(self, kind: NodeType, name: str, targets: Sequence[ScopedValue] = (),
                 args: Sequence[ScopedValue] = (), kwargs: dict[str, ScopedValue] | None = None,
                 made: Any = None, instance: Any = None):
        self._kind = kind
        self._name = name
        self._targets = list(targets)
        self._args = list(args)
        self._kwargs = dict(kwargs or {})
        # a statement that stays as it is; or what makes an expression of the arguments
        self._made = made
        self._instance = instance
        self._tree: SymbolTree | None = None
        self._sub_tree: SymbolTree | None = None

    @staticmethod
    def create_call_cell(cell: Cell, targets: Sequence[Named], args: Sequence[Named] | None = None,
                         kwargs: dict[str, Named] | None = None, name: str = "",
                         is_sub_net: bool = False) -> Node:
        """A call of a Cell, which becomes an attribute of the network that it is inserted into.

        Args:
            cell: the Cell.
            targets: the names of its results.
            args, kwargs: what it is called with: names, or values (`ScopedValue`).
            name: what the attribute is called; without it, as the Cell's class.
            is_sub_net: whether `get_sub_tree` may change the Cell.

        Raises:
            TypeError: if `cell` is no Cell.
        """
        of_type(cell, Cell, "cell", "create_call_cell")
        kind = NodeType.Tree if is_sub_net else NodeType.CallCell
        return _call(kind, cell, name or _small(type(cell).__name__), targets, args, kwargs)

    @staticmethod
    def create_call_function(function: Callable[..., Any], targets: Sequence[Named],
                             args: Sequence[Named] | None = None,
                             kwargs: dict[str, Named] | None = None) -> Node:
        """A call of a function; the arguments are those of `create_call_cell`.

        Raises:
            TypeError: if `function` is none.
        """
        if not callable(function) or isinstance(function, (type, Cell)):
            raise TypeError(f"For 'create_call_function', 'function' must be a function, but got "
                            f"{type(function).__name__}.")
        name = getattr(function, "__name__", "function")
        return _call(NodeType.CallFunction, function, _small(name), targets, args, kwargs)

    def get_name(self) -> str:
        """Its name, which no other node of the tree has."""
        return self._name

    def get_node_type(self) -> NodeType:
        """What it does."""
        return self._kind

    def get_targets(self) -> list[ScopedValue]:
        """The names of its results."""
        return list(self._targets)

    def get_args(self) -> list[ScopedValue]:
        """What it is called with by position; of other statements, the variables they read."""
        return list(self._args)

    def get_kwargs(self) -> dict[str, ScopedValue]:
        """What it is called with by name."""
        return dict(self._kwargs)

    def get_instance(self) -> Any:
        """The Cell, Primitive or function that it calls; None if it calls none."""
        return self._instance

    def get_instance_type(self) -> type:
        """The type of what it calls."""
        return type(self._instance)

    def get_symbol_tree(self) -> SymbolTree | None:
        """The tree that it is in."""
        return self._tree

    def get_sub_tree(self) -> SymbolTree | None:
        """The tree of the Cell that it calls, whose changes go into `get_network`; None if it
        calls no network (`NodeType.Tree`), or is in no tree yet."""
        if self._kind is not NodeType.Tree or self._tree is None:
            return None
        if self._sub_tree is None:
            self._sub_tree = self._tree.create(self._instance)
        return self._sub_tree

    def get_inputs(self) -> list[Node]:
        """The nodes whose results it takes, in the order of its arguments."""
        return [] if self._tree is None else self._tree.providers(self)

    def get_users(self) -> list[Node]:
        """The nodes that take its results."""
        if self._tree is None:
            return []
        return [node for node in self._tree.nodes() if self in node.get_inputs()]

    def set_arg(self, index: int, arg: Named) -> None:
        """Replace an argument.

        Args:
            index: which one: those by position first, then those by name.
            arg: the new one: a name or a value.

        Raises:
            ValueError: if there is no such argument.
            TypeError: if the statement stays as it is.
        """
        if self._kind in (NodeType.Input, NodeType.ControlFlow, NodeType.Python):
            raise TypeError(f"For 'set_arg', the arguments of a node of the kind "
                            f"{self._kind.name} can't be set.")
        if not 0 <= index < len(self._args) + len(self._kwargs):
            raise ValueError(f"For 'set_arg', 'index' must be in [0, "
                             f"{len(self._args) + len(self._kwargs)}), but got {index}.")
        if index < len(self._args):
            self._args[index] = as_named(arg)
        else:
            self._kwargs[list(self._kwargs)[index - len(self._args)]] = as_named(arg)

    def set_arg_by_node(self, arg_idx: int, src_node: Node, out_idx: int | None = None) -> None:
        """Replace an argument by a result of another node.

        Args:
            arg_idx: which argument, as `set_arg` counts.
            src_node: the other node.
            out_idx: which of its results; None for the only one.

        Raises:
            ValueError: if there is no such argument or result.
        """
        of_type(src_node, Node, "src_node", "set_arg_by_node")
        targets = src_node.get_targets()
        place = 0 if out_idx is None else out_idx
        if not 0 <= place < len(targets) or out_idx is None and len(targets) > 1:
            raise ValueError(f"For 'set_arg_by_node', 'out_idx' must be in [0, {len(targets)}), "
                             f"but got {out_idx}.")
        self.set_arg(arg_idx, targets[place])

    def statement(self) -> ast.stmt | None:
        """Its line of source code."""
        if self._kind is NodeType.Input:
            return None
        if isinstance(self._made, ast.stmt):
            return self._made
        given = [as_ast(arg) for arg in self._args]
        if self._kind is NodeType.Output:
            return ast.Return(given[0] if given else None)
        if isinstance(self._made, ast.expr):
            named = [ast.keyword(None if key.startswith("**") else key, as_ast(value))
                     for key, value in self._kwargs.items()]
            value: ast.expr = ast.Call(self._made, given, named)
        else:
            value = self._made(given)
        if not self._targets:
            return ast.Expr(value)
        targets = [as_ast(target, store=True) for target in self._targets]
        whole = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        return ast.Assign([whole], value)

    def reads(self) -> list[str]:
        """The variables that it reads."""
        return [name for value in (*self._args, *self._kwargs.values()) for name in
                variables(value)]

    def writes(self) -> set[str]:
        """The variables that it assigns."""
        found = {name for target in self._targets for name in variables(target)}
        if isinstance(self._made, ast.stmt):
            found |= {part.id for part in ast.walk(self._made) if isinstance(part, ast.Name)
                      and isinstance(part.ctx, ast.Store)}
        return found

    def __repr__(self) -> str:
        return f"Node({self._kind.name}, {self._name!r})"


def as_named(given: Named) -> ScopedValue:
    """A name or value as a value; ``"self.scale"`` names an attribute."""
    if isinstance(given, ScopedValue):
        return given
    of_type(given, str, "arg", "Node")
    scope, dot, name = given.rpartition(".")
    if not dot or scope == "self":
        return ScopedValue.create_naming_value(name, scope)
    raise ValueError(f"For 'Node', a name must be a variable or an attribute of self, but got "
                     f"{given!r}.")


def _small(name: str) -> str:
    """A class's name as that of a variable: ``ReLU`` is ``relu``, ``MaxPool2d`` ``max_pool2d``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z])", "_", name).lower()


def _call(kind: NodeType, called: Any, name: str, targets: Sequence[Named],
          args: Sequence[Named] | None, kwargs: dict[str, Named] | None) -> Node:
    return Node(kind, name, list(map(as_named, targets)), list(map(as_named, args or ())),
                {key: as_named(value) for key, value in (kwargs or {}).items()},
                ast.Name(name, ast.Load()), called)
