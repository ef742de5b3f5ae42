"""What is asked of an accelerator's module, which is another package's: a small one stands for it.

It has two devices, and queues that note what was put into them.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

import lamella as ms
from lamella import hal, runtime
from lamella.device import kinds


class Queue:
    """A stream."""

    def __init__(self, device=None, priority=0):
        self.device, self.priority, self.stream_id, self.noted = device, priority, 7, []
        self.query = lambda: not self.noted
        self.synchronize = self.noted.clear
        self.wait_stream = self.noted.append


class Mark:
    """An event."""

    def __init__(self, enable_timing, blocking=False):
        self.settings, self.queue, self.waiting = (enable_timing, blocking), None, []
        self.wait = self.waiting.append

    def record(self, queue):
        self.queue = queue

    def query(self):
        return self.queue is None

    def synchronize(self):
        self.queue = None

    def elapsed_time(self, other):
        return 5.0 if self.queue is other.queue else -1.0


@pytest.fixture
def module(monkeypatch):
    """The module, while tensors are made on the first of its devices."""
    found = SimpleNamespace(
        calls=[], current=Queue("first"), is_available=lambda: True, device_count=lambda: 2,
        memory_allocated=lambda device: 30, memory_reserved=lambda device: 100,
        max_memory_allocated=lambda device: 40, max_memory_reserved=lambda device: 200,
        get_device_properties=lambda device: SimpleNamespace(total_memory=16 * 2**30),
        get_device_name=lambda device: f"Device {device.index}",
        get_device_capability=lambda device: (9, device.index), get_arch_list=lambda: ["a9"],
        is_initialized=lambda: False, Stream=Queue, Event=Mark, default_generators=[3, 4])
    for name in ("set_per_process_memory_fraction", "empty_cache", "reset_peak_memory_stats",
                 "synchronize", "init"):
        setattr(found, name, lambda *given, name=name: found.calls.append((name, *given)))
    found.default_stream = found.current_stream = lambda device: found.current
    found.set_stream = lambda queue: setattr(found, "current", queue)
    monkeypatch.setattr(kinds, "module_of", lambda kind: found if kind == "xpu" else None)
    with ms.DeviceCtx("GPU"):
        yield found


FIRST = torch.device("xpu", 0)


def test_memory(module):
    assert runtime.memory_stats() == {
        "total_reserved_memory": 100, "total_allocated_memory": 30, "total_idle_memory": 70,
        "max_reserved_memory": 200, "max_allocated_memory": 40}
    assert runtime.memory_summary().splitlines()[3].split()[-3:] == ["70", "B", "|"]
    runtime.empty_cache()
    runtime.reset_max_memory_allocated()
    runtime.reset_max_memory_reserved()
    runtime.synchronize()
    assert module.calls == [("empty_cache",), *[("reset_peak_memory_stats", FIRST)] * 2,
                            ("synchronize", FIRST)]


@pytest.mark.parametrize("size, share", [
    ("8GB", 0.5), ("16GB", 1.0), ("32GB", 1.0), ("1.6GB", 0.1)])
def test_the_share_of_memory(module, size, share):
    runtime.set_memory(max_size=size)
    (name, given, device), = module.calls
    assert name == "set_per_process_memory_fraction" and device == FIRST
    assert given == pytest.approx(share)


def test_streams(module):
    first, stream = module.current, runtime.Stream(-1)
    assert (stream.raw.device, stream.raw.priority, stream.id) == (FIRST, -1, 7)
    assert runtime.Stream(stream=first).raw is first and runtime.Stream().raw.priority == 0
    assert repr(stream) == "Stream(device_name=GPU, device_id:0, stream id:7)"
    assert runtime.current_stream() == runtime.default_stream() == runtime.communication_stream()
    assert runtime.current_stream().raw is first and stream != runtime.current_stream()
    with pytest.raises(ValueError, match="mine"), runtime.StreamCtx(stream):
        assert runtime.current_stream() == stream
        raise ValueError("mine")
    assert module.current is first
    with runtime.StreamCtx(None):
        assert module.current is first
    runtime.set_cur_stream(stream)
    assert module.current is stream.raw
    stream.wait_stream(runtime.Stream(stream=first))
    assert stream.raw.noted == [first] and not stream.query()
    stream.synchronize()
    assert stream.query() and {stream: 1}[runtime.current_stream()] == 1


def test_events(module):
    first, stream = module.current, runtime.Stream()
    event, timed = runtime.Event(blocking=True), runtime.Event(enable_timing=True)
    assert (event.raw.settings, timed.raw.settings) == ((False, True), (True, False))
    assert event.query()
    event.record()
    assert event.raw.queue is first and not event.query()
    event.record(stream)
    assert event.raw.queue is stream.raw
    event.synchronize()
    assert event.query() and stream.record_event(event) is event
    assert event.raw.queue is stream.raw and stream.record_event().raw.queue is stream.raw
    stream.wait_event(event)
    event.wait()
    assert event.raw.waiting == [stream.raw, first]
    timed.record()
    other = runtime.Event(enable_timing=True)
    assert timed.elapsed_time(other) == -1
    other.record()
    assert timed.elapsed_time(other) == 5


def test_devices_by_number(module):
    assert hal.device_count() == hal.device_count("GPU") == 2 and hal.device_count("CPU") == 1
    assert [hal.get_device_name(i) for i in range(2)] == ["Device 0", "Device 1"]
    assert hal.get_device_capability(1, "GPU") == (9, 1)
    assert hal.get_device_properties(1).total_memory == 2**34
    assert hal.get_arch_list() == hal.get_arch_list("GPU") == ["a9"]
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match="there are 2 devices of the kind 'GPU'"):
            hal.get_device_name(wrong, "GPU")
    assert hal.is_available("GPU") and not hal.is_available("Ascend")  # which means the GPU
    assert not hal.is_initialized("GPU") and hal.get_device_name(0, "CPU") == "CPU"
    module.is_initialized = lambda: True
    assert hal.is_initialized("GPU") and hal.is_initialized("CPU")
    with pytest.raises(RuntimeError, match="has been used"):
        module_used_as_cuda(module)
    del module.is_initialized  # one that doesn't say counts as used
    assert hal.is_initialized("GPU") and not hal.is_initialized("Ascend")
    module.is_available = lambda: False
    assert not hal.is_initialized("GPU") and hal.get_arch_list("GPU") is None


def module_used_as_cuda(module):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "module_of", lambda kind: module if kind == "cuda" else None)
        runtime.launch_blocking()


def test_launches_block_from_the_first_on(module, monkeypatch):
    for name in ("CUDA_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING"):
        monkeypatch.setenv(name, "0")
    module_used_as_cuda(module)  # it is there, but nothing was done with it
    assert runtime.os.environ["CUDA_LAUNCH_BLOCKING"] == "1"
    assert runtime.os.environ["ASCEND_LAUNCH_BLOCKING"] == "1"


def test_what_others_ask_of_a_device(module):
    device = torch.device("xpu", 1)
    assert kinds.has_streams(FIRST) and not kinds.has_streams(torch.device("cuda", 0))
    assert kinds.default_generator(device) == 4 and kinds.default_generator(
        torch.device("xpu")) == 3
    assert kinds.default_generators("xpu") == [3, 4] and module.calls == [("init",)] * 4
    assert [timer.settings for timer in kinds.timers(device)] == [(True, False)] * 2
    assert kinds.name_of(device) == "Device 1" and kinds.can_pin()
    assert kinds.call(device, "no_such_function", 1, default=2) == 2
    assert kinds.graphs_of(device) is None
    module.XPUGraph, module.graph = 1, 2
    assert kinds.graphs_of(device) is None
    module.graph_pool_handle = 3
    assert kinds.graphs_of(device) == kinds.Graphs(1, 2, 3)
    del module.Stream
    assert not kinds.has_streams(FIRST) and runtime.Stream().id == 0


@pytest.mark.parametrize("index, want", [(None, 0), (0, 0), (3, 3)])
def test_an_allocator_leaves_a_pool(index, want, monkeypatch):
    left = []

    def leave(number, pool):
        left.append((number, pool))
        raise RuntimeError("has left it")

    monkeypatch.setattr(torch._C, "_xpu_endAllocateToPool", leave, raising=False)
    kinds.abandon(torch.device("xpu", index), "pool")
    kinds.abandon(kinds.CPU, "pool")
    assert left == [(want, "pool")]
