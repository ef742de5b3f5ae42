"""Pipelines as JSON: written, shown, compared."""

from __future__ import annotations

import enum
import inspect
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import log
from ..core.dtype import Type
from .described import arguments_of
from .makeable import ENUMERATIONS, OPERATIONS, SAMPLERS, place_of, public
from .samplers import BuiltinSampler, DistributedSampler
from .schema import Schema
from .transforms.operation import TensorOperation

if TYPE_CHECKING:
    from .node import Dataset

_ORDER = ("shuffle", "num_samples", "num_shards", "shard_id")  # what a sampler says instead


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
            json.dump(made, opened, indent=2)
    return made


def _node(dataset: Dataset) -> dict[str, Any]:
    kind = type(dataset).__name__
    about: dict[str, Any] = {"op_type": kind.removesuffix("Dataset") if dataset.children else kind}
    unnamed, named = arguments_of(dataset)
    for name in ("child", "children", "datasets", "cache"):
        named.pop(name, None)
    sampler = getattr(dataset, "sampler", None)
    if isinstance(sampler, BuiltinSampler) and "sampler" in inspect.signature(
            type(dataset)).parameters:  # it may be another one than was given
        named = {k: v for k, v in named.items() if k not in _ORDER} | {"sampler": sampler}
    if unnamed:
        about["unnamed"] = _plain(unnamed)
    about["arguments"] = {name: _plain(value) for name, value in named.items()}
    about["children"] = [_node(child) for child in dataset.children]
    return about


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        place = place_of(type(value), ENUMERATIONS)
        return {"enum": [*place, value.name]} if place else _named(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufU":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [_plain(v) for v in value]}
    if isinstance(value, dict):
        return {"dict": [[_plain(k), _plain(v)] for k, v in value.items()]}
    if isinstance(value, Type):
        return {"type": value.name}
    if isinstance(value, type) and issubclass(value, (np.bool_, np.number)):
        return {"numpy": np.dtype(value).name}
    if isinstance(value, np.dtype) and value.kind in "biuf":
        return {"numpy": value.name}
    if isinstance(value, Schema):
        return {"schema": json.loads(value.to_json())}
    if type(value).__name__ == "Vocab" and type(value) is public("Vocab", "text"):
        words: Any = value
        return {"vocabulary": dict(words.vocab())}
    if isinstance(value, BuiltinSampler) and type(value).__name__ in SAMPLERS:
        return _sampler(value)
    if isinstance(value, TensorOperation) and (place := place_of(type(value), OPERATIONS)):
        unnamed, named = arguments_of(value)
        return {"operation": place, "unnamed": _plain(unnamed),
                "arguments": {k: _plain(v) for k, v in named.items()}}
    return _named(value)


def _sampler(sampler: BuiltinSampler) -> dict[str, Any]:
    """A sampler with what it has now, which programs may have set."""
    names = [n for n in inspect.signature(type(sampler)).parameters if n in vars(sampler)]
    about = {"sampler": type(sampler).__name__,
             "arguments": {n: _plain(vars(sampler)[n]) for n in names}}
    if isinstance(sampler, DistributedSampler):
        about["seed"] = sampler.seed  # which all of its parts have to share
    if sampler.child_sampler is not None:
        about["child"] = _plain(sampler.child_sampler)
    return about


def _named(value: Any) -> dict[str, str]:
    name = getattr(value, "__qualname__", type(value).__qualname__)
    return {"python": f"{type(value).__module__}.{name}"}


def show(dataset: Dataset, indentation: int = 2) -> None:
    """Log a pipeline as JSON."""
    log.info(json.dumps(serialize(dataset), indent=indentation))


def compare(pipeline1: Dataset, pipeline2: Dataset) -> bool:
    """Whether two pipelines are the same, but for the functions and data in memory."""
    return json.dumps(serialize(pipeline1)) == json.dumps(serialize(pipeline2))
