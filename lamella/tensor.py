"""The Tensor: a torch.Tensor held in one slot, with MindSpore's names and meaning.

A Tensor *holds* its PyTorch tensor (`_raw`) and is none itself, because too many names mean
something else here. `wrap` makes one around a raw tensor; operators unwrap, call a kernel, wrap.
Families of operators under `lamella.ops` add their methods with `tensor_methods`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from . import context, printing
from . import dtype as mstype
from .dtype import Type, from_raw, promote_types, to_raw
from .errors import op_error
from .indexing import get_item, set_item

_new = object.__new__
_NUMBERS = (bool, int, float, complex)


class Tensor:
    """An n-dimensional array with a data type, the object that every operator takes and gives.

    Args:
        input_data: numbers, nested lists, a NumPy array or another Tensor; the data is copied.
            Whole numbers become int64, others float32, NumPy arrays keep their type.
        dtype: the data type; default: that of `input_data`.
        shape: with `init`, the shape of data made later by `init_data`.
        init: an Initializer that makes the data.
        const_arg: accepted for MindSpore's sake; tells graph compilation to treat it as a constant.
        device: ``"CPU"`` or ``"GPU"``; default: the device of `set_device`.

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

    def __init__(self, input_data: Any = None, dtype: Any = None, shape: Any = None,
                 init: Any = None, const_arg: bool = False, device: str | None = None):
        if input_data is None:
            self._raw = _delayed_data(shape, dtype, init)
            self.init = init
        else:
            self._raw = as_raw(input_data, dtype, copy=True)
            pending = getattr(input_data, "init", None)
            if pending is not None:
                self.init = pending
        if device is not None:
            self._raw = self._raw.to({"CPU": "cpu", "GPU": "cuda"}.get(device, device))
        self.const_arg = const_arg

    if TYPE_CHECKING:  # the methods that families of operators add
        def __getattr__(self, name: str) -> Any: ...

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
        """A Tensor that shares memory with a NumPy array (read-only ones are copied)."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"For 'Tensor.from_numpy', the argument must be a numpy.ndarray, "
                            f"but got {type(array).__name__}.")
        if not array.flags.writeable:
            array = array.copy()
        return wrap(torch.from_numpy(np.ascontiguousarray(array)).to(context.current_device()))

    def asnumpy(self) -> np.ndarray:
        """The data as a NumPy array, sharing memory where it lies on the CPU.

        bfloat16, which NumPy lacks, comes as float32.
        """
        self.init_data()
        raw = self._raw.detach()
        if raw.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
            raw = raw.float()
        if raw.device.type != "cpu":
            raw = raw.cpu()
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
            return self.asnumpy().item(index)
        if self._raw.numel() != 1:
            raise RuntimeError(f"For 'Tensor.item', the tensor must have one element, "
                               f"but got shape {self.shape}; give an index.")
        return self._raw.item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        self.init_data()
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
        twin._raw = self._raw
        twin.__dict__.update(self.__dict__)
        return twin

    # -- printing --------------------------------------------------------------------------------

    def __str__(self) -> str:
        self.init_data()
        return printing.to_str(self._raw.detach())

    def __repr__(self) -> str:
        self.init_data()
        return printing.to_repr(self._raw.detach(), self.dtype)

    def __format__(self, spec: str) -> str:
        if spec and self._raw.numel() == 1:
            return format(self.item(), spec)
        return format(str(self), spec)

    # -- as a Python value -----------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self._raw.numel() != 1:
            raise ValueError("The truth value of an array with several elements is ambiguous: "
                             f"got a Tensor of shape {self.shape}. Use .any() or .all().")
        return bool(self._raw)

    def __int__(self) -> int:
        return int(self._one("int"))

    def __float__(self) -> float:
        return float(self._one("float"))

    def __complex__(self) -> complex:
        return complex(self._one("complex"))

    def __index__(self) -> int:
        if self._raw.is_floating_point() or self._raw.is_complex():
            raise TypeError(f"Only a Tensor of whole numbers can be an index, but got {self.dtype}.")
        return int(self._one("an index"))

    def _one(self, what: str) -> Any:
        if self._raw.numel() != 1:
            raise ValueError(f"Only a Tensor with one element can be turned into {what}, "
                             f"but got shape {self.shape}.")
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
        return bool((self._raw == getattr(value, "_raw", value)).any())

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Tensor:
        return wrap(get_item(self._raw, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        set_item(self, index, value)

    # -- arithmetic (the hot path: unwrap, kernel and wrap in line) ------------------------------

    def __neg__(self) -> Tensor:
        return wrap(-self._raw)

    def __pos__(self) -> Tensor:
        return self

    def __abs__(self) -> Tensor:
        return wrap(self._raw.abs())

    def __invert__(self) -> Tensor:
        return wrap(~self._raw)


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
        raw, copy = raw.to(raw_type), False
    if raw.device != context.current_device():
        raw, copy = raw.to(context.current_device()), False
    return raw.clone() if copy else raw


def _from_python(data: Any, raw_type: torch.dtype | None) -> torch.Tensor:
    if not isinstance(data, (*_NUMBERS, list, tuple, np.ndarray, np.generic)):
        raise TypeError(f"For 'Tensor', the type of 'input_data' should be one of Tensor, ndarray, "
                        f"list, tuple, float, int, bool or complex, but got "
                        f"'{type(data).__name__}'.")
    if isinstance(data, _NUMBERS):
        kind = {bool: torch.bool, int: torch.int64, float: torch.float32,
                complex: torch.complex64}
        return torch.tensor(data, dtype=raw_type or kind.get(type(data)))
    array = data if isinstance(data, np.ndarray) else _nested_array(data)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"For 'Tensor', the data must be numbers or truth values, but got elements "
                        f"of type {array.dtype}.")
    if not isinstance(data, (np.ndarray, np.generic)) and raw_type is None:
        # Python's floats are float32 here, as in MindSpore
        array = array.astype({"f": np.float32, "c": np.complex64}.get(array.dtype.kind, array.dtype))
    return torch.from_numpy(np.array(array, order="C", copy=True))


def _nested_array(data: Any) -> np.ndarray:
    """A NumPy array from nested lists that may hold Tensors."""
    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value.asnumpy() if isinstance(value, Tensor) else value
    try:
        return np.asarray(plain(data))
    except ValueError as error:
        raise ValueError(f"For 'Tensor', the nested lists must all have one shape: {error}") from None


def _delayed_data(shape: Any, dtype: Any, init: Any) -> torch.Tensor:
    if shape is None or dtype is None or init is None:
        raise ValueError("For 'Tensor', give 'input_data', or all of 'dtype', 'shape' and 'init'; "
                         f"got dtype={dtype!r}, shape={shape!r}, init={init!r}.")
    if isinstance(shape, int):
        shape = (shape,)
    # counts as zeros until `init_data`, and takes no memory
    return torch.zeros((), dtype=to_raw(dtype, "Tensor"), device=context.current_device()).expand(
        tuple(shape))


def _unpickle(cls: type, raw: torch.Tensor, state: dict) -> Tensor:
    out = _new(cls)
    out._raw = raw.to(context.current_device())
    out.__dict__.update(state)
    return out


def promote(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Two raw tensors, both in the type that an operation on them computes in."""
    common = promote_types(a.dtype, b.dtype)
    return a.to(common), b.to(common)


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
    def method(self: Tensor, other: Any) -> Any:
        try:
            a = self._raw
            b = other._raw
        except AttributeError:
            b = operand(other, a)
            if b is NotImplemented:
                return b
            if isinstance(b, torch.Tensor) and a.dtype is not b.dtype:
                a, b = promote(a, b)
        else:
            if a.dtype is not b.dtype:
                a, b = promote(a, b)
        try:
            out = _new(Tensor)
            out._raw = kernel(a, b)
            return out
        except (RuntimeError, TypeError) as error:
            raise op_error(name, error, input=self, other=other) from error

    method.__name__ = method.__qualname__ = name
    return method


def _reflected(kernel: Callable[[Any, Any], torch.Tensor]) -> Callable[[Any, Any], torch.Tensor]:
    return lambda a, b: kernel(b, a)


for _name, _kernel in {"add": operator.add, "sub": operator.sub, "mul": operator.mul,
                       "truediv": operator.truediv, "floordiv": operator.floordiv,
                       "mod": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
                       "and": operator.and_, "or": operator.or_, "xor": operator.xor,
                       "lshift": operator.lshift, "rshift": operator.rshift}.items():
    setattr(Tensor, f"__{_name}__", _binary(_name, _kernel))
    setattr(Tensor, f"__r{_name}__", _binary(_name, _reflected(_kernel)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", _binary(_name, getattr(operator, _name)))
del _name, _kernel


def tensor_methods(**methods: Any) -> None:
    """Give Tensor methods: each family of operators calls this once, below its functions.

    A name that Tensor already has is a mistake, and is refused.
    """
    for name, method in methods.items():
        if name in Tensor.__dict__:
            raise ValueError(f"Tensor has a method {name!r} already.")
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
