"""The `.lamella` files of `export`: a network as a list of PyTorch's operations, and its tensors.

A file is a safetensors file. Its texts describe the operations, as JSON; its tensors are the
Parameters and constants. Nothing in it is Python: an operation is a name of PyTorch's dispatcher,
or one of a table of functions of numbers, so reading and running a file can't run other code.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx import Node
from torch.utils import _pytree as pytree

from ..autodiff.tree import map_tensors
from ..core import context
from ..core import dtype as mstype
from ..core.errors import KERNEL_ERRORS, describe
from ..core.structures import mapped
from ..nn.graph_cell import Graph
from ..tensors.parameter import Parameter, parameter_around
from ..tensors.tensor import wrap
from .safetensors_format import read_safetensors, write_safetensors

__all__ = ["read_network", "write_network"]

_TEXT = "network"
_FUNCTIONS = {f"operator.{name}": getattr(operator, name) for name in (
    "add", "and_", "eq", "floordiv", "ge", "getitem", "gt", "le", "lt", "mod", "mul", "ne", "neg",
    "not_", "or_", "pow", "sub", "truediv")}
_FUNCTIONS |= {f"torch.{name}": getattr(torch, name) for name in (
    "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt")
    if hasattr(torch, name)}
_FUNCTIONS |= {f"math.{name}": getattr(math, name) for name in ("ceil", "floor", "trunc")}
_NAMES = {function: name for name, function in _FUNCTIONS.items()}
_REFUSED = {"from_file", "set", "set_", "set_data", "record_stream", "segment_reduce"}
# PyTorch's internal operations trust their arguments, as `_reshape_alias` any size: only those that
# networks are recorded with, and that check theirs
_INTERNAL = {
    "__and__", "__lshift__", "__or__", "__rshift__", "__xor__", "_assert_async", "_assert_scalar",
    "_assert_tensor_metadata", "_cdist_forward", "_conj", "_convolution",
    "_euclidean_dist", "_fft_c2c", "_fft_c2r", "_fft_r2c", "_linalg_det",
    "_linalg_eigh", "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd", "_local_scalar_dense",
    "_log_softmax", "_logcumsumexp", "_native_batch_norm_legit", "_neg_view", "_prelu_kernel",
    "_scaled_dot_product_attention_math", "_scaled_dot_product_flash_attention_for_cpu",
    "_shape_as_tensor", "_softmax", "_stack", "_standard_gamma", "_to_copy", "_trilinear",
    "_unique2", "_unsafe_view", "_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa",
    "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
    "_weight_norm", "_weight_norm_interface"}
# layouts whose indices are tensors, which may be changed after they were checked
_INDEXED = re.compile("sparse|cs[rc]|bs[rc]|coo|coalesce|indices_copy|nested|jagged")
_SET_GRAD = "wrap_with_set_grad_enabled"
_KINDS = {"dtype": torch.dtype, "layout": torch.layout, "format": torch.memory_format}


class Unwritable(Exception):
    """The network has an operation or a value that the file format has no place for."""


# -- writing -------------------------------------------------------------------------------------


def write_network(path: str, program: Any, parameters: Sequence[Parameter]) -> None:
    """Write what `torch.export` has recorded.

    Args:
        path: the file.
        program: the ExportedProgram, whose buffers p0, p1, ... are the Parameters.
        parameters: the Parameters.

    Raises:
        Unwritable: if the format has no place for a part of it.
    """
    signature = program.graph_signature
    tensors: dict[str, Any] = {}
    inputs: list[Any] = []
    for number, spec in enumerate(signature.input_specs):
        if spec.kind is InputKind.USER_INPUT:
            inputs.append({"given": number})
        elif spec.kind in (InputKind.BUFFER, InputKind.PARAMETER, InputKind.CONSTANT_TENSOR):
            found = program.state_dict.get(spec.target, program.constants.get(spec.target))
            tensors[spec.target] = found
            inputs.append({"tensor": spec.target})
        else:
            raise Unwritable(f"an input of the kind {spec.kind}")
    outputs = []
    for spec in signature.output_specs:
        if spec.kind not in (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION):
            raise Unwritable(f"an output of the kind {spec.kind}")
        outputs.append(spec.target if spec.kind is OutputKind.BUFFER_MUTATION else None)
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    (given, _), results = _leaves(program.call_spec.in_spec), _leaves(program.call_spec.out_spec)
    complex_numbers = [name for name, raw in tensors.items() if raw.dtype is torch.complex128]
    for name in complex_numbers:
        tensors[name] = torch.view_as_real(tensors[name])
    about = {
        "version": 1, "inputs": inputs, "outputs": outputs, "complex": complex_numbers,
        "forms": [_form(nodes[i["given"]].meta.get("val")) for i in inputs if "given" in i],
        "given": _structure(given), "result": _structure(results), "graph": _graph(program),
        "parameters": [{"name": p.name, "requires_grad": p.requires_grad} for p in parameters]}
    write_safetensors(path, {**tensors, _TEXT: json.dumps(about)})


def _leaves(spec: Any) -> Any:
    """A structure of Python's with numbers as leaves, counted from 0."""
    return pytree.tree_unflatten(list(range(spec.num_leaves)), spec)


def _structure(value: Any) -> Any:
    """JSON for tuples, lists and dicts of the numbers of leaves."""
    if type(value) in (tuple, list):
        return {type(value).__name__: [_structure(v) for v in value]}
    if isinstance(value, dict):
        if not all(type(key) in (str, int) for key in value):
            raise Unwritable("a dict whose keys are neither texts nor ints")
        return {"dict": [[key, _structure(v)] for key, v in value.items()]}
    if value is None or type(value) is int:
        return value
    raise Unwritable(f"a structure of {type(value).__name__}")


def _form(value: Any) -> Any:
    """What an input has to be: its type, and its sizes where they are fixed or have a name."""
    if not isinstance(value, torch.Tensor):
        return None
    sizes = [n if isinstance(n, int) else str(n) if str(n).isidentifier() else None
             for n in value.shape]
    return {"type": str(value.dtype)[6:], "sizes": sizes}


def _graph(module: Any) -> list[Any]:
    """A recorded graph's operations, in order; the last says what comes out."""
    numbers: dict[Node, int] = {}
    lines: list[Any] = []
    for node in module.graph.nodes:
        if node.op == "get_attr":
            continue  # a graph inside of this one
        numbers[node] = len(numbers)
        if node.op == "placeholder":
            lines.append(["input"])
        elif node.op == "output":
            lines.append(["output", _written(list(node.args[0]), numbers)])
        elif node.op != "call_function":
            raise Unwritable(f"'{node.op}'")
        elif getattr(node.target, "__name__", "") == _SET_GRAD:
            enabled, inner, *args = node.args
            within = getattr(module.graph_module if hasattr(module, "graph_module") else module,
                             inner.target)
            lines.append([_SET_GRAD, bool(enabled), _graph(within), _written(args, numbers)])
        else:
            lines.append([_name(node.target), _written(list(node.args), numbers),
                          {k: _written(v, numbers) for k, v in node.kwargs.items()}])
    return lines


def _name(target: Any) -> str:
    name = str(target) if isinstance(target, torch._ops.OpOverload) else _NAMES.get(target)
    if name is None:
        raise Unwritable(f"the operation {target}")
    _function(name)
    return name


def _written(value: Any, numbers: dict[Node, int]) -> Any:
    if isinstance(value, Node):
        return {"node": numbers[value]}
    if isinstance(value, (list, tuple)):
        return [_written(v, numbers) for v in value]
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if type(value) is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, torch.device):
        return {"device": value.type}
    for kind, of in _KINDS.items():
        if isinstance(value, of):
            return {kind: str(value)[6:]}
    raise Unwritable(f"an argument of type {type(value).__name__}")


# -- reading -------------------------------------------------------------------------------------


def read_network(path: str) -> Graph:
    """The network of a file.

    Raises:
        ValueError: if it is damaged, or asks for something that no network needs.
    """
    found: dict[str, Any] = dict(read_safetensors(path))
    text = found.pop(_TEXT, None)
    if not isinstance(text, str):
        raise ValueError("it holds tensors, but no network")
    try:
        about = json.loads(text)
        if about["version"] != 1:
            raise ValueError(f"it is of version {about['version']}, which is not known")
        for name in about["complex"]:
            found[name] = torch.view_as_complex(found[name])
        here = context.current_device()
        found = {name: raw.to(here) if isinstance(raw, torch.Tensor) else raw
                 for name, raw in found.items()}
        program = _Program(about, found)
        parameters = []
        for number, said in enumerate(about["parameters"]):
            parameter = parameter_around(found[f"p{number}"], str(said["name"]))
            parameter.requires_grad = bool(said["requires_grad"])
            parameters.append(parameter)
    except (KeyError, IndexError, TypeError, AttributeError, RuntimeError, RecursionError) as error:
        raise ValueError(f"it describes no network: {error!r}"[:200]) from error
    return Graph(program, parameters)


class _Program:
    """The function that a file describes; all names in it have been looked up and checked."""

    def __init__(self, about: dict[str, Any], tensors: dict[str, Any]):
        self.steps = _steps(about["graph"])
        self.outputs: list[str | None] = list(about["outputs"])
        self.forms = about["forms"]
        self.given, self.result = about["given"], about["result"]
        self.inputs: list[tuple[str, Any]] = []
        places = 0
        for number, said in enumerate(about["inputs"]):
            (kind, what), = said.items()
            if kind == "tensor" and isinstance(tensors[what], torch.Tensor):
                self.inputs.append((kind, what))
            elif kind == "given":
                self.inputs.append((kind, places))
                places += 1
            else:
                raise ValueError(f"its input {number} is no tensor")
        if not all(name is None or name in tensors for name in self.outputs):
            raise ValueError("it changes a tensor that it doesn't have")
        _built(self.given, [None] * places)  # an error now, not in a call
        _built(self.result, self.outputs)
        self.constants = {name: raw for name, raw in tensors.items() if not name.startswith("p")}
        self.count = places
        for form in self.forms:
            if form is not None:
                _raw_type(form["type"])
                if not all(n is None or type(n) in (int, str) for n in form["sizes"]):
                    raise ValueError(f"an input has the sizes {str(form['sizes'])[:80]}")
        if len(self.forms) != places:
            raise ValueError("its inputs have no forms")

    def __call__(self, parameters: list[Parameter], inputs: tuple[Any, ...]) -> Any:
        """The network's output.

        Raises:
            ValueError: if the inputs have other structures, types or shapes than were recorded.
        """
        raws: Any = map_tensors(lambda t: t._raw, inputs)
        try:
            return mapped(_wrapped, self._run([p._raw for p in parameters], raws))
        except (ValueError, *KERNEL_ERRORS) as error:
            raise ValueError(f"For 'GraphCell', the inputs must be Tensors of the shapes and types "
                             f"that the network was exported for, but got {describe(inputs)}."
                             ) from error

    def _run(self, parameters: list[torch.Tensor], inputs: tuple[Any, ...]) -> Any:
        values = dict(self.constants)
        values.update({f"p{i}": raw for i, raw in enumerate(parameters)})
        flat: list[Any] = [None] * self.count
        _flatten(self.given, inputs, flat)
        self._check(flat)
        args = [values[what] if kind == "tensor" else flat[what] for kind, what in self.inputs]
        found = _run(self.steps, args)
        results = []
        for value, target in zip(found, self.outputs, strict=True):
            if target is None:
                results.append(value)
            else:
                with torch.no_grad():
                    values[target].copy_(value)
        return _built(self.result, results)

    def _check(self, flat: list[Any]) -> None:
        sizes: dict[str, int] = {}
        for value, form in zip(flat, self.forms, strict=True):
            if form is None:
                continue
            if not isinstance(value, torch.Tensor) or value.dtype is not _raw_type(form["type"]) \
                    or value.dim() != len(form["sizes"]):
                raise ValueError("an input has another type or number of dimensions")
            for there, wanted in zip(value.shape, form["sizes"], strict=True):
                known = sizes.setdefault(wanted, there) if isinstance(wanted, str) else wanted
                if known is not None and there != known:
                    raise ValueError("an input has another size")


def _wrapped(value: Any) -> Any:
    return wrap(value) if isinstance(value, torch.Tensor) else value


def _steps(lines: Any) -> list[Any]:
    """The operations of a graph, each as a function with descriptions of its arguments."""
    steps: list[Any] = []
    for number, (name, *rest) in enumerate(lines):
        if name == "input":
            steps.append(("input", None, None))
        elif name == "output":
            _check_arguments(rest[0], number)
            steps.append(("output", rest[0], None))
        elif name == _SET_GRAD:
            enabled, inner, args = rest
            _check_arguments(args, number)
            steps.append((_within(bool(enabled), _steps(inner)), args, {}))
        else:
            args, kwargs = rest
            _check_arguments([args, list(kwargs.values())], number)
            steps.append((_function(name), args, kwargs))
    if not steps or steps[-1][0] != "output" or not isinstance(steps[-1][1], list):
        raise ValueError("its graph has no result")
    return steps


def _function(name: Any) -> Any:
    """An operation by its name.

    Raises:
        ValueError: if it is none that a network is made of.
    """
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    room, _, rest = str(name).partition(".")
    operation, _, overload = rest.partition(".")
    known = f"aten::{operation}" + ("" if overload == "default" else f".{overload}")
    if (room != "aten" or operation in _REFUSED or known not in _dispatched()
            or operation.startswith("_") and operation not in _INTERNAL
            or _INDEXED.search(operation)):
        raise ValueError(f"it has {str(name)[:80]!r}, which is no operation of a network")
    return getattr(getattr(torch.ops.aten, operation), overload)


def _dispatched() -> set[str]:
    """The operations that PyTorch's dispatcher knows; others, of its scripts, write files."""
    if not _known:
        _known.update(torch._C._dispatch_get_all_op_names())
    return _known


_known: set[str] = set()


def _within(enabled: bool, steps: list[Any]) -> Any:
    """A graph inside of another, run with gradients recorded or not."""
    def run(*args: Any) -> Any:
        with torch.set_grad_enabled(enabled and torch.is_grad_enabled()):
            return tuple(_run(steps, list(args)))
    return run


def _run(steps: list[Any], args: list[Any]) -> list[Any]:
    values: list[Any] = []
    left = iter(args)
    for function, described, kwargs in steps:
        if function == "input":
            values.append(next(left))
        elif function == "output":
            return _read(described, values)
        else:
            values.append(function(*_read(described, values),
                                   **{k: _read(v, values) for k, v in kwargs.items()}))
    raise ValueError("its graph has no result")


def _check_arguments(value: Any, number: int) -> None:
    """Look at the arguments of operation `number`: they may come from those before it."""
    if isinstance(value, list):
        for inner in value:
            _check_arguments(inner, number)
    elif isinstance(value, dict) and list(value) == ["node"]:
        if type(value["node"]) is not int or not 0 <= value["node"] < number:
            raise ValueError(f"its operation {number} takes what isn't computed yet")
    elif isinstance(value, dict):
        _read(value, [])


def _read(value: Any, values: list[Any]) -> Any:
    if isinstance(value, list):
        return [_read(v, values) for v in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), = value.items()
    if kind == "node":
        return values[inner]
    if kind == "float":
        return float.fromhex(inner)
    if kind == "complex":
        return complex(*map(float.fromhex, inner))
    if kind == "device" and isinstance(inner, str):
        return context.current_device()  # the one that wrote the file may not be here
    if kind == "dtype":
        return _raw_type(inner)
    found = getattr(torch, inner, None) if isinstance(inner, str) else None
    if kind not in _KINDS or not isinstance(found, _KINDS[kind]) or (
            kind == "layout" and found is not torch.strided):
        raise ValueError(f"it has {str(value)[:80]}, which is no argument of an operation")
    return found


def _raw_type(name: Any) -> torch.dtype:
    found = getattr(torch, name, None) if isinstance(name, str) else None
    if not isinstance(found, torch.dtype) or found not in mstype.from_raw:
        raise ValueError(f"it has the type {str(name)[:40]!r}, which is not known")
    return found


def _flatten(structure: Any, value: Any, flat: list[Any]) -> None:
    """Put the leaves of what was given where `structure` says."""
    if structure is None or type(structure) is int:
        if structure is not None:
            flat[structure] = value
        return
    (kind, inner), = structure.items()
    if kind == "dict":
        if not isinstance(value, dict) or list(value) != [key for key, _ in inner]:
            raise ValueError("an input has other keys")
        parts = [(part, value[key]) for key, part in inner]
    else:
        if not isinstance(value, (tuple, list)) or len(value) != len(inner):
            raise ValueError("there are more or fewer inputs")
        parts = list(zip(inner, value, strict=True))
    for part, of in parts:
        _flatten(part, of, flat)


def _built(structure: Any, leaves: list[Any]) -> Any:
    if structure is None or type(structure) is int:
        return None if structure is None else leaves[structure]
    (kind, inner), = structure.items()
    if kind == "dict":
        return {key: _built(part, leaves) for key, part in inner}
    return {"tuple": tuple, "list": list}[kind](_built(part, leaves) for part in inner)
