"""Operators that run on a device mesh of one axis, such as convolutions.

DTensor can't cut one of their dimensions along several axes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..autodiff.tree import map_tensors
from ..tensors.tensor import Tensor, wrap

__all__ = ["in_one_axis", "refused"]


def refused(error: BaseException) -> bool:
    """Whether DTensor has refused an operator for that reason."""
    return "does not support things like hybrid sharding" in str(error)


def in_one_axis(function: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Call an operator with the same parts, as those of one axis.

    Raises:
        RuntimeError: if a Tensor lies differently along different axes.
    """
    meshes: list[Any] = []

    def moved(tensor: Tensor) -> Tensor:
        raw: Any = tensor._raw
        if not hasattr(raw, "placements"):
            return tensor
        if len(set(raw.placements)) > 1:
            name = function.__name__
            raise RuntimeError(f"For '{name}', a Tensor can be cut along one dimension only, by "
                               f"all processes alike, but one of shape {tuple(raw.shape)} lies as "
                               f"{raw.placements} along axes of {list(raw.device_mesh.shape)}.")
        meshes.append(raw.device_mesh)
        return wrap(_laid(raw, raw.device_mesh._flatten(), 1))

    args, kwargs = map_tensors(moved, (args, kwargs))
    found = function(*args, **kwargs)
    return map_tensors(lambda t: wrap(_laid(t._raw, meshes[0], meshes[0].ndim)), found)


def _laid(raw: Any, mesh: Any, count: int) -> torch.Tensor:
    """A DTensor of the same parts on another mesh, along each of whose axes it lies alike; of one
    that is still to be added up, the sum."""
    from torch.distributed.tensor import DTensor

    if raw.placements[0].is_partial():
        return raw.full_tensor()
    return DTensor.from_local(raw.to_local(), mesh, [raw.placements[0]] * count, run_check=False)
