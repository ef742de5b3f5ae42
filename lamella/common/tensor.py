"""`common.tensor`: Tensor."""

from ..tensors.tensor import Tensor, tensor

__all__ = ["Tensor", "tensor"]

_TensorMeta = type(Tensor)
