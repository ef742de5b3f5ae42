"""MindSpore's MindIR files: networks as graphs of its Primitives, read, run and written.

`messages` are the file's messages and `values` what they hold as Python's values and Tensors. To
read: `operators` is what a node computes, and `program` runs the graphs. To write: `lowering` says
which nodes compute what PyTorch has recorded, and `builder` puts them together.
"""

from .builder import Unwritable as Unwritable
from .lowering.graph import NoForm as NoForm
from .reading import read_mindir as read_mindir
from .writing import write_mindir as write_mindir

__all__ = ["NoForm", "Unwritable", "read_mindir", "write_mindir"]
