"""Functions on COOTensors: repeated indices summed, sums, concatenation."""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..ops.arguments import as_ints, axis_in
from ..tensors.tensor import Tensor, wrap
from .conversions import need
from .coo import COOTensor
from .held import meet, summed


@op
def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Any) -> tuple[Tensor, Tensor, Any]:
    """Coordinates in ascending order, each once, with the sums of their values.

    Args:
        x_indices: (rank, n) coordinates.
        x_values: the n values.
        x_shape: the shape of the dense tensor.

    Returns:
        (coordinates, values, `x_shape`)

    Examples:
        >>> import lamella as ms
        >>> positions = ms.Tensor([[0, 0, 1], [1, 1, 2]])
        >>> indices, values, _ = ms.ops.coalesce(positions, ms.Tensor([1.0, 5.0, 4.0]),
        ...                                      ms.Tensor([3, 3]))
        >>> print(indices, values)
        [[0 1]
         [1 2]] [6. 4.]
    """
    lengths = as_ints(x_shape, "coalesce", "x_shape")
    positions, sums = summed(x_indices._raw.T, x_values._raw, lengths)
    return wrap(positions.T), wrap(sums), x_shape


# -- sums -----------------------------------------------------------------------------------------

@op
def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """The sum of two COOTensors, without what is smaller than a threshold.

    Args:
        x1: a COOTensor.
        x2: a COOTensor of the same shape.
        thresh: sums of a smaller absolute value are left out.

    Raises:
        TypeError: if `x1` or `x2` is no COOTensor.
        ValueError: if their shapes differ.

    Examples:
        >>> import lamella as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1], [1, 2]]), ms.Tensor([1, 2]), (3, 4))
        >>> y = ms.COOTensor(ms.Tensor([[0, 0], [1, 2]]), ms.Tensor([3, 4]), (3, 4))
        >>> print(ms.ops.coo_add(x, y, ms.Tensor(0)).values)
        [3 1 6]
    """
    for name, x in (("x1", x1), ("x2", x2)):
        need(x, COOTensor, "coo_add", name)
    if x1.shape != x2.shape:
        raise ValueError(f"For 'coo_add', 'x1' and 'x2' must have one shape, but got {x1.shape} "
                         f"and {x2.shape}.")
    positions = torch.cat(meet(x1.indices, x2.indices))
    positions, sums = summed(positions, torch.cat(meet(x1.values, x2.values)), x1.shape)
    limit = thresh._raw if isinstance(thresh, Tensor) else thresh
    kept = sums.abs() >= limit
    return COOTensor(wrap(positions[kept]), wrap(sums[kept]), x1.shape)


@op
def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """COOTensors joined along an axis, with ascending coordinates.

    Args:
        sp_input: a tuple or list of COOTensors, or of (indices, values, shape).
        concat_dim: the axis.

    Raises:
        ValueError: if there are fewer than two, there is no such axis, or shapes differ elsewhere.

    Examples:
        >>> import lamella as ms
        >>> x = ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([1]), (2, 2))
        >>> print(ms.ops.coo_concat((x, x), 1).to_dense())
        [[0 1 0 1]
         [0 0 0 0]]
    """
    parts = [COOTensor(*p) if isinstance(p, tuple) else p for p in sp_input]
    if len(parts) < 2:
        raise ValueError(f"For 'coo_concat', there must be two COOTensors or more, "
                         f"but got {len(parts)}.")
    axis = axis_in(concat_dim, parts[0].ndim, "coo_concat", "concat_dim")
    shape, positions, offset = list(parts[0].shape), [], 0
    for part in parts:
        if [*part.shape[:axis], *part.shape[axis + 1:]] != [*shape[:axis], *shape[axis + 1:]]:
            raise ValueError(f"For 'coo_concat', the shapes must be the same but for axis {axis}, "
                             f"but got {parts[0].shape} and {part.shape}.")
        moved = part.indices._raw.clone()
        moved[:, axis] += offset
        positions.append(moved)
        offset += part.shape[axis]
    shape[axis] = offset
    at, values = torch.cat(positions), torch.cat([p.values._raw for p in parts])
    keys = torch.zeros(at.shape[0], dtype=torch.int64, device=at.device)
    for column, length in zip(at.unbind(1), shape, strict=True):
        keys = keys * length + column
    order = torch.sort(keys, stable=True)[1]
    return COOTensor(wrap(at[order]), wrap(values[order]), tuple(shape))
