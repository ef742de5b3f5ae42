"""The Tensor: a torch.Tensor held in one slot, with MindSpore's names and meaning.

A Tensor *holds* its PyTorch tensor (`_raw`) and is none itself, because too many names mean
something else here. `wrap` makes one around a raw tensor; operators unwrap, call a kernel, wrap.
Families of operators under `lamella.ops` add their methods with `tensor_methods`; the operators of
Python's syntax are in `operators`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from sys import getrefcount
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..compat.missing import attribute_of
from ..core import context, cuts
from ..core.dtype import Type, from_raw, is_inexact
from ..core.elsewhere import found_elsewhere
from ..core.errors import op
from ..core.require import of_type
from ..core.state import numbers, state
from ..core.wrappers import functorch, plain
from ..device import kinds
from . import printing
from .construction import (
    NUMBERS,
    as_array,
    as_raw,
    delayed_data,
    device_named,
    dimensions,
    holds,
    shared,
)
from .indexed_copies import copies, note_copy, write_back
from .indexing import get_item, set_item
from .overloads import overloaded
from .tensor_forms import FORMS
from .views import note, running

if TYPE_CHECKING:
    # what families of operators add: a stub, without a module
    from .methods import TensorMethods  # pyright: ignore[reportMissingModuleSource]
else:
    TensorMethods = object

_new = object.__new__
# what belongs to one Tensor or Parameter alone: pickles, and copies of Parameters, begin without it
NOT_COPIED = ("_hooks", "_collector")


class Tensor(TensorMethods):
    """An n-dimensional array with a data type, the object that every operator takes and gives.

    Args:
        input_data: numbers, nested lists (also of Tensors) or a NumPy array, whose data is copied,
            or another Tensor, whose memory is shared unless `dtype` asks for another type.
            Integers become int64, others float32 or complex128; NumPy arrays keep their type.
        dtype: the data type; default: that of `input_data`.
        shape: without `input_data`, the shape of data made later by `init_data`. With None in it,
            the Tensor has no data and stands for one of any length there (``Cell.set_inputs``).
        init: an Initializer that makes the data.
        const_arg: accepted for MindSpore's sake; tells graph compilation to treat it as a constant.
        device: ``"CPU"`` or ``"GPU"``; default: the device of `set_device`.

    Raises:
        TypeError: if `input_data` holds something else than numbers or booleans, if nested
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
    _is_whole = True  # no structure, whatever a subclass is
    init: Any = None  # the Initializer of a tensor whose data has not been made yet
    const_arg: bool = False

    def __init__(self, input_data: Any = None, dtype: Any = None, shape: Any = None,
                 init: Any = None, const_arg: bool = False, device: str | None = None):
        if input_data is None:
            self._raw = delayed_data(shape, dtype, init)
            self.init = init
            if init is None and None in dimensions(shape):
                self.__class__ = _Unsized  # type: ignore[assignment]
                self.__dict__["sizes"] = dimensions(shape)
        else:
            if shape is not None or init is not None:
                raise ValueError(f"For 'Tensor', 'shape' and 'init' go with no 'input_data', "
                                 f"but got shape={shape!r}, init={init!r}.")
            self._raw = as_raw(input_data, dtype)
            if running and self._raw._is_view():
                note(self)
            pending = getattr(input_data, "init", None)
            if pending is not None:
                self.init = pending
        if device is not None:
            self._raw = self._raw.to(device_named(device, "Tensor"))
        if const_arg is not False:
            of_type(const_arg, bool, "const_arg", "Tensor")
            self.const_arg = const_arg

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
        target = kinds.target_of(place.type)
        return target if target == "CPU" else f"{target}:{place.index or 0}"

    @property
    def data(self) -> Tensor:
        """The tensor's data, cut from any gradient, sharing memory; another Tensor's may be set."""
        return wrap(self._raw.detach())

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"For 'Tensor.data', the value must be a Tensor, but got {value!r} of "
                            f"type {type(value).__name__}.")
        self._raw = value._raw.detach()

    @property
    def has_init(self) -> bool:
        """Whether the data is still to be made by `init_data`."""
        return self.init is not None

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The tensor with its dimensions reversed."""
        return wrap_view(self._raw.permute(tuple(range(self._raw.dim() - 1, -1, -1))))

    @property
    def mT(self) -> Tensor:  # noqa: N802
        """The tensor with its last two dimensions exchanged."""
        if self._raw.dim() < 2:
            raise ValueError(f"For 'Tensor.mT', the tensor must have 2 dimensions or more, "
                             f"but got shape {self.shape}.")
        return wrap_view(self._raw.mT)

    @property
    def H(self) -> Tensor:  # noqa: N802
        """The conjugate transpose of a matrix."""
        if self._raw.dim() != 2:
            raise ValueError(f"For 'Tensor.H', the tensor must be a matrix, "
                             f"but got shape {self.shape}.")
        return wrap_view(self._raw.mH.resolve_conj())

    @property
    def mH(self) -> Tensor:  # noqa: N802
        """The conjugate transpose of each matrix in the last two dimensions."""
        if self._raw.dim() < 2:
            raise ValueError(f"For 'Tensor.mH', the tensor must have 2 dimensions or more, "
                             f"but got shape {self.shape}.")
        return wrap_view(self._raw.mH.resolve_conj())

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
        if not holds(array.dtype):
            raise TypeError(f"For 'Tensor.from_numpy', the array must hold numbers or "
                            f"booleans, but got elements of type {array.dtype}.")
        if not array.flags.writeable or not array.dtype.isnative or min((0, *array.strides)) < 0:
            array = array.astype(array.dtype.newbyteorder("="), order="C")
        shared = getattr(array, "shared", None)  # of a compiler's stand-in for an array
        if shared is not None:
            return wrap(shared())
        made = torch.from_numpy if state.trace is None else state.trace.from_numpy
        return wrap(made(array).to(context.current_device()))

    def asnumpy(self) -> np.ndarray:
        """The data as a NumPy array, sharing memory where it lies on the CPU.

        bfloat16, which NumPy lacks, comes as float32.
        """
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("hands a tensor to NumPy")
        raw = self._raw
        if state.level is not None:
            cuts.read(raw, state.level, "asnumpy()")
        if (torch._C._are_functorch_transforms_active()
                or functorch.is_functorch_wrapped_tensor(raw)):
            raw = plain(raw)
            with torch._C._DisableFuncTorch():
                return as_array(raw)
        return as_array(raw)

    numpy = asnumpy

    if not TYPE_CHECKING:  # which would take any name for an attribute
        def __getattr__(self, name: str) -> Any:
            """Called for a missing attribute: the error tells what to use instead."""
            kind = type(self).__name__
            raise attribute_of(self, (kind, "Tensor"), name,
                               f"'{kind}' object has no attribute '{name}'")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.asnumpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self, index: Any = None) -> Any:
        """The element of a one-element tensor, or the one at `index`, as a Python number."""
        if index is not None:
            part = wrap(self._raw.reshape(-1)) if isinstance(index, int) else self
            return part[index].item()
        if state.level is not None:
            cuts.read(self._raw, state.level, "item()")
        return self._one("a number by 'item'")

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        self.init_data()
        if state.level is not None:
            cuts.read(self._raw, state.level, "tolist()")
        return numbers(self._raw, read=True)

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
        state = {k: v for k, v in self.__dict__.items() if k not in NOT_COPIED}
        return (_unpickle, (type(self), self._raw.detach().cpu(), state))

    def __deepcopy__(self, memodict: dict) -> Tensor:
        twin = _new(type(self))
        twin._raw = shared(self._raw).clone()
        if self.__dict__:
            memodict[id(self)] = twin
            twin.__dict__.update(copy.deepcopy(self.__dict__, memodict))
        return twin

    def __copy__(self) -> Tensor:
        twin = _new(type(self))
        twin._raw = shared(self._raw).clone()
        twin.__dict__.update(self.__dict__)
        return twin

    # -- printing --------------------------------------------------------------------------------

    def __str__(self) -> str:
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("makes text of a tensor")
        return printing.to_str(self._raw)

    def __repr__(self) -> str:
        self.init_data()
        if state.trace is not None:
            state.trace.refuse("makes text of a tensor")
        return printing.to_repr(self._raw, self.dtype)

    def _repr_html_(self) -> str:
        """The tensor in a notebook."""
        return found_elsewhere("tensors", "tensor_html")(self)

    # -- as a Python value -----------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self._raw.numel() != 1:
            raise ValueError("The truth value of an array with several elements is ambiguous: "
                             f"got a Tensor of shape {self.shape}. Use .any() or .all().")
        if state.trace is not None:
            return state.trace.truth(self._raw)
        return bool(self._raw)

    def __int__(self) -> int:
        number = self._one("int")
        try:
            return int(number)
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"For 'int', {number!r} is not an integer.") from None

    def __float__(self) -> float:
        if state.level is not None:
            cuts.read(self._raw, state.level, "float()")
        number = self._one("float")
        if isinstance(number, complex):
            raise TypeError(f"For 'float', {number!r} is complex; take its real part.")
        return float(number)

    def __complex__(self) -> complex:
        if state.level is not None:
            cuts.read(self._raw, state.level, "complex()")
        return complex(self._one("complex"))

    def __index__(self) -> int:
        if is_inexact(self._raw.dtype):
            raise ValueError(f"Only a Tensor of integers can be an index, "
                             f"but got {self.dtype}.")
        return int(self._one("an index"))

    def _one(self, what: str) -> Any:
        if self._raw.numel() != 1:
            raise ValueError(f"Only a Tensor with one element can be turned into {what}, "
                             f"but got shape {self.shape}.")
        if state.trace is not None:
            return state.trace.read(self._raw)
        return self._raw.item()

    def __len__(self) -> int:
        if self._raw.dim() == 0:
            raise TypeError("A Tensor of rank 0 has no len().")
        return self._raw.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._raw.dim() == 0:
            raise TypeError("A Tensor of rank 0 can't be iterated over.")
        return iter([wrap_view(raw) for raw in self._raw.unbind(0)])

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (Tensor, *NUMBERS, np.generic)):
            return False
        equal: Any = self == value
        return bool(equal._raw.any())

    __hash__ = object.__hash__

    def __getitem__(self, index: Any) -> Tensor:
        raw, is_copy = get_item(self._raw, index)
        out = wrap_view(raw)
        if is_copy or id(self) in copies:
            note_copy(out, self, index)
        return out

    def __setitem__(self, index: Any, value: Any) -> None:
        if id(self) in copies:
            write_back(getrefcount(self), self, index, value)
        else:
            set_item(self, index, value)


def wrap(raw: torch.Tensor) -> Tensor:
    """A Tensor around a raw one."""
    out = _new(Tensor)
    out._raw = raw
    return out


def wrap_view(raw: torch.Tensor) -> Tensor:
    """A Tensor around a raw one that may be a view, which is noted inside of a gradient."""
    out = _new(Tensor)
    out._raw = raw
    if running and raw._is_view():
        note(out)
    return out


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


def tensor_methods(**methods: Any) -> None:
    """Give Tensor methods: each family of operators calls this once, below its functions.

    A method that isn't an operator explains its errors as operators do. Each name must be new.
    """
    for name, method in methods.items():
        if name in Tensor.__dict__:
            raise ValueError(f"Tensor has a method {name!r} already.")
        if isinstance(method, FunctionType):
            method = _as_method(name, method)
        setattr(Tensor, name, method)


def _as_method(name: str, method: Any) -> Any:
    """A function as a method: it explains its errors and, where it has forms, refuses others."""
    forms, names = FORMS.get(name), {}
    if forms:
        method, names = getattr(method, "spelling", (method, names))
    if not hasattr(method, "is_op"):
        method = op(method, f"Tensor.{name}")
        if not method.__doc__:  # takes what the function takes, in a method's order
            base = name.rstrip("_")
            method.__doc__ = f"`ops.{base}`{' in place' if base != name else ''}, as a method."
    return overloaded(forms[0].name, method, forms, names) if forms else method


def tensor(input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None,
           const_arg: bool = False, device: str | None = None) -> Tensor:
    """A Tensor from data; the same as calling `Tensor`."""
    return Tensor(input_data, dtype, shape, init, const_arg, device)


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor that shares memory with a NumPy array."""
    return Tensor.from_numpy(array)


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a Tensor.

    Examples:
        >>> import lamella as ms
        >>> ms.is_tensor(ms.Tensor(1)), ms.is_tensor(1)
        (True, False)
    """
    return isinstance(obj, Tensor)
