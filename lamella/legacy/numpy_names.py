"""Names that NumPy 1 had and NumPy 2 has no more, for programs that `lamella run` starts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

__all__ = ["offer"]

# what NumPy 1's documentation said each is; text: a name of NumPy 2
_NOW: dict[str, Any] = {
    "bool8": "bool_", "cfloat": "complex128", "clongfloat": "clongdouble", "complex": complex,
    "complex_": "complex128", "float": float, "float_": "float64", "Inf": "inf",
    "Infinity": "inf", "infty": "inf", "int": int, "int0": "intp", "longcomplex": "clongdouble",
    "longfloat": "longdouble", "NaN": "nan", "NAN": "nan", "object": object, "object0": "object_",
    "product": "prod", "cumproduct": "cumprod", "alltrue": "all", "sometrue": "any",
    "in1d": "isin", "row_stack": "vstack", "round_": "round", "singlecomplex": "complex64",
    "str": str, "string_": "bytes_", "trapz": "trapezoid", "uint0": "uintp", "unicode_": "str_",
}


def offer() -> None:
    """Let ``numpy`` give these names, with a DeprecationWarning at each place that uses one.

    Examples:
        >>> import warnings
        >>> import numpy as np
        >>> from lamella.legacy import numpy_names
        >>> before = np.__getattr__
        >>> numpy_names.offer()
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     np.infty, np.float
        (inf, <class 'float'>)
        >>> np.__getattr__ = before
    """
    found = vars(np)["__getattr__"]

    def __getattr__(name: str) -> Any:  # noqa: N807
        now = _NOW.get(name)
        if now is None or isinstance(now, str) and not hasattr(np, now):
            return found(name)
        said = f"np.{now}" if isinstance(now, str) else now.__name__
        warnings.warn(f"np.{name} is no part of NumPy 2; use {said}.", DeprecationWarning,
                      stacklevel=2)
        return getattr(np, now) if isinstance(now, str) else now

    np.__getattr__ = __getattr__
