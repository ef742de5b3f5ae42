"""Sparse tensors: only the nonzero elements are stored, with their indices.

`COOTensor` has a row and a column for each value, `CSRTensor` the columns row by row, `RowTensor`
whole rows. They hold Tensors, and every function of them is one of their values, so gradients by
the values (and by dense Tensors they meet) are those of `ops`; positions have none. `operators.py`
lists what `ops` shows: ``coo_*``, ``csr_*`` and conversions, imported when first named.
"""

from .coo import COOTensor, SparseTensor
from .csr import CSRTensor
from .jacobian import jacobian_structure, sparse_jacobian
from .row import RowTensor, RowTensorInner

__all__ = ["COOTensor", "CSRTensor", "RowTensor", "RowTensorInner", "SparseTensor",
           "jacobian_structure", "sparse_jacobian"]
