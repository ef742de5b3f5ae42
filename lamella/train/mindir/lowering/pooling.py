"""MindIR nodes of pooling."""

from __future__ import annotations

from typing import Any

import torch

from ..builder import Builder, Unwritable, Value
from .elementwise import two
from .shapes import kept, padded
from .table import lowers


@lowers("max_pool2d_with_indices")
def max_pool2d(graph: Builder, raw: Any, x: Value, kernel: Any, stride: Any = (), padding: Any = 0,
               dilation: Any = 1, ceil_mode: bool = False) -> list[Any]:
    """The largest elements of windows of images."""
    if any(n != 1 for n in _pair(dilation)):
        raise Unwritable("pooling with dilation")
    kernel, stride, pads = _windows(x, raw[0], kernel, stride, padding, ceil_mode)
    low = -torch.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    x = _padded(graph, x, pads, low)
    names: dict[str, Any] = {"input_names": ("x",), "output_names": ("output",)}
    return [graph.node("MaxPool", x, raw=raw[0], kernel_size=(1, 1, *kernel), format="NCHW",
                       strides=(1, 1, *stride), pad_mode="VALID", **names), None]


@lowers("avg_pool2d")
def avg_pool2d(graph: Builder, raw: Any, x: Value, kernel: Any, stride: Any = (), padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override: int | None = None) -> Value:
    """Means of windows of images."""
    kernel, stride, pads = _windows(x, raw, kernel, stride, padding, ceil_mode)
    found = _mean(graph, raw, _padded(graph, x, pads, 0), kernel, stride)
    size = kernel[0] * kernel[1]
    if divisor_override is not None:
        return two(graph, raw, "Mul", found, size / divisor_override)
    beyond = [pads[1] - _pair(padding)[1], pads[3] - _pair(padding)[0]]
    if not any(pads) or count_include_pad and not any(beyond):
        return found
    if not all(isinstance(n, int) for n in x.shape[2:]):
        raise Unwritable("pooling of padded images whose size varies")
    counted = torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
    inside = [pads[0], pads[1] - beyond[0], pads[2], pads[3] - beyond[1]]
    counted = torch.nn.functional.pad(counted, inside, value=float(count_include_pad))
    counted = torch.nn.functional.pad(counted, [0, beyond[0], 0, beyond[1]])
    share = 1 / torch.nn.functional.avg_pool2d(counted, kernel, stride)
    return two(graph, raw, "Mul", found, kept(graph, share))


@lowers("avg_pool1d")
def avg_pool1d(graph: Builder, raw: Any, x: Value, kernel: Any, stride: Any = (), padding: Any = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Value:
    """Means of windows of rows."""
    wide = graph.node("ExpandDims", x, 2, raw=x.raw.unsqueeze(2))
    step = stride or kernel
    found = avg_pool2d(graph, raw.unsqueeze(2), wide, [1, _pair(kernel)[-1]], [1, _pair(step)[-1]],
                       [0, _pair(padding)[-1]], ceil_mode, count_include_pad)
    return graph.node("Squeeze", found, (2,), raw=raw)


@lowers("_adaptive_avg_pool2d")
def adaptive_avg_pool2d(graph: Builder, raw: Any, x: Value, size: Any) -> Value:
    """Means of as many windows as are asked for."""
    names: dict[str, Any] = {"input_names": ("x",), "output_names": ("y",)}
    return graph.node("AdaptiveAvgPool2D", x, raw=raw, output_size=tuple(size), **names)


def _mean(graph: Builder, raw: Any, x: Value, kernel: Any, stride: Any) -> Value:
    return graph.node("AvgPool", x, tuple(kernel), tuple(stride), 2, 0, raw=raw)


def _pair(value: Any) -> list[int]:
    value = [value] if isinstance(value, int) else list(value)
    return value * 2 if len(value) == 1 else value


def _windows(x: Value, raw: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool
             ) -> tuple[list[int], list[int], list[int]]:
    """The sizes of windows, the steps, and the padding, the last dimension first; where windows
    reach beyond the images, as much more."""
    kernel, stride, padding = _pair(kernel), _pair(stride or kernel), _pair(padding)
    pads = []
    for axis in (1, 0):
        there, made, pad = x.shape[2 + axis], raw.shape[2 + axis], padding[axis]
        more = pad
        if isinstance(there, int) and isinstance(made, int):
            more = max((made - 1) * stride[axis] + kernel[axis] - there - pad, pad)
        elif ceil_mode:
            raise Unwritable("pooling with ceil_mode=True of images whose size varies")
        pads += [pad, more]
    return kernel, stride, pads


def _padded(graph: Builder, x: Value, pads: list[int], value: Any) -> Value:
    if not any(pads):
        return x
    sizes = [*x.shape[:2], x.shape[2] + pads[2] + pads[3], x.shape[3] + pads[0] + pads[1]]
    return padded(graph, x.raw.new_empty(sizes), x, pads, value)
