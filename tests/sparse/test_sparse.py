"""Sparse tensors against the dense ones they represent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.sparse import COOTensor, CSRTensor, RowTensor
from tests.contracts import check_compiled, check_gradient

RNG = np.random.default_rng(11)


def matrix(rows: int = 3, columns: int = 4, dtype: str = "float32") -> np.ndarray:
    dense = RNG.standard_normal((rows, columns)) * 3
    return np.where(RNG.random((rows, columns)) < 0.5, np.round(dense, 1), 0).astype(dtype)


def coo(dense: np.ndarray) -> COOTensor:
    return ops.dense_to_sparse_coo(Tensor(dense))


def csr(dense: np.ndarray) -> CSRTensor:
    return ops.dense_to_sparse_csr(Tensor(dense))


def same(got: Any, want: Any) -> None:
    got = got if isinstance(got, Tensor) else got.to_dense()
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_printed_forms() -> None:  # recorded from MindSpore 2.10
    places, values = Tensor([[0, 1], [1, 2]], ms.int32), Tensor([1.0, 2.0], ms.float32)
    assert str(COOTensor(places, values, (3, 4))) == (
        "COOTensor(shape=[3, 4], dtype=Float32, indices=Tensor(shape=[2, 2], dtype=Int32, value=\n"
        "[[0 1]\n [1 2]]), values=Tensor(shape=[2], dtype=Float32, value="
        "[ 1.00000000e+00  2.00000000e+00]))")
    assert repr(CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([0, 1], ms.int32), values, (2, 4))
                ) == ("CSRTensor(shape=[2, 4], dtype=Float32, indptr=Tensor(shape=[3], dtype=Int32,"
                      " value=[0 1 2]), indices=Tensor(shape=[2], dtype=Int32, value=[0 1]), "
                      "values=Tensor(shape=[2], dtype=Float32, value="
                      "[ 1.00000000e+00  2.00000000e+00]))")
    assert str(RowTensor(Tensor([0], ms.int32), Tensor([[1.0, 2.0]]), (3, 2))) == (
        "RowTensor(shape=[3, 2], dtype=Float32, indices=Tensor(shape=[1], dtype=Int32, value=[0]), "
        "values=Tensor(shape=[1, 2], dtype=Float32, value=\n"
        "[[ 1.00000000e+00  2.00000000e+00]]))")


def test_conversions_and_properties() -> None:
    dense = matrix(5, 3)
    x, y = coo(dense), csr(dense)
    for sparse in (x, y, x.to_csr(), y.to_coo(), Tensor(dense).to_coo(), Tensor(dense).to_csr(),
                   ops.csr_to_coo(y), COOTensor(coo_tensor=x), CSRTensor(csr_tensor=y)):
        same(sparse, dense)
        assert sparse.shape == (5, 3) and sparse.ndim == 2 and sparse.dtype is ms.float32
        assert sparse.size == np.count_nonzero(dense) and sparse.itemsize == 4
    same(ops.csr_to_dense(y), dense)
    assert y.indptr.asnumpy().tolist() == [0, *np.cumsum((dense != 0).sum(1)).tolist()]
    assert x.indices.dtype is ms.int32 and x.astype(ms.float16).dtype is ms.float16
    rows = ops.csr2coo(y.indptr, y.size)
    assert (rows.asnumpy() == np.nonzero(dense)[0]).all()
    assert (ops.coo2csr(rows, 5).asnumpy() == y.indptr.asnumpy()).all()


def test_coalesce_adds_up_and_sorts() -> None:
    x = COOTensor(Tensor([[1, 2], [0, 1], [1, 2]]), Tensor([1.0, 2.0, 3.0]), (2, 3))
    once = x.coalesce()
    assert once.indices.asnumpy().tolist() == [[0, 1], [1, 2]]
    assert once.values.asnumpy().tolist() == [2.0, 4.0]
    same(x, once.to_dense().asnumpy())
    same(x.to_csr(), once.to_dense().asnumpy())
    indices, values, shape = ops.Coalesce()(x.indices.T, x.values, Tensor([2, 3]))
    assert indices.asnumpy().tolist() == [[0, 1], [1, 2]] and values.asnumpy().tolist() == [2, 4]
    assert shape.asnumpy().tolist() == [2, 3]


def test_sums_and_products() -> None:
    a, b, dense = matrix(), matrix(), RNG.standard_normal((3, 4)).astype("float32") + 5
    held = np.where(a != 0, 1, 0)
    for make in (coo, csr):
        x, y = make(a), make(b)
        same(x + y, a + b)
        same(x - y, a - b)
        same(-x, -a)
        same(x.abs(), abs(a))
        same(x * Tensor(dense), a * dense)
        same(x / Tensor(dense), a / dense)
        assert (x / Tensor(dense)).size == held.sum()
    same(coo(a) + Tensor(dense), a + dense)
    same(coo(a) - Tensor(dense), a - dense)
    same(csr(a) * 2, a * 2)
    same(csr(a) / Tensor(4.0), a / 4)
    column, row = dense[:, :1], dense[0]
    same(ops.csr_mul(csr(a), Tensor(column)), a * column)
    same(ops.csr_mul(csr(a), Tensor(row)), a * row)
    same(csr(a).add(csr(b), Tensor(2.0), Tensor(-3.0)), 2 * a - 3 * b)


def test_coo_add_leaves_out_what_is_small() -> None:  # recorded from MindSpore 2.10
    x = COOTensor(Tensor([[0, 1], [1, 2]]), Tensor([1, 2], ms.int32), (3, 4))
    y = COOTensor(Tensor([[0, 0], [1, 1]]), Tensor([3, 4], ms.int32), (3, 4))
    total = ops.coo_add(x, y, Tensor(0, ms.int32))
    assert total.indices.asnumpy().tolist() == [[0, 0], [0, 1], [1, 1], [1, 2]]
    assert total.values.asnumpy().tolist() == [3, 1, 4, 2]
    assert ops.coo_add(x, y, Tensor(3, ms.int32)).values.asnumpy().tolist() == [3, 4]
    joined = ops.coo_concat((x, y), 1)
    assert joined.shape == (3, 8)
    assert joined.indices.asnumpy().tolist() == [[0, 1], [0, 4], [1, 2], [1, 5]]
    assert joined.values.asnumpy().tolist() == [1, 3, 2, 4]
    assert ops.coo_concat([x, y], 0).shape == (6, 4)


def test_matrix_products() -> None:
    a, b = matrix(4, 3), matrix(3, 5)
    same(csr(a).mm(csr(b)), a @ b)
    same(csr(a).mm(Tensor(b)), a @ b)
    same(csr(a).mv(Tensor(b[:, :1])), a @ b[:, :1])
    same(ops.csr_mm(csr(a), csr(a), trans_b=True), a @ a.T)
    same(ops.csr_mm(csr(a), csr(a), adjoint_a=True), a.T @ a)
    x = coo(a)
    for layer in (ops.SparseTensorDenseMatmul(), nn.SparseTensorDenseMatmul()):
        same(layer(x.indices, x.values, x.shape, Tensor(b)), a @ b)
    product = ops.SparseTensorDenseMatmul(adjoint_st=True, adjoint_dt=True)
    same(product(x.indices, x.values, Tensor([4, 3]), Tensor(b.T @ a.T)), a.T @ a @ b)


def test_reductions_of_rows() -> None:
    a = matrix(4, 5)
    same(csr(a).sum(1), a.sum(1, keepdims=True))
    same(csr(a).sum(0), a.sum(0, keepdims=True))
    soft = ops.csr_softmax(csr(a), ms.float32).to_dense().asnumpy()
    powers = np.where(a != 0, np.exp(a), 0)
    want = powers / np.where(powers.sum(1, keepdims=True) == 0, 1, powers.sum(1, keepdims=True))
    np.testing.assert_allclose(soft, want, rtol=1e-5)
    logits = CSRTensor(Tensor([0, 4, 6]), Tensor([0, 2, 3, 4, 3, 4]),
                       Tensor([1.0, 2, 3, 4, 1, 2]), (2, 6))  # recorded from MindSpore 2.10
    np.testing.assert_allclose(
        ops.csr_softmax(logits, ms.float32).values.asnumpy(),
        [3.20586003e-02, 8.71443152e-02, 2.36882806e-01, 6.43914223e-01, 2.68941432e-01,
         7.31058598e-01], rtol=1e-6)


def test_softmax_of_tall_matrices_and_of_large_numbers() -> None:
    a = np.array([[200, 201.0], [-300, 0], [0, 0], [150, 0], [3, 300]], np.float32)
    powers = np.where(a != 0, np.exp(a.astype(np.float64)), 0)
    want = powers / np.maximum(powers.sum(1, keepdims=True), 1e-200)
    same(ops.csr_softmax(csr(a), ms.float32), want)


def test_more_than_two_dimensions() -> None:
    values = RNG.standard_normal((3, 2)).astype("float32")
    x = CSRTensor(Tensor([0, 1, 3]), Tensor([2, 0, 1]), Tensor(values), (2, 3, 2))
    dense = np.zeros((2, 3, 2), "float32")
    dense[0, 2], dense[1, 0], dense[1, 1] = values
    same(x, dense)
    for axis in (0, 1, 2, -1, -3):
        same(x.sum(axis), dense.sum(axis, keepdims=True))
    same(x + x, dense * 2)
    same(x.add(x, Tensor(3.0), Tensor(-1.0)), dense * 2)
    same(x * Tensor(np.full((2, 3, 2), 2, "float32")), dense * 2)
    same(x * Tensor(np.array([2.0, 3.0], "float32")), dense * np.array([2, 3]))


def test_every_function_of_the_values() -> None:
    dense = np.abs(matrix(3, 3)) + np.eye(3, dtype="float32")
    dense = np.where(dense != 0, dense / 10, 0).astype("float32")
    x, y = coo(dense), csr(dense)
    names = """abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor inv isfinite isinf
        isnan log log1p neg relu relu6 round sigmoid sin sinh softsign sqrt square tan tanh"""
    for name in names.split():
        want = getattr(ops, name)(x.values).asnumpy()
        for prefix, sparse in (("coo", x), ("csr", y)):
            function = getattr(ops, f"{prefix}_{name}")
            np.testing.assert_array_equal(function(sparse).values.asnumpy(), want)
            assert function.__name__ == f"{prefix}_{name}"
    with pytest.raises(TypeError, match="For 'coo_sin', 'x' must be a COOTensor, but got Tensor"):
        ops.coo_sin(Tensor(1.0))


def test_primitives() -> None:
    a = matrix(3, 4)
    x = coo(a)
    same(ops.SparseToDense()(x.indices, x.values, x.shape), a)
    same(nn.SparseToDense()(x), a)
    same(ops.SparseTensorDenseAdd()(x.indices, x.values, Tensor([3, 4]), Tensor(a)), 2 * a)
    indices, values, shape = ops.SparseSlice()(x.indices, x.values, Tensor([3, 4]),
                                               Tensor([1, 1]), Tensor([9, 2]))
    same(COOTensor(indices, values, tuple(shape.asnumpy().tolist())), a[1:, 1:3])
    same(ops.SparseGatherV2()(Tensor(a), Tensor([2, 0]), 0), a[[2, 0]])
    rows = ops.row_tensor_add(RowTensor(Tensor([1]), Tensor([[1.0, 2.0]]), (3, 2)),
                              RowTensor(Tensor([0]), Tensor([[3.0, 4.0]]), (3, 2)))
    assert rows.indices.asnumpy().tolist() == [1, 0] and rows.dense_shape == (3, 2)


def _as_csr(values: Tensor) -> CSRTensor:
    return CSRTensor(Tensor([0, 2, 3]), Tensor([0, 2, 1]), values, (2, 3))


def _as_coo(values: Tensor) -> COOTensor:
    return COOTensor(Tensor([[0, 0], [0, 2], [1, 1]]), values, (2, 3))


DENSE = np.random.default_rng(2).standard_normal((3, 2))
GRADIENTS: dict[str, Any] = {
    "csr_mm": lambda v, d: _as_csr(v).mm(d),
    "csr_mul": lambda v, d: (_as_csr(v) * d.T).values,
    "csr_softmax": lambda v, d: ops.csr_softmax(_as_csr(v), v.dtype).values,
    "csr_sum": lambda v, d: _as_csr(v * v).sum(1),
    "csr_add": lambda v, d: (_as_csr(v) + _as_csr(v * v)).values,
    "csr_csr": lambda v, d: ops.csr_mm(_as_csr(v), _as_csr(v), trans_b=True).to_dense(),
    "coo_dense": lambda v, d: _as_coo(v) + d.T,
    "coo_mul": lambda v, d: (_as_coo(v) * d.T).to_dense(),
    "coo_exp": lambda v, d: ops.coo_exp(_as_coo(v)).to_csr().to_dense(),
    "coalesce": lambda v, d: (_as_coo(v) + _as_coo(v * v)).values,
    "matmul": lambda v, d: ops.SparseTensorDenseMatmul()(_as_coo(v).indices, v, (2, 3), d),
}


@pytest.mark.parametrize("name", sorted(GRADIENTS))
def test_gradients_by_values_and_compiled(name: str) -> None:
    values = np.array([0.7, -1.3, 2.1])
    check_gradient(GRADIENTS[name], [values, DENSE], (0, 1) if name in (
        "csr_mm", "csr_mul", "coo_dense", "coo_mul", "matmul") else (0,), order=1)
    check_compiled(GRADIENTS[name], [Tensor(values), Tensor(DENSE)])


def test_a_compiled_function_of_a_sparse_tensor() -> None:
    total = ms.jit(lambda x: x.to_dense().sum())
    for k in range(4):
        assert float(total(_as_coo(Tensor([1.0, 2.0, k])))) == 3.0 + k


@pytest.mark.parametrize("make, error, text", [
    (lambda: COOTensor(Tensor([[0.0, 1.0]]), Tensor([1.0]), (2, 2)), TypeError, "must be int16"),
    (lambda: COOTensor(Tensor([[0, 1]]), Tensor([1.0]), [2, 2]), TypeError, "tuple of ints"),
    (lambda: COOTensor(Tensor([[0, 1]]), 1.0, (2, 2)), TypeError, "'values' must be a Tensor"),
    (lambda: COOTensor(Tensor([[0, 1]]), Tensor([1.0, 2.0]), (2, 2)), ValueError, "of shape"),
    (lambda: COOTensor(Tensor([[0, 1]]), Tensor([1.0]), (0, 2)), ValueError, "1 or more"),
    (lambda: CSRTensor(Tensor([0, 1]), Tensor([0]), Tensor([1.0]), (2, 2)), ValueError, "indptr"),
    (lambda: RowTensor(Tensor([0]), Tensor([1.0]), (2, 2)), ValueError, "For 'RowTensor'"),
    (lambda: _as_coo(Tensor([1.0, 2, 3])) + Tensor([1.0]), ValueError, "one shape"),
    (lambda: _as_coo(Tensor([1.0, 2, 3])) * 2, TypeError, "takes a Tensor"),
    (lambda: _as_csr(Tensor([1.0, 2, 3])) * Tensor([[1.0, 2.0]]), ValueError, "broadcast"),
    (lambda: _as_csr(Tensor([1.0, 2, 3])).mv(Tensor([1.0])), ValueError, "csr_mv"),
    (lambda: ops.dense_to_sparse_coo(Tensor([1.0])), ValueError, "matrix"),
    (lambda: ops.nothing_of_this_name, AttributeError, "nothing_of_this_name"),
], ids=range(13))
def test_wrong_arguments(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_paths_of_the_original() -> None:
    import lamella.alias

    lamella.alias.install()
    try:
        import mindspore  # pyright: ignore[reportMissingImports]
        from mindspore.common.sparse_tensor import (  # pyright: ignore[reportMissingImports]
            COOTensor as from_common,
        )
        from mindspore.ops import csr_mv  # pyright: ignore[reportMissingImports]
    finally:
        lamella.alias.uninstall()
    assert mindspore.COOTensor is from_common is COOTensor and csr_mv is ops.csr_mv
