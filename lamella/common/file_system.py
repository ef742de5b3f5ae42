"""MindIO, which keeps checkpoints in memory on Ascend's machines: not supported here."""

from __future__ import annotations

from ..core.checks import check_positive_int, check_value_type

__all__ = ["mindio_preload", "set_mindio_server_info"]


def set_mindio_server_info(data_block_pool_capacity_in_gb: int = 100) -> None:
    """Has no effect: there is no such server.

    Args:
        data_block_pool_capacity_in_gb: the memory that it may take.

    Raises:
        ValueError: if that isn't above 0.
    """
    check_positive_int(data_block_pool_capacity_in_gb, "data_block_pool_capacity_in_gb")


def mindio_preload(ckpt_file_name: str) -> bool:
    """Whether the server has read a checkpoint ahead: False, files are read when they are loaded.

    Args:
        ckpt_file_name: the file.

    Raises:
        TypeError: if it is no text.
    """
    check_value_type("ckpt_file_name", ckpt_file_name, str, "mindio_preload")
    return False
