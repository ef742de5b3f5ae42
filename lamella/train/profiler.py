"""Where a program's time goes: PyTorch's profiler under MindSpore's names, with Chrome traces."""

from __future__ import annotations

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import enum
import itertools
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..core import checks as check
from ..core.log import warning
from ._utils import _make_directory
from .callback.base import Callback, RunContext

__all__ = ["AicoreMetrics", "DynamicProfilerMonitor", "EnvProfiler", "ExportType", "HostSystem",
           "Profiler", "ProfilerActivity", "ProfilerLevel", "_ExperimentalConfig", "mstx",
           "profile", "schedule", "tensorboard_trace_handler"]


class ProfilerLevel(enum.Enum):
    """How much is recorded; all levels record the same here."""

    LevelNone = "LevelNone"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class ProfilerActivity(enum.Enum):
    """What is recorded: the CPU, or the accelerator too."""

    CPU = "CPU"
    GPU = "GPU"
    NPU = "NPU"


class AicoreMetrics(enum.Enum):
    """Counters of Ascend's cores; accepted, there are none here."""

    AiCoreNone = "None"
    ArithmeticUtilization = "ArithmeticUtilization"
    PipeUtilization = "PipeUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"


class ExportType(enum.Enum):
    """Forms of Ascend's results; accepted, the trace is Chrome's JSON."""

    Text = "text"
    Db = "db"


class HostSystem(enum.Enum):
    """Counters of the host; accepted, there are none here."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"


class _ExperimentalConfig:
    """Options that only Ascend reads; kept as attributes."""

    def __init__(self, profiler_level: ProfilerLevel = ProfilerLevel.Level0,
                 aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone, l2_cache: bool = False,
                 mstx: bool = False, data_simplification: bool = True, export_type: Any = None,
                 mstx_domain_include: Any = None, mstx_domain_exclude: Any = None,
                 sys_io: bool = False, sys_interconnection: bool = False, host_sys: Any = None):
        given = dict(locals())
        self.__dict__.update({k: v for k, v in given.items() if k != "self"})


class schedule:
    """Which steps are recorded: after `skip_first`, again and again `wait`, `warmup`, `active`.

    Args:
        wait: steps that are left out.
        active: steps that are recorded.
        warmup: steps before them with the profiler running, whose events are dropped.
        repeat: how many times; 0 for always.
        skip_first: steps at the beginning that are left out.

    Examples:
        >>> import lamella as ms
        >>> when = ms.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
        >>> [when(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """

    def __init__(self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0,
                 skip_first: int = 0):
        given = {"wait": wait, "active": active, "warmup": warmup, "repeat": repeat,
                 "skip_first": skip_first}
        for name, value in given.items():
            check.check_non_negative_int(value, name, "schedule")
        check.check_positive_int(active, "active", "schedule")
        self.__dict__.update(given)
        self._given = given
        self._plan = torch.profiler.schedule(**given)

    def __call__(self, step: int) -> Any:
        return self._plan(step)

    def to_dict(self) -> dict[str, int]:
        """The arguments."""
        return dict(self._given)


def tensorboard_trace_handler(dir_name: str | None = None, worker_name: str | None = None,
                              analyse_flag: bool = True, async_mode: bool = False) -> Callable:
    """What to give `profile` as `on_trace_ready`: writes each trace to a file in a folder.

    Args:
        dir_name: the folder; default: ``./data``.
        worker_name: what the files' names begin with; default: host and process.
        analyse_flag, async_mode: accepted as MindSpore does.

    Returns:
        A function of the profiler; the files end in ``.pt.trace.json``, which TensorBoard's plugin
        and ``chrome://tracing`` open.
    """
    folder = _make_directory(dir_name or "./data", "dir_name")
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
    numbers = itertools.count()

    def write(profiler: Any) -> None:
        name = f"{worker}.{int(time.time() * 1000)}-{next(numbers)}.pt.trace.json"
        profiler.export_chrome_trace(os.path.join(folder, name))

    return write


class profile:
    """Records what runs in a block, or between `start` and `stop`.

    Args:
        activities: a list of `ProfilerActivity`; default: all there are.
        with_stack: whether to keep the program's lines.
        profile_memory: whether to record memory.
        start_profile: whether entering the block starts it.
        record_shapes: whether to keep the operators' shapes.
        schedule: a `schedule`; `step` is to be called after each step then.
        on_trace_ready: called with the profiler when a recording is complete.
        data_process, parallel_strategy, hbm_ddr, pcie, sync_enable, experimental_config: accepted
            as MindSpore does.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> with ms.profiler.profile() as recorded:
        ...     _ = ms.ops.ones((8, 8)) @ ms.ops.ones((8, 8))
        >>> recorded.export_chrome_trace(path)
        >>> "aten::mm" in recorded.table()
        True
    """

    def __init__(self, activities: Iterable[Any] | None = None, with_stack: bool = False,
                 profile_memory: bool = False, data_process: bool = False,
                 parallel_strategy: bool = False, start_profile: bool = True,
                 hbm_ddr: bool = False, pcie: bool = False, sync_enable: bool = True,
                 record_shapes: bool = False, schedule: Any = None,
                 on_trace_ready: Callable | None = None, experimental_config: Any = None):
        kinds = [torch.profiler.ProfilerActivity.CPU]
        wanted = set(ProfilerActivity) if activities is None else set(activities)
        if wanted - {ProfilerActivity.CPU}:
            kinds += [kind for kind in torch.profiler.supported_activities() if kind not in kinds]
        self._start = start_profile
        self._running = False
        self._inner = torch.profiler.profile(
            activities=kinds, with_stack=with_stack, profile_memory=profile_memory,
            record_shapes=record_shapes, schedule=schedule,
            on_trace_ready=None if on_trace_ready is None else lambda _: on_trace_ready(self))

    def __enter__(self) -> Any:
        if self._start:
            self.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to record."""
        if not self._running:
            with warnings.catch_warnings():
                # some versions of PyTorch say that each cycle's events are its own
                warnings.filterwarnings("ignore", ".*clears events at the end of each cycle")
                self._inner.start()
            self._running = True

    def stop(self) -> None:
        """End the recording."""
        if self._running:
            self._running = False
            self._inner.stop()

    def step(self) -> None:
        """A step is over; the schedule counts them."""
        with warnings.catch_warnings():  # that each recording stands alone is what is wanted
            warnings.filterwarnings("ignore", "Warning: Profiler clears events")
            self._inner.step()

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a text in the trace."""
        self._inner.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """Keep JSON, given as text, in the trace."""
        self._inner.add_metadata_json(key, value)

    def export_chrome_trace(self, path: str) -> None:
        """Write what was recorded for ``chrome://tracing`` or Perfetto."""
        self._inner.export_chrome_trace(path)

    def table(self, row_limit: int = 20) -> str:
        """The operators that took longest, as text."""
        return self._inner.key_averages().table(sort_by="self_cpu_time_total",
                                                row_limit=row_limit)


class Profiler(profile):
    """Records from when it is made until `analyse`, which writes a Chrome trace.

    Args:
        **kwargs: those of `profile`; ``output_path``, the folder, default ``./data``;
            ``start_profile``, whether it starts now. Others are accepted as MindSpore does.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> folder = tempfile.mkdtemp()
        >>> profiler = ms.Profiler(output_path=folder)
        >>> _ = ms.ops.ones((8, 8)) @ ms.ops.ones((8, 8))
        >>> profiler.analyse()
        >>> os.listdir(folder)
        ['trace.json']
    """

    _KNOWN = ("activities", "with_stack", "profile_memory", "record_shapes", "schedule",
              "on_trace_ready", "start_profile")

    def __init__(self, **kwargs: Any):
        self._folder = kwargs.get("output_path") or "./data"
        check.check_value_type("output_path", self._folder, str, "Profiler")
        super().__init__(**{k: v for k, v in kwargs.items() if k in self._KNOWN})
        self._scheduled = kwargs.get("schedule") is not None
        if self._start:
            self.start()

    def analyse(self, offline_path: str | None = None, pretty: bool = False,
                step_list: Any = None, mode: str = "sync") -> None:
        """End the recording, and write ``OUTPUT_PATH/trace.json``.

        Args:
            offline_path, pretty, step_list, mode: accepted as MindSpore does.
        """
        self.stop()
        if not self._scheduled:  # a schedule's parts have gone to `on_trace_ready`
            folder = _make_directory(self._folder, "output_path")
            self.export_chrome_trace(os.path.join(folder, "trace.json"))


class mstx:
    """Marks of the program's own in the trace.

    Examples:
        >>> import lamella as ms
        >>> with ms.profiler.profile() as recorded:
        ...     number = ms.profiler.mstx.range_start("my step")
        ...     _ = ms.ops.ones(2) + 1
        ...     ms.profiler.mstx.range_end(number)
        >>> "my step" in recorded.table()
        True
    """

    _open: dict[int, Any] = {}
    _numbers = itertools.count(1)

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A moment."""
        with torch.profiler.record_function(message):
            pass

    @classmethod
    def range_start(cls, message: str, stream: Any = None, domain: str = "default") -> int:
        """Begin a range; returns its number."""
        number = next(cls._numbers)
        cls._open[number] = torch.profiler.record_function(message)
        cls._open[number].__enter__()
        return number

    @classmethod
    def range_end(cls, range_id: int, domain: str = "default") -> None:
        """End a range."""
        if range_id not in cls._open:
            raise ValueError(f"For 'mstx.range_end', there is no open range {range_id}.")
        cls._open.pop(range_id).__exit__(None, None, None)


_RECORDED = ("with_stack", "profile_memory", "record_shapes")  # options of a recording


class EnvProfiler:
    """A `Profiler` by the environment variable ``MS_PROFILER_OPTIONS``, a JSON object.

    Its ``"start"`` says whether to record at all; ``"output_path"``, ``"with_stack"``,
    ``"profile_memory"`` and ``"record_shapes"`` are those of `Profiler`. Others are accepted as
    MindSpore does.

    Attributes:
        profiler: the profiler; None until `init_profiler` has started one.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> folder = tempfile.mkdtemp()
        >>> os.environ["MS_PROFILER_OPTIONS"] = '{"start": true, "output_path": "%s"}' % folder
        >>> ms.EnvProfiler.init_profiler()
        >>> ms.EnvProfiler().analyse()
        >>> os.listdir(folder)
        ['trace.json']
        >>> del os.environ["MS_PROFILER_OPTIONS"]
    """

    profiler: Profiler | None = None

    @classmethod
    def init_profiler(cls) -> None:
        """Start to record if the variable says so."""
        text = os.environ.get("MS_PROFILER_OPTIONS")
        if not text:
            return
        try:
            options = json.loads(text)
        except json.JSONDecodeError as error:
            options = error
        if not isinstance(options, dict):
            warning(f"MS_PROFILER_OPTIONS must be a JSON object, but got {text!r}; nothing is "
                    f"recorded.")
        elif options.get("start"):
            cls.profiler = Profiler(output_path=options.get("output_path") or "./data",
                                    **{name: bool(options.get(name)) for name in _RECORDED})

    def analyse(self) -> None:
        """End the recording, and write ``OUTPUT_PATH/trace.json``."""
        if self.profiler is not None:
            self.profiler.analyse()


class DynamicProfilerMonitor(Callback):
    """Records steps of a running training that a file names, which may change meanwhile.

    The file is ``CFG_PATH/profiler_config.json``, made if there is none: an object with
    ``"start_step"`` and ``"stop_step"``, the first step and the last one, counted from 1 (-1 for
    none), and ``"with_stack"``, ``"profile_memory"``, ``"record_shapes"`` and ``"prof_path"``, a
    folder in place of `output_path`. Others are accepted as MindSpore does.

    Args:
        cfg_path: the folder with the file.
        output_path: a folder; a recording goes to ``rank0_start3_stop5/trace.json`` in it.
        poll_interval: after how many seconds the file is read again.

    Raises:
        TypeError, ValueError: if an argument is of another type, or out of range.

    Examples:
        >>> import os, tempfile
        >>> import lamella as ms
        >>> folder = tempfile.mkdtemp()
        >>> monitor = ms.profiler.DynamicProfilerMonitor(folder, os.path.join(folder, "out"))
        >>> os.listdir(folder)
        ['profiler_config.json']
    """

    def __init__(self, cfg_path: str | None = None, output_path: str = "./dyn_profile_data",
                 poll_interval: int = 2, **kwargs: Any):
        name = type(self).__name__
        for what, given in (("cfg_path", cfg_path), ("output_path", output_path)):
            check.check_value_type(what, given, str, name)
        check.check_positive_int(poll_interval, "poll_interval", name)
        folder = _make_directory(str(cfg_path), "cfg_path")
        self._file = os.path.join(folder, "profiler_config.json")
        self._output, self._interval = output_path, poll_interval
        self._options: dict[str, Any] = {"start_step": -1, "stop_step": -1,
                                         **dict.fromkeys(_RECORDED, False)}
        if not os.path.exists(self._file):
            with open(self._file, "w", encoding="utf-8") as file:
                json.dump(self._options, file, indent=2)
        self._read_at, self._step = float("-inf"), 0
        self._running: Profiler | None = None

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Start a recording if this is its first step."""
        self._step += 1
        if time.monotonic() - self._read_at >= self._interval:
            self._read()
        first, last = self._options["start_step"], self._options["stop_step"]
        if self._running is None and first == self._step <= last:
            rank = os.environ.get("RANK_ID") or os.environ.get("RANK") or "0"
            folder = self._options.get("prof_path") or self._output
            self._last = last
            self._running = Profiler(
                output_path=os.path.join(folder, f"rank{rank}_start{first}_stop{last}"),
                **{name: bool(self._options.get(name)) for name in _RECORDED})

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Write the recording after its last step."""
        if self._running is not None and self._step >= self._last:
            self._end()

    def on_train_end(self, run_context: RunContext) -> None:
        """Write a recording that wasn't at its end."""
        if self._running is not None:
            self._end()

    def _end(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.analyse()

    def _read(self) -> None:
        """Take over what the file says; one that can't be read changes nothing."""
        self._read_at = time.monotonic()
        try:
            with open(self._file, encoding="utf-8") as file:
                found = json.load(file)
            numbers = [int(found[name]) for name in ("start_step", "stop_step")]
        except (OSError, ValueError, TypeError, KeyError) as error:
            warning(f"DynamicProfilerMonitor can't use {self._file!r}: {error!r}.")
            return
        self._options = {**found, "start_step": numbers[0], "stop_step": numbers[1]}
