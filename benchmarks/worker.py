"""One contestant in a process of its own: ``python -m benchmarks.worker``.

It reads lines of JSON, does what they ask, and answers each with a line of JSON:

- ``{"do": "prepare", ...}``: make the step, run it until it is warm, and say what the first answers
  were, how long the first of them took, how much memory that needed, and how long a step takes;
- ``{"do": "turn"}``: measure the step once.

- ``{"do": "limit"}``: say how long the step's kernels would take at the machine's peaks, if the
  framework can tell.

In place of ``prepare``, to measure how it gets warm (`minute`):

- ``{"do": "make", ...}``: make the step;
- ``{"do": "steps", "seconds": 1}``: run it for so long, and say how often and for how long it ran;
- ``{"do": "settle", "seconds": 100}``: let the framework make up its mind, and say whether it did,
  after how many seconds, and how much memory the whole run needed;
- ``{"do": "repeat", "seconds": 2}``: say how much memory the warm step needs.

Frameworks are imported here and nowhere else, and what they print goes to stderr.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
import time
from typing import Any

import numpy as np

from .workload import LeftOut, Step, Workload

LANGUAGES = {"PyTorch": "pytorch", "torch.compile": "pytorch",
             "torch.compile, graphs": "pytorch", "JAX jit": "jax",
             "Lamella": "mindspore", "Lamella graph": "mindspore",
             "MindSpore": "mindspore", "MindSpore graph": "mindspore"}
COMPILED = ("torch.compile", "torch.compile, graphs", "Lamella graph", "MindSpore graph")
PR_SET_PDEATHSIG = 1  # of Linux, where the benchmarks run
LONG_ENOUGH = 0.03  # seconds of one measurement; short steps are repeated until it is that long
BUSY, PAUSE = 0.1, 0.3  # seconds of steps while it settles, and between them; twice a longer step
# what steps are measured by; the time of the processor counts no other program's
CLOCK = time.process_time if os.environ.get("BENCHMARKS_CLOCK") else time.perf_counter
FEWEST = 25  # steps by which the memory of warm ones is known


class Worker:
    """The step of one contestant."""

    def __init__(self, workload: Workload, contestant: str, device: str, threads: int,
                 arrays: str):
        self.workload, self.repeat = workload, 1
        if not workload.compiles and contestant in COMPILED:
            raise LeftOut("there is nothing to compile, or the program does it by itself")
        # JAX takes as many threads as there are cores that it may run on
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        if contestant.startswith("Lamella"):
            import lamella.alias

            from .runners import pytorch

            lamella.alias.install()
            pytorch.prepare(threads, device)
        runner = importlib.import_module(f".runners.{LANGUAGES[contestant]}", __package__)
        runner.prepare(threads, device)
        workload.written_in(LANGUAGES[contestant])
        with np.load(arrays) as file:
            weights, data = ([file[name] for name in file.files if name.startswith(kind)]
                             for kind in ("weight", "input"))
        self.before = _memory_now()
        self.begin = CLOCK()
        self.step: Step = runner.build(workload, contestant, device, weights, data)

    def prepare(self, patience: float, settling: float) -> dict[str, Any]:
        """The first steps, until the framework has made up its mind how to run them.

        Args:
            patience: a step that takes a third of these seconds is not run again.
            settling: the seconds that the framework gets to make up its mind.

        Returns:
            ``first``: seconds from making the network to its first answer; ``memory``: bytes, at
            the most, of what came on top of the framework itself; ``values``: of the first answers;
            ``second``: seconds of a warm step, ``cores``: how many were busy during it.
        """
        step = self.step
        result = step.run()
        step.wait(result)
        first, values = CLOCK() - self.begin, [step.value(result)]
        took, end = first, time.perf_counter() + settling
        warm = False  # whether the last step began when all was decided, so that it is a usual one
        while len(values) < 3 or (not warm and time.perf_counter() < end):
            warm = step.settled()
            start, cpu = time.perf_counter(), time.process_time()
            result = step.run()
            step.wait(result)
            took, cpu = time.perf_counter() - start, time.process_time() - cpu
            values.append(step.value(result))
            if took > patience / 3 and warm:  # too slow for more
                break
            if len(values) > 3:
                time.sleep(min(took, 0.1))  # leave the machine to its compiler
        memory = self.memory()
        if took < LONG_ENOUGH:
            took, cpu = self._calibrated()
        return {"first": first, "memory": memory, "values": values[:self.workload.compare],
                "second": took, "cores": cpu / took, "settled": step.settled()}

    def _calibrated(self) -> tuple[float, float]:
        """Find how often to repeat; gives the seconds and the processor seconds of a step."""
        while True:
            cpu = time.process_time()
            seconds = self.turn()
            cpu = (time.process_time() - cpu) / (self.repeat + (self.repeat > 1))
            if seconds * self.repeat >= LONG_ENOUGH:
                return seconds, cpu
            self.repeat = max(self.repeat + 1,
                              min(10 * self.repeat, round(1.2 * LONG_ENOUGH / seconds)))

    def steps(self, seconds: float) -> dict[str, Any]:
        """Run the step again and again for so many seconds."""
        step, count, start = self.step, 0, time.perf_counter()
        while not count or time.perf_counter() - start < seconds:
            step.wait(step.run())
            count += 1
        return {"steps": count, "seconds": time.perf_counter() - start}

    def settle(self, seconds: float) -> dict[str, Any]:
        """Leave the machine to the framework's compiler between steps, until it is done."""
        os.environ["LAMELLA_COMPILE_SHARE"] = "1"
        begin = time.perf_counter()
        while not self.step.settled() and time.perf_counter() - begin < seconds:
            time.sleep(max(PAUSE, 2 * self.steps(BUSY)["seconds"]))
        return {"after": time.perf_counter() - begin, "settled": self.step.settled(),
                "memory": self.memory()}

    def repeated(self, seconds: float) -> dict[str, Any]:
        """The most memory that warm steps need; then `turn` can be asked for."""
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the high-water mark begins anew
        count = self.steps(seconds)["steps"]
        for _ in range(count, FEWEST):
            self.step.wait(self.step.run())
        with open("/proc/self/status", encoding="ascii") as file:
            most = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
        self._calibrated()
        return {"memory": max(0, most - self.before)}

    def turn(self) -> float:
        """The seconds of one step."""
        step, run = self.step, self.step.run
        if self.repeat > 1:
            step.wait(run())  # others had the caches meanwhile
        result = None
        start = CLOCK()
        for _ in range(self.repeat):
            result = run()
        step.wait(result)
        return (CLOCK() - start) / self.repeat

    def memory(self) -> int:
        """The most bytes there were on the device, or in this process since it began to build."""
        if self.step.device_memory is not None:
            return self.step.device_memory()
        return max(0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - self.before)


def _memory_now() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


_OF_WARMING: dict[str, Any] = {
    "steps": Worker.steps, "settle": Worker.settle, "repeat": Worker.repeated}


def _answer(request: dict[str, Any], worker: Worker | None) -> tuple[dict[str, Any], Worker | None]:
    from .workloads import REAL, WORKLOADS

    do = request.pop("do")
    if do == "turn" and worker is not None:
        return {"seconds": worker.turn()}, worker
    if do == "limit" and worker is not None:
        limit = worker.step.limit
        return {"seconds": None if limit is None else limit()}, worker
    if do in ("prepare", "make"):
        name = request.pop("workload")
        times = {name: request.pop(name) for name in ("patience", "settling") if name in request}
        (workload,) = [w for w in [*WORKLOADS, *REAL] if w.name == name]
        worker = Worker(workload, **request)
        return (worker.prepare(**times) if do == "prepare" else {}), worker
    if do in _OF_WARMING and worker is not None:
        return _OF_WARMING[do](worker, **request), worker
    raise ValueError(f"can't do {do!r} now")


def main() -> None:
    # a stopped process does not see that the harness has ended
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = None
    for line in sys.stdin:
        try:
            reply, worker = _answer(json.loads(line), worker)
        except LeftOut as reason:
            reply = {"left_out": str(reason)}
        except Exception as error:  # of any framework; the harness shows it
            import traceback

            traceback.print_exc()
            text = (str(error).strip().splitlines() or [""])[0]
            reply = {"failed": f"{type(error).__name__}: {text}"[:200]}
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()
