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
