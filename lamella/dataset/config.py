"""Settings of data pipelines: the seed, workers, what happens to rows that fail."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from ..core.reading import read_json, reading
from ..core.require import of_type
from ..core.settings import Settings
from ..tensors.random import get_seed as _global_seed
from ..tensors.random import when_seeded
from .arguments import checked_call
from .checks import LARGEST, boolean, integer

_DEFAULT_SEED = 5489  # std::mt19937's own; while it stands, orders are not reproducible
_DEFAULTS: dict[str, Any] = {
    "seed": None, "prefetch_size": 16, "num_parallel_workers": min(8, os.cpu_count() or 1),
    "numa_enable": False, "monitor_sampling_interval": 1000, "auto_num_workers": False,
    "callback_timeout": 60, "enable_autotune": False, "autotune_interval": 0,
    "autotune_prefix": None, "enable_shared_mem": True, "sending_batches": 0, "auto_offload": False,
    "enable_watchdog": True, "multiprocessing_timeout_interval": 300, "dynamic_shape": False,
    "fast_recovery": True, "debug_mode": False, "video_backend": "CPU",
    "multiprocessing_start_method": "fork",
    "iterator_mode": {"do_copy": False, "parallel_convert": False}, "debug_hooks": []}


class ErrorSamplesMode(IntEnum):
    """What happens when a row can't be made: raise the error, give another row, leave it out."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


_VALUES = Settings("dataset.config", {**_DEFAULTS, "error_samples_mode": ErrorSamplesMode.RETURN})


@checked_call("config.set_seed")
def set_seed(seed: int) -> None:
    """Set the seed of shuffles, samplers and random operations, and of `random` and `np.random`.

    Raises:
        TypeError: if `seed` is not an int.
        ValueError: if it is negative or 2**32 or more.
    """
    _VALUES["seed"] = integer("set_seed", "seed", seed, 0, 2**32 - 1)
    random.seed(seed)
    np.random.seed(seed)


def get_seed() -> int:
    """The seed set last, here or by `lamella.set_seed`; else 5489, which stands for none."""
    seed = _VALUES["seed"]
    if seed is None:
        seed = _global_seed()
    return _DEFAULT_SEED if seed is None else seed


def _forget_seed() -> None:
    _VALUES["seed"] = None


when_seeded(_forget_seed)  # of two seeds the one set last counts


def pipeline_seed(shared: bool = False) -> int:
    """The seed a new iterator starts from: one from the system where none was set.

    Args:
        shared: whether all processes need the same one, as for shards.
    """
    seed = get_seed()
    if seed == _DEFAULT_SEED and _VALUES["debug_mode"]:  # so that runs can be repeated
        set_seed(1)
        return 1
    if seed == _DEFAULT_SEED and not shared:
        return int.from_bytes(os.urandom(4), "little")
    return seed


@checked_call("config.set_prefetch_size")
def set_prefetch_size(size: int) -> None:
    """Set how many rows each thread of an operation makes ahead, as a bound; at least 8."""
    _VALUES["prefetch_size"] = integer("set_prefetch_size", "size", size, 1, LARGEST)


@checked_call("config.set_num_parallel_workers")
def set_num_parallel_workers(num: int) -> None:
    """Set how many workers an operation has that doesn't say.

    Raises:
        ValueError: if there are fewer CPUs.
    """
    _VALUES["num_parallel_workers"] = checked_workers("set_num_parallel_workers", num, "num")


def checked_workers(name: str, workers: Any, argument: str = "num_parallel_workers") -> int:
    """`workers`, or the default for None; an error if there are fewer CPUs."""
    if workers is None:
        return get_num_parallel_workers()
    cpus = os.cpu_count() or 1
    if not isinstance(workers, bool) and isinstance(workers, int) and workers > cpus:
        raise ValueError(f"{argument} exceeds the boundary between 1 and {cpus}! For '{name}', "
                         f"'{argument}' must be at most the number of CPUs, {cpus}, but got "
                         f"{workers}.")
    if isinstance(workers, int) and workers < 1:
        raise ValueError(f"{argument} exceeds the boundary between 1 and {cpus}! For '{name}', "
                         f"'{argument}' must be in [1, {cpus}], but got {workers}.")
    return integer(name, argument, workers, 1, LARGEST)


@checked_call("config.set_numa_enable")
def set_numa_enable(numa_enable: bool) -> None:
    """Kept, and of no effect: processes are placed by the system."""
    _VALUES["numa_enable"] = boolean("set_numa_enable", "numa_enable", numa_enable)


@checked_call("config.set_monitor_sampling_interval")
def set_monitor_sampling_interval(interval: int) -> None:
    """Kept, and of no effect."""
    _VALUES["monitor_sampling_interval"] = integer("set_monitor_sampling_interval", "interval",
                                                   interval, 1, LARGEST)


@checked_call("config.set_auto_num_workers")
def set_auto_num_workers(enable: bool) -> None:
    """Kept, and of no effect."""
    _VALUES["auto_num_workers"] = boolean("set_auto_num_workers", "enable", enable)


@checked_call("config.set_callback_timeout")
def set_callback_timeout(timeout: int) -> None:
    """Set how many seconds a callback of a pipeline may wait."""
    _VALUES["callback_timeout"] = integer("set_callback_timeout", "timeout", timeout, 1, LARGEST)


def load(file: str) -> None:
    """Read settings from a JSON file, as ``str(config)`` of MindSpore writes them."""
    found = read_json("config.load", file)
    names = {"rowsPerBuffer": None, "numParallelWorkers": "num_parallel_workers",
             "workerConnectorSize": None, "opConnectorSize": "prefetch_size", "seed": "seed",
             "monitorSamplingInterval": "monitor_sampling_interval",
             "numaEnable": "numa_enable"}
    with reading("config.load", file):
        given = {names.get(name, name): value for name, value in found.items()}
        given = {setting: value for setting, value in given.items() if setting in _DEFAULTS}
        for setting, value in given.items():
            kind = {"seed": int, "autotune_prefix": str}.get(setting, type(_DEFAULTS[setting]))
            if type(value) is not kind or kind is int and value < 0:
                raise ValueError(f"{setting} can't be {value!r}")
    for setting, value in given.items():
        _VALUES[setting] = value


@checked_call("config.set_enable_autotune")
def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """Set whether pipelines are tuned while they run: their threads, and the rows made ahead.

    Args:
        enable: whether to.
        filepath_prefix: the beginning of the path of a JSON file with what was found, which is
            written when an iterator ends; ``_RANK.json`` is added. `deserialize` reads it.

    Examples:
        >>> import os, tempfile
        >>> import lamella.dataset as ds
        >>> path = os.path.join(tempfile.mkdtemp(), "tuned")
        >>> ds.config.set_enable_autotune(True, path)
        >>> rows = list(ds.NumpySlicesDataset([1, 2, 3]))
        >>> os.listdir(os.path.dirname(path))
        ['tuned_0.json']
        >>> ds.config.set_enable_autotune(False)
    """
    if enable is True:
        refuse_independent("Dataset AutoTune")
    if filepath_prefix is not None:
        if not isinstance(filepath_prefix, str):
            raise TypeError(f"json_filepath must be a str value but was: {filepath_prefix}. For "
                            f"'set_enable_autotune', 'filepath_prefix' must be a str.")
        if enable:
            _check_prefix(filepath_prefix)
    _VALUES["enable_autotune"] = boolean("set_enable_autotune", "enable", enable)
    _VALUES["autotune_prefix"] = filepath_prefix if enable else None


def autotune_file() -> str | None:
    """The path of the file that autotuning writes; None: there is none."""
    prefix = _VALUES["autotune_prefix"]
    return None if prefix is None else f"{prefix}_{os.environ.get('RANK_ID', '0')}.json"


def _check_prefix(path: str) -> None:
    """Check the beginning of the path of a file to write.

    Raises:
        RuntimeError: if it is empty, a folder, or in a folder that isn't there or is closed.
    """
    parent = os.path.dirname(os.path.abspath(path))
    why = ("The value of json_filepath cannot be the empty string." if not path else
           f"{path} is a directory." if os.path.isdir(path) else
           f"Directory {parent} does not exist." if not os.path.isdir(parent) else
           f"No access to directory {parent}." if not os.access(parent, os.W_OK) else "")
    if why:
        raise RuntimeError(f"{why} For 'set_enable_autotune', 'filepath_prefix' must be the "
                           f"beginning of a file's path.")


@checked_call("config.set_autotune_interval")
def set_autotune_interval(interval: int) -> None:
    """Set after how many rows settings are changed; 0: after each epoch."""
    _VALUES["autotune_interval"] = integer("set_autotune_interval", "interval", interval, 0,
                                           LARGEST)


@checked_call("config.set_enable_shared_mem")
def set_enable_shared_mem(enable: bool) -> None:
    """Set whether arrays from processes come through shared memory; else they are copied."""
    _VALUES["enable_shared_mem"] = boolean("set_enable_shared_mem", "enable", enable)


@checked_call("config.set_sending_batches")
def set_sending_batches(batch_num: int) -> None:
    """Kept, and of no effect: it bounds what is sent to an Ascend device."""
    _VALUES["sending_batches"] = integer("set_sending_batches", "batch_num", batch_num, 0, LARGEST)


def independent() -> bool:
    """Whether the environment variable MS_INDEPENDENT_DATASET asks for a process of its own."""
    return os.environ.get("MS_INDEPENDENT_DATASET", "").strip() in ("True", "true")


def refuse_independent(feature: str) -> None:
    """Refuse what can't be done where the pipeline is a process of its own.

    Raises:
        RuntimeError: if MS_INDEPENDENT_DATASET is set.
    """
    if independent():
        raise RuntimeError(f"{feature} is not supported in Dataset Independent mode.")


@checked_call("config.set_auto_offload")
def set_auto_offload(offload: bool) -> None:
    """Set whether each `map` that doesn't say runs its last operations on batches, in iterators."""
    refuse_independent("Dataset Offload")
    _VALUES["auto_offload"] = boolean("set_auto_offload", "offload", offload)


@checked_call("config.set_enable_watchdog")
def set_enable_watchdog(enable: bool) -> None:
    """Kept, and of no effect: a worker that dies is always noticed."""
    _VALUES["enable_watchdog"] = boolean("set_enable_watchdog", "enable", enable)


@checked_call("config.set_multiprocessing_timeout_interval")
def set_multiprocessing_timeout_interval(interval: int) -> None:
    """Set how many seconds the pipeline waits for a process before it says so."""
    _VALUES["multiprocessing_timeout_interval"] = integer(
        "set_multiprocessing_timeout_interval", "interval", interval, 1, LARGEST)


@checked_call("config.set_dynamic_shape")
def set_dynamic_shape(is_dynamic: bool) -> None:
    """Kept, and of no effect: rows may always differ in shape."""
    _VALUES["dynamic_shape"] = boolean("set_dynamic_shape", "is_dynamic", is_dynamic)


@checked_call("config.set_fast_recovery")
def set_fast_recovery(fast_recovery: bool) -> None:
    """Set whether an iterator that starts in the middle leaves out what lies before unread."""
    _VALUES["fast_recovery"] = boolean("set_fast_recovery", "fast_recovery", fast_recovery)


@checked_call("config.set_debug_mode")
def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list | None = None) -> None:
    """Run pipelines in this process and thread, row by row, so that a debugger can step in.

    Where no seed was set, it is 1 from the first pipeline on that runs so.

    Args:
        debug_mode_flag: whether to.
        debug_hook_list: functions of the row, called after each operation of a `map`.
    """
    _VALUES["debug_mode"] = boolean("set_debug_mode", "debug_mode_flag", debug_mode_flag)
    hooks = [] if debug_hook_list is None else debug_hook_list
    of_type(hooks, list, "debug_hook_list", "set_debug_mode")
    for hook in hooks:
        if not callable(hook):
            raise TypeError(f"For 'set_debug_mode', each of 'debug_hook_list' must be a function, "
                            f"but got {hook!r}.")
    _VALUES["debug_hooks"] = hooks


def debug_hooks() -> list[Any]:
    """The functions that `set_debug_mode` was given."""
    return _VALUES["debug_hooks"] if _VALUES["debug_mode"] else []


@checked_call("config.set_error_samples_mode")
def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """Set what a `map` does with a row that an operation fails on.

    Raises:
        TypeError: if it isn't an `ErrorSamplesMode`.
    """
    of_type(error_samples_mode, ErrorSamplesMode, "error_samples_mode", "set_error_samples_mode")
    _VALUES["error_samples_mode"] = error_samples_mode


@checked_call("config.set_iterator_mode")
def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """Kept, and of no effect: Tensors own their memory."""
    _VALUES["iterator_mode"] = {"do_copy": boolean("set_iterator_mode", "do_copy", do_copy),
                                "parallel_convert": boolean("set_iterator_mode", "parallel_convert",
                                                            parallel_convert)}


def get_iterator_mode() -> dict[str, bool]:
    """What `set_iterator_mode` set."""
    return dict(_VALUES["iterator_mode"])


@checked_call("config.set_multiprocessing_start_method")
def set_multiprocessing_start_method(start_method: str = "fork") -> None:
    """Set how worker processes start: ``"fork"`` or ``"spawn"``."""
    if start_method not in ("fork", "spawn"):
        raise ValueError(f"For 'set_multiprocessing_start_method', 'start_method' must be 'fork' "
                         f"or 'spawn', but got {start_method!r}.")
    _VALUES["multiprocessing_start_method"] = start_method


@checked_call("config.set_video_backend")
def set_video_backend(backend: str) -> None:
    """Kept, and of no effect: ``"CPU"`` is what there is."""
    if backend not in ("CPU", "Ascend"):
        raise ValueError(f"For 'set_video_backend', 'backend' must be 'CPU' or 'Ascend', but got "
                         f"{backend!r}.")
    _VALUES["video_backend"] = backend


def _getter(setting: str, doc: str = "") -> Callable[[], Any]:
    """The function that tells a setting."""

    def get() -> Any:
        return _VALUES[setting]

    get.__name__ = get.__qualname__ = f"get_{setting}"
    get.__doc__ = doc or f"What `set_{setting}` set."
    return get


get_prefetch_size: Callable[[], int] = _getter(
    "prefetch_size", "How many rows are made ahead, as a bound.")
get_num_parallel_workers: Callable[[], int] = _getter(
    "num_parallel_workers", "How many workers an operation has that doesn't say.")
get_numa_enable: Callable[[], bool] = _getter("numa_enable")
get_monitor_sampling_interval: Callable[[], int] = _getter("monitor_sampling_interval")
get_auto_num_workers: Callable[[], bool] = _getter("auto_num_workers")
get_callback_timeout: Callable[[], int] = _getter(
    "callback_timeout", "How many seconds a callback of a pipeline may wait.")
get_enable_autotune: Callable[[], bool] = _getter("enable_autotune")
get_autotune_interval: Callable[[], int] = _getter("autotune_interval")
get_enable_shared_mem: Callable[[], bool] = _getter(
    "enable_shared_mem", "Whether arrays from processes come through shared memory.")
get_auto_offload: Callable[[], bool] = _getter("auto_offload")
get_enable_watchdog: Callable[[], bool] = _getter("enable_watchdog")
get_multiprocessing_timeout_interval: Callable[[], int] = _getter(
    "multiprocessing_timeout_interval",
    "How many seconds the pipeline waits for a process before it says so.")
get_dynamic_shape: Callable[[], bool] = _getter("dynamic_shape")
get_fast_recovery: Callable[[], bool] = _getter("fast_recovery")
get_debug_mode: Callable[[], bool] = _getter(
    "debug_mode", "Whether pipelines run in this thread, row by row.")
get_error_samples_mode: Callable[[], ErrorSamplesMode] = _getter(
    "error_samples_mode", "What a `map` does with a row that an operation fails on.")
get_multiprocessing_start_method: Callable[[], str] = _getter(
    "multiprocessing_start_method", "How worker processes start.")
get_video_backend: Callable[[], str] = _getter("video_backend")
