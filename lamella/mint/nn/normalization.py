"""Normalizations of `mint.nn`: `momentum` is the share of the new value, as in PyTorch."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...common.initializer import initializer
from ...core import dtype as mstype
from ...nn import Cell, checks
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from . import functional as F

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "SyncBatchNorm"]


class _BatchNorm(Cell):
    """What the batch normalizations share."""

    kept_in_own_type = frozenset({"running_mean", "running_var", "weight", "bias"})
    _ranks: tuple[int, ...] = ()

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
                 affine: bool = True, track_running_stats: bool = True, dtype: Any = None):
        super().__init__()
        name = type(self).__name__
        self.num_features = checks.positive_int(num_features, "num_features", name)
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.dtype = mstype.float32 if dtype is None else dtype
        self.weight: Any = self._kept("ones", "weight") if affine else None
        self.bias: Any = self._kept("zeros", "bias") if affine else None
        self.running_mean: Any = None
        self.running_var: Any = None
        self.num_batches_tracked: Any = None
        if track_running_stats:
            self.running_mean = self._kept("zeros", "running_mean", False)
            self.running_var = self._kept("ones", "running_var", False)
            self.num_batches_tracked = Parameter(Tensor(0, mstype.int64), "num_batches_tracked",
                                                 requires_grad=False)

    def _kept(self, value: str, name: str, requires_grad: bool = True) -> Parameter:
        return Parameter(initializer(value, self.num_features, self.dtype), name=name,
                         requires_grad=requires_grad)

    def reset_running_stats(self) -> None:
        """Forget the batches that were seen."""
        if self.track_running_stats:
            ops.assign(self.running_mean, ops.zeros_like(self.running_mean))
            ops.assign(self.running_var, ops.ones_like(self.running_var))
            ops.assign(self.num_batches_tracked, ops.zeros_like(self.num_batches_tracked))

    def reset_parameters(self) -> None:
        """Begin anew: weight one, bias zero, no batches seen."""
        self.reset_running_stats()
        if self.affine:
            ops.assign(self.weight, ops.ones_like(self.weight))
            ops.assign(self.bias, ops.zeros_like(self.bias))

    def construct(self, input: Tensor) -> Tensor:
        if input.ndim not in self._ranks:
            raise ValueError(f"For '{type(self).__name__}', 'input' must have "
                             f"{' or '.join(map(str, self._ranks))} dimensions, "
                             f"but got shape {input.shape}.")
        momentum = self.momentum
        if self.training and self.track_running_stats:
            count = ops.assign_add(self.num_batches_tracked, 1)
            if momentum is None:
                momentum = 1.0 / float(count)
        by_batch = self.training or not self.track_running_stats
        if by_batch and self.running_mean is None:
            return self._by_batch_alone(input)
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias,
                            by_batch, momentum or 0.0, self.eps)

    def _by_batch_alone(self, input: Tensor) -> Tensor:
        zeros = ops.zeros((self.num_features,), self.dtype)
        return F.batch_norm(input, zeros, ops.ones_like(zeros), self.weight, self.bias, True, 0.0,
                            self.eps)

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
                f"affine={self.affine}, track_running_stats={self.track_running_stats}")


class BatchNorm1d(_BatchNorm):
    """Normalizes each channel of (N, C) or (N, C, L); arguments as for `BatchNorm2d`."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel of (N, C, H, W) over the batch (Ioffe and Szegedy, 2015).

    Args:
        num_features: C, the number of channels.
        eps: added to the variance.
        momentum: the share of the batch in a new running statistic; None: the mean of all batches.
        affine: whether there are a weight and a bias.
        track_running_stats: whether running statistics are kept, and used when not training.
        dtype: type of the parameters; default float32.

    Examples:
        >>> import lamella as ms
        >>> net = ms.mint.nn.BatchNorm2d(1).set_train()
        >>> print(net(ms.Tensor([[[[1.0, 3.0]]]])).round(decimals=3), net.running_mean * 1)
        [[[[-1.  1.]]]] [0.2]
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalizes each channel of (N, C, D, H, W); arguments as for `BatchNorm2d`."""

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of (N, C, ...) over the batches of all processes.

    Args:
        num_features, eps, momentum, affine, track_running_stats, dtype: as those of `BatchNorm2d`.
        process_group: the group of processes; in a world of one process its batch is all.
    """

    _ranks = (2, 3, 4, 5)

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
                 affine: bool = True, track_running_stats: bool = True,
                 process_group: str | None = None, dtype: Any = None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)
        self.process_group = process_group


class GroupNorm(Cell):
    """Normalizes each sample over groups of channels (Wu and He, 2018).

    Args:
        num_groups: how many groups; must divide `num_channels`.
        num_channels: C, the number of channels.
        eps: added to the variance.
        affine: whether weight and bias are trained.
        dtype: type of the parameters; default float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.nn.GroupNorm(1, 2, eps=0.0)(ms.Tensor([[[1.0], [3.0]]])))
        [[[-1.]
          [ 1.]]]
    """

    kept_in_own_type = frozenset({"weight", "bias"})

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 dtype: Any = None):
        super().__init__()
        name = type(self).__name__
        self.num_groups = checks.positive_int(num_groups, "num_groups", name)
        self.num_channels = checks.positive_int(num_channels, "num_channels", name)
        if num_channels % num_groups:
            raise ValueError(f"For '{name}', 'num_channels' must be divisible by 'num_groups', "
                             f"but got {num_channels} and {num_groups}.")
        self.eps = eps
        self.affine = affine
        dtype = mstype.float32 if dtype is None else dtype
        self.weight = Parameter(initializer("ones", num_channels, dtype), name="weight",
                                requires_grad=affine)
        self.bias = Parameter(initializer("zeros", num_channels, dtype), name="bias",
                              requires_grad=affine)

    def construct(self, input: Tensor) -> Tensor:
        return ops.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (f"num_groups={self.num_groups}, num_channels={self.num_channels}, eps={self.eps}, "
                f"affine={self.affine}")
