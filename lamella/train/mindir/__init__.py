"""MindSpore's MindIR files: networks as graphs of its Primitives, read and run.

`messages` are the file's messages, `values` what they hold as Python's values and Tensors,
`operators` what a node computes, and `program` runs the graphs. `read_mindir` is their door.
"""

from .reading import read_mindir as read_mindir

__all__ = ["read_mindir"]
