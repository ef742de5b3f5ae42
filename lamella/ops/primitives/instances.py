"""Primitives that MindSpore's files of functions keep made, such as `cast_` and `gather_nd_`."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from ..primitive import Primitive

__all__: list[str] = []


@functools.cache
def _classes() -> dict[str, str]:
    names = [name for name in dir(_ops()) if name[0].isupper()]
    kinds = {name: getattr(_ops(), name) for name in names}
    return {name.lower(): name for name, kind in kinds.items()
            if isinstance(kind, type) and issubclass(kind, Primitive)}


def _ops() -> Any:
    return importlib.import_module(__name__.rpartition(".primitives")[0])  # which imports this room


@functools.cache
def __getattr__(name: str) -> Any:
    kind = _classes().get(name.replace("_", "")) if name.endswith("_") and name[0] != "_" else None
    try:
        if kind is not None:
            return getattr(_ops(), kind)()
    except TypeError:  # it can't be made without arguments
        pass
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
