"""Normalization layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..common.initializer import Initializer, initializer
from ..core import dtype as mstype
from ..core.require import one_of
from ..ops.normalization import instance_norm, layer_norm_from, root_mean_square_norm
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from . import checks
from .cell import Cell
from .cell_tree import operator

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm", "LayerNormExt", "GroupNorm",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "RMSNorm",
]

_STATISTICS = frozenset({"moving_mean", "moving_variance", "gamma", "beta"})


def _check_features(num_features: Any, momentum: Any, name: str) -> None:
    checks.positive_int(num_features, "num_features", name)
    checks.within(momentum, 0, 1, "[]", "momentum", name)


class _BatchNorm(Cell):
    """What the batch normalizations share."""

    kept_in_own_type = _STATISTICS  # statistics in half precision would drift
    _ranks: tuple[int, ...] = ()

    _operators = {
        "bn_train": lambda cell: ops.BatchNorm(
            True, cell.eps, cell.momentum, cell.format),
        "bn_infer": lambda cell: ops.BatchNorm(False, cell.eps, data_format=cell.format),
        "shape": operator("Shape"), "reshape": operator("Reshape"), "cast": operator("Cast")}

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9,
                 affine: bool = True, gamma_init: Any = "ones", beta_init: Any = "zeros",
                 moving_mean_init: Any = "zeros", moving_var_init: Any = "ones",
                 use_batch_statistics: bool | None = None, data_format: str = "NCHW",
                 dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        _check_features(num_features, momentum, name)
        one_of(data_format, ("NCHW", "NHWC"), "data_format", name)
        if use_batch_statistics is not None and not isinstance(use_batch_statistics, bool):
            raise ValueError(f"For '{name}', 'use_batch_statistics' must be True, False or None, "
                             f"but got {use_batch_statistics!r}.")
        self.num_features = num_features
        self.eps = eps
        self.momentum = 1.0 - momentum  # the share of the batch, as `ops.batch_norm` takes it
        self.use_batch_statistics = use_batch_statistics
        self.format = data_format
        self.gamma_init, self.beta_init = gamma_init, beta_init
        self.moving_mean_init, self.moving_var_init = moving_mean_init, moving_var_init
        self.moving_mean = Parameter(initializer(moving_mean_init, num_features, dtype),
                                     name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer(moving_var_init, num_features, dtype),
                                         name="variance", requires_grad=False)
        self.gamma = Parameter(initializer(gamma_init, num_features, dtype), name="gamma",
                               requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, num_features, dtype), name="beta",
                              requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        if x._raw.dim() not in self._ranks:
            checks.rank(x.shape, self._ranks, type(self).__name__)
        if self.format == "NHWC":
            return self._normalize(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return self._normalize(x)

    def _normalize(self, x: Tensor) -> Tensor:
        if x._raw.shape[1] != self.num_features:
            raise ValueError(f"For '{type(self).__name__}', the input must have "
                             f"{self.num_features} channels, but got shape {x.shape}.")
        by_batch = self.use_batch_statistics
        if by_batch is None:
            by_batch = self.training
        return ops.batch_norm(x, self.moving_mean, self.moving_variance, self.gamma, self.beta,
                              by_batch, self.momentum, self.eps)

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, "
                f"momentum={1.0 - self.momentum}, gamma={self.gamma}, beta={self.beta}, "
                f"moving_mean={self.moving_mean}, moving_variance={self.moving_variance}")


class BatchNorm1d(_BatchNorm):
    """Normalizes each feature over the batch (Ioffe and Szegedy, 2015).

    Args:
        num_features: C, the number of features.
        eps: added to the variance.
        momentum: the share of the old value in a new running statistic.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init, moving_mean_init, moving_var_init: initializers.
        use_batch_statistics: True or False to use the batch's or the running statistics; None: the
            batch's while training.
        data_format: ``"NCHW"``.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (N, C) or (N, C, L).

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.BatchNorm1d(2).set_train()
        >>> print(net(ms.Tensor([[1.0, 4.0], [3.0, 4.0]])).round(decimals=3))
        [[-1.  0.]
         [ 1.  0.]]
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalizes each channel over the batch and the image (Ioffe and Szegedy, 2015).

    Args: those of `BatchNorm1d`; `data_format` may be ``"NHWC"`` for channels last.

    Inputs:
        - **x** - Tensor (N, C, H, W).

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.BatchNorm2d(3)
        >>> print(net(ms.ops.ones((1, 3, 1, 2))).reshape(-1)[:2])
        [0.999995 0.999995]
        >>> [p.name for p in net.trainable_params()]
        ['gamma', 'beta']
    """

    _ranks = (4,)


class BatchNorm3d(Cell):
    """Normalizes each channel over the batch and the volume.

    Args: those of `BatchNorm1d`, without `data_format`.

    Inputs:
        - **x** - Tensor (N, C, D, H, W).

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.BatchNorm3d(3)(ms.ops.ones((2, 3, 4, 5, 6))).shape
        (2, 3, 4, 5, 6)
    """

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.9,
                 affine: bool = True, gamma_init: Any = "ones", beta_init: Any = "zeros",
                 moving_mean_init: Any = "zeros", moving_var_init: Any = "ones",
                 use_batch_statistics: bool | None = None, dtype: Any = mstype.float32):
        super().__init__()
        # the layer inside gives the parameters the names that MindSpore's have
        self.bn2d = BatchNorm2d(num_features, eps, momentum, affine, gamma_init, beta_init,
                                moving_mean_init, moving_var_init, use_batch_statistics,
                                dtype=dtype)

    def construct(self, x: Tensor) -> Tensor:
        shape = x.shape
        checks.rank(shape, (5,), type(self).__name__)
        n, c, d, h, w = shape
        return self.bn2d(x.reshape(n, c, d * h, w)).reshape(shape)


class LayerNorm(Cell):
    """Normalizes each sample over its last dimensions (Ba et al., 2016).

    Args:
        normalized_shape: the lengths of the normalized dimensions, the shape of gamma and beta.
        begin_norm_axis: the first dimension that is normalized over.
        begin_params_axis: the first dimension of gamma and beta.
        gamma_init, beta_init: initializers.
        epsilon: added to the variance.
        dtype: type of the parameters.

    Inputs:
        - **input_x** - Tensor whose shape ends as gamma's.

    Outputs:
        Tensor of the same shape and type.

    Raises:
        TypeError: if `normalized_shape` is no tuple or list.
        ValueError: if it is empty or does not fit the input.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.LayerNorm((2,), epsilon=0.0)
        >>> print(net(ms.Tensor([[1.0, 3.0]])))
        [[-1.  1.]]
    """

    _operators = {"layer_norm": lambda cell: ops.LayerNorm(
        cell.begin_norm_axis, cell.begin_params_axis, cell.epsilon)}

    def __init__(self, normalized_shape: Any, begin_norm_axis: int = -1,
                 begin_params_axis: int = -1, gamma_init: Any = "ones", beta_init: Any = "zeros",
                 epsilon: float = 1e-7, dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        _check_normalized_shape(normalized_shape, name)
        self.normalized_shape = normalized_shape
        self.begin_norm_axis = begin_norm_axis
        self.begin_params_axis = begin_params_axis
        self.epsilon = epsilon
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype), name="beta")
        self._shape = tuple(normalized_shape)

    def construct(self, input_x: Tensor) -> Tensor:
        gamma, beta, kind = self.gamma, self.beta, input_x._raw.dtype
        if gamma._raw.dtype is not kind:
            gamma, beta = gamma.astype(input_x.dtype), beta.astype(input_x.dtype)
        rank, first = input_x._raw.dim(), self.begin_norm_axis
        if first == self.begin_params_axis and (first if first < 0 else first - rank) == -len(
                self._shape):
            return ops.layer_norm(input_x, self._shape, gamma, beta, self.epsilon)
        return layer_norm_from(type(self).__name__, input_x, gamma, beta, first,
                               self.begin_params_axis, self.epsilon)[0]

    def by_operators(self, input_x: Tensor) -> Tensor:
        """What `construct` gives, by the operator, which has strategies."""
        return self.layer_norm(input_x, self.gamma, self.beta)[0]

    def extend_repr(self) -> str:
        # without "=" after gamma, as MindSpore prints it
        return (f"normalized_shape={self.normalized_shape}, "
                f"begin_norm_axis={self.begin_norm_axis}, "
                f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma}, beta={self.beta}")


class LayerNormExt(Cell):
    """`LayerNorm` as `mint.nn` has it.

    Args:
        normalized_shape: the lengths of the last dimensions, or an int for one.
        eps: added to the variance.
        elementwise_affine: whether there is a weight, and with `bias` a bias.
        bias: whether there is a bias.
        dtype: type of the parameters; default float32.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.LayerNormExt(2, eps=0.0)(ms.Tensor([[1.0, 3.0]])))
        [[-1.  1.]]
    """

    def __init__(self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True,
                 bias: bool = True, dtype: Any = None):
        super().__init__()
        self.normalized_shape = _lengths(normalized_shape, type(self).__name__)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        dtype = mstype.float32 if dtype is None else dtype
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = Parameter(
                initializer("ones", self.normalized_shape, dtype), name="weight")
            if bias:
                self.bias = Parameter(
                    initializer("zeros", self.normalized_shape, dtype), name="bias")

    def construct(self, input: Tensor) -> Tensor:
        return ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (f"normalized_shape={self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}")


class RMSNorm(Cell):
    """x / sqrt(mean(x²) + eps) times a weight over the last dimensions (Zhang, Sennrich 2019).

    Args:
        normalized_shape: the lengths of the last dimensions, or an int for one.
        eps: added to the mean of squares; None: the smallest number of the type that changes 1.
        elementwise_affine: whether there is a weight.
        dtype: type of the weight; default float32.

    Inputs:
        - **input** - Tensor (..., *normalized_shape).

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.RMSNorm(2)(ms.Tensor([[1.0, 7.0]])))
        [[0.2 1.4]]
    """

    def __init__(self, normalized_shape: Any, eps: float | None = None,
                 elementwise_affine: bool = True, dtype: Any = None):
        super().__init__()
        self.normalized_shape = _lengths(normalized_shape, type(self).__name__)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = Parameter(
            initializer("ones", self.normalized_shape, mstype.float32 if dtype is None else dtype),
            name="weight") if elementwise_affine else None

    def construct(self, input: Tensor) -> Tensor:
        return root_mean_square_norm(input, self.normalized_shape, self.weight, self.eps)

    def extend_repr(self) -> str:
        return (f"normalized_shape={self.normalized_shape}, eps={self.eps}, "
                f"elementwise_affine={self.elementwise_affine}")


def _lengths(normalized_shape: Any, name: str) -> tuple[int, ...]:
    if isinstance(normalized_shape, (int, np.integer)):
        return (int(normalized_shape),)
    _check_normalized_shape(normalized_shape, name)
    return tuple(normalized_shape)


def _check_normalized_shape(normalized_shape: Any, name: str) -> None:
    checks.of_type(normalized_shape, (tuple, list), "normalized_shape", name)
    if not normalized_shape:
        raise ValueError(f"For '{name}', 'normalized_shape' must have one length at least, "
                         f"but got {normalized_shape}.")


class GroupNorm(Cell):
    """Normalizes each sample over groups of channels (Wu and He, 2018).

    Args:
        num_groups: how many groups; must divide `num_channels`.
        num_channels: C, the number of channels.
        eps: added to the variance.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init: initializers.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (N, C, ...).

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.GroupNorm(2, 2)(ms.ops.ones((1, 2, 1, 2))).reshape(-1))
        [0. 0. 0. 0.]
    """

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 gamma_init: Any = "ones", beta_init: Any = "zeros", dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        self.num_groups = checks.positive_int(num_groups, "num_groups", name)
        self.num_channels = checks.positive_int(num_channels, "num_channels", name)
        if num_channels % num_groups:
            raise ValueError(f"For '{name}', 'num_channels' must be divisible by 'num_groups', "
                             f"but got {num_channels} and {num_groups}.")
        self.eps = checks.of_type(eps, float, "eps", name)
        self.affine = checks.boolean(affine, "affine", name)
        self.gamma = Parameter(initializer(gamma_init, num_channels, dtype), name="gamma",
                               requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, num_channels, dtype), name="beta",
                              requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        return self._cal_output(x)

    def _cal_output(self, x: Tensor) -> Tensor:
        """The normalized `x`; programs that derive from this call it by this name."""
        gamma, beta = self.gamma, self.beta
        if gamma._raw.dtype is not x._raw.dtype:
            gamma, beta = gamma.astype(x.dtype), beta.astype(x.dtype)
        return ops.group_norm(x, self.num_groups, gamma, beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class _InstanceNorm(Cell):
    """What the instance normalizations share."""

    kept_in_own_type = _STATISTICS
    _rank = 0

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1,
                 affine: bool = True, gamma_init: Any = "ones", beta_init: Any = "zeros",
                 dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        checks.float_within(eps, 0, 1, "(]", "eps", name)
        checks.of_type(momentum, float, "momentum", name)
        checks.boolean(affine, "affine", name)
        _check_features(num_features, momentum, name)
        for what, init in (("gamma_init", gamma_init), ("beta_init", beta_init)):
            checks.of_type(init, (Tensor, int, float, str, Initializer), what, name)
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.moving_mean = Parameter(initializer("zeros", num_features, dtype), name="mean",
                                     requires_grad=False)
        self.moving_variance = Parameter(initializer("ones", num_features, dtype), name="variance",
                                         requires_grad=False)
        self.gamma = Parameter(initializer(gamma_init, num_features, dtype), name="gamma",
                               requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, num_features, dtype), name="beta",
                              requires_grad=affine)

    def construct(self, x: Tensor) -> Tensor:
        checks.rank(x.shape, (self._rank,), type(self).__name__)
        return instance_norm(x, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return (f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, "
                f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
                f"moving_variance={self.moving_variance}")


class InstanceNorm1d(_InstanceNorm):
    """Normalizes each channel of each sample over its positions (Ulyanov et al., 2016).

    The statistics are the sample's own in training and evaluation.

    Args:
        num_features: C, the number of channels.
        eps: added to the variance.
        momentum: accepted for MindSpore's sake.
        affine: whether gamma and beta are trained.
        gamma_init, beta_init: initializers.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (N, C, L).

    Outputs:
        Tensor of the same shape and type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.nn.InstanceNorm1d(1)(ms.Tensor([[[1.0, 3.0]]])).round(decimals=3))
        [[[-1.  1.]]]
    """

    _rank = 3


class InstanceNorm2d(_InstanceNorm):
    """Normalizes each channel of each sample over the image; the arguments of `InstanceNorm1d`.

    Inputs:
        - **x** - Tensor (N, C, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.InstanceNorm2d(3)(ms.ops.ones((2, 3, 2, 2))).shape
        (2, 3, 2, 2)
    """

    _rank = 4


class InstanceNorm3d(_InstanceNorm):
    """Normalizes each channel of each sample over the volume; the arguments of `InstanceNorm1d`.

    Inputs:
        - **x** - Tensor (N, C, D, H, W).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.InstanceNorm3d(3)(ms.ops.ones((2, 3, 2, 2, 2))).shape
        (2, 3, 2, 2, 2)
    """

    _rank = 5
