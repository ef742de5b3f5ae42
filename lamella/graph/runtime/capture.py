"""CUDA graphs: the kernels of a stage launched at once, instead of one after another.

See "Accelerating PyTorch with CUDA Graphs" (Nguyen, Carilli, Eryilmaz and others, 2021) for what
may be captured. Each launch costs the CPU some microseconds; a captured stage needs only one.
"""

from __future__ import annotations

import torch

from ..ir.forms import copy_of
from .autotuner import Run, Values


class Captured:
    """A run of a stage captured once, then replayed on the memory it was captured with.

    Args:
        run: computes the stage's results, without side effects.
        values: its inputs; all on one CUDA device.
        stays: for each, whether its address is the same in every run, as those of Parameters. The
            others are copied into the buffers that the captured kernels read.

    Raises:
        ValueError: if an input is on another device, or there is none.
        RuntimeError: if CUDA can't capture its kernels.
    """

    def __init__(self, run: Run, values: Values, stays: list[bool]):
        if not values or any(v.device != values[0].device or not v.is_cuda for v in values):
            raise ValueError("CUDA graphs need all inputs on one CUDA device")
        self.run = run
        self.stays = stays
        self.inputs = [v if fixed else copy_of(v) for v, fixed in zip(values, stays, strict=True)]
        self.places = [v.data_ptr() for v in self.inputs]
        with torch.cuda.device(values[0].device), torch.random.fork_rng([values[0].device]):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):  # libraries make their workspaces outside the capture
                run(self.inputs)
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.outputs = run(self.inputs)

    def __call__(self, values: Values) -> Values:
        """The results, in new memory; computed without capture if an input has moved."""
        for value, place, fixed in zip(values, self.places, self.stays, strict=True):
            if fixed and value.data_ptr() != place:
                return self.run(values)
        for own, value, fixed in zip(self.inputs, values, self.stays, strict=True):
            if not fixed and own.stride() != value.stride():
                return self.run(values)
        for own, value, fixed in zip(self.inputs, values, self.stays, strict=True):
            if not fixed:
                own.copy_(value)
        self.graph.replay()
        return [copy_of(found) for found in self.outputs]
