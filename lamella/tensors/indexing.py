"""Reading and assigning parts of a tensor: NumPy's indexing language on raw tensors.

Integers, slices with a positive step, None and an ellipsis are PyTorch's own indexing, and give
views. For all else an index is laid out dimension by dimension: PyTorch has no negative steps, and
places the dimensions of ``x[0, :, [1, 2]]`` otherwise than NumPy and MindSpore.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

from ..core.dtype import is_inexact
from ..core.errors import describe
from ..core.kernel_messages import lacks_unsigned_kernel
from ..core.state import state
from .construction import WIDE_UNSIGNED, as_raw
from .inplace import _has_alias, in_place, is_wrapped, may_overlap

_ALL = slice(None)
_FAR = 2**24  # from this step on, a slice's step is compared with the length that it goes through
_index = torch.ops.aten.index.Tensor
_index_put = torch.ops.aten.index_put_.default


def get_item(raw: torch.Tensor, index: Any) -> tuple[torch.Tensor, bool]:
    """``raw[index]``, and whether it is a copy.

    It is a view where `index` holds only integers, slices that step forward, None and ``...``.
    """
    try:
        native = _native(index)
        if native is not _Other:
            return raw[native], native is not index
        layout = _Layout(raw, index)
        return layout.read(), layout.picks or bool(layout.flips)
    except (IndexError, TypeError, ValueError) as error:
        raise _explained("__getitem__", error, raw, index) from None


def set_item(tensor: Any, index: Any, value: Any) -> None:
    """``tensor[index] = value``, in place; `value` is converted to the tensor's type."""
    raw = tensor._raw
    try:
        _put(tensor, index, _source(raw, value))
    except (IndexError, TypeError, ValueError) as error:
        raise _explained("__setitem__", error, raw, index) from None
    except RuntimeError as error:
        if any(words in str(error)
               for words in ("shape mismatch", "expanded size", "sizes provided")):
            part = tuple(get_item(raw, index)[0].shape)
            if 0 in part:
                return  # there is nothing to write to
            shape = tuple(getattr(value, "shape", ()))
            raise ValueError(
                f"For 'Tensor.__setitem__', a value of shape {shape} can't be broadcast to the "
                f"part of a tensor of shape {tuple(raw.shape)} that the index {_shown(index)} "
                f"names: in order to broadcast, each dimension pair must be equal or input "
                f"dimension is 1 or target dimension is -1. But got x_shape: {_written(shape)}, "
                f"target shape: {_written(part)}.") from None
        raise


def _put(tensor: Any, index: Any, source: Any) -> None:
    raw = tensor._raw
    try:
        if raw.requires_grad or state.level is not None or _has_alias(tensor, raw):
            in_place(tensor, lambda own: _assign(own, index, source), _seen(tensor, index))
        else:
            _assign(raw, index, source)
    except RuntimeError as error:
        if not lacks_unsigned_kernel(error):
            raise
        in_place(tensor, lambda own: _assign_bits(own, index, source), _seen(tensor, index))


def _seen(tensor: Any, index: Any) -> bool:
    """Whether views see an assignment by index inside of a gradient, as in MindSpore 2.10.

    They do if it is to whole parts of a Parameter along its first dimension, by integers. All else
    gives the tensor a value of its own.
    """
    if not hasattr(tensor, "_data"):
        return False
    if type(index) is tuple and len(index) == 1:
        index = index[0]
    if type(index) is list:
        return all(type(part) is int for part in index)
    raw = getattr(index, "_raw", None)
    return type(index) is int or raw is not None and raw.dtype is not torch.bool


def _explained(name: str, error: Exception, raw: torch.Tensor, index: Any) -> Exception:
    text = str(error).split("\n")[0]
    if text.startswith("For '"):
        return error
    kind = ValueError if "shape mismatch" in text else type(error)
    if isinstance(error, IndexError) and "out of bounds" in text and any(
            hasattr(part, "_raw") for part in _parts(index)):
        # MindSpore's kernels find out, in an assignment it looks for itself
        kind = ValueError if name == "__setitem__" else RuntimeError
    if isinstance(index, tuple) and (isinstance(index[0], slice) or index[0] is ...
                                     or index[0] is None):
        # the kernel counts from the first dimension that a tensor picks from
        text = re.sub(r"for dimension \d+ with", "for a dimension with", text)
    if "shape of the mask" in text and name == "__setitem__":
        kind = ValueError
    return kind(f"For 'Tensor.{name}', {text.rstrip('.')}. "
                f"Index: {_shown(index)}, shape: {tuple(raw.shape)}.")


def _written(shape: tuple[int, ...]) -> str:
    """A shape as MindSpore's kernels write it, without the comma of a tuple of one."""
    return f"({', '.join(map(str, shape))})"


def _shown(index: Any) -> str:
    return describe(index)


def _native(index: Any) -> Any:
    """The index in PyTorch's own language, or `_Other` where that would not mean the same."""
    kind = type(index)
    if kind is int or index is None or index is Ellipsis:
        return index
    if kind is slice:
        return index if _steps_forward(index) else _Other
    if kind is not tuple:
        raw = getattr(index, "_raw", None)
        return raw if raw is not None and _plain_pick(raw) else _Other
    ellipses = numbers = 0
    native: list[Any] | None = None  # made when a tensor is found
    for place, part in enumerate(index):
        kind = type(part)
        if kind is int:
            numbers += 1
        elif part is None:
            continue
        elif kind is slice:
            if not _steps_forward(part):
                return _Other
        elif part is Ellipsis:
            ellipses += 1
        else:
            raw = getattr(part, "_raw", None)
            if raw is None or not _plain_pick(raw):
                return _Other
            if native is None:
                native = list(index)
            native[place] = raw
    if ellipses > 1 or native is not None and numbers:
        return _Other
    return index if native is None else tuple(native)


class _Other:
    """Stands for an index that PyTorch's own language has no equal to."""


def _plain_pick(raw: Any) -> bool:
    # the class Tensor has an attribute `_raw`, too, which is no tensor
    return isinstance(raw, torch.Tensor) and raw.dim() > 0 and (
        raw.dtype is torch.int64 or raw.dtype is torch.bool)


def _steps_forward(part: slice) -> bool:
    # PyTorch multiplies the step, so that a huge one overflows: `_forward` shortens it
    return part.step is None or type(part.step) is int and 0 < part.step < _FAR


def _source(raw: torch.Tensor, value: Any) -> Any:
    """What is assigned: a number that fits the type of `raw`, or a raw tensor of that type."""
    kind = type(value)
    if kind is float or kind is bool:
        if raw.dtype is torch.float16 and abs(value) > 65504.0:  # older PyTorch refuses it
            return torch.tensor(value, device=raw.device).to(raw.dtype)
        return value
    source = getattr(value, "_raw", None)
    if source is None or kind is type:
        if kind is int:
            small = -(2 ** 7) if raw.dtype.is_signed else 0
            if small <= value < 128 or raw.is_floating_point():
                return value
            # integers that don't fit wrap around, as MindSpore's do
            wrapped = value & (2 ** 64 - 1)
            return torch.tensor(wrapped - 2 ** 64 if wrapped >= 2 ** 63 else wrapped).to(
                raw.dtype).to(raw.device)
        if isinstance(value, torch.Tensor):
            source = value
        elif isinstance(value, (list, tuple, np.ndarray, np.generic, complex, int, float)):
            source = as_raw(value)
        else:
            raise TypeError(f"For 'Tensor.__setitem__', the value must be a Tensor, a number, or a "
                            f"list, tuple or array of numbers, but got {kind.__name__}.")
    if source.dtype is not raw.dtype:
        if source.is_complex() and not raw.is_complex():
            raise TypeError("For 'Tensor.__setitem__', a complex value can't be assigned to a "
                            f"tensor of type {raw.dtype}.")
        source = source.to(raw.dtype)
    if source.device != raw.device:
        source = source.to(raw.device)
    return source


def _assign(raw: torch.Tensor, index: Any, source: Any) -> None:
    if isinstance(source, torch.Tensor):
        if may_overlap(raw, source):  # the part written to with the part read
            source = source.clone()
        elif source.dim() and source.numel() == 0 and get_item(raw, index)[0].numel() == 0:
            return
    native = _native(index)
    if native is not _Other:
        raw[native] = source
    else:
        _Layout(raw, index).write(source)


def _assign_bits(raw: torch.Tensor, index: Any, source: Any) -> None:
    """As `_assign`, of a type whose kernels PyTorch lacks: as the signed type of its width."""
    signed = WIDE_UNSIGNED[raw.dtype]
    if not isinstance(source, torch.Tensor):
        source = torch.tensor(source, dtype=raw.dtype, device=raw.device)
    _assign(raw.view(signed), index, source.view(signed))


class _Layout:
    """An index laid out over the dimensions of a tensor, by NumPy's rules.

    Attributes:
        basic: the part of the index that PyTorch takes as it is, and that gives `view`.
        flips: the dimensions of the view to reverse (PyTorch has no negative steps).
        advanced: for each dimension of the view the tensor that picks from it, or None; None in all
            if the index picks nothing by tensors.
    """

    def __init__(self, raw: torch.Tensor, index: Any):
        self.raw = raw
        given = [_part(p, raw.device) for p in _parts(index)]
        if not any(isinstance(p, (int, torch.Tensor)) and p is not True for p in given) and (
                sum(p is True for p in given) == 1):
            given = [None if p is True else p for p in given]  # alone, it is a new dimension
        parts = self._expanded(given)
        picks = any(_picks(p) for p in parts)
        self.basic: list[Any] = []
        self.flips: list[int] = []
        self.advanced: list[torch.Tensor | None] = []
        dim = axis = 0  # in the tensor, and in the view
        for part in parts:
            if part is None:
                self.basic.append(None)
                self.advanced.append(None)
                axis += 1
            elif isinstance(part, slice):
                forward, backward = _forward(part, raw.shape[dim])
                self.basic.append(forward)
                self.advanced.append(None)
                if backward:
                    self.flips.append(axis)
                dim, axis = dim + 1, axis + 1
            elif isinstance(part, bool):
                self.basic.append(None)
                self.advanced.append(torch.zeros(int(part), dtype=torch.int64, device=raw.device))
                axis += 1
            elif isinstance(part, int) or part.dim() == 0 and not picks:
                if isinstance(part, int) and not -raw.shape[dim] <= part < raw.shape[dim]:
                    raise IndexError(f"index {part} is out of bounds for dimension {dim} with size "
                                     f"{raw.shape[dim]}")
                if picks:
                    self.basic.append(_ALL)
                    self.advanced.append(torch.tensor(part, device=raw.device))
                    axis += 1
                else:
                    self.basic.append(part)
                dim += 1
            else:
                width = part.dim() if part.dtype is torch.bool else 1
                self.basic.extend([_ALL] * width)
                self.advanced.append(part)
                dim, axis = dim + width, axis + width
        self.picks = picks

    def _expanded(self, parts: list[Any]) -> list[Any]:
        """With the ellipsis, and dimensions that the index leaves out, as full slices."""
        used = sum(_width(p) for p in parts)
        if used > self.raw.dim():
            raise IndexError(f"too many indices for a tensor of {self.raw.dim()} dimensions")
        places = [i for i, p in enumerate(parts) if p is Ellipsis]
        if len(places) > 1:
            raise IndexError("an index can hold only one ellipsis ('...')")
        at = places[0] if places else len(parts)
        return [*parts[:at], *[_ALL] * (self.raw.dim() - used), *parts[at + 1:]]

    def _view(self) -> torch.Tensor:
        return self.raw[tuple(self.basic)]

    def read(self) -> torch.Tensor:
        view = self._view()
        if self.flips:
            view = view.flip(self.flips)
        return _index(view, self.advanced) if self.picks else view

    def write(self, source: Any) -> None:
        view = self._view()
        if not self.picks:
            if self.flips and isinstance(source, torch.Tensor) and source.dim():
                source = source.expand(view.shape).flip(self.flips)
            view[...] = source
            return
        mask = self._only_mask(view)
        if mask is not None and (not isinstance(source, torch.Tensor) or source.dim() == 0):
            view.masked_fill_(mask, source)
            return
        if not isinstance(source, torch.Tensor):
            source = torch.tensor(source, dtype=view.dtype, device=view.device)
        if self.flips:
            self._write_by_position(view, source)
        else:
            _index_put(view, self.advanced, source)

    def _only_mask(self, view: torch.Tensor) -> torch.Tensor | None:
        """The mask, over the whole view, where the index picks by one mask alone.

        Filling by it needs no count of its elements, so that it can be traced and mapped.
        """
        picked = [(i, t) for i, t in enumerate(self.advanced) if t is not None]
        if len(picked) != 1 or picked[0][1].dtype is not torch.bool:
            return None
        at, mask = picked[0]
        if mask.shape != view.shape[at:at + mask.dim()]:
            return None
        return mask.reshape(mask.shape + (1,) * (view.dim() - at - mask.dim()))

    def _write_by_position(self, view: torch.Tensor, source: torch.Tensor) -> None:
        """Write through reversed dimensions: PyTorch has no reversed views to write through."""
        places = torch.arange(view.numel(), device=view.device).reshape(view.shape)
        places = _index(places.flip(self.flips), self.advanced)
        _index_put(view, list(torch.unravel_index(places, view.shape)), source)


def _parts(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and any(
            i is None or i is Ellipsis or isinstance(i, (slice, list, tuple)) or hasattr(i, "_raw")
            for i in index):
        return tuple(index)  # MindSpore reads such a list as a tuple, as NumPy once did
    return (index,)


def _part(part: Any, device: torch.device) -> Any:
    """One part of an index as None, ``...``, a slice, a bool, an int, or a tensor to pick by."""
    if part is None or part is Ellipsis or isinstance(part, (slice, bool, int)):
        return part
    if isinstance(part, np.bool_):
        return bool(part)
    if isinstance(part, np.integer):
        return int(part)
    raw = getattr(part, "_raw", part if isinstance(part, torch.Tensor) else None)
    if not isinstance(raw, torch.Tensor):
        if isinstance(part, range):
            part = list(part)
        if not isinstance(part, (list, tuple, np.ndarray)):
            raise IndexError(
                f"an index must be made of integers, slices, None, '...', booleans, and "
                f"tensors, arrays or lists of integers or booleans, but got "
                f"{part!r} of type {type(part).__name__}")
        raw = as_raw(part)
        if raw.numel() == 0 and not isinstance(part, np.ndarray):
            raw = raw.long()
        if raw.dim() == 0 and not is_inexact(raw.dtype):
            return raw.item()
    if raw.dtype is torch.bool:
        raw = raw if raw.dim() else bool(raw)
    elif is_inexact(raw.dtype):
        raise IndexError(f"tensors used as an index must hold integers or booleans, but got "
                         f"{describe(part)}")
    elif raw.dtype is not torch.int64:
        raw = raw.long()
    return raw.to(device) if isinstance(raw, torch.Tensor) and raw.device != device else raw


def _picks(part: Any) -> bool:
    """Whether a part makes the whole index an advanced one."""
    if isinstance(part, torch.Tensor):
        return part.dim() > 0 or is_wrapped(part)
    return isinstance(part, bool)


def _width(part: Any) -> int:
    """How many dimensions of the tensor a part stands for."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, torch.Tensor) and part.dtype is torch.bool:
        return part.dim()
    return 1


def _forward(part: slice, length: int) -> tuple[slice, bool]:
    """A slice that steps forward over the same elements, and whether `part` steps backward."""
    if _steps_forward(part):
        return part, False
    try:
        start, stop, step = part.indices(length)
    except TypeError:
        raise IndexError(f"the bounds and step of a slice must be integers or None, "
                         f"but got {part}") from None
    step = max(min(step, length or 1), -length or -1)
    if step > 0:
        return slice(start, stop, step), False
    count = len(range(start, stop, step))
    if count == 0:
        return slice(0, 0), False
    return slice(start + (count - 1) * step, start + 1, -step), True
