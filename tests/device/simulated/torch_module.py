"""``torch.simulated``: what PyTorch asks of each backend, with the names of ``torch.cuda``."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils import backend_registration

from tests.device.simulated import graphs

NAME = "simulated"


def load(library: Path) -> Any:
    """Add the device to PyTorch, in a process that has not differentiated anything yet."""
    spec = importlib.util.spec_from_file_location(NAME, library)
    assert spec is not None and spec.loader is not None
    backend = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = backend
    spec.loader.exec_module(backend)
    backend_registration.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, _module(backend))
    backend_registration.generate_methods_for_privateuse1_backend(
        for_module=False, for_storage=True)
    return backend


def _index(device: Any) -> int:
    if device is None:
        return sys.modules[NAME].current_device()
    if isinstance(device, int):
        return device
    found = torch.device(device).index
    return sys.modules[NAME].current_device() if found is None else found


class _On:
    """A block in which a device is the current one."""

    def __init__(self, device: Any):
        self.index = _index(device)

    def __enter__(self) -> None:
        self.before = sys.modules[NAME].current_device()
        sys.modules[NAME].set_device(self.index)

    def __exit__(self, *_: object) -> None:
        sys.modules[NAME].set_device(self.before)


@contextmanager
def _stream(stream: Any) -> Iterator[None]:
    before = torch.accelerator.current_stream(stream.device)
    torch.accelerator.set_stream(stream)
    try:
        yield
    finally:
        torch.accelerator.set_stream(before)


def _module(backend: Any) -> types.ModuleType:
    module = types.ModuleType(f"torch.{NAME}")

    def generators() -> list[torch.Generator]:
        return [backend.default_generator(i) for i in range(backend.device_count())]

    def seed_all(seed: int) -> None:
        for generator in generators():
            generator.manual_seed(seed)

    def make_stream(device: Any = None, priority: int = 0) -> torch.Stream:
        return torch.Stream(torch.device(NAME, _index(device)), priority=priority)

    def make_event(enable_timing: bool = False, blocking: bool = False) -> torch.Event:
        return torch.Event(NAME, enable_timing=enable_timing, blocking=blocking)

    module.__dict__.update(
        SIMULATEDGraph=graphs.Graph, graph=graphs.Capture, graph_pool_handle=graphs.pool_handle,
        _backend=backend,
        Event=make_event, Stream=make_stream, _is_in_bad_fork=lambda: False,
        current_device=backend.current_device, default_generators=generators(), device=_On,
        device_count=backend.device_count, is_available=lambda: True,
        current_stream=lambda device=None: torch.accelerator.current_stream(_index(device)),
        get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
        get_device_name=lambda device=None: f"Simulated device {_index(device)}",
        get_rng_state=lambda device=None: generators()[_index(device)].get_state(),
        is_initialized=lambda: any(map(backend.was_used, range(backend.device_count()))),
        manual_seed=lambda seed: generators()[backend.current_device()].manual_seed(seed),
        manual_seed_all=seed_all, set_device=lambda device: backend.set_device(_index(device)),
        set_rng_state=lambda state, device=None: generators()[_index(device)].set_state(state),
        set_stream=torch.accelerator.set_stream, stream=_stream,
        synchronize=lambda device=None: torch.accelerator.synchronize(_index(device)))
    return module
