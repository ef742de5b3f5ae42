"""Makes raw tensors from all kinds of data that `Tensor` takes."""

from __future__ import annotations

import math
import reprlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..core import context
from ..core.dtype import NARROW, from_raw, to_raw
from ..core.errors import not_data
from ..core.state import state
from ..core.symbol import Symbol
from ..core.tracebacks import user_stacklevel
from ..device import kinds
from ..machine.alignment import dense_copy

NUMBERS = (bool, int, float, complex)
# integer types that PyTorch has few kernels for, and signed ones of the same width or wider
WIDE_UNSIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def as_raw(data: Any, dtype: Any = None, copy: bool = False) -> torch.Tensor:
    """The raw tensor for data in any form a Tensor can be made from, on the current device."""
    raw_type = None if dtype is None else to_raw(dtype, "Tensor")
    raw = data if isinstance(data, torch.Tensor) else getattr(data, "_raw", None)
    if raw is not None:
        raw = shared(raw)
    else:
        raw = _from_python(data, raw_type)
        copy = False
    if raw_type is not None and raw.dtype is not raw_type:
        raw, copy = converted(raw, raw_type), False
    if raw.device != context.current_device():
        raw, copy = raw.to(context.current_device()), False
    return raw.clone() if copy else raw


def shared(raw: torch.Tensor) -> torch.Tensor:
    """Another raw tensor of the same memory; in a gradient call, the gradient flows through it."""
    return raw.detach() if state.level is None else raw.view_as(raw)


def as_array(raw: torch.Tensor) -> np.ndarray:
    """The data as an array, which shares memory on the CPU; types that NumPy lacks as float32."""
    raw = raw.detach()
    if type(raw) is not torch.Tensor and hasattr(raw, "full_tensor"):
        raw = raw.full_tensor()  # type: ignore[attr-defined]  # of a DTensor, which processes hold together
    if raw.dtype in NARROW:
        raw = raw.float()
    if raw.device.type != "cpu":
        raw = raw.cpu()
    if raw._is_zerotensor():  # a gradient's zeros that take no memory
        raw = raw.clone()
    return raw.resolve_conj().resolve_neg().numpy()


def flat_bytes(raw: torch.Tensor) -> torch.Tensor:
    """The elements' bytes in order, as a raw tensor of uint8 on the same device.

    A contiguous tensor isn't copied: the bytes are its own memory.
    """
    flat = raw.detach().contiguous().reshape(-1)
    # PyTorch refuses another type for no elements with stride 0, as `from_numpy` makes them
    return flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)


def _from_python(data: Any, raw_type: torch.dtype | None) -> torch.Tensor:
    if not isinstance(data, (*NUMBERS, list, tuple, np.ndarray, np.generic)):
        raise not_data(data)
    if isinstance(data, NUMBERS) and not isinstance(data, np.generic):
        if isinstance(data, complex) and raw_type is torch.bool:
            return torch.tensor(bool(data))
        if isinstance(data, float):
            # by way of float64, so that what is too large becomes infinite in any type
            return _number(data, torch.float64).to(raw_type or torch.float32)
        if isinstance(data, int) and not -2**63 <= data < 2**63:
            if not 0 <= data < 2**64:
                raise RuntimeError(f"For 'Tensor', the number {data} is too large for any integer "
                                "type.")
            raw = torch.from_numpy(np.array([data], np.uint64)).reshape(())
            return raw.to(raw_type or torch.uint64)
        if raw_type in WIDE_UNSIGNED:
            return torch.tensor(int(data.real)).to(raw_type)  # type: ignore[arg-type]
        if isinstance(data, int) and not isinstance(data, bool):
            if type(data) is int:
                _warn_if_outside(data, data, raw_type)
            return converted(_number(data, torch.int64), raw_type)
        raw = torch.tensor(data, dtype=torch.complex128 if isinstance(data, complex) else None)
        return converted(raw, raw_type)
    if isinstance(data, (list, tuple)) and _holds_tensor(data):
        return converted(_stacked(data, _kind_of(data), raw_type), raw_type)
    array = data if isinstance(data, np.ndarray) else _nested_array(data)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"For 'Tensor', the data must be numbers or booleans, but got elements "
                        f"of type {array.dtype}.")
    native = f"{array.dtype.kind}{array.dtype.itemsize}" if array.dtype.kind != "b" else "bool"
    if not holds(array.dtype):
        raise TypeError(f"For 'Tensor', arrays of type {array.dtype} are not supported; convert to "
                        f"float64 or complex128 first.")
    array = dense_copy(array, np.dtype(native))
    raw = torch.from_numpy(array)
    if not array.size:  # NumPy's strides of no elements are 0
        raw = raw.new_empty(array.shape)
    if raw_type is not None and array.dtype.kind in "iu" and isinstance(data, (list, tuple)) \
            and array.size:
        _warn_if_outside(int(array.min()), int(array.max()), raw_type)
    if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        raw_type = raw_type or torch.float32  # Python's floats are float32 here, as in MindSpore
    return converted(raw, raw_type)


def _warn_if_outside(lowest: int, highest: int, raw_type: torch.dtype | None) -> None:
    """Warn if integers that a program spells out don't fit the type that it asks for."""
    if raw_type is None or raw_type.is_floating_point or raw_type.is_complex \
            or raw_type is torch.bool:
        return
    bounds = torch.iinfo(raw_type)
    if bounds.min <= lowest and highest <= bounds.max:
        return
    given = lowest if lowest < bounds.min else highest
    warnings.warn(f"For 'Tensor', {given} doesn't fit {from_raw[raw_type]}, which holds "
                  f"{bounds.min} to {bounds.max}: it becomes another number, as in MindSpore.",
                  RuntimeWarning, stacklevel=user_stacklevel())


def _number(data: Any, dtype: torch.dtype) -> torch.Tensor:
    """A number as a tensor; a compiler's stand-in for one says itself which."""
    kind = type(data)
    return (torch.tensor if kind is float or kind is int else torch.scalar_tensor)(
        data, dtype=dtype)


def holds(dtype: np.dtype) -> bool:
    """Whether there is a type of tensors for a type of arrays."""
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def converted(raw: torch.Tensor, raw_type: torch.dtype | None) -> torch.Tensor:
    """`raw` in another type; of complex numbers the real part, where the type asks for it."""
    if raw_type is None or raw.dtype is raw_type:
        return raw
    if raw.is_complex() and not raw_type.is_complex:
        raw = raw.real
    if raw_type is torch.uint32 and raw.is_floating_point():
        raw = raw.long()  # which keeps what is negative, and makes 0 of what is no number
    return raw.to(raw_type)


def _nested_array(data: Any) -> np.ndarray:
    """A NumPy array from nested lists of numbers and arrays."""
    try:
        return np.asarray(data)
    except ValueError as error:
        raise TypeError(f"For 'Tensor', the nested lists must have one shape: {error}") from None


def _holds_tensor(data: Any) -> bool:
    """Whether nested lists hold a Tensor, or a compiler's stand-in for a number."""
    for value in data:
        if isinstance(value, (list, tuple)):
            try:
                found = _holds_tensor(value)
            except RecursionError:
                raise ValueError(f"For 'Tensor', nested lists can't contain themselves, but got "
                                 f"{reprlib.repr(data)}.") from None
            if found:
                return True
        elif _stands_in(value) or getattr(value, "_raw", None) is not None:
            return True
    return False


def _stands_in(value: Any) -> bool:
    """Whether a value is a compiler's stand-in for a number."""
    return type(value) is not value.__class__ and isinstance(value, (*NUMBERS, np.generic))


def _leaves(data: Any) -> Iterator[Any]:
    for value in data:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        else:
            yield value


def _kind_of(data: Any) -> torch.dtype:
    """The type that NumPy would give nested lists of numbers, arrays and Tensors."""
    kinds = set()
    for leaf in _leaves(data):
        raw = None if _stands_in(leaf) else getattr(leaf, "_raw", None)
        if _stands_in(leaf):
            kinds.add(np.dtype(leaf.__class__))
        elif raw is None:
            kinds.add(np.asarray(leaf).dtype)
        else:
            kinds.add(np.dtype("float32" if raw.dtype in NARROW else str(raw.dtype)[6:]))
    if any(kind.kind not in "biufc" for kind in kinds):
        raise TypeError(f"For 'Tensor', the data must be numbers or booleans, but got elements "
                        f"of types {sorted(str(kind) for kind in kinds)}.")
    found = np.result_type(*kinds).name
    return getattr(torch, "float32" if found == "float64" else found)  # as of Python's floats


def _stacked(data: Any, kind: torch.dtype, asked: torch.dtype | None) -> torch.Tensor:
    """Nested lists that hold Tensors as one raw tensor, through which gradients flow."""
    if _stands_in(data):
        wide = torch.float64 if isinstance(data, (float, np.floating)) else torch.int64
        number: Any = data
        return converted(torch.scalar_tensor(number, dtype=wide), kind if asked is None else asked)
    if not isinstance(data, (list, tuple)):
        return converted(as_raw(data), kind if asked is None else asked)
    parts = [_stacked(part, kind, asked) for part in data]
    if len({part.shape for part in parts}) > 1:
        raise TypeError("For 'Tensor', the nested lists must have one shape, but got parts of "
                        f"shapes {sorted({tuple(part.shape) for part in parts})}.")
    return torch.stack(parts) if parts else torch.zeros(0, dtype=kind)


_TARGETS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "ascend": "Ascend", "npu": "Ascend"}


def device_named(name: Any, where: str) -> torch.device:
    """The PyTorch device for ``"CPU"``, ``"GPU"``, ``"GPU:1"``, ``"cuda:0"``, ``"Ascend"`` or the
    name of another kind."""
    if isinstance(name, str):
        target, _, number = name.partition(":")
        target = _TARGETS.get(target.lower(), target)
        kind = kinds.kind_of(target) if number.isdigit() or not number else None
        if kind == "cpu":  # an Ascend that isn't there is what `set_device` reads it as
            return kinds.CPU if target == "CPU" else context.current_device()
        if kind is not None:
            index, count = int(number or 0), kinds.count(kind)
            if index < count:
                return torch.device(kind, index)
            if target == "Ascend":
                return context.current_device()
            if context.cpu_instead():
                context.say_cpu_instead(target, index, count)
                return kinds.CPU
            raise ValueError(f"For '{where}', the device {name!r} was asked for, but this machine "
                             f"shows {count} GPUs. Use 'CPU'.")
    raise ValueError(f"For '{where}', the device must be 'CPU', 'GPU' or 'Ascend', "
                     f"but got {name!r}.")


def dimensions(shape: Any) -> tuple[Any, ...]:
    if shape is None or isinstance(shape, int):
        return (shape,)
    return tuple([None if isinstance(length, Symbol) else length for length in shape])


def delayed_data(shape: Any, dtype: Any, init: Any) -> torch.Tensor:
    if shape is None and dtype is None and init is None:
        raise TypeError("For 'Tensor', 'input_data' must be a Tensor, an array, a list, a tuple or "
                        "a number, but got None.")
    if dtype is None or init is not None and (shape is None or None in dimensions(shape)):
        raise ValueError("For 'Tensor', give 'input_data', or 'dtype' with 'shape', and 'init' for "
                         f"data; got dtype={dtype!r}, shape={shape!r}, init={init!r}.")
    if init is not None and not hasattr(init, "make"):
        raise TypeError(f"For 'Tensor', 'init' must be an Initializer, but got {init!r}. Use "
                        f"initializer({init!r}, shape, dtype).")
    lengths = dimensions(shape)
    for length in lengths:
        if length is not None and (not isinstance(length, int) or length < 0):
            raise ValueError(f"For 'Tensor', 'shape' must hold ints of 0 or more, or None, "
                             f"but got {shape!r}.")
    if math.prod(n for n in lengths if n) >= 2**63:
        raise ValueError(f"For 'Tensor', 'shape' asks for more elements than memory has addresses, "
                         f"but got {shape!r}.")
    # takes no memory
    raw = torch.zeros((), dtype=to_raw(dtype, "Tensor"), device=context.current_device()).expand(
        tuple(0 if n is None else n for n in lengths))
    return raw if init is None else raw.as_subclass(Waiting)


class Waiting(torch.Tensor):
    """The raw tensor of a Tensor whose data `init_data` makes: a form, whose data nothing can use.
    """

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        if func not in _OF_FORM and func not in _OTHERS and func.__name__ != "__get__":
            raise RuntimeError("For 'Tensor', the data of a Tensor that an initializer makes must "
                               "be made by 'init_data' before the Tensor is used, but they are "
                               "not made yet.")
        if func is torch.Tensor.clone or func is torch.clone:
            func, kwargs = torch.Tensor.detach, None  # a copy would take memory for nothing
        with torch._C.DisableTorchFunctionSubclass():
            found = func(*args, **(kwargs or {}))
            if isinstance(found, torch.Tensor) and func not in _OTHERS:
                return found.as_subclass(cls)
            return found


def _functions(names: str) -> frozenset[Any]:
    return frozenset(getattr(owner, name) for name in names.split()
                     for owner in (torch, torch.Tensor) if hasattr(owner, name))


# functions that need the form of a tensor only, and those that make another tensor of this form
_OF_FORM = _functions("""
    size stride dim ndimension numel nelement element_size storage_offset is_floating_point
    is_complex is_contiguous is_inference is_conj is_neg is_signed detach to clone expand view_as
    result_type""")
_OTHERS = _functions("""
    zeros_like ones_like empty_like full_like new_zeros new_ones new_empty new_full""")
