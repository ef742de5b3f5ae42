"""The share of a graph's time in dense library kernels, which compiled code calls as well."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.fx import Node

from ..ir.interpreter import interpret
from ..ir.stages import Part

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


def dense_share(part: Part, values: list[torch.Tensor]) -> float:
    """The share of a run's time that dense operations take; 0 on other devices than the CPU.

    Args:
        part: of a graph, that changes nothing.
        values: its inputs.
    """
    if any(v.device.type != "cpu" for v in values):
        return 0.0
    least: dict[Node, float] = {}  # the least seconds of each kernel over all runs

    def timed(node: Node, args: tuple, kwargs: dict) -> Any:
        start = time.perf_counter()
        found = node.target(*args, **kwargs)  # type: ignore[operator]
        took = time.perf_counter() - start
        least[node] = min(took, least.get(node, took))
        return found

    with torch.enable_grad():
        for _ in range(RUNS):
            interpret(part.root, part.nodes, dict(zip(part.inputs, values, strict=True)), (),
                      timed)
            if (whole := sum(least.values())) > LONG and max(least.values()) < whole / 2:
                break
    dense = sum(took for node, took in least.items() if is_dense(node.target))
    return dense / max(sum(least.values()), 1e-9)
