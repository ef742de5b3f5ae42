"""Functions of `mint` under MindSpore's names in `ops`, which end with ``_ext`` or ``_view``."""

from __future__ import annotations

import math
import operator
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
    logsumexp max median meshgrid min mm mul multinomial norm normal ones_like outer pow prod
    rand rand_like randint randint_like randn randn_like randperm remainder
    repeat_interleave scatter_add select sort stack
    std std_mean sum topk trace transpose tril unbind unique var var_mean zeros_like
    """.split())
_OF_FUNCTIONAL = frozenset("""
    adaptive_avg_pool2d adaptive_avg_pool3d avg_pool1d avg_pool2d avg_pool3d batch_norm
    cross_entropy dropout dropout2d elu fold glu interpolate kl_div l1_loss leaky_relu log_softmax
    logsigmoid max_pool2d max_unpool2d mish mse_loss nll_loss pad selu softmax softplus unfold
    """.split())


# what goes by other names -> what it is in `mint`, or in a module of it
_OTHERS = {
    "broadcast_to_view": "broadcast_to", "chunk_view": "chunk", "clamp_scalar": "clamp",
    "clamp_tensor": "clamp", "clone": "clone", "expand_dims_view": "unsqueeze",
    "kthvalue": "kthvalue", "linalg_norm": "linalg.norm", "linalg_qr": "linalg.qr",
    "matrix_norm_ext": "linalg.matrix_norm", "narrow_view": "narrow",
    "one_hot_ext": "nn.functional.one_hot", "select_ext_view": "select", "split_view": "split",
    "transpose_ext_view": "transpose", "unsqueeze_view": "unsqueeze",
    "vector_norm_ext": "linalg.vector_norm",
}


def add_ext(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """As `mint.add`, with `alpha` by position, too."""
    return mint.add(input, other, alpha=alpha)


def sub_ext(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """As `mint.sub`, with `alpha` by position, too."""
    return mint.sub(input, other, alpha=alpha)


def mean_ext(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Any = None, *,
             axis: Any = None, keep_dims: bool = False) -> Tensor:
    """As `mint.mean`; `ops.function.math_func` calls `dim` and `keepdim` by the other names."""
    return mint.mean(input, axis if dim is None else dim, keepdim or keep_dims, dtype=dtype)


def index(input: Tensor, indices: Sequence[Tensor]) -> Tensor:
    """The elements at places that a list of Tensors gives, one for each dimension."""
    return input.index(indices)


def inplace_elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """As `mint.nn.functional.elu`, in place."""
    return input.copy_(functional.elu(input, alpha))


def inplace_hardtanh(input: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    """As `mint.nn.functional.hardtanh`, in place."""
    return input.copy_(functional.hardtanh(input, min_val, max_val))


def new_ones(input: Tensor, size: Any, *, dtype: Any = None) -> Tensor:
    """As `Tensor.new_ones`."""
    return input.new_ones(size, dtype=dtype)


def new_zeros(input: Tensor, size: Any, *, dtype: Any = None) -> Tensor:
    """As `Tensor.new_zeros`."""
    return input.new_zeros(size, dtype=dtype)


def uniform_ext(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    """Numbers evenly from [a, b), in the shape and type of `tensor`."""
    return mint.empty_like(tensor).uniform_(a, b, generator=generator)


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


_OWN = ("add_ext", "contiguous", "index", "inplace_elu", "inplace_hardtanh", "mean_ext",
        "new_ones", "new_zeros", "sub_ext", "uniform_ext")


def __getattr__(name: str) -> Any:
    if name in _OTHERS:
        return operator.attrgetter(_OTHERS[name])(mint)
    own = name.removesuffix("_ext")
    if own != name:
        for room, names in ((mint, _OF_MINT), (functional, _OF_FUNCTIONAL)):
            if own in names:
                return getattr(room, own)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted([*(f"{name}_ext" for name in _OF_MINT | _OF_FUNCTIONAL), *_OTHERS, *_OWN])
