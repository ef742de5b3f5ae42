"""Clipping of values and norms."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import torch

from ..core.context import current_device
from ..core.dtype import float_type, int_type, promote_types, to_raw, uint_type
from ..core.errors import op
from ..core.spreading import is_part, spreading
from ..core.state import state
from ..tensors.inplace import in_place
from ..tensors.kernels import STOPS_AT_BOUNDS
from ..tensors.tensor import Tensor, tensor_methods, wrap
from .arguments import tensors
from .extrema import maximum, minimum
from .operands import flag

__all__ = ["clamp", "clamp_", "clip", "clip_by_global_norm", "clip_by_norm", "clip_by_value"]


def _limits(kind: torch.dtype) -> tuple[float, float]:
    found = torch.finfo(kind) if kind.is_floating_point else torch.iinfo(kind)
    return found.min, found.max


_LIMITS = {kind: _limits(kind) for kind in map(to_raw, (*int_type, *uint_type, *float_type))}


def _held(raw: torch.Tensor, bound: Any, name: str) -> Any:
    """A bound as the tensor's type holds it: beyond its range one that doesn't limit, or inf.

    Raises:
        ValueError: if no integer of the type is within the bound.
    """
    kind = type(bound)
    if kind is not float and kind is not int or (limits := _LIMITS.get(raw.dtype)) is None:
        return bound
    least, most = limits
    if least <= bound <= most or bound != bound:
        return bound
    if raw.is_floating_point():
        return math.inf if bound > 0 else -math.inf
    if kind is float:
        return bound
    if (bound > 0) == (name == "min"):
        raise ValueError(f"For 'clamp', '{name}' must leave a number between {least} and {most}, "
                         f"which 'input' can hold, but got {bound}.")
    return least if name == "min" else most


def _bounds(raw: torch.Tensor, low: Any, high: Any) -> tuple[Any, Any]:
    """Both bounds as numbers or both as tensors, as the kernel takes them."""
    low = _held(raw, getattr(low, "_raw", low), "min")
    high = _held(raw, getattr(high, "_raw", high), "max")
    if isinstance(low, torch.Tensor) and isinstance(high, (int, float)):
        high = torch.full((), high, dtype=raw.dtype, device=raw.device)
    if isinstance(high, torch.Tensor) and isinstance(low, (int, float)):
        low = torch.full((), low, dtype=raw.dtype, device=raw.device)
    return low, high


def _one_by_one(raws: Sequence[torch.Tensor]) -> bool:
    """Whether to avoid PyTorch's kernels for many tensors, which gradients and vmap lack."""
    return torch._C._are_functorch_transforms_active() or (
        torch.is_grad_enabled() and any(raw.requires_grad for raw in raws)) or (
        state.level is not None and state.level.forward)


def _total_norm(raws: Sequence[torch.Tensor], order: float) -> torch.Tensor:
    """The norm of all elements of all tensors; outside gradients by one kernel for many tensors."""
    raws = [raw if raw.is_floating_point() else raw.float() for raw in raws]
    if spreading().is_spread(raws):
        return _norm_over_stages([raw for raw in raws if not raw.is_meta], order)
    if (order < 0 or order == math.inf) and not all(raw.numel() for raw in raws):
        raise ValueError(f"For the norm of order {order}, which is the least or the largest "
                         f"magnitude, each Tensor must have elements.")
    wide = torch.float64 if any(raw.dtype is torch.float64 for raw in raws) else torch.float32
    # the norm of a tensor of 16 bits may be beyond its type
    kind = wide if any(raw.itemsize == 2 for raw in raws) else None
    if _one_by_one(raws):
        norms = [torch.linalg.vector_norm(raw, order, dtype=kind) for raw in raws]
    else:
        norms = torch._foreach_norm(  # pyright: ignore[reportPrivateImportUsage]
            raws, order, dtype=kind)
    return torch.linalg.vector_norm(torch.stack([n.to(wide) for n in norms]), order)


def _norm_over_stages(raws: Sequence[torch.Tensor], order: float) -> torch.Tensor:
    """The norm of all elements of tensors of which each stage of a pipeline has its own."""
    if order <= 0:
        raise ValueError(f"In a network whose stages run on several processes, the order of a norm "
                         f"must be above 0, but got {order}.")
    mine = _total_norm(raws, order) if raws else torch.zeros((), device=current_device())
    mine = mine.full_tensor() if is_part(mine) else mine  # type: ignore[attr-defined]
    if order == float("inf"):
        return spreading().total("norm", mine.double(), "max").to(mine.dtype)
    return spreading().total("norm", mine.double() ** order, "sum").pow(1 / order).to(mine.dtype)


def _scaled(raws: Sequence[torch.Tensor], factor: torch.Tensor) -> list[Tensor]:
    if _one_by_one([*raws, factor]) or spreading().is_spread(raws):
        return [wrap((raw * factor).to(raw.dtype)) for raw in raws]
    scaled = torch._foreach_mul(list(raws), factor)  # pyright: ignore[reportPrivateImportUsage]
    return [wrap(raw) for raw in scaled]


def clamped(raw: torch.Tensor, low: Any, high: Any) -> torch.Tensor:
    """A raw tensor between two bounds, with the gradient of all that is not outside of them."""
    if not STOPS_AT_BOUNDS or not _one_by_one([raw, *(b for b in (low, high) if isinstance(
            b, torch.Tensor))]):
        return torch.clamp(raw, low, high)
    if low is not None:
        raw = torch.where(raw < low, low, raw)
    return raw if high is None else torch.where(raw > high, high, raw)


@op
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Each element brought between `min` and `max`; at the bounds the gradient passes.

    Args:
        input: any shape.
        min: a number or a Tensor that broadcasts, or None.
        max: a number or a Tensor that broadcasts, or None; it wins where it is less than `min`.

    Returns:
        Tensor of the shape that all broadcast to

    Raises:
        ValueError: if both bounds are None, or no number of the type of `input` is within them.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.clamp(ms.Tensor([1.0, 5.0, 9.0]), 2, 6))
        [2. 5. 6.]
    """
    if min is None and max is None:
        raise ValueError("For 'clamp', at least one of 'min' or 'max' must not be None.")
    raw, low, high = input._raw, *_bounds(input._raw, min, max)
    for bound in (low, high):
        if isinstance(bound, torch.Tensor) and not bound.dim() and bound.dtype is not raw.dtype:
            raw = raw.to(promote_types(raw.dtype, bound.dtype))  # as bounds of any other rank
    return wrap(clamped(raw, low, high))


clip = clamp


@op
def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """`clamp` in place.

    Args:
        input: any shape.
        min: a number or a Tensor that broadcasts, or None.
        max: a number or a Tensor that broadcasts, or None.

    Returns:
        `input` itself

    Raises:
        ValueError: if both bounds are None.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.clamp_(ms.Tensor([1.0, 5.0, 9.0]), 2, 6))
        [2. 5. 6.]
    """
    if min is None and max is None:
        raise ValueError("For 'clamp_', at least one of 'min' or 'max' must not be None.")
    return in_place(input, lambda raw: raw.clamp_(*_bounds(raw, min, max)))


@op
def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Each element brought between two bounds; at a bound half of the gradient passes.

    Args:
        x: a Tensor, or a tuple or list of them.
        clip_value_min: a number or a Tensor that broadcasts, or None.
        clip_value_max: a number or a Tensor that broadcasts, or None; it wins where it is less.

    Returns:
        Tensor of the shape and type of `x`, or a tuple or list of them

    Raises:
        ValueError: if both bounds are None.
        TypeError: if `x` is something else.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.clip_by_value(ms.Tensor([1.0, 5.0, 9.0]), 2, 6))
        [2. 5. 6.]
    """
    if clip_value_min is None and clip_value_max is None:
        raise ValueError("For 'clip_by_value', one of 'clip_value_min' and 'clip_value_max' must "
                         "be given, but both are None.")
    if isinstance(x, (tuple, list)):
        return tuple([clip_by_value(t, clip_value_min, clip_value_max) for t in x])
    out = x
    if clip_value_min is not None:
        out = maximum(out, clip_value_min)
    if clip_value_max is not None:
        out = minimum(out, clip_value_max)
    return wrap(out._raw.to(x._raw.dtype))


@op
def clip_by_norm(x: Any, max_norm: float, norm_type: float = 2.0,
                 error_if_nonfinite: bool = False) -> Any:
    """Tensors scaled down together so that the norm of all their elements is at most
    `max_norm`.

    Args:
        x: a Tensor, or a tuple or list of them.
        max_norm: the largest norm allowed.
        norm_type: the order of the norm; inf for the largest magnitude.
        error_if_nonfinite: whether an infinite or nan norm is an error.

    Returns:
        Tensor of the shape of `x`, or a tuple or list of them

    Raises:
        RuntimeError: if the norm is not finite and `error_if_nonfinite` is set.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.clip_by_norm(ms.Tensor([3.0, 4.0]), 1.0))
        [0.5999999  0.79999983]
    """
    raws = tensors(x if isinstance(x, (tuple, list)) else [x], "clip_by_norm", "x")
    total = _total_norm(raws, float(norm_type))
    flag(error_if_nonfinite, "clip_by_norm", "error_if_nonfinite")
    if not isinstance(max_norm, numbers.Real):
        raise TypeError(f"For 'clip_by_norm', 'max_norm' must be a number, but got {max_norm!r}.")
    if error_if_nonfinite and not torch.isfinite(total):
        raise RuntimeError(f"For 'clip_by_norm', the norm of 'x' must be finite, but got {total}.")
    out = _scaled(raws, (max_norm / (total + 1e-6)).clamp(max=1.0))
    return tuple(out) if isinstance(x, (tuple, list)) else out[0]


@op
def clip_by_global_norm(x: Any, clip_norm: Any = 1.0, use_norm: Any = None) -> Any:
    """Tensors scaled down together so that the 2-norm of all their elements is at most
    `clip_norm`.

    Args:
        x: a tuple or list of Tensors; of a single Tensor, a Tensor comes back.
        clip_norm: the largest norm allowed.
        use_norm: only None.

    Returns:
        tuple of Tensors of the shapes and types of those in `x`

    Raises:
        TypeError: if `x` is not a tuple or list of Tensors.
        ValueError: if `use_norm` is given or `clip_norm` is not positive.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.ops.clip_by_global_norm([ms.Tensor([3.0]), ms.Tensor([4.0])]))
        [0.6] [0.8]
    """
    if use_norm is not None:
        raise ValueError(f"For 'clip_by_global_norm', 'use_norm' must be None, but got {use_norm}.")
    bound = float(clip_norm)
    if bound <= 0:
        raise ValueError(f"For 'clip_by_global_norm', 'clip_norm' must be positive, "
                         f"but got {bound}.")
    raws = tensors([x] if isinstance(x, Tensor) else x, "clip_by_global_norm", "x")
    factor = bound / _total_norm(raws, 2.0).clamp(min=bound)
    return _scaled(raws, factor)[0] if isinstance(x, Tensor) else tuple(_scaled(raws, factor))


tensor_methods(clamp=clamp, clip=clamp, clamp_=clamp_)
