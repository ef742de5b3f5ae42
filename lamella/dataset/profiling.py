"""The time that each operation of a pipeline takes: a profiler that writes MindSpore's files.

Between `start` and `stop` each iterator that is made notes when it gave a row and what that took,
and a thread samples the processors and the memory. A pipeline of ours is a chain of Python's
iterators without queues between operations, so the queues in the files are empty.
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import config
from .order import Row

if TYPE_CHECKING:
    from .node import Dataset

_INLINE = ("Concat", "EpochCtrl", "Project", "Rename", "Repeat", "Skip", "Take", "Zip")
_NAMES = {"TFRecord": "TFReader", "MindRecord": "MindRecord", "Mind": "MindRecord",
          "NumpySlices": "Generator", "PaddedBatch": "Batch", "BucketBatchByLength": "Bucket",
          "Cifar10": "Cifar", "Cifar100": "Cifar", "Padded": "Generator", "SyncWait": "Barrier"}
_PAGE = os.sysconf("SC_PAGE_SIZE") / 2**20


class ProfilingManager:
    """The profiler of pipelines. `GlobalContext.profiling_manager` has the one that there is.

    Examples:
        >>> import os, tempfile
        >>> import lamella.dataset as ds
        >>> from lamella.dataset.profiling import MANAGER
        >>> MANAGER.start()
        >>> for row in ds.NumpySlicesDataset([1, 2, 3]):
        ...     pass
        >>> MANAGER.stop()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     MANAGER.save(folder)
        ...     print(len(os.listdir(folder)))
        3
    """

    def __init__(self) -> None:
        self.init()

    def init(self) -> None:
        """Forget what was noted."""
        self.active = False
        self._operations: list[dict[str, Any]] = []
        self._rows: list[str] = []
        self._samples: list[dict[str, float]] = []
        self._done = threading.Event()

    def start(self) -> None:
        """Begin to note what pipelines take."""
        self.init()
        self.active = True

    def stop(self) -> None:
        """End it.

        Raises:
            RuntimeError: if it wasn't started.
        """
        if not self.active:
            raise RuntimeError("[ProfilingManager] The profiler isn't running. Call 'start' first.")
        self.active = False
        self._done.set()
        if self._operations:
            self._samples.append(_sample())

    def follow(self, dataset: Dataset, epochs: int) -> Any:
        """What wraps the rows of an iterator that is made now; None if none is wanted."""
        if not self.active:
            return None
        self._operations = [about for about, _ in operations_of(dataset, epochs)]
        if not self._samples:
            self._samples.append(_sample())
            weak, interval = weakref.ref(self), config.get_monitor_sampling_interval() / 1000
            threading.Thread(target=_watch, args=(weak, self._done, interval), daemon=True).start()
        return self._timed

    def _timed(self, rows: Iterator[Row]) -> Iterator[Row]:
        while True:
            began = time.monotonic()
            try:
                row = next(rows)
            except StopIteration:
                return
            if self.active:
                now = time.monotonic()
                self._note(int(now * 1000), round((now - began) * 1000))
            yield row

    def _note(self, now: int, took: int) -> None:
        number = len(self._rows) + 1
        self._rows.append(f"0 1 {number} 0 {now}\n0 2 {number} {took} {now}\n"
                          f"0 0 {number} {took} {now}\n"
                          f"1 {config.get_prefetch_size()} {number} 0 {now}\n")

    def save(self, folder: str) -> None:
        """Write what was noted; nothing, if no pipeline ran.

        Args:
            folder: where to write; the files are numbered by ``RANK_ID``.
        """
        if not self._operations:
            return
        rank, interval = os.environ.get("RANK_ID", "0"), config.get_monitor_sampling_interval()
        length, samples = config.get_prefetch_size(), len(self._samples)
        operations = [{**one, "metrics": None if one["metrics"] is None else {
            "output_queue": {"length": length, "size": [0] * samples}}}
            for one in self._operations]
        self._write(folder, f"pipeline_profiling_{rank}.json",
                    json.dumps({"op_info": operations, "sampling_interval": interval}))
        self._write(folder, f"minddata_cpu_utilization_{rank}.json",
                    json.dumps(self._used(interval)))
        self._write(folder, f"dataset_iterator_profiling_{rank}.txt", "".join(self._rows))

    @staticmethod
    def _write(folder: str, name: str, text: str) -> None:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as opened:
            opened.write(text)

    def _used(self, interval: int) -> dict[str, Any]:
        def column(name: str) -> list[float]:
            return [sample[name] for sample in self._samples]

        changes = list(zip(self._samples, self._samples[1:], strict=False))
        machine, process = ([_shares(old, new, kind) for old, new in changes]
                            for kind in ("machine", "process"))
        by_kind = {f"{name}_utilization": [share[name] for share in process]
                   for name in ("sys", "user")}
        return {
            "cpu_processor_num": os.cpu_count(),
            "device_info": {f"{name}_utilization": [share[name] for share in machine]
                            for name in ("idle", "sys", "user")},
            "op_info": [{"op_id": one["op_id"], "metrics": by_kind} for one in self._operations],
            "process_info": by_kind,
            "process_memory_info": {name: column(name)
                                    for name in ("pss_mbytes", "rss_mbytes", "vss_mbytes")},
            "system_memory_info": {name: column(name) for name in (
                "available_sys_memory_mbytes", "total_sys_memory_mbytes",
                "used_sys_memory_mbytes")},
            "sampling_interval": interval,
            "time_stamp": [int(moment * 1000) for moment in column("time")]}


def _watch(manager: weakref.ref[ProfilingManager], done: threading.Event, interval: float) -> None:
    while not done.wait(interval):
        found = manager()
        if found is None or found._done is not done:
            return
        found._samples.append(_sample())


def operations_of(dataset: Dataset, epochs: int) -> list[tuple[dict[str, Any], Dataset | None]]:
    """The operations of a pipeline, level by level, as MindSpore names them, with our own."""
    if config.independent():
        return [(_operation(0, "ReceiveBridge", [], 1), None)]
    found: list[tuple[str, list[int], int]] = []
    nodes: list[Dataset | None] = []
    level: list[tuple[Any, list[int]]] = [(dataset, [])]
    if epochs != 1:
        found.append(("EpochCtrl", [1], 1))
        nodes.append(None)
    while level:
        below: list[tuple[Any, list[int]]] = []
        for node, siblings in level:
            siblings.append(len(found))
            name = type(node).__name__.removesuffix("Dataset")
            children: list[int] = []
            found.append((_NAMES.get(name, name), children, getattr(node, "workers", None) or 1))
            nodes.append(node)
            if name == "TFRecord":  # MindSpore parses records in an operation of its own
                found[-1] = ("Map", [len(found)], found[-1][2])
                found.append(("TFReader", [], found[-1][2]))
                nodes.append(None)
            below += [(child, children) for child in node.children]
        level = below
    return [(_operation(number, *one), nodes[number]) for number, one in enumerate(found)]


def _operation(number: int, name: str, children: list[int], workers: int) -> dict[str, Any]:
    return {"op_id": number, "op_type": f"{name}Op", "num_workers": workers,
            "metrics": None if name in _INLINE else {},
            **({"children": children} if children else {})}


def _sample() -> dict[str, float]:
    """The memory and the processors' time now."""
    found = {"time": time.monotonic(), **_memory()}
    times = os.times()
    found["process_user"], found["process_sys"] = times.user, times.system
    with open("/proc/stat", encoding="ascii") as opened:
        user, nice, system, idle = map(int, opened.readline().split()[1:5])
    ticks = os.sysconf("SC_CLK_TCK")
    found["machine_user"], found["machine_sys"] = (user + nice) / ticks, system / ticks
    found["machine_idle"] = idle / ticks
    return found


def _memory() -> dict[str, float]:
    with open("/proc/meminfo", encoding="ascii") as opened:
        lines = [line.split() for line in opened]
    machine = {line[0].rstrip(":"): int(line[1]) / 1024 for line in lines}
    with open("/proc/self/statm", encoding="ascii") as opened:
        virtual, resident = (int(pages) * _PAGE for pages in opened.read().split()[:2])
    total, free = machine["MemTotal"], machine["MemAvailable"]
    return {"vss_mbytes": virtual, "rss_mbytes": resident, "pss_mbytes": _proportional(resident),
            "total_sys_memory_mbytes": total, "available_sys_memory_mbytes": free,
            "used_sys_memory_mbytes": total - free}


def _proportional(resident: float) -> float:
    """The memory of this process, what is shared counted by its share."""
    try:
        with open("/proc/self/smaps_rollup", encoding="ascii") as opened:
            return next(int(line.split()[1]) / 1024 for line in opened if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return resident


def _shares(old: dict[str, float], new: dict[str, float], kind: str) -> dict[str, int]:
    """Percentages of the processors' time between two samples."""
    whole = max(1e-9, (new["time"] - old["time"]) * (os.cpu_count() or 1))
    return {name: round(100 * (new[f"{kind}_{name}"] - old[f"{kind}_{name}"]) / whole)
            for name in ("user", "sys", "idle") if f"{kind}_{name}" in new}


MANAGER = ProfilingManager()
