"""Tensors in one piece of memory, as MindSpore's contiguous handle keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .tensor import Tensor, wrap

__all__ = ["ContiguousTensorsHandle", "combine_tensor_list_contiguous"]


class ContiguousTensorsHandle:
    """Tensors that lie one behind the other in memory; parts of it share that memory.

    On other devices than a CPU each tensor begins at a multiple of 512 bytes.

    Args:
        tensor_list: tensors of one type; they are moved into the new memory.
        enable_mem_align: must be True.

    Raises:
        TypeError: if there are no tensors, or tensors of several types.
        ValueError: for parts that aren't there.

    Examples:
        >>> import lamella as ms
        >>> from lamella.tensors.contiguous_tensors import ContiguousTensorsHandle
        >>> handle = ContiguousTensorsHandle([ms.Tensor([1, 2, 3]), ms.Tensor([4, 5])])
        >>> print(handle[1:3], handle[0], handle.slice_by_tensor_index(1, 2))
        [2 3] [1] [4 5]
    """

    def __init__(self, tensor_list: Sequence[Tensor], enable_mem_align: bool = True):
        name = type(self).__name__
        given = isinstance(tensor_list, (list, tuple)) and tensor_list
        if not given or not all(isinstance(t, Tensor) for t in tensor_list):
            raise TypeError(f"For '{name}', 'tensor_list' must be a list or tuple of Tensors, "
                            f"but got {tensor_list!r}.")
        if not isinstance(enable_mem_align, bool):
            raise TypeError(f"For '{name}', 'enable_mem_align' must be a bool, "
                            f"but got {enable_mem_align!r}.")
        self.tensor_list, self.enable_mem_align = tuple(tensor_list), enable_mem_align
        raws = [t._raw for t in tensor_list]
        if len({(raw.dtype, raw.device) for raw in raws}) > 1:
            raise TypeError(f"For '{name}', the Tensors in 'tensor_list' must have one type and be "
                            f"on one device, but got {[t.dtype for t in tensor_list]}.")
        step = 1 if raws[0].device.type == "cpu" else 512 // raws[0].itemsize
        self._begins = [0]
        for raw in raws:
            self._begins.append(self._begins[-1] + -(-raw.numel() // step) * step)
        self._memory = raws[0].new_zeros(self._begins[-1])
        for tensor, raw, begin in zip(tensor_list, raws, self._begins, strict=False):
            part = self._memory[begin:begin + raw.numel()].view(raw.shape)
            tensor._raw = part.copy_(raw.detach())

    def __getitem__(self, item: Any) -> Tensor:
        length = len(self._memory)
        if isinstance(item, slice):
            start = 0 if item.start is None else item.start
            stop = length if item.stop is None else item.stop
            return self._part(start, stop, length)
        if isinstance(item, bool) or not isinstance(item, int):
            raise TypeError(f"For '{type(self).__name__}', an index must be an int or a slice, "
                            f"but got {item!r}.")
        return self._part(item, item + 1, length)

    def __str__(self) -> str:
        lines = [f"Handle total size: {self._memory.nbytes}"]
        lines += [f"Tensor[{i}]: {t}" for i, t in enumerate(self.tensor_list)]
        return "\n".join(lines) + "\n"

    def slice_by_tensor_index(self, start: int | None = None, end: int | None = None) -> Tensor:
        """The memory of the tensors from number `start` to before `end`, in one dimension.

        Without `end` that of tensor `start` alone, without both that of all.
        """
        count = len(self.tensor_list)
        first = 0 if start is None else start
        last = end if end is not None else count if start is None else first + 1
        self._check(first, last, count)
        behind = self._begins[last - 1] + self.tensor_list[last - 1]._raw.numel()
        return wrap(self._memory[self._begins[first]:behind])

    def _part(self, start: Any, stop: Any, length: int) -> Tensor:
        self._check(start, stop, length)
        return wrap(self._memory[start:stop])

    def _check(self, start: Any, stop: Any, length: int) -> None:
        name = type(self).__name__
        for value in (start, stop):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"For '{name}', the ends of a part must be ints, but got "
                                f"{value!r}.")
        if not 0 <= start < stop <= length:
            raise ValueError(f"For '{name}', a part must lie in [0, {length}), but got "
                             f"{start} to {stop}.")


def combine_tensor_list_contiguous(tensor_list: Sequence[Tensor], enable_mem_align: bool = True
                                   ) -> ContiguousTensorsHandle:
    """Move tensors into one piece of memory, see `ContiguousTensorsHandle`."""
    return ContiguousTensorsHandle(tensor_list, enable_mem_align)
