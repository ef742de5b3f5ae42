"""Parallelism over processes: its settings, and checkpoints of many processes."""

from typing import Any

from .layout import Layout
from .settings import (
    get_algo_parameters,
    reset_algo_parameters,
    set_algo_parameters,
)

# of `train`, which is imported when one of them is first named
_RESHARDING = ("build_searched_strategy", "load_distributed_checkpoint",
               "load_segmented_checkpoints", "merge_sliced_parameter",
               "rank_list_for_transform", "restore_group_info_list",
               "transform_checkpoint_by_rank", "transform_checkpoints")

__all__ = ["Layout", "get_algo_parameters", "reset_algo_parameters", "set_algo_parameters",
           "shard"]
__all__ += _RESHARDING


def __getattr__(name: str) -> Any:
    if name in _RESHARDING:
        from .. import train

        return getattr(train, name)
    if name == "shard":
        from .auto_parallel import shard

        return shard
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
