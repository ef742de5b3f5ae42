"""Updates of some rows, with numbers recorded from MindSpore's documentation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, ops

GRAD, ROWS = [[0.3, 0.7], [0.1, 0.8]], [0, 1]


def parameters(*values: list) -> Any:
    return [Parameter(Tensor(v, ms.float32), name=f"p{i}") for i, v in enumerate(values)]


def check(found: tuple[Tensor, ...], *wanted: Any) -> None:
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def test_adadelta() -> None:
    held = parameters([[1.0, 2.0], [2.0, 3.0]], [[1.5, 2.5], [3.5, 4.5]], [[1.2, 2.4], [1.8, 0.6]])
    step: Any = ops.SparseApplyAdadelta(1e-6)
    found = step(*held, 0.01, 0.2, Tensor(GRAD), Tensor(ROWS))
    check(found, [[9.94611859e-01, 1.98851788], [1.99840558, 2.99478507]],
          [[3.72000009e-01, 8.91999960e-01], [7.08000004e-01, 1.41200006]],
          [[4.72257614e-01, 1.53470778], [3.80338937e-01, 3.37563992e-01]])
    check(tuple(p.value() for p in held), *[f.asnumpy() for f in found])


def test_rmsprop() -> None:
    held = parameters([[0.6, 0.3], [0.1, 0.5]], [[0.2, 0.4], [0.1, 0.3]], [[0.3, 0.1], [0.3, 0.6]])
    step: Any = ops.SparseApplyRMSProp(0.2, 0.01, 1e-6)
    found = step(*held, 0.01, Tensor(GRAD), Tensor(ROWS))
    check(found, [[5.88035822e-01, 2.88811117e-01], [9.10239667e-02, 4.83422279e-01]],
          [[1.12000003e-01, 4.72000003e-01], [2.80000009e-02, 5.72000027e-01]],
          [[1.19641740e-02, 1.11888833e-02], [8.97603668e-03, 1.65777095e-02]])


def test_settings_out_of_range() -> None:
    with pytest.raises(ValueError, match="'epsilon' must be 0 or more"):
        ops.SparseApplyAdadelta(-1.0)
    with pytest.raises(ValueError, match="'rho' must be of"):
        ops.SparseApplyRMSProp(1.5, 0.0, 1e-6)


def test_rows_of_other_rows() -> None:
    rows = ms.RowTensor(Tensor([1]), Tensor([[1.0, 2.0]]), (3, 2))
    again: Any = ms.RowTensor(row_tensor=rows)
    assert again.shape == (3, 2) and again.values is rows.values and again.indices is rows.indices
    with pytest.raises(TypeError, match="must be None if 'row_tensor' is given"):
        ms.RowTensor(shape=(3, 2), row_tensor=rows)


def test_the_parts_of_a_row_tensor_or_the_tensor():
    parts = ms.Tensor([0, 2], ms.int32), ms.Tensor([[1.0], [2.0]]), (3, 1)
    rows = ms.RowTensor(row_tensor=ms.RowTensor(*parts))
    np.testing.assert_array_equal(rows.indices.asnumpy(), [0, 2])
    for given in ({"indices": parts[0]}, {"values": parts[1]}, {"shape": parts[2]}):
        with pytest.raises(TypeError, match="must be None"):
            ms.RowTensor(row_tensor=rows, **given)
