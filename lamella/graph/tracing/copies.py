"""Copies of arguments and results, so that later changes of the originals don't reach them."""

from __future__ import annotations

from typing import Any

from ...autodiff.tree import map_container_tensors as map_tensors
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..guards.arguments import with_leaves


def copied(arguments: Any) -> Any:
    """The same arguments with copies of their Tensors, other than Parameters, one of each."""
    made: dict[int, Tensor] = {}

    def of(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor) or isinstance(leaf, Parameter):
            return leaf
        if id(leaf) not in made:
            made[id(leaf)] = _copy(leaf)
        return made[id(leaf)]

    return with_leaves(arguments, of)


def copies_of(results: Any) -> Any:
    """Results with copies of their Tensors, Parameters too."""
    return map_tensors(_copy, results)


def _copy(tensor: Tensor) -> Tensor:
    made = wrap(tensor._raw.detach().clone())
    made.__dict__.update(tensor.__dict__)  # what the program has put on it
    return made
