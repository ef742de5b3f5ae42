"""Distribution: the base of all distributions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .... import ops
from ....core.dtype import Type, float32, float64
from ....tensors.tensor import Tensor
from ...cell import Cell
from ..checks import WHOLE, as_parameter, batch_shape, require_type, scalar_batch

_QUESTIONS = ("log_prob", "prob", "cdf", "log_cdf", "survival_function", "log_survival", "kl_loss",
              "mean", "mode", "sd", "var", "entropy", "cross_entropy", "sample", "get_dist_args",
              "get_dist_type")


def _same(x: Any) -> Any:
    return x


def _rest(x: Tensor) -> Tensor:
    return 1.0 - x


class Distribution(Cell):
    """A probability distribution.

    A subclass defines what it knows: ``_prob`` or ``_log_prob``, ``_cdf``, ``_survival_function``,
    their logarithms, ``_mean``, ``_mode``, ``_sd`` or ``_var``, ``_entropy``, ``_kl_loss``,
    ``_cross_entropy``, ``_sample``; what follows from these is derived. Each takes its value
    first, then parameters to use instead of those that the distribution was made with. Called
    with the name of a method, a distribution runs that method.

    Args:
        seed: the seed of `sample`; None or 0: the numbers of `set_seed`.
        dtype: the type of its numbers.
        name: its name.
        param: the arguments of the subclass, with parameters under ``"param_dict"``.

    Raises:
        TypeError: if `name` is no text, or `seed` no int.
        ValueError: if `seed` is below 0.
    """

    family = ""  # the name that `kl_loss` and `cross_entropy` take
    arguments: tuple[str, ...] = ()  # the names of the parameters in calls

    def __init__(self, seed: int | None, dtype: Type, name: str, param: dict[str, Any]):
        super().__init__()
        seed = 0 if seed is None else seed
        if not isinstance(name, str) or isinstance(seed, bool) or not isinstance(seed, int):
            raise TypeError(f"For '{type(self).__name__}', 'name' must be text and 'seed' an int, "
                            f"but got {name!r} and {seed!r}.")
        if seed < 0:
            raise ValueError(f"For '{name}', 'seed' must be 0 or more, but got {seed}.")
        self._name, self._seed, self._dtype = name, seed, dtype
        self._parameters = {k: v for k, v in param.items()
                            if k != "self" and not k.startswith("_")}
        self.default_parameters: list[Tensor | None] = []
        self.parameter_names: list[str] = []
        if "distribution" not in self._parameters:
            given = self._parameters.get("param_dict", {})
            self.parameter_type = _parameter_type(given, dtype)
            self._batch_shape = batch_shape(given.values())
            self._is_scalar_batch = scalar_batch(given.values())
            self._broadcast_shape = self._batch_shape

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def dtype(self) -> Type:
        """The type of its numbers."""
        return self._dtype

    @property
    def seed(self) -> int:
        """The seed of `sample`."""
        return self._seed

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return self._parameters

    @property
    def is_scalar_batch(self) -> bool:
        """Whether its parameters are plain numbers."""
        return self._is_scalar_batch

    @property
    def batch_shape(self) -> tuple[int, ...] | None:
        """The shape that its parameters broadcast to; None if one isn't given."""
        return self._batch_shape

    @property
    def broadcast_shape(self) -> tuple[int, ...] | None:
        """The shape of one draw."""
        return self._broadcast_shape

    # -- what subclasses use ----------------------------------------------------------------------

    def _reset_parameters(self) -> None:
        self.default_parameters, self.parameter_names = [], []

    def _add_parameter(self, value: Any, name: str) -> Tensor | None:
        held = None if value is None else as_parameter(value, self.parameter_type)
        self.default_parameters.append(held)
        self.parameter_names.append(name)
        return held

    def _check_value(self, value: Any, name: str) -> Any:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"For {name}, input type must be a Tensor or Parameter.")
        return value

    def _value(self, value: Any) -> Tensor:
        """A value in the distribution's own type, which that of its parameters may differ from."""
        return self._given(value, "value", self.parameter_type if self.parameter_type is float64
                           or self.dtype in WHOLE else self.dtype)

    def _given(self, value: Any, name: str, kind: Type | None = None) -> Tensor:
        """A Tensor that has to be there, in the type of the parameters if no `kind` is named."""
        if value is None:
            raise TypeError(f"For {name}, input type must be a Tensor or Parameter.")
        return self._check_value(value, name).astype(kind or self.parameter_type)

    def _check_param_type(self, *args: Any) -> Any:
        """The parameters of a call, or else those it was made with, of one shape and type."""
        found = []
        for given, name, default in zip(args, self.parameter_names, self.default_parameters,
                                        strict=False):
            held = default if self._check_value(given, name) is None else given
            if held is None:
                raise TypeError(f"the type {name} must be subclass of Tensor. It can not be None "
                                f"since it is not specified during initialization.")
            found.append(held.astype(self.parameter_type))
        if len(found) == 1:
            return found[0]
        total = found[0]
        for other in found[1:]:
            total = total + other
        return tuple(ops.broadcast_to(p, total.shape) for p in found)

    def _drawn(self, shape: Any, batch: tuple[int, ...],
               draw: Callable[[tuple[int, ...]], Tensor]) -> Tensor:
        """Numbers of `shape`, each as a draw of the whole batch, in the distribution's type."""
        if not isinstance(shape, tuple):
            raise TypeError("For shape, input type must be a tuple.")
        whole = shape + batch
        out = draw(whole or (1,)).astype(self.dtype)
        return out if whole else ops.reshape(out, ())

    def _uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Numbers of (0, 1), whose logarithm exists."""
        numbers = ops.uniform(shape, Tensor(0.0), Tensor(1.0), self.seed or None)
        return ops.clamp(numbers, 1e-37).astype(self.parameter_type)

    def _shown(self, **parameters: Any) -> str:
        if not self.is_scalar_batch:
            return f"batch_shape = {self._broadcast_shape}"
        return ", ".join(f"{name} = {value}" for name, value in parameters.items())

    def _derived(self, question: str, formulas: tuple[tuple[str, Callable[[Any], Any]], ...],
                 args: Any, kwargs: Any) -> Any:
        for hook, convert in formulas:
            known = getattr(self, hook, None)
            if known is not None:
                return convert(known(*args, **kwargs))
        raise NotImplementedError(f"{question} is not implemented for {self.name} distribution.")

    # -- quantities -------------------------------------------------------------------------------

    def prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of values, or its density there."""
        return self._derived("prob", (("_prob", _same), ("_log_prob", ops.exp)),
                             (value, *args), kwargs)

    def log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `prob`."""
        return self._derived("log_prob", (("_log_prob", _same), ("_prob", ops.log)),
                             (value, *args), kwargs)

    def cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of numbers up to the values."""
        return self._derived("cdf", (
            ("_cdf", _same), ("_log_cdf", ops.exp), ("_survival_function", _rest),
            ("_log_survival", lambda x: 1.0 - ops.exp(x))), (value, *args), kwargs)

    def log_cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `cdf`."""
        return self._derived("log_cdf", (
            ("_log_cdf", _same), ("_cdf", ops.log),
            ("_survival_function", lambda x: ops.log(1.0 - x)),
            ("_log_survival", lambda x: ops.log(1.0 - ops.exp(x)))), (value, *args), kwargs)

    def survival_function(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of numbers above the values."""
        return self._derived("survival_function", (
            ("_survival_function", _same), ("_log_survival", ops.exp), ("_cdf", _rest),
            ("_log_cdf", lambda x: 1.0 - ops.exp(x))), (value, *args), kwargs)

    def log_survival(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `survival_function`."""
        return self._derived("log_survival", (
            ("_log_survival", _same), ("_survival_function", ops.log),
            ("_cdf", lambda x: ops.log(1.0 - x)),
            ("_log_cdf", lambda x: ops.log(1.0 - ops.exp(x)))), (value, *args), kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """The mean."""
        return self._derived("mean", (("_mean", _same),), args, kwargs)

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """The most probable number."""
        return self._derived("mode", (("_mode", _same),), args, kwargs)

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """The standard deviation."""
        return self._derived("sd", (("_sd", _same), ("_var", ops.sqrt)), args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """The variance."""
        return self._derived("var", (("_var", _same), ("_sd", ops.square)), args, kwargs)

    def entropy(self, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy, in nats."""
        return self._derived("entropy", (("_entropy", _same),), args, kwargs)

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The Kullback-Leibler divergence of this distribution from another of its family.

        Args:
            dist: the name of the family.
            *args: the other one's parameters, then this one's, if they aren't its own.
            **kwargs: the same by name: ``mean_b=...``.
        """
        return self._derived("kl_loss", (("_kl_loss", _same),), (dist, *args), kwargs)

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """`entropy` and `kl_loss` together; arguments as in `kl_loss`."""
        own = getattr(self, "_cross_entropy", None)
        if own is not None:
            return own(dist, *args, **kwargs)
        divergence = getattr(self, "_kl_loss", None)
        if divergence is None:
            raise NotImplementedError(f"cross_entropy is not implemented for {self.name} "
                                      f"distribution.")
        bound = inspect.signature(divergence).bind(dist, *args, **kwargs)
        bound.apply_defaults()
        count = len(self.parameter_names)
        return self.entropy(*bound.args[1 + count:]) + divergence(*bound.args)

    def sample(self, *args: Any, **kwargs: Any) -> Tensor:
        """Random numbers of the distribution.

        Args:
            *args: the shape, a tuple; then the parameters, if they aren't its own.
            **kwargs: the same by name.
        """
        return self._derived("sample", (("_sample", _same),), args, kwargs)

    def get_dist_args(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The parameters: those given, else those it was made with."""
        own = getattr(self, "_get_dist_args", None)
        if own is not None:
            return own(*args, **kwargs)
        if not self.arguments:
            raise NotImplementedError(f"get_dist_args is not implemented for {self.name} "
                                      f"distribution.")
        given = dict(zip(self.arguments, args, strict=False)) | kwargs
        for name in given:
            if name not in self.arguments:
                raise TypeError(f"For '{self.name}', there is no parameter {name!r}.")
        found = [self._check_value(given.get(name), name) for name in self.arguments]
        return tuple(default if value is None else value for value, default in
                     zip(found, self.default_parameters, strict=True))

    def get_dist_type(self) -> str:
        """The name of the family."""
        own = getattr(self, "_get_dist_type", None)
        if own is not None:
            return own()
        if not self.family:
            raise NotImplementedError(f"get_dist_type is not implemented for {self.name} "
                                      f"distribution.")
        return self.family

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if name not in _QUESTIONS:
            raise NotImplementedError(f"{name} is not implemented for {self.name} distribution.")
        return getattr(self, name)(*args, **kwargs)


def _parameter_type(given: dict[str, Any], dtype: Type) -> Type:
    """The type that parameters are held in: that of arrays among them, if it is floating.

    float64 is kept where a Tensor has it or `dtype` asks for it: an array of NumPy's has it without
    anyone's choice.
    """
    common = None
    for name, value in given.items():
        if not hasattr(value, "dtype"):
            continue
        kind = value.dtype if isinstance(value, Tensor) else Tensor(value).dtype
        if common is not None and kind is not common:
            raise TypeError(f"{name} should have the same dtype as other arguments.")
        common = kind
    if common is float64 and not any(isinstance(v, Tensor) for v in given.values()):
        common = None if dtype is float64 else float32
    if common is not None and common not in WHOLE:
        return common
    return float32 if dtype in WHOLE or dtype is None or common is not None else dtype


def made_with(dtype: Any, allowed: tuple[Type, ...], name: str, **parameters: Any
              ) -> dict[str, Any]:
    """The `param` of a distribution, whose type is checked."""
    require_type(dtype, allowed, name)
    return {**parameters, "dtype": dtype, "name": name, "param_dict": parameters}
