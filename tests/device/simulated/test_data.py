"""Batches on their way to the simulated device."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella.device import transfer
from tests.device.simulated.test_device import counts

ROWS = np.arange(24.0, dtype=np.float32).reshape(12, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_host_never_waits_for_a_batch(workers):
    rows = ms.dataset.NumpySlicesDataset({"x": ROWS, "y": np.arange(12)}, shuffle=False)
    rows = rows.batch(4, num_parallel_workers=workers)
    counts()
    found = [(x * 2, y + 1) for x, y in rows.create_tuple_iterator(num_epochs=1)]
    waits = counts()
    assert waits == {"host to device, queued": 6, "record_stream": 6}
    assert all(x.device == y.device == "simulated:1" for x, y in found)
    np.testing.assert_array_equal(np.concatenate([x.asnumpy() for x, _ in found]), 2 * ROWS)
    np.testing.assert_array_equal(np.concatenate([y.asnumpy() for _, y in found]), np.arange(1, 13))


def test_a_batch_is_there_for_kernels_of_another_stream():
    device = torch.device("simulated", 0)
    stream = torch.Stream(device)
    with torch.get_device_module("simulated").stream(stream):
        found = transfer.sent(torch.arange(3.0), device)
        assert found.tolist() == [0.0, 1.0, 2.0] and found.device == device


def test_the_array_may_change_afterwards():
    raw = torch.arange(3.0)
    found = transfer.sent(raw, torch.device("simulated", 1))
    raw.zero_()
    assert found.tolist() == [0.0, 1.0, 2.0]
