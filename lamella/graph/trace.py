"""One run of a function, recorded as a graph of kernels.

The function runs for real, below autograd, while every kernel it calls is recorded: forward,
backward, clipping and the optimizer's update become one graph. Parameters it can reach are lent
copies of their data meanwhile, so that a run that raises changes nothing. Where the function turns
a tensor into
a Python value, the value is noted as a *guard*: the graph stands for this path only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import (
    disable_proxy_modes_tracing,
    make_fx,
)

from ..autodiff.tree import map_tensors, tensors
from ..parameter import Parameter
from ..state import state
from ..tensor import wrap
from .reach import Reach


class CannotTrace(BaseException):
    """The function does what no graph can hold; it says what."""


class Trace:
    """A run being recorded, and afterwards what it read, changed and gave.

    Attributes:
        parameters: those lent to the run; their data are inputs of the graph after the arguments.
        guards: the raw tensors that were turned into Python values, and the values.
        attributes: by Cell and name, what the run assigned to attributes of Cells.
    """

    def __init__(self, parameters: list[Parameter]):
        self.parameters = parameters
        self.guards: list[tuple[torch.Tensor, Any]] = []
        self.attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.assigned: list[Parameter] = []
        self.out_tree: Any = None
        self.value: Any = None
        self.graph: GraphModule | None = None

    def peek(self, raw: torch.Tensor) -> Any:
        """The Python value of a one-element tensor."""
        with disable_proxy_modes_tracing():
            return raw.detach().clone().item()

    def guard(self, raw: torch.Tensor) -> Any:
        """The Python value of a one-element tensor, noted as what this path stands for."""
        value = self.peek(raw)
        self.guards.append((raw.detach(), value))
        return value

    def refuse(self, what: str) -> None:
        """Say that the run does something no graph can hold."""
        raise CannotTrace(what)

    def note_attribute(self, cell: Any, name: str, value: Any) -> None:
        """Remember that the run assigned an attribute of a Cell."""
        self.attributes[id(cell), name] = (cell, name, value)


def run_traced(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reach) -> Trace:
    """Run `fn` and record the run.

    Raises:
        CannotTrace: if no graph can hold it; nothing was changed then.
    """
    trace = Trace(reach.parameters)
    originals = [p._data for p in trace.parameters]
    lent = [data.clone() for data in originals]
    inputs = [t._raw for t in tensors((args, kwargs)) if not isinstance(t, Parameter)]

    def recorded(*raws: torch.Tensor) -> list[torch.Tensor]:
        flat, data = iter(raws), raws[len(inputs):]
        given, named = map_tensors(
            lambda t: t if isinstance(t, Parameter) else wrap(next(flat)), (args, kwargs))
        for parameter, copy in zip(trace.parameters, data, strict=True):
            parameter._data = copy
        state.trace = trace
        try:
            out = fn(*given, **named)
        finally:
            state.trace = None
        return _results(trace, out, data)

    try:
        graph = make_fx(recorded, tracing_mode="real")(*inputs, *lent)
        _refuse_unholdable(graph)
        trace.graph = _cleaned(graph)
    except RuntimeError as error:
        if "tracing tensor" in str(error) or "data-dependent" in str(error):
            raise CannotTrace("turns a tensor into a Python value inside a kernel") from error
        raise
    finally:
        for parameter, data in zip(trace.parameters, originals, strict=True):
            parameter._data = data
    for data, copy in zip(originals, lent, strict=True):
        data.copy_(copy)
    return trace


def _results(trace: Trace, out: Any, data: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Everything the graph has to give: guards, outputs, assigned Parameters, attributes."""
    assigned = [(p, p._data) for p, lent in zip(trace.parameters, data, strict=True)
                if p._data is not lent]
    trace.assigned = [p for p, _ in assigned]
    noted = [value for _, _, value in trace.attributes.values()]
    trace.out_tree = (out, noted)
    given = [t._raw.detach() for t in tensors(trace.out_tree)]
    with disable_proxy_modes_tracing():
        trace.value = [raw.detach() for raw in given], [raw.detach() for _, raw in assigned]
    return [*(raw for raw, _ in trace.guards), *given, *(raw for _, raw in assigned)]


_IMPURE = ("native_batch_norm", "_native_batch_norm_legit.default", "cudnn_batch_norm",
           "miopen_batch_norm", "_batch_norm_with_update")


def _must_stay(node: Node) -> bool:
    """Whether a node does more than give a value: changes memory, or draws random numbers."""
    if node.op in ("placeholder", "output"):
        return True
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    tags = getattr(node.target, "tags", ())
    return (schema.is_mutable or torch.Tag.nondeterministic_seeded in tags
            or any(name in str(node.target) for name in _IMPURE))


def _cleaned(graph: GraphModule) -> GraphModule:
    """The graph without what nothing uses, and without `detach`: there is no tape."""
    for node in list(graph.graph.nodes):
        if node.target is torch.ops.aten.detach.default:
            node.replace_all_uses_with(node.args[0])
    graph.graph.eliminate_dead_code(is_impure_node=_must_stay)
    graph.recompile()
    return graph


def _refuse_unholdable(graph: GraphModule) -> None:
    for node in graph.graph.nodes:
        tags = getattr(node.target, "tags", ())
        if torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags:
            raise CannotTrace(f"calls {node.target}, whose result depends on values for its shape")
