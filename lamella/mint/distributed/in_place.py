"""`ops.communication`: the functions of `mint.distributed`, some of which can give new Tensors.

By default they write into the Tensors that they are given. After `set_comm_ops_inplace(False)`
those that have another form, as `communication.comm_func` has it, give their result instead; the
others raise an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...communication import comm_func
from ...communication.store import TCPStore
from ...core.settings import Settings
from .. import distributed
from . import (
    P2POp,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)

__all__ = [
    "P2POp", "TCPStore", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven",
    "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "all_to_all_v_c",
    "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "destroy_process_group",
    "gather", "gather_into_tensor", "gather_object", "get_backend", "get_global_rank",
    "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "init_process_group", "irecv", "is_available", "is_initialized", "isend", "new_group", "recv",
    "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "reduce_scatter_tensor_uneven", "scatter", "scatter_object_list", "scatter_tensor", "send",
    "send_object_list", "set_comm_ops_inplace",
]

_writes = Settings("set_comm_ops_inplace", {})  # by the function's name


def _switched(writes: Callable[..., Any], gives: Callable[..., Any] | None = None
              ) -> Callable[..., Any]:
    """A function that writes its result, or gives it, as `set_comm_ops_inplace` has said."""
    name = writes.__name__
    _writes.add(name, True)

    @functools.wraps(writes)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _writes[name]:
            return writes(*args, **kwargs)
        if gives is None:
            raise ValueError(f"For '{name}', there is no form that gives a new Tensor, but "
                             f"'set_comm_ops_inplace' has asked for one.")
        return gives(*args, **kwargs)

    return call


def set_comm_ops_inplace(is_enable: bool, func_list: list[str] | None = None) -> None:
    """Say whether functions of this module write into Tensors, or give new ones.

    `all_reduce`, `all_gather_into_tensor`, `reduce_scatter_tensor`, `irecv` and `recv` can give new
    ones: with a handle or None, as in `communication.comm_func`. The others then raise ValueError.

    Args:
        is_enable: whether they write.
        func_list: the names of functions; default: all.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if there is no function of a name.

    Examples:
        >>> import lamella as ms
        >>> from lamella.mint.distributed.in_place import all_reduce, set_comm_ops_inplace
        >>> set_comm_ops_inplace(False, ["all_reduce"])
        >>> print(all_reduce(ms.Tensor([1.0, 2.0]))[0])
        [1. 2.]
        >>> set_comm_ops_inplace(True)
    """
    if not isinstance(is_enable, bool):
        raise TypeError(f"For 'set_comm_ops_inplace', the argument 'is_enable' must be type of "
                        f"bool, but got 'is_enable' type : {type(is_enable)}.")
    if func_list is not None and not isinstance(func_list, (list, tuple)):
        raise TypeError(f"For 'set_comm_ops_inplace', 'func_list' must be a list of names, but got "
                        f"{type(func_list)}.")
    names = list(_writes) if func_list is None else func_list
    for name in names:
        if name not in _writes:
            raise ValueError(f"For 'set_comm_ops_inplace', 'func_list' must have names of "
                             f"{', '.join(_writes)}, but got {name!r}.")
    _writes.update(dict.fromkeys(names, is_enable))


def _gathered(output_tensor: Any, input_tensor: Any, group: str | None = None,
              async_op: bool = False) -> Any:
    return comm_func.all_gather_into_tensor(input_tensor, group, async_op)


def _scattered(output: Any, input: Any, op: str = "sum", group: str | None = None,
               async_op: bool = False) -> Any:
    return comm_func.reduce_scatter_tensor(input, op, group, async_op)


all_reduce = _switched(distributed.all_reduce, comm_func.all_reduce)
all_gather_into_tensor = _switched(distributed.all_gather_into_tensor, _gathered)
all_gather_into_tensor_uneven = _switched(distributed.all_gather_into_tensor_uneven)
all_to_all = _switched(distributed.all_to_all)
all_to_all_single = _switched(distributed.all_to_all_single)
reduce_scatter_tensor = _switched(distributed.reduce_scatter_tensor, _scattered)
reduce_scatter_tensor_uneven = _switched(distributed.reduce_scatter_tensor_uneven)
isend = _switched(distributed.isend)
irecv = _switched(distributed.irecv, comm_func.irecv)
send = _switched(distributed.send)
recv = _switched(distributed.recv, comm_func.recv)
gather = _switched(distributed.gather)
scatter = _switched(distributed.scatter)
all_gather = _switched(distributed.all_gather)
reduce_scatter = _switched(distributed.reduce_scatter)
barrier = _switched(distributed.barrier, distributed.barrier)
broadcast = _switched(distributed.broadcast)
reduce = _switched(distributed.reduce)
batch_isend_irecv = _switched(distributed.batch_isend_irecv)
all_gather_object = _switched(distributed.all_gather_object)
broadcast_object_list = _switched(distributed.broadcast_object_list)
gather_object = _switched(distributed.gather_object)
scatter_object_list = _switched(distributed.scatter_object_list)
send_object_list = _switched(distributed.send_object_list)
recv_object_list = _switched(distributed.recv_object_list)
gather_into_tensor = _switched(distributed.gather_into_tensor)
scatter_tensor = _switched(distributed.scatter_tensor)
all_to_all_v_c = _switched(comm_func.all_to_all_v_c)
