"""Sparse tensors from their parts, and their parts."""

import pytest

import lamella as ms


def test_a_part_of_something_else_is_a_clear_error():
    for get in (ms.ops.row_tensor_get_indices, ms.ops.coo_tensor_get_values,
                ms.ops.csr_tensor_get_indptr, ms.ops.csr_tensor_get_dense_shape):
        with pytest.raises(TypeError, match=f"For '{get.__name__}', 'x' must be a .*Tensor"):
            get({})
