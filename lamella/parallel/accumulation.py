"""Gradients added up over the parts of a batch, in Parameters of the program's.

In MindSpore's parallel modes, where a network runs part by part (`GradAccumulationCell`,
`PipelineCell`), its compiler adds each weight's gradient to the weight's twin from
``ParameterTuple.clone("accu_grads")``. A step of the program's own reads these and sets them to 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..nn.cell import Cell
from ..nn.wrap.micro_batch import _MicroBatch
from ..tensors.parameter import collector_of

__all__ = ["collect"]


def collect(function: Any, weights: Sequence[Any], gradients: Sequence[Any]) -> None:
    """Add the gradients to their weights' collectors, if `function` runs part by part."""
    pairs = [(twin, gradient) for weight, gradient in zip(weights, gradients, strict=True)
             if (twin := collector_of(weight)) is not None]
    if not pairs or not _runs_by_parts(function):
        return
    for twin, gradient in pairs:
        twin.assign_raw(twin._raw + gradient._raw)


def _runs_by_parts(function: Any) -> bool:
    return isinstance(function, Cell) and any(
        isinstance(cell, _MicroBatch) for _, cell in function.cells_and_names())
