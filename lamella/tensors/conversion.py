"""Tensor's methods that convert: to types, devices, memory layouts, bytes and DLPack capsules.

Also how rows of Tensors become batches in PyTorch's `DataLoader`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data._utils.collate import default_collate_fn_map

from ..core import context, cuts
from ..core.dtype import Type, from_raw, to_raw
from ..core.errors import op
from ..core.require import boolean, of_type, one_of
from ..core.state import state
from ..device import kinds
from .construction import converted, device_named, flat_bytes, shared
from .inplace import apart, in_place
from .tensor import Tensor, tensor_methods, wrap


@op
def astype(self: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """The tensor in another data type; complex numbers lose their imaginary part.

    Args:
        dtype: a Lamella or NumPy type, ``bool``, ``int`` or ``float``, or a name.
        copy: with False, the tensor itself where it has the type already.

    Raises:
        TypeError: if `dtype` is no type of tensors.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.5, -1.5]).astype("int32"))
        [ 1 -1]
    """
    if dtype is float:
        dtype = "float64"  # as NumPy reads it
    raw_type = to_raw(dtype, "Tensor.astype")
    if not copy and raw_type is self._raw.dtype:
        return self
    return wrap(converted(self._raw, raw_type))


@op
def to(self: Tensor, *args: Any, device: Any = None, dtype: Any = None, other: Any = None,
       non_blocking: bool = False, copy: bool = False) -> Tensor:
    """The tensor in another type, on another device, or in the type and on the device of `other`.

    Takes ``to(dtype)``, ``to(device)``, ``to(device, dtype)`` and ``to(other)``.

    Raises:
        TypeError: if an argument is no type, device or Tensor.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.5]).to(ms.int32), ms.Tensor([1.5]).to("CPU", ms.float16).dtype)
        [1] Float16
    """
    rest = list(args)
    if rest:
        first = rest.pop(0)
        if isinstance(first, Type):
            dtype = first
        elif isinstance(first, Tensor):
            other = first
        elif isinstance(first, str):
            device = first
            if rest:
                dtype = rest.pop(0)
        elif first is not None:
            raise TypeError(f"For 'Tensor.to', the first argument must be a data type, a device's "
                            f"name or a Tensor, but got {first!r}.")
        elif rest:
            dtype = rest.pop(0)
    if rest:
        non_blocking = rest[0]
        copy = rest[1] if len(rest) > 1 else copy
    raw = self._raw
    if other is not None:
        raw_type, place = other._raw.dtype, other._raw.device
    else:
        raw_type = raw.dtype if dtype is None else to_raw(dtype, "Tensor.to")
        place = raw.device if device is None else device_named(device, "Tensor.to")
    out = converted(raw, raw_type).to(place, non_blocking=non_blocking)
    return wrap(out.clone() if copy and out is raw else out)


def _as(raw_type: torch.dtype):
    def method(self: Tensor) -> Tensor:
        return wrap(converted(self._raw, raw_type))

    method.__doc__ = f"The tensor in {from_raw[raw_type]}."
    return method


def _type(self: Tensor, dtype: Any = None) -> Any:
    """The name of the data type, or, with `dtype`, the tensor in that type."""
    return str(self.dtype) if dtype is None else astype(self, dtype)


def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the data type of `other`."""
    of_type(other, Tensor, "other", "Tensor.type_as")
    return wrap(converted(self._raw, other._raw.dtype))


def _set_dtype(self: Tensor, dtype: Any) -> Type:
    """Convert the tensor itself to another data type; returns that type."""
    raw_type = to_raw(dtype, "Tensor.set_dtype")
    self._raw = converted(self._raw, raw_type)
    return from_raw[raw_type]


def _clone(self: Tensor) -> Tensor:
    """A copy, through which gradients flow."""
    self.init_data()
    return wrap(self._raw.clone())


def _copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Copy the elements of `src`, broadcast and converted to the tensor's type; in place."""
    of_type(src, Tensor, "src", "Tensor.copy_")
    source = src._raw
    try:
        return in_place(self, lambda raw: raw.copy_(converted(apart(raw, source), raw.dtype),
                                                    non_blocking=non_blocking))
    except RuntimeError as error:
        if "must match" not in str(error):
            raise
        raise ValueError(f"For 'Tensor.copy_', 'src' of shape {src.shape} can't be broadcast to "
                         f"the tensor's shape {self.shape}.") from None


def _value(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


def _contiguous(self: Tensor) -> Tensor:
    """The tensor itself if its memory is contiguous, else a copy that is."""
    raw = self._raw
    return self if raw.is_contiguous() else wrap(raw.contiguous())


def _is_contiguous(self: Tensor) -> bool:
    """Whether the elements lie in memory one after the other."""
    return self._raw.is_contiguous()


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """The steps in memory, in elements, along each dimension, or along `dim`."""
    steps = list(self._raw.stride())
    if dim is None:
        return steps
    if not -len(steps) <= dim < len(steps):
        raise IndexError(f"For 'Tensor.stride', 'dim' must be in [{-len(steps)}, {len(steps)}), "
                         f"but got {dim}.")
    return steps[dim]


def _format(self: Tensor, spec: str) -> str:
    """The text of the tensor, or of its one number in a format."""
    if spec and self._raw.numel() != 1:
        raise TypeError(f"The format {spec!r} is for one number, but the Tensor has shape "
                        f"{self.shape}; format its elements, or str() of it.")
    text = None if state.trace is None else state.trace.printed_text(self, spec)
    if text is not None:
        return text
    return format(self.item(), spec) if spec else str(self)


def _storage_offset(self: Tensor) -> int:
    """Where in the memory that it shares the tensor starts, in elements."""
    return int(self._raw.storage_offset())


def _data_ptr(self: Tensor) -> int:
    """The address of the first element."""
    if state.trace is not None:
        state.trace.refuse("asks for the address of a tensor's data")
    return self._raw.data_ptr()


def _dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._raw.dim()


def _numel(self: Tensor) -> int:
    """The number of elements."""
    return self._raw.numel()


def _element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return self._raw.itemsize


def _itemset(self: Tensor, *args: Any) -> Tensor:
    """Replace one element: ``itemset(value)`` of one, ``itemset(index, value)`` of several.

    Returns:
        A Tensor with the element replaced; the tensor itself stays.
    """
    if len(args) == 1 and self.size != 1 or not 1 <= len(args) <= 2:
        raise IndexError(f"For 'Tensor.itemset', give an index and a value for a Tensor of shape "
                         f"{self.shape}, but got {len(args)} arguments.")
    out = wrap(self._raw.clone(memory_format=torch.contiguous_format))
    if len(args) == 2 and isinstance(args[0], tuple):
        out[args[0]] = args[1]
    else:
        wrap(out._raw.view(-1))[args[0] if len(args) == 2 else 0] = args[-1]
    return out


def _requires_grad_(self: Tensor, requires_grad: bool = True) -> None:
    """Set the mark `requires_grad`."""
    if not isinstance(requires_grad, bool):
        raise TypeError(f"For 'Tensor.requires_grad_', the argument must be a bool, "
                        f"but got {requires_grad!r}.")
    setattr(self, "requires_grad", requires_grad)  # noqa: B010


def _move_to(self: Tensor, to: str, blocking: bool = True) -> Tensor:
    """A copy on the device ``"CPU"``, ``"GPU"`` or ``"Ascend"``."""
    if not isinstance(blocking, bool):
        raise ValueError(f"For 'Tensor.move_to', 'blocking' must be a bool, but got {blocking!r}.")
    one_of(to, ("Ascend", "GPU", "CPU"), "to", "Tensor.move_to")
    return wrap(self._raw.to(device_named(to, "Tensor.move_to"), non_blocking=not blocking))


def _to_(self: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """Move the tensor itself to a device."""
    if not isinstance(non_blocking, bool):
        raise ValueError(f"For 'Tensor.to_', 'non_blocking' must be a bool, "
                         f"but got {non_blocking!r}.")
    if device is not None:
        self._raw = self._raw.to(device_named(device, "Tensor.to_"), non_blocking=non_blocking)
    return self


def _delete_(self: Tensor, non_blocking: bool = False) -> Tensor:
    """Give the memory back: the tensor keeps shape and type and is zeros, until `data` is set."""
    if not isinstance(non_blocking, bool):
        raise ValueError(f"For 'Tensor.delete_', 'non_blocking' must be a bool, "
                         f"but got {non_blocking!r}.")
    self._raw = self._raw.new_zeros(()).expand(self.shape)
    return self


def _pin_memory(self: Tensor) -> Tensor:
    """A copy in memory that a GPU can fetch from directly."""
    if not kinds.can_pin():
        raise RuntimeError("For 'Tensor.pin_memory', there is no GPU to pin memory for.")
    return wrap(self._raw.pin_memory())


def _is_pinned(self: Tensor) -> bool:
    """Whether the memory is pinned for a GPU."""
    return kinds.can_pin() and self._raw.is_pinned()


def _is_shared(self: Tensor) -> bool:
    """Whether other processes share the memory."""
    return self._raw.is_shared()


def _untyped_storage(self: Tensor) -> torch.UntypedStorage:
    """The memory, as bytes, that the tensor lies in."""
    return self._raw.untyped_storage()


def _nothing(self: Tensor, *args: Any, **kwargs: Any) -> None:
    """Does nothing: the data is always where it is used."""


def _set_const_arg(self: Tensor, const_arg: bool = True) -> Tensor:
    """Mark the tensor as a constant of compiled functions; returns the tensor."""
    if not isinstance(const_arg, bool):
        raise TypeError(f"For 'Tensor.set_const_arg', the argument must be a bool, "
                        f"but got {const_arg!r}.")
    self.const_arg = const_arg
    return self


def _index(self: Tensor, indices: Any) -> Tensor:
    """What Tensors of places, one for each of the first dimensions, pick; as ``x[indices]``."""
    if not isinstance(indices, (tuple, list)) or not all(isinstance(i, Tensor) for i in indices):
        raise TypeError(f"For 'Tensor.index', 'indices' must be a tuple of Tensors, "
                        f"but got {indices!r}.")
    return self[tuple(indices)]


def _set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None,
          stride: Any = None) -> Tensor:
    """Make the tensor one of another's memory; returns the tensor.

    Args:
        source: a Tensor, or the storage of one; default: the tensor becomes empty.
        storage_offset, size, stride: which of its elements, all counted in elements; default:
            those of `source`.
    """
    if source is None:
        self._raw = self._raw.new_empty(0)
        return self
    raw = getattr(source, "_raw", None)
    if raw is not None and size is None:
        self._raw = shared(raw)
        return self
    storage = source if raw is None else raw.untyped_storage()
    if not isinstance(storage, torch.UntypedStorage):
        raise TypeError(f"For 'Tensor.set_', 'source' must be a Tensor or a storage, "
                        f"but got {source!r} of type {type(source).__name__}.")
    if size is None:
        size = (storage.nbytes() // self._raw.element_size() - storage_offset,)
    made = torch.empty(0, dtype=self._raw.dtype if raw is None else raw.dtype,
                       device=storage.device)
    places = () if stride is None else (tuple(stride),)
    self._raw = made.set_(storage, storage_offset, tuple(size), *places)
    return self


# -- bytes and capsules ---------------------------------------------------------------------------


def _get_bytes(self: Tensor) -> bytes:
    """The elements as bytes, in order."""
    self.init_data()
    return flat_bytes(self._raw.cpu()).numpy().tobytes()


def convert_bytes_to_tensor(bytes_data: bytes, shape: Any, dtype: Any) -> Tensor:
    """The Tensor whose `get_bytes` gave `bytes_data`.

    Args:
        bytes_data: the elements.
        shape: the lengths of the dimensions.
        dtype: the data type.

    Raises:
        TypeError: if `bytes_data` is not bytes.
        ValueError: if there are more or fewer bytes than the shape and type need.

    Examples:
        >>> import lamella as ms
        >>> data = ms.Tensor([1, 2]).get_bytes()
        >>> print(ms.Tensor.convert_bytes_to_tensor(data, (2,), ms.int64))
        [1 2]
    """
    if not isinstance(bytes_data, (bytes, bytearray)):
        raise TypeError(f"For 'convert_bytes_to_tensor', 'bytes_data' must be bytes, "
                        f"but got {type(bytes_data).__name__}.")
    raw_type = to_raw(dtype, "convert_bytes_to_tensor")
    count = 1
    for length in shape:
        count *= length
    if len(bytes_data) != count * raw_type.itemsize:
        raise ValueError(f"For 'convert_bytes_to_tensor', shape {tuple(shape)} of {dtype} needs "
                         f"{count * raw_type.itemsize} bytes, but got {len(bytes_data)}.")
    if count == 0:
        raw = torch.empty(tuple(shape), dtype=raw_type)
    else:
        raw = torch.frombuffer(bytearray(bytes_data), dtype=raw_type).reshape(tuple(shape))
    return wrap(raw.to(context.current_device()))


def to_dlpack(self: Tensor) -> Any:
    """A DLPack capsule of the tensor, sharing memory.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 2.0])
        >>> print(ms.Tensor.from_dlpack(x.to_dlpack()))
        [1. 2.]
    """
    if state.level is not None:
        cuts.read(self._raw, state.level, "to_dlpack()")
    return torch.to_dlpack(self._raw.detach())  # type: ignore[attr-defined]


def from_dlpack(dlpack_object: Any) -> Tensor:
    """A Tensor that shares memory with a DLPack capsule, or an array of any DLPack library.

    Raises:
        TypeError: if `dlpack_object` is neither.

    Examples:
        >>> import lamella as ms
        >>> import numpy as np
        >>> print(ms.from_dlpack(np.array([1.0, 2.0])))
        [1. 2.]
    """
    if not hasattr(dlpack_object, "__dlpack__") and type(dlpack_object).__name__ != "PyCapsule":
        raise TypeError(f"For 'from_dlpack', the argument must be a DLPack capsule or an array "
                        f"with '__dlpack__', but got {type(dlpack_object).__name__}.")
    return wrap(torch.from_dlpack(dlpack_object))


def _is_init(self: Tensor) -> bool:
    """What `set_init_flag` was given; False before."""
    return self.__dict__.get("_init_flag", False)


def _set_init_flag(self: Tensor, flag: bool) -> None:
    """Note whether a program has made the data, which nothing here asks."""
    self.__dict__["_init_flag"] = boolean(flag, "flag", "set_init_flag")


def _no_path(self: Tensor) -> str:
    """The file that `offload` wrote the data to: none, as it stays in memory."""
    return ""


tensor_methods(
    astype=astype, to=to, type=_type, type_as=_type_as, set_dtype=_set_dtype,
    half=_as(torch.float16), float=_as(torch.float32), double=_as(torch.float64),
    bfloat16=_as(torch.bfloat16), int=_as(torch.int32), long=_as(torch.int64),
    short=_as(torch.int16), byte=_as(torch.uint8), bool=_as(torch.bool),
    clone=_clone, copy=_clone, copy_=_copy_, value=_value, contiguous=_contiguous,
    is_contiguous=_is_contiguous, stride=_stride, storage_offset=_storage_offset,
    __format__=_format, data_ptr=_data_ptr, dim=_dim, ndimension=_dim, numel=_numel,
    nelement=_numel,
    element_size=_element_size, itemset=_itemset, requires_grad_=_requires_grad_,
    move_to=_move_to, to_=_to_, delete_=_delete_, pin_memory=_pin_memory, is_pinned=_is_pinned,
    is_shared=_is_shared, untyped_storage=_untyped_storage, storage=_untyped_storage,
    flush_from_cache=_nothing, data_sync=_nothing, wait_pipeline=_nothing, offload=_nothing,
    set_const_arg=_set_const_arg, index=_index, set_=_set_, get_bytes=_get_bytes,
    convert_bytes_to_tensor=staticmethod(convert_bytes_to_tensor),
    to_dlpack=to_dlpack, from_dlpack=staticmethod(from_dlpack),
    init_finished=property(lambda self: self.init is None),
    is_meta=property(lambda self: self._raw.is_meta),
    symbolic_shape=None, param_info=None, parent_tensor_=None, _dtensor_info=None,
    index_of_parent_=None, virtual_flag=False, delta_seed=0, offload_file_path=_no_path,
    init_flag=property(_is_init), is_init=_is_init, set_init_flag=_set_init_flag,
)


def _collated(batch: list[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """The rows of a batch of PyTorch's `DataLoader` as one Tensor."""
    shapes = {row.shape for row in batch}
    if len(shapes) > 1:
        raise ValueError(f"For 'DataLoader', the Tensors of a batch must have one shape, "
                         f"but got {sorted(shapes)}.")
    return wrap(torch.stack([row._raw for row in batch]))


default_collate_fn_map[Tensor] = _collated


def _dlpack(self: Tensor, **kwargs: Any) -> Any:
    if state.level is not None:
        cuts.read(self._raw, state.level, "__dlpack__()")
    return self._raw.detach().__dlpack__(**kwargs)


def _dlpack_device(self: Tensor) -> Any:
    return self._raw.__dlpack_device__()


setattr(Tensor, "__dlpack__", _dlpack)  # noqa: B010
setattr(Tensor, "__dlpack_device__", _dlpack_device)  # noqa: B010
