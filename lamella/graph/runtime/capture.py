"""Captured graphs: the kernels of a stage launched at once, instead of one after another.

See "Accelerating PyTorch with CUDA Graphs" (Nguyen, Carilli, Eryilmaz and others, 2021) for what
may be captured. Each launch costs the CPU some microseconds; a captured stage needs only one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ...core.forking import Lock
from ...device import kinds
from ..ir.metadata import TensorMetadata
from ..ir.streams import generators_restored
from .autotuner import Run, Values

MOST = 256  # captured stages of a device: each keeps its inputs and results in memory
WARM = 3  # runs before the capture, in which libraries make their workspaces


class Device:
    """What the captured graphs of one device share.

    They share a pool of memory, so a replay may overwrite what another has left there: replays take
    turns, and results are copied out before the next one begins.

    Attributes:
        lock: held while a graph is captured or replayed.
        count: how many graphs there are.
    """

    def __init__(self, device: torch.device, graphs: kinds.Graphs):
        self.device, self.graphs = device, graphs
        self.module = kinds.module_of(device.type)
        self.lock = Lock()
        self.count = 0
        self.pool = graphs.pool()
        self.stream = self.module.Stream(device)  # for captures
        self.last: Any = None  # the stream of the last replay

    def renew_pool(self) -> None:
        """Take another pool: a capture that fails leaves its pool as one that is captured into."""
        kinds.abandon(self.device, self.pool)
        self.pool = self.graphs.pool()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A block that begins after all replays before it, also on the device."""
        with self.lock:
            here = self.module.current_stream(self.device)
            if self.last is not None and self.last != here:
                here.wait_stream(self.last)
            self.last = here
            yield

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A block on the stream for captures, which is left again whatever happens."""
        with self.module.device(self.device):
            before = self.module.current_stream(self.device)
            self.stream.wait_stream(before)
            try:
                with self.module.stream(self.stream):
                    yield
            finally:  # a capture that fails leaves the thread on its stream
                self.module.set_stream(before)
                before.wait_stream(self.stream)


@functools.cache
def _shared(device: torch.device) -> Device | None:
    graphs = kinds.graphs_of(device)
    return None if graphs is None else Device(device, graphs)


class Captured:
    """A run of a stage captured once, then replayed on the memory it was captured with.

    Args:
        run: computes the stage's results, without side effects.
        values: its inputs; all on one device that captures graphs.
        stays: for each, whether its address is the same in every run, as those of Parameters. The
            others are copied into the buffers that the captured kernels read.
        streams: the generators that it may draw from.

    Raises:
        ValueError: if an input is on another device, or there is none, or too many graphs.
        RuntimeError: if its kernels can't be captured.
    """

    def __init__(self, run: Run, values: Values, stays: list[bool],
                 streams: Sequence[torch.Generator] = ()):
        shared = _shared(values[0].device) if values else None
        if shared is None or any(v.device != values[0].device for v in values):
            raise ValueError("captured graphs need all inputs on one device that has them")
        if shared.count >= MOST:
            raise ValueError(f"there are {MOST} captured graphs already")
        self.run, self.stays, self.shared = run, stays, shared
        self.buffers = [None if fixed else _span(v).clone()
                        for v, fixed in zip(values, stays, strict=True)]
        self.inputs = [v if flat is None else flat.as_strided(v.shape, v.stride())
                       for v, flat in zip(values, self.buffers, strict=True)]
        self.places = [v.data_ptr() for v in self.inputs]
        with shared.turn(), generators_restored(streams), shared.aside():
            for _ in range(WARM):
                run(self.inputs)
            self.graph = shared.graphs.make()
            for stream in streams:
                if stream.device == shared.device and not _is_default(stream):
                    self.graph.register_generator_state(stream)
            # other threads may do what a capture forbids
            try:
                with shared.graphs.capture(self.graph, pool=shared.pool, stream=shared.stream,
                                           capture_error_mode="thread_local"):
                    self.outputs = run(self.inputs)
            except Exception:
                shared.renew_pool()
                raise
            shared.count += 1
        self.aliases = [_place_among(out, self.inputs) for out in self.outputs]

    def __del__(self):
        if hasattr(self, "outputs"):
            self.shared.count -= 1

    def __call__(self, values: Values) -> Values:
        """The results, in new memory; computed without capture if an input has moved."""
        for own, value, place, fixed in zip(self.inputs, values, self.places, self.stays,
                                            strict=True):
            if value.data_ptr() != place if fixed else own.stride() != value.stride():
                return self.run(values)
        with self.shared.turn():
            for flat, value in zip(self.buffers, values, strict=True):
                if flat is not None:
                    flat.copy_(_span(value))
            self.graph.replay()
            return self._copied(values)

    def _copied(self, values: Values) -> Values:
        """The results; what shares memory with an input, or another result, still does."""
        found: Values = []
        copies: dict[int, torch.Tensor] = {}
        for out, which in zip(self.outputs, self.aliases, strict=True):
            if which is not None:
                source, begin = values[which], self.inputs[which].storage_offset()
                start = out.storage_offset() - begin + source.storage_offset()
                found.append(source.as_strided(out.shape, out.stride(), start))
                continue
            key = out.untyped_storage().data_ptr()
            whole = copies.get(key)
            if whole is None:
                whole = copies[key] = _whole(out).clone()
            if whole.dtype is not out.dtype:  # a part of complex numbers, say
                whole = torch.empty(0, dtype=out.dtype, device=out.device).set_(
                    whole.untyped_storage())
            found.append(whole.as_strided(out.shape, out.stride(), out.storage_offset()))
        return found


def others_like(values: Values, stays: list[bool]) -> Values:
    """Inputs like these with other numbers, which a graph that replays old ones gets wrong.

    Numbers change places, so that each stays one that the stage has been given: an index, say.
    """
    return [v if fixed else _turned(v) for v, fixed in zip(values, stays, strict=True)]


def _turned(value: torch.Tensor) -> torch.Tensor:
    flat = _span(value)
    turned = flat.roll(1)
    if value.is_floating_point() and torch.equal(turned, flat):
        turned = flat * 0.5
    return turned.as_strided(value.shape, value.stride())


def _span(value: torch.Tensor) -> torch.Tensor:
    """The memory from a tensor's first element to its last, each of its elements once."""
    value = value.detach()
    span = TensorMetadata(value.shape, value.stride(), value.dtype, value.device).span
    return value.as_strided((span,), (1,))


def _whole(value: torch.Tensor) -> torch.Tensor:
    """All of the memory that a tensor lies in."""
    storage = value.untyped_storage()
    count = storage.nbytes() // value.element_size()
    return value.detach().as_strided((count,), (1,), 0)


def _place_among(out: torch.Tensor, inputs: Values) -> int | None:
    """Which input a result shares its memory with; None if it shares it with none."""
    storage = out.untyped_storage().data_ptr()
    return next((i for i, own in enumerate(inputs) if own.dtype is out.dtype and storage
                 and own.untyped_storage().data_ptr() == storage), None)


def _is_default(stream: torch.Generator) -> bool:
    return any(stream is default or stream == default
               for default in kinds.default_generators(stream.device.type))


def captures(values: Sequence[torch.Tensor]) -> bool:
    """Whether the device of a stage's inputs has captured graphs."""
    return bool(values) and kinds.graphs_of(values[0].device) is not None
