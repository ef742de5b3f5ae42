"""Puts a MindIR graph together, node by node."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ...core import dtype as mstype
from ..wire_format import Message
from . import messages as of
from .values import contents

__all__ = ["Builder", "Unwritable", "Value"]

_GRAPH = "main"
_TYPE_NUMBERS = {name: number for number, name in of.TYPES.items()}
_TENSOR_NUMBERS = {f"torch.{name}": number for number, name in reversed(of.TENSORS.items())}
# Primitives that are objects with attributes, also where they have none; all others without
# attributes are functions, whose options are their last inputs
_OBJECTS = frozenset("""
    BitwiseAnd BitwiseOr BitwiseXor Depend Digamma FillV2 IsNan Lgamma Load MakeTuple Mod
    TensorScatterUpdate TupleGetItem UpdateState
    """.split())


class Unwritable(Exception):
    """The network has an operation or a value that MindIR, or this table, has no form of."""


class Value(NamedTuple):
    """What a node of the graph gives.

    Attributes:
        name: its name in the graph.
        raw: what PyTorch recorded for it: a tensor without data, or a size.
    """

    name: str
    raw: Any

    @property
    def dtype(self) -> torch.dtype:
        return self.raw.dtype

    @property
    def shape(self) -> list[Any]:
        """The sizes; what isn't an int may vary."""
        return list(self.raw.shape)


class Builder:
    """A graph in the making.

    Attributes:
        nodes, parameters, primitives: the messages so far.
    """

    def __init__(self) -> None:
        self.nodes: list[Message] = []
        self.parameters: list[Message] = []
        self.primitives: dict[Any, Message] = {}
        self._constants: dict[Any, str] = {}
        self._loads: list[Value] = []
        self._transposed: dict[str, Value] = {}  # by name: what it is the transpose of
        self.state: str = self._constant(of.UMONAD, Message(name="value", type=of.UMONAD))

    def node(self, primitive: str, *inputs: Any, raw: Any = None, **attributes: Any) -> Value:
        """Add a node.

        Args:
            primitive: what it computes.
            inputs: Values, or what becomes a constant: numbers, texts, Tensors, tuples of them.
            raw: see `Value`.
            attributes: those of the Primitive.
        """
        names = [self.name_of(each) for each in inputs]
        name = f"{_GRAPH}:{primitive}_{len(self.nodes)}"
        reference = self._primitive(primitive, attributes)
        self.nodes.append(Message(input=names, output=[name], name=name,
                                  op_type=f"REF::{reference}"))
        if primitive == "Transpose" and _is_transpose(inputs[1]):
            self._transposed[name] = inputs[0]
        return Value(name, raw)

    def before_transpose(self, matrix: Value) -> tuple[Value, bool]:
        """What a matrix is the transpose of, and whether it is."""
        before = self._transposed.get(matrix.name)
        return (matrix, False) if before is None else (before, True)

    def parameter(self, name: str, raw: torch.Tensor) -> Value:
        """Add a Parameter; the value is what it holds when the network starts."""
        inside = f"{_GRAPH}:{name}"
        self.parameters.append(Message(**_header(raw), name=inside, ref_key=name,
                                       raw_data=contents(raw)))
        self._loads.append(self.node("Load", Value(inside, raw), Value(self.state, None), raw=raw))
        return self._loads[-1]

    def assign(self, name: str, new: Value, result: Value) -> Value:
        """Assign to a Parameter; gives `result`, after that."""
        if self._loads:  # all of them come first
            loads = self.node("MakeTuple", *self._loads)
            self.state = self.node("UpdateState", Value(self.state, None), loads).name
            self._loads = []
        assigned = self.node("Assign", Value(f"{_GRAPH}:{name}", None), new,
                             Value(self.state, None))
        self.state = self.node("UpdateState", Value(self.state, None), assigned).name
        return self.node("Depend", result, Value(self.state, None), raw=result.raw,
                         side_effect_propagate=1)

    def name_of(self, value: Any) -> str:
        """The name of a Value, of a constant, or of a tuple that is made of them."""
        if isinstance(value, Value):
            return value.name
        if isinstance(value, (tuple, list)) and _has_values(value):
            return self.node("MakeTuple", *value).name
        return self._constant(_key(value), attribute("value", value))

    def _constant(self, key: Any, held: Message) -> str:
        known = self._constants.get(key)
        if known is None:
            known = self._constants[key] = f"constant_{len(self._constants)}"
            self.nodes.append(Message(output=[known], name=known, op_type="Constant",
                                      attribute=[held]))
        return known

    def _primitive(self, kind: str, attributes: dict[str, Any]) -> str:
        key = kind, _key(tuple(attributes.items()))
        if key not in self.primitives:
            self.primitives[key] = Message(
                name=f"{kind}:{len(self.primitives)}", op_type=kind,
                attribute=[attribute(name, each) for name, each in attributes.items()],
                prim_type=1 if attributes or kind in _OBJECTS else 2)
        return self.primitives[key].__dict__["name"]


def _is_transpose(dims: tuple[int, ...]) -> bool:
    return len(dims) > 1 and dims == (*range(len(dims) - 2), len(dims) - 1, len(dims) - 2)


def _has_values(value: Any) -> bool:
    return isinstance(value, Value) or isinstance(value, (tuple, list)) and any(
        map(_has_values, value))


def _key(value: Any) -> Any:
    """What is equal for equal constants."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), bytes(contents(value))
    if isinstance(value, (tuple, list)):
        return type(value).__name__, *map(_key, value)
    return type(value).__name__, repr(value)


def attribute(name: str, value: Any) -> Message:
    """The message of a constant.

    Raises:
        Unwritable: if it is of a type that MindIR has no place for.
    """
    if isinstance(value, bool):
        return Message(name=name, type=of.BOOL, i=int(value))
    if isinstance(value, int):
        return Message(name=name, type=of.INT64, i=value)
    if isinstance(value, float):
        return Message(name=name, type=of.FLOAT, f=value)
    if isinstance(value, str):
        return Message(name=name, type=of.STRING, s=value.encode())
    if isinstance(value, torch.dtype):
        return Message(name=name, type=of.INT64, i=type_number(value))
    if isinstance(value, (tuple, list)):
        return Message(name=name, type=of.TUPLE, values=[_in_tuple(each) for each in value])
    if isinstance(value, torch.Tensor):
        return Message(name=name, type=of.SOME_TENSORS, tensors=[
            Message(**_header(value), name="value0", raw_data=contents(value))])
    if value is None:
        return Message(name=name, type=of.NONE)
    raise Unwritable(f"a constant of type {type(value).__name__}")


def _in_tuple(value: Any) -> Message:
    """The message of a tuple's element, which has its number or text as a list of one."""
    found: Any = attribute("", value)
    for one, several in (("i", "ints"), ("f", "floats"), ("s", "strings")):
        if one in found.__dict__:
            found.__dict__[several] = [found.__dict__.pop(one)]
    return found


def type_number(kind: torch.dtype) -> int:
    """The number by which graphs name a type."""
    found = mstype.from_raw.get(kind)
    name = "bool_" if kind is torch.bool else str(found).lower()
    if name not in _TYPE_NUMBERS:
        raise Unwritable(f"the type {kind}")
    return _TYPE_NUMBERS[name]


def form(raw: torch.Tensor) -> Message:
    """The type and sizes of a tensor; -1 for one that may vary."""
    return Message(**_header(raw))


def _header(raw: torch.Tensor) -> dict[str, Any]:
    if str(raw.dtype) not in _TENSOR_NUMBERS:
        raise Unwritable(f"the type {raw.dtype}")
    return {"dims": [n if isinstance(n, int) else -1 for n in raw.shape],
            "data_type": _TENSOR_NUMBERS[str(raw.dtype)]}
