"""What a dataset knows about itself, whatever operations it is made of."""

import numpy as np
import pytest

import lamella.dataset as ds


def made(count=7):
    return ds.NumpySlicesDataset({"x": np.arange(count), "y": np.ones((count, 2), np.float32)},
                                 shuffle=False)


SHUFFLED = ds.NumpySlicesDataset({"x": np.arange(7)}, shuffle=True)
SHARD = ds.NumpySlicesDataset({"x": np.arange(7)}, num_shards=3, shard_id=1, shuffle=False)
PIPELINES = [  # rows, rows of the source in a row, repetitions, whether the order is random, a part
    (made(), 7, 1, 1, False, False), (made().batch(2), 4, 2, 1, False, False),
    (made().batch(2, True), 3, 2, 1, False, False), (made().repeat(3), 21, 1, 3, False, False),
    (made().repeat(2).batch(3).repeat(2), 10, 3, 2, False, False),
    (made().shuffle(4), 7, 1, 1, True, False), (SHUFFLED, 7, 1, 1, True, False),
    (SHUFFLED.batch(3), 3, 3, 1, True, False), (SHARD, 3, 1, 1, False, True),
    (SHARD.repeat(2).batch(2), 3, 2, 2, False, True), (made().skip(2), 5, 1, 1, False, False),
    (made().skip(9), 0, 1, 1, False, False), (made().take(5), 5, 1, 1, False, False),
    (made().take(9), 7, 1, 1, False, False), (made() + made(3), 10, 1, 1, False, False),
    (made() + made(3).shuffle(2), 10, 1, 1, True, False),
    (made().filter(lambda x: x > 2, "x"), 4, 1, 1, False, False),
    (made().map(lambda x: x + 1, "x").batch(4), 2, 4, 1, False, False),
    (ds.zip((SHARD.rename("x", "z"), made())), 3, 1, 1, False, True),
    (made().project("y").rename("y", "w"), 7, 1, 1, False, False),
]


def test_the_last_of_several_datasets_says_how_often_rows_are_repeated():
    assert (made().repeat(2) + made().repeat(3)).get_repeat_count() == 3
    assert (made().repeat(4) + made().repeat(2) + made()).get_repeat_count() == 1
    other = made().repeat(2).rename(["x", "y"], ["z", "w"])
    assert ds.zip((made().repeat(5), other)).get_repeat_count() == 2
    assert (made() + made().repeat(2)).batch(2).repeat(7).get_repeat_count() == 7
    assert made().repeat(4).shuffle(3).repeat(1).get_repeat_count() == 4  # 1 changes nothing


@pytest.mark.parametrize("number", range(len(PIPELINES)))
def test_sizes_and_orders(number):
    data, rows, batch, times, random, part = PIPELINES[number]
    assert data.get_dataset_size() == len(data) == rows
    assert sum(1 for _ in data.create_tuple_iterator(num_epochs=1)) == rows
    assert (data.get_batch_size(), data.get_repeat_count()) == (batch, times)
    assert (data.is_shuffled(), data.is_sharded()) == (random, part)
    assert data.num_classes() is None and data.get_class_indexing() == {}
    assert data.get_init_step() == 0 and not data.is_sync()
    if rows:
        row = next(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
        assert data.output_shapes() == [list(v.shape) for v in row]
        assert data.output_types() == [v.dtype for v in row]
        assert len(data.get_col_names()) == len(row)


def test_shapes_that_vary_are_unknown_where_they_are_estimated():
    ragged = ds.GeneratorDataset([(np.ones((n, 3)), np.ones(2)) for n in (4, 2, 4)], ["x", "y"],
                                 shuffle=False)
    assert ragged.output_shapes(estimate=True) == [[None, 3], [2]]
    assert ragged.output_shapes() == [[4, 3], [2]]
    mixed = ds.GeneratorDataset([(np.ones((2, 3)),), (np.ones(2),)], ["x"], shuffle=False)
    with pytest.raises(RuntimeError, match=r"Inconsistent shapes.*last shape: \[2, 3\], current "
                                           r"shape: \[2\]"):
        mixed.output_shapes(estimate=True)


def test_steps_functions_of_datasets_and_flat_maps():
    data = made()
    data.set_init_step(4)
    assert data.get_init_step() == data.batch(2).get_init_step() == 4
    assert (data + made(1)).get_init_step() == 0
    assert len(data.apply(lambda d: d.batch(3))) == 3
    flat = made(3).project("x").flat_map(
        lambda x: ds.NumpySlicesDataset(np.arange(int(x) + 1), shuffle=False))
    assert [int(row[0]) for row in flat.create_tuple_iterator(num_epochs=1)] == [0, 0, 1, 0, 1, 2]
    for call, error, words in (
            (lambda: data.apply(3), TypeError, "apply_func must be a function"),
            (lambda: data.apply(len), TypeError, "must return a Dataset, but it returned int"),
            (lambda: data.flat_map(3), TypeError, "func must be a function"),
            (lambda: data.flat_map(lambda *row: 3), TypeError, "must return a Dataset object"),
            (lambda: made().skip(9).flat_map(len), ValueError, "has no rows")):
        with pytest.raises(error, match=words):
            call()


def counted():
    yield from ((np.array(n),) for n in range(5))


@pytest.mark.parametrize("samples, count", [(None, 5), (3, 3), (9, 5)])
def test_rows_of_a_generator_are_counted(samples, count):
    data = ds.GeneratorDataset(counted, ["x"], num_samples=samples)
    assert len(data) == count == sum(1 for _ in data.create_tuple_iterator(num_epochs=1))


@pytest.mark.parametrize("options, error, words", [
    ({"batch_sampler": 3}, TypeError, "batch_sampler should have __getitem__ or __iter__"),
    ({"batch_sampler": [[0]], "num_samples": 2}, ValueError, "mutually exclusive"),
    ({"batch_sampler": [[0]], "shuffle": False}, ValueError, "mutually exclusive"),
    ({"collate_fn": len}, ValueError, "collate_fn can be specified only when batch_sampler"),
    ({"collate_fn": 3, "batch_sampler": [[0]]}, TypeError, "collate_fn should be callable"),
    ({"sampler": 3}, TypeError, "sampler should be either iterable"),
])
def test_batches_of_a_generator_that_cannot_be(options, error, words):
    with pytest.raises(error, match=words):
        ds.GeneratorDataset(list(range(4)), ["x"], **options)


def test_batches_of_a_generator():
    rows = [(np.array(n), np.array([n, -n])) for n in range(6)]
    batches = [[0, 5], [2], [1, 1, 3]]
    data = ds.GeneratorDataset(rows, ["x", "y"], batch_sampler=batches)
    found = list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert len(data) == 3 and [x.tolist() for x, _ in found] == batches
    assert found[2][1].tolist() == [[1, -1], [1, -1], [3, -3]]
    summed = ds.GeneratorDataset(rows, ["x", "y"], batch_sampler=batches,
                                 collate_fn=lambda x, y: (np.sum(x), y))
    assert [int(row[0]) for row in summed.create_tuple_iterator(num_epochs=1)] == [5, 2, 5]
    whole = ds.GeneratorDataset(counted, ["x"])
    for options in ({"batch_sampler": [[0]]}, {"sampler": [0]}, {"shuffle": True},
                    {"num_shards": 2, "shard_id": 0}):
        with pytest.raises(ValueError, match="does not have attribute '__getitem__'"):
            ds.GeneratorDataset(counted, ["x"], **options)
    with pytest.raises((RuntimeError, TypeError), match="no numbers|not subscriptable"):
        whole[0]
    assert ds.GeneratorDataset(rows, ["x", "y"], shuffle=False, num_shards=2, shard_id=1)[1] == (
        rows[3])
