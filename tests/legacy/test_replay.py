"""Replay buffers in Parameters, beside a deque."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import lamella as ms
from lamella.legacy.replay import BufferAppend, BufferGetItem, BufferSample

SHAPES, TYPES = [(2,), ()], [ms.float32, ms.int32]


def buffer(capacity):
    data = [ms.Parameter(ms.Tensor(np.zeros((capacity, *shape)), kind), name=f"column{i}",
                         requires_grad=False)
            for i, (shape, kind) in enumerate(zip(SHAPES, TYPES, strict=True))]
    count, head = (ms.Parameter(ms.Tensor(0, ms.int32), name=n) for n in ("count", "head"))
    return data, count, head


def rows(numbers):
    return [ms.Tensor(np.stack([numbers, numbers], -1), ms.float32), ms.Tensor(numbers, ms.int32)]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("capacity", [1, 3, 5])
def test_what_comes_out_is_what_a_deque_holds(capacity, compiled):
    data, count, head = buffer(capacity)
    append = BufferAppend(capacity, SHAPES, TYPES)
    get = BufferGetItem(capacity, SHAPES, TYPES)

    def put(*new):
        append(data, list(new), count, head)
        return count + 0

    put = ms.jit(put) if compiled else put
    kept: deque[int] = deque(maxlen=capacity)
    random, n = np.random.default_rng(capacity), 7  # no row is 0, as an empty buffer's are
    for _ in range(12):
        new = int(random.integers(0, capacity + 1))  # 0: a single row, without a first dimension
        numbers = np.arange(n, n + max(new, 1))
        n += len(numbers)
        put(*(rows(numbers) if new else [t[0] for t in rows(numbers)]))
        kept.extend(numbers)
        assert count.asnumpy() == len(kept)
        for place in (*range(len(kept)), *range(-len(kept), 0)):
            pair, number = get(data, count, head, place)
            assert number.asnumpy() == kept[place] and pair.tolist() == [kept[place]] * 2
    if compiled:
        assert put.report()["replays"] > 0


def test_samples_come_from_the_rows_that_are_there():
    data, count, head = buffer(8)
    append = BufferAppend(8, SHAPES, TYPES)
    for n in range(11):  # rows 3 to 10 are left
        append(data, [t[0] for t in rows(np.array([n]))], count, head)
    draws = BufferSample(8, 6, SHAPES, TYPES, seed=3)
    drawn = np.concatenate([draws(data, count, head)[1].asnumpy() for _ in range(300)])
    assert set(drawn) == set(range(3, 11))
    share = np.bincount(drawn)[3:] / len(drawn)
    assert np.abs(share - 1 / 8).max() < 4 * np.sqrt(1 / 8 / len(drawn))
    again = BufferSample(8, 6, SHAPES, TYPES, seed=3)
    assert again(data, count, head)[1].tolist() == drawn[:6].tolist()
    unique = BufferSample(8, 8, SHAPES, TYPES, unique=True)
    assert sorted(unique(data, count, head)[1].tolist()) == list(range(3, 11))


def test_a_compiled_step_draws_anew_each_time():
    data, count, head = buffer(64)
    BufferAppend(64, SHAPES, TYPES)(data, rows(np.arange(64)), count, head)
    sample = BufferSample(64, 32, SHAPES, TYPES)
    step = ms.jit(lambda: sample(data, count, head)[1] * 2)
    drawn = [tuple(step().tolist()) for _ in range(4)]
    assert len(set(drawn)) == 4 and max(map(max, drawn)) < 128
    assert step.report()["replays"] > 0


def test_wrong_arguments_are_named():
    data, count, head = buffer(3)
    append = BufferAppend(3, SHAPES, TYPES)
    with pytest.raises(ValueError, match="'exp' must have 2 Tensors, but got 1"):
        append(data, rows(np.arange(2))[:1], count, head)
    with pytest.raises(ValueError, match="at most 3 rows, but got 4"):
        append(data, rows(np.arange(4)), count, head)
    with pytest.raises(ValueError, match="a row in 'exp' must have the shape"):
        append(data, [ms.ops.ones(3), ms.Tensor(1, ms.int32)], count, head)
    with pytest.raises(TypeError, match="the type of 'data', Int32, but got Float32"):
        append(data, [ms.ops.ones(2), ms.Tensor(1.0)], count, head)
    with pytest.raises(ValueError, match="as many rows as each other"):
        append(data, [ms.ops.ones((2, 2)), ms.Tensor([1, 2, 3], ms.int32)], count, head)
    with pytest.raises(ValueError, match="'data' must have the shapes"):
        append(data[:1], rows(np.arange(2)), count, head)
    with pytest.raises(ValueError, match="hold at least 1 rows"):
        BufferSample(3, 1, SHAPES, TYPES)(data, count, head)
    with pytest.raises(ValueError, match="'index' must be one of the buffer's rows"):
        BufferGetItem(3, SHAPES, TYPES)(data, count, head, 0)
    with pytest.raises(ValueError, match="'batch_size' must be at most 'capacity'"):
        BufferSample(3, 4, SHAPES, TYPES)
    with pytest.raises(ValueError, match="'capacity' must be an int above 0"):
        BufferAppend(0, SHAPES, TYPES)
    with pytest.raises(ValueError, match="of one length"):
        BufferGetItem(3, SHAPES, TYPES[:1])
