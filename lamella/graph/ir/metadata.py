"""The metadata of each value of a graph: its shape, strides, type and device."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.fx import Node


class TensorMetadata(NamedTuple):
    """The shape, strides, type and device of a tensor."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    @property
    def size(self) -> int:
        """The number of elements."""
        return torch.Size(self.shape).numel()

    @property
    def bytes(self) -> int:
        """The bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in memory row by row."""
        step = 1
        for length, stride in zip(reversed(self.shape), reversed(self.stride), strict=True):
            if length != 1 and stride != step:
                return False
            step *= max(length, 1)
        return True

    @property
    def span(self) -> int:
        """How many elements of memory it takes, from the first to the last."""
        steps = zip(self.shape, self.stride, strict=True)
        return sum((n - 1) * step for n, step in steps) + 1 if self.size else 0

    def empty(self) -> torch.Tensor:
        """A tensor of any values with this metadata; its elements may overlap in memory."""
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=self.device)

    def scratch(self) -> torch.Tensor:
        """A tensor of random numbers with this metadata."""
        made = torch.randn(self.span, dtype=self.dtype, device=self.device)
        return made.as_strided(self.shape, self.stride)

    def copied(self, value: torch.Tensor) -> torch.Tensor:
        """A copy of a tensor with this metadata; dense if its elements would overlap in memory."""
        if 0 in self.stride:
            return value.clone(memory_format=torch.contiguous_format)
        return self.empty().copy_(value)


def meta_of(node: Any) -> TensorMetadata | None:
    """The metadata of a node's value; None if that isn't one dense tensor."""
    return node.meta.get("tensor_meta") if isinstance(node, Node) else None


def meta_of_value(value: Any) -> TensorMetadata | None:
    """The metadata of a tensor; None for anything else, such as PyTorch's fake tensors."""
    if type(value) is not torch.Tensor or value.layout is not torch.strided:
        return None
    return TensorMetadata(tuple(value.shape), value.stride(), value.dtype, value.device)


def same_as(node: Node, other: Node) -> bool:
    """Whether two values have the same metadata; strides of dimensions of length 1 don't matter."""
    a, b = meta_of(node), meta_of(other)
    if a is None or b is None or a.shape != b.shape or a.dtype is not b.dtype:
        return False
    return a.device == b.device and all(
        n == 1 or s == t for n, s, t in zip(a.shape, a.stride, b.stride, strict=True))


def copy_of(raw: torch.Tensor) -> torch.Tensor:
    """A copy of a dense tensor with the same strides, also where elements overlap in memory."""
    raw = raw.detach()
    span = TensorMetadata(raw.shape, raw.stride(), raw.dtype, raw.device).span
    return raw.as_strided((span,), (1,)).clone().as_strided(raw.shape, raw.stride())
