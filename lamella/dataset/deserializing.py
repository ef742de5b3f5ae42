"""Pipelines made again from JSON, Lamella's and MindSpore's.

What a file can ask for stands in `makeable.py`. Nothing is looked up by a name from the file before
it has been found there, so a file can't run code. It can make a pipeline that reads any file.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from ..core import dtype
from . import makeable, mindspore_json
from .node import Dataset
from .schema import Schema

_TYPES = {t.name: t for t in vars(dtype).values() if isinstance(t, dtype.Type)}
_NUMPY = {np.dtype(kind).name: kind for kind in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64)}


def deserialize(input_dict: dict[str, Any] | None = None,
                json_filepath: str | None = None) -> Dataset:
    """The pipeline of a dict or a JSON file that `serialize` made, or MindSpore's.

    Only sources, operations, samplers and enumerations of `lamella.dataset` are made, so a file
    that isn't trusted runs no code; but the pipeline reads whatever files it names.

    Raises:
        ValueError: if it has functions of Python's or data in memory, names something else, or is
            no pipeline.
    """
    name = "'input_dict'"
    if input_dict is None:
        if json_filepath is None:
            raise ValueError("For 'deserialize', 'input_dict' or 'json_filepath' must be given.")
        name = f"the file '{os.fspath(json_filepath)}'"
        with open(json_filepath, encoding="utf-8") as opened:
            try:
                input_dict = json.load(opened)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"For 'deserialize', {name} is no JSON: {error}.") from error
    if isinstance(input_dict, dict) and "tree" in input_dict:  # a file that autotuning wrote
        input_dict = input_dict["tree"]
    try:
        return _node(input_dict)
    except RecursionError:
        raise ValueError(f"For 'deserialize', {name} is nested too deeply.") from None
    except (KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"For 'deserialize', {name} is no pipeline that 'serialize' wrote: "
                         f"{error!r}.") from error


def _node(about: Any) -> Dataset:
    if not isinstance(about, dict) or not isinstance(about.get("op_type"), str):
        raise ValueError(f"For 'deserialize', each part of a pipeline must be a dict with "
                         f"'op_type', but got {str(about)[:80]}.")
    kind, children = about["op_type"], [_node(child) for child in about.get("children", [])]
    if (f"{kind}Dataset" if children else kind) not in _KINDS:
        raise ValueError(f"For 'deserialize', {kind[:80]!r} can't be made again: it is no source "
                         f"that reads files, and no operation without functions of Python's.")
    if "arguments" in about:
        unnamed = _value(about.get("unnamed", []))
        named = {k: _value(v) for k, v in about["arguments"].items()}
    else:
        unnamed, named = [], mindspore_json.arguments_of(about)
    if not children:
        return made(makeable.public(kind), unnamed, named)
    if kind in ("Concat", "Zip"):
        unnamed = [children if kind == "Concat" else tuple(children)]
    elif len(children) == 1:
        unnamed = [children[0], *unnamed]
    else:
        raise ValueError(f"For 'deserialize', '{kind}' must have one child, but has "
                         f"{len(children)}.")
    return made(makeable.public(f"{kind}Dataset"), unnamed, named)


_KINDS = makeable.SOURCES | {f"{kind}Dataset" for kind in makeable.NODES}


def made(maker: Any, unnamed: Any, named: Any) -> Any:
    """What a class of the tables gives for arguments from a file.

    Raises:
        ValueError: if it doesn't take them.
    """
    try:
        return maker(*unnamed, **named)
    except (TypeError, AttributeError, KeyError, IndexError) as error:
        raise ValueError(f"For 'deserialize', '{maker.__name__}' can't be made of what is "
                         f"there: {error}") from error


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [_value(v) for v in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if tag not in _READERS:
        raise ValueError(f"For 'deserialize', {str(value)[:80]} is not a value that "
                         f"'serialize' writes.")
    try:
        return _READERS[tag](value)
    except (TypeError, ValueError, KeyError) as error:
        if "'deserialize'" in str(error):
            raise
        raise ValueError(f"For 'deserialize', {str(value)[:80]} is no {tag} that 'serialize' "
                         f"writes: {error}") from error


def _enum(about: dict[str, Any]) -> Any:
    room, name, member = about["enum"]
    return _listed(makeable.ENUMERATIONS, room, name)[member]


def _sampler(about: dict[str, Any]) -> Any:
    name = about["sampler"]
    if name not in makeable.SAMPLERS:
        raise ValueError(f"For 'deserialize', {str(name)[:80]!r} is no sampler that can be made "
                         f"again.")
    found = made(makeable.public(name), [],
                 {k: _value(v) for k, v in about["arguments"].items()})
    if "seed" in about and hasattr(found, "seed"):
        found.seed = int(about["seed"])
    if "child" in about:
        found.add_child(_sampler(about["child"]))
    return found


def _operation(about: dict[str, Any]) -> Any:
    maker = _listed(makeable.OPERATIONS, *about["operation"])
    return made(maker, _value(about.get("unnamed", [])),
                {k: _value(v) for k, v in about["arguments"].items()})


def _listed(tables: dict[str, frozenset[str]], room: Any, name: Any) -> Any:
    """A class by its room and name, if the tables have it."""
    if not isinstance(room, str) or name not in tables.get(room, ()):
        raise ValueError(f"For 'deserialize', {str(name)[:80]!r} of {str(room)[:80]!r} is nothing "
                         f"that can be made again.")
    return makeable.public(name, room)


def _schema(about: dict[str, Any]) -> Schema:
    found = Schema()
    found.from_json(about["schema"])
    return found


def _array(about: dict[str, Any]) -> np.ndarray:
    kind = str(about["dtype"])
    if kind[1:2] == "U":
        return np.array(about["array"], np.str_)  # as wide as its words, whatever the file says
    if kind[1:2] not in ("b", "i", "u", "f"):
        raise ValueError(f"For 'deserialize', {kind[:40]!r} is no type of an array's numbers.")
    return np.array(about["array"], np.dtype(kind))


def _python(about: dict[str, Any]) -> Any:
    raise ValueError(f"For 'deserialize', {str(about['python'])[:200]} can't be made again.")


_READERS = {
    "array": _array,
    "dict": lambda about: {_value(k): _value(v) for k, v in about["dict"]},
    "enum": _enum,
    "numpy": lambda about: _NUMPY[about["numpy"]],
    "operation": _operation,
    "python": _python,
    "sampler": _sampler,
    "schema": _schema,
    "tuple": lambda about: tuple(_value(v) for v in about["tuple"]),
    "type": lambda about: _TYPES[about["type"]],
    "vocabulary": lambda about: makeable.public("Vocab", "text").from_dict(about["vocabulary"]),
}
