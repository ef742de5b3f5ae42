"""Tensors inside nested structures: visiting, naming and replacing them."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..core import structures
from ..core.structures import (
    agree,
    aligned,
    dict_like,
    endless,
    kind_of,
    leaves,
    same_structure,
)
from ..tensors.tensor import Tensor

__all__ = [
    "argument_names", "check_no_hidden", "container_tensors", "dict_like", "differentiable",
    "differentiable_tensors", "hides_tensor", "leaves", "map_container_tensors", "map_tensors",
    "matched", "paths", "same_structure", "tensors", "tensors_as",
]


def tensors(tree: Any) -> Iterator[Tensor]:
    """The Tensors in a structure, in order."""
    if isinstance(tree, Tensor):
        yield tree
        return
    cls = type(tree)
    if cls is tuple or cls is list:
        parts: Any = tree
    else:
        kind = kind_of(tree)
        if kind is None:
            return
        parts = kind.parts(tree)
    for branch in parts:
        try:
            yield from tensors(branch)
        except RecursionError:
            raise endless(tree) from None


def tensors_as(like: Any, tree: Any) -> Iterator[Tensor]:
    """The Tensors in a structure, in the order in which `like` has them.

    Dicts that have the same keys may have them in another order. Where the structures differ
    otherwise, the Tensors come in their own order.
    """
    kind = kind_of(like)
    if kind is None or not agree(like, tree):
        yield from tensors(tree)
        return
    for own, part in zip(kind.parts(like), aligned(like, tree), strict=True):
        yield from tensors_as(own, part)


def matched(like: Any, tree: Any) -> list[Any] | None:
    """What a structure has in the place of each Tensor in `like`; None for all in a part of None.

    Returns:
        None if it isn't of that structure.
    """
    kind = kind_of(like)
    if kind is None:
        if kind_of(tree) is not None:
            return None
        return [tree] if isinstance(like, Tensor) else []
    if tree is None:
        return [None for _ in tensors(like)]
    if not agree(like, tree):
        return None
    found: list[Any] = []
    for own, part in zip(kind.parts(like), aligned(like, tree), strict=True):
        of_part = matched(own, part)
        if of_part is None:
            return None
        found += of_part
    return found


def trained(tensor: Tensor) -> bool:
    """Whether a tensor is one to differentiate by: not a Parameter that training leaves alone."""
    return tensor.__dict__.get("requires_grad", True)


def differentiable(raw: torch.Tensor) -> bool:
    """Whether a raw tensor can have a gradient."""
    return raw.is_floating_point() or raw.is_complex()


def differentiable_tensors(tree: Any) -> Iterator[Tensor]:
    """The Tensors in a structure that can have a gradient."""
    return (t for t in tensors(tree) if differentiable(t._raw))


def map_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """The same structure with each Tensor replaced by the result of `function` for it.

    A dataclass or an object of a registered class that has no Tensors comes back itself.
    """
    if isinstance(tree, Tensor):
        return function(tree)
    cls = type(tree)  # what is most frequent first, without a detour
    try:
        if cls is tuple:
            return tuple([map_tensors(function, branch) for branch in tree])
        if cls is list:
            return [map_tensors(function, branch) for branch in tree]
        if cls is dict:
            return {key: map_tensors(function, branch) for key, branch in tree.items()}
    except RecursionError:
        raise endless(tree) from None
    kind = kind_of(tree)
    if kind is None:
        return tree
    parts = kind.parts(tree)
    made = [map_tensors(function, branch) for branch in parts]
    if kind.keeps and all(new is old for new, old in zip(made, parts, strict=True)):
        return tree
    return kind.rebuild(tree, made)


def container_tensors(tree: Any) -> Iterator[Tensor]:
    """The Tensors in nested tuples, lists and dicts, not those in objects.

    Compiled functions know objects by themselves: their attributes are guarded, and may be inputs.
    """
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, (tuple, list)):
        for branch in tree:
            yield from container_tensors(branch)
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from container_tensors(branch)


def map_container_tensors(function: Callable[[Tensor], Any], tree: Any) -> Any:
    """As `map_tensors`, of nested tuples, lists and dicts: objects stay themselves."""
    if isinstance(tree, Tensor):
        return function(tree)
    kind = kind_of(tree)
    if kind is None or kind.keeps:
        return tree
    return kind.rebuild(tree, [map_container_tensors(function, b) for b in kind.parts(tree)])


def hides_tensor(leaf: Any) -> bool:
    """Whether a leaf is an object with Tensors that no function knows how to reach."""
    if isinstance(leaf, Tensor) or getattr(type(leaf), "_is_whole", False):
        return False
    return any(isinstance(value, Tensor) for value in getattr(leaf, "__dict__", {}).values())


def _hides_any(tree: Any) -> bool:
    if isinstance(tree, Tensor):
        return False
    kind = kind_of(tree)
    if kind is None:
        return hides_tensor(tree)
    for part in kind.parts(tree):  # no `any`, which costs more than the question
        if _hides_any(part):
            return True
    return False


def check_no_hidden(name: str, what: str, tree: Any) -> None:
    """Refuse a structure with an object in it that holds Tensors, but is no structure.

    Raises:
        TypeError: which names the object's place.
    """
    with contextlib.suppress(RecursionError):
        if not _hides_any(tree):
            return
    for path, leaf in structures.paths(tree):
        if hides_tensor(leaf):
            raise TypeError(
                f"For '{name}', {what}{path and ', at '}{path} is of type "
                f"{type(leaf).__name__}, which holds Tensors but is no structure. Make it a "
                f"dataclass, or register it with lamella.tree.register.")


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
    return ((path, leaf) for path, leaf in structures.paths(tree, name)
            if isinstance(leaf, Tensor))
