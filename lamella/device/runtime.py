"""The device while a program runs: its memory, its streams, waiting for it.

On a GPU or another accelerator these are PyTorch's; a CPU has one stream, in which every call is
over when it returns, and memory that nothing counts.
"""

from __future__ import annotations

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from ..core import context
from ..core.require import of_type
from . import kinds

__all__ = [
    "DeviceCtx", "Event", "Stream", "StreamCtx", "communication_stream", "current_stream",
    "default_stream", "dispatch_threads_num", "empty_cache", "get_current_device",
    "launch_blocking", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated",
    "reset_max_memory_reserved", "reset_peak_memory_stats", "set_cpu_affinity", "set_cur_stream",
    "set_kernel_launch_group", "set_memory", "synchronize",
]


def _streamed() -> torch.device | None:
    """The device that tensors are made on, if it has streams; None on a CPU."""
    device = context.current_device()
    return device if kinds.has_streams(device) else None


def _asked(name: str, default: Any = 0) -> Any:
    """What a function of PyTorch's module for the device gives; `default` where there is none."""
    device = context.current_device()
    return kinds.call(device, name, device, default=default)


def synchronize() -> None:
    """Wait until the device has done everything it was given."""
    kinds.synchronize(context.current_device())


def launch_blocking() -> None:
    """Have each operator wait for its result, so that an error names the line that made it.

    On a CPU that is always so. On a GPU it must come before the first use of it.

    Raises:
        RuntimeError: if the GPU has been used.
    """
    if any(kinds.in_use(kind) for kind in ("cuda", "npu")):
        raise RuntimeError("For 'launch_blocking', the device has been used; call it first.")
    os.environ["CUDA_LAUNCH_BLOCKING"] = os.environ["ASCEND_LAUNCH_BLOCKING"] = "1"


def get_current_device() -> DeviceInfo:
    """The kind of device that tensors are made on, and its number.

    Examples:
        >>> import lamella as ms
        >>> ms.get_current_device().device_target
        'CPU'
    """
    return DeviceInfo(context.get_context("device_target"), context.get_context("device_id"))


class DeviceInfo(NamedTuple):
    """A kind of device and a number."""

    device_target: str
    device_id: int

    def __repr__(self) -> str:
        return str(tuple(self))


class DeviceCtx:
    """A block in which tensors are made on another device.

    Args:
        name: as for `set_device`.
        device_id: which of them.

    Raises:
        ValueError: on entering, if there is no such device.

    Examples:
        >>> import lamella as ms
        >>> with ms.DeviceCtx("CPU"):
        ...     print(ms.ops.ones(2))
        [1. 1.]
    """

    def __init__(self, name: str, device_id: int | None = None):
        self.name = name
        self.device_id = device_id
        self._before: list[DeviceInfo] = []

    def __enter__(self) -> DeviceCtx:
        if self.name == "meta":
            raise ValueError("For 'DeviceCtx', there is no device 'meta' here; "
                             "'nn.no_init_parameters' makes Parameters without their data.")
        before = get_current_device()
        context.set_device(self.name, self.device_id)
        self._before.append(before)
        return self

    def __exit__(self, *_: object) -> None:
        context.set_device(*self._before.pop())


# --- memory

def memory_allocated() -> int:
    """The bytes that tensors take on the GPU; 0 on a CPU."""
    return _asked("memory_allocated")


def memory_reserved() -> int:
    """The bytes that are kept for tensors on the GPU; 0 on a CPU."""
    return _asked("memory_reserved")


def max_memory_allocated() -> int:
    """The most bytes that tensors have taken on the GPU; 0 on a CPU."""
    return _asked("max_memory_allocated")


def max_memory_reserved() -> int:
    """The most bytes that have been kept for tensors on the GPU; 0 on a CPU."""
    return _asked("max_memory_reserved")


def memory_stats() -> dict[str, Any]:
    """The four numbers above, and what is kept and not in use.

    Examples:
        >>> from lamella import runtime
        >>> sorted(runtime.memory_stats())[:2]
        ['max_allocated_memory', 'max_reserved_memory']
    """
    reserved, allocated = memory_reserved(), memory_allocated()
    return {"total_reserved_memory": reserved, "total_allocated_memory": allocated,
            "total_idle_memory": reserved - allocated,
            "max_reserved_memory": max_memory_reserved(),
            "max_allocated_memory": max_memory_allocated()}


def memory_summary() -> str:
    """`memory_stats` as a table."""
    rows = [f"| {name.replace('_', ' '):24} | {count:>16} B |"
            for name, count in memory_stats().items()]
    line = "|" + "-" * (len(rows[0]) - 2) + "|"
    return "\n".join([line, *rows, line])


def reset_peak_memory_stats() -> None:
    """Begin anew with the greatest numbers of bytes."""
    _asked("reset_peak_memory_stats")


def reset_max_memory_allocated() -> None:
    """As `reset_peak_memory_stats`."""
    reset_peak_memory_stats()


def reset_max_memory_reserved() -> None:
    """As `reset_peak_memory_stats`."""
    reset_peak_memory_stats()


def empty_cache() -> None:
    """Give memory of the GPU that is kept and not in use back to the system."""
    kinds.call(context.current_device(), "empty_cache")


_SIZE = re.compile(r"([1-9][0-9]*(\.)?[0-9]*|0\.[0-9]*)GB", re.ASCII)


def set_memory(init_size: str = "2GB", increase_size: str = "2GB", max_size: str = "1024GB",
               optimize_level: str = "O0", huge_page_reserve_size: str = "0GB") -> None:
    """Limit the memory that tensors may take on the GPU.

    Args:
        init_size, increase_size: how memory is got; the allocator here decides that itself.
        max_size: the limit, such as ``"8GB"``. On a CPU there is none.
        optimize_level: ``"O0"`` or ``"O1"``; accepted as MindSpore does.
        huge_page_reserve_size: accepted as MindSpore does.

    Raises:
        TypeError: if a size is no str.
        ValueError: if a size isn't written so, or the level is another.
    """
    for name, size in (("init_size", init_size), ("increase_size", increase_size),
                       ("max_size", max_size)):
        if not isinstance(size, str):
            raise TypeError(f"The parameter '{name}' must be {str}, but got {type(size)}")
        if not _SIZE.fullmatch(size):
            raise ValueError(f"For 'set_memory', '{name}' must be a number above 0 and 'GB', such "
                             f"as '8GB', but got {size!r}.")
    if optimize_level not in ("O0", "O1"):
        raise ValueError(f"The optimize_level must be one of ['O0', 'O1'], "
                         f"but got {optimize_level}.")
    properties = _asked("get_device_properties", None)
    if properties is not None:
        share = min(1.0, float(max_size[:-2]) * 2 ** 30 / properties.total_memory)
        device = context.current_device()
        kinds.call(device, "set_per_process_memory_fraction", share, device)


# --- threads

def dispatch_threads_num(threads_num: int) -> None:
    """Choose how many threads compute an operator on the CPU.

    Args:
        threads_num: how many.

    Raises:
        TypeError: if it is no int.
        ValueError: if it is below 1.
    """
    _check_count("dispatch_threads_num", "threads_num", threads_num)
    torch.set_num_threads(threads_num)


def _check_count(function: str, argument: str, value: Any) -> None:
    of_type(value, int, argument, function)
    if value < 1:
        raise ValueError(f"For '{function}', '{argument}' must be at least 1, but got {value}.")


def set_cpu_affinity(enable_affinity: bool, affinity_cpu_list: Any = None,
                     module_to_cpu_dict: Any = None, bind_file: Any = None) -> None:
    """Choose the CPU cores that this process runs on.

    Args:
        enable_affinity: whether to.
        affinity_cpu_list: ranges of cores, as ``["0-3", "8-11"]``; None: those it has.
        module_to_cpu_dict, bind_file: accepted as MindSpore does.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a range isn't written so, or names a core that isn't there.
    """
    if not isinstance(enable_affinity, bool):
        raise TypeError(f"The parameter 'enable_affinity' must be {bool}, "
                        f"but got {type(enable_affinity)}")
    if not enable_affinity or not affinity_cpu_list:
        return
    if not isinstance(affinity_cpu_list, (list, tuple)):
        raise TypeError(f"For 'set_cpu_affinity', 'affinity_cpu_list' must be a list of str, "
                        f"but got {affinity_cpu_list!r}.")
    cores: set[int] = set()
    for part in affinity_cpu_list:
        found = re.fullmatch(r"(\d+)-(\d+)", part) if isinstance(part, str) else None
        if found is None:
            raise ValueError(f"For 'set_cpu_affinity', a range of cores must be written as '0-3', "
                             f"but got {part!r}.")
        cores.update(range(int(found[1]), int(found[2]) + 1))
    if not hasattr(os, "sched_setaffinity"):
        return
    missing = cores - set(range(os.cpu_count() or 1))
    if missing:
        raise ValueError(f"For 'set_cpu_affinity', this machine has no core {min(missing)}.")
    os.sched_setaffinity(0, cores)


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """Check the numbers by which MindSpore launches kernels in groups; here they have no effect.

    Raises:
        TypeError: if one is no int.
        ValueError: if one is below 1.
    """
    _check_count("set_kernel_launch_group", "thread_num", thread_num)
    _check_count("set_kernel_launch_group", "kernel_group_num", kernel_group_num)


# --- streams

class Stream:
    """A queue of work on the GPU; on a CPU each is empty whenever one looks.

    Args:
        priority: below 0 for a queue that goes first.
        stream: PyTorch's stream to stand for, instead of a new one.
    """

    def __init__(self, priority: int = 0, *, stream: Any = None):
        of_type(priority, int, "priority", "Stream")
        device = _streamed()
        self.raw: Any = stream
        if stream is None and device is not None:
            self.raw = kinds.module_of(device.type).Stream(device, priority=priority)
        self.device_name: str = context.get_context("device_target")
        self.device_id: int = context.get_context("device_id")

    @property
    def id(self) -> int:
        """The stream's number; 0 on a CPU."""
        return 0 if self.raw is None else self.raw.stream_id

    stream_id = id

    def query(self) -> bool:
        """Whether all its work is done."""
        return True if self.raw is None else self.raw.query()

    def synchronize(self) -> None:
        """Wait until all its work is done."""
        if self.raw is not None:
            self.raw.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Put an event, or a new one, behind the work it has; returns the event."""
        if event is None:
            event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let its further work wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let its further work wait for the work that another stream has."""
        if self.raw is not None:
            self.raw.wait_stream(stream.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return (f"Stream(device_name={self.device_name}, device_id:{self.device_id}, "
                f"stream id:{self.id})")


class Event:
    """A mark in a stream.

    Args:
        enable_timing: whether the time at it can be measured.
        blocking: whether the host sleeps while it waits for it, instead of polling.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False):
        self.enable_timing, self.blocking = enable_timing, blocking
        self.raw: Any = None
        self._time = 0.0
        if (device := _streamed()) is not None:
            self.raw = kinds.module_of(device.type).Event(enable_timing=enable_timing,
                                                          blocking=blocking)

    def record(self, stream: Stream | None = None) -> None:
        """Put it behind the work of a stream, the current one unless given."""
        if self.raw is not None:
            self.raw.record((stream or current_stream()).raw)
        else:
            self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream's further work wait for it."""
        if self.raw is not None:
            self.raw.wait((stream or current_stream()).raw)

    def synchronize(self) -> None:
        """Wait until the work before it is done."""
        if self.raw is not None:
            self.raw.synchronize()

    def query(self) -> bool:
        """Whether the work before it is done."""
        return True if self.raw is None else self.raw.query()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this event to another.

        Raises:
            RuntimeError: if one was made without `enable_timing`.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise RuntimeError("For 'elapsed_time', both events must be made with "
                               "enable_timing=True.")
        if self.raw is not None:
            return self.raw.elapsed_time(end_event.raw)
        return 1000 * (end_event._time - self._time)

    def __repr__(self) -> str:
        return f"Event(enable_timing={self.enable_timing}, blocking={self.blocking})"


def current_stream() -> Stream:
    """The stream that operators are put into."""
    return Stream(stream=_asked("current_stream", None))


def default_stream() -> Stream:
    """The stream that operators are put into at first."""
    return Stream(stream=_asked("default_stream", None))


def communication_stream() -> Stream:
    """The stream that exchanges between processes wait in: the current one."""
    return current_stream()


def set_cur_stream(stream: Stream) -> None:
    """Put operators into another stream from now on.

    Raises:
        TypeError: if it is no Stream.
    """
    of_type(stream, Stream, "stream", "set_cur_stream")
    if stream.raw is not None:
        kinds.call(context.current_device(), "set_stream", stream.raw)


@contextmanager
def StreamCtx(ctx_stream: Stream | None) -> Iterator[None]:  # noqa: N802  (MindSpore's name)
    """A block in which operators are put into another stream; None for the current one.

    Examples:
        >>> from lamella import runtime
        >>> with runtime.StreamCtx(runtime.Stream()):
        ...     runtime.current_stream().query()
        True
    """
    if ctx_stream is None:
        yield
        return
    before = current_stream()
    set_cur_stream(ctx_stream)
    try:
        yield
    finally:
        set_cur_stream(before)
