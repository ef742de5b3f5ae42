"""The loader: batches, orders and workers, with orders recorded from MindSpore 2.10."""

import os
import random
from collections import namedtuple

import numpy as np
import pytest

import lamella as ms
from lamella.core import context
from lamella.dataset.dataloader import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
    default_collate,
    default_convert,
    get_worker_info,
    worker,
)
from lamella.dataset.dataloader.fetching import Fetcher


class Numbers(Dataset):
    def __init__(self, size):
        self.size = size

    def __getitem__(self, index):
        return index

    def __len__(self):
        return self.size


class Stream(IterableDataset):
    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = get_worker_info()
        step, first = (1, 0) if info is None else (info.num_workers, info.id)
        return iter(range(first, self.size, step))

    def __len__(self):
        return self.size


class Draws(Numbers):
    def __getitem__(self, index):
        return float(np.random.rand()), random.random()


class Marked(Numbers):
    def __getitem__(self, index):
        info = get_worker_info()
        assert info is not None and info.dataset.size == self.size
        assert f"id: {info.id}, num_workers: {info.num_workers}, seed: {info.seed}" in repr(info)
        return np.full(2000, index + 100 * info.id, np.float32), {"name": str(index)}


class Broken(Numbers):
    def __getitem__(self, index):
        return 1 // (index - 1)


def refuse(worker):
    raise KeyError(worker)


def lists(loader):
    return [batch.tolist() if isinstance(batch, ms.Tensor) else batch for batch in loader]


def seeded():
    return np.random.default_rng(7)


def test_order_is_the_originals():
    loader = DataLoader(Numbers(10), batch_size=4, shuffle=True, drop_last=True,
                        generator=seeded())
    assert len(loader) == len(iter(loader)) == 2
    assert lists(loader) == [[8, 0, 7, 1], [3, 6, 2, 4]]
    assert lists(loader) == [[6, 4, 7, 3], [9, 1, 8, 0]]
    assert lists(DataLoader(Numbers(10), None, True, generator=seeded())) == [
        8, 0, 7, 1, 3, 6, 2, 4, 5, 9]


def test_workers_order_and_seeds_are_the_originals():
    loader = DataLoader(Numbers(10), 3, True, num_workers=2, generator=seeded())
    assert lists(loader) == [[4, 6, 9], [0, 1, 3], [8, 7, 2], [5]]
    assert lists(loader) == [[0, 5, 4], [9, 6, 2], [7, 3, 8], [1]]
    before = random.getstate(), ms.get_seed()
    drawn = list(DataLoader(Draws(4), 2, num_workers=2, generator=seeded()))
    np.testing.assert_allclose(
        [[column.asnumpy() for column in batch] for batch in drawn],
        [[[0.462797084, 0.713177422], [0.847689466, 0.884839094]],
         [[0.239557748, 0.195845817], [0.582195424, 0.154879441]]])
    assert before == (random.getstate(), ms.get_seed())


@pytest.mark.parametrize("options, want", [
    ({}, [[0], [1], [2], [3], [4], [5], [6]]),
    ({"batch_size": None}, [0, 1, 2, 3, 4, 5, 6]),
    ({"batch_size": 3}, [[0, 1, 2], [3, 4, 5], [6]]),
    ({"batch_size": 3, "drop_last": True}, [[0, 1, 2], [3, 4, 5]]),
    ({"batch_size": 3, "num_workers": 2}, [[0, 2, 4], [1, 3, 5], [6]]),
    ({"batch_size": 2, "num_workers": 2, "drop_last": True}, [[0, 2], [1, 3], [4, 6]]),
    ({"batch_size": 2, "num_workers": 2, "persistent_workers": True},
     [[0, 2], [1, 3], [4, 6], [5]]),
], ids=str)
def test_stream(options, want):
    loader = DataLoader(Stream(7), **options)
    assert [lists(loader), lists(loader)] == [want, want]


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.long(
    "how data and workers are handed on is PyTorch's; commands/test_cli.py spawns processes"))])
def test_workers_know_themselves(start):
    loader = DataLoader(Marked(7), 2, num_workers=2, persistent_workers=True,
                        multiprocessing_context=start)
    for _ in range(2):
        batches = list(loader)
        assert [x.asnumpy()[:, -1].tolist() for x, _ in batches] == [
            [0, 1], [102, 103], [4, 5], [106]]
        assert [y["name"] for _, y in batches] == [["0", "1"], ["2", "3"], ["4", "5"], ["6"]]
    assert get_worker_info() is None


def test_out_of_order_gives_every_batch():
    loader = DataLoader(Numbers(9), 2, num_workers=2, in_order=False, prefetch_factor=1)
    assert sorted(lists(loader)) == [[0, 1], [2, 3], [4, 5], [6, 7], [8]]


@pytest.mark.parametrize("options", [{}, {"worker_init_fn": refuse}], ids=["sample", "start"])
def test_errors_of_workers_come_back(options):
    name = "KeyError" if options else "ZeroDivisionError"
    with pytest.raises(RuntimeError, match=rf"DataLoader worker 0 \(pid: \d+\) caught {name}"):
        lists(DataLoader(Broken(3), num_workers=1, **options))
    with pytest.raises(ZeroDivisionError):
        lists(DataLoader(Broken(3)))


def test_samplers():
    assert list(RandomSampler(range(10), num_samples=25, generator=np.random.default_rng(3))) == [
        9, 6, 0, 2, 1, 4, 7, 5, 3, 8, 7, 4, 3, 5, 0, 8, 9, 6, 1, 2, 4, 5, 3, 8, 6]
    drawn = RandomSampler(range(10), True, 40, np.random.default_rng(3))
    assert list(drawn) == [8, 0, 1, 2, 1, 8, 8, 5, 0, 0, 3, 4, 6, 4, 2, 1, 6, 7, 0, 1, 4, 3, 8, 5,
                           4, 4, 6, 5, 1, 7, 7, 9, 7, 2, 3, 6, 6, 6, 8, 2]
    assert len(drawn) == 40
    np.random.seed(1)
    first = list(RandomSampler(range(50)))
    np.random.seed(1)
    assert first == list(RandomSampler(range(50))) != sorted(first) == list(range(50))
    batches = BatchSampler(SequentialSampler(range(7)), 3, True)
    assert list(batches) == [[0, 1, 2], [3, 4, 5]] and len(batches) == 2
    assert lists(DataLoader(Numbers(5), batch_sampler=[[4, 0], [2]])) == [[4, 0], [2]]
    assert lists(DataLoader(Numbers(5), 2, sampler=[3, 1, 2])) == [[3, 1], [2]]


@pytest.mark.parametrize("options, want", [
    ({"rank": 0}, [2, 9, 4, 1]), ({"rank": 2}, [3, 5, 7, 6]),
    ({"rank": 2, "drop_last": True}, [3, 5, 7]), ({"rank": 1, "shuffle": False}, [1, 4, 7, 0]),
], ids=str)
def test_distributed(options, want):
    sampler = DistributedSampler(list(range(10)), num_replicas=3, seed=4, **options)
    sampler.set_epoch(2)
    assert list(sampler) == want and len(sampler) == len(want)
    assert sorted(DistributedSampler(range(2), 5, 4, False)) == [0]


@pytest.mark.parametrize("size", [1, 2, 5, 6, 9])
@pytest.mark.parametrize("parts", [1, 2, 3, 6])
@pytest.mark.parametrize("drop", [False, True])
def test_parts_have_one_length_and_all_rows_unless_some_are_dropped(size, parts, drop):
    found = [list(DistributedSampler(range(size), parts, part, False, drop_last=drop))
             for part in range(parts)]
    length = size // parts if drop else -(-size // parts)
    assert [len(part) for part in found] == [length] * parts
    together = [row for rows in zip(*found, strict=True) for row in rows]
    assert together == [row % size for row in range(length * parts)]
    first = DistributedSampler(range(size), parts, 0, seed=5)
    assert list(first) == np.resize(np.random.default_rng(5).permutation(size),
                                    -(-size // parts) * parts)[::parts].tolist()


def test_without_a_group_one_part_is_all():
    sampler = DistributedSampler(range(4), shuffle=False)
    assert (sampler.num_replicas, sampler.rank, list(sampler)) == (1, 0, [0, 1, 2, 3])
    assert list(DistributedSampler(range(4), 2, shuffle=False)) == [0, 2]


@pytest.mark.parametrize("options, words", [
    ((0, 0), "num_replicas must be greater than 0"), ((2, 2), r"in the interval \[0, 1\]"),
    ((2, -1), r"in the interval \[0, 1\]")])
def test_parts_that_there_are_not(options, words):
    with pytest.raises(ValueError, match=words):
        DistributedSampler(range(4), *options)


@pytest.mark.parametrize("size", range(8))
@pytest.mark.parametrize("drop", [False, True])
def test_the_length_of_batches_of_numbers(size, drop):
    batches = BatchSampler(SequentialSampler(range(size)), 3, drop)
    assert len(batches) == len(list(batches)) == (size // 3 if drop else -(-size // 3))
    loader = DataLoader(Numbers(size), 3, drop_last=drop)
    assert len(loader) == len(list(loader)) == len(batches)


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("count", [None, 1, 2, 3, 5])
def test_rows_of_few_come_equally_often(size, count):
    found = list(RandomSampler(range(size), num_samples=count)) if size or not count else []
    often = np.bincount(found, minlength=1)
    assert len(found) == (count or size if size else 0) and often.max() - often.min() <= 1


Pair = namedtuple("Pair", "a b")


def test_collate():
    pair = default_collate([Pair(1, 2.0), Pair(3, 4.0)])
    assert type(pair) is Pair and pair.a.dtype == ms.int64 and pair.b.dtype == ms.float64
    assert pair.b.tolist() == [2, 4]
    made = default_collate([{"a": (True, "x")}, {"a": (False, "y")}])
    assert made["a"][0].dtype == ms.bool_ and made["a"][1] == ("x", "y")
    small = ms.Tensor(3, ms.bfloat16)
    assert default_collate([small, small]).dtype == ms.bfloat16
    arrays = default_collate([np.array([1, 2], np.int16)] * 2)
    assert arrays.shape == (2, 2) and arrays.dtype == ms.int16
    assert default_collate([np.float32(1)]).dtype == ms.float32
    assert [v.tolist() for v in default_collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]
    for wrong in ([np.array(["a"])], [{1}], [None]):
        with pytest.raises(TypeError):
            default_collate(wrong)
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])


def test_convert():
    data = [np.array(["a"]), (1, np.int8(2)), Pair(1, np.bool_(True)), "text", None]
    texts, listed, pair, *rest = default_convert(data)
    assert texts is data[0] and rest == ["text", None] and isinstance(data[1], tuple)
    assert listed[0] == 1 and listed[1].dtype == ms.int8
    assert type(pair) is Pair and pair.b.dtype == ms.bool_
    assert default_convert(range(3)) == [0, 1, 2]


def test_tensors():
    data = TensorDataset(ms.Tensor([1, 2, 3]), ms.Tensor([[3.0], [4.0], [5.0]]))
    batches = [[part.tolist() for part in batch] for batch in DataLoader(data, 2)]
    assert len(data) == 3 and batches == [[[1, 2], [[3.0], [4.0]]], [[3], [[5.0]]]]
    for wrong in ((), (ms.Tensor(1),), (ms.Tensor([1]), ms.Tensor([1, 2]))):
        with pytest.raises(ValueError):
            TensorDataset(*wrong)


def test_a_single_tensor_is_a_dataset():
    data = TensorDataset(ms.Tensor([4, 5, 6]))
    assert len(data) == 3 and [part.tolist() for part in data[1]] == [5]


@pytest.mark.parametrize("error, options", [
    (ValueError, {"batch_size": 0}), (TypeError, {"batch_size": True}),
    (TypeError, {"shuffle": 1}), (ValueError, {"num_workers": -1}),
    (ValueError, {"sampler": [1], "shuffle": True}), (ValueError, {"prefetch_factor": 2}),
    (ValueError, {"persistent_workers": True}), (ValueError, {"timeout": -1}),
    (ValueError, {"batch_sampler": [[1]], "batch_size": 2}), (TypeError, {"generator": 3}),
    (ValueError, {"multiprocessing_context": "x", "num_workers": 1}),
    (ValueError, {"multiprocessing_context": "fork"}), (TypeError, {"in_order": 1}),
], ids=str)
def test_wrong_arguments(error, options):
    with pytest.raises(error):
        DataLoader(Numbers(3), **options)


def test_wrong_datasets():
    with pytest.raises(NotImplementedError, match="__getitem__"):
        DataLoader(3)
    with pytest.raises(ValueError, match="iterable style"):
        DataLoader(Stream(3), shuffle=True)
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]
    with pytest.raises(RuntimeError, match="Cannot modify"):
        from lamella.dataset.dataloader.worker import WorkerInfo
        WorkerInfo(0, 1, 2, None).id = 3


@pytest.mark.parametrize(("call", "message"), [
    (lambda: list(SequentialSampler(None)), "'data_source' must have a length, but got None"),
    (lambda: len(RandomSampler(3)), "For 'RandomSampler', 'data_source' must have a length"),
    (lambda: list(RandomSampler(None)), "'data_source' must have a length"),
    (lambda: DistributedSampler(iter([1]), 2, 0), "For 'DistributedSampler', 'dataset' must have"),
    (lambda: BatchSampler(None, 2, False), "'sampler' must be a Sampler.*but got None"),
    (lambda: len(BatchSampler(iter([1]), 2, False)), "'sampler' must have a length"),
])
def test_samplers_of_what_they_can_not_sample(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("rows, size, drop, wanted", [
    (8, 4, False, 2), (8, 4, True, 2), (9, 4, False, 3), (9, 4, True, 2), (3, 4, False, 1),
    (3, 4, True, 0), (7, None, False, 7)])
def test_the_length_over_an_iterable_dataset_that_knows_its_own(rows, size, drop, wanted):
    class Rows(IterableDataset):
        def __len__(self):
            return rows

        def __iter__(self):
            return iter(range(rows))

    loader = DataLoader(Rows(), batch_size=size, drop_last=drop)
    assert len(loader) == wanted == len(list(loader))


@pytest.mark.parametrize("options, wanted", [
    ({}, None), ({"num_workers": 1}, 2), ({"num_workers": 1, "prefetch_factor": 5}, 5)])
def test_how_many_batches_a_worker_reads_ahead(options, wanted):
    assert DataLoader(Numbers(3), **options).prefetch_factor == wanted


@pytest.mark.parametrize("pinned", [False, True])
def test_pinned_memory_is_of_accelerators(pinned, capsys):
    if context.current_device().type != "cpu":
        pytest.skip("there is an accelerator")
    assert lists(DataLoader(Numbers(3), 2, pin_memory=pinned)) == [[0, 1], [2]]
    assert ("pin_memory as True on CPU" in capsys.readouterr().err) is pinned


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # PyTorch's words for it
@pytest.mark.parametrize("processors, warned", [(1, True), (2, False), (3, False)])
def test_more_workers_than_processors_are_told(processors, warned, monkeypatch, capsys):
    monkeypatch.setattr(os, "sched_getaffinity", {0: range(processors)}.get, raising=False)
    fetcher = Fetcher(Numbers(3), True, None, False)
    DataLoader(Numbers(3), num_workers=2)._workers(fetcher)
    assert (f"only {processors} processors" in capsys.readouterr().err) is warned


class Endless(IterableDataset):
    def __iter__(self):
        raise KeyError("no rows")


@pytest.mark.parametrize("number", [None, 3])
def test_an_error_names_the_worker(number, monkeypatch):
    info = None if number is None else worker.WorkerInfo(number, 4, 0, None)
    monkeypatch.setattr(worker, "_info", info)
    told = f"DataLoader worker {number or 0} "
    work = worker.NumberedWork(Fetcher(Broken(3), True, None, False))
    assert work[[1]].text.startswith(told) and work[[2]].tolist() == [1]
    ended = worker.NumberedWork(Fetcher(Stream(0), True, None, False))
    ended.fetcher.start()
    assert ended[[0]].text.startswith(told) and "StopIteration" in ended[[0]].text
    (failed,) = worker.StreamedWork(Fetcher(Endless(), True, None, False), [[0]])
    assert failed.text.startswith(told) and "no rows" in failed.text
