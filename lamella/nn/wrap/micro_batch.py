"""Runs a network on parts of the batch, one after the other, and sums the losses."""

from __future__ import annotations

from typing import Any

from ...core.spreading import spreading
from ...tensors.tensor import Tensor, wrap
from .. import checks
from ..cell import Cell
from ..checks import count, of_type

__all__ = ["GradAccumulationCell", "MicroBatchInterleaved", "PipelineCell"]


class _MicroBatch(Cell):
    """The i-th of `micro_size` equal parts of each input, along the first dimension."""

    def __init__(self, micro_size: int):
        super().__init__()
        self.micro_size = micro_size

    def construct(self, i: int, *inputs: Any) -> tuple[Any, ...]:
        """Cut the part out."""
        parts = []
        for each in inputs:
            checks.tensor(each, "inputs", type(self).__name__)
            if not each.ndim:
                raise ValueError(f"For {type(self).__name__!r}, each input must have a dimension "
                                 f"along which it is cut, but got a scalar.")
            length = each.shape[0]
            if length % self.micro_size:
                raise ValueError(f"For {type(self).__name__!r}, the first dimension of each input "
                                 f"must be a multiple of the {self.micro_size} parts, but got "
                                 f"shape {each.shape}.")
            part = length // self.micro_size
            parts.append(wrap(each._raw.narrow(0, i * part, part)))
        return tuple(parts)


class _SummedParts(Cell):
    """The sum of a network's results for each part of its inputs."""

    def __init__(self, network: Cell, parts: int, name: str):
        super().__init__(auto_prefix=False)
        where = type(self).__name__
        of_type(network, Cell, "network", where)
        count(parts, name, where)
        self.network = network
        self._part = _MicroBatch(parts)

    def construct(self, *inputs: Tensor) -> Any:
        """The sum of what the network gives for the parts."""
        total: Any = None
        for i in range(self._part.micro_size):
            output = self.network(*self._part(i, *inputs))
            total = output if total is None else total + output
        return total


class GradAccumulationCell(_SummedParts):
    """Runs the network on `micro_size` parts of the batch and sums the losses.

    Args:
        network: the network with its loss.
        micro_size: the number of parts.

    Inputs:
        Those of `network`.

    Outputs:
        The sum of what `network` gives.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or not above 0.

    Examples:
        >>> import lamella as ms
        >>> class Mean(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return x.mean()
        >>> print(ms.nn.GradAccumulationCell(Mean(), 2)(ms.Tensor([1.0, 3.0, 5.0, 7.0])))
        8.0
    """

    def __init__(self, network: Cell, micro_size: int):
        super().__init__(network, micro_size, "micro_size")
        self.micro_size = micro_size


class MicroBatchInterleaved(_SummedParts):
    """`GradAccumulationCell` under the name it has where parts overlap with communication.

    Args:
        network: the network with its loss.
        interleave_num: the number of parts.

    Examples:
        >>> import lamella as ms
        >>> class Mean(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return x.mean()
        >>> print(ms.nn.MicroBatchInterleaved(Mean())(ms.Tensor([1.0, 3.0, 5.0, 7.0])))
        8.0
    """

    def __init__(self, network: Cell, interleave_num: int = 2):
        super().__init__(network, interleave_num, "interleave_num")
        self.interleave_num = interleave_num


class PipelineCell(_SummedParts):
    """Runs the network on `micro_size` parts of the batch and sums the losses.

    With ``pipeline_stages`` above 1 (`set_auto_parallel_context`, `AutoParallel.pipeline`) and
    several processes, each runs those Cells whose ``pipeline_stage`` is its own, and holds their
    Parameters. A Cell without one belongs to the last stage that one of its inputs comes from. A
    Parameter that several stages use is held by the first, and its gradient is the sum of theirs.
    While a stage computes a part, others compute the parts before and after it. The loss is in all
    processes. Else this is `GradAccumulationCell`.

    With ``pipeline_interleave`` values may go from the last stage back to the first, and a stage
    runs several chunks of the network; with the scheduler ``"zero_bubble_v"`` they go from the
    first stage to the last and back.

    Args:
        network: the network with its loss.
        micro_size: the number of parts.
        stage_config: by the path of a Cell, its stage; kept as its attribute ``pipeline_stage``.
        segment_config: by the path of a Cell, whether it is on the way from the first stage to the
            last (0) or on the path back to the first (1), with ``"zero_bubble_v"``; kept as
            ``pipeline_segment``. By default the first of these that its inputs allow.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or not above 0; when called, if
            stages of Cells don't fit.
        KeyError: if a path is not in the network.
        RuntimeError: when called, if other processes fail.

    Examples:
        >>> import lamella as ms
        >>> class Mean(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return x.mean()
        >>> print(ms.nn.PipelineCell(Mean(), 2)(ms.Tensor([1.0, 3.0, 5.0, 7.0])))
        8.0
    """

    runs_stages = True

    def __init__(self, network: Cell, micro_size: int, stage_config: dict[str, int] | None = None,
                 segment_config: dict[str, int] | None = None):
        super().__init__(network, micro_size, "micro_size")
        self.micro_size = micro_size
        for attribute, config in (("pipeline_stage", stage_config),
                                  ("pipeline_segment", segment_config)):
            cells = dict(network.cells_and_names())
            for path, number in (config or {}).items():
                target = cells.get(path) or (network if path == str(network) else None)
                if target is None:
                    raise KeyError(f"For 'PipelineCell', the network has no Cell {path!r}; it has "
                                   f"{', '.join(repr(p) for p in cells if p)}.")
                setattr(target, attribute, number)

    def construct(self, *inputs: Tensor) -> Any:
        """The sum of what the network gives for the parts."""
        if not spreading().runs_stages():
            return super().construct(*inputs)
        return spreading().run_stages(
            self.network, lambda: [self._part(i, *inputs) for i in range(self.micro_size)],
            type(self).__name__)

    def shard(self, *args: Any, **kwargs: Any) -> None:
        """Refused, as MindSpore does.

        Raises:
            ValueError: always.
        """
        raise ValueError("For 'PipelineCell', no 'shard' on 'PipelineCell' is allowed.")
