"""Lists and queues of Tensors under a handle."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella.legacy import tensor_lists as lists

FORM = (ms.float32, ((), (2,)))


def filled(**options):
    handle = lists.TensorArray(ms.float32, (2,), **options)()
    assert handle.shape == () and handle.dtype == ms.int64
    for place in (0, 2):
        lists.TensorArrayWrite()(handle, ms.Tensor(place), ms.ops.ones(2) * (place + 1))
    return handle


def test_an_array_is_written_read_stacked_and_emptied():
    handle = filled()
    assert lists.TensorArraySize()(handle) == 3
    assert lists.TensorArrayRead(ms.float32, (2,))(handle, 2).tolist() == [3, 3]
    stack = lists.TensorArrayStack(ms.float32, (2,), True, 0)
    assert stack(handle).tolist() == [[1, 1], [0, 0], [3, 3]]
    gather = lists.TensorArrayGather(ms.float32, (2,))
    assert gather(handle, ms.Tensor([2, 2, 0])).tolist() == [[3, 3], [3, 3], [1, 1]]
    lists.TensorArrayClear()(handle)
    assert lists.TensorArraySize()(handle) == 0 and stack(handle).shape == (0, 2)
    lists.TensorArrayClose()(handle)
    with pytest.raises(RuntimeError, match="stands for no TensorArray"):
        stack(handle)


def test_an_array_of_fixed_size_stacks_all_its_positions():
    handle = filled(dynamic_size=False, size=4)
    assert lists.TensorArrayStack(ms.float32, (2,), False, 4)(handle).shape == (4, 2)
    with pytest.raises(ValueError, match="'index' must be 0 or more and below 4, but got 4"):
        lists.TensorArrayWrite()(handle, 4, ms.ops.ones(2))


def test_what_is_kept_does_not_change_with_what_was_given():
    handle, value = lists.TensorArray(ms.float32, (2,))(), ms.Parameter(ms.ops.ones(2), name="v")
    lists.TensorArrayWrite()(handle, 0, value)
    ms.ops.assign(value, ms.ops.zeros(2))
    assert lists.TensorArrayRead(ms.float32, (2,))(handle, 0).tolist() == [1, 1]


def test_gradients_go_through_an_array():
    def loss(x):
        handle = lists.TensorArray(ms.float32, ())()
        for place in range(3):
            lists.TensorArrayWrite()(handle, place, x[place] * (place + 1))
        return (lists.TensorArrayStack(ms.float32, ())(handle) ** 2).sum()

    assert ms.grad(loss)(ms.Tensor([1.0, 1.0, 1.0])).tolist() == [2, 8, 18]


def test_a_queue_keeps_what_a_tensor_was():
    handle, (one, two) = lists.TensorsQueueCreate(*FORM, size=2)(), (
        ms.Tensor(1.0), ms.Tensor([1.0, 2.0]))
    lists.TensorsQueuePut(*FORM)(handle, [one, two])
    one.add_(5)
    two[0] = 9
    found = lists.TensorsQueueGet(*FORM)(handle)
    assert found[0] == 1 and found[1].tolist() == [1, 2]


def test_a_queue_gives_what_came_first():
    handle = lists.TensorsQueueCreate(*FORM, size=2)()
    put, get = lists.TensorsQueuePut(*FORM), lists.TensorsQueueGet(*FORM)
    pop = lists.TensorsQueueGet(*FORM, pop_after_get=True)
    for n in (1.0, 2.0):
        put(handle, [ms.Tensor(n), ms.Tensor([n, n])])
    with pytest.raises(RuntimeError, match="the queue is full: it has 2 entries"):
        put(handle, [ms.Tensor(3.0), ms.Tensor([3.0, 3.0])])
    assert get(handle)[0] == 1 and pop(handle)[1].tolist() == [1, 1] and get(handle)[0] == 2
    assert lists.TensorsQueueSize()(handle) == 1
    lists.TensorsQueueClear()(handle)
    with pytest.raises(RuntimeError, match="the queue is empty"):
        pop(handle)
    lists.TensorsQueueClose()(handle)
    with pytest.raises(RuntimeError, match="stands for no TensorsQueue"):
        put(handle, [ms.Tensor(3.0), ms.Tensor([3.0, 3.0])])


def test_a_compiled_function_that_fills_an_array_runs_eagerly_and_right():
    handle, write = lists.TensorArray(ms.float32, ())(), lists.TensorArrayWrite()

    @ms.jit
    def step(x, place):
        write(handle, place, x * 2)
        return x + 1

    with pytest.warns(UserWarning, match="TensorArrayWrite"):
        for n in range(4):
            assert step(ms.Tensor(float(n)), n) == n + 1
    np.testing.assert_array_equal(
        lists.TensorArrayStack(ms.float32, ())(handle).asnumpy(), [0, 2, 4, 6])


def test_wrong_arguments_are_named():
    handle = filled()
    with pytest.raises(ValueError, match="'value' must have the shape"):
        lists.TensorArrayWrite()(handle, 0, ms.ops.ones(3))
    with pytest.raises(ValueError, match="below 3, the array's length, but got 3"):
        lists.TensorArrayRead(ms.float32, (2,))(handle, 3)
    with pytest.raises(TypeError, match="index"):
        lists.TensorArrayRead(ms.float32, (2,))(handle, 1.5)
    with pytest.raises(ValueError, match="size"):
        lists.TensorArray(ms.float32, (), size=-1)
    with pytest.raises(ValueError, match="'shapes' must not be empty"):
        lists.TensorsQueueCreate(ms.float32, ())
    queue = lists.TensorsQueueCreate(*FORM)()
    with pytest.raises(ValueError, match="'value' must have the shapes"):
        lists.TensorsQueuePut(*FORM)(queue, (ms.Tensor(1.0),))
