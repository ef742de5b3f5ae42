"""Functions of `mint.nn.functional`: layers without state, as PyTorch names and means them."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as torch_functional

from ... import ops
from ...core.adapters import adapted
from ...core.errors import op
from ...core.require import one_of
from ...ops import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool2d,
    conv_transpose2d,
    cosine_embedding_loss,
    cross_entropy,
    embedding,
    fold,
    grid_sample,
    group_norm,
    hardshrink,
    hardsigmoid,
    hardswish,
    l1_loss,
    layer_norm,
    mse_loss,
    prelu,
    relu,
    relu_,
    sigmoid,
    soft_margin_loss,
    softplus,
    softshrink,
    tanh,
    unfold,
)
from ...ops import inplace_sigmoid as sigmoid_
from ...ops.convolution import convolve
from ...ops.loss import check_reduction_word
from ...ops.normalization import root_mean_square_norm
from ...ops.pooling import mean_over_windows
from ...tensors.inplace import in_place
from ...tensors.tensor import Tensor, wrap
from ..shape import flatten
from .attention import scaled_dot_product_attention

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d",
    "conv_transpose2d", "cosine_embedding_loss", "cross_entropy", "dropout", "dropout2d", "elu",
    "elu_", "embedding", "flatten", "fold", "gelu", "glu", "grid_sample", "group_norm",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "interpolate", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool2d",
    "max_unpool2d", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pixel_shuffle", "prelu", "relu", "relu6", "relu_", "rms_norm",
    "scaled_dot_product_attention", "selu", "sigmoid", "sigmoid_", "silu",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softplus", "softshrink", "tanh",
    "threshold", "threshold_", "unfold", "upsample",
]


batch_norm = adapted(ops.batch_norm, "input:input_x, running_mean, running_var, weight=None, "
                     "bias=None, training=False, momentum=0.1, eps=1e-05")
binary_cross_entropy = adapted(ops.binary_cross_entropy,
                               "input:logits, target:labels, weight=None, reduction='mean'")
binary_cross_entropy_with_logits = adapted(
    ops.binary_cross_entropy_with_logits,
    "input, target, weight=None, reduction='mean', pos_weight=None")
gelu = adapted(ops.gelu, "input, *, approximate='none'")
glu = adapted(ops.glu, "input:x, dim:axis=-1")
leaky_relu = adapted(ops.leaky_relu, "input, negative_slope:alpha=0.01")
linear = ops.dense
logsigmoid = adapted(ops.logsigmoid, "input:x")
max_pool2d = adapted(ops.max_pool2d, "input:x, kernel_size, stride=None, padding=0, dilation=1, "
                     "ceil_mode=False, return_indices=False")
max_unpool2d = adapted(ops.max_unpool2d, "input:x, indices, kernel_size, stride=None, padding=0, "
                       "output_size=None")
mish = adapted(ops.mish, "input:x")
nll_loss = adapted(ops.nll_loss, "input:inputs, target, weight=None, ignore_index=-100, "
                   "reduction='mean'")
pad = adapted(ops.pad, "input:input_x, pad:padding, mode='constant', value=None")
pixel_shuffle = adapted(ops.pixel_shuffle, "input, upscale_factor")
rms_norm = adapted(root_mean_square_norm, "input, normalized_shape, weight=None, eps=None",
                   "rms_norm")
selu = adapted(ops.selu, "input:input_x")
smooth_l1_loss = adapted(ops.smooth_l1_loss, "input, target, reduction='mean', beta=1.0")


def _given_back(input: Tensor, out: Tensor, inplace: bool) -> Tensor:
    """`out`, or `input` with its values."""
    return in_place(input, lambda raw: raw.copy_(out._raw)) if inplace else out


@op
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """As `ops.dropout`, maybe in place; `p` may be 1.

    >>> import lamella as ms
    >>> print(ms.mint.nn.functional.dropout(ms.Tensor([1.0, 2.0]), 1.0))
    [0. 0.]
    """
    if not training:
        return input
    return _given_back(input, input * 0 if p == 1 else ops.dropout(input, p), inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True,
              inplace: bool = False) -> Tensor:
    """As `ops.dropout2d`, maybe in place."""
    return _given_back(input, ops.dropout2d(input, p, training), inplace and training)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """As `ops.elu`, maybe in place.

    >>> import lamella as ms
    >>> print(ms.mint.nn.functional.elu(ms.Tensor([-1.0, 2.0]), 2.0))
    [-1.2642411  2.       ]
    """
    return _given_back(input, ops.elu(input, alpha), inplace)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return elu(input, alpha, True)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0,
             inplace: bool = False) -> Tensor:
    """As `ops.hardtanh`, maybe in place."""
    return _given_back(input, ops.hardtanh(input, min_val, max_val), inplace)


def hardtanh_(input: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """As `ops.relu6`, maybe in place."""
    return _given_back(input, ops.relu6(input), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """As `ops.silu`, maybe in place.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.nn.functional.silu(ms.Tensor([0.0, 1.0])))
        [0.        0.7310586]
    """
    return _given_back(input, ops.silu(input), inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """As `ops.threshold`, maybe in place."""
    return _given_back(input, ops.threshold(input, threshold, value), inplace)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """`threshold` in place."""
    return _given_back(input, ops.threshold(input, threshold, value), True)


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """As `ops.softmax`; without `dim` along axis 0 of inputs of rank 0, 1 and 3, else 1.

    Examples:
        >>> import lamella as ms
        >>> print(ms.mint.nn.functional.softmax(ms.Tensor([[0.0, 0.0]]), dim=1))
        [[0.5 0.5]]
    """
    return ops.softmax(input, _implied(input) if dim is None else dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, *, dtype: Any = None) -> Tensor:
    """As `ops.log_softmax`; without `dim` along axis 0 of inputs of rank 0, 1 and 3, else 1."""
    return ops.log_softmax(input if dtype is None else input.to(dtype),
                           _implied(input) if dim is None else dim)


def _implied(input: Tensor) -> int:
    return 0 if input.ndim in (0, 1, 3) else 1


@op
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """As `ops.adaptive_max_pool1d`, maybe with the indices of the maxima, int64.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[[1.0, 3.0, 2.0, 4.0]]])
        >>> print(*ms.mint.nn.functional.adaptive_max_pool1d(x, 2, True))
        [[[3. 4.]]] [[[1 3]]]
    """
    if not return_indices:
        return ops.adaptive_max_pool1d(input, output_size)
    length = output_size[0] if isinstance(output_size, (tuple, list)) else output_size
    both = ops.adaptive_max_pool2d(input.unsqueeze(-2), (1, length), True)
    return tuple(part.squeeze(-2) for part in both)


@op
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """As `ops.avg_pool1d`; the stride is the window's size unless given.

    >>> from lamella import mint
    >>> mint.nn.functional.avg_pool1d(mint.ones((1, 2, 6)), 3).shape
    (1, 2, 2)
    """
    return _mean_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode,
                      count_include_pad)


def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Tensor:
    """As `ops.avg_pool2d`; the stride is the window's size unless given."""
    return _mean_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode,
                      count_include_pad, divisor_override)


def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Tensor:
    """As `ops.avg_pool3d`; the stride is the window's size unless given."""
    return _mean_pool("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode,
                      count_include_pad, divisor_override)


def _mean_pool(name: str, rank: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any,
               *settings: Any) -> Tensor:
    x = _with_batch(name, input, rank)
    out = mean_over_windows(name, x, kernel_size, stride, "pad", padding, *settings)
    return out if x is input else out.squeeze(0)


def _with_batch(name: str, input: Tensor, rank: int) -> Tensor:
    """The input with a batch of one where it has none."""
    if input.ndim not in (rank + 1, rank + 2):
        raise ValueError(f"For '{name}', 'input' must have {rank + 1} or {rank + 2} dimensions, "
                         f"but got shape {input.shape}.")
    return input if input.ndim == rank + 2 else input.unsqueeze(0)


@op
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
           padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution over sequences (N, C, L) or (C, L), as `conv2d`.

    >>> from lamella import mint
    >>> mint.nn.functional.conv1d(mint.ones((1, 2, 6)), mint.ones((4, 2, 3)), padding=1).shape
    (1, 4, 6)
    """
    return _convolved("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@op
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
           padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution over images (N, C, H, W) or (C, H, W).

    Unlike that of `ops.conv2d`, `padding` counts at once: an int, one for each dimension,
    ``"valid"``, or ``"same"``, which pads so that the output is as long as the input.

    >>> from lamella import mint
    >>> mint.nn.functional.conv2d(mint.ones((2, 6, 6)), mint.ones((4, 2, 3, 3)), padding=1).shape
    (4, 6, 6)
    """
    return _convolved("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@op
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1,
           padding: Any = 0, dilation: Any = 1, groups: int = 1) -> Tensor:
    """Convolution over volumes (N, C, D, H, W) or (C, D, H, W), as `conv2d`."""
    return _convolved("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _convolved(where: str, rank: int, input: Tensor, weight: Tensor, bias: Tensor | None,
               stride: Any, padding: Any, dilation: Any, groups: int) -> Tensor:
    x, mode = _with_batch(where, input, rank), "pad"
    if isinstance(padding, str):
        mode, padding = padding, 0
        if mode == "same" and stride not in (1, (1,) * rank, [1] * rank):
            raise ValueError(f"For '{where}', the stride must be 1 with 'padding' 'same', "
                             f"but got {stride}.")
        if mode not in ("same", "valid"):
            raise ValueError(f"For '{where}', 'padding' must be 'same', 'valid' or ints, "
                             f"but got {mode!r}.")
    out = convolve(where, x, weight, bias, stride, mode, padding, dilation, groups)
    return out if x is input else out.squeeze(0)


_MODES = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area")


@op
def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None) -> Tensor:
    """As `ops.interpolate`; a `scale_factor` may be used as it is, an int too, in any mode.

    Args:
        input: shape (N, C, ...), with one to three dimensions more.
        size: of the output in these, an int or one each; or else
        scale_factor: how much longer it is, a number or one each.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"``, ``"trilinear"`` or
            ``"area"``.
        align_corners: whether the centers of the corners stay where they are.
        recompute_scale_factor: whether to compute by the ratio of the sizes.

    Raises:
        ValueError: if `mode` is unknown or doesn't fit the rank, or not one of `size` and
            `scale_factor` is given.

    >>> from lamella import mint
    >>> mint.nn.functional.interpolate(mint.ones((1, 1, 2, 3)), scale_factor=2).shape
    (1, 1, 4, 6)
    """
    one_of(mode, _MODES, "mode", "interpolate")
    if (size is None) == (scale_factor is None):
        raise ValueError(f"For 'interpolate', one of 'size' and 'scale_factor' must be given, "
                         f"but got size={size!r} and scale_factor={scale_factor!r}.")
    try:
        return wrap(torch_functional.interpolate(
            input._raw, size, scale_factor, mode, align_corners, recompute_scale_factor))
    except NotImplementedError as error:
        raise ValueError(f"For 'interpolate', 'mode' {mode!r} doesn't fit an input of shape "
                         f"{input.shape}, but one of rank 3 to 5.") from error


upsample = adapted(interpolate, "input, size=None, scale_factor=None, mode='nearest', "
                   "align_corners=None", "upsample")


@op
def kl_div(input: Tensor, target: Tensor, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    """As `ops.kl_div`, for shapes that broadcast; with `log_target` of log probabilities.

    >>> import lamella as ms
    >>> x = ms.Tensor([-1.0, -2.0])
    >>> print(ms.mint.nn.functional.kl_div(x, x, log_target=True))
    0.0
    """
    check_reduction_word("kl_div", reduction, "batchmean")
    if log_target:
        each = ops.exp(target) * (target - input)
    else:
        each = ops.xlogy(target, target) - target * input
    if reduction == "batchmean":
        return each.sum() / each.shape[0]
    return {"mean": each.mean, "sum": each.sum, "none": lambda: each}[reduction]()


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Vectors along `dim` divided by their `p`-norms, which are at least `eps`.

    >>> import lamella as ms
    >>> print(ms.mint.nn.functional.normalize(ms.Tensor([[3.0, 4.0]])))
    [[0.6 0.8]]
    """
    return input / ops.vector_norm(input, p, dim, True).clamp(min=eps)


@op
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """As `ops.one_hot` with 1 and 0; `num_classes` -1 stands for the greatest class plus 1.

    >>> import lamella as ms
    >>> print(ms.mint.nn.functional.one_hot(ms.Tensor([0, 2])))
    [[1 0 0]
     [0 0 1]]
    """
    depth = int(tensor.max()) + 1 if num_classes == -1 else num_classes
    return ops.one_hot(tensor, depth, 1, 0)
