"""The Tensor: a torch.Tensor held in one slot, with MindSpore's names and meaning.

A Tensor *holds* its PyTorch tensor (`_raw`) and is none itself, because too many names mean
something else here. `wrap` makes one around a raw tensor; operators unwrap, call a kernel, wrap.
Families of operators under `lamella.ops` add their methods with `tensor_methods`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from . import context, printing
from .dtype import Type, from_raw, promote_types, to_raw
from .errors import op, op_error
from .indexing import get_item, set_item
from .kernels import floor_quotient, minus
from .state import state

_new = object.__new__
_NUMBERS = (bool, int, float, complex)
# whole types that PyTorch has few kernels for, and signed ones of the same width or wider
_WIDE_UNSIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


class Tensor:
    """An n-dimensional array with a data type, the object that every operator takes and gives.

    Args:
        input_data: numbers, nested lists (also of Tensors) or a NumPy array, whose data is copied,
            or another Tensor, whose memory is shared unless `dtype` asks for another type.
            Whole numbers become int64, others float32 or complex128; NumPy arrays keep their type.
        dtype: the data type; default: that of `input_data`.
        shape: without `input_data`, the shape of data made later by `init_data`. With None in it,
            the Tensor has no data and stands for one of any length there (``Cell.set_inputs``).
        init: an Initializer that makes the data.
        const_arg: accepted for MindSpore's sake; tells graph compilation to treat it as a constant.
        device: ``"CPU"`` or ``"GPU"``; default: the device of `set_device`.

    Raises:
        TypeError: if `input_data` holds something else than numbers or truth values, if nested
            lists are ragged, or if `dtype` is no type of tensors.
        ValueError: if `shape` or `init` come together with `input_data`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1, 2], [3, 4]], ms.float32)
        >>> print(x @ x)
        [[ 7. 10.]
         [15. 22.]]
        >>> x.shape, x.dtype, x.size
        ((2, 2), mindspore.float32, 4)
    """

    __slots__ = ("_raw", "__dict__", "__weakref__")
    __array_priority__ = 1000.0  # NumPy arrays leave `array + tensor` to us

    _raw: torch.Tensor
    init: Any = None  # the Initializer of a tensor whose data has not been made yet
    const_arg: bool = False

    def __init__(self, input_data: Any = None, dtype: Any = None, shape: Any = None,
                 init: Any = None, const_arg: bool = False, device: str | None = None):
        if input_data is None:
            self._raw = _delayed_data(shape, dtype, init)
            self.init = init
            if init is None and None in _dimensions(shape):
                self.__class__ = _Unsized  # type: ignore[assignment]
                self.__dict__["sizes"] = _dimensions(shape)
        else:
            if shape is not None or init is not None:
                raise ValueError(f"For 'Tensor', 'shape' and 'init' go with no 'input_data', "
                                 f"but got shape={shape!r}, init={init!r}.")
            self._raw = as_raw(input_data, dtype)
            pending = getattr(input_data, "init", None)
            if pending is not None:
                self.init = pending
        if device is not None:
            self._raw = self._raw.to(device_named(device, "Tensor"))
        if const_arg is not False:
            if not isinstance(const_arg, bool):
                raise TypeError(f"For 'Tensor', 'const_arg' must be a bool, but got {const_arg!r}.")
            self.const_arg = const_arg

    if TYPE_CHECKING:  # the methods that families of operators add
        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __rfloordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __rmod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __rmatmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __rand__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __ror__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __rxor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rlshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __rrshift__(self, other: Any) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]

    # -- what it is ------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions."""
        return tuple(self._raw.shape)

    @property
    def dtype(self) -> Type:
        """The data type."""
        return from_raw[self._raw.dtype]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._raw.dim()

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._raw.numel()

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._raw.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._raw.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each dimension."""
        return tuple(s * self._raw.itemsize for s in self._raw.stride())

    @property
    def device(self) -> str:
        """Where the data is: ``"CPU"`` or ``"GPU:0"``."""
        place = self._raw.device
        return "CPU" if place.type == "cpu" else f"GPU:{place.index or 0}"

    @property
    def data(self) -> Tensor:
        """The tensor's data, cut from any gradient, sharing memory."""
        return wrap(self._raw.detach())

    @property
    def has_init(self) -> bool:
        """Whether the data is still to be made by `init_data`."""
        return self.init is not None

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its dimensions reversed."""
        return wrap(self._raw.permute(*range(self._raw.dim() - 1, -1, -1)))

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The tensor with its last two dimensions exchanged."""
        if self._raw.dim() < 2:
            raise ValueError(f"For 'Tensor.mT', the tensor must have 2 dimensions or more, "
                             f"but got shape {self.shape}.")
        return wrap(self._raw.mT)

    @property
    def H(self) -> Tensor:  # noqa: N802
        """The conjugate transpose of a matrix."""
        if self._raw.dim() != 2:
            raise ValueError(f"For 'Tensor.H', the tensor must be a matrix, "
                             f"but got shape {self.shape}.")
        return wrap(self._raw.mH.resolve_conj())

    @property
    def mH(self) -> Tensor:  # noqa: N802
        """The conjugate transpose of each matrix in the last two dimensions."""
        if self._raw.dim() < 2:
            raise ValueError(f"For 'Tensor.mH', the tensor must have 2 dimensions or more, "
                             f"but got shape {self.shape}.")
        return wrap(self._raw.mH.resolve_conj())

    # -- data to and from elsewhere --------------------------------------------------------------

    @staticmethod
    def from_torch(raw: torch.Tensor) -> Tensor:
        """A Tensor around a PyTorch tensor, sharing its memory and its gradient history."""
        if not isinstance(raw, torch.Tensor):
            raise TypeError(f"For 'Tensor.from_torch', the argument must be a torch.Tensor, "
                            f"but got {type(raw).__name__}.")
        return wrap(raw)

    def to_torch(self) -> torch.Tensor:
        """The PyTorch tensor inside, sharing memory."""
        self.init_data()
        return self._raw

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """A Tensor that shares memory with a NumPy array; a read-only or reversed one is copied."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For 'Tensor.from_numpy', the argument must be a numpy.ndarray, "
                            f"but got {type(array).__name__}.")
        if not _holds(array.dtype):
            raise TypeError(f"For 'Tensor.from_numpy', the array must hold numbers or truth "
                            f"values, but got elements of type {array.dtype}.")
        if not array.flags.writeable or not array.dtype.isnative or min((0, *array.strides)) < 0:
            array = array.astype(array.dtype.newbyteorder("="), order="C")
        return wrap(torch.from_numpy(array).to(context.current_device()))

    def asnumpy(self) -> np.ndarray:
        """The data as a NumPy array, sharing memory where it lies on the CPU.

        bfloat16, which NumPy lacks, comes as float32.
        """
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("asnumpy")
        raw = self._raw.detach()
        if raw.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
            raw = raw.float()
        if raw.device.type != "cpu":
            raw = raw.cpu()
        if raw._is_zerotensor():  # a gradient's zeros that take no memory
            raw = raw.clone()
        return raw.resolve_conj().resolve_neg().numpy()

    numpy = asnumpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.asnumpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._raw.detach().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> Any:
        return self._raw.__dlpack_device__()

    def item(self, index: Any = None) -> Any:
        """The element of a one-element tensor, or the one at `index`, as a Python number."""
        if index is not None:
            part = wrap(self._raw.reshape(-1)) if isinstance(index, int) else self
            return part[index]._one("a number by 'item'")
        return self._one("a number by 'item'")

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("tolist")
        return self._raw.tolist()

    def init_data(self, slice_index: Any = None, shape: Any = None, opt_shard_group: Any = None):
        """Make the data of a tensor built with ``init=``; does nothing for any other.

        Returns:
            The tensor itself.
        """
        if self.init is not None:
            initializer, self.init = self.init, None
            self._raw = initializer.make(self.shape, self._raw.dtype).to(context.current_device())
        return self

    def __reduce__(self):
        self.init_data()
        state = {k: v for k, v in self.__dict__.items() if k != "hooks"}
        return (_unpickle, (type(self), self._raw.detach().cpu(), state))

    def __deepcopy__(self, memo: dict) -> Tensor:
        import copy

        twin = _new(type(self))
        memo[id(self)] = twin
        twin._raw = self._raw.detach().clone()
        twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return twin

    def __copy__(self) -> Tensor:
        twin = _new(type(self))
        twin._raw = self._raw.detach().clone()
        twin.__dict__.update(self.__dict__)
        return twin

    # -- printing --------------------------------------------------------------------------------

    def __str__(self) -> str:
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("print")
        return printing.to_str(self._raw.detach())

    def __repr__(self) -> str:
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("print")
        return printing.to_repr(self._raw.detach(), self.dtype)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self._raw.numel() != 1:
            raise TypeError(f"The format {spec!r} is for one number, but the Tensor has shape "
                            f"{self.shape}; format its elements, or str() of it.")
        return format(self.item(), spec)

    # -- as a Python value -----------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self._raw.numel() != 1:
            raise ValueError("The truth value of an array with several elements is ambiguous: "
                             f"got a Tensor of shape {self.shape}. Use .any() or .all().")
        if state.trace is not None:
            return bool(state.trace.guard(self._raw))
        return bool(self._raw)

    def __int__(self) -> int:
        return int(self._one("int"))

    def __float__(self) -> float:
        return float(self._one("float"))

    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    def __index__(self) -> int:
        if self._raw.is_floating_point() or self._raw.is_complex():
            raise ValueError(f"Only a Tensor of whole numbers can be an index, "
                             f"but got {self.dtype}.")
        return int(self._one("an index"))

    def _one(self, what: str) -> Any:
        if self._raw.numel() != 1:
            raise ValueError(f"Only a Tensor with one element can be turned into {what}, "
                             f"but got shape {self.shape}.")
        if state.trace is not None:
            return state.trace.guard(self._raw)
        return self._raw.item()

    def __len__(self) -> int:
        if self._raw.dim() == 0:
            raise TypeError("A Tensor of rank 0 has no len().")
        return self._raw.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._raw.dim() == 0:
            raise TypeError("A Tensor of rank 0 can't be iterated over.")
        return iter([wrap(raw) for raw in self._raw.unbind(0)])

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (Tensor, *_NUMBERS, np.generic)):
            return False
        equal: Any = self == value
        return bool(equal._raw.any())

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Tensor:
        return wrap(get_item(self._raw, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        set_item(self, index, value)

    # -- arithmetic (the hot path: unwrap, kernel and wrap in line) ------------------------------

    def __neg__(self) -> Tensor:
        try:
            return wrap(-self._raw)
        except RuntimeError as error:
            raw = self._raw
            if raw.dtype in _WIDE_UNSIGNED:  # PyTorch lacks the kernel: it wraps around
                return wrap((-raw.view(_WIDE_UNSIGNED[raw.dtype])).view(raw.dtype))
            raise TypeError(f"For 'neg', a Tensor of {self.dtype} has no negative: use "
                            f"'~x' or convert it.") from error

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        raw = self._raw
        if raw.dtype is torch.bool or raw.dtype in _WIDE_UNSIGNED:
            return wrap(raw.clone())
        return wrap(raw.abs().to(raw.dtype) if raw.is_complex() else raw.abs())

    def __invert__(self) -> Tensor:
        """The logical not of each element, also of numbers."""
        raw = self._raw
        return wrap(raw == 0 if raw.dtype in _WIDE_UNSIGNED else raw.logical_not())

    def __round__(self, ndigits: int | None = None) -> Tensor:
        raw = self._raw
        if not (raw.is_floating_point() or raw.is_complex()):
            return wrap(raw.clone())
        if raw.is_complex():
            return wrap(torch.complex(raw.real.round(decimals=ndigits or 0),
                                      raw.imag.round(decimals=ndigits or 0)))
        return wrap(raw.round(decimals=ndigits or 0))


def wrap(raw: torch.Tensor) -> Tensor:
    """A Tensor around a raw one."""
    out = _new(Tensor)
    out._raw = raw
    return out


def as_raw(data: Any, dtype: Any = None, copy: bool = False) -> torch.Tensor:
    """The raw tensor for data in any form a Tensor can be made from, on the current device."""
    raw_type = None if dtype is None else to_raw(dtype, "Tensor")
    raw = getattr(data, "_raw", None)
    if raw is not None:
        raw = raw.detach()
    elif isinstance(data, torch.Tensor):
        raw = data.detach()
    else:
        raw = _from_python(data, raw_type)
        copy = False
    if raw_type is not None and raw.dtype is not raw_type:
        raw, copy = _converted(raw, raw_type), False
    if raw.device != context.current_device():
        raw, copy = raw.to(context.current_device()), False
    return raw.clone() if copy else raw


def _from_python(data: Any, raw_type: torch.dtype | None) -> torch.Tensor:
    if not isinstance(data, (*_NUMBERS, list, tuple, np.ndarray, np.generic)):
        raise TypeError(f"For 'Tensor', the type of 'input_data' should be one of Tensor, ndarray, "
                        f"list, tuple, float, int, bool or complex, but got "
                        f"'{type(data).__name__}'.")
    if isinstance(data, _NUMBERS) and not isinstance(data, np.generic):
        if isinstance(data, float):
            # by way of float64, so that what is too large becomes infinite in any type
            return torch.tensor(data, dtype=torch.float64).to(raw_type or torch.float32)
        if isinstance(data, int) and not -2**63 <= data < 2**63:
            if not 0 <= data < 2**64:
                raise TypeError(f"For 'Tensor', the number {data} is too large for any whole type.")
            raw = torch.from_numpy(np.array([data], np.uint64)).reshape(())
            return raw.to(raw_type or torch.uint64)
        if raw_type in _WIDE_UNSIGNED:
            return torch.tensor(int(data.real)).to(raw_type)  # type: ignore[arg-type]
        raw = torch.tensor(data, dtype=torch.complex128 if isinstance(data, complex) else None)
        return _converted(raw, raw_type)
    array = data if isinstance(data, np.ndarray) else _nested_array(data)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"For 'Tensor', the data must be numbers or truth values, but got elements "
                        f"of type {array.dtype}.")
    native = f"{array.dtype.kind}{array.dtype.itemsize}" if array.dtype.kind != "b" else "bool"
    array = array.astype(native, order="C", copy=True)
    if not _holds(array.dtype):
        raise TypeError(f"For 'Tensor', arrays of type {array.dtype} can't be held; convert to "
                        f"float64 or complex128 first.")
    raw = torch.from_numpy(array)
    if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        raw_type = raw_type or torch.float32  # Python's floats are float32 here, as in MindSpore
    return _converted(raw, raw_type)


def _holds(dtype: np.dtype) -> bool:
    """Whether there is a type of tensors for a type of arrays."""
    return dtype.kind in "biufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8)


def _converted(raw: torch.Tensor, raw_type: torch.dtype | None) -> torch.Tensor:
    """`raw` in another type; of complex numbers the real part, where the type asks for it."""
    if raw_type is None or raw.dtype is raw_type:
        return raw
    if raw.is_complex() and not raw_type.is_complex:
        raw = raw.real
    return raw.to(raw_type)


def _nested_array(data: Any) -> np.ndarray:
    """A NumPy array from nested lists that may hold Tensors."""
    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value.asnumpy() if isinstance(value, Tensor) else value
    try:
        return np.asarray(plain(data))
    except ValueError as error:
        raise TypeError(f"For 'Tensor', the nested lists must have one shape: {error}") from None


def device_named(name: Any, where: str) -> torch.device:
    """The PyTorch device for ``"CPU"``, ``"GPU"``, ``"GPU:1"``, ``"cuda:0"`` or ``"Ascend"``."""
    if isinstance(name, str):
        kind, _, number = name.lower().partition(":")
        if kind == "cpu":
            return torch.device("cpu")
        if kind in ("gpu", "cuda", "ascend", "npu") and (number.isdigit() or not number):
            index = int(number or 0)
            if index < torch.cuda.device_count():
                return torch.device("cuda", index)
            if kind in ("ascend", "npu"):
                return context.current_device()  # as `set_device` reads it
            raise ValueError(f"For '{where}', the device {name!r} was asked for, but this machine "
                             f"shows {torch.cuda.device_count()} GPUs. Use 'CPU'.")
    raise ValueError(f"For '{where}', the device must be 'CPU', 'GPU' or 'Ascend', "
                     f"but got {name!r}.")


def _dimensions(shape: Any) -> tuple[Any, ...]:
    return (shape,) if shape is None or isinstance(shape, int) else tuple(shape)


def _delayed_data(shape: Any, dtype: Any, init: Any) -> torch.Tensor:
    if shape is None and dtype is None and init is None:
        raise TypeError("For 'Tensor', 'input_data' must be a Tensor, an array, a list, a tuple or "
                        "a number, but got None.")
    if dtype is None or init is not None and (shape is None or None in _dimensions(shape)):
        raise ValueError("For 'Tensor', give 'input_data', or 'dtype' with 'shape', and 'init' for "
                         f"data; got dtype={dtype!r}, shape={shape!r}, init={init!r}.")
    if init is not None and not hasattr(init, "make"):
        raise TypeError(f"For 'Tensor', 'init' must be an Initializer, but got {init!r}. Use "
                        f"initializer({init!r}, shape, dtype).")
    lengths = _dimensions(shape)
    for length in lengths:
        if length is not None and (not isinstance(length, int) or length < 0):
            raise ValueError(f"For 'Tensor', 'shape' must hold ints of 0 or more, or None, "
                             f"but got {shape!r}.")
    if math.prod(n for n in lengths if n) >= 2**63:
        raise ValueError(f"For 'Tensor', 'shape' asks for more elements than memory has addresses, "
                         f"but got {shape!r}.")
    # counts as zeros until `init_data`, and takes no memory
    return torch.zeros((), dtype=to_raw(dtype, "Tensor"), device=context.current_device()).expand(
        tuple(0 if n is None else n for n in lengths))


class _Unsized(Tensor):
    """A Tensor without data, some of whose dimensions may have any length."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions, -1 where any is possible."""
        return tuple(-1 if n is None else n for n in self.__dict__["sizes"])

    def __str__(self) -> str:
        start = " " if self.ndim < 2 else "\n"
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value={start})"

    __repr__ = __str__


def _unpickle(cls: type, raw: torch.Tensor, state: dict) -> Tensor:
    out = _new(cls)
    out._raw = raw.to(context.current_device())
    out.__dict__.update(state)
    return out


def promote(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two raw tensors, both in the type that an operation on them computes in."""
    common = promote_types(a.dtype, b.dtype)
    return a.to(common), b.to(common)


def promote_factors(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """As `promote`, for products and quotients: there a tensor of rank 0 yields to the other.

    MindSpore 2.10 promotes these two as PyTorch does, and everything else by the types alone.
    """
    return (a, b) if (a.dim() == 0) is not (b.dim() == 0) else promote(a, b)


def operand(value: Any, like: torch.Tensor) -> Any:
    """What a kernel gets for the other side of a binary operator: a raw tensor or a number."""
    if isinstance(value, _NUMBERS):
        return value
    raw = getattr(value, "_raw", None)
    if raw is not None:
        return raw
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (np.ndarray, list, tuple)):
        return as_raw(value).to(like.device)
    return NotImplemented


def _binary(name: str, kernel: Callable[[Any, Any], torch.Tensor]) -> Callable[..., Any]:
    joined = promote_factors if name in ("mul", "truediv") else promote

    def method(self: Tensor, other: Any) -> Any:
        a = self._raw
        kind = type(other)
        if kind is Tensor or isinstance(other, Tensor):
            b = other._raw
            if a.dtype is not b.dtype:
                a, b = joined(a, b)
        elif kind is float or kind is int:
            b = other
        else:
            b = operand(other, a)
            if b is NotImplemented:
                return b
            if isinstance(b, torch.Tensor) and a.dtype is not b.dtype:
                a, b = joined(a, b)
        try:
            out = _new(Tensor)
            out._raw = kernel(a, b)
            return out
        except (RuntimeError, TypeError, OverflowError) as error:
            raw = _rescue(name, kernel, a, b, str(error))
            if raw is None:
                raise op_error(name, error, input=self, other=other) from error
            return wrap(raw)

    method.__name__ = method.__qualname__ = name
    return method


def _rescue(name: str, kernel: Callable[[Any, Any], torch.Tensor], a: torch.Tensor, b: Any,
            complaint: str) -> torch.Tensor | None:
    """The result where PyTorch's kernel refuses types that MindSpore computes with."""
    whole = isinstance(b, int) or isinstance(b, torch.Tensor) and b.dtype is a.dtype
    if "ZeroDivision" in complaint:
        raise ZeroDivisionError(f"For '{name}', whole numbers can't be divided by zero. "
                                f"Convert it to a floating type first.")
    if "too big to convert" in complaint and (a.is_floating_point() or a.is_complex()):
        return kernel(a, float(b))
    if "negative integer powers" in complaint:
        return kernel(a, torch.tensor(b, dtype=a.dtype, device=a.device))  # 1/2 is 0
    if "not implemented for 'Bool'" in complaint and name in ("floordiv", "mod") and whole:
        return kernel(a.byte(), b.byte() if isinstance(b, torch.Tensor) else b).to(
            torch.result_type(a, b))
    if a.dtype in _WIDE_UNSIGNED and whole and "not implemented" in complaint:
        left, right = _as_int64(a), _as_int64(b) if isinstance(b, torch.Tensor) else b
        negative = (left < 0).any() or (torch.as_tensor(right) < 0).any()
        if negative and name not in ("add", "sub", "mul", "pow"):
            return None  # uint64 numbers that int64 can't hold, where that matters
        out = kernel(left, right)
        return out if out.dtype is torch.bool else (
            out.view(a.dtype) if a.dtype is torch.uint64 else out.to(a.dtype))
    return None


def _as_int64(raw: torch.Tensor) -> torch.Tensor:
    return raw.view(torch.int64) if raw.dtype is torch.uint64 else raw.long()


def _equality(kernel: Callable[[Any, Any], torch.Tensor], otherwise: bool) -> Callable[..., Any]:
    """``==`` or ``!=``: of values where `other` is a Tensor, number or array, else `otherwise`."""
    by_value = _binary(kernel.__name__, kernel)

    def method(self: Tensor, other: Any) -> Any:
        if isinstance(other, (Tensor, *_NUMBERS, np.generic, np.ndarray)):
            return by_value(self, other)
        return otherwise

    method.__name__ = method.__qualname__ = f"__{kernel.__name__}__"
    return method


def _reflected(kernel: Callable[[Any, Any], torch.Tensor]) -> Callable[[Any, Any], torch.Tensor]:
    return lambda a, b: kernel(b, a)


for _name, _kernel in {"add": operator.add, "sub": minus, "mul": operator.mul,
                       "truediv": operator.truediv, "floordiv": floor_quotient,
                       "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
                       "and": operator.and_, "or": operator.or_, "xor": operator.xor,
                       "lshift": operator.lshift, "rshift": operator.rshift}.items():
    setattr(Tensor, f"__{_name}__", _binary(_name, _kernel))
    setattr(Tensor, f"__r{_name}__", _binary(_name, _reflected(_kernel)))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _binary(_name, getattr(operator, _name)))
setattr(Tensor, "__eq__", _equality(operator.eq, False))  # noqa: B010
setattr(Tensor, "__ne__", _equality(operator.ne, True))  # noqa: B010
del _name, _kernel


def tensor_methods(**methods: Any) -> None:
    """Give Tensor methods: each family of operators calls this once, below its functions.

    Errors of a method that is no operator yet are explained as those of operators are. A name that
    Tensor already has is a mistake, and is refused.
    """
    for name, method in methods.items():
        if name in Tensor.__dict__:
            raise ValueError(f"Tensor has a method {name!r} already.")
        if isinstance(method, FunctionType) and not hasattr(method, "is_op"):
            method = op(method, f"Tensor.{name}")
        setattr(Tensor, name, method)


def tensor(input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None,
           const_arg: bool = False, device: str | None = None) -> Tensor:
    """A Tensor from data; the same as calling `Tensor`."""
    return Tensor(input_data, dtype, shape, init, const_arg, device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor that shares memory with a NumPy array."""
    return Tensor.from_numpy(array)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)
