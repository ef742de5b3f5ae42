"""Pipelines as JSON: written, shown, compared."""

from __future__ import annotations

import enum
import inspect
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import log
from ..dtype import Type
from .samplers import BuiltinSampler
from .transforms.operation import TensorOperation

if TYPE_CHECKING:
    from .node import Dataset


def serialize(dataset: Dataset, json_filepath: str = "") -> dict[str, Any]:
    """A pipeline as a dict, written to a JSON file where a path is given.

    Functions of Python's and data in memory are named, but can't be made again.

    Examples:
        >>> import lamella.dataset as ds
        >>> ds.serialize(ds.NumpySlicesDataset([1, 2]).batch(2))["op_type"]
        'Batch'
    """
    if not hasattr(dataset, "children"):
        raise TypeError(f"For 'serialize', 'dataset' must be a Dataset, but got {dataset!r} of "
                        f"type {type(dataset).__name__}.")
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


def show(dataset: Dataset, indentation: int = 2) -> None:
    """Log a pipeline as JSON."""
    log.info(json.dumps(serialize(dataset), indent=indentation, default=str))


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """Whether two pipelines are the same, but for the functions and data in memory."""
    return json.dumps(serialize(pipeline1), default=str) == json.dumps(
        serialize(pipeline2), default=str)
