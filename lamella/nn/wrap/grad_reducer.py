"""Gradients summed over the processes of a distributed run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ...communication import exchange
from ...communication.groups import HCCL_WORLD_COMM_GROUP, group_of
from ...parallel.settings import get_auto_parallel_context
from ...tensor import wrap
from ..cell import Cell

__all__ = ["DistributedGradReducer"]

_LARGEST = 25 << 20  # bytes of one message; small gradients travel together


class DistributedGradReducer(Cell):
    """Sums each gradient over the processes of a group; changes nothing in a single one.

    Args:
        parameters: the parameters whose gradients will come.
        mean: whether to divide the sum by `degree`; default: the option ``gradients_mean``.
        degree: the number to divide by; default: the number of processes.
        fusion_type: accepted as MindSpore does; gradients travel together up to 25 MB.
        group: the group's name.

    Inputs:
        - **grads** - a tuple of gradients.

    Outputs:
        A tuple of gradients.

    Raises:
        ValueError: if `degree` is no int above 0.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> print(ms.nn.DistributedGradReducer([w])((ms.Tensor([2.0]),))[0])
        [2.]
    """

    def __init__(self, parameters: Any, mean: bool | None = None, degree: int | None = None,
                 fusion_type: int = 1, group: str = HCCL_WORLD_COMM_GROUP):
        super().__init__(auto_prefix=False)
        self.mean = get_auto_parallel_context("gradients_mean") if mean is None else mean
        size = group_of(group, "DistributedGradReducer").size
        self.degree = size if degree is None else degree
        if not isinstance(self.degree, int) or self.degree <= 0:
            raise ValueError(f"For 'DistributedGradReducer', 'degree' must be an int above 0, "
                             f"but got {degree!r}.")
        self.group = group
        self.fusion_type = fusion_type

    def construct(self, grads: Any) -> Any:
        """Sum the gradients over the processes."""
        group = group_of(self.group, "DistributedGradReducer")
        if group.size == 1:
            return grads
        reduced: list[torch.Tensor] = []
        for bucket in _buckets([g._raw for g in grads]):
            flat = torch.cat([raw.reshape(-1) for raw in bucket])
            flat = exchange.all_reduce("DistributedGradReducer", flat, "sum", group)
            if self.mean:
                flat = flat / self.degree
            parts = flat.split([raw.numel() for raw in bucket])
            reduced += [part.reshape(raw.shape)
                        for part, raw in zip(parts, bucket, strict=True)]
        return tuple([wrap(raw) for raw in reduced])


def _buckets(raws: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """The tensors in runs of one type that make up a message, in order: it is the same in every
    process."""
    bucket: list[torch.Tensor] = []
    size = 0
    for raw in raws:
        if bucket and (raw.dtype is not bucket[0].dtype or size + raw.nbytes > _LARGEST):
            yield bucket
            bucket, size = [], 0
        bucket.append(raw)
        size += raw.nbytes
    if bucket:
        yield bucket
