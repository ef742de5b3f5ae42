"""Arguments that operations of pipelines had in older versions."""

from __future__ import annotations

import numpy as np
import pytest

from lamella import dataset as ds


def rows():
    return ds.NumpySlicesDataset({"a": [1, 2, 3], "b": [10, 20, 30]}, shuffle=False)


def test_map_puts_columns_in_order():
    data = rows().map(lambda a: (a, a + 1), "a", ["c", "d"], column_order=["b", "d"])
    assert data.get_col_names() == ["b", "d"]
    assert [(int(b), int(d)) for b, d in data] == [(10, 2), (20, 3), (30, 4)]


def test_batch_puts_columns_in_order_and_pads():
    data = rows().batch(2, per_batch_map=lambda a, info: ([x + 1 for x in a],),
                        input_columns=["a"], column_order=["b", "a"])
    assert [[v.tolist() for v in row] for row in data.create_tuple_iterator(
        output_numpy=True)] == [[[10, 20], [2, 3]], [[30], [4]]]
    uneven = ds.GeneratorDataset([(np.arange(n, dtype=np.float32),) for n in (1, 3)], ["x"],
                                 shuffle=False)
    padded, = uneven.batch(2, pad_info={"x": ([3], -1)}).create_tuple_iterator(output_numpy=True)
    np.testing.assert_array_equal(padded[0], [[0, -1, -1], [0, 1, 2]])


def test_an_unknown_column_is_named():
    with pytest.raises(Exception, match="z"):
        next(iter(rows().map(lambda a: a, "a", column_order=["z"])))
