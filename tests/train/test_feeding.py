"""Rows fed to networks: how many each time, where reading goes on, and what runs are refused."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn, train
from lamella.train import feeding
from lamella.train.feeding import DatasetHelper, Endless, check_run, data_sink, row_of


def data(count=3):
    return ms.dataset.NumpySlicesDataset({"a": list(range(count))}, shuffle=False)


def numbers(rows):
    return [int(row[0]) for row in rows]


@pytest.mark.parametrize("size, wanted", [
    (-1, [[0, 1, 2], [0, 1, 2]]), (1, [[0], [1]]), (2, [[0, 1], [2, 0]]), (3, [[0, 1, 2]] * 2),
    (4, [[0, 1, 2, 0], [1, 2, 0, 1]]), (7, [[0, 1, 2, 0, 1, 2, 0], [1, 2, 0, 1, 2, 0, 1]])])
def test_so_many_rows_each_time(size, wanted):
    helper = DatasetHelper(data(), sink_size=size)
    assert [numbers(helper) for _ in range(2)] == wanted
    assert helper.sink_size() == len(wanted[0])
    seen = []

    def note(a):
        seen.append(int(a))
        return a * 10

    if size > 0:
        run = data_sink(note, data(), size)
        results = [int(run()) for _ in range(2)]
        assert seen == sum(wanted, []) and results == [10 * each[-1] for each in wanted]


def test_epochs_without_sinking():
    helper = DatasetHelper(data(), False, 2, epoch_num=2)
    assert numbers(helper) == numbers(helper) == [0, 1, 2] and helper.sink_size() == 1
    mixed = ms.dataset.NumpySlicesDataset({"a": [1, 2], "b": np.ones((2, 3), np.float32),
                                           "c": ["x", "yz"]}, shuffle=False)
    types, shapes = DatasetHelper(mixed.batch(2)).types_shapes()
    assert types == [ms.int64, ms.float32, np.dtype("U")] and shapes == [[2], [2, 3], [2]]
    helper.stop_send()
    assert numbers(helper) == []


@pytest.mark.parametrize("size, error", [(0, ValueError), (-2, ValueError), (1.0, TypeError),
                                         (True, TypeError)])
def test_sizes_that_can_not_be(size, error):
    with pytest.raises(error, match="sink_size"):
        DatasetHelper(data(), sink_size=size)
    with pytest.raises(error, match="sink_size"):
        check_run("train", 1, data(), True, size, 0, 1)
    if error is ValueError:
        with pytest.raises(error, match="'sink_size' must be above 0"):
            data_sink(abs, data(), size)
    with pytest.raises(ValueError, match="'sink_size' must be above 0, but got -1"):
        data_sink(abs, data(), -1)
    with pytest.raises(TypeError, match="dataset_sink_mode"):
        DatasetHelper(data(), 1)


@pytest.mark.parametrize("epoch, first, error, words", [
    (1, 0, None, ""), (3, 2, None, ""), (2, 2, ValueError, "must be above 'initial_epoch'"),
    (1, 2, ValueError, "must be above 'initial_epoch'"), (0, 0, ValueError, "epoch"),
    (-1, 0, ValueError, "epoch"), (1.0, 0, TypeError, "epoch"),
    (1, -1, ValueError, "initial_epoch")])
def test_epochs_of_a_run(epoch, first, error, words):
    if error is None:
        check_run("train", epoch, data(), False, -1, first, 1)
    else:
        with pytest.raises(error, match=words):
            check_run("train", epoch, data(), False, -1, first, 1)


def test_a_dataset_is_of_one_model():
    rows = data()
    check_run("train", 1, rows, False, -1, 0, 5)
    check_run("train", 1, rows, True, 1, 0, 5)
    with pytest.raises(RuntimeError, match="had been used in other model"):
        check_run("train", 1, rows, False, -1, 0, 6)


class Half:
    def get_dataset_size(self):
        return 1


@pytest.mark.parametrize("given", [3, [1], Half(), None])
def test_what_is_no_dataset(given):
    for call in (lambda: check_run("train", 1, given, False, -1, 0, 1),
                 lambda: DatasetHelper(given),
                 lambda: data_sink(abs, given)):
        with pytest.raises(TypeError, match="must be a Dataset, but got"):
            call()


def test_rows_that_are_none():
    empty = data().skip(3)
    with pytest.raises(ValueError, match="There is no valid data in dataset"):
        feeding.check_training_dataset(empty, "train")
    with pytest.raises(ValueError, match="There is no valid data in dataset"):
        next(Endless(empty))


def test_what_a_network_is_called_with():
    one = ms.Tensor([1, 2])
    assert row_of(one) == (one,) and row_of([one, one]) == (one, one)


def test_a_helper_is_of_one_network():
    rows, net = data(), nn.ReLU()
    helper = DatasetHelper(rows)
    for _ in range(2):
        assert train.connect_network_with_dataset(net, helper) is net
    with pytest.raises(ValueError, match="has been connected to another network"):
        train.connect_network_with_dataset(nn.ReLU(), helper)
    with pytest.raises(RuntimeError, match="must be in dataset sink mode"):
        train.connect_network_with_dataset(net, DatasetHelper(data(), False))
    with pytest.raises(TypeError, match="dataset_helper"):
        train.connect_network_with_dataset(net, rows)


def test_a_function_may_be_compiled():
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    rows = ms.dataset.NumpySlicesDataset((x, -x), shuffle=False)
    run = data_sink(lambda a, b: a * 2 + b, rows, 2, ms.JitConfig())
    assert [run().asnumpy().tolist() for _ in range(2)] == [[2, 3], [0, 1]]
