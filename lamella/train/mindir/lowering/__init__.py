"""From what PyTorch has recorded to MindIR nodes.

`table` is the table, the other files fill it by families, and `graph` walks the recorded graph.
"""

from . import elementwise, indexing, layers, pooling, products, reductions, shapes
from .graph import lower as lower

__all__ = ["elementwise", "indexing", "layers", "lower", "pooling", "products", "reductions",
           "shapes"]
