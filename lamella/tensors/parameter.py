"""Parameter: a Tensor with a name, that a Cell owns and an optimizer updates.

A Parameter's raw tensor never requires grad. While a function is differentiated by Parameters, each
of them is looked up in an overlay of this thread, where `autodiff` keeps an alias of it. So nothing
is recorded outside of gradient calls, threads may differentiate one network at the same time, and
nothing is left behind when the function raises.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import re
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
import torch

from ..core import context, cuts
from ..core.dtype import is_inexact
from ..core.forking import ReentrantLock
from ..core.require import of_type
from ..core.state import is_plain_run, state
from ..core.wrappers import differs, settled
from ..machine.memory import untouched_zeros
from .param_info import ParamInfo
from .tensor import NOT_COPIED, Tensor, as_raw, wrap

_GENERATED = "Parameter#"  # the start of an unnamed Parameter's name
_name_numbers = itertools.count(1)
_cache_keys = itertools.count()
_first_values = ReentrantLock()  # held while they are made


def is_generated_name(name: str) -> bool:
    """Whether a Parameter's name was made up because none was given."""
    return name.startswith(_GENERATED)


def _option(name: str, default: Any, kind: type, about: str) -> property:
    """A property of a checked type, for MindSpore's settings of a Parameter."""

    def read(self: Parameter) -> Any:
        return self.__dict__.get(name, default)

    def write(self: Parameter, value: Any) -> None:
        if not isinstance(value, kind) or kind is int and isinstance(value, bool):
            raise TypeError(f"For 'Parameter', '{name}' must be of type {kind.__name__}, "
                            f"but got {value!r} of type {type(value).__name__}.")
        self.__dict__[name] = value

    return property(read, write, doc=about)


class Parameter(Tensor):
    """A Tensor that a network learns or keeps.

    Args:
        default_input: the data: a Tensor, numbers, a NumPy array, or a Tensor with an initializer.
        name: its name; a Cell names it after the attribute that holds it when None.
            Until then it is ``Parameter#`` and a number.
        requires_grad: whether training updates it.
        layerwise_parallel, parallel_optimizer, storage_format, device: accepted as MindSpore does.

    A Python int becomes an int32, a float a float32.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if `default_input` is a bool or `name` no str.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> w
        Parameter (name=w, shape=(2,), dtype=Float32, requires_grad=True)
        >>> print(w * 2)
        [2. 4.]
    """

    __slots__ = ("_data",)
    _data: torch.Tensor

    def __init__(self, default_input: Any, name: str | None = None, requires_grad: bool = True,
                 layerwise_parallel: bool = False, parallel_optimizer: bool = True,
                 storage_format: str = "", device: str | None = None):
        if isinstance(default_input, bool):
            raise ValueError("For 'Parameter', 'default_input' can't be a bool; use a Tensor.")
        if isinstance(default_input, (int, float)):
            kind = "int32" if isinstance(default_input, int) else "float32"
            default_input = Tensor(default_input, kind)
        elif not isinstance(default_input, (Tensor, np.ndarray, np.generic, list, torch.Tensor)):
            raise TypeError("For 'Parameter', 'default_input' must be a Tensor, int, float, "
                            "numpy.ndarray or list, "
                            f"but got {default_input!r} of type {type(default_input).__name__}.")
        self.init = getattr(default_input, "init", None)
        if self.init is None:
            made = as_raw(default_input, copy=True)
            self._data = made.detach()
            level = state.level
            if level is not None and state.overlay is not None and (
                    level.forward or made.requires_grad
                    or torch._C._are_functorch_transforms_active()):
                state.overlay[self] = made  # inside of the gradient call, a value like any other
        elif delay.initialization:
            self._data = cast(Tensor, default_input)._raw
        else:
            self.init = None
            self._data = copy.copy(cast(Tensor, default_input)).init_data()._raw
        self.name = name
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        self.storage_format = storage_format

    requires_grad = _option("requires_grad", True, bool, "Whether training updates it.")
    layerwise_parallel = _option("layerwise_parallel", False, bool, "Kept for MindSpore's sake.")
    parallel_optimizer = _option("parallel_optimizer", True, bool, "Kept for MindSpore's sake.")
    parallel_optimizer_comm_recompute = _option(
        "parallel_optimizer_comm_recompute", False, bool, "Kept for MindSpore's sake.")
    storage_format = _option("storage_format", "", str, "Kept for MindSpore's sake.")
    cache_enable = _option("cache_enable", False, bool, "Whether embeddings are cached.")
    key = _option("key", -1, int, "The number of a cached Parameter.")

    # plain attributes that MindSpore keeps for its parallel modes
    sliced: bool = False
    unique: bool = False
    is_init: bool = False
    requires_aggr: bool = True
    is_in_parallel: bool = False
    is_pipeline_shared_param: bool = False
    is_param_init: bool = False

    @property
    def comm_fusion(self) -> int:
        """Which communication operators are fused; kept for MindSpore's sake."""
        return self.__dict__.get("comm_fusion", 1)

    @comm_fusion.setter
    def comm_fusion(self, number: int) -> None:
        of_type(number, int, "comm_fusion", "Parameter")
        if number < 0:
            raise ValueError(f"For 'Parameter', 'comm_fusion' must be 0 or more, but got {number}.")
        self.__dict__["comm_fusion"] = number

    @property
    def cache_shape(self) -> list[int]:
        """The shape of an embedding's cache; kept for MindSpore's sake."""
        return self.__dict__.get("cache_shape", [])

    @cache_shape.setter
    def cache_shape(self, shape: Any) -> None:
        of_type(shape, (tuple, list), "cache_shape", "Parameter")
        self.__dict__["cache_shape"] = list(shape)

    @property
    def param_info(self) -> ParamInfo:
        """What is known about the Parameter, under one name."""
        return ParamInfo(self)

    @param_info.setter
    def param_info(self, info: ParamInfo) -> None:
        of_type(info, ParamInfo, "param_info", "Parameter")
        for name, value in info.as_dict().items():
            setattr(self, name, value)
        info.__dict__["obj"] = self

    @property
    def _raw(self) -> torch.Tensor:  # type: ignore[override]
        overlay = state.overlay
        if overlay is None:
            return self._data
        return overlay.get(self, self._data)

    @_raw.setter
    def _raw(self, raw: torch.Tensor) -> None:
        overlay = state.overlay
        if overlay is not None and torch._C._are_functorch_transforms_active():
            self._assign_in_vmap(raw, raw, overlay)
            return
        if overlay is not None and self in overlay:
            overlay[self] = raw
        self._note()
        self._data = raw.detach()

    # what makes a gradient of a Parameter of which each process holds a part; see `parallel.parts`
    gradient_of: Any = None

    @property
    def name(self) -> str:
        """The name."""
        return self.__dict__["name"]

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"For 'Parameter', 'name' must be a str, "
                             f"but got {name!r} of type {type(name).__name__}.")
        name = name.strip() if name is not None else ""
        if len(name) > 1024:
            raise ValueError("For 'Parameter', 'name' must have 1024 letters or fewer, "
                             f"but got {len(name)}: '{name[:40]}...'.")
        self.__dict__["name"] = name or f"{_GENERATED}{next(_name_numbers)}"

    @property
    def data(self) -> Tensor:
        """The data as a Tensor, which shares memory and is cut from any gradient."""
        self.init_data()
        return wrap(self._raw.detach())

    @data.setter
    def data(self, value: Any) -> None:
        self.set_data(value, slice_shape=True)

    @property
    def inited_param(self) -> None:
        """None: a Parameter whose data is made later by `init_data` remains the same object."""
        return None

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replace the data; the Parameter gets the shape of `data`, as in MindSpore 2.10.

        Args:
            data: a Tensor or a number. A Tensor of another type is converted to the Parameter's.
                While the Parameter waits for `init_data`, another initializer may take the place
                of its own.
            slice_shape: what `sliced` says from then on.

        Returns:
            The Parameter.

        Raises:
            TypeError: if `data` is no Tensor or number, or a float for integers.

        Examples:
            >>> import lamella as ms
            >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
            >>> print(w.set_data(ms.Tensor([3, 4])).asnumpy())
            [3. 4.]
        """
        if not isinstance(data, (Tensor, int, float)):
            raise TypeError("For 'Parameter.set_data', 'data' must be a Tensor, int or float, "
                            f"but got {type(data).__name__}.")
        own = self._data.dtype
        if not isinstance(data, Tensor):
            if isinstance(data, float) and not is_inexact(own):
                raise TypeError(f"For 'Parameter.set_data', parameter '{self.name}' of type "
                                f"{self.dtype} can't take the float {data}.")
            data = Tensor(data, self.dtype)
        if self.sliced is not bool(slice_shape):
            self.sliced = bool(slice_shape)
        if data.init is not None:
            if self.init is not None:
                self.init, self._data = data.init, data._raw.to(own)
                return self
            data = copy.copy(data).init_data()
        raw = data._raw
        if raw.is_complex() and not own.is_complex:
            raw = raw.real
        if self.init is not None or raw.shape != self._data.shape:
            self.init = None
            self._note()
            self._data = raw.detach().to(self._data.device, own, copy=True)
            if state.overlay is None:
                return self
        self.assign_raw(raw)
        return self

    def assign_raw(self, raw: torch.Tensor) -> None:
        """Give the Parameter the values of `raw`, in its own type.

        Outside a gradient the values are copied into the memory the Parameter has, so that whoever
        shares it sees them. Inside one they replace it: what was recorded keeps the old values. No
        gradient flows through an assignment to what was assigned.
        """
        own = self._data
        overlay = state.overlay
        if overlay is not None and torch._C._are_functorch_transforms_active():
            own = overlay.get(self, own)
            self._assign_in_vmap(raw.detach().to(own.dtype), raw, overlay)
            return
        if raw.shape == own.shape and self.keeps_memory():
            own.copy_(raw.detach())
            return
        self._note()
        self._data = raw.detach().to(own.device, own.dtype, copy=True)
        level = state.level
        place = None if level is None or level.kind != "reverse" else cuts.assigned(raw, level)
        if overlay is not None and (self in overlay or place is not None):
            again = self._data.detach().to(overlay.get(self, self._data).dtype)
            if level is not None:
                again = self._alias_again(again, level)
                if place is not None and is_inexact(again.dtype):
                    level.probes.append((again.requires_grad_(), place, self.name))
            overlay[self] = again

    def _alias_again(self, again: torch.Tensor, level: Any) -> torch.Tensor:
        """What a level sees after an assignment: the levels around it see it, too."""
        if level.outer is not None:
            again = self._alias_again(again, level.outer)
        assigned = level.assigned.get(id(self))
        if assigned is not None and self.requires_grad:
            # the gradient is by what was assigned, too
            again = again.view_as(again) if again.requires_grad else again.requires_grad_()
            assigned.append(again)
        if self in level.overlay:
            level.overlay[self] = again
        return again

    def keeps_memory(self) -> bool:
        """Whether new values go into the memory that the Parameter has, as outside a gradient."""
        own = self._data
        return (state.overlay is None and self.init is None and not own.is_inference()
                and not (own.dim() and own.stride()[0] == 0))

    def _note(self) -> None:
        """Keep what it holds now, for a block that will be computed again from the same data."""
        level = state.level
        if level is not None and level.journal is not None:
            level.journal.append((self, self._data))

    def _assign_in_vmap(self, alias: torch.Tensor, raw: torch.Tensor,
                        overlay: dict[Any, torch.Tensor]) -> None:
        """Inside `vmap`: where each example has its own data, it keeps its own; else all share."""
        if self in overlay:
            per_example = differs(overlay[self])
            overlay[self] = alias
            if per_example:
                return
        own = self._data
        self._data = settled(raw.to(own.device, own.dtype), f"Parameter {self.name}")

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """Make the data of a Parameter whose initializer was delayed; returns the Parameter."""
        if self.init is not None:
            with _first_values:
                if self.init is not None:
                    self._data = self.init.make(tuple(self._data.shape), self._data.dtype).to(
                        context.current_device())
                    self.init = None  # last, so that no other thread reads what isn't made yet
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """A new Parameter of the same name and kind.

        Args:
            init: ``"same"`` copies the data; an initializer, its name or a number makes other data.
        """
        twin = None
        if not (isinstance(init, str) and init == "same"):
            from ..common.initializer import Zero, initializer  # which needs Parameters

            init = initializer(init, self.shape, self.dtype)
            if type(init.init) is Zero:
                twin = self._zeros()
        if twin is None:
            twin = copy.deepcopy(self)
            if isinstance(init, Tensor):
                twin.set_data(init)
        if twin.cache_enable:
            twin.key = next(_cache_keys)
        return twin

    def _zeros(self) -> Parameter | None:
        """A Parameter of the same name and kind, whose zeros take memory when they are written.

        None if its data have to be made by kernels, or in another layout.
        """
        raw = self._data
        if self.init is not None or raw.device.type != "cpu" or not raw.is_contiguous() or (
                state.overlay is not None or not is_plain_run()):
            return None
        zeros = untouched_zeros(raw.shape, raw.dtype)
        if zeros is None:
            return None
        twin = self._with(zeros)
        if twin.sliced:
            twin.sliced = False
        return twin

    def copy(self) -> Parameter:
        """A new Parameter of the same name, kind and data."""
        return self.clone()

    __copy__ = copy

    def value(self) -> Tensor:
        """The data as a Tensor that is no Parameter."""
        self.init_data()
        return wrap(self._raw)

    def __str__(self) -> str:
        return (f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
                f"requires_grad={self.requires_grad})")

    __repr__ = __str__

    def __deepcopy__(self, memo: dict) -> Parameter:
        twin = self._with(self._data if self.init is not None else self._data.detach().clone())
        memo[id(self)] = twin
        return twin

    def _with(self, raw: torch.Tensor) -> Parameter:
        """A Parameter of the same name and kind with other data."""
        twin = object.__new__(type(self))
        twin._data = raw
        twin.__dict__.update({k: v for k, v in self.__dict__.items() if k not in NOT_COPIED})
        return twin


def parameter_around(raw: torch.Tensor, name: str) -> Parameter:
    """A Parameter that holds a raw tensor itself, without the copy that the class makes."""
    out = object.__new__(Parameter)
    out._data = raw.detach()
    out.name = name
    return out


class _Delay(threading.local):
    """Whether new Parameters wait for `init_data`; set by `nn.no_init_parameters`."""

    initialization = False


delay = _Delay()


@contextlib.contextmanager
def no_init_parameters() -> Iterator[None]:
    """A block in which new Parameters wait for `init_data`, for networks that a file fills anyway.

    Examples:
        >>> import lamella as ms
        >>> from lamella.common.initializer import initializer
        >>> with ms.nn.no_init_parameters():
        ...     w = ms.Parameter(initializer("normal", (2, 3)), name="w")
        >>> w.has_init, w.init_data().has_init
        (True, False)
    """
    before, delay.initialization = delay.initialization, True
    try:
        yield
    finally:
        delay.initialization = before


# The twins of this prefix, by what they are twins of: in MindSpore's parallel modes they collect
# gradients over the parts of a batch
_COLLECTS = "accu_grads"


def collector_of(weight: Parameter) -> Parameter | None:
    """The last living twin that `ParameterTuple.clone("accu_grads")` made of a Parameter."""
    twin = weight.__dict__.get("_collector")  # which guards see, as all attributes
    return None if twin is None else twin()


class ParameterTuple(tuple):
    """A tuple of Parameters.

    Examples:
        >>> import lamella as ms
        >>> pair = ms.ParameterTuple([ms.Parameter(1.0, name="a"), ms.Parameter(2.0, name="b")])
        >>> [p.name for p in pair.clone("moments")]
        ['moments.a', 'moments.b']
    """

    def __new__(cls, iterable: Iterable[Parameter]):
        if not isinstance(iterable, Iterable):
            raise TypeError(f"For 'ParameterTuple', 'iterable' must be a list or tuple of "
                            f"Parameters, but got {iterable!r} of type {type(iterable).__name__}.")
        parameters = tuple(iterable)
        named: dict[str, Parameter] = {}
        for parameter in parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"For 'ParameterTuple', all elements must be Parameters, "
                                f"but got {type(parameter).__name__}.")
            other = named.setdefault(parameter.name, parameter)
            if other is not parameter:
                raise ValueError(f"For 'ParameterTuple', the names must differ, "
                                 f"but got '{parameter.name}' twice.")
        return super().__new__(cls, parameters)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """New Parameters, named ``prefix.name``; `init` as in `Parameter.clone`."""
        of_type(prefix, str, "prefix", "ParameterTuple.clone")
        if not re.fullmatch(r"\w+[0-9a-zA-Z_.]*", prefix, re.ASCII):
            raise ValueError("For 'ParameterTuple.clone', 'prefix' must be made of letters, "
                             f"digits, '_' and '.', but got {prefix!r}.")
        twins = []
        for parameter in self:
            twin = parameter.clone(init)
            twin.name = f"{prefix}.{parameter.name}"
            twins.append(twin)
            if prefix == _COLLECTS:
                parameter.__dict__["_collector"] = weakref.ref(twin)
        return ParameterTuple(twins)
