"""Parameter: a Tensor with a name, that a Cell owns and an optimizer updates.

A Parameter's raw tensor never requires grad. While a gradient is computed, the Parameters that it is
asked for are looked up in an overlay of this thread, where `autodiff` keeps an alias of each; so
nothing is recorded unless asked for, threads may differentiate one network at once, and nothing is
left behind when the function raises.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable
from typing import Any

import torch

from . import context
from .tensor import Tensor, as_raw


class _ThreadState(threading.local):
    overlay: dict[int, torch.Tensor] | None = None
    level: Any = None  # the gradient call this thread is in, see autodiff.level


state = _ThreadState()


class Parameter(Tensor):
    """A Tensor that a network learns or keeps.

    Args:
        default_input: the data: a Tensor, numbers, a NumPy array, or a Tensor with an initializer.
        name: its name; a Cell names it after the attribute that holds it when None.
        requires_grad: whether training updates it.
        layerwise_parallel, parallel_optimizer, storage_format, device: accepted as MindSpore does.

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
        if not isinstance(requires_grad, bool):
            raise TypeError(f"For 'Parameter', 'requires_grad' must be a bool, "
                            f"but got {requires_grad!r}.")
        initializer = getattr(default_input, "init", None)
        if initializer is not None and not delay.initialization:
            default_input = copy.copy(default_input).init_data()
            initializer = None
        self._data = default_input._raw if initializer is not None else as_raw(
            default_input, copy=True)
        self.init = initializer
        self.name = name if name is not None else "Parameter"
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer
        self.storage_format = storage_format

    @property
    def _raw(self) -> torch.Tensor:  # type: ignore[override]
        overlay = state.overlay
        if overlay is None:
            return self._data
        return overlay.get(id(self), self._data)

    @_raw.setter
    def _raw(self, raw: torch.Tensor) -> None:
        overlay = state.overlay
        if overlay is not None and id(self) in overlay:
            overlay[id(self)] = raw
        self._data = raw.detach()

    @property
    def name(self) -> str:
        """The name."""
        return self.__dict__["name"]

    @name.setter
    def name(self, name: str | None) -> None:
        if name is None:
            name = "Parameter"
        if not isinstance(name, str):
            raise ValueError(f"For 'Parameter', 'name' must be a str, "
                             f"but got {name!r} of type {type(name).__name__}.")
        self.__dict__["name"] = name

    @property
    def data(self) -> Parameter:  # type: ignore[override]
        """The Parameter itself."""
        return self

    @property
    def inited_param(self) -> Parameter:
        """The Parameter itself, once its data is made."""
        return self

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Replace the data.

        Args:
            data: a Tensor or numbers of the same shape, unless `slice_shape`; the type is converted
                to the Parameter's, which is refused where that would lose the fraction.
            slice_shape: whether the shape may change.

        Raises:
            TypeError: if `data` is floating and the Parameter is not.
            ValueError: if the shapes differ.
        """
        if getattr(data, "init", None) is not None:
            data = copy.copy(data).init_data()
        if not isinstance(data, Tensor):
            data = Tensor(data, self.dtype if isinstance(data, (bool, int, float)) else None)
        raw = data._raw
        if not slice_shape and raw.shape != self._data.shape:
            raise ValueError(f"For 'Parameter.set_data', the shape of 'data' must be "
                             f"{self.shape} as that of parameter '{self.name}', "
                             f"but got {tuple(raw.shape)}.")
        own = self._data.dtype
        if raw.dtype.is_floating_point and not (own.is_floating_point or own.is_complex):
            raise TypeError(f"For 'Parameter.set_data', parameter '{self.name}' of type "
                            f"{self.dtype} can't take data of type {data.dtype}.")
        self.init = None
        self.assign_raw(raw)
        return self

    def assign_raw(self, raw: torch.Tensor) -> None:
        """Give the Parameter the values of `raw`, in its own type.

        Outside a gradient the values are copied into the memory the Parameter has, so that whoever
        shares it sees them. Inside one they replace it: what was recorded keeps the old values.
        """
        own = self._data
        overlay = state.overlay
        if overlay is None and raw.shape == own.shape and not own.is_inference():
            if self.init is None and not (own.dim() and own.stride()[0] == 0):
                own.copy_(raw.detach())
                return
        raw = raw.to(own.dtype).to(own.device)
        self._data = raw.detach().clone()
        if overlay is not None and id(self) in overlay:
            overlay[id(self)] = raw

    def init_data(self, layout: Any = None, set_sliced: bool = False) -> Parameter:
        """Make the data of a Parameter whose initializer was delayed; returns the Parameter."""
        if self.init is not None:
            initializer, self.init = self.init, None
            self._data = initializer.make(tuple(self._data.shape), self._data.dtype).to(
                context.current_device())
        return self

    def clone(self, init: Any = "same") -> Parameter:
        """A new Parameter of the same name and kind.

        Args:
            init: ``"same"`` copies the data; an initializer, its name or a number makes other data.
        """
        twin = copy.deepcopy(self)
        if not (isinstance(init, str) and init == "same"):
            from .common.initializer import initializer

            twin.set_data(initializer(init, self.shape, self.dtype))
        return twin

    def value(self) -> Tensor:
        """The data as a Tensor that is no Parameter."""
        from .tensor import wrap

        return wrap(self._raw)

    def __str__(self) -> str:
        return (f"Parameter (name={self.name}, shape={self.shape}, dtype={self.dtype}, "
                f"requires_grad={self.requires_grad})")

    __repr__ = __str__

    def __deepcopy__(self, memo: dict) -> Parameter:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        twin._data = self._data if self.init is not None else self._data.detach().clone()
        twin.__dict__.update({k: v for k, v in self.__dict__.items() if k != "hooks"})
        return twin


class _Delay(threading.local):
    """Whether new Parameters wait for `init_data`; set by `nn.no_init_parameters`."""

    initialization = False


delay = _Delay()


class ParameterTuple(tuple):
    """A tuple of Parameters.

    Examples:
        >>> import lamella as ms
        >>> pair = ms.ParameterTuple([ms.Parameter(1.0, name="a"), ms.Parameter(2.0, name="b")])
        >>> [p.name for p in pair.clone("moments")]
        ['moments.a', 'moments.b']
    """

    def __new__(cls, iterable: Iterable[Parameter]):
        parameters = tuple(iterable)
        names: set[str] = set()
        for parameter in parameters:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"For 'ParameterTuple', all elements must be Parameters, "
                                f"but got {type(parameter).__name__}.")
            if parameter.name in names and parameter.name != "Parameter":
                raise ValueError(f"For 'ParameterTuple', the names must differ, "
                                 f"but '{parameter.name}' comes twice.")
            names.add(parameter.name)
        return super().__new__(cls, parameters)

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """New Parameters, named ``prefix.name``; `init` as in `Parameter.clone`."""
        if not isinstance(prefix, str):
            raise TypeError(f"For 'ParameterTuple.clone', 'prefix' must be a str, "
                            f"but got {prefix!r}.")
        twins = []
        for parameter in self:
            twin = parameter.clone(init)
            twin.name = f"{prefix}.{parameter.name}" if prefix else parameter.name
            twins.append(twin)
        return ParameterTuple(twins)
