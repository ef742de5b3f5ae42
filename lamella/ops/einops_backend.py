"""A backend of `einops`, so that `rearrange`, `reduce`, `repeat` and the others take Tensors.

It registers itself as soon as both packages are there: at once where `einops` has been imported,
else when it is.
"""

from __future__ import annotations

import importlib.machinery
import sys
from importlib.abc import MetaPathFinder
from typing import Any

from .. import ops
from ..core import dtype as mstype
from ..tensors.tensor import Tensor, from_numpy

__all__ = ["install"]

_MODULE = "einops._backends"


def install() -> None:
    """Make `einops` know Tensors, now or when it is imported."""
    loaded = sys.modules.get(_MODULE)
    if loaded is not None:
        _register(loaded)
    elif not any(isinstance(finder, _BackendsFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BackendsFinder())


class _BackendsFinder(MetaPathFinder):
    """Finds the module of einops' backends as Python does, and adds ours when it has run."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: Any) -> None:
                run(module)
                _register(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _register(backends: Any) -> None:
    """Define the backend: einops finds the subclasses of its base class."""

    class LamellaBackend(backends.AbstractBackend):
        framework_name = "lamella"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return from_numpy(x)

        def to_numpy(self, x: Tensor) -> Any:
            return x.asnumpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return ops.arange(start, stop)

        def transpose(self, x: Tensor, axes: Any) -> Tensor:
            return x.permute(tuple(axes))

        def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
            if operation == "prod":  # over one axis at a time
                for axis in sorted(axes, reverse=True):
                    x = x.prod(axis)
                return x
            name = {"min": "amin", "max": "amax"}.get(operation, operation)
            return getattr(x, name)(tuple(axes))

        def stack_on_zeroth_dimension(self, tensors: list[Tensor]) -> Tensor:
            return ops.stack(tensors)

        def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
            for position in pos2len:
                x = x.expand_dims(position)
            return x.broadcast_to(tuple(pos2len.get(i, n) for i, n in enumerate(x.shape)))

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return x.expand_dims(new_position)

        def tile(self, x: Tensor, repeats: Any) -> Tensor:
            return x.tile(tuple(repeats))

        def concat(self, tensors: list[Tensor], axis: int) -> Tensor:
            return ops.cat(tensors, axis)

        def is_float_type(self, x: Tensor) -> bool:
            return x.dtype in (mstype.float16, mstype.float32, mstype.float64, mstype.bfloat16)

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return ops.einsum(pattern, *x)

    backends.LamellaBackend = LamellaBackend  # a class that nobody holds is lost
