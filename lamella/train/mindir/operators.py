"""What a node of a MindIR graph computes: a Primitive of Lamella's, found by its name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from ... import ops
from ...compat.alias_paths import LATER
from ...core import dtype as mstype
from ...core.primitive import Primitive
from ..wire_format import Message
from .messages import ENUMERATIONS, OF_OPERATORS, TYPE_INPUTS, TYPES
from .values import MONAD, Weights, value

__all__ = ["STRUCTURE", "operator_of"]

# what calls functions of Python's, writes files or waits for other processes: the modules that have
# such Primitives, and names of others
_REFUSED_MODULES = tuple(f"lamella.{name}." for name in (
    "autodiff.hooks", "communication", "core.primitive", "ops.communication", "ops.control",
    "ops.custom", "ops.primitives.communication", "ops.primitives.messages"))
_REFUSED = frozenset("""
    CustomOp CustomOpBuilder PyFunc PyExecute PyInterpret CellBackwardHook
    TensorDump TensorSummary ScalarSummary ImageSummary HistogramSummary
    """.split())

# attributes that have another name in the file than in Python
_RENAMED = {"data_format": "format"}
# names of Primitives that graphs have and Python's code doesn't
_SAME = {"MatMulV2": "MatMul", "BatchMatMulV2": "BatchMatMul", "bool_not": "BoolNot",
         "Adds": "Add", "Subs": "Sub", "Muls": "Mul", "Divs": "Div"}
# sizes by dimension, where graphs give four for the last two
_PLANES = frozenset("kernel_size strides stride dilation dilations".split())

# how the graph itself is put together: values in sequences, and the order of side effects
STRUCTURE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("MakeTuple", "make_tuple"), lambda *values: values),
    **dict.fromkeys(("MakeList", "make_list"), lambda *values: list(values)),
    **dict.fromkeys(("TupleGetItem", "ListGetItem", "tuple_getitem", "list_getitem"),
                    lambda values, at: values[at]),
    "Depend": lambda result, *_: result, "UpdateState": lambda *_: MONAD,
    "TensorMove": lambda tensor: tensor.copy(),
    "Return": lambda result: result, "Identity": lambda result: result}


def operator_of(primitive: Message, weights: Weights) -> Callable[..., Any]:
    """The function of a node's inputs that a primitive of the file stands for.

    Raises:
        ValueError: if Lamella has no Primitive of that name, or no file may ask for it, or its
            attributes are none of this Primitive's.
    """
    found: Any = primitive
    name = found.op_type
    if name in STRUCTURE:
        return STRUCTURE[name]
    kind = _class_of(name)
    if kind is None:
        raise ValueError(f"it has the operator {name[:80]!r}, which Lamella does not have")
    attributes = {each.name: each for each in found.attribute}
    signature = inspect.signature(kind)
    if found.prim_type == 2:  # a function: the attributes are its last inputs
        call = _function(name, kind, signature)
        return _ordered(_with_type(call, TYPE_INPUTS[name]) if name in TYPE_INPUTS else call)
    given = {}
    for parameter in signature.parameters:
        attribute = attributes.get(parameter, attributes.get(_RENAMED.get(parameter, "")))
        if attribute is not None:
            given[parameter] = _plane(parameter, value(attribute, weights))
    return _ordered(_made(name, kind, signature, given))


def _ordered(call: Callable[..., Any]) -> Callable[..., Any]:
    """`call` without what says in which order nodes run: that is the file's."""
    return lambda *inputs: call(*[each for each in inputs if each is not MONAD])


def _class_of(name: str) -> type[Primitive] | None:
    """The Primitive class of a name; one of a Tensor and a number is that of two Tensors."""
    if name in _REFUSED:
        raise ValueError(f"it has the operator {name!r}, which no file may ask for")
    names = [_SAME.get(name, name)]
    if name.endswith("Scalar"):
        names.append(name.removesuffix("Scalar"))
    for each in names:
        for place in _places():
            found = getattr(place, each, None) if each.isidentifier() else None
            if isinstance(found, type) and issubclass(found, Primitive):
                if f"{found.__module__}.".startswith(_REFUSED_MODULES):
                    raise ValueError(f"it has the operator {name!r}, which no file may ask for")
                return found
    return None


def _places() -> Iterator[Any]:
    yield ops
    for path in LATER["ops.auto_generate"]:
        yield importlib.import_module(f"lamella.{path}")


def _function(name: str, kind: type[Primitive], signature: inspect.Signature
              ) -> Callable[..., Any]:
    """A Primitive whose attributes are the last of a node's inputs."""
    parameters = list(signature.parameters)
    made: dict[tuple[Any, ...], Primitive] = {}

    def call(*inputs: Any) -> Any:
        begin = len(inputs) - len(parameters)
        if begin < 0:
            raise ValueError(f"a node of {name!r} has {len(inputs)} inputs")
        given = dict(zip(parameters, inputs[begin:], strict=True))
        key = tuple(given.values())
        try:
            primitive = made.get(key)
        except TypeError:  # a list
            key = tuple(map(repr, key))
            primitive = made.get(key)
        if primitive is None:
            primitive = made[key] = _made(name, kind, signature, given)
        return primitive(*inputs[:begin])
    return call


def _made(name: str, kind: type[Primitive], signature: inspect.Signature, given: dict[str, Any]
          ) -> Primitive:
    parameters = signature.parameters
    try:
        return kind(**{key: _named(name, key, parameters[key].default, each)
                       for key, each in given.items()})
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"its operator {name!r} has wrong attributes: {error}") from error


def _named(operator: str, name: str, default: Any, given: Any) -> Any:
    """An attribute's value, by its name where the graph has a number for it."""
    if (operator, name) in OF_OPERATORS:
        return OF_OPERATORS[operator, name].get(given, given)
    if type(given) is int and isinstance(default, str):
        return ENUMERATIONS.get(default, {}).get(given, given)
    if type(given) is int and isinstance(default, mstype.Type):
        return _type(given)
    return given


def _type(given: Any) -> Any:
    """A type, where the graph has its number."""
    if type(given) is int and given in TYPES:
        return getattr(mstype, TYPES[given])
    return given


def _with_type(call: Callable[..., Any], at: int) -> Callable[..., Any]:
    """`call`, whose input number `at` is a type."""
    return lambda *inputs: call(*inputs[:at], *map(_type, inputs[at:at + 1]), *inputs[at + 1:])


def _plane(name: str, sizes: Any) -> Any:
    if name in _PLANES and isinstance(sizes, (tuple, list)) and len(sizes) == 4:
        return tuple(sizes[2:])
    return sizes
