"""Gradients summed over the processes of a distributed run."""

from __future__ import annotations

from typing import Any

import torch

from ...autodiff.tree import map_tensors
from ...communication.buckets import Reduction
from ...communication.groups import HCCL_WORLD_COMM_GROUP, group_of
from ...communication.settings import get_auto_parallel_context
from ...core.spreading import as_whole, is_part
from ...tensors.parameter import Parameter
from ...tensors.tensor import wrap
from ..cell import Cell

__all__ = ["DistributedGradReducer", "PipelineGradReducer"]


class DistributedGradReducer(Cell):
    """Sums each gradient over the processes of a group; changes nothing in a single one.

    Gradients travel together, about 25 MB in a message. In `TrainOneStepCell` messages leave while
    the backward pass still computes others.

    Args:
        parameters: the parameters whose gradients will come.
        mean: whether to divide the sum by `degree`; default: the option ``gradients_mean``.
        degree: the number to divide by; default: the number of processes.
        fusion_type: accepted as MindSpore does.
        group: the group's name.

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
                 fusion_type: int = 1, group: str = HCCL_WORLD_COMM_GROUP):
        super().__init__(auto_prefix=False)
        self.mean = get_auto_parallel_context("gradients_mean") if mean is None else mean
        size = group_of(group, "DistributedGradReducer").size
        self.degree = size if degree is None else degree
        if not isinstance(self.degree, int) or self.degree <= 0:
            raise ValueError(f"For 'DistributedGradReducer', 'degree' must be an int above 0, "
                             f"but got {degree!r}.")
        self.group = group
        self.fusion_type = fusion_type

    def begin(self, likes: list[torch.Tensor | None]) -> Reduction | None:
        """What takes gradients as they come; None in a single process.

        Args:
            likes: a tensor of the shape and type of each gradient; None for one that is a part,
                which has been summed already.
        """
        group = group_of(self.group, "DistributedGradReducer")
        if group.size == 1:
            return None
        return Reduction("DistributedGradReducer", likes, group, self.degree if self.mean else 1)

    def construct(self, grads: Any) -> Any:
        """Sum the gradients over the processes."""
        raws = [g._raw for g in grads]
        reduction = self.begin([None if is_part(raw) else raw for raw in raws])
        if reduction is None:
            return grads
        return tuple([wrap(raw) for raw in as_whole(reduction.finish(raws))])


class PipelineGradReducer(Cell):
    """Divides the gradients of a network that stages run, which are complete, by the loss scale.

    Args:
        parameters: the Parameters whose gradients will come.
        scale_sense: the loss scale.
        opt_shard: accepted as MindSpore does.

    Inputs:
        - **grads** - a tuple of gradients.

    Outputs:
        A tuple of gradients.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> print(ms.nn.PipelineGradReducer(ms.ParameterTuple([w]), 2.0)((ms.Tensor([2.0]),))[0])
        [1.]
    """

    def __init__(self, parameters: Any, scale_sense: Any = 1.0, opt_shard: bool | None = None):
        super().__init__(auto_prefix=False)
        self.scale_sense = Parameter(scale_sense, name="scale_sense")
        self.opt_shard = opt_shard

    def construct(self, grads: Any) -> Any:
        """The gradients divided by the scale."""
        factor = self.scale_sense._raw.reciprocal()
        return map_tensors(lambda t: wrap(t._raw * factor.to(t._raw.dtype)), grads)
