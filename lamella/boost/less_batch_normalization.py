"""`LessBN`: a training with fewer layers of batch normalization."""

from __future__ import annotations

from typing import Any

from .. import ops
from ..common.initializer import initializer
from ..core import dtype as mstype
from ..nn.cell import Cell
from ..nn.dense import Dense
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor

__all__ = ["CommonHeadLastFN", "LessBN"]


class CommonHeadLastFN(Cell):
    """A last dense layer of unit vectors: ``multiplier * (x / |x|) (W / |W|)ᵀ + bias``.

    Args:
        in_channels, out_channels: the sizes of input and output.
        weight_init, bias_init: their initializers.
        has_bias: whether there is a bias, which the multiplier scales too.

    Inputs:
        - **x** - Tensor (N, in_channels).

    Outputs:
        Tensor (N, out_channels).

    Examples:
        >>> import lamella as ms
        >>> from lamella.boost.less_batch_normalization import CommonHeadLastFN
        >>> head = CommonHeadLastFN(2, 1, weight_init="ones")
        >>> print(head(ms.Tensor([[3.0, 3.0]])))
        [[1.]]
    """

    def __init__(self, in_channels: int, out_channels: int, weight_init: Any = "normal",
                 bias_init: Any = "zeros", has_bias: bool = True):
        super().__init__()
        self.weight = Parameter(initializer(weight_init, [out_channels, in_channels]),
                                name="weight")
        self.multiplier = Parameter(Tensor([1.0], mstype.float32), name="multiplier")
        self.has_bias = has_bias
        if has_bias:
            self.bias = Parameter(initializer(bias_init, [out_channels]), name="bias")

    def construct(self, x: Tensor) -> Tensor:
        """The scaled cosines."""
        out = ops.matmul(_unit(x), _unit(self.weight).T)
        return self.multiplier * (out + self.bias if self.has_bias else out)


def _unit(rows: Tensor) -> Tensor:
    """Rows of length 1."""
    return rows / ops.sqrt(ops.maximum((rows * rows).sum(1, keepdims=True), 1e-4))


class LessBN(Cell):
    """Marks a network as one whose batch normalization may be left out, see `Cell.set_boost`.

    MindSpore's compiler then leaves out some of it on an Ascend; here all of it is computed.

    Args:
        network: the network.
        fn_flag: whether to replace the last dense layer of each Cell by one of unit vectors.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(4, 3), ms.nn.ReLU(), ms.nn.Dense(3, 2))
        >>> _ = ms.boost.LessBN(net, fn_flag=True)
        >>> [type(cell).__name__ for cell in net]
        ['Dense', 'ReLU', 'CommonHeadLastFN']
    """

    def __init__(self, network: Cell, fn_flag: bool = False):
        super().__init__()
        self.network = network
        if "less_bn" not in network.get_flags():
            network.set_boost("less_bn")
            network.update_cell_prefix()
            if fn_flag:
                _replace_last_dense(network)

    def construct(self, *inputs: Any) -> Any:
        """What the network gives."""
        return self.network(*inputs)


def _replace_last_dense(cell: Cell) -> None:
    """Replace the last dense layer of this Cell and of each below it, which keeps its weight."""
    children = {name: child for name, child in cell.name_cells().items() if child is not cell}
    dense = [name for name, child in children.items() if isinstance(child, Dense)]
    for name, child in children.items():
        if name not in dense:
            _replace_last_dense(child)
    if dense:
        old = children[dense[-1]]
        new = CommonHeadLastFN(old.in_channels, old.out_channels, old.weight, has_bias=False)
        prefix = old.param_prefix
        new.update_parameters_name(f"{prefix}." if prefix else "")
        cell.insert_child_to_cell(dense[-1], new)
