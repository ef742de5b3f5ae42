"""What a program declared about a compiled function's arguments, and the check of calls by it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...core.dtype import Type
from ...tensors.tensor import Tensor

__all__ = ["Dimensions", "Signatures", "check_call"]


class Dimensions(tuple):
    """A declared Tensor's dimensions, None where they vary, and its type."""

    dtype: Type

    @classmethod
    def of(cls, given: Tensor) -> Dimensions:
        """Those of a Tensor made by ``Tensor(shape=[None, 3], dtype=...)``."""
        found = cls(given.__dict__.get("sizes", tuple(given.shape)))
        found.dtype = given.dtype
        return found

    def __str__(self) -> str:
        return f"[{', '.join('-1' if not _fixed(size) else str(size) for size in self)}]"


class Signatures(list):
    """The declared signatures of a function's arguments, by position.

    Args:
        signatures: for each argument what `config.declared` gives.
        owner: who declared them, ``"set_inputs"`` or ``"enable_dynamic"``.
        all_given: whether a call must give as many arguments.
    """

    def __init__(self, signatures: list[Any], owner: str, all_given: bool):
        super().__init__(signatures)
        self.owner, self.all_given = owner, all_given


def _fixed(size: Any) -> bool:
    return isinstance(size, int) and size >= 0


def check_call(fn: Callable[..., Any], declared: Any, args: tuple, kwargs: dict) -> None:
    """Check the arguments of a call by what was declared; nothing if nothing was.

    Raises:
        TypeError: for a Tensor of another type, or something else than a Tensor.
        ValueError: for other dimensions, or another number of arguments.
    """
    if not isinstance(declared, Signatures):
        return
    signatures = list(declared)
    if declared.owner == "enable_dynamic":  # of a method, the object comes first
        signatures = signatures[len(fn.args) if isinstance(fn, functools.partial) else 0:]
    elif declared.all_given and not kwargs and len(args) != len(signatures):
        raise ValueError(f"For set_inputs, the length of input must be equal to expected one, but "
                         f"got expected: {len(signatures)} and input: {len(args)}!")
    for place, (signature, given) in enumerate(zip(signatures, args, strict=False), 1):
        _check(declared.owner, place, signature, given)


def _check(owner: str, place: int, wanted: Any, given: Any) -> None:
    if isinstance(wanted, list):
        if isinstance(given, (tuple, list)) and len(given) == len(wanted):
            for inner, value in zip(wanted, given, strict=True):
                _check(owner, place, inner, value)
        return
    if not isinstance(wanted, Dimensions):
        return
    if not isinstance(given, Tensor):
        raise TypeError(f"For '{owner}', argument {place} must be a Tensor, as was declared, but "
                        f"got {given!r} of type {type(given).__name__}.")
    dims, sizes = list(wanted), tuple(given.shape)
    if given.dtype != wanted.dtype:
        raise TypeError(
            f"When using decorator enable_dynamic, input tensor dtype = {given.dtype}, dynamic "
            f"tensor dtype = {wanted.dtype}, tensor dtypes are not the same."
            if owner == "enable_dynamic" else
            f"For set_inputs or tuple(list) in set_inputs, the {place}th type should be "
            f"Tensor[{wanted.dtype}], but got Tensor[{given.dtype}]!")
    if dims == [None]:  # ``shape=None``, too: any rank
        return
    if len(dims) == len(sizes) and all(
            not _fixed(dim) or dim == size for dim, size in zip(dims, sizes, strict=True)):
        return
    if owner == "enable_dynamic":
        raise ValueError(
            f"When using decorator enable_dynamic, input tensor shape = {list(sizes)}, dynamic "
            f"tensor shape = {wanted}, tensor shapes are not the same.")
    if len(dims) != len(sizes):
        raise ValueError(f"For set_inputs and tuple(list) in set_inputs, the dims of {place}th "
                         f"input must be the same as expected, but got expected: {len(dims)}, and "
                         f"input: {len(sizes)}!")
    dim, size = next((dim, size) for dim, size in zip(dims, sizes, strict=True)
                     if _fixed(dim) and dim != size)
    raise ValueError(f"For set_inputs and tuple(list) in set_inputs, the shape of {place}th input "
                     f"must be the same as expected, but got expected: {dim}, and input: {size}!")
