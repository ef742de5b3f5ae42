"""Matrix products whose operands or results are spread over processes."""

from __future__ import annotations

from typing import Any

import torch

from ..communication import rules
from ..communication.groups import Group, group_of
from ..core.docstrings import documented_like
from ..core.errors import op
from ..core.require import one_of
from ..tensors.tensor import Tensor, wrap
from .arguments import require

__all__ = ["all_gather_matmul", "matmul_reduce_scatter"]


def _checked(name: str, group: str, world_size: int, input: Tensor, x2: Tensor, bias: Any,
             trans_input: bool, trans_x2: bool) -> tuple[Group, torch.Tensor, torch.Tensor]:
    members, left, right = group_of(group, name), input._raw, x2._raw
    require(members.size == world_size, ValueError,
            f"For '{name}', 'world_size' must be the number of processes in the group, "
            f"{members.size}, but got {world_size}.")
    require(bias is None and not trans_input, ValueError,
            f"For '{name}', 'bias' must be None and 'trans_input' False, as in MindSpore.")
    right = right.T if trans_x2 and right.ndim == 2 else right
    require(left.ndim == right.ndim == 2 and left.shape[1] == right.shape[0], ValueError,
            f"For '{name}', 'input' and 'x2' must be matrices that can be multiplied, but got "
            f"{input.shape} and {x2.shape}{', transposed' if trans_x2 else ''}.")
    require(left.dtype == right.dtype, TypeError,
            f"For '{name}', 'input' and 'x2' must be of one type, but got {input.dtype} and "
            f"{x2.dtype}.")
    return members, left, right


@op
def all_gather_matmul(input: Tensor, x2: Tensor, group: str, world_size: int, *,
                      bias: Any = None, gather_index: int = 0, gather_output: bool = True,
                      comm_turn: int = 0, trans_input: bool = False, trans_x2: bool = False
                      ) -> tuple[Tensor, Tensor]:
    """The rows of all processes, times a matrix.

    Args:
        input: this process's rows, shape (m, k).
        x2: shape (k, n), or (n, k) with `trans_x2`.
        group: the group's name.
        world_size: how many processes it has.
        bias, gather_index, trans_input: must be None, 0 and False, as in MindSpore.
        gather_output: whether to give the rows, too.
        comm_turn: accepted for MindSpore's sake.
        trans_x2: whether `x2` is transposed.

    Returns:
        The product (m * world_size, n), and the rows (m * world_size, k), or no elements.

    Raises:
        TypeError: if types differ.
        ValueError: if shapes, the group or an option don't fit.

    Examples:
        >>> import lamella as ms
        >>> world = ms.communication.GlobalComm.WORLD_COMM_GROUP
        >>> out, rows = ms.ops.all_gather_matmul(ms.ops.ones((2, 3)), ms.ops.ones((3, 1)), world, 1)
        >>> print(out.reshape((-1,)), rows.shape)
        [3. 3.] (2, 3)
    """
    name = "all_gather_matmul"
    one_of(gather_index, (0,), "gather_index", name)
    members, left, right = _checked(name, group, world_size, input, x2, bias, trans_input,
                                    trans_x2)
    rows = rules.all_gather(name, left, members)
    return wrap(rows @ right), wrap(rows if gather_output else rows.new_zeros(0))


@documented_like(all_gather_matmul)
@op
def matmul_reduce_scatter(input: Tensor, x2: Tensor, group: str, world_size: int, *,
                          reduce_op: str = "sum", bias: Any = None, comm_turn: int = 0,
                          trans_input: bool = False, trans_x2: bool = False) -> Tensor:
    """This process's rows of the sum of all processes' products.

    Args:
        input: shape (m, k), where m is a multiple of `world_size`.
        x2: shape (k, n), or (n, k) with `trans_x2`.
        group: the group's name.
        world_size: how many processes it has.
        reduce_op: ``'sum'``.
        bias, trans_input: must be None and False, as in MindSpore.
        comm_turn: accepted for MindSpore's sake.
        trans_x2: whether `x2` is transposed.

    Returns:
        Tensor of shape (m / world_size, n).

    Examples:
        >>> import lamella as ms
        >>> world = ms.communication.GlobalComm.WORLD_COMM_GROUP
        >>> x, w = ms.ops.ones((2, 3)), ms.ops.ones((3, 1))
        >>> print(ms.ops.matmul_reduce_scatter(x, w, world, 1).reshape((-1,)))
        [3. 3.]
    """
    name = "matmul_reduce_scatter"
    one_of(reduce_op, ("sum",), "reduce_op", name)
    members, left, right = _checked(name, group, world_size, input, x2, bias, trans_input,
                                    trans_x2)
    rules.check_divisible(name, left.shape, 0, members.size)
    return wrap(rules.reduce_scatter(name, left @ right, "sum", members))
