"""`SymbolTree`: the statements of a network as nodes, and a network of them again."""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import linecache
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.require import of_type
from ..nn.cell import Cell
from .node import Node, NodeType
from .reading import Reader
from .scoped_value import ScopedValue

__all__ = ["SymbolTree"]

_NUMBERS = itertools.count()


class Position(NamedTuple):
    """A place between the nodes of a tree."""

    tree: SymbolTree
    node: Node
    behind: bool


class SymbolTree:
    """The statements of a network's `construct`, in their order.

    Examples:
        >>> from lamella import nn
        >>> from lamella.rewrite import Node, SymbolTree
        >>> tree = SymbolTree.create(nn.Softsign())
        >>> [node.get_name() for node in tree.nodes()]
        ['input_x', 'softsign', 'return_1']
        >>> square = Node.create_call_cell(nn.ReLU(), targets=["x"], args=["x"], name="relu")
        >>> _ = tree.insert(tree.before("softsign"), square)
        >>> print(tree.get_code())
        class SoftsignOpt(Softsign):
        <BLANKLINE>
            def construct(self, x: Tensor) -> Tensor:
                x = self.relu(x)
                softsign_var = ops.softsign(x)
                return softsign_var
    """

    def __init__(self, reader: Reader):
        self._network = reader.network
        self._reader = reader
        self._nodes = reader.read()
        self._cells: dict[str, Any] = {}  # inserted Cells, by attribute
        self._functions: dict[str, Any] = {}  # inserted functions, by name
        for node in self._nodes:
            node._tree = self

    @classmethod
    def create(cls, network: Cell) -> SymbolTree:
        """The tree of a network.

        Raises:
            TypeError: if `network` is no Cell.
            RuntimeError: if the source of its `construct` can't be read.
        """
        of_type(network, Cell, "network", "SymbolTree.create")
        return cls(Reader(network))

    def nodes(self, all_nodes: bool = False) -> Iterator[Node]:
        """The nodes, in the order they run.

        Args:
            all_nodes: whether those of the networks that it calls follow behind each call.
        """
        for node in list(self._nodes):
            yield node
            sub_tree = node.get_sub_tree() if all_nodes else None
            if sub_tree is not None:
                yield from sub_tree.nodes(all_nodes=True)

    def get_node(self, node_name: str) -> Node | None:
        """The node of a name; None if there is none."""
        return next((node for node in self._nodes if node.get_name() == node_name), None)

    def get_inputs(self) -> list[Node]:
        """The nodes of the network's inputs."""
        return [node for node in self._nodes if node.get_node_type() is NodeType.Input]

    def before(self, node: Node | str) -> Position:
        """The place before a node."""
        return Position(self, self._own(node, "before"), False)

    def after(self, node: Node | str) -> Position:
        """The place behind a node."""
        return Position(self, self._own(node, "after"), True)

    def insert(self, position: Position, node: Node) -> Node:
        """Insert a node that was made.

        Args:
            position: what `before` or `after` gave.
            node: what `Node.create_call_cell` or `create_call_function` gave.

        Returns:
            The node.

        Raises:
            TypeError: if an argument is of the wrong type.
            ValueError: if the place is in another tree, before the inputs or behind the result, or
                the node is in a tree already.
        """
        of_type(position, Position, "position", "insert")
        of_type(node, Node, "node", "insert")
        if position.tree is not self:
            raise ValueError("For 'insert', 'position' must be in this tree.")
        if node._tree is not None:
            raise ValueError(f"For 'insert', the node {node.get_name()!r} is in a tree already.")
        place = self._place(position.node) + position.behind
        if not position.behind and position.node.get_node_type() is NodeType.Input:
            raise ValueError("For 'insert', the place must be behind the inputs.")
        if position.behind and position.node.get_node_type() is NodeType.Output:
            raise ValueError("For 'insert', the place must be before the result.")
        self._adopt(node)
        self._nodes.insert(max(place, len(self.get_inputs())), node)
        return node

    def erase(self, node: Node | str) -> Node | None:
        """Take a node out. Who took its results has to be given others.

        Returns:
            The node; None if there is none of the name.

        Raises:
            ValueError: if it is an input or the result.
        """
        if isinstance(node, str) and self.get_node(node) is None:
            return None
        found = self._own(node, "erase")
        if found.get_node_type() in (NodeType.Input, NodeType.Output):
            raise ValueError(f"For 'erase', a node of the kind {found.get_node_type().name} can't "
                             f"be erased.")
        self._nodes.pop(self._place(found))
        found._tree = None
        return found

    def replace(self, old_node: Node | str, new_nodes: Sequence[Node]) -> Node:
        """Put nodes, in their order, in the place of one.

        Returns:
            The last of them.

        Raises:
            ValueError: if there are none.
        """
        old = self._own(old_node, "replace")
        if not isinstance(new_nodes, (list, tuple)) or not new_nodes:
            raise ValueError("For 'replace', 'new_nodes' must be a list of at least one node.")
        for node in new_nodes:
            self.insert(self.before(old), node)
        self.erase(old)
        return new_nodes[-1]

    def unique_name(self, name: str = "output") -> str:
        """A name that no variable and no attribute has yet: `name`, or with a number behind."""
        of_type(name, str, "name", "unique_name")
        taken = self._reader.variables | {n for node in self._nodes for n in node.writes()}
        found, count = name, 0
        while found in taken or hasattr(self._network, found):
            count += 1
            found = f"{name}_{count}"
        self._reader.variables.add(found)
        return found

    def providers(self, node: Node) -> list[Node]:
        """The nodes whose results a node takes, see `Node.get_inputs`."""
        place = self._place(node)
        found: dict[int, Node] = {}
        for name in node.reads():
            for earlier in reversed(self._nodes[:place]):
                if name in earlier.writes():
                    found[id(earlier)] = earlier
                    break
        return list(found.values())

    def print_node_tabulate(self, all_nodes: bool = False) -> None:
        """Print a line for each node: its kind, name, source, results and arguments."""
        rows = [("node type", "name", "code", "targets", "args")]
        for node in self.nodes(all_nodes):
            line = node.statement()
            code = "" if line is None else ast.unparse(ast.fix_missing_locations(
                copy.deepcopy(line))).partition("\n")[0]
            rows.append((node.get_node_type().name, node.get_name(), code,
                         ", ".join(map(str, node.get_targets())),
                         ", ".join(map(str, node.get_args()))))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  ".join(cell.ljust(width) for cell, width in
                            zip(row, widths, strict=True)).rstrip())

    def get_code(self) -> str:
        """The source of the class that `get_network` makes."""
        name = type(self._network).__name__
        made = ast.ClassDef(f"{name}Opt", [ast.Name(name, ast.Load())], [], [self._construct()], [])
        return ast.unparse(ast.fix_missing_locations(made))

    def get_network(self) -> Cell:
        """A Cell that runs the nodes as they are now.

        It has the Cells and Parameters of the network, and those that were inserted.
        """
        kind: Any = type(self._network)
        original = inspect.unwrap(kind.construct)
        outside = {name: cell.cell_contents for name, cell in zip(
            original.__code__.co_freevars, original.__closure__ or (), strict=True)}
        outside |= self._functions
        outside.setdefault(kind.__name__, kind)
        factory = ast.FunctionDef(
            "_factory", ast.arguments([], [ast.arg(name) for name in outside], None, [], [], None,
                                      []),
            [self._construct(), ast.Return(ast.Name("construct", ast.Load()))], [])
        text = ast.unparse(ast.fix_missing_locations(ast.Module([factory], [])))
        file = f"<{kind.__name__}Opt {next(_NUMBERS)}>"
        # tracebacks and `inspect` find the source there
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        made: dict[str, Any] = {}
        exec(compile(text, file, "exec"), original.__globals__, made)
        construct = made["_factory"](**outside)
        construct.__qualname__ = f"{kind.__name__}Opt.construct"
        return self._cell_of(type(f"{kind.__name__}Opt", (kind,), {
            "construct": construct, "__module__": kind.__module__}))

    def _cell_of(self, kind: Any) -> Cell:
        """A Cell of the new class with what the network has."""
        network = object.__new__(kind)
        for name, value in self._network.__dict__.items():
            # its tables of Cells and Parameters are its own, what is in them isn't
            network.__dict__[name] = copy.copy(value) if isinstance(value, dict) else value
        network._forget_graphs()
        for name, cell in self._cells.items():
            setattr(network, name, cell)
        for node in self._nodes:
            if node._sub_tree is not None:
                line = node.statement()
                call = line.value if isinstance(line, (ast.Assign, ast.Expr)) else None
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                    setattr(network, call.func.attr, node._sub_tree.get_network())
        return network

    def _construct(self) -> ast.FunctionDef:
        function = copy.deepcopy(self._reader.function)
        function.decorator_list = []
        lines = [node.statement() for node in self._nodes]
        function.body = [copy.deepcopy(line) for line in lines if line is not None] or [ast.Pass()]
        return function

    def _own(self, node: Node | str, where: str) -> Node:
        found = self.get_node(node) if isinstance(node, str) else node
        of_type(found, Node, "node", where)
        self._place(found)  # type: ignore[arg-type]
        return found  # type: ignore[return-value]

    def _place(self, node: Node) -> int:
        for place, own in enumerate(self._nodes):
            if own is node:
                return place
        raise ValueError(f"The node {node.get_name()!r} isn't in this tree.")

    def _adopt(self, node: Node) -> None:
        """Give a made node a name of its own, and the network what it calls."""
        node._name = self._reader.node_name(node._name)
        name = node._name
        if isinstance(node._instance, Cell):
            while hasattr(self._network, name) or name in self._cells:
                name = f"{name}_1"
            self._cells[name] = node._instance
            node._made = ast.Attribute(ast.Name("self", ast.Load()), name, ast.Load())
        else:
            name = self.unique_name(f"{name}_function")
            self._functions[name] = node._instance
            node._made = ast.Name(name, ast.Load())
        node._tree = self
        for target in node._targets:
            if isinstance(target, ScopedValue) and not target.scope and isinstance(
                    target.value, str):
                self._reader.variables.add(target.value)
