"""Names below the public ones that programs for data pipelines import."""

import gc

import numpy as np
import pytest

import lamella.dataset as ds
from lamella import _c_dataengine as cde
from lamella.dataset import iterators, recovery


def test_values_share_memory():
    value = cde.Tensor(np.array([1, 2]))
    np.array(value, copy=False)[0] = 7
    assert value.as_array().tolist() == [7, 2] and value.type() == cde.DataType("int64")
    turned = np.arange(6).reshape(2, 3).T
    assert np.array(cde.Tensor(turned)).tolist() == turned.tolist()
    assert cde.TensorShape([2, 3]).as_list() == [2, 3] and cde.TensorShape([2]).is_known()
    assert cde.nptype_to_detype(str) == cde.DataType("string")
    with pytest.raises(ValueError, match="one of"):
        cde.DataType("complex64")


def test_live_iterators_are_listed():
    gc.collect()
    iterators._cleanup()
    data = ds.NumpySlicesDataset([1, 2], shuffle=False)
    one, other = data.create_tuple_iterator(), data.create_dict_iterator()
    assert [reference() for reference in iterators.ITERATORS_LIST] == [one, other]
    del one
    assert [reference() for reference in iterators.ITERATORS_LIST] == [other]
    iterators._cleanup()
    assert iterators.ITERATORS_LIST == []
    with pytest.raises(StopIteration):
        next(other)


@pytest.mark.parametrize("step", [0, 2, 5, 7, 14])
def test_training_goes_on_at_a_step(step):
    def made():
        data = ds.NumpySlicesDataset(list(range(5)), sampler=ds.RandomSampler())
        return data.map(lambda x: x + 1)
    before = ds.config.get_seed()
    ds.config.set_seed(3)
    try:
        reference = made().create_tuple_iterator(num_epochs=3, output_numpy=True)
        wanted = [int(row[0]) for _ in range(3) for row in reference]
        rows = made().create_tuple_iterator(num_epochs=3, output_numpy=True)
        next(rows)
        recovery._set_training_dataset(rows)
        recovery._reset_training_dataset(step, 5)
        assert [int(row[0]) for _ in range(3 - step // 5) for row in rows] == wanted[step:]
        with pytest.raises(RuntimeError, match="fetch data beyond the specified number of epochs"):
            next(rows)
        later = made()
        later.set_init_step(step)
        again = later.create_tuple_iterator(num_epochs=3, output_numpy=True)
        assert [int(row[0]) for _ in range(3 - step // 5) for row in again] == wanted[step:]
    finally:
        ds.config.set_seed(before)


@pytest.mark.parametrize("step, message", [(-1, "must be >= 0"), (15, "less than dataset_size")])
def test_steps_that_there_are_not(step, message):
    rows = ds.NumpySlicesDataset(list(range(5))).create_tuple_iterator(num_epochs=3)
    recovery._set_training_dataset(rows)
    with pytest.raises(RuntimeError, match=message):
        recovery._reset_training_dataset(step, 5)
    recovery._set_training_dataset(None)
    with pytest.raises(RuntimeError, match="not set"):
        recovery._reset_training_dataset(0, 5)
