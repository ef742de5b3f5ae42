"""Runs the graphs of a MindIR file.

A graph's nodes are computed in the order of the file, which is that of their side effects. Control
flow is graphs that are values: `Partial` binds inputs of one, `Switch` chooses, and a loop is a
graph that ends by calling itself. Such a last call replaces the one that makes it, so loops of any
length take no more of Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...tensors.tensor import Tensor
from ..wire_format import Message
from .messages import TENSORS
from .operators import STRUCTURE, operator_of
from .values import Weights, value

__all__ = ["Program"]

_CALL = "REF::"
# node types that compute nothing: after a last call nothing but these may follow
_ORDER = frozenset(("Depend", "UpdateState", "MakeTuple", "Return"))


class _Closure(NamedTuple):
    """A graph as a value: with the values of the run that it was made in, and its first inputs."""

    graph: _Graph
    values: dict[str, Any]
    bound: tuple[Any, ...] = ()


class _Node(NamedTuple):
    """A step of a graph: what is called, with which values, and the name of its result."""

    function: Callable[..., Any] | None  # None: what `called` names
    called: str
    inputs: tuple[str, ...]
    output: str


class _Graph:
    """A graph's inputs, nodes and result, by names."""

    def __init__(self, message: Message, primitives: dict[str, tuple[str, Any]], weights: Weights):
        found: Any = message
        self.name: str = found.name
        self.inputs = tuple(each.name for each in found.input)
        self.constants: dict[str, Any] = {}
        self.nodes: list[_Node] = []
        kinds: list[str] = []
        for node in found.node:
            if len(node.output) != 1:
                raise ValueError(f"the node {node.name[:80]!r} has {len(node.output)} results")
            if node.op_type == "Constant":
                held = [each for each in node.attribute if each.name == "value"]
                if not held:
                    raise ValueError(f"the constant {node.output[0][:80]!r} has no value")
                self.constants[node.output[0]] = value(held[0], weights)
                continue
            name = node.op_type.removeprefix(_CALL)
            kind, function = primitives.get(name, ("", None))
            kinds.append(kind)
            self.nodes.append(_Node(function, name, tuple(node.input), node.output[0]))
        self.outputs = tuple(each.name for each in found.output)
        self.last = self._last_call(kinds)
        self.given = {*self.inputs, *self.constants, *(node.output for node in self.nodes)}
        self.used = {*self.outputs, *(name for node in self.nodes for name in node.inputs),
                     *(node.called for node in self.nodes if node.function is None)}
        self.free: set[str] = set()  # names of values from outside, see `_find_free`

    def _last_call(self, kinds: list[str]) -> int | None:
        """The node that calls a graph whose result is this graph's, where nothing follows it."""
        if len(self.outputs) != 1:
            return None
        places = {node.output: place for place, node in enumerate(self.nodes)}
        place = places.get(self.outputs[0])
        while place is not None and kinds[place] in ("Depend", "Return"):
            place = places.get(next(iter(self.nodes[place].inputs), ""))
        if place is None or self.nodes[place].function is not None:
            return None
        return place if all(kind in _ORDER for kind in kinds[place + 1:]) else None


class Program:
    """The function that a MindIR file describes.

    Args:
        model: the file's message.
        weights: reads its tensors.

    Attributes:
        parameters: the names of its Parameters in the graph.
    """

    def __init__(self, model: Message, weights: Weights):
        found: Any = model
        primitives: dict[str, tuple[str, Any]] = {}
        for each in found.primitives:
            kind = each.op_type
            function = _SPECIAL.get(kind) or operator_of(each, weights)
            primitives[each.name] = (kind, function)
        # files of older versions name the Primitive itself in a node
        primitives |= {name: (name, function) for name, function in (STRUCTURE | _SPECIAL).items()
                       if name not in primitives}
        messages = [found.graph, *found.functions]
        graphs = [_Graph(each, primitives, weights) for each in messages]
        self.graphs = {graph.name: graph for graph in graphs}
        self.main = graphs[0]
        self.forms = [_form(each) for each in found.graph.input]
        _find_free(self.graphs)
        self.parameters = [each.name for each in found.graph.parameter]
        missing = sorted(self.main.free - set(self.parameters))
        if missing:
            raise ValueError(f"it uses {missing[0][:80]!r}, which isn't in it")

    def __call__(self, parameters: Sequence[Any], inputs: Sequence[Any]) -> Any:
        """The network's output.

        Args:
            parameters: the Parameters, in the order of `parameters`.
            inputs: the network's inputs.

        Raises:
            ValueError: if the inputs have other types or shapes than the network was exported for.
        """
        if len(inputs) != len(self.forms):
            raise ValueError(f"For 'GraphCell', the network takes {len(self.forms)} inputs, but "
                             f"got {len(inputs)}.")
        for number, (given, form) in enumerate(zip(inputs, self.forms, strict=True)):
            if form is not None and not _fits(given, form):
                raise ValueError(f"For 'GraphCell', input {number} must be {_shown(form)}, but got "
                                 f"{_described(given)}.")
        values = dict(zip(self.parameters, parameters, strict=True))
        return self._run(_Closure(self.main, values), inputs)

    def _run(self, closure: _Closure, given: Sequence[Any]) -> Any:
        """The result of a graph."""
        while True:
            graph, outside, bound = closure
            values = {name: outside[name] for name in graph.free}
            values.update(graph.constants)
            values.update(zip(graph.inputs, [*bound, *given], strict=True))
            for place, node in enumerate(graph.nodes):
                inputs = [self._value(name, values) for name in node.inputs]
                if node.function is not None:
                    values[node.output] = node.function(*inputs)
                    continue
                called = self._value(node.called, values)
                if not isinstance(called, _Closure):
                    raise ValueError(f"For 'GraphCell', '{node.called[:80]}' is called, which is "
                                     f"none of the file's graphs.")
                if place == graph.last:
                    closure, given = called, inputs
                    break
                values[node.output] = self._run(called, inputs)
            else:
                found = [self._value(name, values) for name in graph.outputs]
                return found[0] if len(found) == 1 else tuple(found)

    def _value(self, name: str, values: dict[str, Any]) -> Any:
        """What a name stands for: a value of this run, or a graph."""
        if name in values:
            return values[name]
        return _Closure(self.graphs[name], values)


def _find_free(graphs: dict[str, _Graph]) -> None:
    """Add to what graphs need from outside what the graphs need that they name."""
    changed = True
    while changed:
        changed = False
        for graph in graphs.values():
            found = {name for name in graph.used if name not in graphs}
            for name in graph.used & graphs.keys():
                found |= graphs[name].free - graphs.keys()
            found -= graph.given
            changed |= found != graph.free
            graph.free = found


def _partial(closure: _Closure, *bound: Any) -> _Closure:
    return closure._replace(bound=(*closure.bound, *bound))


def _switch(condition: Any, yes: Any, no: Any) -> Any:
    return yes if condition else no


_SPECIAL: dict[str, Callable[..., Any]] = {
    "Partial": _partial, "Switch": _switch,
    "SwitchLayer": lambda index, layers: layers[int(index)],
    "Load": lambda parameter, *_: parameter}


def _form(message: Message) -> tuple[str, tuple[int, ...]] | None:
    """What an input has to be: its type and sizes, of which -1 is any; None for other values."""
    found: Any = message
    if len(found.tensor) != 1:
        return None
    return TENSORS.get(found.tensor[0].data_type, "?"), tuple(found.tensor[0].dims)


def _fits(given: Any, form: tuple[str, tuple[int, ...]]) -> bool:
    kind, sizes = form
    if not isinstance(given, Tensor) or str(given._raw.dtype) != f"torch.{kind}":
        return False
    if -2 in sizes:  # any number of dimensions
        return True
    return len(sizes) == given.ndim and all(
        size in (-1, there) for size, there in zip(sizes, given.shape, strict=True))


def _shown(form: tuple[str, tuple[int, ...]]) -> str:
    return f"a Tensor of {form[0]} with shape {form[1]}".replace("-1", "any")


def _described(given: Any) -> str:
    if isinstance(given, Tensor):
        return f"one of {given.dtype} with shape {given.shape}"
    return f"{given!r}"[:80]
