"""Tensors inside nested tuples, lists and dicts: visiting and replacing them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

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


def leaves(tree: Any) -> Iterator[Any]:
    """What is in a structure, in order."""
    if isinstance(tree, (tuple, list)):
        for branch in tree:
            yield from leaves(branch)
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from leaves(branch)
    else:
        yield tree


def map_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """The same structure with each Tensor replaced by what `function` makes of it."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, tuple):
        parts = [map_tensors(function, branch) for branch in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if isinstance(tree, list):
        return [map_tensors(function, branch) for branch in tree]
    if isinstance(tree, dict):
        mapped = {key: map_tensors(function, branch) for key, branch in tree.items()}
        return mapped if type(tree) is dict else _of_its_kind(tree, mapped)
    return tree


def _of_its_kind(tree: dict, mapped: dict) -> dict:
    """A dict such as ``defaultdict`` or ``OrderedDict`` with other values."""
    twin = copy.copy(tree)
    twin.update(mapped)
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
