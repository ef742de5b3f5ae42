"""From a recorded graph, as text, to XLA: a table of operations in `jax.numpy`, a file a family.

Nothing here imports PyTorch or the rest of Lamella: the process that compiles imports JAX alone,
and is there in a second. JAX is imported when a row is used, so that the names of all rows are
known without it.
"""

from .table import TABLE as TABLE
from .table import VIEWS as VIEWS
from .table import NotLowered as NotLowered

from . import (  # isort: skip  (each file adds its rows)
    activations as activations,
    best as best,
    boxes as boxes,
    complexes as complexes,
    creation as creation,
    indexing as indexing,
    linear as linear,
    losses as losses,
    matrices as matrices,
    normalization as normalization,
    pointwise as pointwise,
    products as products,
    reductions as reductions,
    shapes as shapes,
)
