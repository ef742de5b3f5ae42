"""Bijector: the base of invertible functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....core.dtype import Type
from ....tensors.tensor import Tensor
from ...cell import Cell
from ..checks import FLOATING, batch_shape, require_type, scalar_batch

_METHODS = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")

_transforms: list[tuple[type, Callable[[Bijector, Any], Any]]] = []


def register_transform(kind: type, transform: Callable[[Bijector, Any], Any]) -> None:
    """Say what a bijector gives when it is called with an object of a class."""
    _transforms.append((kind, transform))


def _transform_of(value: Any) -> Callable[[Bijector, Any], Any] | None:
    return next((transform for kind, transform in _transforms if isinstance(value, kind)), None)


class Bijector(Cell):
    """An invertible function whose derivative is known.

    A subclass has ``_forward``, ``_inverse``, ``_forward_log_jacobian`` and
    ``_inverse_log_jacobian``. Called with the name of a method, a bijector runs that method; called
    with a distribution, it gives the distribution of transformed numbers.

    Args:
        is_constant_jacobian: whether the derivative is the same everywhere.
        is_injective: whether different numbers have different images.
        name: its name.
        dtype: the type of numbers it takes; default: any floating type.
        param: the arguments of the subclass, with parameters under ``"param_dict"``.

    Raises:
        TypeError: if an argument is of another type.
    """

    def __init__(self, is_constant_jacobian: bool = False, is_injective: bool = True,
                 name: str | None = None, dtype: Type | None = None,
                 param: dict[str, Any] | None = None):
        super().__init__()
        for key, value, kind in (("name", name, str), ("is_injective", is_injective, bool),
                                 ("is_constant_jacobian", is_constant_jacobian, bool)):
            if not isinstance(value, kind):
                raise TypeError(f"For '{type(self).__name__}', the type of '{key}' must be "
                                f"{kind.__name__}, but got {type(value).__name__}.")
        if dtype is not None:
            require_type(dtype, FLOATING, type(self).__name__)
        self._name, self._dtype = name, dtype
        self._parameters = {k: v for k, v in (param or {}).items()
                            if k not in ("param", "self") and not k.startswith("_")}
        values = self._parameters.get("param_dict")
        self._batch_shape = None if values is None else batch_shape(values.values())
        self._is_scalar_batch = values is not None and scalar_batch(values.values())
        self._is_constant_jacobian, self._is_injective = is_constant_jacobian, is_injective
        self.default_parameters: list[Any] = []
        self.parameter_names: list[str] = []
        self.common_dtype: Type | None = None

    @property
    def name(self) -> str | None:
        """Its name."""
        return self._name

    @property
    def dtype(self) -> Type | None:
        """The type of numbers it takes."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return self._parameters

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the derivative is the same everywhere."""
        return self._is_constant_jacobian

    @property
    def is_injective(self) -> bool:
        """Whether different numbers have different images."""
        return self._is_injective

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The shape that its parameters broadcast to."""
        return self._batch_shape

    @property
    def is_scalar_batch(self) -> bool:
        """Whether its parameters are plain numbers."""
        return self._is_scalar_batch

    def _add_parameter(self, value: Any, name: str) -> Tensor:
        if isinstance(value, bool) or value is None:
            raise TypeError(f"{name} cannot be type {type(value)}")
        held = value if isinstance(value, Tensor) else Tensor(value)
        wanted = self.dtype or self.common_dtype or held.dtype
        if held.dtype is not wanted:
            raise TypeError(f"{name} should have the same dtype as other arguments.")
        require_type(held.dtype, FLOATING, f"dtype of {name}")
        self.common_dtype = wanted
        self.default_parameters.append(value)
        self.parameter_names.append(name)
        return held

    def _check_value(self, value: Any, name: str) -> Any:
        if not isinstance(value, Tensor):
            raise TypeError(f"For {name}, input type must be a Tensor or Parameter.")
        return value

    def _check_value_dtype(self, value: Any) -> Tensor:
        self._check_value(value, "input value of bijector")
        if value.dtype not in (FLOATING if self.dtype is None else (self.dtype,)):
            raise TypeError(f"For input value of bijector, the type must be "
                            f"{self.dtype or 'a floating one'}, but got {value.dtype}")
        return value

    def cast_param_by_value(self, value: Tensor, para: Tensor) -> Tensor:
        """A parameter in the type of a value."""
        return para.astype(value.dtype)

    def _with(self, value: Any, *params: Tensor) -> tuple[Tensor, ...]:
        """A checked value, and parameters in its type."""
        value = self._check_value_dtype(value)
        return (value, *(self.cast_param_by_value(value, p) for p in params))

    def shape_mapping(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the image of a Tensor of `shape`."""
        return tuple(np.broadcast_shapes(tuple(shape), self.batch_shape or ()))

    def forward(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The image of a value."""
        return self._forward(value, *args, **kwargs)

    def inverse(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The value whose image is given."""
        return self._inverse(value, *args, **kwargs)

    def forward_log_jacobian(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the derivative at a value."""
        return self._forward_log_jacobian(value, *args, **kwargs)

    def inverse_log_jacobian(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of the inverse function's derivative at an image."""
        return self._inverse_log_jacobian(value, *args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        transform = _transform_of(args[0]) if args else None
        return super().__call__(*args, **kwargs) if transform is None else transform(self, args[0])

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if name not in _METHODS:
            raise ValueError(f"For '{self.name}', the first argument must be one of "
                             f"{', '.join(_METHODS)}, but got {name!r}.")
        return getattr(self, name)(*args, **kwargs)

    def _shown(self, **parameters: Any) -> str:
        if not self.is_scalar_batch:
            return f"batch_shape = {self.batch_shape}"
        return ", ".join(f"{name} = {value}" for name, value in parameters.items())
