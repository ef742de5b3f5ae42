"""Grids of coordinates, and window functions."""

from __future__ import annotations

import math
from typing import Any

import torch

from .. import ops
from ..core import context
from ..core.require import of_type
from ..tensors.tensor import Tensor, wrap
from .creation import arange, linspace
from .join import concatenate
from .types import as_tensor, int32

__all__ = ["bartlett", "blackman", "hamming", "hanning", "indices", "ix_", "meshgrid", "mgrid",
           "ogrid"]


def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy") -> list[Tensor]:
    """As `ops.meshgrid`, as a list; arrays of another rank are flattened.

    Args:
        *xi: the coordinates along each axis.
        sparse: whether each result keeps length 1 along the other axes.
        indexing: ``"xy"``: the first two axes are exchanged, ``"ij"``: they are not.

    Raises:
        TypeError: if `sparse` is no bool, or `indexing` is another.

    Examples:
        >>> import lamella.numpy as np
        >>> [g.shape for g in np.meshgrid(np.ones(3), np.ones(2))]
        [(2, 3), (2, 3)]
    """
    if not isinstance(sparse, bool) or indexing not in ("xy", "ij"):
        raise TypeError(f"For 'meshgrid', 'sparse' must be a bool and 'indexing' 'xy' or 'ij', "
                        f"but got {sparse!r} and {indexing!r}.")
    lines = [ops.ravel(as_tensor(x, "meshgrid", "xi")) for x in xi]
    axes = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        axes[:2] = [1, 0]
    shape = [0] * len(lines)
    for line, axis in zip(lines, axes, strict=True):
        shape[axis] = line.size
    out = []
    for line, axis in zip(lines, axes, strict=True):
        grid = ops.reshape(line, tuple(-1 if d == axis else 1 for d in range(len(lines))))
        out.append(grid if sparse else ops.broadcast_to(grid, tuple(shape)))
    return out


class NdGrid:
    """What makes grids of slices: ``mgrid[0:5, 0:5]``.

    A step that is a complex number says how many numbers there are, up to and with the end.

    Args:
        sparse: whether each result keeps length 1 along the other axes.
    """

    def __init__(self, sparse: bool = False):
        self.sparse = sparse

    def __getitem__(self, keys: Any) -> Any:
        lines = []
        for key in keys if isinstance(keys, tuple) else (keys,):
            if not isinstance(key, slice) or not isinstance(key.start, int) \
                    or not isinstance(key.stop, int):
                raise TypeError(f"For 'mgrid', an index must be a slice from an int to an int, "
                                f"but got {key!r}.")
            step = key.step or 1
            lines.append(linspace(key.start, key.stop, int(abs(step)))
                         if isinstance(step, complex) else arange(key.start, key.stop, step))
        grids = meshgrid(*lines, sparse=self.sparse, indexing="ij")
        if len(grids) == 1:
            return grids[0]
        return grids if self.sparse else concatenate([ops.expand_dims(g, 0) for g in grids])


mgrid = NdGrid()
ogrid = NdGrid(sparse=True)


def indices(dimensions: Any, dtype: Any = int32, sparse: bool = False) -> list[Tensor]:
    """The positions along each axis of an array of a shape.

    Raises:
        TypeError: if `dimensions` is no tuple or list.

    Examples:
        >>> import lamella.numpy as np
        >>> print(*np.indices((2, 2)))
        [[0 0]
         [1 1]] [[0 1]
         [0 1]]
    """
    of_type(dimensions, (tuple, list), "dimensions", "indices")
    lines = [arange(n, dtype=dtype) for n in dimensions]
    return meshgrid(*lines, sparse=sparse, indexing="ij")


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Vectors, each along an axis of its own, so that together they index a block.

    Raises:
        ValueError: if one is no vector.

    Examples:
        >>> import lamella.numpy as np
        >>> [i.shape for i in np.ix_(np.array([0, 1]), np.array([2, 4, 5]))]
        [(2, 1), (1, 3)]
    """
    out = []
    for axis, arr in enumerate(args):
        arr = as_tensor(arr, "ix_", "args")
        if arr.ndim != 1:
            raise ValueError(f"For 'ix_', every argument must be a vector, but got shape "
                             f"{arr.shape}.")
        out.append(ops.reshape(arr, tuple(-1 if d == axis else 1 for d in range(len(args)))))
    return tuple(out)


def _window(count: Any, where: str, *weights: float) -> Tensor:
    """The sum of weights times cosines of ascending frequency over a window."""
    if not isinstance(count, int):
        raise TypeError(f"For '{where}', 'M' must be an int, but got {count!r}.")
    device = context.current_device()
    if count <= 1:
        return wrap(torch.ones(max(count, 0), device=device))
    phase = torch.arange(count, dtype=torch.float64, device=device) * (2 * math.pi / (count - 1))
    out = torch.zeros_like(phase)
    for number, weight in enumerate(weights):
        out = out + weight * torch.cos(number * phase)
    return wrap(out.float())


def bartlett(M: int) -> Tensor:  # noqa: N803
    """Bartlett's window of `M` points: a triangle.

    Examples:
        >>> import lamella.numpy as np
        >>> print(np.bartlett(5))
        [0.  0.5 1.  0.5 0. ]
    """
    if not isinstance(M, int) or M <= 1:
        return _window(M, "bartlett")
    count = torch.arange(M, dtype=torch.float64, device=context.current_device())
    return wrap((1 - (2 * count - (M - 1)).abs() / (M - 1)).float())


def blackman(M: int) -> Tensor:  # noqa: N803
    """Blackman's window of `M` points: 0.42 - 0.5 cos + 0.08 cos of twice the phase."""
    return _window(M, "blackman", 0.42, -0.5, 0.08)


def hamming(M: int) -> Tensor:  # noqa: N803
    """Hamming's window of `M` points: 0.54 - 0.46 cos."""
    return _window(M, "hamming", 0.54, -0.46)


def hanning(M: int) -> Tensor:  # noqa: N803
    """Hann's window of `M` points: 0.5 - 0.5 cos."""
    return _window(M, "hanning", 0.5, -0.5)
