"""The simulated device's library, built once a machine."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import torch

from lamella.machine import extension

SOURCE = Path(__file__).with_name("backend.cpp")
TORCH = Path(torch.__file__).parent


class CannotBuild(Exception):
    """Why there is no library."""


@functools.cache
def library() -> Path:
    """The library; the first process that asks builds it, and others wait.

    Raises:
        CannotBuild: if there is no C++ compiler, or this PyTorch has other interfaces.
    """
    compiler = extension.compiler()
    if compiler is None:
        raise CannotBuild("the simulated device needs a C++ compiler")
    text = "\n".join([SOURCE.read_text(encoding="utf-8"), torch.__version__, compiler,
                      str(sysconfig.get_config_var("SOABI")), sysconfig.get_platform()])
    folder = _folder() / hashlib.sha256(text.encode()).hexdigest()[:40]
    folder.mkdir(parents=True, exist_ok=True)
    found = folder / "simulated.so"
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            _build(compiler, found)
    return found


def _folder() -> Path:
    """A folder of this user's that other runs of the tests find again."""
    around = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    place = Path(around, "lamella-tests")
    try:
        place.mkdir(parents=True, mode=0o700, exist_ok=True)
        return place
    except OSError:
        return Path(tempfile.gettempdir(), f"lamella-tests-{os.getuid()}")


def _build(compiler: str, target: Path) -> None:
    places = [TORCH / "include", TORCH / "include/torch/csrc/api/include",
              sysconfig.get_paths()["include"]]
    draft = target.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [compiler, "-O0", "-w", "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden",
         "-DTORCH_EXTENSION_NAME=simulated", *(f"-I{place}" for place in places), str(SOURCE),
         "-o", str(draft), f"-L{TORCH / 'lib'}", "-lc10", "-ltorch_cpu", "-ltorch",
         "-ltorch_python"], capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild("the simulated device can't be compiled: "
                          + "\n".join(done.stderr.splitlines()[:20]))
    draft.rename(target)
