"""Batch normalization over the batches of several processes."""

from __future__ import annotations

from typing import Any

import torch

from ..communication import rules
from ..communication.groups import Group, create_group, get_rank, group_of
from ..core import dtype as mstype
from ..ops.normalization import move_statistics
from ..tensors.tensor import Tensor, wrap
from . import checks
from .normalization import _BatchNorm

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Batch normalization whose statistics are those of all processes' batches together.

    In one process it is `BatchNorm2d` (or `BatchNorm1d`). Going back, each process gets the
    gradient of the sum of all processes' losses, as if one process had the whole batch.

    Args: those of `BatchNorm1d`, without `data_format`, and
        process_groups: lists of the ranks that share statistics; None for all, 0 for none. Every
            process has to make the layer, with the same lists.

    Inputs:
        - **x** - Tensor (N, C) or (N, C, H, W).

    Raises:
        TypeError: if `process_groups` is no list of lists.
        ValueError: if a rank comes twice, or isn't one of the world's.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.SyncBatchNorm(3)(ms.ops.ones((2, 3))).shape
        (2, 3)
    """

    _ranks = (2, 4)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9,
                 affine: bool = True, gamma_init: Any = "ones", beta_init: Any = "zeros",
                 moving_mean_init: Any = "zeros", moving_var_init: Any = "ones",
                 use_batch_statistics: bool | None = None, process_groups: Any = None,
                 dtype: Any = mstype.float32):
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init,
                         moving_mean_init, moving_var_init, use_batch_statistics, dtype=dtype)
        self.process_groups = process_groups
        self.group_name: str | None = None
        self.is_global = False
        world = group_of(None, "SyncBatchNorm")
        if process_groups is None:
            self.is_global = world.size > 1
        elif process_groups != 0:
            _check_groups(process_groups, world.size)
            for ranks in process_groups:
                self._share(ranks)

    def _share(self, ranks: list[int]) -> None:
        """Make the group of some processes, and share statistics if this is one of them."""
        if len(ranks) == 1:
            return
        name = f"sync_batch_norm_{'_'.join(map(str, sorted(ranks)))}"
        create_group(name, ranks)
        if get_rank() in ranks:
            self.group_name, self.is_global = name, True

    def _normalize(self, x: Tensor) -> Tensor:
        by_batch = self.use_batch_statistics
        if by_batch is None:
            by_batch = self.training
        if not (self.is_global and by_batch) or x._raw.shape[1] != self.num_features:
            return super()._normalize(x)
        return self._together(x._raw, group_of(self.group_name, "SyncBatchNorm"))

    def _together(self, raw: torch.Tensor, group: Group) -> Tensor:
        dims = [d for d in range(raw.dim()) if d != 1]
        across = (-1, *[1] * (raw.dim() - 2))
        exact = raw.float()
        total = exact.sum(dims)
        total = torch.cat([total, total.new_full((1,), raw.numel() // raw.shape[1])])
        total = rules.all_reduce("SyncBatchNorm", total, "sum", group)
        count = total[-1].detach()
        mean = total[:-1] / count
        # not the mean of squares less the squared mean, which loses digits
        apart = exact - mean.reshape(across)
        variance = rules.all_reduce("SyncBatchNorm", (apart * apart).sum(dims), "sum",
                                    group) / count
        out = apart * (variance + self.eps).rsqrt().reshape(across)
        out = out * self.gamma._raw.reshape(across) + self.beta._raw.reshape(across)
        move_statistics(self.moving_mean, mean, self.momentum)
        move_statistics(self.moving_variance, variance * (count / (count - 1).clamp(min=1)),
                        self.momentum)
        return wrap(out.to(raw.dtype))


def _check_groups(process_groups: Any, size: int) -> None:
    checks.of_type(process_groups, list, "process_groups", "SyncBatchNorm")
    for ranks in process_groups:
        checks.of_type(ranks, list, "process_groups", "SyncBatchNorm")
    ranks = [r for group in process_groups for r in group]
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"For 'SyncBatchNorm', no rank may come twice in 'process_groups', "
                         f"but got {process_groups}.")
    if not all(isinstance(r, int) and 0 <= r < size for r in ranks):
        raise ValueError(f"For 'SyncBatchNorm', the ranks in 'process_groups' must be in "
                         f"[0, {size}), but got {process_groups}.")
