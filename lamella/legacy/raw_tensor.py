"""``_c_expression.Tensor``: the class below Tensor, which older versions had in C++."""

from __future__ import annotations

from typing import Any

import torch

from ..core import context
from ..core.dtype import Type, to_raw
from ..tensors.tensor import Tensor as _Tensor
from ..tensors.tensor import wrap

__all__ = ["Tensor"]


class _EachTensor(type(_Tensor)):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _Tensor)


class Tensor(_Tensor, metaclass=_EachTensor):
    """A Tensor whose elements are not set, from its data type and shape; or as `Tensor` makes one.

    Each Tensor counts as one of this class.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy import raw_tensor
        >>> raw_tensor.Tensor(ms.float16, (2, 3)).shape, isinstance(ms.Tensor(1), raw_tensor.Tensor)
        ((2, 3), True)
    """

    def __new__(cls, input_data: Any = None, shape: Any = (), **kwargs: Any) -> Any:
        """A plain Tensor."""
        if isinstance(input_data, Type):
            return wrap(torch.empty(tuple(shape), dtype=to_raw(input_data),
                                    device=context.current_device()))
        return _Tensor(input_data, **kwargs)

    def __init__(self, *args: Any, **kwargs: Any):
        """Nothing: what `__new__` gives is made."""
