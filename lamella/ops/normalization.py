"""Normalization: of batches, layers, groups, instances and neighbouring channels."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.state import state
from ..core.wrappers import settled
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .windows import number_is_open

__all__ = ["batch_norm", "layer_norm", "group_norm", "rms_norm", "add_layer_norm", "add_rms_norm",
           "lrn"]


def _raw(tensor: Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor._raw


def _composed() -> bool:
    """Whether to avoid PyTorch's kernels for whole normalizations.

    Their forward derivatives keep mean and deviation as constants, so that the reverse derivative
    of the tangent is wrong; and so do their second derivatives, so that the third are wrong.
    """
    level = state.level
    return level is not None and (level.forward or level.outer is not None and level.order() > 2)


def _normalized(raw: torch.Tensor, dims: list[int], weight: torch.Tensor | None,
                bias: torch.Tensor | None, eps: float) -> tuple[torch.Tensor, ...]:
    """`raw` normalized over `dims`, with the mean and the reciprocal of the deviation."""
    mean = raw.mean(dims, keepdim=True)
    rstd = (raw.var(dims, unbiased=False, keepdim=True) + eps).rsqrt()
    out = (raw - mean) * rstd
    out = out if weight is None else out * weight
    return out if bias is None else out + bias, mean, rstd


def _over_channels(raw: torch.Tensor, dims: list[int], weight: torch.Tensor | None,
                   bias: torch.Tensor | None, eps: float) -> tuple[torch.Tensor, ...]:
    """As `_normalized`, with a weight and a bias for each channel, dimension 1."""
    across = (-1, *[1] * (raw.dim() - 2))
    return _normalized(raw, dims, None if weight is None else weight.reshape(across),
                       None if bias is None else bias.reshape(across), eps)


def _in_one_line(raw: torch.Tensor) -> torch.Tensor:
    """`raw` as (N, C, L) where a length of 1 leaves open whether its channels lie last in memory.

    That of a batch of one doesn't.

    PyTorch's gradient of batch normalization (2.13, CPUs) reads such a tensor in one order and the
    gradient of the result in the other, and is wrong without a word.
    """
    return raw.flatten(2) if raw.dim() > 3 and 1 in raw.shape[1:] else raw


def _shaped(out: torch.Tensor, raw: torch.Tensor) -> torch.Tensor:
    """What a kernel gave for `_in_one_line(raw)`, in the shape of `raw`."""
    return out if out.dim() == raw.dim() else out.reshape(raw.shape)


def _check_channels(raw: torch.Tensor, **given: Tensor | None) -> None:
    """Refuse what hasn't a number for each channel: the kernel reads without asking."""
    if raw.dim() < 2:
        raise ValueError(f"For 'batch_norm', the input must have rank 2 or more, but got shape "
                         f"{tuple(raw.shape)}.")
    shape = raw.shape[1:2]
    for name, tensor in given.items():
        if tensor is not None and tensor._raw.shape != shape:
            raise ValueError(f"For 'batch_norm', '{name}' must have shape {tuple(shape)}, a number "
                             f"for each channel, but got {tuple(tensor._raw.shape)}.")


def batch_statistics(input: Tensor, weight: Tensor | None, bias: Tensor | None,
                     eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`input` normalized over all but dimension 1, with the mean and the *biased* variance used.

    The functional half of batch normalization: moving statistics are left to the caller.
    """
    if _composed():
        dims = [d for d in range(input._raw.dim()) if d != 1]
        out, mean, rstd = _over_channels(input._raw, dims, _raw(weight), _raw(bias), eps)
        mean, rstd = mean.flatten(), rstd.flatten()
    else:
        _check_channels(input._raw, weight=weight, bias=bias)
        out, mean, rstd = torch.native_batch_norm(
            _in_one_line(input._raw), _raw(weight), _raw(bias), None, None, True, 0.0, eps)
        out = _shaped(out, input._raw)
    return wrap(out), wrap(mean), wrap(rstd.detach().pow(-2) - eps)


def move_statistics(old: Tensor, new: torch.Tensor, momentum: float) -> None:
    """Let a moving statistic take a step to `new`, which counts with the share `momentum`."""
    raw = old._raw
    moved = torch.lerp(raw.detach(), new.detach().to(raw.dtype), momentum)
    if torch._C._are_functorch_transforms_active() and not isinstance(old, Parameter):
        moved = settled(moved, "batch_norm")
    old._raw = moved


@op
def batch_norm(input_x: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None,
               bias: Tensor | None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Tensor:
    """Normalize each channel over the batch (Ioffe and Szegedy, 2015).

    In training the batch's own statistics are used, and the running ones become
    (1 - momentum) running + momentum batch, the variance with Bessel's correction.

    Args:
        input_x: shape (N, C, ...).
        running_mean, running_var: shape (C,); changed in training.
        weight, bias: shape (C,), or None.
        training: whether to use the batch's statistics.
        momentum: the share of the batch in the new running statistics.
        eps: added to the variance.

    Returns:
        Tensor of the shape and type of `input_x`.

    Raises:
        ValueError: if shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.0, 4.0], [3.0, 0.0]])
        >>> zero, one = ms.Tensor([0.0, 0.0]), ms.Tensor([1.0, 1.0])
        >>> print(ms.ops.batch_norm(x, zero, one, one, zero, eps=0.0))
        [[1. 4.]
         [3. 0.]]
    """
    if training:
        return batch_norm_training(input_x, running_mean, running_var, weight, bias, momentum,
                                   eps)[0]
    _check_channels(input_x._raw, running_mean=running_mean, running_var=running_var,
                    weight=weight, bias=bias)
    # not by PyTorch's function, which in some versions refuses an `eps` of 0
    # the running statistics have no gradient, as in MindSpore
    mean, var = running_mean._raw.detach(), running_var._raw.detach()
    if number_is_open():  # PyTorch's rule asks for it
        along = (-1, *[1] * (input_x.ndim - 2))
        wide = input_x._raw.to(torch.promote_types(input_x._raw.dtype, torch.float32))
        out = (wide - mean.reshape(along)) * (var.reshape(along) + eps).rsqrt()
        if weight is not None:
            out = out * weight._raw.reshape(along)
        if bias is not None:
            out = out + bias._raw.reshape(along)
        return wrap(out.to(input_x._raw.dtype))
    out = torch.batch_norm(_in_one_line(input_x._raw), _raw(weight), _raw(bias), mean, var, False,
                           0.0, eps, torch.backends.cudnn.enabled)
    return wrap(_shaped(out, input_x._raw))


def batch_norm_training(input_x: Tensor, running_mean: Tensor, running_var: Tensor,
                        weight: Tensor | None, bias: Tensor | None, momentum: float,
                        eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm` in training, with the batch's mean and its biased variance."""
    _check_channels(input_x._raw, running_mean=running_mean, running_var=running_var)
    out, mean, var = batch_statistics(input_x, weight, bias, eps)
    count = input_x.size // input_x.shape[1]
    move_statistics(running_mean, mean._raw, momentum)
    move_statistics(running_var, var._raw * (count / max(count - 1, 1)), momentum)
    return out, mean, var


@op
def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalize over the last dimensions (Ba et al., 2016).

    Args:
        input: shape (..., *normalized_shape).
        normalized_shape: an int or the lengths of the last dimensions.
        weight, bias: of the shape `normalized_shape`, or None.
        eps: added to the variance.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if the shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.layer_norm(ms.Tensor([[1.0, 3.0]]), (2,), eps=0.0))
        [[-1.  1.]]
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    raw = input._raw
    if (_composed() or number_is_open()) and tuple(raw.shape[raw.dim() - len(shape):]) == shape:
        return wrap(_normalized(raw, list(range(-len(shape), 0)), _raw(weight), _raw(bias), eps)[0])
    return wrap(F.layer_norm(raw, shape, _raw(weight), _raw(bias), eps))


def layer_norm_from(name: str, input: Tensor, weight: Tensor, bias: Tensor, begin_norm_axis: int,
                    begin_params_axis: int, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm` from axis `begin_norm_axis` on, with weights of the axes from another one on.

    Returns:
        The normalized input, the mean and the variance.
    """
    raw, scale, shift = input._raw, weight._raw, bias._raw
    rank = raw.dim()
    for what, axis in (("begin_norm_axis", begin_norm_axis),
                       ("begin_params_axis", begin_params_axis)):
        if not -rank <= axis < rank:
            raise ValueError(f"For '{name}', '{what}' must be in [{-rank}, {rank}), "
                             f"but got {axis}.")
    first, params = begin_norm_axis % rank, begin_params_axis % rank
    if raw.shape[params:] != scale.shape or raw.shape[params:] != shift.shape:
        raise ValueError(f"For '{name}', 'gamma' and 'beta' must have the shape "
                         f"{tuple(raw.shape[params:])}, but got {weight.shape} and {bias.shape}.")
    fused = params == first
    scales = (scale, shift) if fused else (None, None)
    if _composed():
        out, mean, rstd = _normalized(raw, list(range(first, rank)), *scales, eps)
    else:
        out, mean, rstd = torch.native_layer_norm(raw, raw.shape[first:], *scales, eps)
    if not fused:
        out = out * scale + shift
    return wrap(out), wrap(mean), wrap(rstd.pow(-2) - eps)


@op
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalize each sample's channels a group at a time (Wu and He, 2018).

    Args:
        input: shape (N, C, ...).
        num_groups: into how many groups the C channels are split.
        weight, bias: shape (C,), or None.
        eps: added to the variance.

    Returns:
        Tensor of the shape and type of `input`.

    Raises:
        ValueError: if `num_groups` does not divide C.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.group_norm(ms.Tensor([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0))
        [[-1.  1. -1.  1.]]
    """
    raw, scale, shift = input._raw, _raw(weight), _raw(bias)
    if not _composed() or raw.dim() < 2 or num_groups < 1 or raw.shape[1] % num_groups:
        return wrap(F.group_norm(raw, num_groups, scale, shift, eps))
    groups = raw.reshape(raw.shape[0], num_groups, -1)
    out = _normalized(groups, [2], None, None, eps)[0].reshape(raw.shape)
    across = (-1, *[1] * (raw.dim() - 2))
    out = out if scale is None else out * scale.reshape(across)
    return wrap(out if shift is None else out + shift.reshape(across))


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """Normalize each channel of each sample (Ulyanov et al., 2016), shape (N, C, ...)."""
    if _composed():
        dims = list(range(2, input._raw.dim()))
        return wrap(_over_channels(input._raw, dims, _raw(weight), _raw(bias), eps)[0])
    out = F.instance_norm(_in_one_line(input._raw), None, None, _raw(weight), _raw(bias), True,
                          0.0, eps)
    return wrap(_shaped(out, input._raw))


def _root_mean_square(raw: torch.Tensor, gamma: torch.Tensor,
                      epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    wide = raw.float() if raw.dtype in (torch.float16, torch.bfloat16) else raw
    axes = tuple(range(-gamma.dim(), 0))
    rstd = torch.rsqrt(wide.square().mean(axes, keepdim=True) + epsilon)
    return F.rms_norm(raw, gamma.shape, gamma, epsilon), rstd


@op
def rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """x / sqrt(mean(x²) + epsilon) times `gamma` over the last dimensions (Zhang, Sennrich 2019).

    Args:
        x: shape (..., *gamma.shape), floating.
        gamma: the weights.
        epsilon: added to the mean of squares.

    Returns:
        The normalized tensor, and 1 / sqrt(mean(x²) + epsilon) in float32.

    Examples:
        >>> import lamella as ms
        >>> y, rstd = ms.ops.rms_norm(ms.Tensor([[1.0, 7.0]]), ms.Tensor([5.0, 10.0]))
        >>> print(y, rstd)
        [[ 1. 14.]] [[0.2]]
    """
    out, rstd = _root_mean_square(x._raw, gamma._raw, epsilon)
    return wrap(out), wrap(rstd)


@documented_like(batch_norm)
@partial(op, name="rms_norm")
def root_mean_square_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None,
                          eps: float | None = None) -> Tensor:
    """x / sqrt(mean(x²) + eps) times `weight` over the last dimensions (Zhang, Sennrich 2019).

    Args:
        input: shape (..., *normalized_shape), floating.
        normalized_shape: the lengths of the last dimensions, a tuple, a list, or an int for one.
        weight: shape `normalized_shape`; None: ones.
        eps: added to the mean of squares; None: the smallest number of the type that changes 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.nn.functional.rms_norm(ms.Tensor([[1.0, 7.0]]), 2))
        [[0.2 1.4]]
    """
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    return wrap(F.rms_norm(input._raw, shape, _raw(weight), eps))


@op
def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor,
                 epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """`rms_norm` of x1 + x2.

    Returns:
        The normalized sum, 1 / sqrt(mean + epsilon) in float32, and x1 + x2.

    Examples:
        >>> import lamella as ms
        >>> one = ms.Tensor([[0.5, 3.5]])
        >>> print(ms.ops.add_rms_norm(one, one, ms.Tensor([5.0, 10.0]))[2])
        [[1. 7.]]
    """
    total = x1._raw + x2._raw
    out, rstd = _root_mean_square(total, gamma._raw, epsilon)
    return wrap(out), wrap(rstd), wrap(total)


@op
def add_layer_norm(x1: Tensor, x2: Tensor, gamma: Tensor, beta: Tensor, epsilon: float = 1e-5,
                   additional_output: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`layer_norm` of x1 + x2 over the last dimension.

    Args:
        x1, x2: floating, of one shape.
        gamma, beta: of the last dimension's length.
        epsilon: added to the variance.
        additional_output: whether the sum is wanted; it is given in any case.

    Returns:
        The normalized sum, the mean and 1 / sqrt(variance + epsilon) in float32, and x1 + x2.

    Examples:
        >>> import lamella as ms
        >>> x, g = ms.Tensor([[0.5, 1.5]]), ms.Tensor([1.0, 1.0])
        >>> out = ms.ops.add_layer_norm(x, x, g, ms.Tensor([0.0, 0.0]), 0.0)
        >>> print(out[0], out[3])
        [[-1.  1.]] [[1. 3.]]
    """
    total = x1._raw + x2._raw
    if _composed():
        out, mean, rstd = _normalized(total, [-1], gamma._raw, beta._raw, epsilon)
    else:
        out, mean, rstd = torch.native_layer_norm(total, gamma._raw.shape, gamma._raw, beta._raw,
                                                  epsilon)
    return wrap(out), wrap(mean), wrap(rstd), wrap(total)


@op
def lrn(x: Tensor, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS") -> Tensor:
    """Local response normalization (Krizhevsky et al., 2012): x / (bias + alpha s)^beta.

    s is the sum of squares over the channels within `depth_radius`.

    Args:
        x: shape (N, C, H, W).
        depth_radius: how many channels to either side count.
        bias, alpha, beta: as in the formula.
        norm_region: ``"ACROSS_CHANNELS"``.

    Returns:
        Tensor of the shape and type of `x`.

    Raises:
        ValueError: if `x` is not of rank 4 or `norm_region` is another word.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[[1.0]], [[2.0]]]])
        >>> print(ms.ops.lrn(x, 1, 4.0, 1.0, 0.5).flatten())
        [0.33333334 0.6666667 ]
    """
    raw = x._raw
    if raw.dim() != 4:
        raise ValueError(f"For 'lrn', 'x' must have rank 4, but got shape {x.shape}.")
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"For 'lrn', 'norm_region' must be 'ACROSS_CHANNELS', "
                         f"but got {norm_region!r}.")
    squares = F.pad(raw.square(), (0, 0, 0, 0, depth_radius, depth_radius))
    near = squares.unfold(1, 2 * depth_radius + 1, 1).sum(-1)
    return wrap(raw / (bias + alpha * near).pow(beta))
