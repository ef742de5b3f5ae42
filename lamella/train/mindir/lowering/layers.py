"""MindIR nodes of convolutions, normalizations and resizing."""

from __future__ import annotations

from typing import Any

from ..builder import Builder, Unwritable, Value
from .elementwise import two
from .reductions import reduced
from .shapes import kept
from .table import as_type, constant, lowers


@lowers("convolution")
def convolution(graph: Builder, raw: Any, x: Value, weight: Value, bias: Value | None, stride: Any,
                padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
                ) -> Value:
    """A convolution, or the transposed one."""
    rank = len(x.shape) - 2
    if rank == 1:  # one row
        x, weight = (graph.node("ExpandDims", each, 2, raw=each.raw.unsqueeze(2))
                     for each in (x, weight))
        found = convolution(graph, raw.unsqueeze(2), x, weight, bias, [1, *stride], [0, *padding],
                            [1, *dilation], transposed, [0, *output_padding], groups)
        return graph.node("Squeeze", found, (2,), raw=raw)
    pads = tuple(n for n in padding for _ in range(2))
    given: dict[str, Any] = {
        "kernel_size": tuple(weight.shape[2:]), "mode": 1, "pad_mode": "pad", "pad": pads,
        "pad_list": pads, "group": groups, "groups": groups}
    if rank == 3:  # by both names, as MindSpore writes them
        given |= {"stride": tuple(stride), "strides": (1, 1, *stride),
                  "dilation": tuple(dilation), "dilations": (1, 1, *dilation)}
    else:
        given |= {"stride": (1, 1, *stride), "dilation": (1, 1, *dilation)}
    if transposed:
        found = _transposed(graph, raw, x, weight, given, output_padding)
    else:
        given |= {"out_channel": weight.shape[0], "format": "NCDHW" if rank == 3 else "NCHW",
                  "input_names": ("x", "w"), "output_names": ("output",), "offset_x": 0}
        found = graph.node("Conv3D" if rank == 3 else "Conv2D", x, weight, raw=raw, **given)
    if bias is None:
        return found
    row = (1, -1, *[1] * rank)
    return two(graph, raw, "Add", found, graph.node("Reshape", bias, row, raw=bias.raw.reshape(row))
               )


def _transposed(graph: Builder, raw: Any, x: Value, weight: Value, given: dict[str, Any],
                output_padding: Any) -> Value:
    if len(x.shape) != 4 or not all(isinstance(n, int) for n in raw.shape):
        raise Unwritable("a transposed convolution of other than images of fixed sizes")
    if any(output_padding):  # the sizes are given, so the rest of the padding follows
        pads = list(given["pad"])
        for axis, more in enumerate(output_padding):
            pads[2 * axis + 1] -= more
        if min(pads) < 0:
            raise Unwritable("a transposed convolution with a negative padding")
        given |= {"pad": tuple(pads), "pad_list": tuple(pads)}
    given |= {"out_channel": weight.shape[0], "format": "NCHW", "input_names":
              ("out_backprop", "filter", "input_sizes"), "output_names": ("output",)}
    return graph.node("Conv2DTranspose", x, weight, tuple(raw.shape), raw=raw, **given)


def _columns(graph: Builder, value: Value, rank: int) -> Value:
    """One number for each channel, beside `rank` dimensions that follow."""
    row = (-1, *[1] * rank)
    return graph.node("Reshape", value, row, raw=value.raw.reshape(row))


@lowers("_native_batch_norm_legit_no_training")
def batch_norm(graph: Builder, raw: Any, x: Value, weight: Value | None, bias: Value | None,
               mean: Value, var: Value, momentum: float, eps: float) -> list[Any]:
    """Normalized by kept means and variances."""
    channels = x.raw.new_empty([x.shape[1]])
    weight = weight or kept(graph, constant(1, x.dtype).expand(channels.shape).contiguous())
    bias = bias or kept(graph, constant(0, x.dtype).expand(channels.shape).contiguous())
    if len(x.shape) == 4:
        found = graph.node("BatchNorm", x, weight, bias, mean, var, False, eps, 0.1, 0)
        return [graph.node("TupleGetItem", found, 0, raw=raw[0]), None, None]
    around = two(graph, channels, "Add", var, eps)
    factor = two(graph, channels, "Mul", graph.node("Rsqrt", around, raw=channels), weight)
    rank = len(x.shape) - 2
    apart = two(graph, x.raw, "Sub", x, _columns(graph, mean, rank))
    scaled = two(graph, x.raw, "Mul", apart, _columns(graph, factor, rank))
    return [two(graph, raw[0], "Add", scaled, _columns(graph, bias, rank)), None, None]


@lowers("_native_batch_norm_legit.no_stats")
def batch_norm_in_training(graph: Builder, raw: Any, x: Value, weight: Value | None,
                           bias: Value | None, training: bool, momentum: float, eps: float
                           ) -> list[Value]:
    """Normalized by the batch; also its means, and what it was multiplied by."""
    rank = len(x.shape) - 2
    axes = [0, *range(2, rank + 2)]
    channels = x.raw.new_empty([x.shape[1]])
    middle = reduced(graph, channels, "mean", x, axes)
    apart = two(graph, x.raw, "Sub", x, _columns(graph, middle, rank))
    spread = reduced(graph, channels, "mean", two(graph, x.raw, "Mul", apart, apart), axes)
    scale = graph.node("Rsqrt", two(graph, channels, "Add", spread, eps), raw=channels)
    factor = scale if weight is None else two(graph, channels, "Mul", scale, weight)
    found = two(graph, x.raw, "Mul", apart, _columns(graph, factor, rank))
    if bias is not None:
        found = two(graph, x.raw, "Add", found, _columns(graph, bias, rank))
    return [found, middle, scale]


@lowers("native_layer_norm")
def layer_norm(graph: Builder, raw: Any, x: Value, shape: Any, weight: Value | None,
               bias: Value | None, eps: float) -> list[Any]:
    """Normalized over the last dimensions."""
    if not all(isinstance(n, int) for n in shape):
        raise Unwritable("a layer normalization over sizes that vary")
    weight = weight or kept(graph, constant(1, x.dtype).expand(tuple(shape)).contiguous())
    bias = bias or kept(graph, constant(0, x.dtype).expand(tuple(shape)).contiguous())
    axis = len(x.shape) - len(shape)
    found = graph.node("LayerNorm", x, weight, bias, axis, axis, eps)
    return [graph.node("TupleGetItem", found, at, raw=each) for at, each in enumerate(raw)]


@lowers("native_group_norm")
def group_norm(graph: Builder, raw: Any, x: Value, weight: Value | None, bias: Value | None,
               batch: Any, channels: int, rest: Any, groups: int, eps: float) -> list[Any]:
    """Normalized over groups of channels."""
    weight = weight or kept(graph, constant(1, x.dtype).expand(channels).contiguous())
    bias = bias or kept(graph, constant(0, x.dtype).expand(channels).contiguous())
    found = graph.node("GroupNorm", x, groups, weight, bias, eps)
    return [graph.node("TupleGetItem", found, at, raw=each) for at, each in enumerate(raw)]


def _new_size(raw: Any) -> tuple[int, int]:
    height, width = raw.shape[2:]
    if not isinstance(height, int) or not isinstance(width, int):
        raise Unwritable("images resized to sizes that vary")
    return height, width


@lowers("upsample_bilinear2d.vec")
def bilinear(graph: Builder, raw: Any, x: Value, size: Any, align_corners: bool, *_: Any) -> Value:
    """Images resized, with straight lines between pixels."""
    return graph.node("ResizeBilinearV2", x, _new_size(raw), align_corners, not align_corners,
                      raw=raw)


@lowers("upsample_nearest2d.vec")
def nearest(graph: Builder, raw: Any, x: Value, *_: Any) -> Value:
    """Images resized, by the nearest pixel."""
    return graph.node("ResizeNearestNeighborV2", x, _new_size(raw), False, False, raw=raw)


@lowers("grid_sampler_2d")
def grid_sampler(graph: Builder, raw: Any, x: Value, grid: Value, mode: int, padding: int,
                 align_corners: bool) -> Value:
    """Images read at places between pixels."""
    if mode > 1:
        raise Unwritable("grid_sample with bicubic interpolation")
    return graph.node("GridSampler2D", as_type(graph, x, raw.dtype), grid, mode, padding,
                      align_corners, raw=raw)


