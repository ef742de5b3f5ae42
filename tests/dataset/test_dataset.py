"""Sources, samplers, operations and iterators of data pipelines."""

import contextlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds


def rows(dataset):
    return [[np.asarray(v).tolist() for v in row]
            for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def numbers(count=6, **kwargs):
    return ds.NumpySlicesDataset({"n": list(range(count))}, **{"shuffle": False, **kwargs})


class Squares:
    def __len__(self):
        return 5

    def __getitem__(self, place):
        return np.float32(place), place * place


def test_generator_dataset_from_each_kind_of_source():
    indexed = ds.GeneratorDataset(Squares(), ["x", "y"], shuffle=False)
    assert rows(indexed) == [[float(i), i * i] for i in range(5)] and len(indexed) == 5

    def function():
        yield from ((i, -i) for i in range(3))

    for source in (function, [(i, -i) for i in range(3)]):
        data = ds.GeneratorDataset(source, ["a", "b"], **(
            {} if callable(source) else {"shuffle": False}))
        for _ in range(2):  # two epochs
            assert rows(data) == [[0, 0], [1, -1], [2, -2]]
        assert data.get_dataset_size() == 3 and data.get_col_names() == ["a", "b"]
    typed = ds.GeneratorDataset(Squares(), ["x", "y"], [ms.float32, ms.int64], shuffle=False)
    assert typed.output_types() == [np.float32, np.int64]


def test_rows_are_tensors_unless_arrays_are_asked_for():
    data = numbers()
    assert isinstance(next(iter(data.create_dict_iterator()))["n"], ms.Tensor)
    assert isinstance(next(data.create_tuple_iterator(output_numpy=True))[0], np.ndarray)
    assert [int(n) for (n,) in data] == list(range(6))


def test_shuffles_are_complete_and_reproducible():
    for shuffled in (ds.NumpySlicesDataset(list(range(50))), numbers(50).shuffle(10)):
        orders = []
        for _ in range(2):
            ds.config.set_seed(3)
            shown = shuffled.create_tuple_iterator(output_numpy=True)
            orders.append([[[int(v)] for (v,) in shown] for _ in range(2)])
        assert orders[0] == orders[1]
        first, second = ([v for (v,) in epoch] for epoch in orders[0])
        assert sorted(first) == list(range(50)) and first != second and first != list(range(50))


def test_samplers():
    assert rows(numbers(sampler=ds.SequentialSampler(2, 3), shuffle=None)) == [[2], [3], [4]]
    assert rows(numbers(sampler=ds.SubsetSampler([4, 1]), shuffle=None)) == [[4], [1]]
    assert rows(numbers(sampler=[5, 0], shuffle=None)) == [[5], [0]]
    assert sorted(rows(numbers(sampler=ds.SubsetRandomSampler([4, 1]), shuffle=None))) == [[1], [4]]
    drawn = rows(numbers(sampler=ds.WeightedRandomSampler([0, 0, 1, 0, 0, 0], 4), shuffle=None))
    assert drawn == [[2]] * 4
    assert len(numbers(sampler=ds.RandomSampler(True, 20), shuffle=None)) == 6
    with pytest.raises(RuntimeError, match="index 9 is out of range for 6 rows"):
        rows(numbers(sampler=ds.SubsetSampler([9]), shuffle=None))
    sampler = ds.SequentialSampler(0, 4)
    sampler.add_child(ds.SubsetSampler([5, 3, 1]))
    assert sampler.get_num_samples() == 4 and sampler.get_child().num_samples is None
    assert rows(numbers(sampler=sampler, shuffle=None)) == [[5], [3], [1]]


def test_operations():
    data = numbers()
    assert rows(data.batch(4)) == [[[0, 1, 2, 3]], [[4, 5]]] and len(data.batch(4)) == 2
    dropped = data.batch(4, drop_remainder=True)
    assert rows(dropped) == [[[0, 1, 2, 3]]] and len(dropped) == 1
    assert data.batch(4).repeat(2).get_batch_size() == 4
    assert data.repeat(3).get_repeat_count() == 3 and len(rows(data.repeat(2))) == 12
    assert rows(data.take(2)) == [[0], [1]] and len(data.take(9)) == 6
    assert rows(data.skip(4)) == [[4], [5]] and len(data.skip(9)) == 0
    assert rows(data.filter(lambda n: n % 2 == 0)) == [[0], [2], [4]]
    assert rows(data + numbers(2)) == [[0], [1], [2], [3], [4], [5], [0], [1]]
    assert rows(data.map([lambda n: n + 1, lambda n: n * 10])) == [[10 * i + 10] for i in range(6)]
    both = data.map(lambda n: (n, -n), ["n"], ["n", "m"])
    assert both.get_col_names() == ["n", "m"] and rows(both)[1] == [1, -1]
    assert rows(both.project(["m"]))[2] == [-2]
    assert both.rename("m", "k").get_col_names() == ["n", "k"]
    assert rows(ds.zip((data, numbers(3).rename("n", "k")))) == [[0, 0], [1, 1], [2, 2]]
    assert rows(data.zip(numbers(3).rename("n", "k")))[2] == [2, 2]
    assert rows(data.apply(lambda d: d.take(1))) == [[0]]
    assert data.output_shapes() == [[]]
    assert data.output_types() == [np.int64] and data.batch(3).output_shapes() == [[3]]
    assert rows(data) == [[i] for i in range(6)]  # none of which changed it


def test_a_pipeline_feeds_a_network():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 3)).astype(np.float32)
    data = ds.NumpySlicesDataset((x, (x.sum(1) > 0).astype(np.int32)), ["x", "y"]).batch(16)
    net = ms.nn.Dense(3, 2)
    update = ms.nn.Adam(net.trainable_params(), 0.1)
    loss_fn = ms.nn.CrossEntropyLoss()
    step = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, net.trainable_params())
    losses = []
    for _ in range(10):
        for batch in data.create_dict_iterator(num_epochs=1):
            loss, gradients = step(batch["x"], batch["y"])
            update(gradients)
            losses.append(float(loss))
    assert losses[-1] < losses[0] / 2


@pytest.mark.parametrize("call, error, message", [
    (lambda: ds.GeneratorDataset(5, ["a"]), TypeError, "'source' must be an object.* got int"),
    (lambda: ds.GeneratorDataset([1]), ValueError, "'column_names' or 'schema' must be given"),
    (lambda: numbers(sampler=[1]), RuntimeError, "sampler and shuffle cannot be specified"),
    (lambda: numbers(num_shards=2), RuntimeError, "'num_shards' and 'shard_id' go together"),
    (lambda: ds.GeneratorDataset(iter, ["a"], shuffle=True), ValueError, "need a source with"),
    (lambda: rows(ds.GeneratorDataset([(1, 2)], ["a"], shuffle=False)), RuntimeError,
     "same number of NumPy arrays as specified in column_names"),
    (lambda: rows(ds.GeneratorDataset([[1, 2]], ["a"], shuffle=False)), RuntimeError,
     "same number of NumPy arrays as specified in column_names"),
    (lambda: rows(ds.GeneratorDataset([({1, 2},)], ["a"], shuffle=False)), RuntimeError,
     "must be a NumPy array.* got set"),
    (lambda: rows(ds.GeneratorDataset(Squares(), ["x", "y"], [ms.float64, ms.int64])),
     RuntimeError, "'x' must have the type float64.* got float32"),
    (lambda: ds.NumpySlicesDataset(([1], [1, 2])), ValueError, "must have one length"),
    (lambda: numbers().batch(0), ValueError, "'batch_size' must be a positive int, but got 0"),
    (lambda: numbers().shuffle(0), ValueError, "'buffer_size' must be in .1, 2147483647."),
    (lambda: numbers().repeat(0), ValueError, "'count' must be a positive int"),
    (lambda: numbers().map(3), ValueError, "which should be callable, but got: 3"),
    (lambda: numbers().map(abs, num_parallel_workers=1000), ValueError, "number of CPUs"),
    (lambda: rows(numbers().map(len, "zz")), RuntimeError, "there is no column 'zz'"),
    (lambda: rows(numbers().map(lambda n: (n, n))), RuntimeError, "gave 2 columns.*names 1"),
    (lambda: rows(numbers().map(lambda n: 1 / 0)), RuntimeError,
     "Exception thrown from user defined Python function in dataset(.|\\n)*ZeroDivisionError"),
    (lambda: rows(numbers().concat(numbers().rename("n", "k"))), RuntimeError,
     "must have the columns"),
    (lambda: rows(ds.zip((numbers(), numbers()))), RuntimeError, "different columns"),
    (lambda: rows(ds.GeneratorDataset([np.ones(1), np.ones(2)], ["a"], shuffle=False).batch(2)),
     RuntimeError, "Cannot batch tensors with different shapes in column 0"),
    (lambda: numbers().split([1, 2]), RuntimeError, "must sum up to the 6 rows"),
    (lambda: numbers().take(0), ValueError, "'count' must be -1 or positive, but got 0"),
    (lambda: numbers().project([]), ValueError, "must not be empty"),
    (lambda: numbers().create_tuple_iterator(num_epochs=0), ValueError, "must be -1 or positive"),
    (lambda: ds.DistributedSampler(2, 2), ValueError, r"'shard_id' must be in \[0, 2\), but got 2"),
    (lambda: ds.config.set_seed(-1), ValueError, "must be in"),
    (lambda: list(ds.Sampler()), NotImplementedError, "must define '__iter__'"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_concatenation_in_the_order_of_a_sampler():
    both = numbers(3).concat(numbers(4))
    both.use_sampler(ds.SubsetSampler([6, 0, 3]))
    assert rows(both) == [[3], [0], [0]] and both.get_dataset_size() == 3
    ds.config.set_seed(3)
    mixed = numbers(3).concat(numbers(4).map(lambda n: n))
    mixed.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
    assert rows(mixed) == [[1], [0], [2]]
    random = numbers(30).concat(numbers(30))
    random.use_sampler(ds.RandomSampler())
    assert sorted(rows(random)) == sorted(rows(numbers(30)) * 2) != rows(random)
    with pytest.raises(TypeError, match="must be DistributedSampler or RandomSampler"):
        both.use_sampler([1])


def test_a_sampler_on_top_of_another_knows_the_classes():
    data = ds.FakeImageDataset(20, (2, 2, 3), 2, sampler=ds.SequentialSampler(), num_samples=None)
    labels = [int(row["label"]) for row in data.create_dict_iterator(num_epochs=1)]
    assert len(labels) == 20
    upper = ds.SequentialSampler(1)
    upper.add_child(ds.PKSampler(2))
    told = []
    upper.know(lambda column: told.append(column) or np.array([1, 0, 1, 0, 1]))
    assert told == ["label"] and next(upper.epochs(5, 0)).tolist() == [3, 0, 2]


@pytest.mark.parametrize("make, words", [
    (lambda: ds.WeightedRandomSampler([]), "weights vector must not be empty"),
    (lambda: ds.WeightedRandomSampler([1.0, -0.4]), "must not contain negative numbers, got: -0.4"),
    (lambda: ds.WeightedRandomSampler([0, 0]), "weights vector must not be all zero"),
    (lambda: ds.DistributedSampler(4, 0, offset=5), "offset must be no more than num_shards.4."),
])
def test_samplers_are_checked_where_a_pipeline_is_built(make, words):
    with pytest.raises(RuntimeError, match=words):
        make().parse()


def test_a_whole_batch_from_per_batch_map():
    data = numbers(4).batch(2, per_batch_map=lambda n, info: (np.array(info.get_batch_num()),))
    assert rows(data) == [[0], [1]]


def test_independent_mode(monkeypatch):
    monkeypatch.setenv("MS_INDEPENDENT_DATASET", "True")
    for call in (lambda: ds.config.set_auto_offload(True), lambda: numbers().sync_wait("c"),
                 lambda: numbers().map(len, offload=True),
                 lambda: ds.config.set_enable_autotune(True)):
        with pytest.raises(RuntimeError, match="is not supported in Dataset Independent mode"):
            call()


@pytest.mark.parametrize("workers", [1, 2])
def test_threads_that_take_rows_of_one_iterator_get_each_row_once(workers):
    data = ds.NumpySlicesDataset(list(range(60)), shuffle=False).map(
        lambda x: x * 2, num_parallel_workers=workers).batch(2)
    rows = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    start, before = threading.Barrier(3), sys.getswitchinterval()

    def take(_):
        start.wait()
        found = []
        with contextlib.suppress(RuntimeError):  # another thread has seen the end
            for (row,) in rows:
                found.extend(row.tolist())
        return found

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            found = [number for part in pool.map(take, range(3)) for number in part]
    finally:
        sys.setswitchinterval(before)
    assert sorted(found) == list(range(0, 120, 2))
