"""`pad`, in all its modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..core.dtype import is_inexact
from ..core.errors import op
from ..ops.arguments import as_ints
from ..tensors.tensor import Tensor, wrap
from .select import apply_along_axis
from .types import as_tensor

__all__ = ["pad"]

_STATISTICS: dict[str, Callable[..., torch.Tensor]] = {
    "maximum": torch.amax, "minimum": torch.amin, "mean": torch.mean}
_MODES = ("constant", "edge", "empty", "linear_ramp", "maximum", "mean", "median", "minimum",
          "reflect", "symmetric", "wrap")


def _pairs(values: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """For each axis what belongs before and behind, from a number, a pair, or a pair an axis."""
    if isinstance(values, Tensor):
        values = values.asnumpy().tolist()
    if not isinstance(values, (int, float, list, tuple)):
        raise TypeError(f"For 'pad', '{name}' must be a number, a tuple, a list or a Tensor, "
                        f"but got {values!r}.")
    if isinstance(values, (int, float)):
        return [(values, values)] * rank
    nested: list[Any] = [tuple(v) if isinstance(v, (list, tuple)) else v for v in values]
    if len(nested) == 1:
        only = nested[0]
        if not isinstance(only, tuple):
            return [(only, only)] * rank
        nested = [only] * rank
    elif len(nested) == 2 and not any(isinstance(v, tuple) for v in nested):
        nested = [tuple(nested)] * rank
    if len(nested) != rank or any(not isinstance(v, tuple) or len(v) != 2 for v in nested):
        raise ValueError(f"For 'pad', '{name}' must be a number, a pair, or a pair for each of "
                         f"the {rank} axes, but got {values}.")
    return nested


@op
def pad(arr: Any, pad_width: Any, mode: Any = "constant", stat_length: Any = None,
        constant_values: Any = 0, end_values: Any = 0, reflect_type: str = "even",
        **kwargs: Any) -> Tensor:
    """An array with a border around it.

    Args:
        arr: any shape.
        pad_width: how many elements before and behind, for all axes or for each.
        mode: ``"constant"``, ``"edge"`` (the outermost element), ``"linear_ramp"`` (from it to
            `end_values`), ``"maximum"``, ``"minimum"``, ``"mean"`` (of the `stat_length` outermost
            elements), ``"reflect"``, ``"symmetric"`` (mirrored, without and with the edge),
            ``"wrap"``, ``"empty"``, or a function of (vector, pair of widths, axis, kwargs) that
            gives the padded vector.
        stat_length: how many elements a statistic is of; default: all.
        constant_values: the border's values in the mode ``"constant"``.
        end_values: the values that ``"linear_ramp"`` ends with.
        reflect_type: ``"odd"`` mirrors at the edge's value too.
        **kwargs: further arguments of a function.

    Raises:
        ValueError: if `mode` is another, or widths don't fit the axes.
        NotImplementedError: for the mode ``"median"``, as in MindSpore.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.pad([1, 2, 3], 2, mode="reflect"))
        [3 2 1 2 3 2 1]
    """
    arr = as_tensor(arr, "pad", "arr")
    if arr.ndim == 0:
        return arr
    if mode not in _MODES and not callable(mode):
        raise ValueError(f"For 'pad', 'mode' must be one of {', '.join(_MODES)} or a function, "
                         f"but got {mode!r}.")
    if mode == "median":
        raise NotImplementedError("For 'pad', the mode 'median' is not there.")
    rank = arr.ndim
    widths = [tuple(as_ints(w, "pad", "pad_width")) for w in _pairs(pad_width, rank, "pad_width")]
    if any(n < 0 for w in widths for n in w):
        raise ValueError(f"For 'pad', 'pad_width' must be 0 or more, but got {pad_width}.")
    if callable(mode):
        return _by_function(arr, widths, mode, kwargs)
    raw = arr._raw
    lengths = (_pairs(stat_length, rank, "stat_length") if stat_length is not None
               else [(n, n) for n in raw.shape])
    values = _pairs(end_values if mode == "linear_ramp" else constant_values, rank, "values")
    for axis, (before, after) in enumerate(widths):
        if mode in ("constant", "empty"):
            low, high = values[axis] if mode == "constant" else (0, 0)
            ends = _filled(raw, axis, before, low), _filled(raw, axis, after, high)
        elif mode == "linear_ramp":
            ends = _ramps(raw, axis, before, after, *values[axis])
        elif mode in _STATISTICS:
            ends = _of_statistic(raw, axis, before, after, _STATISTICS[mode], lengths[axis])
        else:
            raw = _mirrored(raw, axis, before, after, mode, reflect_type)
            continue
        raw = torch.cat((ends[0], raw, ends[1]), axis)
    return wrap(raw)


def _filled(raw: torch.Tensor, axis: int, width: int, value: Any) -> torch.Tensor:
    return raw.new_full((*raw.shape[:axis], width, *raw.shape[axis + 1:]), value)


def _ramps(raw: torch.Tensor, axis: int, before: int, after: int, low: Any, high: Any
           ) -> tuple[torch.Tensor, torch.Tensor]:
    def ramp(edge: torch.Tensor, end: Any, width: int) -> torch.Tensor:
        shape = [1] * raw.dim()
        shape[axis] = width
        wide = torch.float64 if raw.dtype is torch.float64 else torch.float32
        part = torch.arange(width, dtype=wide, device=raw.device).reshape(shape) / max(width, 1)
        return (end + part * (edge.to(wide) - end)).to(raw.dtype)

    first, last = raw.narrow(axis, 0, 1), raw.narrow(axis, raw.shape[axis] - 1, 1)
    return ramp(first, low, before), ramp(last, high, after).flip(axis)


def _of_statistic(raw: torch.Tensor, axis: int, before: int, after: int,
                  statistic: Callable[..., torch.Tensor], lengths: tuple[int, int]
                  ) -> tuple[torch.Tensor, torch.Tensor]:
    def end(width: int, part: torch.Tensor) -> torch.Tensor:
        wide = part if is_inexact(part.dtype) or statistic is not torch.mean else part.double()
        value = statistic(wide, axis, keepdim=True).to(raw.dtype)
        return value.expand(*raw.shape[:axis], width, *raw.shape[axis + 1:])

    size = raw.shape[axis]
    first, last = (min(int(n), size) for n in lengths)
    return (end(before, raw.narrow(axis, 0, first)),
            end(after, raw.narrow(axis, size - last, last)))


def _mirrored(raw: torch.Tensor, axis: int, before: int, after: int, mode: str,
              reflect_type: str) -> torch.Tensor:
    """Edges, repetition and reflection, which all are elements of the array itself."""
    size = raw.shape[axis]
    position = torch.arange(-before, size + after, device=raw.device)
    if mode == "edge" or mode == "reflect" and size == 1:
        return raw.index_select(axis, position.clamp(0, size - 1))
    if mode == "wrap":
        return raw.index_select(axis, position % size)
    period = size - 1 if mode == "reflect" else size
    turn, rest = torch.div(position, period, rounding_mode="floor"), position % period
    odd = turn % 2 == 1
    source = torch.where(odd, (size - 1) - rest, rest)
    out = raw.index_select(axis, source)
    if reflect_type != "odd":
        return out
    # by each reflection at an end the value moves on by twice that end's value
    shape = [1] * raw.dim()
    shape[axis] = -1
    first, last = raw.narrow(axis, 0, 1), raw.narrow(axis, size - 1, 1)
    climb = torch.div(turn, 2, rounding_mode="floor").reshape(shape) * 2 * (last - first)
    out = torch.where(odd.reshape(shape), 2 * last - out, out)
    return (out + climb).to(raw.dtype)


def _by_function(arr: Tensor, widths: Any, function: Callable[..., Any], kwargs: Any) -> Tensor:
    raw = arr._raw
    for axis, (before, after) in enumerate(widths):
        raw = torch.cat((_filled(raw, axis, before, 0), raw, _filled(raw, axis, after, 0)), axis)
    out = wrap(raw)
    for axis in range(arr.ndim):
        out = apply_along_axis(function, axis, out, widths[axis], axis, kwargs)
    return out
