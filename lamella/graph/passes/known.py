"""Values that are the same in every run of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..ir.operations import must_stay
from .constants import MOST_BYTES
from .forms import form_of
from .memory import Memory

aten = torch.ops.aten


class Known:
    """What can be known of values without a run.

    Those are constants that have been computed beforehand, tensors that the recorded function made
    of numbers, and what is computed from these; never what is changed.
    """

    def __init__(self, module: GraphModule, inputs: Sequence[torch.Tensor], memory: Memory):
        starts = [n for n in module.graph.nodes if n.op == "placeholder"]
        self.given = dict(zip(starts, inputs, strict=True))
        self.module, self.memory = module, memory
        self.found: dict[Node, torch.Tensor | None] = {}

    def value(self, node: Any) -> torch.Tensor | None:
        """The value of a node; None if it isn't known."""
        if node not in self.found:
            self.found[node] = self._value(node)
        return self.found[node]

    def number(self, value: Any) -> float | None:
        """A number, written out or as a tensor of one element; None if it isn't known."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        found = self.value(value) if isinstance(value, Node) else None
        return float(found) if found is not None and found.numel() == 1 else None

    def _value(self, node: Node) -> torch.Tensor | None:
        if node.op == "get_attr":
            return self._attribute(node) if str(node.target).startswith("folded_") else None
        if node.op != "call_function" or must_stay(node) or self.memory.writes(node):
            return None
        if node.target is aten.lift_fresh_copy.default:  # of what was written as a number
            source = node.args[0]
            assert isinstance(source, Node)
            if self.memory.writes(source):
                return None
            if source.op == "placeholder" and str(source.target).startswith("constant_"):
                return self.given[source]
            return self._attribute(source)
        form, needed = form_of(node), node.all_input_nodes
        if form is None or not needed or form.size * form.dtype.itemsize > MOST_BYTES:
            return None
        values = {n: self.value(n) for n in needed}
        if any(value is None for value in values.values()):
            return None
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.get)  # type: ignore
        with torch.no_grad():
            return node.target(*args, **kwargs)  # type: ignore[operator]

    def _attribute(self, node: Node) -> torch.Tensor | None:
        value = getattr(self.module, str(node.target), None) if node.op == "get_attr" else None
        return value if isinstance(value, torch.Tensor) else None
