"""Writes a recorded network as a MindIR file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from ...tensors.parameter import Parameter
from ..atomic_file import replacing
from ..wire_format import Message, write
from . import messages as of
from .builder import Builder, Unwritable, Value, form
from .lowering import lower

__all__ = ["write_mindir"]

APART = 1 << 30  # bytes of weights from which on they lie in files beside the graph
_ALIGNED = 64


def write_mindir(path: str, program: Any, parameters: Sequence[Parameter],
                 names: Sequence[str]) -> None:
    """Write what `torch.export` has recorded as a MindIR file, that MindSpore 2.10 loads.

    Where the weights have 1 GiB or more, the graph lies in ``NAME_graph.mindir`` and they in the
    folder ``NAME_variables``.

    Args:
        path: the file.
        program: the ExportedProgram, whose buffers p0, p1, ... are the Parameters.
        parameters: the Parameters.
        names: those of the inputs.

    Raises:
        NoForm: for an operation that MindIR has no form of.
        Unwritable: if MindIR has no place for inputs or outputs like these.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's about itself
        program = program.run_decompositions()
    model = _model(program, parameters, names)
    held: Any = model
    if sum(len(each.raw_data) for each in held.graph.parameter) >= APART:
        path = f"{path.removesuffix('.mindir')}_graph.mindir"
        _put_apart(path, held.graph.parameter)
    with replacing(path) as new, open(new, "wb") as file:
        file.write(write(model, of.MODEL))


def _model(program: Any, parameters: Sequence[Parameter], names: Sequence[str]) -> Message:
    graph = Builder()
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    given, inputs = [], []
    left = iter(names)
    for spec, node in zip(program.graph_signature.input_specs, placeholders, strict=True):
        raw = node.meta.get("val")
        if spec.kind is InputKind.USER_INPUT:
            if not isinstance(raw, torch.Tensor):
                given.append(raw)
                continue
            value = Value(f"main:{next(left)}", raw)
            inputs.append(Message(name=value.name, tensor=[form(raw)]))
            given.append(value)
        elif spec.kind is InputKind.BUFFER and spec.target in program.state_dict:
            number = int(spec.target[1:])
            given.append(graph.parameter(parameters[number].name, program.state_dict[spec.target]))
        else:
            held = program.constants.get(spec.target, program.state_dict.get(spec.target))
            if not isinstance(held, torch.Tensor):
                raise Unwritable(f"an input of the kind {spec.kind}")
            given.append(Value(graph.name_of(held), raw))
    results = lower(graph, program.graph_module, program.graph, given)
    output = _finished(graph, program, parameters, results)
    return Message(
        ir_version="1.1", producer_name="MindSpore", model_version="2.10.0", little_endian=1,
        mind_ir_version=3, primitives=list(graph.primitives.values()),
        graph=Message(name="main", node=graph.nodes, parameter=graph.parameters, input=inputs,
                      output=[output]))


def _finished(graph: Builder, program: Any, parameters: Sequence[Parameter], results: list[Any]
              ) -> Message:
    """Add what is left: Parameters get their new values, and the result its structure."""
    specs = program.graph_signature.output_specs
    leaves, changed = [], []
    for spec, value in zip(specs, results, strict=True):
        if spec.kind is OutputKind.BUFFER_MUTATION:
            changed.append((parameters[int(spec.target[1:])].name, value))
        elif spec.kind is OutputKind.USER_OUTPUT:
            leaves.append(value)
        else:
            raise Unwritable(f"an output of the kind {spec.kind}")
    structure = pytree.tree_unflatten(leaves, program.call_spec.out_spec)
    found = _structured(graph, structure)
    for name, value in changed:
        found = graph.assign(name, value, found)
    return _output(found, structure)


def _structured(graph: Builder, value: Any) -> Value:
    """A result as one Value."""
    if isinstance(value, Value):
        return value
    if isinstance(value, (tuple, list)):
        return graph.node("MakeTuple", *[_structured(graph, each) for each in value])
    if isinstance(value, dict):
        raise Unwritable("a dict as a result")
    return Value(graph.name_of(value), value)


def _output(found: Value, structure: Any) -> Message:
    if isinstance(structure, Value):
        return Message(name=found.name, tensor=[form(structure.raw)])
    return Message(name=found.name, denotation="Tuple", attr_info=_forms(structure))


def _forms(structure: Any) -> Message:
    """The types and sizes of a tuple of results."""
    if isinstance(structure, Value):
        return Message(type=of.SOME_TENSORS, tensors=[form(structure.raw)])
    if isinstance(structure, (tuple, list)):
        return Message(type=of.TUPLE, values=[_forms(each) for each in structure])
    return Message(type=of.SCALAR)


def _put_apart(path: str, parameters: Sequence[Any]) -> None:
    """Write weights into the file ``data_0``, ... of a folder, and say in the graph where."""
    name = os.path.basename(path).removesuffix("_graph.mindir") + "_variables"
    folder = os.path.join(os.path.dirname(path), name)
    os.makedirs(folder, exist_ok=True)
    left, number = list(parameters), 0
    while left:
        with replacing(os.path.join(folder, f"data_{number}")) as new, open(new, "wb") as file:
            file.write(b"\1".ljust(_ALIGNED, b"\0"))  # 1: little-endian
            while left and file.tell() < APART:
                each, at = left.pop(0), file.tell()
                file.write(each.raw_data)
                each.external_data = Message(location=f"{name}/data_{number}", offset=at,
                                             length=len(each.raw_data))
                each.raw_data = None
                file.write(bytes(-file.tell() % _ALIGNED))
        number += 1
