"""Embeddings by their definitions: rows of a table, and rows of fields joined."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn

TABLE = np.random.default_rng(4).standard_normal((7, 3)).astype(np.float32)
IDS = np.array([[0, 6], [3, 3], [5, 1], [2, 0]], np.int32)


@pytest.mark.parametrize("hot", [False, True])
def test_rows_by_the_layer_and_by_its_operators(hot):
    layer = nn.Embedding(7, 3, hot, ms.Tensor(TABLE))
    for found in (layer(ms.Tensor(IDS)), layer.by_operators(ms.Tensor(IDS))):
        np.testing.assert_allclose(found.asnumpy(), TABLE[IDS], rtol=1e-6)


def joined(ids, values, fields, many, operator):
    """Each field's rows, times their values, joined; zeros where no value is other than 0."""
    out = np.zeros((*ids.shape[:1], many, TABLE.shape[1]), np.float32)
    for row in range(len(ids)):
        for field in range(many):
            mine = (fields[row] == field) & (values[row] != 0)
            weights = values[row][mine]
            parts = TABLE[ids[row][mine]] * weights[:, None]
            if len(parts):
                out[row, field] = parts.max(0) if operator == "MAX" else (
                    parts.sum(0) / (np.abs(weights).sum() if operator == "MEAN" else 1))
    return out


@pytest.mark.parametrize("operator", ["SUM", "MEAN", "MAX"])
def test_rows_of_fields_are_joined(operator):
    layer = nn.MultiFieldEmbeddingLookup(7, 3, 4, ms.Tensor(TABLE), operator=operator)
    ids = np.array([[0, 1, 2, 3, 4], [6, 5, 4, 3, 1]], np.int32)
    values = np.float32([[1, 0.5, 2, 0, 1], [-1.5, 2, 0, 0, 0.25]])
    fields = np.array([[0, 0, 1, 1, 3], [3, 3, 1, 1, 0]], np.int32)
    found = layer(ms.Tensor(ids), ms.Tensor(values), ms.Tensor(fields))
    np.testing.assert_allclose(found.asnumpy(), joined(ids, values, fields, 4, operator),
                               rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target, sparse", [("CPU", True), ("DEVICE", True), ("DEVICE", False),
                                            ("CPU", False), ("GPU", True)])
def test_where_tables_of_dense_gradients_lie(target, sparse):
    if target == "GPU" or (target, sparse) == ("CPU", False):
        with pytest.raises(ValueError, match="'target'"):
            nn.EmbeddingLookup(7, 3, target=target, sparse=sparse)
    else:
        layer = nn.EmbeddingLookup(7, 3, ms.Tensor(TABLE), target, sparse=sparse)
        np.testing.assert_array_equal(layer(ms.Tensor(IDS)).asnumpy(), TABLE[IDS])


@pytest.mark.parametrize("ids", [IDS, IDS[0], IDS[1, 1]])
@pytest.mark.parametrize("longest", [0.5, 1.5])
def test_each_row_is_cut_to_a_length(ids, longest):
    layer = nn.EmbeddingLookup(7, 3, ms.Tensor(TABLE), max_norm=longest)
    sizes = np.linalg.norm(TABLE, axis=1, keepdims=True)
    assert (sizes < 1.5).any() and (sizes > 1.5).any()
    cut = TABLE * np.minimum(1, longest / sizes)
    np.testing.assert_allclose(layer(ms.Tensor(ids)).asnumpy(), cut[ids], rtol=1e-5)


@pytest.mark.parametrize("place", [None, 0, 3, -1])
@pytest.mark.parametrize("by_count", [False, True])
def test_gradients_of_a_table(place, by_count):
    """The row of padding has none, and others may be divided by how often they are named."""
    layer = nn.EmbeddingExt(7, 3, place, scale_grad_by_freq=by_count, _weight=ms.Tensor(TABLE))
    np.testing.assert_array_equal(layer(ms.Tensor(IDS)).asnumpy(), TABLE[IDS])
    counts = np.bincount(IDS.ravel(), minlength=7).astype(np.float32)
    want = np.minimum(counts, 1) if by_count else counts
    if place is not None:
        want[place] = 0
    got = ms.grad(lambda ids: layer(ids).sum(), None, layer.trainable_params())(ms.Tensor(IDS))
    got = got[0] if isinstance(got, tuple) else got
    np.testing.assert_array_equal(got.asnumpy(), np.repeat(want[:, None], 3, 1))
    assert nn.EmbeddingExt(7, 3, _freeze=True).trainable_params() == []
    with pytest.raises(ValueError, match="'_weight' must have shape"):
        nn.EmbeddingExt(7, 4, _weight=ms.Tensor(TABLE))
