"""Fused attention of Tensors that are spread over processes.

Examples of a batch and heads of one example don't need each other, so a process computes those
that it holds by the kernel itself. DTensor knows rules for the kernels of GPUs alone: on a CPU it
takes attention to pieces, and gathers the heads for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .sharding import as_dtensor

__all__ = ["attend"]


def attend(kernel: Callable[..., torch.Tensor], query: torch.Tensor, key: torch.Tensor,
           value: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """The attention of DTensors (..., T, d), as a DTensor that is cut as they are.

    Args:
        kernel: computes it of plain tensors.
        query, key, value: cut in examples or heads; what is cut otherwise is put together first.
        bias: of a shape that fits (..., T, T'), plain or a DTensor, or None.
    """
    from torch.distributed.tensor import DTensor

    query, key, value = (as_dtensor(raw) for raw in (query, key, value))
    mesh = query.device_mesh  # type: ignore[attr-defined]
    dims = _cuts(mesh, query, key, value)
    parts = [_part(raw, dims) for raw in (query, key, value)]
    own = None if bias is None else _part(as_dtensor(bias), dims, query.dim() - bias.dim())
    out = kernel(*parts, own)
    placements = [_placed(dim) for dim in dims]
    return DTensor.from_local(out, mesh, placements, run_check=False)


def _placed(dim: int | None) -> Any:
    from torch.distributed.tensor import Replicate, Shard

    return Replicate() if dim is None else Shard(dim)


def _cuts(mesh: Any, *raws: Any) -> list[int | None]:
    """For each axis of the mesh the dimension that it cuts, of all tensors alike; None for none."""
    dims: list[int | None] = []
    for axis in range(mesh.ndim):
        found = None
        for dim in range(raws[0].dim() - 2):  # examples and heads
            wanted = any(raw.placements[axis].is_shard(dim) for raw in raws)
            times = mesh.size(axis)
            for other, taken in enumerate(dims):
                times *= mesh.size(other) if taken == dim else 1
            if wanted and found is None and all(raw.shape[dim] % times == 0 for raw in raws):
                found = dim
        dims.append(found)
    return dims


def _part(raw: Any, dims: list[int | None], missing: int = 0) -> torch.Tensor:
    """This process's part of a DTensor, which lacks the first `missing` dimensions.

    A dimension of length 1 stands for all, and isn't cut; its gradient is the sum of all parts'.
    """
    from torch.distributed.tensor import Partial

    own = [None if dim is None or dim < missing or raw.shape[dim - missing] == 1
           else dim - missing for dim in dims]
    placements = [_placed(dim) for dim in own]
    gradients = [Partial() if kept is None and dim is not None else placed
                 for kept, dim, placed in zip(own, dims, placements, strict=True)]
    laid = raw.redistribute(raw.device_mesh, placements)
    return laid.to_local(grad_placements=gradients)
