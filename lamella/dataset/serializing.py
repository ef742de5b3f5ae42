"""Pipelines as JSON: written, shown, compared, and made again."""

from __future__ import annotations

import enum
import inspect
import json
import sys
from typing import Any

import numpy as np

from .. import dtype
from ..dtype import Type
from .node import Dataset
from .samplers import BuiltinSampler
from .transforms.operation import TensorOperation


def serialize(dataset: Dataset, json_filepath: str = "") -> dict[str, Any]:
    """A pipeline as a dict, written to a JSON file where a path is given.

    Functions of Python's and data in memory are named, but can't be made again.

    Examples:
        >>> import lamella.dataset as ds
        >>> ds.serialize(ds.NumpySlicesDataset([1, 2]).batch(2))["op_type"]
        'Batch'
    """
    made = _node(dataset)
    if json_filepath:
        with open(json_filepath, "w", encoding="utf-8") as opened:
            json.dump(made, opened, indent=2, default=str)
    return made


def _node(dataset: Dataset) -> dict[str, Any]:
    kind = type(dataset).__name__
    about: dict[str, Any] = {"op_type": kind.removesuffix("Dataset") if dataset.children else kind}
    about["arguments"] = _arguments(dataset)
    about["children"] = [_node(child) for child in dataset.children]
    return about


def _arguments(thing: Any) -> dict[str, Any]:
    found = {}
    for name in inspect.signature(type(thing).__init__).parameters:
        if name in ("self", "child", "children", "datasets", "cache"):
            continue
        for attribute in (name, _OTHER.get(name, "")):
            if attribute in vars(thing):
                found[name] = _plain(vars(thing)[attribute])
    return found


_OTHER = {"columns": "chosen", "count": "count", "num_parallel_workers": "num_parallel_workers"}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return {"enum": [type(value).__module__.removeprefix("lamella."), type(value).__name__,
                         value.name]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Type):
        return {"type": str(value)}
    if isinstance(value, BuiltinSampler):
        about = {"sampler": type(value).__name__, "arguments": _arguments(value)}
        if value.child_sampler is not None:
            about["child"] = _plain(value.child_sampler)
        return about
    if isinstance(value, TensorOperation):
        return {"operation": [type(value).__module__.removeprefix("lamella."),
                              type(value).__name__], "arguments": _arguments(value)}
    return {"python": f"{type(value).__module__}.{getattr(value, '__qualname__', type(value))}"}


def deserialize(input_dict: dict[str, Any] | None = None,
                json_filepath: str | None = None) -> Dataset:
    """The pipeline of a dict or a JSON file that `serialize` made.

    Raises:
        ValueError: if it has functions of Python's or data in memory.
    """
    if input_dict is None:
        if json_filepath is None:
            raise ValueError("For 'deserialize', 'input_dict' or 'json_filepath' must be given.")
        with open(json_filepath, encoding="utf-8") as opened:
            input_dict = json.load(opened)
    assert input_dict is not None
    return _made(input_dict)


def _made(about: dict[str, Any]) -> Dataset:
    import lamella.dataset as room
    kind, arguments = about["op_type"], {k: _value(v) for k, v in about["arguments"].items()}
    children = [_made(child) for child in about["children"]]
    if not children:
        return getattr(room, kind)(**arguments)
    maker = getattr(room, f"{kind}Dataset")
    if kind in ("Concat", "Zip"):
        return maker(children if kind == "Concat" else tuple(children))
    return maker(children[0], **arguments)


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "python" in value and len(value) == 1:
        raise ValueError(f"For 'deserialize', {value['python']} can't be made again.")
    if "enum" in value:
        module, name, member = value["enum"]
        return getattr(_module(module), name)[member]
    if "type" in value and len(value) == 1:
        return getattr(dtype, value["type"].lower())
    if "sampler" in value:
        import lamella.dataset as room
        made = getattr(room, value["sampler"])(
            **{k: _value(v) for k, v in value["arguments"].items()})
        if "child" in value:
            made.add_child(_value(value["child"]))
        return made
    if "operation" in value:
        module, name = value["operation"]
        return getattr(_module(module), name)(
            **{k: _value(v) for k, v in value["arguments"].items()})
    return {k: _value(v) for k, v in value.items()}


def _module(name: str) -> Any:
    import importlib
    return sys.modules.get(f"lamella.{name}") or importlib.import_module(f"lamella.{name}")


def show(dataset: Dataset, indentation: int = 2) -> None:
    """Log a pipeline as JSON."""
    from .. import log
    log.info(json.dumps(serialize(dataset), indent=indentation, default=str))


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """Whether two pipelines are the same, but for the functions and data in memory."""
    return json.dumps(serialize(pipeline1), default=str) == json.dumps(
        serialize(pipeline2), default=str)
