"""Primitive classes whose attributes are arguments of the function they compute."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from ...compat.arguments import of_mismatch
from ...core.primitive import Primitive, examples_with, summary
from ...core.require import of_type
from ..arguments import as_int, as_ints

Check = Callable[[str, str, Any], None]


def whole_number(name: str, attribute: str, value: Any) -> None:
    """Refuse what is no int."""
    as_int(value, name, attribute)


def whole_numbers(name: str, attribute: str, value: Any) -> None:
    """Refuse what is neither an int nor a tuple or list of ints."""
    as_ints(value, name, attribute)


def positive_int(name: str, attribute: str, value: Any) -> None:
    """Refuse what isn't an int above 0, see `with_attributes`."""
    of_type(value, int, attribute, name)
    if value <= 0:
        raise ValueError(f"For '{name}', '{attribute}' must be above 0, but got {value}.")


def positive_ints(name: str, attribute: str, value: Any) -> None:
    """Refuse what is neither an int above 0 nor a tuple or list of such."""
    for one in value if isinstance(value, (tuple, list)) else (value,):
        positive_int(name, attribute, one)


def positive_number(name: str, attribute: str, value: Any) -> None:
    """Refuse what isn't a number above 0."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"For '{name}', '{attribute}' must be a number, but got {value!r} of type "
                        f"{type(value).__name__}.")
    if not value > 0:
        raise ValueError(f"For '{name}', '{attribute}' must be above 0, but got {value}.")


def with_attributes(name: str, function: Callable[..., Any], *required: str,
                    checks: Mapping[str, Check] | None = None, **defaults: Any
                    ) -> type[Primitive]:
    """A Primitive class that takes attributes when built and passes them to `function` by name.

    Its docstring has the examples of `function`, if they make an object of the class.

    Args:
        name: the class's name.
        function: what an object computes when called with tensors.
        required: names of attributes without a default.
        checks: what refuses wrong values of an attribute, such as `positive_int`.
        defaults: the other attributes; one whose default is a bool must be a bool or 0 or 1.

    Examples:
        >>> import lamella as ms
        >>> total = ms.ops.ReduceSum(keep_dims=True)
        >>> print(total, total(ms.Tensor([1.0, 2.0]), 0))
        Prim[ReduceSum]<keep_dims=True, skip_mode=False> [3.]
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(n, kind) for n in required]
        + [inspect.Parameter(n, kind, default=value) for n, value in defaults.items()])

    class _Configured(Primitive):
        __doc__ = (f"{summary(name, function)}, with the attributes {signature}."
                   f"{examples_with(f'ops.{name}(', function)}")

        def __init__(self, *args: Any, **kwargs: Any):
            super().__init__(name)
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as mismatch:
                raise of_mismatch(name, signature, args, mismatch, kwargs) from None
            bound.apply_defaults()
            for attribute, value in bound.arguments.items():
                if isinstance(defaults.get(attribute), bool) and not (
                        isinstance(value, (bool, int)) and value in (0, 1)):
                    raise TypeError(f"For '{name}', '{attribute}' must be a bool, "
                                    f"but got {value!r} of type {type(value).__name__}.")
                if checks is not None and attribute in checks:
                    checks[attribute](name, attribute, value)
                self.add_prim_attr(attribute, value)
            self._names = tuple(signature.parameters)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            own = self.__dict__
            return function(*args, **kwargs, **{n: own[n] for n in self._names})

    _Configured.__name__ = _Configured.__qualname__ = name
    _Configured.__module__ = sys._getframe(1).f_globals["__name__"]  # where pickle looks for it
    _Configured.__signature__ = signature  # type: ignore[attr-defined]
    return _Configured
