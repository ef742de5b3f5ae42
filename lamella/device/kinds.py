"""The kinds of accelerators, and PyTorch's module for each. All other rooms ask here.

PyTorch has a module for each kind: ``torch.cuda``, ``torch.xpu``, ``torch.mps``, ``torch.npu``
(with ``torch_npu``), and that of a PrivateUse1 backend under its own name. Their functions have the
same names, so that what Lamella does with one kind it does with all. No other file names a kind in
order to choose what it does.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

TARGETS = ("CPU", "GPU", "Ascend")  # MindSpore's names
_GPUS = ("cuda", "xpu", "mps")  # what "GPU" means: the first that is there
_LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "DEVICE_ID")  # of launchers
CPU = torch.device("cpu")


def module_of(kind: str) -> Any:
    """PyTorch's module for a kind of device, such as ``torch.cuda``; None if there is none."""
    return getattr(torch, kind, None) if kind in (*_GPUS, "npu", own_kind()) else None


def own_kind() -> str:
    """The name of the PrivateUse1 backend: ``"privateuseone"`` if none has given itself another."""
    return torch._C._get_privateuse1_backend_name()


def count(kind: str) -> int:
    """How many devices of a kind there are; makes no context on them."""
    if kind == "cpu":
        return 1
    module = module_of(kind)
    if module is None or not hasattr(module, "device_count"):
        return 0
    with contextlib.suppress(RuntimeError):  # a driver that doesn't answer
        return module.device_count() if module.is_available() else 0
    return 0


def first_kind() -> str | None:
    """The kind of accelerator that this machine has; None if it has none."""
    return next((kind for kind in ("npu", *_GPUS, own_kind()) if count(kind)), None)


def kind_of(target: str) -> str | None:
    """The kind of device that a name means; None for a name that means none.

    Args:
        target: ``"CPU"``, ``"GPU"``, ``"Ascend"`` (an NPU where ``torch_npu`` is installed, else as
            ``"GPU"``, else the CPU), or PyTorch's name of a kind: ``"xpu"``, or that of a
            PrivateUse1 backend.
    """
    if target == "CPU":
        return "cpu"
    gpu = next((kind for kind in _GPUS if count(kind)), "cuda")
    if target == "GPU":
        return gpu
    if target == "Ascend":
        return next((kind for kind in ("npu", gpu) if count(kind)), "cpu")
    return target if target not in _GPUS[:1] and count(target) and target != "cpu" else None


def target_of(kind: str) -> str:
    """MindSpore's name of a kind of device; its own name where MindSpore has none."""
    if kind == "npu":
        return "Ascend"
    return "CPU" if kind == "cpu" else "GPU" if kind in _GPUS else kind


def here(number: int) -> int:
    """The number of this process's device among `number`, where the program names none.

    If a launcher has started several processes, it is the number of this one on the machine, so
    that each uses a device of its own.
    """
    for name in _LOCAL_RANK:
        text = os.environ.get(name, "").strip()
        if text.isdigit():
            return int(text) % max(number, 1)
    return 0


def use(device: torch.device) -> None:
    """Make a device the current one of this thread, for whatever takes the current one."""
    call(device, "set_device", device)


def synchronize(device: torch.device) -> None:
    """Wait until a device has done everything it was given."""
    if device.type == "mps":
        torch.mps.synchronize()
    else:
        call(device, "synchronize", device)


def call(device: torch.device, name: str, *args: Any, default: Any = None) -> Any:
    """Call a function of the device's module; `default` for a CPU, or where the module has none."""
    function: Callable[..., Any] | None = getattr(module_of(device.type), name, None)
    return default if function is None else function(*args)


def in_use(kind: str) -> bool:
    """Whether a kind of device has been used in this process."""
    if kind == "cpu":
        return True
    module = module_of(kind)
    return bool(count(kind)) and getattr(module, "is_initialized", lambda: True)()


def default_generator(device: torch.device) -> torch.Generator:
    """PyTorch's default generator of a device."""
    if device.type == "cpu":
        return torch.default_generator
    if device.type == "mps":
        return torch.mps._get_default_mps_generator()
    call(device, "init")
    return module_of(device.type).default_generators[device.index or 0]


def default_generators(kind: str) -> list[torch.Generator]:
    """PyTorch's default generators of all devices of a kind."""
    return [default_generator(torch.device(kind, i)) for i in range(count(kind))]


def seed_all(seed: int) -> None:
    """Seed PyTorch's default generators, those of devices that are used later included.

    ``torch.manual_seed`` notes for each kind of accelerator from where it was called, which takes
    a hundred times as long as to seed a CPU; so not where PyTorch was built for none.
    """
    if torch.accelerator.current_accelerator() is None and module_of(own_kind()) is None:
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def pins(device: torch.device) -> bool:
    """Whether copies to a device are faster, and go on by themselves, from pinned memory."""
    return device.type not in ("cpu", "mps")


def has_streams(device: torch.device) -> bool:
    """Whether a device has several queues of work."""
    return hasattr(module_of(device.type), "Stream") and device.type != "cpu"


def can_pin() -> bool:
    """Whether there is an accelerator that memory of the host can be pinned for."""
    return any(count(kind) for kind in ("cuda", "npu", "xpu", own_kind()))


def name_of(device: torch.device) -> str:
    """What a device calls itself, such as ``"NVIDIA H100"``."""
    return str(call(device, "get_device_name", device, default=str(device)))


def timers(device: torch.device) -> tuple[Any, Any]:
    """Two events of a device that measure the time between them."""
    event = module_of(device.type).Event
    return event(enable_timing=True), event(enable_timing=True)


class Graphs(NamedTuple):
    """A device's captured graphs: their class, the block that captures, and what makes pools."""

    make: Any
    capture: Any
    pool: Any


def abandon(device: torch.device, pool: Any) -> None:
    """Have a device's allocator leave a pool that a failed capture was taking memory from."""
    leave = getattr(torch._C, f"_{device.type}_endAllocateToPool", None)
    if leave is not None:
        with contextlib.suppress(RuntimeError):  # it has left the pool already
            leave(device.index or 0, pool)


def graphs_of(device: torch.device) -> Graphs | None:
    """The captured graphs of a device, such as ``torch.cuda.CUDAGraph``; None if it has none."""
    module = module_of(device.type)
    made = getattr(module, f"{device.type.upper()}Graph", None)
    capture, pool = (getattr(module, name, None) for name in ("graph", "graph_pool_handle"))
    return None if None in (made, capture, pool) else Graphs(made, capture, pool)
