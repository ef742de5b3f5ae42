"""The names of this package; `make stubs` writes this file."""

from lamella.mint.distributed import objects as objects
from lamella.mint.distributed import peers as peers
from lamella.mint.distributed import tensors as tensors
from lamella.mint.distributed import world as world
from lamella.communication.comm_func import isend as isend, send as send
from lamella.mint.distributed.objects import (
    all_gather_object as all_gather_object, broadcast_object_list as broadcast_object_list,
    gather_object as gather_object, recv_object_list as recv_object_list,
    scatter_object_list as scatter_object_list, send_object_list as send_object_list,
)
from lamella.mint.distributed.peers import (
    P2POp as P2POp, batch_isend_irecv as batch_isend_irecv, irecv as irecv, recv as recv,
)
from lamella.mint.distributed.tensors import (
    all_gather as all_gather, all_gather_into_tensor as all_gather_into_tensor,
    all_gather_into_tensor_uneven as all_gather_into_tensor_uneven, all_reduce as all_reduce,
    all_to_all as all_to_all, all_to_all_single as all_to_all_single, barrier as barrier,
    broadcast as broadcast, gather as gather, gather_into_tensor as gather_into_tensor,
    reduce as reduce, reduce_scatter as reduce_scatter,
    reduce_scatter_tensor as reduce_scatter_tensor,
    reduce_scatter_tensor_uneven as reduce_scatter_tensor_uneven, scatter as scatter,
    scatter_tensor as scatter_tensor,
)
from lamella.mint.distributed.world import (
    destroy_process_group as destroy_process_group, get_backend as get_backend,
    get_global_rank as get_global_rank, get_group_rank as get_group_rank,
    get_process_group_ranks as get_process_group_ranks, get_rank as get_rank,
    get_world_size as get_world_size, init_process_group as init_process_group,
    is_available as is_available, is_initialized as is_initialized, new_group as new_group,
)
