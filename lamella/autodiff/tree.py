"""Tensors inside nested tuples, lists and dicts: visiting, naming and replacing them."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..dtype import is_inexact
from ..tensor import Tensor


def tensors(tree: Any) -> Iterator[Tensor]:
    """The Tensors in a structure, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for branch in tree:
            yield from tensors(branch)
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from tensors(branch)


def differentiable(raw: torch.Tensor) -> bool:
    """Whether a raw tensor can have a gradient."""
    return is_inexact(raw.dtype)


def differentiable_tensors(tree: Any) -> Iterator[Tensor]:
    """The Tensors in a structure that can have a gradient."""
    return (t for t in tensors(tree) if differentiable(t._raw))


def leaves(tree: Any) -> Iterator[Any]:
    """The leaves of a structure, in order."""
    if isinstance(tree, (tuple, list)):
        for branch in tree:
            yield from leaves(branch)
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from leaves(branch)
    else:
        yield tree


def map_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """The same structure with each Tensor replaced by the result of `function` for it."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, tuple):
        parts = [map_tensors(function, branch) for branch in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [map_tensors(function, branch) for branch in tree]
    if isinstance(tree, dict):
        mapped = {key: map_tensors(function, branch) for key, branch in tree.items()}
        return mapped if type(tree) is dict else dict_like(tree, mapped)
    return tree


def dict_like(tree: dict, mapped: dict) -> dict:
    """A dict of the class of `tree`, such as ``OrderedDict``, with other values."""
    twin = copy.copy(tree)
    dict.update(twin, mapped)  # a Counter's own would add them
    return twin


def same_structure(a: Any, b: Any) -> bool:
    """Whether two structures nest alike, with a leaf wherever the other has one."""
    if isinstance(a, (tuple, list)):
        return (isinstance(b, (tuple, list)) and len(a) == len(b)
                and all(same_structure(x, y) for x, y in zip(a, b, strict=True)))
    if isinstance(a, dict):
        return (isinstance(b, dict) and a.keys() == b.keys()
                and all(same_structure(a[k], b[k]) for k in a))
    return not isinstance(b, (tuple, list, dict))


def argument_names(fn: Any, count: int) -> list[str]:
    """What `fn` calls its first positional arguments."""
    names: list[str] = []
    with contextlib.suppress(TypeError, ValueError):
        for p in inspect.signature(getattr(fn, "construct", fn)).parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                names.append(p.name)
            elif p.kind is p.VAR_POSITIONAL:
                names += [f"{p.name}[{i}]" for i in range(count - len(names))]
    return (names + [f"args[{i}]" for i in range(len(names), count)])[:count]


def paths(name: str, tree: Any) -> Iterator[tuple[str, Tensor]]:
    """The Tensors in a structure, each with its path, as in ``x['a'][0]``."""
    if isinstance(tree, Tensor):
        yield name, tree
    elif isinstance(tree, (tuple, list)):
        for i, branch in enumerate(tree):
            yield from paths(f"{name}[{i}]", branch)
    elif isinstance(tree, dict):
        for key, branch in tree.items():
            yield from paths(f"{name}[{key!r}]", branch)
