"""Changes a network's source: the statements of `construct` become nodes, and nodes a Cell.

`SymbolTree.create(network)` reads the source of `construct` by Python's `ast`. Nested calls become
nodes of their own, whose results have names. Nodes are inserted, replaced and erased, and their
arguments set; `get_network` makes a Cell of a new class, which has the Cells and Parameters of the
first one. What has several ways (``if``, ``for``) stays one node.
"""

from .node import Node, NodeType
from .scoped_value import ScopedValue, ValueType
from .symbol_tree import SymbolTree

__all__ = ["Node", "NodeType", "ScopedValue", "SymbolTree", "ValueType"]
