"""The message of a strategy file, which programs fill in themselves: not supported."""

from __future__ import annotations

__all__ = ["ParallelStrategyMap"]


class ParallelStrategyMap:
    """Refuses: Lamella writes and reads strategy files without the classes of `protobuf`.

    Raises:
        RuntimeError: always; `set_auto_parallel_context(strategy_ckpt_config=...)` has a file
            written, and `build_searched_strategy` reads one.
    """

    def __init__(self):
        raise RuntimeError(
            "For 'ParallelStrategyMap', strategy files are written where the parallel setting "
            "'strategy_ckpt_config' names one, and read by 'build_searched_strategy'.")
