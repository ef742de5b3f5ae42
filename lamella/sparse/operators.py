"""Names of sparse tensors that `ops` shows; imported at their first use."""

from .conversions import (
    coo2csr,
    coo_tensor_get_dense_shape,
    coo_tensor_get_indices,
    coo_tensor_get_values,
    csr2coo,
    csr_tensor_get_dense_shape,
    csr_tensor_get_indices,
    csr_tensor_get_indptr,
    csr_tensor_get_values,
    csr_to_coo,
    csr_to_dense,
    dense_to_sparse_coo,
    dense_to_sparse_csr,
    make_coo_tensor,
    make_csr_tensor,
    make_row_tensor,
    make_row_tensor_inner,
    make_sparse_tensor,
    row_tensor_add,
    row_tensor_get_dense_shape,
    row_tensor_get_indices,
    row_tensor_get_values,
)
from .coo_operators import (
    coalesce,
    coo_add,
    coo_concat,
)
from .csr_operators import (
    csr_add,
    csr_div,
    csr_gather,
    csr_mm,
    csr_mul,
    csr_mv,
    csr_reduce_sum,
    csr_softmax,
)
from .elementwise import FUNCTIONS as _FUNCTIONS
from .primitives import (
    Coalesce,
    SparseGatherV2,
    SparseSlice,
    SparseTensorDenseAdd,
    SparseTensorDenseMatmul,
    SparseToDense,
)

__all__ = ["Coalesce", "SparseGatherV2", "SparseSlice", "SparseTensorDenseAdd",
           "SparseTensorDenseMatmul", "SparseToDense", "coalesce", "coo2csr", "coo_add",
           "coo_concat", "coo_tensor_get_dense_shape", "coo_tensor_get_indices",
           "coo_tensor_get_values", "csr2coo", "csr_add", "csr_div", "csr_gather", "csr_mm",
           "csr_mul", "csr_mv", "csr_reduce_sum", "csr_softmax", "csr_tensor_get_dense_shape",
           "csr_tensor_get_indices", "csr_tensor_get_indptr", "csr_tensor_get_values",
           "csr_to_coo", "csr_to_dense", "dense_to_sparse_coo", "dense_to_sparse_csr",
           "make_coo_tensor", "make_csr_tensor", "make_row_tensor", "make_row_tensor_inner",
           "make_sparse_tensor", "row_tensor_add", "row_tensor_get_dense_shape",
           "row_tensor_get_indices", "row_tensor_get_values"]
__all__ += _FUNCTIONS  # pyright: ignore[reportUnsupportedDunderAll]
globals().update(_FUNCTIONS)
