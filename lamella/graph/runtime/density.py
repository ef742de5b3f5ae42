"""The share of a graph's time in dense library kernels, which compiled code calls as well."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.fx import GraphModule, Interpreter, Node

RUNS = 3  # the shortest time of each kernel counts, since other programs disturb the rest
LONG = 1.0  # seconds of a run that is enough by itself, if no kernel takes half of it

_DENSE = ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward",
          "mkldnn_rnn_layer", "mkldnn_rnn_layer_backward", "_linear_pointwise", "few_rows",
          "_convolution_pointwise", "attention", "attention_backward",
          "few_queries_attention")


def is_dense(target: Any) -> bool:
    """Whether an operation is a product, a convolution, attention or a recurrent layer."""
    name = str(target).split(".")[1:2]
    return bool(name) and (name[0] in _DENSE or "scaled_dot_product" in name[0])


def dense_share(module: GraphModule, values: list[torch.Tensor]) -> float:
    """The share of a run's time that dense operations take; 0 on other devices than the CPU.

    Args:
        module: a graph that changes nothing.
        values: its inputs.
    """
    if any(v.device.type != "cpu" for v in values):
        return 0.0
    timed = _Timed(module)
    with torch.enable_grad():
        for _ in range(RUNS):
            timed.run(*values)
            if (whole := sum(timed.least.values())) > LONG and max(
                    timed.least.values()) < whole / 2:
                break
    dense = sum(took for node, took in timed.least.items() if is_dense(node.target))
    return dense / max(sum(timed.least.values()), 1e-9)


class _Timed(Interpreter):
    """Runs a graph, and times its kernels: the least seconds of each over all runs."""

    def __init__(self, module: GraphModule):
        super().__init__(module)
        self.least: dict[Node, float] = {}

    def run_node(self, n: Node) -> Any:
        self._node = n
        return super().run_node(n)

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        start = time.perf_counter()
        found = super().call_function(target, args, kwargs)
        took = time.perf_counter() - start
        self.least[self._node] = min(took, self.least.get(self._node, took))
        return found
