"""The key of a call among a function's graphs: the kinds of its arguments, and the settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ...core import context
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..guards.arguments import (
    BARE,
    apart,
    beside,
    branches_of,
    given_tensors,
    with_leaves,
)
from ..guards.fingerprint import kind_of_rule
from ..guards.kinds import ATOMS, ByIdentity, parts_of, tensor_meta
from ..guards.values import comparable
from .scalar_profile import input_kind

_ONLY_TENSORS = frozenset((Tensor,))


class CallKey(NamedTuple):
    """The key of a call.

    Attributes:
        args, kwargs: the kinds of its arguments.
        device, deterministic: the settings that a recorded run depends on.
        aliases: which of the arguments' Tensors are the same, by their places; empty if all differ.
    """

    args: tuple
    kwargs: tuple
    device: torch.device
    deterministic: bool
    aliases: tuple[int, ...] = ()


def key_of(args: tuple, kwargs: dict, meta: Callable[[torch.Tensor], Any] = tensor_meta,
           inputs: list[torch.Tensor] | None = None) -> CallKey:
    """The key of a call: the kinds of the arguments, and which of them are the same."""
    inputs = raws_of(args, kwargs) if inputs is None else inputs
    aliases = ()
    if len(inputs) > 1:
        places = {id(raw): i for i, raw in enumerate(inputs)}
        if len(places) < len(inputs):
            aliases = tuple([places[id(raw)] for raw in inputs])
    kinds = tuple([_kind(v, meta) for v in args])
    named = tuple([(k, _kind(v, meta)) for k, v in kwargs.items()]) if kwargs else ()
    # without a call of Python's code, since this is on the path of each call
    return tuple.__new__(CallKey, (kinds, named, *settings(), aliases))


def settings() -> tuple[torch.device, bool]:
    """The settings that a recorded run depends on."""
    return context.current_device(), torch.are_deterministic_algorithms_enabled()


def key_without_numbers(args: tuple, kwargs: dict) -> tuple[Any, list[Any]]:
    """The key without the values of the arguments' numbers, and the numbers."""
    numbers: list[Any] = []

    def kind_of(leaf: Any) -> Any:
        kind = input_kind(leaf)
        if kind is None:
            return leaf
        numbers.append(leaf)
        return kind

    return key_of(*with_leaves((args, kwargs), kind_of)), numbers


def raws_of(args: tuple, kwargs: dict) -> list[torch.Tensor]:
    """The data of the arguments' Tensors, which are a graph's first inputs."""
    if not kwargs and _ONLY_TENSORS.issuperset(map(type, args)):  # most calls
        return [t._raw for t in args]
    return [t._raw for t in given_tensors((args, kwargs))]


def tensor_meta_of_any_size(raw: torch.Tensor) -> tuple:
    """The part of a tensor's metadata that is fixed in a graph for several sizes."""
    return raw.dim(), raw.dtype, raw.device


def _kind(value: Any, meta: Callable[[torch.Tensor], Any], depth: int = 0) -> Any:
    kind = type(value)
    if kind is not Tensor and issubclass(kind, Parameter):
        return id(value)
    if kind is Tensor or issubclass(kind, Tensor):
        own = value.__dict__  # hooks, and what a program has put there
        found = (meta(value._raw), comparable(own)) if own else meta(value._raw)
        return found if kind is Tensor else (kind, found)
    if kind in ATOMS:
        return comparable(value)
    if issubclass(kind, (tuple, list)):
        parts = tuple([_kind(v, meta, depth) for v in branches_of(value)])
        return (kind, parts) if kind in BARE else (kind, parts, *map(comparable, beside(value)))
    if issubclass(kind, dict):
        parts = tuple([(k if type(k) is str else comparable(k), _kind(v, meta, depth))
                       for k, v in (value.items() if kind is dict else parts_of(value))])
        return (kind, parts) if kind in BARE else (kind, parts, *map(comparable, beside(value)))
    if kind is slice:
        return slice, comparable((value.start, value.stop, value.step))
    if kind is ByIdentity:
        return value
    found = apart(value, depth)
    if found is not None:
        return found.key, tuple([_kind(part, meta, depth + 1) for part in found.parts])
    rule = kind_of_rule(value)
    return comparable(value) if rule is None else rule
