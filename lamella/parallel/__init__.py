"""Parallelism over processes: its settings, and checkpoints of many processes."""

from typing import Any

from ..core.elsewhere import found_elsewhere, names_elsewhere
from . import spreading as _spreading  # answers what other rooms ask
from .auto_parallel import set_op_strategy_config, shard
from .layout import Layout
from .search_settings import (
    get_algo_parameters,
    reset_algo_parameters,
    set_algo_parameters,
)

__all__ = ["Layout", "get_algo_parameters", "reset_algo_parameters", "set_algo_parameters",
           "set_op_strategy_config", "shard"]
__all__ += sorted(names_elsewhere("parallel"))  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    return found_elsewhere("parallel", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
