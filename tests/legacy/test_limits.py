"""The ends of what buffers, lists and their kind take, and states at their limits."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.legacy import memories, replay, tensor_lists

from ..limits import check_limits

FORM = ([(2,), ()], [ms.float32, ms.int32])


def row(number):
    return ops.full((2,), float(number)), Tensor(number, ms.int32)


def buffer(count, capacity=3):
    handle = memories.PriorityReplayBufferCreate(capacity, 1.0, *FORM, 1, 0)().item()
    for number in range(count):
        memories.PriorityReplayBufferPush(handle)(row(number))
    return handle


def array(size=None, written=0):
    handle = tensor_lists.TensorArray(ms.float32, (2,), size is None, size or 0)()
    for place in range(written):
        tensor_lists.TensorArrayWrite()(handle, place, ops.full((2,), float(place + 1)))
    return handle


def queue(size, count):
    handle = tensor_lists.TensorsQueueCreate(ms.float32, [(2,), ()], size)()
    for number in range(count):
        tensor_lists.TensorsQueuePut(ms.float32, [(2,), ()])(
            handle, (ops.full((2,), float(number)), Tensor(float(number))))
    return handle


COLUMNS = (ops.zeros((4, 2)), ops.zeros((4,), ms.int32))
SHAPES = ([(2,), ()], [ms.float32, ms.int32])


def appended(count, held=0, head=0):
    data = [ms.Parameter(column.copy()) for column in COLUMNS]
    state = [ms.Parameter(Tensor([n], ms.int32)) for n in (held, head)]
    rows = (ops.arange(1, count + 1).astype(ms.float32).reshape(-1, 1) * ops.ones((1, 2)),
            ops.arange(1, count + 1).astype(ms.int32))
    replay.BufferAppend(4, *SHAPES)(data, rows, *state)
    return data, state


def item(index, held=3, head=2):
    data = (ops.arange(8).astype(ms.float32).reshape(4, 2), ops.arange(4).astype(ms.int32))
    return replay.BufferGetItem(4, *SHAPES)(data, Tensor([held], ms.int32),
                                            Tensor([head], ms.int32), index)


LIMITS = {
    "alpha": (lambda a: memories.PriorityReplayBufferCreate(2, a, *FORM, 0, 0), (0, 1.0),
              (-0.01, 1.01)),
    "capacity": (lambda n: memories.PriorityReplayBufferCreate(n, 1.0, *FORM, 0, 0), (1,), (0,)),
    "seeds": (lambda n: memories.ReservoirReplayBufferCreate(1, *FORM, n, n), (0, 1), (-1,)),
    "second seed": (lambda n: memories.ReservoirReplayBufferCreate(1, *FORM, 0, n), (0,), (-1,)),
    "forms": (lambda n: memories.ReservoirReplayBufferCreate(
        1, [()] * n, [ms.float32] * 2, 0, 0), (2,), (1, 3)),
    "batch": (lambda n: memories.PriorityReplayBufferSample(buffer(1), n, *FORM), (1,), (0,)),
    "updated place": (lambda n: memories.PriorityReplayBufferUpdate(buffer(2))(
        Tensor([n]), Tensor([1.0])), (0, 1), (-1, 2)),
    "updated place of a full one": (lambda n: memories.PriorityReplayBufferUpdate(buffer(7))(
        Tensor([n]), Tensor([1.0])), (0, 2), (3,)),
    "priority": (lambda p: memories.PriorityReplayBufferUpdate(buffer(2))(
        Tensor([0]), Tensor([p])), (0.0, 9.0), (-1e-6,)),
    "handle": (lambda n: memories.PriorityReplayBufferDestroy(n), (0, 1), (-1,)),
    "sampled": (lambda n: memories.PriorityReplayBufferSample(buffer(n), 1, *FORM)(1.0), (1, 5),
                (0,)),
    "written place": (lambda n: tensor_lists.TensorArrayWrite()(array(3), n, ops.ones(2)), (0, 2),
                      (-1, 3)),
    "written place, any": (lambda n: tensor_lists.TensorArrayWrite()(array(), n, ops.ones(2)),
                           (0, 9), (-1,)),
    "written shape": (lambda n: tensor_lists.TensorArrayWrite()(array(), 0, ops.ones(n)), (2,),
                      (1, 3, (1, 2))),
    "read place": (lambda n: tensor_lists.TensorArrayRead(ms.float32, (2,))(array(None, 2), n),
                   (0, 1), (-1, 2)),
    "gathered": (lambda i: tensor_lists.TensorArrayGather(ms.float32, (2,))(
        array(None, 2), Tensor(i)), ([0, 1, 0],), ([2], [-1], [[0, 1]], 0)),
    "size": (lambda n: tensor_lists.TensorArray(ms.float32, (), False, n), (0, 1), (-1,)),
    "queue's size": (lambda n: tensor_lists.TensorsQueueCreate(ms.float32, [()], n), (0, 1), (-1,)),
    "queue's shapes": (lambda s: tensor_lists.TensorsQueueCreate(ms.float32, s), ([()],), ([], ())),
    "entries": (lambda n: queue(2, n), (1, 2), (3,)),
    "entries without limit": (lambda n: queue(0, n), (0, 5), ()),
    "taken": (lambda n: tensor_lists.TensorsQueueGet(ms.float32, [(2,), ()])(queue(0, n)), (1,),
              (0,)),
    "rows": (lambda n: appended(n), (1, 4), (5,)),
    "item": (lambda n: item(n), (0, 2, -1, -3), (3, -4)),
    "item of none": (lambda held: item(0, held), (1, 4), (0,)),
    "sample": (lambda n: replay.BufferSample(4, n, *SHAPES), (1, 4), (0, 5)),
    "sample's seed": (lambda n: replay.BufferSample(4, 1, *SHAPES, n), (0, 1), (-1,)),
    "different rows": (lambda held: replay.BufferSample(4, 2, *SHAPES, 0, True)(
        COLUMNS, Tensor([held], ms.int32), Tensor([0], ms.int32)), (2, 4), (0, 1)),
    "any rows": (lambda held: replay.BufferSample(4, 2, *SHAPES)(
        COLUMNS, Tensor([held], ms.int32), Tensor([0], ms.int32)), (1, 4), (0,)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])


def test_positions_that_were_not_written_are_zeros():
    write, stack = tensor_lists.TensorArrayWrite(), tensor_lists.TensorArrayStack
    free, fixed = array(), array(4)
    for handle in (free, fixed):
        write(handle, 2, Tensor([1.0, 2.0]))
        assert tensor_lists.TensorArraySize()(handle).item() == 3
    assert stack(ms.float32, (2,))(free).tolist() == [[0, 0], [0, 0], [1, 2]]
    assert stack(ms.float32, (2,), False, 4)(fixed).tolist() == [[0, 0], [0, 0], [1, 2], [0, 0]]
    assert stack(ms.float32, (2,))(array()).shape == (0, 2)
    tensor_lists.TensorArrayClear()(free)
    assert tensor_lists.TensorArraySize()(free).item() == 0


@pytest.mark.parametrize("pop", [False, True])
def test_entries_come_in_their_order(pop):
    handle = queue(0, 3)
    get = tensor_lists.TensorsQueueGet(ms.float32, [(2,), ()], pop)
    found = [get(handle)[1].item() for _ in range(3)]
    assert found == ([0, 1, 2] if pop else [0, 0, 0])
    assert tensor_lists.TensorsQueueSize()(handle).item() == (0 if pop else 3)


@pytest.mark.parametrize(("count", "held", "head", "after"), [
    (2, 0, 0, (2, 0)), (4, 0, 0, (4, 0)), (2, 3, 0, (4, 1)), (3, 4, 2, (4, 1)), (1, 2, 3, (3, 3)),
    (4, 4, 1, (4, 1))])
def test_rows_are_appended_around_the_end(count, held, head, after):
    data, state = appended(count, held, head)
    assert tuple(int(s) for s in state) == after
    want = np.zeros(4)
    for number in range(count):
        want[(head + held + number) % 4] = number + 1
    np.testing.assert_array_equal(data[1].asnumpy(), want)
    np.testing.assert_array_equal(data[0].asnumpy(), np.stack([want, want], 1))


@pytest.mark.parametrize(("index", "place"), [(0, 2), (1, 3), (2, 0), (-1, 0), (-2, 3), (-3, 2)])
def test_items_from_the_head_on(index, place):
    pair, number = item(index)
    assert number.item() == place and pair.tolist() == [2 * place, 2 * place + 1]


@pytest.mark.parametrize("unique", [False, True])
def test_samples_are_rows_that_there_are(unique):
    data = (ops.arange(8).astype(ms.float32).reshape(4, 2), ops.arange(4).astype(ms.int32))
    sample = replay.BufferSample(4, 2, *SHAPES, 3, unique)
    seen = set()
    for _ in range(30):
        pairs, numbers = sample(data, Tensor([2], ms.int32), Tensor([3], ms.int32))
        np.testing.assert_array_equal(pairs.asnumpy()[:, 0], 2 * numbers.asnumpy())
        seen |= set(numbers.tolist())
        assert not unique or len(set(numbers.tolist())) == 2
    assert seen == {3, 0}
