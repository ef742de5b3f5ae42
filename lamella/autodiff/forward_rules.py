"""Forward-mode derivatives of kernels for which PyTorch has none.

PyTorch has such formulas, too (``torch._decomp.decompositions_for_jvp``), but importing them
imports its compiler and SymPy, which takes seconds and 75 MiB. They are graphs of TorchScript,
which the kernels' C++ code looks up by name.

The tangent of what doesn't move is a tensor of zeros without memory. PyTorch works out the shape of
a sum or product with one by formulas in Python, which take 200 us, and import the same. Here are
kernels for these that take a few.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from typing import Any, List, Optional, Tuple  # noqa: UP035  (TorchScript knows no others)

import torch
from torch import Tensor

_zeros = torch.library.Library("aten", "IMPL", "ZeroTensor")
_without_memory: Any = torch._efficientzerotensor  # type: ignore[attr-defined]


# PyTorch before 2.9 asks for no permission
_OVERRIDES: dict[str, Any] = ({"allow_override": True} if "allow_override" in inspect.signature(
    torch.library.Library.impl).parameters else {})


@functools.cache
def load_rules() -> None:
    """Have PyTorch use the formulas, from now on."""
    aten, register = torch.ops.aten, torch.jit._register_decomposition  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        # TorchScript is deprecated, and kernels are replaced
        for kind in (DeprecationWarning, FutureWarning, UserWarning):
            warnings.simplefilter("ignore", kind)
        for name, kernel in (("add.Tensor", _add), ("sub.Tensor", _sub), ("mul.Tensor", _mul),
                             ("div.Tensor", _div)):
            _zeros.impl(name, kernel, **_OVERRIDES)
        if torch.cuda.is_available():  # other kernels, too
            importlib.import_module("torch._decomp.decompositions_for_jvp")
            return
        for kernel, formula in (
                (aten.trace, _trace), (aten.log_sigmoid_forward, _log_sigmoid),
                (aten._softmax_backward_data, _softmax_backward),
                (aten._log_softmax_backward_data, _log_softmax_backward),
                (aten.nll_loss_backward, _nll_loss_backward),
                (aten.nll_loss2d_backward, _nll_loss_backward),
                (aten.native_layer_norm_backward, _layer_norm_backward),
                (aten.native_batch_norm_backward, _batch_norm_backward)):
            register(kernel.default, torch.jit.script(formula).graph)


def _form(a: Any, b: Any) -> dict[str, Any]:
    """The form of what an elementwise kernel gives for two tensors, or one and a number."""
    if isinstance(b, Tensor) and not isinstance(a, Tensor):
        a, b = b, a
    form = {"size": a.shape, "dtype": torch.result_type(a, b), "device": a.device}
    if isinstance(b, Tensor) and a.shape != b.shape:
        first, second = list(a.shape), list(b.shape)
        lacking = len(first) - len(second)
        first, second = [1] * -lacking + first, [1] * lacking + second
        form["size"] = [n if m == 1 else m for n, m in zip(first, second, strict=True)]
        form["device"] = a.device if a.dim() else b.device
    return form


def _is_zero(value: Any) -> bool:
    return isinstance(value, Tensor) and value._is_zerotensor()


def _mul(self: Any, other: Any) -> Tensor:
    return _without_memory(**_form(self, other))


def _div(self: Any, other: Any) -> Tensor:
    form = _form(self, other)
    if not (form["dtype"].is_floating_point or form["dtype"].is_complex):
        form["dtype"] = torch.get_default_dtype()
    if not _is_zero(other):
        return _without_memory(**form)
    return _with_memory(self) / _with_memory(other)


def _with_memory(value: Any) -> Any:
    if not _is_zero(value):
        return value
    return torch.zeros(value.shape, dtype=value.dtype, device=value.device)


def _add(self: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    form = _form(self, other)
    kept = other if _is_zero(self) else self
    if _is_zero(kept):
        return _without_memory(**form)
    if not isinstance(kept, Tensor):
        made = torch.full(form["size"], kept, dtype=form["dtype"], device=form["device"])
    else:
        made = kept.expand(form["size"]).to(form["device"], form["dtype"], copy=True)
    return made.mul(alpha) if kept is other and alpha != 1 else made


def _sub(self: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    return _add(self, other, alpha=-alpha)


def _trace(self: Tensor) -> Tensor:
    return torch.diagonal(self).sum()


def _log_sigmoid(self: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
    z = torch.exp(-torch.abs(self))
    return torch.minimum(self, torch.zeros_like(self)) - torch.log1p(z), z


def _softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: int) -> Tensor:
    flow = grad_output * output
    return (flow - output * flow.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int,
                          input_dtype: int) -> Tensor:
    total = grad_output.sum(dim, keepdim=True)
    return (grad_output - output.exp() * total).to(input_dtype)


def _nll_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor,
                       weight: Optional[Tensor], reduction: int,  # noqa: UP045
                       ignore_index: int, total_weight: Tensor) -> Tensor:
    axis = 0 if self.dim() < 2 else 1
    flow = grad_output / total_weight if reduction == 1 else grad_output
    classes = target.unsqueeze(axis)
    counts = classes != ignore_index
    place = torch.where(counts, classes, torch.zeros_like(classes))
    chosen = torch.zeros_like(self).scatter(axis, place, -1.0)
    if flow.dim() > 0:
        flow = flow.unsqueeze(axis)
    if weight is not None:
        shape = [1] * self.dim()
        shape[axis] = weight.numel()
        flow = flow * weight.reshape(shape)
    return torch.where(counts, flow, torch.zeros_like(flow)) * chosen


def _layer_norm_backward(
        grad_out: Tensor, input: Tensor, normalized_shape: List[int],  # noqa: UP006
        mean: Tensor, rstd: Tensor, weight: Optional[Tensor],  # noqa: UP045
        bias: Optional[Tensor], output_mask: List[bool]  # noqa: UP006, UP045
) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
    first = input.dim() - len(normalized_shape)
    inner = torch.jit.annotate(List[int], [])  # noqa: UP006
    outer = torch.jit.annotate(List[int], [])  # noqa: UP006
    for axis in range(input.dim()):
        if axis < first:
            outer.append(axis)
        else:
            inner.append(axis)
    wide, flow = input.to(rstd.dtype), grad_out.to(rstd.dtype)
    centered = wide - wide.mean(inner, keepdim=True)
    variance = (centered * centered).mean(inner, keepdim=True)
    eps = (1 / (rstd * rstd) - variance).detach()  # the kernel isn't given it
    scale = torch.rsqrt(variance + eps)
    normal = centered * scale
    # what isn't wanted can't be None here
    by_input, by_weight, by_bias = input.new_zeros([1]), input.new_zeros([1]), input.new_zeros([1])
    if output_mask[0]:
        g = flow * weight.to(flow.dtype) if weight is not None else flow
        by_input = (scale * (g - g.mean(inner, keepdim=True)
                             - normal * (g * normal).mean(inner, keepdim=True))).to(input.dtype)
    if output_mask[1] and weight is not None:
        whole = flow * normal
        by_weight = (whole.sum(outer) if len(outer) > 0 else whole).to(weight.dtype)
    if output_mask[2] and bias is not None:
        by_bias = (flow.sum(outer) if len(outer) > 0 else flow.clone()).to(bias.dtype)
    return by_input, by_weight, by_bias


def _batch_norm_backward(
        grad_out: Tensor, input: Tensor, weight: Optional[Tensor],  # noqa: UP045
        running_mean: Optional[Tensor], running_var: Optional[Tensor],  # noqa: UP045
        save_mean: Optional[Tensor], save_invstd: Optional[Tensor],  # noqa: UP045
        train: bool, eps: float, output_mask: List[bool]  # noqa: UP006
) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
    axes = [0]
    shape = [1, input.size(1)]
    for axis in range(2, input.dim()):
        axes.append(axis)
        shape.append(1)
    kind = weight.dtype if weight is not None else input.dtype
    wide, flow = input.to(kind), grad_out.to(kind)
    if train or running_mean is None or running_var is None:
        mean = wide.mean(axes, keepdim=True)
        variance = ((wide - mean) * (wide - mean)).mean(axes, keepdim=True)
    else:
        mean, variance = running_mean.reshape(shape), running_var.reshape(shape)
    scale = torch.rsqrt(variance + eps)
    normal = (wide - mean) * scale
    # what isn't wanted can't be None here
    by_input, by_weight, by_bias = input.new_zeros([1]), input.new_zeros([1]), input.new_zeros([1])
    if output_mask[0]:
        g = flow * weight.reshape(shape) if weight is not None else flow
        if train:
            g = (g - g.mean(axes, keepdim=True)
                 - normal * (g * normal).mean(axes, keepdim=True))
        by_input = (scale * g).to(input.dtype)
    if output_mask[1]:
        by_weight = (flow * normal).sum(axes)
    if output_mask[2]:
        by_bias = flow.sum(axes)
    return by_input, by_weight, by_bias
