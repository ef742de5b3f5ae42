"""The tests on other processors than this one: `python -m tests.processors [SETTING] [ARGUMENTS]`.

The libraries below choose their kernels by the processor that they find, and these round
differently. Environment variables name another one. Each setting runs pytest once, in turn; they
are chosen so that each library meets each of its choices, and the suite 1 and 4 workers. The
arguments are pytest's; without a path in them, the tests run whose numbers come from kernels.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import time
from typing import Any

import cv2

# OpenBLAS (NumPy, SciPy), PyTorch's own kernels, oneDNN; NumPy's loops have those features less
# that the pattern finds, and OpenCV those for AVX-512: without AVX2, of 2013, it rounds otherwise
SETTINGS = {
    "plain": (4, "V", {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "default",
                      "ONEDNN_MAX_CPU_ISA": "AVX2"}),
    "avx2": (1, "AVX512|V4", {"OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "avx2",
                              "ONEDNN_MAX_CPU_ISA": "AVX2"}),
    "avx512": (4, "none", {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512"}),
}


# what computes with kernels; the other tests take most of the suite's time, to start processes
# and to compile
COMPUTING = ("ops", "numpy", "scipy", "sparse", "mint", "nn", "autodiff", "amp", "common",
             "conformance", "machine", "dataset/vision", "dataset/audio", "tensors")


def without(pattern: str) -> dict[str, str]:
    """The variables that take features from NumPy, and from OpenCV."""
    from numpy._core import _multiarray_umath as core

    here: Any = core
    numpys = [name for name in here.__cpu_dispatch__ if here.__cpu_features__.get(name)]
    opencvs = [name[1:] for name in cv2.getCPUFeaturesLine().split()
               if name.startswith("*") and not name.endswith("?")]
    older = [name for name in opencvs if "AVX512" in name and pattern != "none"]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(n for n in numpys if re.search(pattern, n)),
            "OPENCV_CPU_DISABLE": ",".join(older)}


def without_avx512() -> bool:
    """Whether this processor can't run the last of the settings."""
    listed = pathlib.Path("/proc/cpuinfo")
    return not listed.exists() or "avx512bw" not in listed.read_text()


def main(arguments: list[str]) -> int:
    """Run the tests under each setting, or under the one that is named; 1 if any failed."""
    ends: dict[str, str] = {}
    named = [name for name in SETTINGS if name in arguments[:1]]
    arguments = arguments[len(named):]
    if not any(argument.startswith("tests") for argument in arguments):
        arguments = [*(f"tests/{room}" for room in COMPUTING), *arguments]
    for name in named or SETTINGS:
        workers, pattern, setting = SETTINGS[name]
        if name == "avx512" and without_avx512():
            ends[name] = "left out: this processor has no AVX-512"
            continue
        setting = setting | without(pattern)
        words = " ".join(f"{key}={value!r}" for key, value in setting.items())
        print(f"\n{name}: {workers} workers, {words}", flush=True)
        began = time.monotonic()
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", str(workers),
                   "--dist", "worksteal", *arguments]
        status = subprocess.run(command, env={**os.environ, **setting}).returncode
        ends[name] = f"{'failed' if status else 'passed'} in {time.monotonic() - began:.0f} s"
    print("", *(f"{name}: {end}" for name, end in ends.items()), sep="\n")
    return int(any(end.startswith("failed") for end in ends.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
