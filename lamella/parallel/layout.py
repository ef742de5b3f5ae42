"""`Layout`: along which axes of a device mesh the dimensions of a Tensor are cut."""

from __future__ import annotations

import copy
import math
from typing import Any

__all__ = ["Layout"]


class Layout:
    """An arrangement of processes in named axes, and, when called, a Tensor's place in it.

    ``Primitive.shard``, ``Cell.shard`` and `shard` take it. It says which axes cut a dimension; at
    which process of an axis a part lies is decided here, as it changes no number.

    Args:
        device_matrix: how many processes there are along each axis.
        alias_name: the axes' names.
        rank_list: the processes' ranks, in that order; default: 0, 1, ...

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if lengths differ, a name comes twice or is ``"None"``, or ranks are missing.

    Examples:
        >>> from lamella.parallel import Layout
        >>> layout = Layout((2, 2, 2), ("dp", "sp", "mp"))
        >>> layout("dp", "None", ("sp", "mp")).to_dict()["tensor_map"]
        (2, -1, (1, 0))
    """

    def __init__(self, device_matrix: tuple[int, ...], alias_name: tuple[str, ...],
                 rank_list: list[int] | None = None):
        if not isinstance(device_matrix, tuple):
            raise TypeError(f"For 'Layout', device_matrix must be tuple type, "
                            f"but got:{type(device_matrix)}")
        if not isinstance(alias_name, tuple):
            raise TypeError(f"For 'Layout', alias_name must be tuple type, "
                            f"but got:{type(alias_name)}")
        for count in device_matrix:
            if not isinstance(count, int) or isinstance(count, bool):
                raise TypeError(f"The element of device_matrix must be int type, "
                                f"but got:{type(count)}")
            if count < 1:
                raise ValueError(f"The element of device_matrix must be above 0, but got {count}.")
        for name in alias_name:
            if not isinstance(name, str):
                raise TypeError(f"The element of alias_name must be str type, but got:{type(name)}")
            if not name:
                raise ValueError("The element of alias_name can not be empty.")
            if name == "None":
                raise ValueError("The element of alias_name can not set 'None', because 'None' "
                                 "means no sharding.")
        if len(device_matrix) != len(alias_name):
            raise ValueError(f"For 'Layout', device_matrix length should be equal to alias_name "
                             f"length, but got {device_matrix} and {alias_name}.")
        if len(set(alias_name)) != len(alias_name):
            raise ValueError(f"Each element of alias_name {alias_name} should be different")
        size = math.prod(device_matrix)
        if rank_list is None:
            rank_list = list(range(size))
        if not isinstance(rank_list, list):
            raise TypeError(f"rank_list must be list type, but got:{type(rank_list)}")
        if len(rank_list) != size:
            raise ValueError(f"The length of rank_list should be equal to the product of "
                             f"device_matrix, but got {len(rank_list)} and {size}.")
        self._device_shape = device_matrix
        self._alias_name = alias_name
        self._rank_list = rank_list
        self._tensor_map: tuple[Any, ...] | None = None

    def __call__(self, *tensor_map: str | tuple[str, ...]) -> Layout:
        """The layout of a Tensor.

        Args:
            tensor_map: for each dimension of the Tensor the axis that it is cut along, several in
                a tuple, or ``"None"``.

        Raises:
            ValueError: if there is no axis of a name, or it comes twice.
        """
        used: set[str] = set()

        def place(axis: Any) -> int:
            if axis == "None":
                return -1
            if axis not in self._alias_name:
                raise ValueError(f"The axis {axis} is not found in {self._alias_name}")
            if axis in used:
                raise ValueError(f"The axis {axis} has been set more than one in "
                                 f"{self._alias_name}")
            used.add(axis)
            return len(self._alias_name) - 1 - self._alias_name.index(axis)

        found = copy.copy(self)
        found._tensor_map = tuple(
            tuple(map(place, axes)) if isinstance(axes, tuple) else place(axes)
            for axes in tensor_map)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The layout of a Tensor as a dict.

        Returns:
            A dict with ``device_matrix``, ``tensor_map`` (axes counted from the last one, -1 for
            none), ``interleaved_parallel``, ``alias_name`` and ``rank_list``.

        Raises:
            ValueError: if it is no Tensor's yet.
        """
        if self._tensor_map is None:
            raise ValueError("The tensor_map of layout is None")
        return {"device_matrix": self._device_shape, "tensor_map": self._tensor_map,
                "interleaved_parallel": "interleaved_parallel" in self._alias_name,
                "alias_name": self._alias_name, "rank_list": self._rank_list}
