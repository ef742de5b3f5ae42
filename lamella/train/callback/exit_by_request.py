"""`ExitByRequest`: all processes of a training agree to end it."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...communication import rules
from ...communication.groups import group_of
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap

__all__ = ["ExitByRequest", "TFTCommValue"]


class ExitByRequest:
    """Tells each process, in a step, whether all of them were asked to end.

    Examples:
        >>> import lamella as ms
        >>> asked = ms.Parameter(ms.Tensor([1]), name="asked")
        >>> ends = ms.Parameter(ms.Tensor(False), name="ends")
        >>> print(ms.ExitByRequest().exit_by_request(ms.Tensor(2.0), asked, ends), ends.value())
        2.0 False
    """

    def __init__(self):
        self._group = group_of(None, "ExitByRequest")
        self.group_size = self._group.size
        self.is_distributed = self.group_size > 1

    def exit_by_request(self, grad: Any, init_value: Tensor, exit_value: Parameter) -> Any:
        """Set `exit_value` to whether `init_value` is 1 everywhere; alone nothing happens.

        Args:
            grad: what is given back.
            init_value: 1 where this process was asked, shape (1,).
            exit_value: a Parameter of a bool.
        """
        if self.is_distributed:
            total = rules.all_reduce("ExitByRequest", init_value._raw, "sum", self._group)
            ops.assign(exit_value, wrap((total == self.group_size).all().reshape(exit_value.shape)))
        return grad


class TFTCommValue:
    """Values of the environment variable ``MS_ENABLE_TFT``, by what each needs on an Ascend.

    Examples:
        >>> import lamella as ms
        >>> "TTP:1" in ms.TFTCommValue.NEED_MINDIO
        True
    """

    ENABLE_MINDX = ["TTP:1", "UCE:1", "ARF:1", "TSP:1", "HCCE:1", "RSC:1"]
    NEED_MINDIO = ["TTP:1", "UCE:1", "ARF:1", "TSP:1", "HCCE:1"]
    DISABLE_WATCHDOG = ["ARF:1", "TSP:1", "HCCE:1"]
