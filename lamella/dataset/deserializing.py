"""Pipelines made again from JSON."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from .. import dtype
from .node import Dataset


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
    kind, arguments = about["op_type"], {k: _value(v) for k, v in about["arguments"].items()}
    children = [_made(child) for child in about["children"]]
    if not children:
        return getattr(_room(), kind)(**arguments)
    maker = getattr(_room(), f"{kind}Dataset")
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
        made = getattr(_room(), value["sampler"])(
            **{k: _value(v) for k, v in value["arguments"].items()})
        if "child" in value:
            made.add_child(_value(value["child"]))
        return made
    if "operation" in value:
        module, name = value["operation"]
        return getattr(_module(module), name)(
            **{k: _value(v) for k, v in value["arguments"].items()})
    return {k: _value(v) for k, v in value.items()}


def _room() -> Any:
    """`lamella.dataset`, which has everything that a pipeline is made of under its name."""
    return _module("dataset")


def _module(name: str) -> Any:
    return sys.modules.get(f"lamella.{name}") or importlib.import_module(f"lamella.{name}")
