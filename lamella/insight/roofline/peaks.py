"""The peaks of this machine, measured once: FLOPs and bytes in a second."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable

import torch

from ...device import kinds
from ...machine import cache
from ...machine.products import KERNELS

MOST_SECONDS = 0.15  # of one product that is measured
ROUNDS, PATIENCE = 12, 0.25  # of one size: runs at the most, seconds
SIDES = (256, 512, 1024, 1536, 2048, 4096, 8192)  # of the matrices
SIZES = tuple(2**n for n in range(16, 29, 3))  # bytes that a run reads and writes
LARGER = (2**31,)  # on a GPU


class Peaks:
    """The peaks of one device.

    They are the best that was ever measured here, since whatever else runs on the machine can only
    make them smaller; kept in the process and in the cache folder.

    Attributes:
        flops: by type, floating-point operations per second in a large product.
        bandwidth: by the number of bytes that are read and written, how many per second. Few bytes
            stay in caches, which are faster than memory.
    """

    def __init__(self, device: torch.device):
        self.device = device
        self.flops: dict[str, float] = {}
        self.bandwidth: dict[int, float] = {}
        self._read()

    def of_products(self, dtype: str) -> float | None:
        """Floating-point operations per second in this type; None for types not of products."""
        if dtype not in ("float32", "float64", "bfloat16", "float16"):
            return None
        if dtype not in self.flops:
            self.measure_products(dtype)
        return self.flops[dtype]

    def of_memory(self, size: float) -> float:
        """Bytes per second for what reads and writes so many: the best of this size and above."""
        if not self.bandwidth:
            self.measure_memory()
        larger = [rate for known, rate in self.bandwidth.items() if known >= size]
        return max(larger, default=self.bandwidth[max(self.bandwidth)])

    def seconds(self, flops: float, size: float, dtype: str) -> tuple[float, str]:
        """The least time for so much work, and what limits it, "compute" or "memory"."""
        peak = self.of_products(dtype) if flops else None
        compute = flops / peak if peak else 0.0
        memory = size / self.of_memory(size) if size else 0.0
        return max(compute, memory), "compute" if compute > memory else "memory"

    def measure_products(self, dtype: str) -> None:
        """Multiply ever larger matrices; keep the best rate."""
        best = self.flops.get(dtype, 0.0)
        kind = getattr(torch, dtype)
        kernels = KERNELS if dtype == "float32" and self.device.type == "cpu" else {
            "torch": KERNELS["torch"]}
        with torch.no_grad():
            for side in SIDES:
                a, b = (torch.full((side, side), 0.5, dtype=kind, device=self.device)
                        for _ in range(2))
                least = min(self._least(lambda kernel=kernel, a=a, b=b: kernel(a, b, None))
                            for kernel in kernels.values())
                best = max(best, 2 * side**3 / least)
                if least * 8 > MOST_SECONDS:  # the next one would take too long
                    break
        self.flops[dtype] = best
        self._write()

    def measure_memory(self) -> None:
        """Copy, and add two arrays to a third, in sizes from small to large."""
        sizes = SIZES if self.device.type == "cpu" else SIZES + LARGER
        with torch.no_grad():
            for size in sizes:
                a, b, c = (torch.ones(size // 12, device=self.device) for _ in range(3))
                copy = torch.ones(size // 8, device=self.device)
                to = torch.ones(size // 8, device=self.device)
                least = min(self._least(lambda a=a, b=b, c=c: torch.add(a, b, out=c)),
                            self._least(lambda copy=copy, to=to: to.copy_(copy)))
                self.bandwidth[size] = max(self.bandwidth.get(size, 0.0), size / least)
        self._write()

    def raise_to(self, flops_per_second: float, dtype: str) -> None:
        """Raise the peak to a rate at which a kernel ran."""
        if flops_per_second > (self.of_products(dtype) or float("inf")):
            self.flops[dtype] = flops_per_second
            self._write()

    def measure(self) -> None:
        """Measure everything again; the better of then and now is kept."""
        for dtype in self.flops or ("float32",):
            self.measure_products(dtype)
        self.measure_memory()

    def _least(self, run: Callable[[], object]) -> float:
        """The least seconds of some runs."""
        best, start = float("inf"), time.perf_counter()
        for number in range(ROUNDS):
            repeat = 20 if best < 1e-4 else 1  # short ones, several at a time
            self._wait()
            begin = time.perf_counter()
            for _ in range(repeat):
                run()
            self._wait()
            now = time.perf_counter()
            if number:  # the first one prepares
                best = min(best, (now - begin) / repeat)
            if number > 1 and now - start > PATIENCE:
                break
        return best

    def _wait(self) -> None:
        kinds.synchronize(self.device)

    def _key(self) -> str:
        return cache.key_of("peaks", 1, kinds.name_of(self.device))

    def _read(self) -> None:
        """The measurements of earlier processes; a file that can't be read is ignored."""
        folder = cache.cache_folder()
        if folder is None:
            return
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
            text = (folder / f"peaks-{self._key()[:16]}.json").read_text(encoding="utf-8")
            found = json.loads(text)
            flops = {str(k): float(v) for k, v in found["flops"].items()}
            self.bandwidth = {int(k): float(v) for k, v in found["bandwidth"].items()}
            self.flops = flops

    def _write(self) -> None:
        folder = cache.cache_folder()
        if folder is None:
            return
        text = json.dumps({"flops": self.flops, "bandwidth": self.bandwidth})
        target = folder / f"peaks-{self._key()[:16]}.json"
        draft = target.with_name(f"draft-{self._key()[:8]}-{time.monotonic_ns()}.json")
        with contextlib.suppress(OSError):
            draft.write_text(text, encoding="utf-8")
            draft.replace(target)


_known: dict[tuple[str, int], Peaks] = {}


def peaks_of(device: torch.device) -> Peaks:
    """The peaks of a device, with the number of threads there is now."""
    key = (str(device), torch.get_num_threads())
    if key not in _known:
        _known[key] = Peaks(device)
    return _known[key]
