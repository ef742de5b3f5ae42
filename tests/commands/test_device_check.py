"""What the doctor tries on the device, here the CPU: results that are right, and wrong ones."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn
from lamella.commands import device_check
from lamella.core import context

CPU = torch.device("cpu")


@pytest.mark.parametrize("kind", device_check.TYPES)
def test_products(kind, monkeypatch):
    text = device_check._product(CPU, kind)
    assert text.startswith("within ") and text.endswith(" of float64")
    off = float(text.split()[1])
    assert off >= 1e-16  # what rounds to nothing
    monkeypatch.setitem(device_check.TYPES, kind, -1.0)
    with pytest.raises(device_check._Wrong, match="from what it should be"):
        device_check._product(CPU, kind)


@pytest.mark.parametrize("found, wanted, most, text", [
    ([-3.0, 1.0], [-4.0, 1.0], 0.25, "within 2e-01 of x"),  # as far as may be
    ([-3.0, 1.0], [-4.0, 1.0], 0.2499, None),
    ([3.0, 1.0], [4.0, 1.0], 0.25, "within 2e-01 of x"),
    ([4.0, 1.0], [4.0, 0.0], 0.2, None),
    ([4.0, 1.0], [4.0, 1.0], 0.0, "within 1e-16 of x"),
    ([float("nan"), 1.0], [4.0, 1.0], 1.0, None)])
def test_how_far_a_result_is_off(found, wanted, most, text):
    given = torch.tensor(found), torch.tensor(wanted), most, "of x"
    if text is None:
        with pytest.raises(device_check._Wrong, match="it is .* from what it should be"):
            device_check._near(*given)
    else:
        assert device_check._near(*given) == text


def losses_of_torch(steps):
    """The losses of the network that is tried, of the same first weights, by PyTorch alone."""
    ms.set_seed(0)
    made = nn.SequentialCell(nn.Conv2d(1, 4, 3, pad_mode="same"), nn.BatchNorm2d(4), nn.ReLU(),
                             nn.Flatten(), nn.Dense(256, 5))
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1, bias=False),
                              torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(256, 5))
    with torch.no_grad():
        for ours, theirs in zip(made.trainable_params(), net.parameters(), strict=True):
            theirs.copy_(torch.from_numpy(ours.asnumpy()))
    x = torch.randn(8, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    y = torch.tensor([0, 1, 2, 3, 4, 0, 1, 2])
    optimizer = torch.optim.SGD(net.parameters(), 0.05, 0.9)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("compiled", [False, True])
def test_a_training_has_the_losses_of_pytorch(compiled):
    found = device_check._losses(compiled)
    np.testing.assert_allclose(found, losses_of_torch(4), rtol=1e-4)
    assert device_check._training(compiled).endswith(" of the CPU's losses")


def test_a_training_whose_loss_does_not_fall_is_wrong(monkeypatch):
    monkeypatch.setattr(device_check, "STEPS", 1)  # the first loss is the last
    with pytest.raises(device_check._Wrong, match="the CPU's loss doesn't fall"):
        device_check._training(compiled=False)


def test_the_device_before_comes_back():
    before = context.get_context("device_target"), context.current_device()
    with pytest.raises(ZeroDivisionError), device_check._on_the_cpu():
        assert context.current_device() == CPU
        raise ZeroDivisionError
    assert (context.get_context("device_target"), context.current_device()) == before


def test_an_exchange_in_a_world_of_one():
    assert device_check._exchanged(CPU) == "by gloo, in a world of one process"
    assert not torch.distributed.is_initialized()
    ms.communication.init()
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        with pytest.raises(device_check._Wrong, match="in a world of others already"):
            device_check._exchanged(CPU)
        assert torch.distributed.is_initialized()  # it stays
    finally:
        torch.distributed.destroy_process_group()
        ms.communication.release()


def fails(kind, text):
    def attempt():
        raise kind(text)

    return attempt


@pytest.mark.parametrize("attempt, works, text", [
    (lambda: "well", True, "well"),
    (fails(device_check._Wrong, "it is off"), False, "it is off"),
    (fails(ValueError, "\n first line \nsecond"), False, "ValueError: first line "),
    (fails(RuntimeError, ""), False, "RuntimeError: "),
    (fails(device_check._Wrong, "x" * 200), False, "x" * 200),
    (fails(device_check._Wrong, "x" * 201), False, "x" * 200),
    (fails(OSError, "x" * 200), False, "OSError: " + "x" * 191)])
def test_outcomes(attempt, works, text):
    assert device_check._outcome("a try", attempt) == ("a try", works, text)


def test_all_that_is_tried():
    found = {one.what: one for one in device_check.check_device()}
    assert list(found) == [
        "product in float64", "product in float32", "product in float16", "product in bfloat16",
        "training step", "compiled training step", "captured step", "exchange between processes"]
    failed = {what: one.text for what, one in found.items() if not one.works}
    assert failed == {"captured step": "the device has no captured graphs"}
