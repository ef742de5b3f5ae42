"""The table of names that a room shows, but a room above it defines; `core.elsewhere` reads it.

By room, the modules that have the names. Sparse tensors, collectives as functions and checkpoints
of many processes are rooms above those in which MindSpore shows them too.
"""

from ..core.elsewhere import show_elsewhere

__all__ = ["SHOWN"]

SHOWN = {
    "ops": {
        "sparse.operators": """
        Coalesce SparseGatherV2 SparseSlice SparseTensorDenseAdd SparseTensorDenseMatmul
        SparseToDense coalesce coo2csr coo_abs coo_acos coo_acosh coo_add coo_asin coo_asinh
        coo_atan coo_atanh coo_ceil coo_concat coo_cos coo_cosh coo_exp coo_expm1 coo_floor
        coo_inv coo_isfinite coo_isinf coo_isnan coo_log coo_log1p coo_neg coo_relu coo_relu6
        coo_round coo_sigmoid coo_sin coo_sinh coo_softsign coo_sqrt coo_square coo_tan coo_tanh
        coo_tensor_get_dense_shape coo_tensor_get_indices coo_tensor_get_values csr2coo csr_abs
        csr_acos csr_acosh csr_add csr_asin csr_asinh csr_atan csr_atanh csr_ceil csr_cos
        csr_cosh csr_div csr_exp csr_expm1 csr_floor csr_gather csr_inv csr_isfinite csr_isinf
        csr_isnan csr_log csr_log1p csr_mm csr_mul csr_mv csr_neg csr_reduce_sum csr_relu
        csr_relu6 csr_round csr_sigmoid csr_sin csr_sinh csr_softmax csr_softsign csr_sqrt
        csr_square csr_tan csr_tanh csr_tensor_get_dense_shape csr_tensor_get_indices
        csr_tensor_get_indptr csr_tensor_get_values csr_to_coo csr_to_dense dense_to_sparse_coo
        dense_to_sparse_csr make_coo_tensor make_csr_tensor make_row_tensor
        make_row_tensor_inner make_sparse_tensor row_tensor_add row_tensor_get_dense_shape
        row_tensor_get_indices row_tensor_get_values
            """,
        "ops.python_values": """
        SliceGetItem augassign_add augassign_div augassign_floordiv augassign_mod
        augassign_mul augassign_sub hyper_add
        array_to_scalar bool_and bool_eq bool_not bool_or broadcast_gradient_args dict_getitem
        dict_setitem hastype in_dict is_ is_dynamic_sequence_element_unknown is_not
        is_sequence_shape_unknown is_sequence_value_unknown is_tensor_bool_cond isconstant
        list_equal list_getitem list_len list_setitem make_dict make_slice not_in_dict
        reduced_shape scalar_add scalar_div scalar_eq scalar_floordiv scalar_ge scalar_gt
        scalar_le scalar_log scalar_lt scalar_max scalar_min scalar_mod scalar_mul scalar_ne
        scalar_pow scalar_sub scalar_uadd scalar_usub shape_mul string_concat string_eq switch
        switch_layer tail tuple_div tuple_equal tuple_reversed tuple_setitem
            """,
        "ops.arg_dtype_cast": "DtypeToEnum",
        "ops.tensor_operators": "tensor_operator_registry",
        "parallel.auto_parallel": "reshard",
        "ops.graph_functions": """
        PyExecute Reusing UpdateState embed env_get environ_add environ_create environ_get
        environ_set iter_converter ms_hasnext ms_next recompute_block ref_to_embed zip_operation
            """,
        "mint.distributed.in_place": """
        P2POp TCPStore all_gather all_gather_into_tensor all_gather_into_tensor_uneven
        all_gather_object all_reduce all_to_all all_to_all_single all_to_all_v_c barrier
        batch_isend_irecv broadcast broadcast_object_list destroy_process_group
        gather_into_tensor gather_object get_backend get_global_rank get_group_rank
        get_process_group_ranks get_rank get_world_size init_process_group irecv is_available
        is_initialized isend new_group recv recv_object_list reduce reduce_scatter
        reduce_scatter_tensor reduce_scatter_tensor_uneven scatter_object_list scatter_tensor
        send send_object_list set_comm_ops_inplace
            """,
    },
    "tensors": {"insight.notebook": "tensor_html"},
    "nn": {"insight.notebook": "cell_html"},
    "insight": {"insight.notebook": "summary_html"},
    "graph": {"insight.compilation": "compilation_html compilation_page"},
    "parallel": {
        "train": """
        build_searched_strategy convert_checkpoint_by_rank convert_checkpoints
        load_distributed_checkpoint load_segmented_checkpoints merge_pipeline_strategys
        merge_sliced_parameter parameter_broadcast rank_list_for_convert rank_list_for_transform
        restore_group_info_list sync_pipeline_shared_parameters transform_checkpoint_by_rank
        transform_checkpoints unified_safetensors
            """,
    },
}


for _room, _homes in SHOWN.items():
    for _home, _names in _homes.items():
        show_elsewhere(_room, _home, _names.split())
