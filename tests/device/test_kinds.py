"""Which accelerators a machine has."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lamella.device import kinds


def _raises() -> int:
    raise RuntimeError("the driver doesn't answer")


@pytest.mark.parametrize("module, found", [
    (None, 0),
    (SimpleNamespace(is_available=lambda: True), 0),
    (SimpleNamespace(is_available=lambda: True, device_count=lambda: 3), 3),
    (SimpleNamespace(is_available=lambda: False, device_count=lambda: 3), 0),
    (SimpleNamespace(is_available=lambda: True, device_count=_raises), 0),
])
def test_devices_of_a_kind(module, found, monkeypatch):
    """A backend's module is another package's, of which only these two functions are known."""
    monkeypatch.setattr(kinds, "module_of", lambda kind: module if kind == "npu" else None)
    assert kinds.count("npu") == found
    assert kinds.first_kind() == ("npu" if found else None)
    assert kinds.count("cpu") == 1


@pytest.mark.parametrize("is_there", [False, True], ids=["CPU alone", "a backend"])
def test_seeds_reach_the_devices_that_there_may_be(is_there, monkeypatch):
    seeds = []
    monkeypatch.setattr(kinds.torch, "manual_seed", seeds.append)
    monkeypatch.setattr(kinds.torch.accelerator, "current_accelerator", lambda: None)
    monkeypatch.setattr(kinds, "module_of", lambda kind: SimpleNamespace() if is_there else None)
    kinds.seed_all(2**64 - 1)
    assert seeds == ([2**64 - 1] if is_there else [])
    assert is_there or kinds.torch.default_generator.initial_seed() == 2**64 - 1
