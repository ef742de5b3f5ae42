"""A report on this machine, and on what Lamella uses of it: ``python -m lamella doctor``."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import Any

import torch

from ..core import context
from ..core import dtype as mstype
from ..core.versions import MINDSPORE_VERSION, __version__, commit
from ..device import kinds
from ..machine import cache, extension
from ..tensors.tensor import Tensor

__all__ = ["advice", "facts", "run_check"]

# what is read from the environment, besides LAMELLA_*
_VARIABLES = ("CXX", "GLOG_v", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "XDG_CACHE_HOME")


def facts() -> dict[str, dict[str, Any]]:
    """The facts, by subject; everything in it can be written as JSON.

    Examples:
        >>> from lamella.commands.doctor import facts
        >>> sorted(facts())
        ['cache', 'compiler', 'cpu', 'gpu', 'packages', 'python', 'variables']
    """
    return {
        "python": {"version": platform.python_version(), "executable": sys.executable,
                   "system": f"{platform.system()} {platform.machine()}"},
        "packages": {"lamella": __version__, "commit": commit(),
                     "follows MindSpore": MINDSPORE_VERSION,
                     **{name: _version(name) for name in ("torch", "numpy", "mindspore")}},
        "cpu": _cpu(),
        "gpu": _gpu(),
        "compiler": {"c++": extension.compiler()},
        "cache": _cache(),
        "variables": {name: value for name, value in sorted(os.environ.items())
                      if name.startswith("LAMELLA_") or name in _VARIABLES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> dict[str, Any]:
    return {
        "name": _cpu_name(),
        "cores": _cores(),
        "threads": torch.get_num_threads(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "blas": "MKL" if torch.backends.mkl.is_available() else _built_with("BLAS_INFO"),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "openmp": torch.backends.openmp.is_available(),
    }


def _cores() -> int:
    """The cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _built_with(key: str) -> str | None:
    for part in torch.__config__.show().replace("\n", ",").split(","):
        name, _, value = part.strip().partition("=")
        if name == key:
            return value
    return None


def _gpu() -> dict[str, Any]:
    kind = kinds.first_kind()
    if kind is None:
        return {"available": False, "CUDA": torch.version.cuda}
    return {"available": True, "CUDA": torch.version.cuda, "target": kinds.target_of(kind),
            "devices": [kinds.name_of(torch.device(kind, i)) for i in range(kinds.count(kind))]}


def _cache() -> dict[str, Any]:
    folder = cache.place()
    if folder is None:
        return {"folder": None}
    reason = cache.unusable(folder)
    return {"folder": folder, "usable": reason is None, "why not": reason,
            "MiB": round(cache.size(folder) / 2**20, 1), "most MiB": cache.most_mib()}


def advice(found: dict[str, dict[str, Any]] | None = None) -> list[str]:
    """What follows from the facts, a sentence each.

    Args:
        found: what `facts` gave; default: gather them now.
    """
    found = facts() if found is None else found
    cpu, gpu = found["cpu"], found["gpu"]
    out = []
    if gpu["available"]:
        out.append(f"Tensors are made on the CPU; set_device({gpu.get('target', 'GPU')!r}) puts "
                   f"them on {gpu['devices'][0]}.")
    else:
        out.append("Everything runs on the CPU: PyTorch sees no GPU. set_device('Ascend') means "
                   "the CPU too.")
    engine = f"{cpu['blas'] or 'PyTorch'} multiplies matrices"
    if cpu["mkldnn"]:
        engine += ", oneDNN convolves"
    plural = "" if cpu["threads"] == 1 else "s"
    out.append(f"{engine}, with {cpu['capability']} instructions on {cpu['threads']} "
               f"thread{plural}.")
    if cpu["threads"] > cpu["cores"]:
        out.append(f"That is more threads than the {cpu['cores']} cores this process may use: set "
                   f"OMP_NUM_THREADS={cpu['cores']}.")
    if found["compiler"]["c++"] is None:
        out.append("There is no C++ compiler: nothing can be compiled to native code here.")
    if found["cache"]["folder"] is None:
        out.append("Compiled graphs are not kept (LAMELLA_CACHE): each process makes its own.")
    elif not found["cache"]["usable"]:
        out.append(f"Compiled graphs are not kept: {found['cache']['why not']}.")
    if found["packages"]["mindspore"] is not None:
        out.append(f"MindSpore {found['packages']['mindspore']} is installed; 'import mindspore' "
                   "finds it, except under 'lamella run'.")
    return out


def run_check() -> None:
    """Multiply two matrices, take a gradient, and say whether both came out right.

    Raises:
        RuntimeError: if the result is wrong.

    Examples:
        >>> import lamella as ms
        >>> ms.run_check()  # doctest: +ELLIPSIS
        Lamella ... works.
    """
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], mstype.float32)
    product = (x @ x).asnumpy().tolist()  # pyright: ignore[reportOperatorIssue]
    with torch.enable_grad():
        leaf = torch.ones(3, device=context.current_device(), requires_grad=True)
        (slope,) = torch.autograd.grad((leaf * leaf).sum(), leaf)
    if product != [[7.0, 10.0], [15.0, 22.0]] or slope.tolist() != [2.0, 2.0, 2.0]:
        raise RuntimeError(f"run_check: the product was {product} and the gradient "
                           f"{slope.tolist()}; this installation of PyTorch computes wrongly.")
    print(f"Lamella {__version__} on PyTorch {torch.__version__} "
          f"({context.get_context('device_target')}) works.")
