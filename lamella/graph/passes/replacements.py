"""Replacing values throughout a graph."""

from __future__ import annotations

from torch.fx import Node
from torch.fx.node import map_arg

MANY = 64  # inputs of an operation, such as an optimizer's, whose arguments are rewritten only once


class Replacements:
    """Replacements of values in a graph.

    PyTorch rebuilds all arguments of an operation for each value that is replaced in them. For
    operations with many inputs, `finish` does this once.
    """

    def __init__(self) -> None:
        self._values: dict[Node, Node] = {}
        self._waiting: dict[Node, None] = {}  # operations with many inputs

    def replace(self, node: Node, other: Node) -> None:
        """Use `other` wherever `node` is used."""
        self._values[node] = other
        for user in list(node.users):
            if user in self._waiting:
                continue
            if len(user.all_input_nodes) > MANY:
                self._waiting[user] = None
            else:
                user.replace_input_with(node, other)

    def finish(self) -> None:
        """Rewrite the operations with many inputs."""
        for user in [*self._waiting]:
            self.finish_one(user)

    def finish_one(self, user: Node) -> None:
        """Rewrite an operation, if it has many inputs and waits for that."""
        if user in self._waiting:
            del self._waiting[user]
            user.args = map_arg(user.args, self._last)
            user.kwargs = map_arg(user.kwargs, self._last)

    def _last(self, node: Node) -> Node:
        while node in self._values:
            node = self._values[node]
        return node
