"""Gradients of layers' operators as Primitive classes: `MaxPoolGrad`, `LayerNormGrad`, ...

`_of_forward` makes most of them: the class takes the attributes of the forward Primitive, and the
gradient is that of this Primitive by autodiff, see `gradients.pulled_back`.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from ...core.errors import op
from ...core.require import one_of
from ...tensors.tensor import Tensor, wrap
from ..arguments import FLOATS, require, typed
from ..composite import prim_attr_register
from ..flash_attention import flash_attention_score
from ..primitive import Primitive, primitive
from .attributed import Attributed
from .attributes import with_attributes
from .boxes import ROIAlign
from .gradients import pulled_back
from .image import (
    GridSampler2D,
    GridSampler3D,
    ResizeBicubic,
    ResizeBilinearV2,
    ResizeLinear1D,
    ResizeNearestNeighborV2,
)
from .nn import LRN, MirrorPad, PadV3
from .patches import Dilation2D, windows_of
from .pooling import AvgPool, AvgPool3D, MaxPool, MaxPool3D
from .reduce import L2Normalize

__all__ = [
    "AvgPool3DGrad", "AvgPoolGrad", "BiasAddGrad", "DeformableOffsetsGrad",
    "Dilation2DBackpropFilter", "Dilation2DBackpropInput", "DropoutGrad",
    "FlashAttentionScoreGrad", "FlattenGrad",
    "GatherDGradV2", "GridSampler2DGrad", "GridSampler3DGrad", "L2NormalizeGrad", "LRNGrad",
    "MaskedSelectGrad", "MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGrad", "MaxPoolGradGrad",
    "MirrorPadGrad", "PadV3Grad", "ROIAlignGrad", "ResizeBicubicGrad", "ResizeBilinearGrad",
    "ResizeLinear1DGrad", "ResizeNearestNeighborGrad", "ResizeNearestNeighborV2Grad", "SliceGrad",
]


def shape_from(value: Any) -> tuple[int, ...]:
    """A shape that is given as a tuple, a list or a Tensor of ints."""
    return tuple(value.tolist() if isinstance(value, Tensor) else value)


def _zeros(shape: Any, like: Tensor) -> Tensor:
    return wrap(like._raw.new_zeros(shape_from(shape)))


def _of_forward(name: str, forward: type[Primitive], order: str, by: str = "x"
                ) -> type[Primitive]:
    """The gradient of a forward Primitive, with its attributes.

    Args:
        name: the class's name.
        forward: the class of the forward Primitive.
        order: names of the inputs: ``dout``, those of the forward Primitive, others that aren't
            needed (``_``). ``shape`` stands for that of ``x``, where the values don't matter, and
            ``image`` for a Tensor with the size that was an input.
        by: names of the inputs whose gradients are the results.
    """
    names, wanted = order.split(), by.split()

    class _Gradient(Primitive):
        __doc__ = f"""The gradient of `{forward.__name__}`, whose attributes it takes.

        Its inputs are {', '.join(names)}; it gives the gradient by {', '.join(wanted)}.
        """

        @functools.wraps(forward.__init__)
        def __init__(self, *args: Any, **kwargs: Any):
            super().__init__(name)
            self._forward = forward(*args, **kwargs)
            self._forward.name = name
            self.attrs = self._forward.attrs

        def __call__(self, *inputs: Any) -> Any:
            if len(inputs) != len(names):
                raise TypeError(f"For '{name}', there must be {len(names)} inputs, but got "
                                f"{len(inputs)}.")
            given = dict(zip(names, inputs, strict=True))
            dout = given.pop("dout")
            if "shape" in given:
                given["x"] = _zeros(given.pop("shape"), dout)
            fixed = {k: v for k, v in given.items() if k not in wanted and k[0] != "_"}
            points = [given[k] for k in wanted]
            out = pulled_back(lambda *xs: self._forward(*xs, *fixed.values()), dout, *points)
            return out if len(wanted) > 1 else next(iter(out))

    _Gradient.__name__ = _Gradient.__qualname__ = name
    _Gradient.__module__ = __name__
    return _Gradient


MaxPoolGrad = _of_forward("MaxPoolGrad", MaxPool, "x _out dout")
AvgPoolGrad = _of_forward("AvgPoolGrad", AvgPool, "x _out dout")
LRNGrad = _of_forward("LRNGrad", LRN, "dout x _out")
L2NormalizeGrad = _of_forward("L2NormalizeGrad", L2Normalize, "x _out dout")
ROIAlignGrad = _of_forward("ROIAlignGrad", ROIAlign, "dout rois shape")
Dilation2DBackpropInput = _of_forward("Dilation2DBackpropInput", Dilation2D, "x filter dout")


class DeformableOffsetsGrad(Primitive):
    """The gradients of `DeformableOffsets` by its inputs, with its attributes.

    There are as many windows as offsets, which may be fewer than the picture has.

    Args:
        data_format: ``'NCHW'``, or ``'NHWC'`` for inputs with channels last.

    Inputs:
        dout, x, offsets: the gradient of the result, and the inputs of `DeformableOffsets`.

    Outputs:
        The gradients by `x` and `offsets`.
    """

    @prim_attr_register
    def __init__(self, strides: Any, pads: Any, ksize: Any, dilations: Any = (1, 1, 1, 1),
                 data_format: str = "NCHW", deformable_groups: int = 1, modulated: bool = True):
        require(modulated is True, ValueError,
                f"For '{self.name}', 'modulated' must be True, but got {modulated!r}.")
        one_of(data_format, ("NCHW", "NHWC"), "data_format", self.name)

    def __call__(self, dout: Tensor, x: Tensor, offsets: Tensor) -> tuple[Tensor, ...]:
        last = self.data_format == "NHWC"
        strides, dilations = ([v[i] for i in (0, 3, 1, 2)] if last and len(v) == 4 else v
                              for v in (self.strides, self.dilations))
        given = [typed(v, self.name, name, FLOATS, 4)
                 for v, name in ((dout, "dout"), (x, "x"), (offsets, "offsets"))]
        if last:
            given = [v.permute(0, 3, 1, 2) for v in given]
        found = pulled_back(lambda x, offsets: wrap(windows_of(
            self.name, x._raw, offsets._raw, self.ksize, strides, self.pads, dilations,
            self.deformable_groups, fits=False)), *map(wrap, given))
        return tuple(wrap(v._raw.permute(0, 2, 3, 1)) for v in found) if last else found


class Dilation2DBackpropFilter(Dilation2D):
    """The gradient of `Dilation2D` by its filter; the inputs are x, the filter and the gradient."""

    def __call__(self, x: Tensor, filter: Tensor, out_backprop: Tensor) -> Tensor:  # type: ignore[override]
        forward = super().__call__
        return pulled_back(lambda f: forward(x, f), out_backprop, filter)[0]


class MaxPool3DGrad(Attributed):
    """The gradient of `MaxPool3D`, from its input, its result and the result's gradient."""

    def __init__(self, kernel_size: Any = (1, 1, 1, 1, 1), strides: Any = (1, 1, 1, 1, 1),
                 pad_mode: str = "VALID", pad_list: Any = 0, data_format: str = "NCDHW"):
        super().__init__(kernel_size=kernel_size, strides=strides, pad_mode=pad_mode.upper(),
                         pad_list=pad_list, data_format=data_format)

    def _forward(self) -> MaxPool3D:
        kernel, strides = (value[2:] if isinstance(value, tuple) and len(value) == 5 else value
                           for value in (self.kernel_size, self.strides))
        return MaxPool3D(kernel, strides, self.pad_mode, self.pad_list, None, self.data_format)

    def __call__(self, x: Tensor, out: Tensor, grad: Tensor) -> Tensor:
        return pulled_back(self._forward(), grad, x)[0]


class AvgPool3DGrad(Attributed):
    """The gradient of `AvgPool3D`, from its input's shape and the result's gradient."""

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pads: Any = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int = 0, data_format: str = "NCDHW", pad_mode: str = "pad"):
        super().__init__(kernel_size=kernel_size, strides=strides, pads=pads, ceil_mode=ceil_mode,
                         count_include_pad=count_include_pad, divisor_override=divisor_override,
                         data_format=data_format, pad_mode=pad_mode)

    def __call__(self, origin_input_shape: Any, grads: Tensor) -> Tensor:
        kernel, strides = (value[2:] if isinstance(value, tuple) and len(value) == 5 else value
                           for value in (self.kernel_size, self.strides))
        forward = AvgPool3D(kernel, strides, self.pad_mode, self.pads, self.ceil_mode,
                            self.count_include_pad, self.divisor_override, self.data_format)
        return pulled_back(forward, grads, _zeros(origin_input_shape, grads))[0]


def _pushed(forward: Any, x: Tensor, tangent: Tensor) -> Tensor:
    """What a change of `x` changes in a pooling's result: the gradient of its gradient."""
    none = wrap(torch.zeros_like(forward(x)._raw))
    return pulled_back(lambda dout: pulled_back(forward, dout, x)[0], tangent, none)[0]


class MaxPoolGradGrad(Attributed):
    """The gradient of `MaxPoolGrad` by its last input: `grad` at the positions of the maxima."""

    def __init__(self, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID"):
        super().__init__(kernel_size=kernel_size, strides=strides, pad_mode=pad_mode)

    def __call__(self, x: Tensor, out: Tensor, grad: Tensor) -> Tensor:
        return _pushed(MaxPool(self.kernel_size, self.strides, self.pad_mode), x, grad)


class MaxPool3DGradGrad(MaxPool3DGrad):
    """The gradient of `MaxPool3DGrad` by its last input: `grad` at the positions of the maxima."""

    def __init__(self, kernel_size: Any = (1, 1, 1, 1, 1), strides: Any = (1, 1, 1, 1, 1),
                 pad_mode: str = "VALID", data_format: str = "NCDHW"):
        super().__init__(kernel_size, strides, pad_mode, 0, data_format)

    def __call__(self, x: Tensor, out: Tensor, grad: Tensor) -> Tensor:
        return _pushed(self._forward(), x, grad)


class MirrorPadGrad(MirrorPad):
    """The gradient of `MirrorPad`, from that of its result and the paddings."""

    def __call__(self, dy: Tensor, paddings: Any) -> Tensor:  # type: ignore[override]
        amounts = paddings.tolist() if isinstance(paddings, Tensor) else paddings
        shape = [n - sum(pair) for n, pair in zip(dy.shape, amounts, strict=True)]
        forward = super().__call__
        return pulled_back(lambda x: forward(x, paddings), dy, _zeros(shape, dy))[0]


class PadV3Grad(PadV3):
    """The gradient of `PadV3`, from that of its result and the paddings."""

    def __init__(self, mode: str = "reflect", paddings_contiguous: bool = True):
        super().__init__(mode, paddings_contiguous)

    def __call__(self, x: Tensor, paddings: Any) -> Tensor:  # type: ignore[override]
        amounts = shape_from(paddings)
        half = len(amounts) // 2
        pairs = ([amounts[2 * i:2 * i + 2] for i in range(half)] if self.paddings_contiguous
                 else list(zip(amounts[:half], amounts[half:], strict=True)))
        shape = list(x.shape)
        for i, pair in enumerate(pairs):  # the last dimension comes first
            shape[-1 - i] -= sum(pair)
        forward = super().__call__
        return pulled_back(lambda t: forward(t, paddings), x, _zeros(shape, x))[0]


def _of_resize(name: str, forward: type[Primitive], from_image: bool) -> type[Primitive]:
    """The gradient of a resize: its second input is the image, or the size of the image."""

    def gradient(grads: Tensor, image: Any, **attributes: Any) -> Tensor:
        rank = grads.ndim - 2
        sizes = image.shape[2:] if from_image else shape_from(image)[-rank:]
        none = wrap(grads._raw.new_zeros((*grads.shape[:2], *sizes)))
        made = forward(**attributes)
        return pulled_back(lambda x: made(x, grads.shape[2:]), grads, none)[0]

    gradient.__name__ = "_gradient"
    defaults: dict[str, Any] = {"align_corners": False, "half_pixel_centers": False}
    if forward is ResizeLinear1D:
        defaults = {"coordinate_transformation_mode": "align_corners"}
    return with_attributes(name, op(gradient, name), **defaults)


ResizeBilinearGrad = _of_resize("ResizeBilinearGrad", ResizeBilinearV2, True)
ResizeBicubicGrad = _of_resize("ResizeBicubicGrad", ResizeBicubic, True)
ResizeLinear1DGrad = _of_resize("ResizeLinear1DGrad", ResizeLinear1D, True)
ResizeNearestNeighborGrad = _of_resize("ResizeNearestNeighborGrad", ResizeNearestNeighborV2, False)
ResizeNearestNeighborV2Grad = _of_resize("ResizeNearestNeighborV2Grad", ResizeNearestNeighborV2,
                                         False)


def _of_sampler(name: str, forward: type[Primitive]) -> type[Primitive]:
    def gradients(grad: Tensor, input_x: Tensor, grid: Tensor, *, output_mask: Any,
                  **attributes: Any) -> tuple[Tensor, ...]:
        return pulled_back(forward(**attributes), grad, input_x, grid)

    gradients.__name__ = "_gradients"
    return with_attributes(name, op(gradients, name), interpolation_mode="bilinear",
                           padding_mode="zeros", align_corners=False, output_mask=(1, 1))


GridSampler2DGrad = _of_sampler("GridSampler2DGrad", GridSampler2D)
GridSampler3DGrad = _of_sampler("GridSampler3DGrad", GridSampler3D)


@op
def _bias_add_grad(dout: Tensor, *, data_format: str) -> Tensor:
    raw = dout._raw
    channels = raw.dim() - 1 if data_format == "NHWC" or raw.dim() == 2 else 1
    if raw.dim() < 2:
        raise ValueError(f"For 'BiasAddGrad', the input must have 2 dimensions or more, but got "
                         f"shape {dout.shape}.")
    return wrap(raw.sum([i for i in range(raw.dim()) if i != channels]))


@op
def _dropout_grad(dy: Tensor, mask: Tensor, *, keep_prob: float) -> Tensor:
    return wrap(dy._raw * mask._raw.to(dy._raw.dtype) / keep_prob)


@op
def _flatten_grad(x: Tensor, shape: Any) -> Tensor:
    return wrap(x._raw.reshape(shape_from(shape)))


@op
def _slice_grad(dy: Tensor, x: Tensor, begin: Any, size: Any) -> Tensor:
    begins, raw = shape_from(begin), dy._raw
    after = [whole - b - part for whole, b, part in zip(x.shape, begins, raw.shape, strict=True)]
    amounts = [n for pair in zip(reversed(begins), reversed(after), strict=True) for n in pair]
    return wrap(torch.nn.functional.pad(raw, amounts))


@op
def _gather_grad(x: Tensor, dim: int, index: Tensor, dout: Tensor) -> Tensor:
    return wrap(torch.zeros_like(x._raw).scatter_add(int(dim), index._raw.long(), dout._raw))


@op
def _masked_select_grad(input: Tensor, mask: Tensor, grad: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(input.shape, mask.shape)
    whole = grad._raw.new_zeros(shape).masked_scatter(mask._raw.expand(shape), grad._raw)
    return wrap(whole.sum_to_size(input.shape))


BiasAddGrad = with_attributes("BiasAddGrad", _bias_add_grad, data_format="NCHW")
DropoutGrad = with_attributes("DropoutGrad", _dropout_grad, keep_prob=0.5)
FlattenGrad = primitive("FlattenGrad", _flatten_grad)
GatherDGradV2 = primitive("GatherDGradV2", _gather_grad)
MaskedSelectGrad = primitive("MaskedSelectGrad", _masked_select_grad)
SliceGrad = primitive("SliceGrad", _slice_grad)


class FlashAttentionScoreGrad(Attributed):
    """The gradient of `FlashAttentionScore`, whose attributes it takes.

    The forward result is computed again: neither it nor what the forward kernel noted is needed.

    Inputs:
        - **query**, **key**, **value** - those of the forward call.
        - **dy** - the gradient of its result.
        - **pse_shift**, **drop_mask**, **padding_mask**, **atten_mask** - as `FlashAttentionScore`
          takes them; `pse_shift` is its `real_shift`.
        - **softmax_max**, **softmax_sum**, **softmax_in**, **attention_in** - not used.
        - **prefix**, **actual_seq_qlen**, **actual_seq_kvlen** - as `FlashAttentionScore` takes
          them.

    Outputs:
        The gradients by query, key, value and `pse_shift`; a zero of shape (1,) for the last where
        there is no `pse_shift`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.ops.ones((1, 3, 8))
        >>> grad = FlashAttentionScoreGrad(2)
        >>> print(grad(x, x, x, x)[2].shape)
        (1, 3, 8)
    """

    def __init__(self, head_num: int, keep_prob: float = 1.0, scale_value: float = 1.0,
                 pre_tokens: int = 65536, next_tokens: int = 65536, inner_precise: int = 1,
                 input_layout: str = "BSH", sparse_mode: int = 0):
        super().__init__(head_num=head_num, keep_prob=keep_prob, scale_value=scale_value,
                         pre_tokens=pre_tokens, next_tokens=next_tokens,
                         inner_precise=inner_precise, input_layout=input_layout,
                         sparse_mode=sparse_mode)

    def __call__(self, query: Tensor, key: Tensor, value: Tensor, dy: Tensor,
                 pse_shift: Tensor | None = None, drop_mask: Tensor | None = None,
                 padding_mask: Tensor | None = None, atten_mask: Tensor | None = None,
                 softmax_max: Tensor | None = None, softmax_sum: Tensor | None = None,
                 softmax_in: Tensor | None = None, attention_in: Tensor | None = None,
                 prefix: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None
                 ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        def forward(q: Tensor, k: Tensor, v: Tensor, shift: Tensor | None = None) -> Tensor:
            return flash_attention_score(
                q, k, v, self.head_num, shift, drop_mask, padding_mask, atten_mask, prefix,
                actual_seq_qlen, actual_seq_kvlen, self.keep_prob, self.scale_value,
                self.pre_tokens, self.next_tokens, self.inner_precise, self.input_layout,
                self.sparse_mode)

        shifts = () if pse_shift is None else (pse_shift,)
        by_query, by_key, by_value, *by_shift = pulled_back(
            forward, dy, query, key, value, *shifts)
        return by_query, by_key, by_value, (
            by_shift[0] if by_shift else wrap(query._raw.new_zeros(1)))
