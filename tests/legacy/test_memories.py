"""Replay buffers under a handle: draws by priority, and reservoirs."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella.legacy import memories

FORM = ([(2,), ()], [ms.float32, ms.int32])


def row(n):
    return ms.Tensor([n, n], ms.float32), ms.Tensor(n, ms.int32)


def prioritized(capacity, alpha, count, seed=1):
    handle = memories.PriorityReplayBufferCreate(capacity, alpha, *FORM, seed, 0)()
    assert handle.shape == (1,) and handle.dtype == ms.int64
    number = handle.asnumpy().item()
    push = memories.PriorityReplayBufferPush(number)
    for n in range(count):
        assert push(row(n)).tolist() == [number]
    return number


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_rows_are_drawn_by_their_priorities(alpha):
    handle = prioritized(4, alpha, 6)  # rows 4, 5, 2, 3 are left, in these places
    priorities = np.array([1.0, 2.0, 3.0, 10.0])
    memories.PriorityReplayBufferUpdate(handle)(ms.Tensor([0, 1, 2, 3]),
                                                ms.Tensor(priorities, ms.float32))
    sample = memories.PriorityReplayBufferSample(handle, 50, *FORM)
    share = priorities ** alpha / (priorities ** alpha).sum()
    drawn, seen = [], []
    for _ in range(40):
        places, weights, pair, number = sample(0.7)
        at = places.asnumpy()
        expected = (4 * share[at]) ** -0.7
        np.testing.assert_allclose(weights.asnumpy(), expected / expected.max(), rtol=1e-5)
        assert pair.asnumpy()[:, 1].tolist() == number.asnumpy().tolist()
        drawn.extend(at)
        seen.extend(number.asnumpy())
    assert set(seen) == {2, 3, 4, 5}
    assert [seen[drawn.index(place)] for place in range(4)] == [4, 5, 2, 3]
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), share, atol=0.03)


def test_a_new_row_has_the_highest_priority():
    handle = prioritized(3, 1.0, 2)
    update = memories.PriorityReplayBufferUpdate(handle)
    update(ms.Tensor([0, 1]), ms.Tensor([5.0, 0.0]))
    memories.PriorityReplayBufferPush(handle)(row(2))
    places = memories.PriorityReplayBufferSample(handle, 200, *FORM)(0.0)[0].asnumpy()
    assert np.bincount(places, minlength=3).tolist() == [100, 0, 100]


def test_a_seed_repeats_the_draws():
    draws = [memories.PriorityReplayBufferSample(prioritized(8, 1.0, 8, seed), 6, *FORM)(1.0)[0]
             .tolist() for seed in (7, 7, 8)]
    assert draws[0] == draws[1]


def test_a_reservoir_keeps_each_row_with_the_same_probability():
    kept = np.zeros(12)
    for seed in range(1, 301):
        handle = memories.ReservoirReplayBufferCreate(3, *FORM, seed, 0)().item()
        push = memories.ReservoirReplayBufferPush(handle)
        for n in range(12):
            push(row(n))
        drawn = memories.ReservoirReplayBufferSample(handle, 30, *FORM)()[1].asnumpy()
        assert len(set(drawn)) <= 3
        kept[list(set(drawn))] += 1
        memories.ReservoirReplayBufferDestroy(handle)()
    np.testing.assert_allclose(kept / 300, 1 / 4, atol=0.1)


def test_a_compiled_function_that_calls_them_runs_eagerly_and_right():
    handle = prioritized(4, 1.0, 1)
    push = memories.PriorityReplayBufferPush(handle)
    step = ms.jit(lambda pair, number: (push((pair, number)), number + 1)[1])
    with pytest.warns(UserWarning, match="PriorityReplayBufferPush"):
        for n in range(5):
            assert step(*row(n)) == n + 1
    assert memories._prioritized.get(handle, "test").came == 6


def test_wrong_arguments_are_named():
    handle = prioritized(2, 1.0, 1)
    with pytest.raises(ValueError, match="'transition' must have the shapes"):
        memories.PriorityReplayBufferPush(handle)((ms.ops.ones(3), ms.Tensor(1, ms.int32)))
    with pytest.raises(ValueError, match="below 1, the number of rows"):
        memories.PriorityReplayBufferUpdate(handle)(ms.Tensor([1]), ms.Tensor([1.0]))
    with pytest.raises(ValueError, match="must be as many, but got 1 and 2"):
        memories.PriorityReplayBufferUpdate(handle)(ms.Tensor([0]), ms.Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="'priorities' must be 0 or more"):
        memories.PriorityReplayBufferUpdate(handle)(ms.Tensor([0]), ms.Tensor([-1.0]))
    with pytest.raises(ValueError, match="alpha"):
        memories.PriorityReplayBufferCreate(2, 1.5, *FORM, 0, 0)
    with pytest.raises(RuntimeError, match="the buffer is empty"):
        memories.PriorityReplayBufferSample(prioritized(2, 1.0, 0), 1, *FORM)(1.0)
    memories.PriorityReplayBufferDestroy(handle)()
    with pytest.raises(RuntimeError, match="stands for no PriorityReplayBuffer"):
        memories.PriorityReplayBufferPush(handle)(row(1))
