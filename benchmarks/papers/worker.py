"""A contestant in a process of its own: ``python -m ...worker FRAMEWORK ALGORITHM THREADS``.

It is asked over pipes. A line in asks for seconds of warming up, or for a number of calls, by the
clock ("time") or by processor time ("processor"); a line of JSON answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import numpy as np


def main(framework: str, algorithm: str, threads: int) -> None:
    """Answer until the pipe is closed."""
    out, _ = os.fdopen(os.dup(1), "w"), os.dup2(2, 1)
    start = time.perf_counter()
    if framework == "jax":
        os.environ["NPROC"] = str(threads)
        if threads == 1:
            os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
        from . import in_jax as module
    else:
        import torch

        torch.set_num_threads(threads)
        from . import in_lamella as module
    begin = time.perf_counter()
    step, args = module.step_of(algorithm)
    found = flat(step(*args))
    print(json.dumps({"import": begin - start, "first": time.perf_counter() - begin,
                      "results": [x.tolist() for x in found]}), file=out, flush=True)
    for line in sys.stdin:
        kind, much = line.split()
        clock = time.process_time if kind == "processor" else time.perf_counter
        begin, calls = clock(), 0
        while clock() - begin < float(much) if kind == "warm" else calls < int(much):
            last = step(*args)
            calls += 1
        took = (clock() - begin) / max(calls, 1)
        report: Any = step.report()["backends"] if framework == "lamella" else []
        print(json.dumps({"seconds": took, "by": report, "results": [
            x.tolist() for x in flat(last)] if kind == "warm" else []}), file=out, flush=True)


def flat(value: Any) -> list[np.ndarray]:
    """The arrays in a result."""
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flat(v)]
    return [np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
