"""What `import lamella` takes, PyTorch's own import included; each time in a fresh process."""

import subprocess
import sys

from .harness import Step, Workload


def _importing(module: str) -> Step:
    code = (f"import time; t = time.perf_counter(); import {module}; "
            "print(time.perf_counter() - t)")

    def step() -> float:
        return float(subprocess.check_output([sys.executable, "-c", code], text=True))

    return step


def make(device: str) -> dict[str, Step]:
    return {"PyTorch": _importing("torch"), "Lamella": _importing("lamella")}


WORKLOAD = Workload("import", "import, in a fresh process", make, warmup=1, agree=None,
                    self_timed=True, most_steps=7)
