"""`Figures`: the kernels of a step, and sums of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from .costs import KINDS
from .kernels import Kernel, Record
from .peaks import peaks_of

ARITHMETIC = ("product", "convolution", "attention", "recurrent")  # kinds of products
SURE = 1e7  # floating-point operations of a product whose rate can be believed
TOP = 12  # lines of the printed table


@dataclass
class Sum:
    """Kernels added up.

    Attributes:
        label: what they have in common.
        kernels: they themselves.
        count, seconds, flops, bytes, limit: of all of them.
    """

    label: str
    kernels: list[Kernel]

    def __post_init__(self) -> None:
        self.count = len(self.kernels)
        self.seconds = sum(k.seconds for k in self.kernels)
        self.flops = sum(k.cost.flops for k in self.kernels)
        self.bytes = sum(k.cost.bytes for k in self.kernels)
        self.limit = sum(k.limit for k in self.kernels)

    @property
    def first(self) -> Kernel:
        """The first of them."""
        return self.kernels[0]

    @property
    def rate(self) -> float:
        """Floating-point operations per second."""
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def bandwidth(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds if self.seconds else 0.0

    @property
    def share(self) -> float:
        """The limit as a part of the time: 1 at the peak of the machine."""
        return self.limit / self.seconds if self.seconds else 1.0

    def to_dict(self) -> dict[str, Any]:
        """The numbers."""
        return {"label": self.label, "count": self.count, "seconds": self.seconds,
                "flops": self.flops, "bytes": self.bytes, "limit": self.limit}


class Figures:
    """What a step does, and what limits it, in numbers.

    Attributes:
        name: of the step.
        how: how it runs: ``"eager"``, ``"replay"`` (of a recorded graph), or ``"inductor"``
            (machine code made of that graph); ``", captured"`` follows for a CUDA graph.
        device: where.
        seconds: of one call, of the quickest; without what Python does around a graph.
        kernels: in the order in which they run.
        kernel_seconds: of all kernels together, each run by itself.
        limit: the least time that these kernels can take on this machine: each at the peak of
            what limits it, products per second or bytes per second.
        floor: the least time that the products alone can take: no fusing of other kernels gets
            below it.
        peaks: what this machine can do at best.
        views: how many operations give views; they cost no more than their call.
        note: what else there is to know.
    """

    def __init__(self, name: str, how: str, record: Record, seconds: float, note: str = ""):
        self.name, self.how, self.note = name, how, note
        self.device, self.kernels, self.views = record.device, record.kernels, record.views
        self.threads = torch.get_num_threads()
        self.seconds = seconds
        self.peaks = peaks_of(record.device)
        for k in self.kernels:
            if k.cost.kind == "product" and k.cost.flops > SURE:
                self.peaks.raise_to(k.cost.flops / k.seconds, k.cost.dtype)
        for k in self.kernels:
            least, k.bound = self.peaks.seconds(k.cost.flops, k.cost.bytes, k.cost.dtype)
            k.limit = min(least, k.seconds)
        self.kernel_seconds = sum(k.seconds for k in self.kernels)
        self.limit = sum(k.limit for k in self.kernels)
        self.floor = sum(self.peaks.seconds(k.cost.flops, 0, k.cost.dtype)[0]
                         for k in self.kernels if k.cost.kind in ARITHMETIC)

    @property
    def kinds(self) -> list[Sum]:
        """By kind of kernel, the longest first."""
        found = _sums((k.cost.kind, k) for k in self.kernels)
        return sorted(found, key=lambda s: (-s.seconds, KINDS.index(s.label)))

    @property
    def phases(self) -> list[Sum]:
        """Forward, backward, update; in this order."""
        return _sums((k.line.phase or "forward", k) for k in self.kernels)

    @property
    def groups(self) -> list[Sum]:
        """Kernels alike, of the same line of the user's; the longest first."""
        found = _sums(((k.name, k.cost, k.line), k) for k in self.kernels)
        for group in found:
            group.label = group.first.name
        return sorted(found, key=lambda s: -s.seconds)

    @property
    def products(self) -> Sum:
        """Everything that multiplies: products, convolutions, attention, recurrent layers."""
        return Sum("products", [k for k in self.kernels if k.cost.kind in ARITHMETIC])

    @property
    def rates(self) -> dict[str, float]:
        """The peaks of products in the types that the kernels compute in."""
        types = dict.fromkeys(k.cost.dtype for k in self.kernels if k.cost.flops)
        return {t: self.peaks.flops[t] for t in types if t in self.peaks.flops}

    def to_dict(self) -> dict[str, Any]:
        """All numbers, as what JSON can hold; seconds, floating-point operations and bytes."""
        return {
            "name": self.name, "how": self.how, "device": str(self.device),
            "threads": self.threads, "seconds": self.seconds, "note": self.note,
            "kernel_seconds": self.kernel_seconds, "limit": self.limit, "floor": self.floor,
            "views": self.views,
            "peaks": {"flops": self.rates,
                      "bandwidth": {str(k): v for k, v in self.peaks.bandwidth.items()}},
            "kinds": [s.to_dict() for s in self.kinds],
            "phases": [s.to_dict() for s in self.phases],
            "kernels": [{"name": k.name, **k.cost._asdict(), "seconds": k.seconds,
                         "limit": k.limit, "bound": k.bound, "file": k.line.file,
                         "line": k.line.number, "phase": k.line.phase} for k in self.kernels]}


def _sums(pairs: Iterable[tuple[Any, Kernel]]) -> list[Sum]:
    found: dict[Any, list[Kernel]] = {}
    for key, kernel in pairs:
        found.setdefault(key, []).append(kernel)
    return [Sum(key if isinstance(key, str) else "", members) for key, members in found.items()]
