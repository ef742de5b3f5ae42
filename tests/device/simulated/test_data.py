"""Batches on their way to the simulated device."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.device import transfer
from tests.device.simulated import target
from tests.device.simulated.target import DEVICE, PLACE, counts

ROWS = np.arange(24.0, dtype=np.float32).reshape(12, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_host_never_waits_for_a_batch(workers):
    rows = ms.dataset.NumpySlicesDataset({"x": ROWS, "y": np.arange(12)}, shuffle=False)
    rows = rows.batch(4, num_parallel_workers=workers)
    counts()
    found = [(x * 2, y + 1) for x, y in rows.create_tuple_iterator(num_epochs=1)]
    waits = counts()
    assert waits == ({} if target.IS_REAL else {"host to device, queued": 6, "record_stream": 6})
    assert all(x.device == y.device == PLACE for x, y in found)
    np.testing.assert_array_equal(np.concatenate([x.asnumpy() for x, _ in found]), 2 * ROWS)
    np.testing.assert_array_equal(np.concatenate([y.asnumpy() for _, y in found]), np.arange(1, 13))


def numbers(rows):
    return [(x.asnumpy().tolist(), y.asnumpy().tolist()) for x, y in rows]


def pipeline():
    rows = ms.dataset.NumpySlicesDataset({"x": ROWS, "y": np.arange(12)}, shuffle=True)
    return rows.shuffle(5).repeat(2).batch(3)


@pytest.mark.skipif(target.IS_REAL, reason="queued copies are counted on the simulated device")
def test_two_batches_are_on_their_way_while_one_is_used():
    ms.set_seed(3)
    rows = pipeline().create_tuple_iterator(num_epochs=2)
    counts()
    next(rows)
    assert counts()["host to device, queued"] == 6
    next(rows)
    assert counts()["host to device, queued"] == 2
    assert len(list(rows)) == 6 and len(list(rows)) == 8
    counts()
    with pytest.raises(RuntimeError, match="beyond"):
        next(rows)


def test_a_run_goes_on_from_the_batch_that_was_given_last():
    ms.set_seed(3)
    rows = pipeline().create_tuple_iterator()
    numbers([next(rows) for _ in range(3)])
    states, wanted = [rows.state_dict()], []
    for _ in range(5):
        wanted += numbers([next(rows)])
        states.append(rows.state_dict())
    for begin, state in enumerate(states[:4]):
        later = pipeline().create_tuple_iterator()
        later.load_state_dict(state)
        assert numbers(list(later)) == wanted[begin:]


def test_functions_of_the_user_are_called_when_their_row_is_asked_for():
    rows = ms.dataset.NumpySlicesDataset(np.arange(6.0), ["x"], shuffle=False)
    rows = rows.map(lambda x: x + np.random.rand(), ["x"])
    np.random.seed(1)
    found = []
    for (x,) in rows.create_tuple_iterator(num_epochs=1):
        found += [float(x), np.random.rand()]
    np.random.seed(1)
    drawn = [number + np.random.rand() if i == 0 else np.random.rand()
             for number in range(6) for i in (0, 1)]
    np.testing.assert_allclose(found, drawn, rtol=1e-6)


def test_a_batch_is_there_for_kernels_of_another_stream():
    device = torch.device(DEVICE.type, 0)
    stream = target.module().Stream(device)
    with target.module().stream(stream):
        found = transfer.sent(torch.arange(3.0), device)
        assert found.tolist() == [0.0, 1.0, 2.0] and found.device == device


def test_the_array_may_change_afterwards():
    raw = torch.arange(3.0)
    found = transfer.sent(raw, DEVICE)
    raw.zero_()
    assert found.tolist() == [0.0, 1.0, 2.0]
