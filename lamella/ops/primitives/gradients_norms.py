"""Gradients of normalizations, and regions of interest whose channels belong to cells."""

from __future__ import annotations

from typing import Any

import torch

from ...core.errors import op
from ...tensors.tensor import Tensor, wrap
from ..arguments import FLOATS, typed
from ..primitive import primitive
from .attributes import positive_int, positive_ints, positive_number, with_attributes
from .gradients import pulled_back

__all__ = ["BatchNormGrad", "BatchNormGradGrad", "GroupNorm", "GroupNormGrad", "InstanceNormV2",
           "InstanceNormV2Grad", "LayerNormGrad", "LayerNormGradGrad", "PSROIPooling",
           "PSROIPoolingGrad"]


def _layer_gradients(x: torch.Tensor, dy: torch.Tensor, rstd: torch.Tensor, mean: torch.Tensor,
                     gamma: torch.Tensor, norm_axis: int, params_axis: int
                     ) -> tuple[torch.Tensor, ...]:
    """The gradients of layer normalization by the input, the factors and the offsets."""
    over = tuple(range(norm_axis % x.dim(), x.dim()))
    summed = tuple(range(params_axis % x.dim()))
    scaled = (x - mean) * rstd
    weighted = dy * gamma
    # the statistics are given, so they may be others than those of `x`
    dx = rstd * (weighted - weighted.mean(over, keepdim=True)
                 - (scaled - scaled.mean(over, keepdim=True))
                 * (weighted * scaled).mean(over, keepdim=True))
    factors, offsets = dy * scaled, dy
    if summed:
        factors, offsets = factors.sum(summed), offsets.sum(summed)
    return dx, factors.reshape(gamma.shape), offsets.reshape(gamma.shape)


def _beside(mean: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return mean.reshape(*mean.shape, *[1] * (x.dim() - mean.dim()))


@op
def _layer_norm_grad(x: Tensor, dy: Tensor, variance: Tensor, mean: Tensor, gamma: Tensor, *,
                     begin_norm_axis: int, begin_params_axis: int) -> tuple[Tensor, ...]:
    raw = x._raw
    rstd = (_beside(variance._raw, raw) + 1e-12).rsqrt()
    return tuple(map(wrap, _layer_gradients(
        raw, dy._raw, rstd, _beside(mean._raw, raw), gamma._raw, begin_norm_axis,
        begin_params_axis)))


@op
def _layer_norm_grad_grad(x: Tensor, dy: Tensor, variance: Tensor, mean: Tensor, gamma: Tensor,
                          d_dx: Tensor, d_dg: Tensor, d_db: Tensor, *, begin_norm_axis: int,
                          begin_params_axis: int) -> tuple[Tensor, ...]:
    """The gradients of what `LayerNormGrad` gives, by its inputs."""
    def forward(x: torch.Tensor, dy: torch.Tensor, gamma: torch.Tensor) -> tuple:
        over = tuple(range(begin_norm_axis % x.dim(), x.dim()))
        center = x.mean(over, keepdim=True)
        spread = (x - center).square().mean(over, keepdim=True)
        return _layer_gradients(x, dy, (spread + 1e-12).rsqrt(), center, gamma, begin_norm_axis,
                                begin_params_axis)

    pull = torch.func.vjp(forward, x._raw, dy._raw, gamma._raw)[1]
    return tuple(map(wrap, pull((d_dx._raw, d_dg._raw, d_db._raw))))


def _batch_gradients(x: torch.Tensor, dy: torch.Tensor, scale: torch.Tensor, mean: torch.Tensor,
                     variance: torch.Tensor, training: bool, epsilon: float, channels: int
                     ) -> tuple[torch.Tensor, ...]:
    """The gradients of batch normalization by the input, the factors and the offsets."""
    over = [i for i in range(x.dim()) if i != channels]
    view = [1] * x.dim()
    view[channels] = -1
    rstd = (variance.reshape(view) + epsilon).rsqrt()
    scaled = (x - mean.reshape(view)) * rstd
    factors, offsets = (dy * scaled).sum(over), dy.sum(over)
    weighted = dy * scale.reshape(view)
    if training:
        weighted = (weighted - weighted.mean(over, keepdim=True)
                    - scaled * (weighted * scaled).mean(over, keepdim=True))
    return weighted * rstd, factors, offsets


def _channels(x: Tensor, data_format: str) -> int:
    return x.ndim - 1 if data_format == "NHWC" else 1


@op
def _batch_norm_grad(dout: Tensor, x: Tensor, scale: Tensor, saved_mean: Tensor,
                     saved_variance: Tensor, reserve: Tensor, *, is_training: bool,
                     epsilon: float, data_format: str) -> tuple[Tensor, ...]:
    return tuple(map(wrap, _batch_gradients(
        x._raw, dout._raw, scale._raw, saved_mean._raw, saved_variance._raw, is_training, epsilon,
        _channels(x, data_format))))


@op
def _batch_norm_grad_grad(x: Tensor, dy: Tensor, scale: Tensor, saved_mean: Tensor,
                          saved_variance: Tensor, dout_dx: Tensor, dout_dscale: Tensor,
                          dout_dbias: Tensor, *, is_training: bool, epsilon: float,
                          data_format: str) -> tuple[Tensor, ...]:
    """The gradients of what `BatchNormGrad` gives, by the input, its gradient and the factors."""
    channels = _channels(x, data_format)
    over = [i for i in range(x.ndim) if i != channels]

    def forward(raw: torch.Tensor, dy: torch.Tensor, scale: torch.Tensor) -> tuple:
        mean, variance = saved_mean._raw, saved_variance._raw
        if is_training:  # they are functions of the input
            mean = raw.mean(over)
            variance = raw.var(over, correction=0)
        return _batch_gradients(raw, dy, scale, mean, variance, is_training, epsilon, channels)

    pull = torch.func.vjp(forward, x._raw, dy._raw, scale._raw)[1]
    return tuple(map(wrap, pull((dout_dx._raw, dout_dscale._raw, dout_dbias._raw))))


@op
def _instance_norm(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor, *,
                   is_training: bool, momentum: float, epsilon: float) -> tuple[Tensor, ...]:
    """Normalization of each channel of each image, by its own statistics where it trains.

    The other results are these statistics, the means and 1 / standard deviations, for the gradient;
    zeros where it doesn't train. `momentum` is accepted as MindSpore does.
    """
    _check_images("InstanceNormV2", x, gamma)
    raw, center, rstd = x._raw.float(), mean._raw, (variance._raw + epsilon).rsqrt()
    if is_training:
        center = raw.mean((2, 3), keepdim=True)
        rstd = (raw.var((2, 3), keepdim=True, correction=0) + epsilon).rsqrt()
    out = ((raw - center) * rstd * gamma._raw + beta._raw).to(x._raw.dtype)
    saved = (center, rstd) if is_training else (torch.zeros_like(center), torch.zeros_like(rstd))
    return wrap(out), wrap(saved[0]), wrap(saved[1])


def _check_images(name: str, x: Tensor, gamma: Tensor) -> None:
    wanted = (*x.shape[:2], 1, 1, *x.shape[4:])
    if x.ndim not in (4, 5) or x.shape[2] * x.shape[3] < 2:
        raise ValueError(f"For '{name}', 'x' must have the shape (N, C, H, W) or (N, C1, H, W, C0) "
                         f"with more than one pixel, but got {x.shape}.")
    if gamma.shape != wanted:
        raise ValueError(f"For '{name}', 'gamma' must have the shape {wanted}, but got "
                         f"{gamma.shape}.")


@op
def _instance_norm_grad(dy: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, variance: Tensor,
                        save_mean: Tensor, save_variance: Tensor, *, is_training: bool,
                        epsilon: float) -> tuple[Tensor, ...]:
    """The gradients by the images, the factors and the offsets, from what `InstanceNormV2` saved.
    """
    _check_images("InstanceNormV2Grad", x, gamma)
    raw, dout = x._raw.float(), dy._raw.float()
    rstd = save_variance._raw if is_training else (variance._raw + epsilon).rsqrt()
    scaled = (raw - (save_mean if is_training else mean)._raw) * rstd
    factors = (dout * scaled).sum((2, 3), keepdim=True)
    offsets = dout.sum((2, 3), keepdim=True)
    dx = dout
    if is_training:
        count = raw.shape[2] * raw.shape[3]
        dx = dout - offsets / count - scaled * factors / count
    return wrap((dx * rstd * gamma._raw).to(x._raw.dtype)), wrap(factors), wrap(offsets)


@op
def _group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None,
                bias: Tensor | None = None, eps: float = 1e-5) -> tuple[Tensor, ...]:
    """Normalization over groups of channels: the result, the means and 1 / standard deviations."""
    raw = input._raw
    size, channels = raw.shape[:2]
    rest = raw[0, 0].numel()
    factors = None if weight is None else weight._raw
    offsets = None if bias is None else bias._raw
    out = torch.native_group_norm(raw, factors, offsets, size, channels, rest, num_groups, eps)
    return tuple(map(wrap, out))


@op
def _group_norm_grad(dy: Tensor, x: Tensor, mean: Tensor, rstd: Tensor, gamma_opt: Tensor | None,
                     num_groups: int, dx_is_require: bool = True, dgamma_is_require: bool = True,
                     dbeta_is_require: bool = True) -> tuple[Tensor, ...]:
    raw, dout = x._raw, dy._raw
    size, channels = raw.shape[:2]
    groups = (size, num_groups, -1)
    per_channel = (1, channels, *[1] * (raw.dim() - 2))
    center, inverse = mean._raw.reshape(groups), rstd._raw.reshape(groups)
    scaled = (raw.reshape(groups) - center) * inverse
    factor = 1 if gamma_opt is None else gamma_opt._raw.reshape(per_channel)
    weighted = (dout * factor).reshape(groups)
    dx = inverse * (weighted - weighted.mean(-1, keepdim=True)
                    - (scaled - scaled.mean(-1, keepdim=True))
                    * (weighted * scaled).mean(-1, keepdim=True))
    over = [i for i in range(raw.dim()) if i != 1]
    return (wrap(dx.reshape(raw.shape)), wrap((dout * scaled.reshape(raw.shape)).sum(over)),
            wrap(dout.sum(over)))


def _inside(begin: torch.Tensor, length: torch.Tensor, groups: int, size: int) -> torch.Tensor:
    """Which pixels of a side are in which of the cells of regions: (regions, cells, pixels)."""
    cells = torch.arange(groups, device=begin.device)
    step = length / groups
    first = torch.floor(cells * step[:, None] + begin[:, None]).clamp(0, size)
    last = torch.ceil((cells + 1) * step[:, None] + begin[:, None]).clamp(0, size)
    pixels = torch.arange(size, device=begin.device)
    return (pixels >= first[..., None]) & (pixels < last[..., None])


@op
def _ps_roi_pooling(features: Tensor, rois: Tensor, *, spatial_scale: float, group_size: int,
                    output_dim: int) -> Tensor:
    """The means over the cells of regions, each cell from channels of its own (Dai et al., 2016).

    `rois` has shape (batch, 5, regions): for each the image, x0, y0, x1, y1; the result has shape
    (batch * regions, output_dim, group_size, group_size).
    """
    raw = typed(features, "PSROIPooling", "features", FLOATS)
    regions = typed(rois, "PSROIPooling", "rois", FLOATS)
    if raw.dim() != 4 or raw.shape[1] != output_dim * group_size ** 2:
        raise RuntimeError(f"For 'PSROIPooling', 'features' must have the shape (N, output_dim * "
                           f"group_size * group_size, H, W), but got {features.shape}.")
    if regions.dim() != 3 or regions.shape[1] != 5:
        raise ValueError(f"For 'PSROIPooling', 'rois' must have the shape (N, 5, regions), but "
                         f"got {rois.shape}.")
    image, *corners = regions.mT.reshape(-1, 5).float().unbind(-1)
    scaled = (side * spatial_scale for side in corners)
    x0, y0, x1, y1 = (torch.floor(side.abs() + 0.5) * side.sign() for side in scaled)
    height, width = raw.shape[2:]
    inside = [_inside(begin, (end - begin).clamp(min=1), group_size, size)
              .to(raw.dtype) for begin, end, size in ((y0, y1, height), (x0, x1, width))]
    cells = raw.reshape(-1, output_dim, group_size, group_size, height, width)[image.long()]
    sums = torch.einsum("rpy,rqx,ropqyx->ropq", inside[0], inside[1], cells)
    areas = inside[0].sum(-1)[:, None, :, None] * inside[1].sum(-1)[:, None, None, :]
    return wrap(torch.where(areas > 0, sums / areas.clamp(min=1), 0))


@op
def _ps_roi_pooling_grad(x: Tensor, rois: Tensor, *, input_size: Any, spatial_scale: float,
                         group_size: int, output_dim: int) -> Tensor:
    """The gradient of `PSROIPooling` by the features, whose images have `input_size`."""
    for value, name in ((x, "x"), (rois, "rois")):
        typed(value, "PSROIPoolingGrad", name, (torch.float32,))
    sizes = (input_size, input_size) if isinstance(input_size, int) else tuple(input_size)
    batch, regions = rois.shape[0], rois.shape[-1]
    wanted = (batch * regions, output_dim, group_size, group_size)
    if x.shape != wanted:
        raise RuntimeError(f"For 'PSROIPoolingGrad', the gradient must have the shape {wanted}, "
                           f"but got {x.shape}.")
    none = wrap(x._raw.new_zeros((batch, output_dim * group_size ** 2, *sizes)))
    return pulled_back(lambda features: _ps_roi_pooling(
        features, rois, spatial_scale=spatial_scale, group_size=group_size,
        output_dim=output_dim), x, none)[0]


LayerNormGrad = with_attributes("LayerNormGrad", _layer_norm_grad, begin_norm_axis=1,
                                begin_params_axis=1)
LayerNormGradGrad = with_attributes("LayerNormGradGrad", _layer_norm_grad_grad, begin_norm_axis=1,
                                    begin_params_axis=1)
BatchNormGrad = with_attributes("BatchNormGrad", _batch_norm_grad, is_training=False,
                                epsilon=1e-5, data_format="NCHW")
BatchNormGradGrad = with_attributes("BatchNormGradGrad", _batch_norm_grad_grad,
                                    is_training=False, epsilon=1e-5, data_format="NCHW")
InstanceNormV2 = with_attributes("InstanceNormV2", _instance_norm, is_training=True, momentum=0.1,
                                 epsilon=1e-5)
InstanceNormV2Grad = with_attributes("InstanceNormV2Grad", _instance_norm_grad, is_training=True,
                                     epsilon=1e-5)
GroupNorm = primitive("GroupNorm", _group_norm)
GroupNormGrad = primitive("GroupNormGrad", _group_norm_grad)


def _picture_size(name: str, attribute: str, value: Any) -> None:
    if isinstance(value, list):
        raise TypeError(f"For '{name}', '{attribute}' must be an int or a tuple, but got {value}.")
    positive_ints(name, attribute, value)


_CELLS = {"input_size": _picture_size, "spatial_scale": positive_number,
          "group_size": positive_int, "output_dim": positive_int}
PSROIPooling = with_attributes("PSROIPooling", _ps_roi_pooling, "spatial_scale", "group_size",
                               "output_dim", checks=_CELLS)
PSROIPoolingGrad = with_attributes("PSROIPoolingGrad", _ps_roi_pooling_grad, "input_size",
                                   "spatial_scale", "group_size", "output_dim", checks=_CELLS)
