"""Copies of arguments and results, so that later changes of the originals don't reach them."""

from __future__ import annotations

from typing import Any

from ...autodiff.tree import map_container_tensors as map_tensors
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..guards.arguments import with_leaves


def copied(arguments: Any) -> Any:
    """The same arguments with copies of their Tensors, other than Parameters."""
    return with_leaves(arguments, lambda leaf: _copy(leaf) if isinstance(leaf, Tensor)
                       and not isinstance(leaf, Parameter) else leaf)


def copies_of(results: Any) -> Any:
    """Results with copies of their Tensors, Parameters too."""
    return map_tensors(_copy, results)


def _copy(tensor: Tensor) -> Tensor:
    return wrap(tensor._raw.detach().clone())
