"""Older names of `runtime`; the functions also take `device_target`. And the list of devices."""

from __future__ import annotations

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..core import context
from ..core.require import of_type, one_of
from . import kinds, runtime
from .runtime import (
    Event,
    Stream,
    StreamCtx,
    communication_stream,
    current_stream,
    default_stream,
    set_cur_stream,
    synchronize,
)

__all__ = [
    "Event", "Stream", "StreamCtx", "communication_stream", "current_stream", "default_stream",
    "device_count", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "is_available", "is_initialized", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary",
    "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats",
    "set_cur_stream", "synchronize",
]

def _target(function: str, device_target: str | None) -> str:
    found = context.get_context("device_target") if device_target is None else device_target
    if isinstance(found, str) and kinds.kind_of(found) is not None:
        return found
    return one_of(found, kinds.TARGETS, "device_target", function)


def _kind(target: str) -> str:
    """The kind of device that a target is, not of one that is used in its place."""
    kind = kinds.kind_of(target)
    return "npu" if target == "Ascend" else str(kind)


def _with_target(function: Callable[[], Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(device_target: str | None = None) -> Any:
        _target(function.__name__, device_target)
        return function()

    return call


empty_cache = _with_target(runtime.empty_cache)
max_memory_allocated = _with_target(runtime.max_memory_allocated)
max_memory_reserved = _with_target(runtime.max_memory_reserved)
memory_allocated = _with_target(runtime.memory_allocated)
memory_reserved = _with_target(runtime.memory_reserved)
memory_stats = _with_target(runtime.memory_stats)
memory_summary = _with_target(runtime.memory_summary)
reset_max_memory_allocated = _with_target(runtime.reset_max_memory_allocated)
reset_max_memory_reserved = _with_target(runtime.reset_max_memory_reserved)
reset_peak_memory_stats = _with_target(runtime.reset_peak_memory_stats)


def is_available(device_target: str) -> bool:
    """Whether there is a device of a kind.

    Args:
        device_target: ``"CPU"``, ``"GPU"``, ``"Ascend"`` (which needs ``torch_npu``), or PyTorch's
            name of another kind.

    Raises:
        ValueError: if the kind is another.

    Examples:
        >>> from lamella import hal
        >>> hal.is_available("CPU"), hal.is_available("Ascend")
        (True, False)
    """
    return kinds.count(_kind(_target("is_available", device_target))) > 0


def is_initialized(device_target: str) -> bool:
    """Whether a kind of device has been used.

    Args:
        device_target: ``"CPU"``, ``"GPU"`` or ``"Ascend"``.

    Raises:
        ValueError: if the kind is another.
    """
    return kinds.in_use(_kind(_target("is_initialized", device_target)))


def device_count(device_target: str | None = None) -> int:
    """The number of devices of a kind, the current one unless given.

    Raises:
        ValueError: if the kind is unknown.
    """
    return kinds.count(_kind(_target("device_count", device_target)))


def _checked_id(function: str, device_id: int, device_target: str | None) -> torch.device:
    target = _target(function, device_target)
    of_type(device_id, int, "device_id", function)
    count = device_count(target)
    if not 0 <= device_id < count:
        raise ValueError(f"For '{function}', there are {count} devices of the kind {target!r}, "
                         f"but 'device_id' is {device_id}.")
    return kinds.CPU if target == "CPU" else torch.device(_kind(target), device_id)


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """A device's name.

    Raises:
        TypeError: if `device_id` is no int.
        ValueError: if there is no such device.

    Examples:
        >>> from lamella import hal
        >>> hal.get_device_name(0, "CPU")
        'CPU'
    """
    device = _checked_id("get_device_name", device_id, device_target)
    return "CPU" if device == kinds.CPU else kinds.name_of(device)


def get_device_capability(device_id: int, device_target: str | None = None
                          ) -> tuple[int, int] | None:
    """The versions, major and minor, of a GPU's instructions; None for a CPU.

    Raises: as `get_device_name`.
    """
    device = _checked_id("get_device_capability", device_id, device_target)
    return kinds.call(device, "get_device_capability", device)


def get_device_properties(device_id: int, device_target: str | None = None) -> Any:
    """A GPU's properties: ``name``, ``total_memory``, ``major``, ``minor``, ...; None for a CPU.

    Raises: as `get_device_name`.
    """
    device = _checked_id("get_device_properties", device_id, device_target)
    return kinds.call(device, "get_device_properties", device)


def get_arch_list(device_target: str | None = None) -> list[str] | None:
    """The GPU architectures that kernels are there for; None for a CPU.

    Raises:
        ValueError: if the kind is unknown.
    """
    kind = _kind(_target("get_arch_list", device_target))
    return kinds.call(torch.device(kind), "get_arch_list") if kinds.count(kind) else None
