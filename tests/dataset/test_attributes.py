"""Attributes of datasets that programs read, as MindSpore 2.10 has them."""

import gc
import pickle

import numpy as np

import lamella.dataset as ds


def source():
    return ds.NumpySlicesDataset({"a": np.zeros((6, 2), np.float32), "b": np.arange(6)},
                                 shuffle=False)


def test_they_are_there_before_anything_was_asked():
    rows = source()
    for dataset in (rows, rows.batch(2), rows.map(lambda x: x, "a"), rows.shuffle(3),
                    rows.repeat(2), ds.zip((rows.project("a"), rows.project("b"))),
                    ds.GeneratorDataset([(1,), (2,)], ["c"])):
        assert dataset.dataset_size is None and dataset.cache is None
        assert dataset.saved_output_shapes is None and dataset.saved_output_types is None
        assert isinstance(dataset.parent, list)


def test_they_keep_what_was_asked_last():
    batches = source().batch(2)
    assert batches.get_dataset_size() == batches.dataset_size == 3
    assert batches.output_shapes() == batches.saved_output_shapes == [[2, 2], [2]]
    assert batches.output_types() == batches.saved_output_types == [np.float32, np.int64]


def test_a_size_that_is_assigned_is_the_size():
    rows = source()
    rows.dataset_size = 4
    assert rows.get_dataset_size() == 4 and len(rows) == 4


def test_parents_are_weak_references_to_what_was_made_of_a_dataset():
    rows = source()
    assert rows.parent == []
    batches, repeated = rows.batch(2), rows.repeat(2)
    assert [found() for found in rows.parent] == [batches, repeated]
    del batches
    gc.collect()
    assert [found() for found in rows.parent] == [None, repeated]
    again = pickle.loads(pickle.dumps(rows))
    assert [int(row["b"]) for row in again.create_dict_iterator()] == list(range(6))


def test_the_kinds_of_implementations():
    from lamella.dataset.text.transforms import Implementation

    assert ds.Implementation is Implementation and ds.Implementation.PY == 1
