"""Captured graphs of the simulated device, by the rules that PyTorch documents for CUDA's.

A capture computes nothing: its results are not there before the first replay. There is one at a
time, on a stream of the device that isn't its default one. What makes the host wait ends it, in
other threads too unless it is captured for this one alone; so do generators that it doesn't know. A
replay reads and writes the memory of the capture, and draws on from where generators are.
"""

from __future__ import annotations

import itertools
import sys
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_NOT_PERMITTED = "operation not permitted when stream is capturing"
_WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "_unique2", "equal", "item")
_handles = itertools.count(1)
_capturing: list[Any] = []


def pool_handle() -> tuple[int, int]:
    """A new pool."""
    return 0, next(_handles)


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


class _Recording(TorchDispatchMode):
    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = graph

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given, name = _tensors((args, kwargs)), func._schema.name.removeprefix("aten::")
        kinds = {t.device.type for t in given if t.dim()}
        if name in _WAITING or len(kinds) > 1:  # a copy between the host and the device too
            self.graph.is_valid = False
            raise RuntimeError(_NOT_PERMITTED)
        generator = kwargs.get("generator")
        if generator is not None and not self.graph.knows(generator):
            self.graph.is_valid = False
            raise RuntimeError("a generator that isn't registered with the graph")
        found = func(*args, **kwargs)
        made = _tensors(found)
        if any(t.device.type == "simulated" for t in (*given, *made)):
            self.graph.calls.append((func, args, kwargs, made))
        return found


class Graph:
    """What ``torch.cuda.CUDAGraph`` is."""

    def __init__(self):
        self.calls: list[Any] = []
        self.generators: list[torch.Generator] = []
        self.is_valid = True
        self.is_complete = False

    def register_generator_state(self, generator: torch.Generator) -> None:
        """Let the graph draw from a generator, in each replay from where that is."""
        self.generators.append(generator)

    def knows(self, generator: torch.Generator) -> bool:
        """Whether it may draw from a generator, of which this may be another Python object."""
        state = generator.get_state()
        return any(torch.equal(state, known.get_state()) for known in self.generators)

    def replay(self) -> None:
        """Run the kernels again on their memory."""
        assert self.is_complete, "replay without a capture"
        for func, args, kwargs, made in self.calls:
            for old, new in zip(made, _tensors(func(*args, **kwargs)), strict=True):
                if old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class Capture:
    """What ``torch.cuda.graph`` is."""

    default_stream: Any = None

    def __init__(self, graph: Graph, pool: Any = None, stream: Any = None,
                 capture_error_mode: str = "global"):
        if stream is None and Capture.default_stream is None:
            Capture.default_stream = torch.Stream("simulated")
        self.graph, self.mode = graph, capture_error_mode
        self.stream = Capture.default_stream if stream is None else stream
        self.backend = sys.modules["simulated"]

    def __enter__(self) -> None:
        index = self.backend.current_device()
        if _capturing:
            raise RuntimeError("another capture is under way")
        if self.stream.device.index != index or self.stream.stream_id == 0:
            raise RuntimeError("a capture needs a stream of the current device, not its default")
        self.before = torch.accelerator.current_stream()
        torch.accelerator.set_stream(self.stream)
        _capturing.append(self.graph)
        self.graph.generators += torch.get_device_module("simulated").default_generators
        self.states = [generator.get_state() for generator in self.graph.generators]
        self.written = self.backend.counts()
        self.recording = _Recording(self.graph)
        self.recording.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.recording.__exit__(*error)
        _capturing.clear()
        for generator, state in zip(self.graph.generators, self.states, strict=True):
            generator.set_state(state)
        waited = self.backend.counts()
        if not self.graph.is_valid or (self.mode == "global" and waited):
            raise RuntimeError("operation failed due to a previous error during capture")
        for *_, made in self.graph.calls:  # nothing has been computed
            for raw in made:
                if not any(_shares(raw, t) for call in self.graph.calls
                           for t in _tensors(call[1:3]) if not _is_made(t, self.graph)):
                    raw.view(torch.uint8).fill_(255) if raw.is_contiguous() and raw.dim() else None
        self.graph.is_complete = True
        torch.accelerator.set_stream(self.before)  # not after a failure: as PyTorch's


def _is_made(raw: torch.Tensor, graph: Graph) -> bool:
    return any(raw is made for *_, results in graph.calls for made in results)


def _shares(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
