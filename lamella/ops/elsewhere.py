"""What `ops` shows of rooms above it, which are imported when one of their names is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from ..compat.missing import name_of
from .sparse import sparse_operator, sparse_operators

__all__: list[str] = []

_COMMUNICATION = frozenset("""
    P2POp TCPStore all_gather all_gather_into_tensor all_gather_into_tensor_uneven all_gather_object
    all_reduce all_to_all all_to_all_single all_to_all_v_c barrier batch_isend_irecv broadcast
    broadcast_object_list destroy_process_group gather_into_tensor gather_object get_backend
    get_global_rank get_group_rank get_process_group_ranks get_rank get_world_size
    init_process_group irecv is_available is_initialized isend new_group recv recv_object_list
    reduce reduce_scatter reduce_scatter_tensor reduce_scatter_tensor_uneven scatter_object_list
    scatter_tensor send send_object_list set_comm_ops_inplace
    """.split())


def reduce(tensor: Any, dst: int, op: str = "sum", group: str | None = None,
           async_op: bool = False) -> Any:
    """As `mint.distributed.reduce`; after ``set_comm_ops_inplace(False)`` it raises ValueError."""
    return name_of_another_room("reduce")(tensor, dst, op, group, async_op)


def name_of_another_room(name: str) -> Any:
    """A function of `ops.communication`, an operator of sparse tensors, or one of Python's values.

    Raises:
        AttributeError: if there is none of this name.
    """
    if name in _COMMUNICATION:
        return getattr(importlib.import_module("lamella.mint.distributed.in_place"), name)
    try:
        return sparse_operator(name)
    except AttributeError:
        pass
    python_values = importlib.import_module("lamella.ops.python_values")
    if name not in python_values.__all__:
        raise name_of("lamella.ops", name)
    return getattr(python_values, name)


def names_of_other_rooms() -> set[str]:
    """The names that `name_of_another_room` has."""
    python_values = importlib.import_module("lamella.ops.python_values")
    return {*_COMMUNICATION, *sparse_operators(), *python_values.__all__}
