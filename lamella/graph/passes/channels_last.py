"""Converts convolutions, pools and their neighbours to the layout with channels last.

The graph is run while it is rewritten, up to where it mutates its inputs, so each layout is known
and not guessed. A value keeps the layout of its kernel until an operation that depends on strides
reads it.

Each kernel that gets another layout is compared with the recorded one on the same values. Results
of whole graphs would differ by more than rounding, since rounding in one kernel decides on which
side of a kink, such as a ReLU's, a value falls.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ...machine.memory import returning_freed_memory
from ..ir.agreement import agree_but_for_kinks, in_another_order, next_to
from ..ir.lazy_module import KernelGraph
from ..ir.metadata import meta_of, meta_of_value
from ..ir.operations import last_uses, written_by
from ..ir.stages import ending_of
from ..ir.streams import generators_restored, streams_of
from .memory import Memory
from .trial import copies

aten = torch.ops.aten

# the operations to rewrite, with the positions of the arguments that become channels-last
CONVOLUTIONS: dict[Any, tuple[int, ...]] = {
    aten.convolution.default: (0,), aten.convolution_backward.default: (0, 1)}
WANTING = {**CONVOLUTIONS, aten.max_pool2d_with_indices.default: (0,)}
FEW = 16  # channels; fewer don't fill a vector

# operations that accept any layout and pass it on to their results
_FOLLOWING = {
    aten.native_batch_norm.default, aten.native_batch_norm_backward.default,
    aten.cudnn_batch_norm.default, aten.cudnn_batch_norm_backward.default,
    aten._native_batch_norm_legit_functional.default, aten._native_batch_norm_legit.no_stats,
    aten.max_pool2d_with_indices.default, aten.max_pool2d_with_indices_backward.default,
    aten.avg_pool2d.default, aten.avg_pool2d_backward.default,
    aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d_backward.default,
    aten.mean.dim, aten.mean.default, aten.sum.dim_IntList, aten.sum.default,
    aten._to_copy.default, operator.getitem,
}


class Refused(Exception):
    """The graph can't be rewritten in this layout."""


def channels_last(module: GraphModule, inputs: Sequence[torch.Tensor], known: bool = False
                  ) -> GraphModule | None:
    """The graph with convolutions and max pools on channels-last tensors.

    Args:
        known: whether an earlier process has found that each kernel has the same results.

    Returns:
        The graph, with ``meta["verified"]``; None if there are none of these operations, or if a
        kernel has other results in this layout.
    """
    if not any(map(_planes, module.graph.nodes)):
        return None
    try:
        return _Rewriting(module, inputs, known).done()
    except Refused:
        return None


def _planes(node: Node) -> bool:
    """Whether an operation is to be rewritten."""
    if node.target not in WANTING:
        return False
    meta = meta_of(node.args[WANTING[node.target][0]])
    return meta is not None and len(meta.shape) == 4 and not _is_unsafe(node)


def _is_unsafe(node: Node) -> bool:
    """Whether oneDNN's gradient writes out of bounds: 1 x 1 windows, strides, few channels."""
    if node.target not in CONVOLUTIONS:
        return False
    place = len(CONVOLUTIONS[node.target])  # of the weights
    weight, stride = meta_of(node.args[place]), node.args[place + 2]
    return (weight is None or weight.shape[1] < FEW and weight.shape[2:] == (1, 1)
            and set(stride) != {1})  # type: ignore[arg-type]


class _Rewriting:
    """One rewriting of a graph, node by node.

    Attributes:
        ending: the nodes that aren't run: those from where inputs are mutated, if no operation
            is to be rewritten there.
        new: for each node, its replacement.
        values: for each node, its value in this run, in the layout that it has in the new graph.
    """

    def __init__(self, module: GraphModule, inputs: Sequence[torch.Tensor], known: bool):
        self.module, self.known = module, known
        self.graph = KernelGraph()
        self.memory = Memory(module.graph)
        self.new: dict[Node, Node] = {}
        self.values: dict[Node, Any] = {}
        self.restored: dict[Node, tuple[Node, Any]] = {}
        self.last = last_uses(module.graph.nodes)
        self.streams = streams_of(module)
        ending = ending_of(module)
        self.ending = set() if any(map(_planes, ending)) else ending
        given = iter([x.detach() for x in inputs] if self.ending else copies(module, inputs))
        # nothing requires a gradient
        with (torch.enable_grad(), generators_restored(self.streams),
              returning_freed_memory()):
            for node in module.graph.nodes:
                if node.op == "placeholder":
                    self._keep(node, self.graph.node_copy(node), next(given))
                elif node.op == "get_attr":
                    self._keep(node, self.graph.node_copy(node), getattr(module, node.target))
                elif node.op == "output":
                    found = torch.fx.map_arg(node.args[0], lambda n: self._as_recorded(n)[0])
                    self.graph.output(found)
                elif node in self.ending:
                    self._copy(node)
                else:
                    self._call(node)
                for dead in self.last[node]:  # frees them, as a usual run does
                    self.values.pop(dead, None)
                    self.restored.pop(dead, None)

    def done(self) -> GraphModule:
        found = GraphModule(self.module, self.graph)
        found.meta["verified"] = True
        return found

    def _keep(self, node: Node, new: Node, value: Any) -> None:
        meta = meta_of_value(value)
        new.meta["tensor_meta"] = meta
        if meta is not None and self.memory.writes(node) and not self.memory.is_view(node):
            new, value = self._in_layout_of(node, new, value)  # before anything reads it
        self.new[node], self.values[node] = new, value

    def _call(self, node: Node) -> None:
        wanted = WANTING[node.target] if _planes(node) else None
        follows = wanted is not None or (
            node.target in _FOLLOWING or torch.Tag.pointwise in getattr(node.target, "tags", ()))
        changed = written_by(node, self.memory.bases)
        # a convolution converts its weights itself, and a copy would live until its gradient
        mixed = wanted is None and follows and any(
            _is_last(self.values[n]) for n in node.all_input_nodes)

        def new_of(argument: Node) -> tuple[Node, Any]:
            if wanted is not None and any(node.args[i] is argument for i in wanted):
                return self._last(argument)
            if not changed.isdisjoint(self.memory.bases[argument]):
                return self.new[argument], self.values[argument]
            if mixed and _is_first(self.values[argument]):
                return self._last(argument)  # one conversion, not one for each later result
            if follows:
                return self.new[argument], self.values[argument]
            return self._as_recorded(argument)

        found = {n: new_of(n) for n in node.all_input_nodes}
        new = self.graph.node_copy(node, lambda n: found[n][0])
        given = {n: value for n, (_, value) in found.items()}
        written = [n for n in given if not changed.isdisjoint(self.memory.bases[n])]
        is_same = self.known or all(_has_form(v, n) for n, v in given.items())
        result = _called(node, given) if is_same else self._compared(node, given, written)
        self._keep(node, new, result)

    def _copy(self, node: Node) -> None:
        """Add a node that isn't run; it gets its arguments in their recorded layouts."""
        changed = written_by(node, self.memory.bases)
        self.new[node] = self.graph.node_copy(node, lambda n: self._as_recorded(n)[0]
                                              if changed.isdisjoint(self.memory.bases[n])
                                              else self.new[n])

    def _compared(self, node: Node, given: dict[Node, Any], written: list[Node]) -> Any:
        """The result of a kernel on arguments in a new layout, if it equals the recorded one's."""
        before = {n: given[n].clone() for n in written}

        def recorded(change: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
            own = {n: _as_meta(change(before[n].clone() if n in before else v), n)
                   if isinstance(v, torch.Tensor) else v for n, v in given.items()}
            with generators_restored(self.streams):
                return [*_tensors(_called(node, own)), *(own[n] for n in written)]

        wanted = recorded(lambda x: x)
        result = _called(node, given)
        factor = in_another_order(_tensors(list(given.values())), wanted)
        if not agree_but_for_kinks(wanted, [*_tensors(result), *(given[n] for n in written)],
                                   lambda: recorded(next_to), factor):
            raise Refused(str(node))
        return result

    def _last(self, node: Node) -> tuple[Node, Any]:
        """A value with its channels last, itself if they are."""
        new, value = self.new[node], self.values[node]
        if value.is_contiguous(memory_format=torch.channels_last):
            return new, value
        return self._cloned(new, value, torch.channels_last)

    def _as_recorded(self, node: Node) -> tuple[Node, Any]:
        """A value in the layout that it had when the graph was recorded."""
        if node in self.ending:
            return self.new[node], None
        if node not in self.restored:
            self.restored[node] = self._in_layout_of(node, self.new[node], self.values[node])
        return self.restored[node]

    def _in_layout_of(self, node: Node, new: Node, value: Any) -> tuple[Node, Any]:
        meta = meta_of(node)
        if meta is None or value.stride() == meta.stride:
            return new, value
        clone, copy = self._cloned(new, value, torch.contiguous_format)
        if copy.stride() != meta.stride:
            raise Refused(str(node))
        return clone, copy

    def _cloned(self, new: Node, value: torch.Tensor,
                layout: torch.memory_format) -> tuple[Node, torch.Tensor]:
        clone = self.graph.call_function(aten.clone.default, (new,), {"memory_format": layout})
        copy = value.clone(memory_format=layout)
        clone.meta["tensor_meta"] = meta_of_value(copy)
        return clone, copy


def _called(node: Node, given: dict[Node, Any]) -> Any:
    """The result of a node for these values of its inputs."""
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), given.__getitem__)
    return node.target(*args, **kwargs)  # type: ignore[operator]


def _tensors(result: Any) -> list[torch.Tensor]:
    return [x for x in (result if isinstance(result, (tuple, list)) else [result])
            if isinstance(x, torch.Tensor)]


def _has_form(value: Any, node: Node) -> bool:
    """Whether a value has the strides that were recorded for it, or there is no record."""
    meta = meta_of(node)
    return meta is None or value.stride() == meta.stride


def _as_meta(value: torch.Tensor, node: Node) -> torch.Tensor:
    """A value in the metadata that was recorded for it."""
    meta = meta_of(node)
    return value if meta is None or value.stride() == meta.stride else meta.copied(value)


def _is_last(value: Any) -> bool:
    """Whether a value is channels-last and not contiguous as well."""
    return (isinstance(value, torch.Tensor) and value.dim() == 4 and not value.is_contiguous()
            and value.is_contiguous(memory_format=torch.channels_last))


def _is_first(value: Any) -> bool:
    return (isinstance(value, torch.Tensor) and value.dim() == 4 and value.is_contiguous()
            and not value.is_contiguous(memory_format=torch.channels_last))
