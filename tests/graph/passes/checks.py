"""What every pass promises: the same results, the same changes of inputs, the same random draws."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.fx import GraphModule

import lamella as ms
from lamella import nn
from lamella.graph.ir.metadata import copy_of
from lamella.graph.passes import plain
from lamella.graph.tracing.recorder import Recorder


def recorded(function: Callable, *inputs: torch.Tensor) -> GraphModule:
    """The kernels that a function calls; tensors that it holds are attributes of the graph."""
    given = [copy_of(x) for x in inputs]
    recorder = Recorder(given)
    with recorder:
        found = function(*given)
    graph = recorder.finished([found] if isinstance(found, torch.Tensor) else found)
    places = [n for n in graph.graph.nodes if n.op == "placeholder"][len(given):]
    for place, value in zip(places, recorder.constants, strict=True):
        graph.register_buffer(place.name, value)
        with graph.graph.inserting_before(place):
            kept = graph.graph.get_attr(place.name)
        kept.meta.update(place.meta)
        place.replace_all_uses_with(kept)
        graph.graph.erase_node(place)
    return graph


def count(graph: GraphModule, *names: str) -> int:
    """How many operations have one of these names, such as "mm"."""
    return sum(str(n.target).split(".")[1] in names for n in graph.graph.nodes
               if n.op == "call_function" and str(n.target).startswith(
                   ("aten.", "mkldnn.", "lamella.")))


def check_same(graph: GraphModule, other: GraphModule, inputs: Sequence[torch.Tensor],
               tolerance: float = 1e-5) -> None:
    """Run both on copies of the inputs, twice, and compare everything there is to see."""
    first, second = [copy_of(x) for x in inputs], [copy_of(x) for x in inputs]
    for _ in range(2):
        torch.manual_seed(3)
        wanted = graph(*first)
        drawn = torch.rand(())
        torch.manual_seed(3)
        got = other(*second)
        assert torch.rand(()) == drawn
        wanted, got = [[x] if isinstance(x, torch.Tensor) else list(x) for x in (wanted, got)]
        for a, b in zip([*wanted, *first], [*got, *second], strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
            torch.testing.assert_close(b, a, rtol=tolerance, atol=tolerance)
        memory = {x.untyped_storage().data_ptr() for x in got}
        assert len(memory) == len({x.untyped_storage().data_ptr() for x in wanted})


def take_every_form(monkeypatch: pytest.MonkeyPatch, kernel: ModuleType, rewriting: ModuleType
                    ) -> None:
    """Let a pass take every form, whether its kernel is faster here or not.

    Args:
        kernel: the module of the kernel in C++.
        rewriting: the module of the pass.
    """
    if kernel.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    monkeypatch.setattr(rewriting, "SMALLEST", 1)
    monkeypatch.setattr(rewriting.known, "find", lambda *args: "fused")


def check_fused(fuse: Callable[[GraphModule, bool], int], function: Callable,
                inputs: Sequence[torch.Tensor], ours: Sequence[str], tolerance: float
                ) -> GraphModule:
    """The graph of a function once a pass has put our kernels into it, if its results agree.

    Those of the same graph without our kernels, for compilers that don't know them, have to, too.

    Args:
        ours: the names of these kernels.
    """
    graph, better = recorded(function, *inputs), recorded(function, *inputs)
    made = fuse(better, True)
    better.recompile()
    assert made == count(better, *ours)  # as the pass says
    check_same(graph, better, inputs, tolerance)
    its = plain(better)
    assert count(its, *ours) == 0
    check_same(graph, its, inputs, tolerance)
    return better


def used(run: Callable[[], object]) -> tuple[int, int]:
    """The bytes of tensors that a call allocates: at its peak, and after it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*clears events at the end of each cycle")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                    profile_memory=True) as found:
            run()
    events = [e for e in found.profiler.kineto_results.events() if e.name() == "[memory]"]
    alive = most = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        alive += event.nbytes()
        most = max(most, alive)
    return most, alive


def losses_of(forward: Callable[..., ms.Tensor], optimizer: nn.Optimizer, x: ms.Tensor, count: int,
              wrap: Callable[..., Callable[..., ms.Tensor]], half: bool) -> np.ndarray:
    """The losses of training steps, which `wrap` may compile; in mixed precision if `half`."""
    if half:
        forward = ms.amp.auto_mixed_precision(forward, "auto", ms.bfloat16)
    gradient = ms.value_and_grad(forward, None, optimizer.parameters)

    @wrap
    def step(x):
        loss, gradients = gradient(x)
        optimizer(gradients)
        return loss

    return np.array([float(step(x)) for _ in range(count)])
