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


@pytest.mark.parametrize("there, gpu, ascend, first", [
    ({}, "cuda", "cpu", None), ({"cuda": 2}, "cuda", "cuda", "cuda"), ({"xpu": 1}, "xpu", "xpu",
                                                                      "xpu"),
    ({"mps": 1}, "mps", "mps", "mps"), ({"xpu": 1, "mps": 1}, "xpu", "xpu", "xpu"),
    ({"npu": 1}, "cuda", "npu", "npu"), ({"npu": 1, "cuda": 1}, "cuda", "npu", "npu")])
def test_what_names_mean(there, gpu, ascend, first, monkeypatch):
    monkeypatch.setattr(kinds, "count", lambda kind: 1 if kind == "cpu" else there.get(kind, 0))
    assert (kinds.kind_of("CPU"), kinds.kind_of("GPU"), kinds.kind_of("Ascend")) == (
        "cpu", gpu, ascend)
    assert kinds.first_kind() == first
    for name in ("xpu", "mps", "npu", "another"):
        assert kinds.kind_of(name) == (name if name in there else None)
    for name in ("cuda", "cpu", "TPU"):  # which MindSpore calls otherwise
        assert kinds.kind_of(name) is None
    assert kinds.can_pin() is bool({"cuda", "npu", "xpu"} & {*there})


def test_names_of_kinds():
    assert [kinds.target_of(kind) for kind in ("cpu", "npu", "cuda", "xpu", "mps", "own")] == [
        "CPU", "Ascend", "GPU", "GPU", "GPU", "own"]
    for kind, pins in (("cpu", False), ("mps", False), ("cuda", True), ("xpu", True)):
        assert kinds.pins(kinds.torch.device(kind)) is pins
    assert not kinds.has_streams(kinds.CPU) and kinds.module_of("cpu") is None
    assert kinds.call(kinds.CPU, "synchronize", default=5) == 5
    assert kinds.in_use("cpu") and kinds.graphs_of(kinds.CPU) is None
    assert kinds.name_of(kinds.CPU) == "cpu"
    assert kinds.default_generators("cpu") == [kinds.torch.default_generator]


@pytest.mark.parametrize("given, count, want", [
    ({}, 4, 0), ({"LOCAL_RANK": "3"}, 4, 3), ({"LOCAL_RANK": "5"}, 4, 1), ({"LOCAL_RANK": "3"}, 1,
                                                                          0),
    ({"LOCAL_RANK": "2"}, 0, 0), ({"DEVICE_ID": "2"}, 3, 2), ({"LOCAL_RANK": " 1 "}, 3, 1),
    ({"LOCAL_RANK": "x", "OMPI_COMM_WORLD_LOCAL_RANK": "2"}, 3, 2),
    ({"LOCAL_RANK": "1", "DEVICE_ID": "2"}, 3, 1), ({"LOCAL_RANK": "-1"}, 3, 0)])
def test_the_device_of_this_process(given, count, want, monkeypatch):
    for name in ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "DEVICE_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert kinds.here(count) == want
