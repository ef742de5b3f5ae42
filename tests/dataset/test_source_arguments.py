"""Samplers that the arguments of sources ask for, and arguments that exclude each other."""

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import source_arguments
from lamella.dataset.source_arguments import as_sampler, exclusive, select_sampler
from lamella.dataset.user_samplers import IterSampler

SEQUENTIAL = ds.SequentialSampler()


@pytest.mark.parametrize("samples, shuffle, shards, shard, kind, random", [
    (None, None, None, None, ds.RandomSampler, True),
    (None, True, None, None, ds.RandomSampler, True),
    (None, False, None, None, ds.SequentialSampler, False),
    (3, None, None, None, ds.RandomSampler, True),
    (3, False, None, None, ds.SequentialSampler, False),
    (None, ds.Shuffle.GLOBAL, None, None, ds.RandomSampler, True),
    (None, ds.Shuffle.FALSE, None, None, ds.SequentialSampler, False),
    (None, None, 2, 1, ds.DistributedSampler, True), (4, False, 2, 0, ds.DistributedSampler, False),
    (None, True, 1, 0, ds.DistributedSampler, True),
    (None, ds.Shuffle.FALSE, 2, 1, ds.DistributedSampler, False)])
def test_the_sampler_of_arguments(samples, shuffle, shards, shard, kind, random):
    for in_memory in (False, True):
        found = select_sampler("S", samples, None, shuffle, shards, shard, in_memory)
        assert type(found) is kind and found.is_shuffled() is random
        assert found.num_samples == samples
        if kind is ds.RandomSampler:
            assert found.replacement is (samples is not None)  # as MindSpore draws them
        if shards is not None:
            assert (found.num_shards, found.shard_id) == (shards, shard)


@pytest.mark.parametrize("given, kind", [
    (SEQUENTIAL, ds.SequentialSampler), (3, ds.SubsetSampler), ([1, 0], ds.SubsetSampler),
    ((1, 0), ds.SubsetSampler), (np.array([1, 0]), ds.SubsetSampler), (range(3), IterSampler),
    (iter([1]), IterSampler), ({1: 2}, IterSampler)])
def test_what_can_be_a_sampler(given, kind):
    assert type(as_sampler("S", given)) is kind
    if kind is ds.SubsetSampler:
        single = isinstance(given, int)
        assert as_sampler("S", given).indices == ([3] if single else [1, 0])
        assert as_sampler("S", given, 1).num_samples == (None if single else 1)


@pytest.mark.parametrize("given", ["ab", 1.5, None, object()])
def test_what_can_not(given):
    with pytest.raises(TypeError, match="Unsupported sampler object"):
        as_sampler("S", given)


@pytest.mark.parametrize("arguments, error, words", [
    ((1, SEQUENTIAL, None, None, None), RuntimeError, "sampler and num_samples cannot"),
    ((None, SEQUENTIAL, False, None, None), RuntimeError, "sampler and shuffle cannot"),
    ((None, SEQUENTIAL, None, 2, 0), RuntimeError, "sampler and sharding cannot"),
    ((None, SEQUENTIAL, None, None, 0), RuntimeError, "sampler and sharding cannot"),
    ((None, SEQUENTIAL, None, 2, None), RuntimeError, "sampler and sharding cannot"),
    ((1, SEQUENTIAL, True, 2, 0), RuntimeError, "sampler and shuffle cannot"),
    ((None, None, None, 2, None), RuntimeError, "requires shard_id as well"),
    ((None, None, None, None, 0), RuntimeError, "num_shards is not"),
    ((None, None, None, 0, 0), ValueError, "num_shards"),
    ((None, None, None, 2, 2), ValueError, "shard_id"),
    ((None, None, None, 2, -1), ValueError, "shard_id"),
    ((None, None, None, 2**31, 0), ValueError, "num_shards")])
def test_arguments_that_exclude_each_other(arguments, error, words):
    with pytest.raises(error, match=words):
        exclusive("S", *arguments)
    with pytest.raises(error, match=words):
        select_sampler("S", *arguments)


@pytest.mark.parametrize("arguments", [(None, None, None, 1, 0), (None, None, None, 2**31 - 1, 0),
                                       (None, None, None, 2, 1), (5, None, True, 3, 2),
                                       (None, SEQUENTIAL, None, None, None)])
def test_arguments_that_go_together(arguments):
    exclusive("S", *arguments)
    select_sampler("S", *arguments)


@pytest.mark.parametrize("samples, shuffle, shards, shard, words", [
    (3, None, None, None, "'num_samples'"), (None, True, None, None, "'shuffle'"),
    (None, None, 2, 0, "'num_shards'"), (3, False, 2, 0, "'shuffle'")])
def test_what_a_sampler_in_memory_excludes(samples, shuffle, shards, shard, words):
    with pytest.raises(ValueError, match=f"Conflicting arguments.*excludes {words}"):
        select_sampler("S", samples, SEQUENTIAL, shuffle, shards, shard, True)
    # numbers of rows are cut to `num_samples` there
    if shuffle is None and shards is None:
        assert select_sampler("S", samples, [5, 1], shuffle, shards, shard, True).num_samples == 3


@pytest.mark.parametrize("given, modes, error, words", [
    ({"shuffle": 1}, True, TypeError, "shuffle must be of boolean or enum"),
    ({"shuffle": ds.Shuffle.GLOBAL}, False, TypeError, "Argument shuffle"),
    ({"num_samples": -1}, True, ValueError, "num_samples exceeds"),
    ({"num_samples": True}, True, TypeError, "Argument num_samples"),
    ({"decode": 1}, True, TypeError, "Argument decode"),
    ({"classes": ("a",)}, True, TypeError, "Argument classes"),
    ({"class_indexing": []}, True, TypeError, "Argument class_indexing"),
    ({"decrypt": 1}, True, TypeError, "decrypt is not a callable"),
    ({"num_parallel_workers": 0}, True, ValueError, "num_parallel_workers exceeds"),
    ({"dataset_dir": "/no such folder"}, True, ValueError, "does not exist"),
    ({"dataset_dir": 3}, True, TypeError, "Argument dataset_dir")])
def test_arguments_by_their_names(given, modes, error, words):
    with pytest.raises(error, match=words):
        source_arguments.checked("S", given, modes)
    source_arguments.checked("S", dict.fromkeys(given), modes)  # None: not given


def test_arguments_that_are_right(tmp_path):
    source_arguments.checked("S", {
        "shuffle": ds.Shuffle.FILES, "num_samples": 0, "decode": False, "classes": ["a"],
        "class_indexing": {"a": 1}, "decrypt": len, "num_parallel_workers": 1,
        "dataset_dir": str(tmp_path), "num_shards": 1, "something": object()}, True)
    source_arguments.checked("S", {"shuffle": True}, False)
    assert source_arguments.folder("S", str(tmp_path)) == str(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="is not a directory"):
        source_arguments.folder("S", str(tmp_path / "file"))
