"""How a Tensor is spread over processes, as an object that checkpoint tools ask."""

from __future__ import annotations

import math

from .layout import Layout

__all__ = ["_DistributedTensorInfo"]


class _DistributedTensorInfo:
    """The layout of a Tensor, and in how many parts it cuts each dimension.

    Args:
        distributed_info: the layout, of a Tensor.

    Raises:
        TypeError: if it is no `Layout`.

    Examples:
        >>> from lamella.parallel.layout import Layout
        >>> from lamella.parallel.tensor_info import _DistributedTensorInfo
        >>> layout = Layout((2, 4), ("dp", "mp"))
        >>> _DistributedTensorInfo(layout(("dp", "mp"), "None")).sharding_strategy
        [8, 1]
    """

    def __init__(self, distributed_info: Layout):
        if not isinstance(distributed_info, Layout):
            raise TypeError(f"DistributedTensorInfo only supports Layout or DeviceMesh as input, "
                            f"but got {type(distributed_info)}")
        self.layout = self.distributed_info = distributed_info

    @property
    def sharding_strategy(self) -> list[int]:
        """The number of parts along each dimension."""
        described = self.layout.to_dict()
        devices, axes = described["device_matrix"], described["tensor_map"]
        return [math.prod(devices[-1 - axis] for axis in (
            place if isinstance(place, tuple) else (place,)) if axis >= 0) for place in axes]
