"""`train.serialization`: everything about checkpoints under the one path that programs import."""

from __future__ import annotations

from .checkpoint import (
    async_ckpt_thread_status,
    load_checkpoint,
    load_checkpoint_async,
    save_checkpoint,
)
from .checkpoint_convert import ckpt_to_safetensors, safetensors_to_ckpt
from .checkpoint_internal import _exec_save as _exec_save
from .checkpoint_internal import _get_merged_param_data as _get_merged_param_data
from .checkpoint_internal import _parse_ckpt_proto as _parse_ckpt_proto
from .checkpoint_internal import tensor_to_ms_type as tensor_to_ms_type
from .checkpoint_internal import tensor_to_np_type as tensor_to_np_type
from .checkpoint_net import _load_dismatch_prefix_params as _load_dismatch_prefix_params
from .checkpoint_net import _update_param as _update_param
from .checkpoint_net import load_param_into_net

__all__ = ["async_ckpt_thread_status", "ckpt_to_safetensors", "load_checkpoint",
           "load_checkpoint_async", "load_param_into_net", "safetensors_to_ckpt",
           "save_checkpoint"]
