"""Parallelism over processes: its settings, and checkpoints of many processes."""

from typing import Any

from .layout import Layout
from .search_settings import (
    get_algo_parameters,
    reset_algo_parameters,
    set_algo_parameters,
)

# of `train`, which is imported when one of them is first named
_OF_TRAIN = ("build_searched_strategy", "convert_checkpoint_by_rank", "convert_checkpoints",
             "load_distributed_checkpoint", "load_segmented_checkpoints",
             "merge_pipeline_strategys", "merge_sliced_parameter", "parameter_broadcast",
             "rank_list_for_convert", "rank_list_for_transform", "restore_group_info_list",
             "sync_pipeline_shared_parameters", "transform_checkpoint_by_rank",
             "transform_checkpoints", "unified_safetensors")
_SPREADING = ("set_op_strategy_config", "shard")

__all__ = ["Layout", "get_algo_parameters", "reset_algo_parameters", "set_algo_parameters"]
__all__ += [*_OF_TRAIN, *_SPREADING]


def __getattr__(name: str) -> Any:
    if name in _OF_TRAIN:
        from .. import train

        return getattr(train, name)
    if name in _SPREADING:
        from . import auto_parallel

        return getattr(auto_parallel, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
