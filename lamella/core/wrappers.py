"""The tensor inside of the wrappers that PyTorch's function transformations use.

Inside `vmap`, and where `torch.func` differentiates, PyTorch wraps tensors: one that a function
sees may stand for many examples.
"""

from __future__ import annotations

from typing import Any

import torch

# PyTorch's levels: what kind of wrapper a raw tensor is, and what is inside
functorch: Any = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]


def settled(raw: torch.Tensor, where: str) -> torch.Tensor:
    """A copy of a value that outlives the running transformations and their derivatives.

    Raises:
        RuntimeError: if it differs between the examples of a `vmap`.
    """
    if differs(raw):
        raise RuntimeError(f"For '{where}', a value that differs between the examples of 'vmap' "
                           f"can't be kept outside of it; return it instead.")
    raw = physical(raw)
    with torch._C._DisableFuncTorch():
        return raw.detach().clone()


def differs(raw: torch.Tensor) -> bool:
    """Whether a tensor differs between the examples of any `vmap`."""
    while functorch.is_functorch_wrapped_tensor(raw):
        if functorch.is_batchedtensor(raw):
            return True
        raw = functorch.get_unwrapped(raw)
    return False


def plain(raw: torch.Tensor) -> torch.Tensor:
    """The data of a tensor that is about to leave the running transformations.

    Raises:
        RuntimeError: if it differs between the examples of a `vmap`.
    """
    if differs(raw):
        raise RuntimeError("Inside 'vmap' a Tensor stands for many examples, so it can't become "
                           "an array of NumPy's or Python numbers; return it instead.")
    with torch._C._DisableFuncTorch():
        return physical(raw).detach()


def levels_of(raw: torch.Tensor) -> list[int]:
    """The levels of the `vmap`s between whose examples a tensor differs, the outermost first."""
    found = []
    while functorch.is_functorch_wrapped_tensor(raw):
        if functorch.is_batchedtensor(raw):
            found.append(functorch.maybe_get_level(raw))
        raw = functorch.get_unwrapped(raw)
    return found[::-1]


def of_all_examples(raw: torch.Tensor, levels: list[int] | None = None) -> torch.Tensor:
    """The data of a tensor, those of all examples: a dimension in front for each `vmap`.

    With `levels`, the dimensions in front are those of these `vmap`s; of size 1 where the tensor
    is the same for all examples.
    """
    def unwrapped(raw: torch.Tensor) -> torch.Tensor:
        if not functorch.is_functorch_wrapped_tensor(raw):
            return raw
        inner = functorch.get_unwrapped(raw)
        if not functorch.is_batchedtensor(raw):
            return unwrapped(inner)
        whole = unwrapped(inner)
        more = whole.dim() - inner.dim()
        return whole.movedim(functorch.maybe_get_bdim(raw) + more, more)

    own = levels_of(raw)
    with torch._C._DisableFuncTorch():
        whole = unwrapped(raw).detach()
        for place, level in enumerate(levels or ()):
            if level not in own:
                whole = whole.unsqueeze(place)
        return whole


def physical(raw: torch.Tensor) -> torch.Tensor:
    """The memory behind a tensor, with every dimension that `vmap` hides."""
    while functorch.is_functorch_wrapped_tensor(raw):
        raw = functorch.get_unwrapped(raw)
    return raw
