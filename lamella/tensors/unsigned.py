"""Unsigned integers of 16, 32 and 64 bits, for which PyTorch has few kernels.

An operator that PyTorch refuses for them is called again, on signed numbers that hold them, and its
results are converted back, wrapping around as unsigned numbers do. Types are checked only after
PyTorch has refused a call, so other types cost nothing more. Numbers of 64 bits with the highest
bit set are negative as int64: sums and products are still right, and where order matters that bit
is flipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import promote_types
from ..core.errors import add_fallback
from ..core.kernel_messages import lacks_unsigned_kernel
from .inplace import in_place
from .parameter import Parameter
from .tensor import Tensor, wrap

SIGNED = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: torch.int64}
_HIGHEST = -2**63
# operators that are right about numbers that are negative as int64: they wrap around, or only move
_WRAPS = re.compile(r"^(?!.*(max|min|div)$).*(add|sub|mul|neg|square|prod|sum|pow|xor|and$|or$|"
                    r"not$|invert|left|lshift|^eq|^ne$|^(not_)?equal$|where|select|gather|scatter|mask|"
                    r"tri[lu]|eye|trace|take|fill|index|update|item|copy|assign|diag|setitem|clone|"
                    r"unsorted|nonzero|one_hot)")
# operators whose results are indices or counts, all of them or all but the first
_COUNTS = frozenset(("arg_max", "arg_min", "argmax", "argmin", "argsort", "argwhere", "bincount",
                     "bucketize", "count_nonzero", "nonzero", "searchsorted"))
_PAIRS = frozenset(("cummax", "cummin", "max", "median", "min", "nanmedian", "sort", "topk",
                    "unique", "unique_consecutive", "unique_with_pad"))
_ORDER = re.compile(r"^(arg|cum|a|f)?(max|min)|scatter.*_(max|min)$|sort|topk|less|greater|"
                    r"^(tensor_)?[lg][te]$|searchsorted|unique|aminmax|median")
_OF_TWO = re.compile(r"less|greater|^(tensor_)?[lg][te]$|imum$|^f(max|min)$")


def retried(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `function` gives, computed with signed numbers.

    Tensors that it changes in place are changed, and results are in the type of the arguments.
    """
    name = function.__name__.strip("_")
    kinds = {raw.dtype for raw in _raws((args, kwargs)) if raw.dtype in SIGNED}
    if not kinds:
        return function(*args, **kwargs)
    kind = kinds.pop()
    for other in kinds:
        kind = promote_types(kind, other)
    raws = [raw for raw in _raws((args, kwargs)) if raw.dtype is kind]
    conversion = _Conversion(kind, name, raws)
    out = function(*conversion.to_signed(args), **conversion.to_signed(kwargs))
    conversion.write_back()
    if name in _COUNTS:
        return out
    if name in _PAIRS and isinstance(out, tuple):
        return (conversion.to_unsigned(out[0]), *out[1:])
    if name.endswith("_with_value"):  # the index comes first
        return out[0], conversion.to_unsigned(out[1])
    return conversion.to_unsigned(out)


def _raws(value: Any) -> list[torch.Tensor]:
    """The raw tensors of the Tensors in a structure of arguments."""
    if isinstance(value, (tuple, list)):
        return [raw for part in value for raw in _raws(part)]
    if isinstance(value, dict):
        return _raws(list(value.values()))
    raw = getattr(value, "_raw", None)
    return [raw] if isinstance(raw, torch.Tensor) else []


class _Conversion:
    """From unsigned integers to signed ones, and back.

    Attributes:
        kind: the type that results come back in.
        signed: the type to compute in.
        copies: the signed Tensor that replaces each argument, by the id of the argument.
    """

    def __init__(self, kind: torch.dtype, name: str, raws: list[torch.Tensor]):
        self.kind, self.signed = kind, SIGNED[kind]
        self.by_order = self.numbers = False
        if kind is torch.uint64 and _WRAPS.search(name) is None and any(
                bool(wrap((raw.view(torch.int64) < 0).any())) for raw in raws):
            if not _ORDER.search(name):
                raise TypeError("uint64 numbers of 2**63 and above are more than this operator "
                                "computes with; convert them to float64 first.")
            self.by_order, self.numbers = True, _OF_TWO.search(name) is not None
        self.copies: dict[int, tuple[Any, Any, tuple[Any, int]]] = {}

    def to_signed(self, value: Any) -> Any:
        """`value` with a signed copy for each unsigned Tensor."""
        if isinstance(value, (tuple, list)):
            return type(value)(self.to_signed(part) for part in value)
        if isinstance(value, dict):
            return {key: self.to_signed(part) for key, part in value.items()}
        if self.numbers and type(value) is int:
            return wrap(torch.tensor(min(max(value, 0), 2**64 - 1) + _HIGHEST))
        raw = getattr(value, "_raw", None)
        if not isinstance(raw, torch.Tensor) or raw.dtype not in SIGNED:
            return value
        if id(value) not in self.copies:
            wide = raw.view(torch.int64) if raw.dtype is torch.uint64 else raw.to(self.signed)
            wide = wide ^ _HIGHEST if self.by_order else wide.clone()
            copy = _like(value, wide)
            self.copies[id(value)] = (value, copy, (copy._raw, copy._raw._version))
        return self.copies[id(value)][1]

    def to_unsigned(self, value: Any) -> Any:
        """`value` as unsigned numbers; a copy becomes the argument that it replaces."""
        if isinstance(value, (tuple, list)):
            return type(value)(self.to_unsigned(part) for part in value)
        if not isinstance(value, Tensor):
            return value
        for own, copy, _before in self.copies.values():
            if value is copy:
                return own
        raw = value._raw
        return wrap(self._narrow(raw)) if raw.dtype is self.signed else value

    def write_back(self) -> None:
        """Write what an operator changed in place into the arguments themselves."""
        for own, copy, (before, version) in self.copies.values():
            raw = copy._raw
            if raw is not before or raw._version != version:
                changed = self._narrow(raw).to(own._raw.dtype)
                in_place(own, lambda old, new=changed: old.copy_(new))

    def _narrow(self, raw: torch.Tensor) -> torch.Tensor:
        raw = raw ^ _HIGHEST if self.by_order else raw
        return raw.view(torch.uint64) if self.kind is torch.uint64 else raw.to(self.kind)


def _like(value: Any, raw: torch.Tensor) -> Any:
    """A Tensor around `raw`; a Parameter if `value` is one."""
    if isinstance(value, Parameter):
        return Parameter(wrap(raw), name=value.name, requires_grad=value.requires_grad)
    return wrap(raw)


add_fallback(lacks_unsigned_kernel, retried)
