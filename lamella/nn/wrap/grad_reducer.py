"""Gradients summed over the processes of a distributed run."""

from __future__ import annotations

from typing import Any

import torch.distributed as distributed

from ...ops.primitives.update_rules import kernels
from ...tensor import wrap
from ..cell import Cell

__all__ = ["DistributedGradReducer", "parallel_setting"]


def parallel_setting(name: str, default: Any) -> Any:
    """An option of `set_auto_parallel_context`, `default` where it was never set."""
    from ... import context

    get = getattr(context, "get_auto_parallel_context", None)
    try:
        found = None if get is None else get(name)
    except ValueError:
        found = None
    return default if found is None else found


class DistributedGradReducer(Cell):
    """Sums each gradient over the processes of a distributed run; changes nothing in a single one.

    Args:
        parameters: the parameters whose gradients will come.
        mean: whether to divide the sum by `degree`; default: the option ``gradients_mean``.
        degree: the number to divide by; default: the number of processes.
        fusion_type, group: accepted as MindSpore does.

    Inputs:
        - **grads** - a tuple of gradients.

    Outputs:
        A tuple of gradients.

    Raises:
        ValueError: if `degree` is no int above 0.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> print(ms.nn.DistributedGradReducer([w])((ms.Tensor([2.0]),))[0])
        [2.]
    """

    def __init__(self, parameters: Any, mean: bool | None = None, degree: int | None = None,
                 fusion_type: int = 1, group: str = "hccl_world_group"):
        super().__init__(auto_prefix=False)
        self.mean = parallel_setting("gradients_mean", False) if mean is None else mean
        self.degree = _processes() if degree is None else degree
        if not isinstance(self.degree, int) or self.degree <= 0:
            raise ValueError(f"For 'DistributedGradReducer', 'degree' must be an int above 0, "
                             f"but got {degree!r}.")
        self.group = group
        self.fusion_type = fusion_type

    def construct(self, grads: Any) -> Any:
        """Sum the gradients over the processes."""
        if _processes() == 1:
            return grads
        raws = [g._raw.clone() for g in grads]
        works = [distributed.all_reduce(raw, async_op=True) for raw in raws]
        for work in works:
            if work is not None:
                work.wait()
        if self.mean:
            kernels._foreach_div_(raws, float(self.degree))
        return tuple(wrap(raw) for raw in raws)


def _processes() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1
