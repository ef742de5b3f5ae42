"""Primitive classes of orders of dimensions, such as NHWC."""

from __future__ import annotations

import torch

from ...core.errors import describe
from ...tensors.tensor import Tensor, wrap
from ..arguments import require_values
from .attributed import Attributed

__all__ = ["DataFormatDimMap", "DataFormatVecPermute"]


def _check_format(name: str, **given: str) -> None:
    for argument, value in given.items():
        if not isinstance(value, str) or sorted(value) != list("CHNW"):
            raise ValueError(f"For '{name}', '{argument}' must be an order of the letters N, C, H "
                             f"and W, but got {value!r}.")


class _Formats(Attributed):
    """The base: two orders of dimensions.

    Args:
        src_format, dst_format: the orders, as ``"NHWC"``.

    Raises:
        ValueError: if one is no order of the letters N, C, H and W.
    """

    def __init__(self, src_format: str = "NHWC", dst_format: str = "NCHW"):
        super().__init__(src_format=src_format, dst_format=dst_format)
        _check_format(self.name, src_format=src_format, dst_format=dst_format)


class DataFormatDimMap(_Formats):
    """The indices of dimensions, converted from one order to another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.DataFormatDimMap()(ms.Tensor([0, 1, 2, 3])))
        [0 3 1 2]
    """

    def __call__(self, input_x: Tensor) -> Tensor:
        raw = input_x._raw
        require_values(((raw >= -4) & (raw <= 3)).all(),
                       f"For '{self.name}', dimensions must be in [-4, 4), "
                       f"but got {describe(input_x)}.")
        positions = torch.tensor([self.src_format.index(c) for c in self.dst_format],
                                 device=raw.device)
        return wrap(positions[raw.long() % 4].to(raw.dtype))


class DataFormatVecPermute(_Formats):
    """A number (or a pair) for each dimension, permuted from one order to another.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.DataFormatVecPermute()(ms.Tensor([1, 2, 3, 4])))
        [1 4 2 3]
    """

    def __call__(self, input_x: Tensor) -> Tensor:
        raw = input_x._raw
        if raw.dim() not in (1, 2) or raw.shape[0] != 4:
            raise ValueError(f"For '{self.name}', the input must have shape (4,) or (4, 2), "
                             f"but got {input_x.shape}.")
        return wrap(raw[[self.src_format.index(c) for c in self.dst_format]])
