"""What the simulated device itself does: without these, the other tests would show nothing."""

import pytest
import torch

import lamella as ms
from lamella import nn, ops
from tests.device.simulated import target
from tests.device.simulated.target import counts

pytestmark = pytest.mark.skipif(target.IS_REAL, reason="these tests ask the simulated device")


def error_of(call):
    try:
        call()
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"
    return "nothing"


def test_kernels_refuse_mixed_devices():
    here, there = torch.ones(3, device="simulated:1"), torch.ones(3, device="simulated:0")
    for other in (there, torch.ones(3)):
        assert "same device" in error_of(lambda other=other: here + other)
        assert "same device" in error_of(lambda other=other: torch.cat([here, other]))
    assert (here + torch.tensor(1.0)).tolist() == [2.0] * 3  # a number, as on GPUs


def test_memory_that_was_not_written_shows():
    assert torch.empty(3, device="simulated").isnan().all()


def test_copies_wait_in_streams():
    stream = torch.Stream("simulated")
    pinned = torch.arange(3.0).pin_memory()
    assert pinned.is_pinned() and not torch.ones(3).is_pinned()
    with torch.get_device_module("simulated").stream(stream):
        copy = pinned.to("simulated", non_blocking=True)
    assert copy.isnan().all()
    torch.accelerator.current_stream().wait_stream(stream)
    assert copy.tolist() == [0.0, 1.0, 2.0]


def test_waiting_is_counted():
    x = torch.ones(3, device="simulated")
    counts()
    assert (x + x).sum().item() == 6 and counts() == {"number read": 1}
    torch.nonzero(x)
    x.cpu()
    assert counts() == {"aten::nonzero": 1, "device to host": 1}


def test_generators_are_its_own():
    own = torch.Generator("simulated").manual_seed(3)
    drawn = torch.rand(2, generator=own, device="simulated")
    assert drawn.tolist() == torch.rand(2, generator=torch.Generator().manual_seed(3)).tolist()
    assert "generator" in error_of(lambda: torch.rand(2, generator=own))
    assert "generator" in error_of(
        lambda: torch.rand(2, generator=torch.Generator(), device="simulated"))


def test_lamella_runs_on_it():
    net = nn.SequentialCell(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Dense(32, 3))
    x = ms.Tensor(ops.ones((2, 1, 4, 4)))
    assert x.device == "simulated:1" and net(x).device == "simulated:1"
    assert ms.get_context("device_target") == "simulated" and ms.get_context("device_id") == 1
