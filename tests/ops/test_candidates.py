"""Candidate sampling: limits of the numbers, hits left out, expected counts by the formulas."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

UNIFORM, LOG = ops.uniform_candidate_sampler, ops.log_uniform_candidate_sampler


@pytest.mark.parametrize("sampler", [UNIFORM, LOG], ids=["uniform", "log-uniform"])
@pytest.mark.parametrize("given, what", [
    ((1, 1, False, 1), None), ((0, 1, False, 1), "num_true"), ((1, 0, False, 1), "num_sampled"),
    ((1, 1, False, 0), "range_max"), ((2, 1, False, 3), "N, num_true"),
    ((1, 3, True, 3), None), ((1, 4, True, 3), "at most 'range_max' 3"), ((1, 4, False, 3), None),
    ((1, 1.0, False, 3), "num_sampled"), ((1, 1, 1, 3), "unique")], ids=str)
def test_limits(sampler, given, what):
    true = Tensor([[0], [0]])
    if what is None:
        drawn, expected, counts = sampler(true, *given)
        assert drawn.shape == counts.shape == (given[1],) and expected.shape == (2, 1)
        assert all(0 <= c < given[3] for c in drawn.tolist())
        return
    with pytest.raises((TypeError, ValueError), match=what):
        sampler(true, *given)


@pytest.mark.parametrize("sampler", [UNIFORM, LOG], ids=["uniform", "log-uniform"])
def test_seeds_and_ranks(sampler):
    assert sampler(Tensor([[0]]), 1, 2, True, 9, 0)[0].shape == (2,)
    with pytest.raises(ValueError, match="'seed' must be 0 or more, but got -1"):
        sampler(Tensor([[0]]), 1, 2, True, 9, -1)
    for shape in ((2,), (2, 1, 2)):
        with pytest.raises(ValueError, match="'true_classes' must have the shape"):
            sampler(ops.zeros(shape, ms.int32), 2, 2, True, 9)
    first = sampler(Tensor([[0]]), 1, 20, False, 99, 1)[0].tolist()
    assert first == sampler(Tensor([[0]]), 1, 20, False, 99, 1)[0].tolist()
    assert first != sampler(Tensor([[0]]), 1, 20, False, 99, 2)[0].tolist()


@pytest.mark.parametrize("kind", [ms.int32, ms.int64])
@pytest.mark.parametrize("sampler, chance", [
    (UNIFORM, lambda c: np.full(np.shape(c), 1 / 9)),
    (LOG, lambda c: np.log((c + 2) / (c + 1)) / np.log(10))], ids=["uniform", "log-uniform"])
def test_expected_counts_where_classes_may_come_again(sampler, chance, kind):
    true = np.array([[0, 8], [3, 4], [1, 7]])
    drawn, expected, counts = sampler(Tensor(true, kind), 2, 7, False, 9, 5)
    assert drawn.dtype is kind and expected.dtype is counts.dtype is ms.float32
    np.testing.assert_allclose(expected.asnumpy(), 7 * chance(true), rtol=1e-5)
    np.testing.assert_allclose(counts.asnumpy(), 7 * chance(drawn.asnumpy()), rtol=1e-5)


@pytest.mark.parametrize("sampler, chance", [
    (UNIFORM, lambda c: np.full(np.shape(c), 1 / 6)),
    (LOG, lambda c: np.log((c + 2) / (c + 1)) / np.log(7))], ids=["uniform", "log-uniform"])
def test_expected_counts_where_each_comes_once(sampler, chance):
    """1 - (1 - p) ** tries, of one whole number of tries for all classes."""
    true = np.array([[0], [2], [5]])
    for seed in (3, 4, 5, 6):
        drawn, expected, counts = sampler(Tensor(true), 1, 6, True, 6, seed)
        assert sorted(drawn.tolist()) == list(range(6))
        tries = np.log1p(-np.float64(expected.asnumpy())) / np.log1p(-chance(true))
        again = np.log1p(-np.float64(counts.asnumpy())) / np.log1p(-chance(drawn.asnumpy()))
        assert round(tries[0, 0]) > 6
        np.testing.assert_allclose(tries, round(tries[0, 0]), rtol=1e-3)
        np.testing.assert_allclose(again, round(tries[0, 0]), rtol=1e-3)


@pytest.mark.parametrize("count, unique, left_out", [
    (3, True, True), (4, True, False), (3, False, False)])
@pytest.mark.parametrize("seed", [0, 3])
def test_true_classes_are_left_out_if_enough_others_remain(count, unique, left_out, seed):
    ms.set_seed(0)
    true = Tensor([[1, 4], [4, 2]])  # three of six
    drawn = set()
    for more in range(12):
        given = seed + more if seed else 0
        classes = UNIFORM(true, 2, count, unique, 6, given, True)[0].tolist()
        drawn.update(classes)
        assert not unique or len(set(classes)) == count
    assert drawn == ({0, 3, 5} if left_out else set(range(6)))


def test_without_the_flag_true_classes_come():
    drawn = {c for seed in range(1, 9)
             for c in UNIFORM(Tensor([[0, 1]]), 2, 2, True, 4, seed)[0].tolist()}
    assert drawn == {0, 1, 2, 3}
    with pytest.raises(TypeError, match="'remove_accidental_hits' must be a bool"):
        UNIFORM(Tensor([[0, 1]]), 2, 2, True, 4, 1, 1)


def test_what_is_given_by_default():
    ms.set_seed(1)
    drawn, expected, counts = LOG(Tensor([[3]]))
    assert sorted(drawn.tolist()) == [0, 1, 2, 3, 4] and expected.shape == (1, 1)
    assert LOG(Tensor([[3]]))[0].tolist() == LOG(Tensor([[3]]), 1, 5, True, 5, 0)[0].tolist()
