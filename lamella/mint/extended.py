"""The functions of `mint` by the names that they have among MindSpore's `ops`: with ``_ext``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import mint
from ..tensors.tensor import Tensor
from .nn import functional

_OF_MINT = frozenset("""
    acos acosh addbmm addcmul addmm addmv amax amin arange arccos arccosh arcsin arcsinh arctan
    arctan2 argmax argmin argsort asin asinh atan atan2 baddbmm bernoulli bincount bitwise_and
    bitwise_or bitwise_xor bmm conv2d cummin cumsum diag diff einsum flatten float_power frac
    full full_like gather histc index_select inverse isnan isneginf linspace log10 log2 logaddexp
    logsumexp mean median meshgrid mm multinomial norm normal ones_like outer pow prod rand
    rand_like randint randint_like randn randn_like randperm scatter_add select sort stack
    std std_mean sub sum topk trace transpose tril unbind unique var var_mean zeros_like
    """.split())
_OF_FUNCTIONAL = frozenset("""
    adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d batch_norm
    cross_entropy dropout dropout2d elu fold glu interpolate kl_div l1_loss leaky_relu log_softmax
    logsigmoid max_pool2d max_unpool2d mish mse_loss nll_loss pad selu softmax softplus unfold
    """.split())


def contiguous(input: Tensor) -> Tensor:
    """As `Tensor.contiguous`."""
    return input.contiguous()


def _interploate_ext_make_tuple(input: Tensor, value: Any) -> Sequence[Any]:
    """A value for each dimension of an image or volume (N, C, ...), unless there are several."""
    return value if isinstance(value, (list, tuple)) else (value,) * (input.ndim - 2)


def _interpolate_ext_scale_factor_convert_size(input: Tensor,
                                               scale_factor: Sequence[float]) -> tuple[int, ...]:
    """The lengths of an image or volume (N, C, ...), times a factor each."""
    pairs = zip(input.shape[2:], scale_factor, strict=False)  # as many as both have, as in 2.10
    return tuple(math.floor(length * factor) for length, factor in pairs)


def __getattr__(name: str) -> Any:
    own = name.removesuffix("_ext")
    if own != name:
        for room, names in ((mint, _OF_MINT), (functional, _OF_FUNCTIONAL)):
            if own in names:
                return getattr(room, own)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted([*(f"{name}_ext" for name in _OF_MINT | _OF_FUNCTIONAL), "contiguous"])
