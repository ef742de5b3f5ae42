"""How contestants are run and timed.

Each contestant has a process of its own (`worker`), so that none inherits another's threads,
caches or memory, and MindSpore can have the interpreter that it needs. They take turns: in each
round every contestant measures its step once, while the processes of the others are stopped, so
that whatever else the machine does hits all of them. The figure is the median over the rounds.
The first results of all contestants have to agree with PyTorch's; who differs gets no figure.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .workload import Workload

ROOT = Path(__file__).parent.parent
BASELINE = "PyTorch"
CONTESTANTS = ("Lamella", "Lamella graph", "PyTorch", "torch.compile", "JAX jit", "MindSpore",
               "MindSpore graph")


class Failed(Exception):
    """A worker that failed to do a request."""


class Left(Failed):
    """A contestant that doesn't take part, for a reason that is no fault."""


@dataclass
class Settings:
    """What holds for the whole run."""

    device: str = "cpu"
    steps: int = 30
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    patience: float = 20.0  # seconds of measuring for one contestant in one workload
    settling: float = 240.0  # seconds for a contestant to find its fastest form
    limit: float = 420.0  # seconds after which a worker that doesn't answer is given up
    mindspore: str | None = None  # the interpreter that has it
    contestants: Sequence[str] = CONTESTANTS
    together: bool = False  # whether contestants get ready side by side
    limits: bool = False  # whether contestants say what their step could take


@dataclass
class Result:
    """One contestant in one workload: figures, or the reason why there are none."""

    times: list[float] = field(default_factory=list)  # seconds of one step
    first: float | None = None
    memory: int | None = None
    cores: float | None = None  # how many were busy
    settled: bool = True
    limit: float | None = None  # seconds of its kernels at the machine's peaks
    reason: str = ""
    wrong: bool = False  # it broke, or its results differ

    @property
    def median(self) -> float:
        return statistics.median(self.times)

    def percentile(self, share: float) -> float:
        return float(np.percentile(self.times, share))


class Process:
    """A worker as the harness sees it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], limit: float):
        self.limit = limit
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=dict(environment), text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
            start_new_session=True)
        self.stopped: list[int] = []  # it, and the compilers that it has started
        self.replies: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.replies.put(line)
        self.replies.put("")  # it has ended

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and wait for the answer; the process runs only meanwhile.

        Raises:
            Left: if the contestant doesn't take part.
            Failed: if it broke, died or gave no answer in time.
        """
        assert self.process.stdin is not None
        self._resume()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            reply = self.replies.get(timeout=self.limit)
        except queue.Empty:
            raise Failed(f"no answer within {self.limit:g} s") from None
        except BrokenPipeError:
            reply = ""
        if not reply:
            raise Failed(f"ended with status {self.process.wait()}: {self.last_error_line()}")
        self._stop()
        answer = json.loads(reply)
        if "left_out" in answer:
            raise Left(answer["left_out"])
        if "failed" in answer:
            raise Failed(answer["failed"])
        return answer

    def last_error_line(self) -> str:
        """The last line that it wrote as an error."""
        self.errors.seek(0)
        return ([line.strip() for line in self.errors if line.strip()] or [""])[-1][:200]

    def end(self) -> None:
        self._stop()  # nothing is started any more
        for pid in (self.process.pid, *_descendants(self.process.pid)):
            _send(pid, signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            if stream is not None:
                stream.close()

    def _stop(self) -> None:
        """Stop the process and all that it has started, in sessions of their own or not."""
        if self.process.poll() is None:
            for pid in (self.process.pid, *_descendants(self.process.pid)):
                if not _is_stopped(pid):  # as a compiler may be, to leave others the machine
                    _send(pid, signal.SIGSTOP)
                    self.stopped.append(pid)

    def _resume(self) -> None:
        for pid in self.stopped:
            _send(pid, signal.SIGCONT)
        self.stopped.clear()


def _descendants(pid: int) -> Iterator[int]:
    """The processes that a process has started, and those that these have, parents first."""
    for place in Path(f"/proc/{pid}/task").glob("*/children"):
        children: list[int] = []
        with contextlib.suppress(OSError):  # a thread that has ended
            children = [int(number) for number in place.read_text().split()]
        for child in children:
            yield child
            yield from _descendants(child)


def _is_stopped(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    return True


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def command_for(contestant: str, settings: Settings) -> list[str]:
    """How its worker is started.

    Raises:
        Left: if there is no interpreter for it.
    """
    python = sys.executable
    if contestant.startswith("MindSpore"):
        if settings.mindspore is None:
            raise Left("no --mindspore given")
        python = settings.mindspore
    return [python, "-m", "benchmarks.worker"]


def environment(settings: Settings, caches: str) -> dict[str, str]:
    """The same threads for all, and no compiled code from earlier runs."""
    return {**os.environ, "OMP_NUM_THREADS": str(settings.threads),
            "MKL_NUM_THREADS": str(settings.threads), "TORCHINDUCTOR_CACHE_DIR": caches,
            "TRITON_CACHE_DIR": caches, "XDG_CACHE_HOME": caches,
            "LAMELLA_CACHE": f"{caches}/lamella",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "GLOG_v": "4"}


def written_arrays(workload: Workload, folder: str) -> str:
    """The file of the weights and inputs that all contestants start from."""
    from .runners import pytorch

    file = str(Path(folder) / "arrays.npz")
    weights = {f"weight{i}": w for i, w in enumerate(pytorch.initial_weights(workload))}
    inputs = {f"input{i}": x for i, x in enumerate(workload.data())}
    np.savez(file, **weights, **inputs)  # type: ignore[arg-type]
    return file


def measure(workload: Workload, settings: Settings,
            progress: Callable[[str], None] = lambda _: None) -> dict[str, Result]:
    """Figures of all contestants in one workload."""
    results = {name: Result() for name in settings.contestants}
    processes: dict[str, Process] = {}
    values: dict[str, list[float]] = {}
    rounds: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="benchmarks-", ignore_cleanup_errors=True) as folder:
        arrays = written_arrays(workload, folder)
        try:
            def prepare(name: str) -> None:
                result = results[name]
                progress(f"{workload.title}: {name} gets ready")
                with _excused(result):
                    command = command_for(name, settings)
                    # compiling gets whole cores: it is over when steps are measured
                    around = {**environment(settings, f"{folder}/{name}"),
                              "LAMELLA_COMPILE_SHARE": "1"}
                    process = Process(command, around, settings.limit)
                    processes[name] = process
                    ready = process.ask(
                        do="prepare", workload=workload.name, contestant=name, arrays=arrays,
                        device=settings.device, threads=settings.threads,
                        patience=settings.patience, settling=settings.settling)
                    result.first, result.memory = ready["first"], ready["memory"]
                    result.cores, values[name] = ready["cores"], ready["values"]
                    result.settled = ready["settled"]
                    rounds[name] = _rounds(ready["second"], settings)
                    if rounds[name] == 1:
                        result.times.append(ready["second"])

            with ThreadPoolExecutor(len(results) if settings.together else 1) as pool:
                list(pool.map(prepare, results))
            refuse_differing(workload, values, results)
            for i in range(settings.steps):
                progress(f"{workload.title}: round {i + 1} of {settings.steps}")
                for name in turns(i, settings.steps, rounds):
                    if not results[name].reason:
                        with _excused(results[name]):
                            answer = processes[name].ask(do="turn")
                            results[name].times.append(answer["seconds"])
            for name in processes if settings.limits else ():
                if not results[name].reason:
                    with _excused(results[name]):
                        results[name].limit = processes[name].ask(do="limit")["seconds"]
        finally:
            for process in processes.values():
                process.end()
    return results


def _rounds(second: float, settings: Settings) -> int:
    """In how many rounds a contestant is measured; a very slow one has been, while warming up."""
    if second > settings.patience / 3:
        return 1
    return max(3, min(settings.steps, round(settings.patience / max(second, 0.06))))


def turns(i: int, steps: int, rounds: Mapping[str, int]) -> list[str]:
    """Whose turn it is in round i: slow ones skip rounds, and the first one changes."""
    names = [name for name, n in rounds.items()
             if n > 1 and i * n // steps != (i - 1) * n // steps]
    start = i % len(names) if names else 0
    names = names[start:] + names[:start]
    return names if i % 2 else names[::-1]


def refuse_differing(workload: Workload, values: Mapping[str, Sequence[float]],
                     results: Mapping[str, Result]) -> None:
    """Note it where the first results are not the baseline's."""
    if BASELINE not in values:
        return
    for name, found in values.items():
        for own, wanted in zip(found, values[BASELINE], strict=False):
            if not math.isclose(own, wanted, rel_tol=workload.agree):
                results[name].reason = f"its result is {own:.6g}, {BASELINE}'s {wanted:.6g}"
                results[name].wrong = True
                break


class _excused:
    """Notes in a result why there is none."""

    def __init__(self, result: Result):
        self.result = result

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> bool:
        if not isinstance(error, Failed):
            return False
        self.result.reason = str(error)
        self.result.wrong = not isinstance(error, Left)
        return True


IMPORT = Workload("import", "import", "of the package, in a fresh process", "", lambda: ())


def measure_imports(settings: Settings, times: int = 7) -> dict[str, Result]:
    """What importing each framework takes, each time in a fresh process."""
    modules = {"Lamella": "lamella", "PyTorch": "torch", "JAX jit": "jax, jax.numpy",
               "MindSpore": "mindspore"}
    results = {}
    for name in settings.contestants:
        if name in modules:
            results[name] = Result()
            with _excused(results[name]):
                command_for(name, settings)
    for i in range(-1, min(times, settings.steps)):
        for name, result in results.items():
            if result.reason:
                continue
            code = (f"import time; t = time.perf_counter(); import {modules[name]}; "
                    "print(time.perf_counter() - t)")
            done = subprocess.run([*command_for(name, settings)[:1], "-c", code], text=True,
                                  capture_output=True)
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["it can't be imported"]
                result.reason, result.wrong = lines[-1][:200], True
            elif i >= 0:  # the first fills the disk's cache
                result.times.append(float(done.stdout.split()[-1]))
    return results
