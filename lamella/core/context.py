"""The process's settings: execution mode, device, and the many options that only Ascend reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from ..device import kinds
from .require import of_type, positive_int
from .settings import Settings

GRAPH_MODE = 0
PYNATIVE_MODE = 1
STRICT, COMPATIBLE, LAX = 0, 1, 2

_OPTIONS: dict[str, Any] = {
    "mode": PYNATIVE_MODE,
    "device_target": "CPU",
    "device_id": 0,
    "max_call_depth": 1000,
    "deterministic": "OFF",
    "jit_config": {},
    "jit_level": "",
    "jit_syntax_level": LAX,
    "save_graphs": 0,
}

# Options that steer Ascend's compiler or the original's own graph machinery, with the values that
# MindSpore 2.10 has for them at the start. They are kept, so that `get_context` answers what was
# set, and have no effect here.
_INERT: dict[str, Any] = {
    "save_graphs_path": ".", "variable_memory_max_size": "0", "enable_profiling": False,
    "profiling_options": "training_trace", "enable_graph_kernel": False, "graph_kernel_flags": "",
    "reserve_class_name_in_scope": True, "check_bprop": False, "max_device_memory": 1024.0,
    "mempool_block_size": 1.0, "print_file_path": "", "env_config_path": "",
    "runtime_num_threads": min(30, os.cpu_count() or 1), "enable_compile_cache": None,
    "compile_cache_path": "", "disable_format_transform": False, "support_binary": False,
    "op_timeout": 900, "memory_optimize_level": 0, "ascend_config": {}, "gpu_config": {},
    "exec_order": "bfs", "enable_reduce_precision": True, "pynative_synchronize": False,
    "aoe_tune_mode": "", "aoe_config": {}, "debug_level": 0, "precision_mode": "",
    "inter_op_parallel_num": 0, "enable_ge": False, "topo_order": "", "ge_options": "",
    "host_scheduling_max_threshold": "",
    # of earlier versions
    **dict.fromkeys(
        "enable_dump save_dump_path enable_auto_mixed_precision auto_tune_mode grad_for_scalar "
        "save_compile_cache memory_offload precompile_only jit_enable_inplace_ops enable_sparse "
        "enable_task_sink enable_mem_reuse enable_loop_sink enable_gpu_multi_stream".split()),
}

_settings = Settings("set_context", {**_OPTIONS, **_INERT})

# The types of options: those of the defaults, but for these
_TYPES: dict[str, Any] = {
    **{name: type(default) for name, default in _settings.defaults.items() if default is not None},
    **dict.fromkeys(("max_device_memory", "mempool_block_size", "memory_optimize_level"), str),
    "save_graphs": (bool, int), "enable_compile_cache": bool, "jit_enable_inplace_ops": bool,
}
# and the values that some of them can have, or their least one
_VALUES = {"deterministic": ("ON", "OFF"), "exec_order": ("bfs", "dfs"),
           "memory_optimize_level": ("O0", "O1"), "aoe_tune_mode": ("online", "offline"),
           "debug_level": (0, 1)}
_LEAST = {"max_call_depth": 1, "runtime_num_threads": 0, "inter_op_parallel_num": 0,
          "op_timeout": 0}
K_CONTEXT = None  # MindSpore's object behind these functions, which programs import at the start

# options that the program has set itself
chosen: set[str] = set()

# called with the new mode whenever one is set
mode_listeners: list[Callable[[int], None]] = []

_device = torch.device("cpu")


def current_device() -> torch.device:
    """The device that new tensors are created on."""
    return _device


_cpu_instead = False


def cpu_instead() -> bool:
    """Whether programs run on the CPU where the device that they ask for isn't there."""
    return _cpu_instead


def use_cpu_instead() -> None:
    """Let programs that ask for a device that isn't there run on the CPU: set by ``lamella run``.

    Each kind of device is named once, in a line on standard error.
    """
    global _cpu_instead
    _cpu_instead = True


_said: set[str] = set()  # the kinds of devices that a line has named


def say_cpu_instead(device_target: str, index: int, count: int) -> None:
    """Say that the CPU takes the place of a device, once for each kind."""
    if device_target not in _said:
        _said.add(device_target)
        print(f"lamella: the program asked for {device_target} {index}, and this machine shows "
              f"{count} {_plural(device_target)}; it runs on the CPU.", file=sys.stderr)


def _plural(device_target: str) -> str:
    return "GPUs" if device_target in ("GPU", "Ascend") else f"devices {device_target!r}"


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Choose the device that tensors, parameters and random numbers are created on.

    Args:
        device_target: ``"CPU"``, ``"GPU"``, ``"Ascend"``, or PyTorch's name of another accelerator,
            such as that of a PrivateUse1 backend. ``"Ascend"`` is one where ``torch_npu`` is
            installed; else it means the GPU where there is one, else the CPU, so that a script
            written for Ascend runs.
        device_id: which of them; default: the place of this process on this machine where a
            launcher started it, else 0.

    Raises:
        TypeError: if the target isn't a str, or the number isn't an int.
        ValueError: if the target is unknown, or the device is not there and the program wasn't
            started with ``lamella run``, which lets it run on the CPU.

    Examples:
        >>> import lamella as ms
        >>> ms.set_device("CPU")
        >>> ms.get_context("device_target")
        'CPU'
    """
    global _device
    for name, value in (("device_target", device_target), ("device_id", device_id)):
        _check_option(name, value, "set_device")
    kind = kinds.kind_of(device_target) if isinstance(device_target, str) else None
    if kind is None:
        raise ValueError(f"For 'set_device', 'device_target' must be 'CPU', 'GPU' or 'Ascend', "
                         f"but got {device_target!r}.")
    if device_id is not None and (not isinstance(device_id, int) or isinstance(device_id, bool)
                                  or device_id < 0):
        raise ValueError(f"For 'set_device', 'device_id' must be an int of 0 or more, "
                         f"but got {device_id!r}.")
    count = 0 if kind == "cpu" else kinds.count(kind)
    index = kinds.here(count) if device_id is None and count else device_id or 0
    there = index < count
    if _cpu_instead and device_target != "CPU" and not there:
        say_cpu_instead(device_target, index, count)
        if device_target == "GPU":  # what asks for the target may use the GPU's functions next
            device_target = "CPU"
    elif kind != "cpu" and not there:
        raise ValueError(f"For 'set_device', {device_target} {index} was asked for, but this "
                         f"machine shows {count} {_plural(device_target)}. Use set_device('CPU').")
    device = torch.device(kind, index) if there else kinds.CPU
    kinds.use(device)
    _device = device
    _settings["device_target"] = device_target
    _settings["device_id"] = index


def set_context(**kwargs: Any) -> None:
    """Set options of this process.

    Args:
        mode: in ``GRAPH_MODE`` (0) a Cell or a gradient function called at top level runs compiled,
            as with `jit`; in ``PYNATIVE_MODE`` (1) everything runs eagerly. May change at any time.
        jit_level, jit_config: how `GRAPH_MODE` compiles, see `JitConfig`; the latter is a dict.
        jit_syntax_level: with ``STRICT``, `GRAPH_MODE` raises where a Cell can't be one graph; with
            ``LAX`` it runs eagerly then, with a warning.
        device_target, device_id: as `set_device`.
        deterministic: ``"ON"`` makes kernels give the same bits on every run.
        **kwargs: options that only the Ascend back end reads are kept and have no effect.

    Raises:
        TypeError: for a value of another type than the option's.
        ValueError: for an unknown option or a value outside its range.

    Examples:
        >>> import lamella as ms
        >>> ms.set_context(mode=ms.PYNATIVE_MODE, device_target="CPU")
        >>> ms.get_context("mode") == ms.PYNATIVE_MODE
        True
    """
    for key in kwargs:
        if key not in _settings:
            raise ValueError(f"For 'set_context', the option {key!r} is not known. Known options: "
                             f"{', '.join(sorted(_settings))}.")
    for key, value in kwargs.items():
        _check_option(key, value)
    if "mode" in kwargs and kwargs["mode"] not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(f"For 'set_context', 'mode' must be GRAPH_MODE (0) or PYNATIVE_MODE (1), "
                         f"but got {kwargs['mode']!r}.")
    _check_compilation(kwargs)
    chosen.update(kwargs)
    if "device_target" in kwargs or "device_id" in kwargs:
        set_device(kwargs.pop("device_target", _settings["device_target"]),
                   kwargs.pop("device_id", _settings["device_id"]))
    if "deterministic" in kwargs:
        switch: dict[Any, Any] = {"ON": True, "OFF": False}
        set_deterministic(switch.get(kwargs["deterministic"], kwargs["deterministic"]))
    _settings.update(kwargs)
    if "mode" in kwargs:
        for listener in mode_listeners:
            listener(kwargs["mode"])


def _check_option(name: str, value: Any, owner: str = "set_context") -> None:
    """Check the type of an option, and its value where a table says what it can be."""
    if value is None:
        return
    kind = _TYPES.get(name, object)
    if name != "jit_config" and not isinstance(value, kind):
        raise TypeError(f"The parameter '{name}' must be {kind}, but got {type(value)}. "
                        f"For '{owner}', it was {value!r}.")
    if value not in _VALUES.get(name, (value,)):
        raise ValueError(f"For 'set_context', the argument '{name}' must be one of "
                         f"{list(_VALUES[name])}, but got {value!r}.")
    if name in _LEAST and value < _LEAST[name]:
        raise ValueError(f"For 'set_context', the argument '{name}' must be {_LEAST[name]} or "
                         f"more, but got {value}.")


_LEVELS = ("", "O0", "O1", "O2")


def _check_compilation(given: dict[str, Any]) -> None:
    """Check the options of `set_context` that say how to compile."""
    config = given.get("jit_config", {})
    of_type(config, dict, "jit_config", "set_context")
    for level in (given.get("jit_level", ""), config.get("jit_level", "")):
        if level not in _LEVELS:
            raise ValueError(f"For 'set_context', 'jit_level' must be one of {_LEVELS}, "
                             f"but got {level!r}.")
    if given.get("jit_syntax_level", LAX) not in (STRICT, COMPATIBLE, LAX):
        raise ValueError(f"For 'set_context', 'jit_syntax_level' must be STRICT or LAX, "
                         f"but got {given['jit_syntax_level']!r}.")
    if given.get("save_graphs", 0) not in (0, 1, 2, 3):
        raise ValueError(f"For 'set_context', 'save_graphs' must be 0 to 3, "
                         f"but got {given['save_graphs']!r}.")


def get_context(attr_key: str) -> Any:
    """The value of an option of this process.

    Args:
        attr_key: the option's name, as `set_context` takes it.

    Raises:
        TypeError: if the name isn't a str.
        ValueError: if the option is not known.

    Examples:
        >>> import lamella as ms
        >>> ms.get_context("mode") == ms.PYNATIVE_MODE
        True
    """
    of_type(attr_key, str, "attr_key", "get_context")
    if attr_key in _settings:
        return _settings[attr_key]
    raise ValueError(f"For 'get_context', the option {attr_key!r} is not known. Known options: "
                     f"{', '.join(sorted(_settings))}.")


def set_deterministic(deterministic: bool) -> None:
    """Make kernels give the same bits on every run, at some cost in speed.

    Args:
        deterministic: whether to.
    """
    if not isinstance(deterministic, bool):
        raise TypeError(f"For 'set_deterministic', the argument must be a bool, "
                        f"but got {deterministic!r}.")
    if deterministic:  # read by cuBLAS when it makes its first handle
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # use_deterministic_algorithms would import PyTorch's compiler, which takes seconds
    torch._C._set_deterministic_algorithms(deterministic, warn_only=True)
    _settings["deterministic"] = "ON" if deterministic else "OFF"


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """Set the deepest nesting of calls while a function is traced; kept as ``max_call_depth``."""
    positive_int(recursion_limit, "recursion_limit", "set_recursion_limit")
    _settings["max_call_depth"] = recursion_limit


def _get_mode() -> int:
    """The execution mode."""
    return _settings["mode"]
